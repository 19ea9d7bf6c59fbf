"""L1 and shared memory as parts of one memory: a launch chooses, and the machine is the one that has it so."""

from __future__ import annotations

import csv
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


def test_what_a_user_changed_stays_when_a_launch_chooses() -> None:
    """A sweep over the ways or the pending misses of the L1 would show nothing else."""
    card = gpus.get("GTX480-48K").replace(l1_ways=2)
    assert run(card, carveout=16).gpu == gpus.get("GTX480-16K").replace(name=card.name, l1_ways=2)
    hopper = gpus.get("H100").replace(l1_mshrs=3)
    found = nothing.simulate(1, 32, (np.zeros(1, np.int32),), gpu=hopper).gpu
    assert found.smem_bytes < hopper.smem_bytes
    assert (found.l1_mshrs, found.sources["l1_mshrs"]) == (3, gpus.CHANGED)


def test_a_card_derived_from_another_has_its_carveouts_only_with_its_sizes() -> None:
    own = gpus.get("K20c").replace(name="GTX980", smem_bytes=96 * 1024)
    with pytest.raises(ConfigError, match="GTX980 has one size, as smem_bytes or l1_bytes is changed"):
        own.with_carveout(16)
    assert gpus.get("K20c").replace(name="K20X", sm_count=14).with_carveout(16).l1_bytes == 48 * 1024
    sizes = {size: {"l1_bytes": (128 - size) * 1024} for size in (32, 64, 96)}
    volta = own.replace(name="V100", l1_bytes=32 * 1024, carveouts=sizes)
    assert run(volta, carveout=64).gpu == volta.replace(smem_bytes=64 * 1024, l1_bytes=64 * 1024)
    with pytest.raises(ConfigError, match="V100 may have 32, 64, 96 kB"):
        volta.with_carveout(48)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({16: {}}, "16: it needs l1_bytes"),
        ({16: {"l1_byte": 1}}, "16: there is no parameter 'l1_byte'"),
        ({16: 49152}, "16 must be {parameter: value}, not 49152"),
        ({"all": {}}, "must be an integer, not 'all'"),
        ({16: {"l1_bytes": 1, "l1_ways": 2}, 48: {"l1_bytes": 1}}, "must all say the same parameters"),
    ],
)
def test_malformed_carveouts_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gpus.get("K20c").replace(carveouts=given)


CARD = Path(__file__).parents[2] / "experiments" / "hardware" / "hopper" / "h100" / "empty_kernels.csv"
ASKED = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 200)
"""Kilobytes that the card's last launches asked for, in their order, each twice."""


@cuda.jit
def nothing(y: Any) -> None:
    y[0] = 1


def on_hopper(threads: int, kilobytes: int, **options: Any) -> Result:
    return nothing.simulate(1, threads, (np.zeros(1, np.int32),), gpu="H100", dynshared=1024 * kilobytes, **options)


@pytest.mark.parametrize("threads", [32, 256, 1024])
def test_the_driver_chooses_on_hopper_and_each_block_holds_a_kilobyte_more(threads: int) -> None:
    sizes = [size for size, _ in gpus.get("H100").carveouts]
    for kilobytes in (0, *ASKED):
        result = on_hopper(threads, kilobytes)
        fitting = {size: min(2048 // threads, 32, size // (kilobytes + 1)) for size in sizes}
        assert result.residency == fitting[228], kilobytes
        assert result.gpu.smem_bytes == 1024 * next(size for size in sizes if fitting[size] == fitting[228])
        assert (result.gpu.smem_bytes + result.gpu.l1_bytes) // 1024 == 256 - 7


def test_the_driver_of_a_card_chooses_alike_where_threads_do_not_count() -> None:
    """For small parts of blocks of 128 and 256 threads the card takes a step or two more."""
    with CARD.open() as file:
        rows = [row for row in csv.DictReader(file) if row["cache_control"] == "none"]
    card = {(int(row["block"]), 0): int(row["launch__shared_mem_config_size"]) for row in rows[:16]}
    last = [int(row["launch__shared_mem_config_size"]) for row in rows if (row["grid"], row["block"]) == ("132", "256")]
    card.update({(256, asked): last[2 * i] for i, asked in enumerate(ASKED)})
    more = {key: on_hopper(*key).gpu.smem_bytes for key in card}
    assert all(more[key] <= card[key] for key in card)
    assert {key for key in card if more[key] < card[key]} == {(128, 0), (256, 0), (256, 1), (256, 4), (256, 8)}


def test_a_launch_or_a_user_overrules_the_driver() -> None:
    assert on_hopper(32, 1, carveout=100).gpu.smem_bytes == 100 * 1024
    own = gpus.get("H100").replace(smem_bytes=50 * 1024)
    assert nothing.simulate(1, 32, (np.zeros(1, np.int32),), gpu=own).gpu.smem_bytes == 50 * 1024


def test_a_machine_that_was_given_a_carveout_keeps_it() -> None:
    """The driver chooses for the card's own machine alone; the two are not equal, whatever their parameters are."""
    chosen = gpus.get("H100").with_carveout(16)
    assert nothing.simulate(1, 32, (np.zeros(1, np.int32),), gpu=chosen, dynshared=8192).gpu.smem_bytes == 16 * 1024
    largest = gpus.get("H100").with_carveout(228)
    assert gpus.as_tuple(largest) == gpus.as_tuple(gpus.get("H100"))
    assert largest != gpus.get("H100")
