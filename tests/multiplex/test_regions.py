"""Regions of the benchmarks, and of kernels whose regions can be told by eye."""

from __future__ import annotations

import pytest

from smmux import benchmarks, multiplex
from tests.multiplex.kernels import device, kernel

EXPECTED = {  # regions in the source, loops around them, barriers inside each
    "MV": (1, 1, 1), "FFT": (4, 0, 1), "MC": (1, 0, 1), "STO": (1, 0, 0), "SP": (1, 1, 2),
    "HG": (1, 0, 2), "CV": (1, 0, 1), "MM": (1, 1, 1), "TP": (1, 0, 1), "RD": (1, 0, 2),
}  # fmt: skip
BUILDS = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]


def executed(name: str, build: str) -> int:
    """Regions of a whole grid at the tiny size, from the sizes: per block 1, FFT 4, a loop's trips."""
    benchmark = benchmarks.get(name)
    sizes = benchmark.sizes["tiny"]
    blocks = benchmark.problem("tiny", build).blocks
    per_block = {"FFT": 4, "MV": sizes.get("width", 0) // 32, "MM": sizes.get("inner", 0) // 16}.get(name, 1)
    return sizes["vectors"] if name == "SP" else per_block * blocks


@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_regions_of_the_benchmarks(name: str, build: str) -> None:
    found = multiplex.regions(benchmarks.get(name).kernel("baseline", build))
    count, loops, barriers = EXPECTED[name]
    assert len(found) == count
    assert {len(r.loops) for r in found} == {loops}
    assert {len(r.barriers) for r in found} == {barriers}


@pytest.mark.long
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_isolating_barriers_count_them(name: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    arguments = problem.arguments()
    isolated = multiplex.isolate(benchmark.kernel("baseline", build))
    assert isolated.source.count("smm.isolate()") == 2 * EXPECTED[name][0]
    result = isolated.simulate(problem.grid, problem.block, arguments, gpu="GTX285-1100")
    problem.check(arguments)
    assert 0 < result.counters["region_cycles"] < result.counters["block_cycles"]
    assert isolated.compile(arguments).listing().count(".isolate") >= 2


@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_allocations_are_the_regions_executed(name: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    arguments = problem.arguments()
    made = multiplex.hw(benchmark.kernel("baseline", build))
    result = made.simulate(problem.grid, problem.block, arguments, gpu="GTX285-1100", management="dynamic")
    problem.check(arguments)
    assert result.counters["allocations"] == executed(name, build)


def test_lines_and_barriers() -> None:
    (first, second, third, fourth) = multiplex.regions(benchmarks.get("FFT").kernel())
    lines = benchmarks.get("FFT").kernel().definition.line
    assert "scatter" in lines(first.first)
    assert "gather" in lines(first.last)
    assert first.begins_at is None
    assert lines(second.begins_at).strip() == "cuda.syncthreads()"
    assert third.first > second.last
    assert fourth.ends_at is None
    assert repr(first) == f"<Region of fft, lines {first.first}-{first.last}: planes, 1 barrier inside>"


def test_notebooks_show_the_lines() -> None:
    found = multiplex.regions(benchmarks.get("MM").kernel())
    assert "tile_a[ty, tx] = from_a" in found._repr_html_()
    assert "&lt;" not in repr(found)
    assert "in each iteration of `for i in range(0, width_a, TILE)`" in repr(found)


def test_values_carried_around_a_loop_keep_it_in_one_region() -> None:
    made = kernel("""
    def f(a, n):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = a[t]
        cuda.syncthreads()
        for i in range(n):
            x = tile[63 - t]
            cuda.syncthreads()
            tile[t] += x
            cuda.syncthreads()
        a[t] = tile[t]
    """)
    (region,) = multiplex.regions(made)
    assert (region.first, region.last, region.loops) == (5, 12, ())
    assert region.barriers == (6, 9, 11)


def test_a_redefine_in_a_loop_starts_a_region_that_ends_in_the_next_iteration() -> None:
    made = kernel("""
    def f(a, n):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = a[t]
        cuda.syncthreads()
        for i in range(1, n):
            x = tile[63 - t]
            cuda.syncthreads()
            tile[t] = x + a[i * 64 + t]
            cuda.syncthreads()
        a[t] = tile[t]
    """)
    assert len(multiplex.regions(made)) == 2
    text = multiplex.hw(made).source
    assert text.count("smm.alloc()") == text.count("smm.release()") == 2


def test_a_guarded_define_keeps_what_it_does_not_replace() -> None:
    made = kernel("""
    def f(a):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = a[t]
        cuda.syncthreads()
        x = tile[63 - t]
        cuda.syncthreads()
        if t < 32:
            tile[t] = x
        cuda.syncthreads()
        a[t] = tile[t ^ 1]
    """)
    assert len(multiplex.regions(made)) == 1


def test_defines_add_up_until_they_are_used() -> None:
    made = kernel("""
    def f(a):
        tile = cuda.shared.array((3, 64), float32)
        t = cuda.threadIdx.x
        tile[0, t] = float32(0)
        a[t] = float32(1)
        tile[1, t] = a[t]
        cuda.syncthreads()
        tile[2, t] = float32(2)
        cuda.syncthreads()
        a[t] = tile[0, 63 - t] + tile[1, 63 - t] + tile[2, 63 - t]
    """)
    assert len(multiplex.regions(made)) == 1


def test_uniform_conditions_hold_regions_of_their_own() -> None:
    made = kernel("""
    def f(a, n):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        x = float32(0)
        if cuda.blockIdx.x % 2 == 0:
            tile[t] = a[t]
            cuda.syncthreads()
            x = tile[63 - t]
        a[t + 64] = x
    """)
    text = multiplex.hw(made).source
    assert text.index("if cuda") < text.index("smm.alloc()") < text.index("smm.release()") < text.index("a[t + 64]")


def test_threads_without_work_may_return_behind_the_last_barrier() -> None:
    (region,) = multiplex.regions(
        kernel("""
    def f(a, n):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = a[t]
        cuda.syncthreads()
        if t >= n:
            return
        a[t] = tile[63 - t]
    """)
    )
    assert (region.first, region.last, len(region.barriers)) == (5, 9, 1)


def test_two_arrays_count_together() -> None:
    made = kernel("""
    def f(a):
        x = cuda.shared.array(64, float32)
        y = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        x[t] = a[t]
        cuda.syncthreads()
        y[t] = x[63 - t]
        cuda.syncthreads()
        a[t] = y[t ^ 1]
    """)
    (region,) = multiplex.regions(made)
    assert region.arrays == ("x", "y")


def test_views_and_device_functions_are_followed() -> None:
    put = device("""
    def put(words, t, value):
        words[t] = value
    """)
    turn = device("""
    def turn(octets, t):
        return octets[4 * t]
    """)
    made = kernel(
        """
        def f(a, trips):
            tile = cuda.shared.array(64, uint32)
            octets = tile.view(uint8)
            t = cuda.threadIdx.x
            rounds = trips * 2 if trips > 4 else trips
            for i in range(rounds):
                put(tile, t, a[t])
                cuda.syncthreads()
                a[t] = turn(octets, 63 - t)
        """,
        put=put,
        turn=turn,
    )
    (region,) = multiplex.regions(made)
    assert region.arrays == ("tile",)
    assert region.loops == ("for i in range(rounds)",)
