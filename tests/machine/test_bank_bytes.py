"""The width of the banks, chosen for a launch: what it changes, and the machines that have no choice."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import ConfigError, cuda, float64, gpus, models


@cuda.jit
def reversed_doubles(out, shift):
    values = cuda.shared.array(97, float64)
    t = cuda.threadIdx.x
    values[t + shift] = float64(t)
    cuda.syncthreads()
    out[t] = values[shift + cuda.blockDim.x - 1 - t]


def run(gpu: str | gpus.Gpu | None, shift: int, **options: int) -> tuple[int, int, int]:
    """Bank passes and conflicts of one warp, and the width of the machine's banks."""
    out = np.zeros(32)
    result = reversed_doubles.simulate(1, 32, (out, np.int32(shift)), gpu=gpu, **options)
    assert (out == np.arange(31, -1, -1)).all()
    return result["shared_passes"], result["shared_conflicts"], result.gpu.smem_bank_bytes


@pytest.mark.parametrize("shift", range(0, 64, 5))
@pytest.mark.parametrize("width", [4, 8])
def test_passes_are_those_of_the_model(shift: int, width: int) -> None:
    one = models.bank_passes([8 * (shift + lane) for lane in range(32)], 8, "K20c", width)
    assert run("K20c", shift, bank_bytes=width) == (2 * one.passes, 2 * one.conflicts, width)


def test_a_device_may_be_set_for_all_launches() -> None:
    with gpus.set_current(gpus.get("K20c").with_banks(8)):
        assert run(None, 1) == (2, 0, 8)
    assert run("K20c", 1) == (4, 2, 4)
    assert run(gpus.get("K20c").with_banks(8), 1, bank_bytes=4) == (4, 2, 4)


def test_memory_of_every_block_starts_at_a_segment_of_64_words() -> None:
    """So that conflicts do not depend on which blocks share an SM; 97 doubles are more than three of them."""
    out = np.zeros(32)
    counted = [
        reversed_doubles.simulate(blocks, 32, (out, np.int32(0)), gpu="K20c")["shared_passes"] for blocks in (1, 60)
    ]
    assert counted == [2, 120]


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-48K"])
def test_other_machines_have_no_choice(gpu: str) -> None:
    with pytest.raises(ConfigError, match=f"banks of 8 bytes on {gpu}: only compute capability 3.x has bank modes"):
        run(gpu, 0, bank_bytes=8)


def test_other_widths_are_refused() -> None:
    with pytest.raises(ConfigError, match="bank_bytes must be None or one of 4, 8, not 16"):
        run("K20c", 0, bank_bytes=16)
