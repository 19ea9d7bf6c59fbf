"""The oracles themselves: known answers of the references, and that wrong or missing outputs are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import benchmarks
from smmux.benchmarks import WrongOutputError, mc, mc_tables, rd, sto
from smmux.benchmarks.base import close, eighths, equal

ALL = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]


@pytest.mark.parametrize(("name", "build"), ALL)
def test_unwritten_outputs_are_noticed(name: str, build: str) -> None:
    problem = benchmarks.get(name).problem("tiny", build)
    with pytest.raises(WrongOutputError):
        problem.check(problem.arguments())


@pytest.mark.parametrize("name", benchmarks.names())
def test_inputs_are_shared_and_read_only_and_outputs_new(name: str) -> None:
    problem = benchmarks.get(name).problem("tiny")
    first, second = problem.arguments(), problem.arguments()
    for a, b in zip(first, second, strict=True):
        if isinstance(a, np.ndarray):
            assert a.flags.writeable != np.shares_memory(a, b)


@pytest.mark.parametrize("name", benchmarks.names())
def test_threads_per_block_are_those_of_table1(name: str) -> None:
    benchmark = benchmarks.get(name)
    assert benchmark.problem("tiny").threads == benchmark.table1.threads


@pytest.mark.parametrize("name", benchmarks.names()[:7])
def test_default_grid_holds_eight_waves(name: str) -> None:
    """Of the largest residency compared, K + 3 blocks on each of 30 SMs. (P6: sizes from the tables of the issue.)"""
    benchmark = benchmarks.get(name)
    blocks = {"MV": 2048, "FFT": 2048, "MC": 1495, "STO": 1024, "SP": 2048, "HG": 1536, "CV": 1536}[name]
    assert blocks >= 8 * 30 * (benchmark.table1.blocks + 3)


def test_unknown_names_say_what_exists() -> None:
    with pytest.raises(KeyError, match="MV, FFT"):
        benchmarks.get("XX")
    with pytest.raises(KeyError, match="isolated, hw, vtb, vtb_pipe of builds staged"):
        benchmarks.get("FFT").kernel("co_vtb")


def test_marching_cubes_table() -> None:
    """820 triangles over all cases, at most five each, and every vertex on an edge that the surface cuts."""
    counts = mc_tables.vertex_counts()
    assert counts.sum() == 3 * 820
    assert counts.max() == 15
    assert (counts % 3 == 0).all()
    for case in range(256):
        cut = {e for e, (a, b) in enumerate(mc_tables.EDGES) if (case >> a ^ case >> b) & 1}
        assert set(mc_tables.triangles(case)) == cut


def test_marching_cubes_surface_is_closed() -> None:
    """Each side of a triangle inside the grid is shared with exactly one other triangle."""
    n = 16
    case = mc.cases(n, 0.2)
    cells = np.nonzero(mc_tables.vertex_counts()[case])[0].astype(np.uint32)
    positions, _ = mc.reference(cells, case[cells], n, 0.2)
    corners = np.round(positions[:, :3] * 2**12).astype(int).reshape(-1, 3, 3)
    sides: dict[frozenset[tuple[int, ...]], int] = {}
    for triangle in corners:
        for i in range(3):
            side = frozenset((tuple(triangle[i - 1]), tuple(triangle[i])))
            if len(side) == 2:  # not where two vertices coincide
                sides[side] = sides.get(side, 0) + 1
    open_sides = [side for side, count in sides.items() if count != 2]
    assert len(open_sides) <= 0.01 * len(sides)


def test_marching_cubes_sizes() -> None:
    problem = benchmarks.get("MC").problem({"n": 32})
    assert int(problem.arguments()[9]) == 2992
    assert problem.blocks == 94
    assert mc_tables.vertex_counts()[mc.cases(32, 0.2)].sum() == 17760


@pytest.mark.parametrize(("build", "digest"), [("sha1_ring", "fd5ee758"), ("md5", "a9eeb950")])
def test_first_digest(build: str, digest: str) -> None:
    problem = sto.problem(build, 128)
    arguments = problem.arguments()
    arguments[5][:] = 0
    with pytest.raises(WrongOutputError, match=f"instead of {int(digest[:2], 16)}"):
        problem.check(arguments)


def test_reduction_reference_adds_up_to_the_sum() -> None:
    data = eighths(np.random.default_rng(0), 5000)
    assert rd.reference(data, 7).sum() == data.sum(dtype=np.float64)


def test_comparisons() -> None:
    expected = np.array([3.0, 4.0])
    close("x", np.array([3.0, 4.0 + 4e-6]), expected, 1e-6)
    with pytest.raises(WrongOutputError, match="relative l2 error"):
        close("x", np.array([3.0, 4.0 + 6e-6]), expected, 1e-6)
    with pytest.raises(WrongOutputError):
        close("x", np.array([3.0, np.nan]), expected, 1e-6)
    with pytest.raises(WrongOutputError, match=r"1 of 2 elements differ, first at \(1,\)"):
        equal("x", np.array([1, 2]), np.array([1, 3]))


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("MV", {"width": 33}, "width must be a positive multiple of 32"),
        ("MV", {"height": 0}, "height must be a positive multiple of 32"),
        ("FFT", {"batch": 0}, "batch must be"),
        ("MC", {"n": 12}, "power of two"),
        ("MC", {"n": 8, "iso": 99.0}, "no surface"),
        ("STO", {"windows": 100}, "multiple of 128"),
        ("SP", {"vectors": -1}, "vectors must be"),
        ("HG", {"values": 10_000}, "multiple of 8192"),
        ("CV", {"width": 16, "height": 100}, "height must be a positive multiple of 112"),
        ("MM", {"inner": 20}, "inner must be a positive multiple of 16"),
        ("TP", {"width": 100}, "multiple of 32"),
        ("RD", {"blocks": 0}, "blocks must be"),
    ],
)
def test_sizes_that_the_kernel_cannot_take_are_refused(name: str, sizes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        benchmarks.get(name).problem(sizes)


def test_sizes_not_given_are_the_default_ones() -> None:
    mv = benchmarks.get("MV")
    problem = mv.problem({"height": 64})
    assert problem.arguments()[0].shape == (64, mv.sizes["default"]["width"])
    for unknown, message in (
        (("huge",), "default, large"),
        (({"depth": 3},), "width, height"),
        (({}, "fast"), "as_sdk"),
    ):
        with pytest.raises(KeyError, match=message):
            mv.problem(*unknown)
