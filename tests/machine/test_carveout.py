"""L1 and shared memory as parts of one memory: a launch chooses, and the machine is the one that has it so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, LaunchError, cuda, float32, gpus
from smmux.__main__ import main
from smmux.results.result import Result


@cuda.jit
def staged(x: Any, y: Any) -> None:
    """A block of 12 kB of shared memory, which reads neighbours through the L1."""
    tile = cuda.shared.array(3072, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = x[i] + x[(i + 1) % x.size] + x[(i * 7) % x.size]
    cuda.syncthreads()
    y[i] = tile[63 - t]


def run(gpu: str | gpus.Gpu | None, **options: Any) -> Result:
    """Of 40 blocks, whose outputs are right."""
    x = np.arange(2560, dtype=np.float32)
    y = np.zeros_like(x)
    result = staged.simulate(40, 64, (x, y), gpu=gpu, **options)
    i = np.arange(2560)
    sums = (x + x[(i + 1) % 2560] + x[(i * 7) % 2560]).reshape(40, 64)[:, ::-1].ravel()
    np.testing.assert_array_equal(y, sums)
    return result


def test_a_carveout_makes_the_other_machine_of_a_card() -> None:
    small, large = gpus.get("GTX480-16K"), gpus.get("GTX480-48K")
    for machine, size, other in ((small, 48, large), (large, 16, small), (small, 16, small)):
        changed = machine.with_carveout(size)
        assert gpus.as_tuple(changed) == gpus.as_tuple(other)
        assert changed.sources == other.sources
        assert changed.with_carveout(None) == changed
        assert gpus.as_tuple(changed.with_carveout(48)) == gpus.as_tuple(large)


def test_a_launch_chooses() -> None:
    found = {size: run("GTX480-16K", carveout=size) for size in (None, 16, 48)}
    assert found[None].cycles == found[16].cycles == run("GTX480-16K").cycles
    assert found[48].cycles == run("GTX480-48K").cycles
    assert {size: result.residency for size, result in found.items()} == {None: 1, 16: 1, 48: 4}
    assert found[48].gpu.smem_bytes == 49152
    with gpus.set_current("GTX480-48K"):
        assert run(None, carveout=16).cycles == found[16].cycles


def test_kepler_has_three_sizes_and_the_l1_the_rest() -> None:
    machines = {size: run("K20c", carveout=size).gpu for size in (16, 32, 48)}
    assert {size: gpu.smem_bytes + gpu.l1_bytes for size, gpu in machines.items()} == dict.fromkeys((16, 32, 48), 65536)
    assert {size: gpu.smem_bytes // 1024 for size, gpu in machines.items()} == {16: 16, 32: 32, 48: 48}
    assert run("K20c", carveout=48).cycles == run("K20c").cycles


def test_a_block_has_to_fit_what_is_left() -> None:
    @cuda.jit
    def large(y: Any) -> None:
        tile = cuda.shared.array(8000, float32)
        tile[cuda.threadIdx.x] = y[0]
        y[0] = tile[0]

    y = np.zeros(1, np.float32)
    large.simulate(1, 32, (y,), gpu="K20c", carveout=32)
    with pytest.raises(LaunchError, match="shared memory"):
        large.simulate(1, 32, (y,), gpu="K20c", carveout=16)


@pytest.mark.parametrize(
    ("gpu", "size", "message"),
    [
        ("GTX285", 16, "carveout of 16 kB: shared memory of GTX285 has one size"),
        ("GTX480-48K", 32, "carveout of 32 kB: shared memory of GTX480-48K may have 16, 48 kB"),
        ("K20c", 64, "carveout of 64 kB: shared memory of K20c may have 16, 32, 48 kB"),
        ("K20c", "16", "carveout must be an integer"),
    ],
)
def test_what_a_machine_does_not_have_is_refused(gpu: str, size: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(gpu, carveout=size)


def test_the_command_line_chooses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "k.py"
    program.write_text(
        "from smmux import cuda\n\n\n@cuda.jit\ndef k(y):\n    t = cuda.shared.array(3000, 'float32')\n"
        "    t[cuda.threadIdx.x] = 1\n    y[cuda.grid(1)] = t[cuda.threadIdx.x]\n"
    )
    arguments = ["run", f"{program}:k", "--gpu", "K20c", "--grid", "60", "--block", "64", "--json"]
    residency = []
    for more in ([], ["--carveout", "16"]):
        assert main([*arguments, *more, "float32[3840]"]) == 0
        residency.append(json.loads(capsys.readouterr().out)["residency"])
    assert residency == [4, 1]
