"""A launch behind the same one: what the first leaves in caches, and that nothing else differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, benchmarks, cuda, gpus


@cuda.jit
def twice(out: Any, given: Any) -> None:
    """In place and out of place."""
    i = cuda.grid(1)
    out[i] = out[i] * 2 + given[i]


def run(gpu: Any, blocks: int = 60, **options: Any) -> tuple[Any, np.ndarray]:
    out, given = np.ones(128 * blocks, np.float32), np.arange(128 * blocks, dtype=np.float32)
    result = twice.simulate(blocks, 128, (out, given), gpu=gpu, **options)
    assert np.array_equal(out, 2 + given)
    return result, out


@pytest.mark.parametrize("gpu", ["GTX480-48K", "H100"])
def test_what_the_l2_holds_is_not_read_again(gpu: str) -> None:
    cold, warm = run(gpu)[0], run(gpu, warm=True)[0]
    assert cold["dram_reads"] > 0
    assert warm["dram_reads"] == 0
    assert warm.cycles < cold.cycles
    assert warm["instructions"] == cold["instructions"]
    assert sum(warm.stalls.values()) == pytest.approx(1)
    assert warm.warm
    assert not cold.warm
    assert "(warm)" in repr(warm)
    assert "(warm)" in warm._repr_html_()
    assert warm.to_dict()["warm"]


@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K", "H100"])
def test_without_caches_a_second_launch_is_as_the_first(name: str) -> None:
    caches = ("icache_bytes", "icache2_bytes", "icache3_bytes", "l1_bytes")
    bare = gpus.get(name).replace(mem_model=0, **dict.fromkeys(caches, 0))
    bare = bare.replace(launch_behind=bare.launch_start)
    for blocks in (1, 700):
        cold, warm = run(bare, blocks)[0], run(bare, blocks, warm=True)[0]
        other = {key for key, value in cold.items() if value != warm[key]}
        assert not {key for key in other if not key.startswith("idle_")}  # why nobody was there yet, or no longer


def test_a_launch_behind_another_one_starts_in_a_time_of_its_own() -> None:
    """Longer than the core needs between two launches (`relaunch.LEAST`), or shorter."""
    for name in ("H100", "GTX285"):
        flat = gpus.get(name).replace(mem_model=0)
        times = [run(flat.replace(launch_behind=clocks), warm=True)[0].cycles for clocks in (100, 1000, 5000)]
        assert np.diff(times).tolist() == [900, 4000]


@pytest.mark.long
@pytest.mark.parametrize("options", [{"window": 7}, {"host_threads": 2}, {"window": 100, "host_threads": 2}])
def test_windows_and_threads_change_nothing(options: dict[str, int]) -> None:
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem({"batch": 256})
    runs = []
    for how in ({}, options):
        arguments = problem.arguments()
        result = benchmark.kernel().simulate(
            problem.grid, problem.block, arguments, gpu="H100", warm=True, profile=True, **how
        )
        problem.check(arguments)
        runs.append(result)
    assert runs[0].counters == runs[1].counters
    assert np.array_equal(runs[0].profile, runs[1].profile)


@pytest.mark.parametrize("options", [{"check": "races"}, {"trace": True}, {"sample": 0.1}])
def test_what_needs_one_launch_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="warm"):
        run("GTX285", warm=True, **options)
