"""HW as a pass: right outputs under dynamic management, and the same kernel as one written by hand."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import numpy as np
import pytest

from smmux import benchmarks, multiplex, smm
from smmux.kernel import Kernel, from_source
from smmux.results.result import Result
from tests.multiplex.kernels import body, kernel

BUILDS = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]


def run(made: Kernel, name: str, build: str, extra_blocks: int) -> Result:
    """Run under dynamic management and check the outputs."""
    problem = benchmarks.get(name).problem("tiny", build)
    arguments = problem.arguments()
    result = made.simulate(
        problem.grid, problem.block, arguments, gpu="GTX285-1100", management="dynamic", extra_blocks=extra_blocks
    )
    problem.check(arguments)
    return result


@pytest.mark.quick(11)
@pytest.mark.parametrize("extra_blocks", [0, 1, 2, 3])
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_outputs_under_dynamic_management(name: str, build: str, extra_blocks: int) -> None:
    benchmark = benchmarks.get(name)
    result = run(multiplex.hw(benchmark.kernel("baseline", build)), name, build, extra_blocks)
    assert result.static_residency <= benchmark.table1.blocks  # fewer where registers limit
    assert result.counters["allocations"] >= benchmark.problem("tiny", build).blocks - (name == "SP")


BY_HAND = {
    "MV": """
    def mv_by_hand(a, x, y, width):
        tile = smm.array((TILE, PITCH), float32)
        staged = cuda.local.array(TILE, float32)
        t = cuda.threadIdx.x
        row = cuda.blockIdx.x * TILE
        total = float32(0)
        for i in range(0, width, TILE):
            for r in range(TILE):
                staged[r] = a[row + r, i + t]
            smm.alloc()
            for r in range(TILE):
                tile[r, t] = staged[r]
            cuda.syncthreads()
            for k in range(TILE):
                total += tile[t, k] * x[i + k]
            smm.release()
        y[row + t] = total
    """,
    "SP": """
    def scalar_product_by_hand(c, a, b, vectors, elements):
        sums = smm.array(SUMS, float32)
        staged = cuda.local.array(SUMS_PER_THREAD, float32)
        t = cuda.threadIdx.x
        for vector in range(cuda.blockIdx.x, vectors, cuda.gridDim.x):
            for s in range(SUMS_PER_THREAD):
                staged[s] = partial_sum(a, b, vector, t + THREADS * s, elements)
            smm.alloc()
            for s in range(SUMS_PER_THREAD):
                sums[t + THREADS * s] = staged[s]
            add_up(sums, t)
            cuda.syncthreads()
            if t == 0:
                c[vector] = sums[0]
            smm.release()
    """,
    "TP": """
    def transpose_by_hand(out, matrix, width):
        tile = smm.array((TILE, PITCH), float32)
        staged = cuda.local.array(STEPS, float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.x * TILE
        column = (cuda.blockIdx.x + cuda.blockIdx.y) % (width // TILE) * TILE
        for k in range(STEPS):
            staged[k] = matrix[row + ty + ROWS * k, column + tx]
        smm.alloc()
        for k in range(STEPS):
            tile[ty + ROWS * k, tx] = staged[k]
        cuda.syncthreads()
        for k in range(STEPS):
            staged[k] = tile[tx, ty + ROWS * k]
        smm.release()
        for k in range(STEPS):
            out[column + ty + ROWS * k, row + tx] = staged[k]
    """,
}


@pytest.mark.parametrize("extra_blocks", [0, 3])
@pytest.mark.parametrize("name", BY_HAND)
def test_equals_what_is_written_by_hand(name: str, extra_blocks: int) -> None:
    baseline = benchmarks.get(name).kernel("baseline", "staged")
    made = run(multiplex.hw(baseline), name, "staged", extra_blocks)
    captured = {**baseline.function.__globals__, "smm": smm}
    hand = run(from_source(textwrap.dedent(BY_HAND[name]), captured), name, "staged", extra_blocks)
    assert made.counters == hand.counters


@pytest.mark.parametrize(("name", "build"), [(n, b) for n, b in BUILDS if b == "as_sdk" and n != "HG"])
def test_staging_makes_the_published_build_the_staged_one(name: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    published = run(multiplex.hw(benchmark.kernel("baseline", build)), name, build, 2)
    staged = run(multiplex.hw(benchmark.kernel("baseline", "staged")), name, "staged", 2)
    assert published.cycles == staged.cycles


def test_declared_size() -> None:
    sto = benchmarks.get("STO")
    arguments = sto.problem("tiny").arguments()
    made = multiplex.hw(sto.kernel(), {"block": 2048})
    assert "block = smm.array(2048, uint32)" in made.source
    assert made.compile(arguments).dynamic_bytes == 8192
    assert multiplex.hw(sto.kernel()).compile(arguments).dynamic_bytes == 4 * 4064
    assert run(made, "STO", "hash_from_regs", 3).residency == 4


def test_the_kernel_itself_is_unchanged() -> None:
    before = benchmarks.get("MV").kernel().source
    multiplex.hw(benchmarks.get("MV").kernel())
    multiplex.isolate(benchmarks.get("MV").kernel())
    assert benchmarks.get("MV").kernel().source == before


def test_source_lines_are_those_of_the_users_file() -> None:
    made = multiplex.hw(benchmarks.get("FFT").kernel())
    source = made.definition
    assert all(source.node.lineno <= n.lineno <= source.node.end_lineno for n in source.node.body)
    scatters = [n for n in source.node.body if "scatter" in source.line(n.lineno)]
    assert len(scatters) == 8  # each with the allocation in front of it


MATMUL = """\
tile_a = smm.array((TILE, TILE), float32)
tile_b = smm.array((TILE, TILE), float32)
tx, ty = (cuda.threadIdx.x, cuda.threadIdx.y)
row = cuda.blockIdx.y * TILE + ty
column = cuda.blockIdx.x * TILE + tx
total = float32(0)
for i in range(0, width_a, TILE):
    staged_tile_a = a[row * width_a + i + tx]
    staged_tile_b = b[(i + ty) * width_b + column]
    smm.alloc()
    tile_a[ty, tx] = staged_tile_a
    tile_b[ty, tx] = staged_tile_b
    cuda.syncthreads()
    for k in range(TILE):
        total += tile_a[ty, k] * tile_b[k, tx]
    smm.release()
c[row * width_b + column] = total"""


def test_source_as_a_person_would_have_written_it() -> None:
    assert body(multiplex.hw(benchmarks.get("MM").kernel("baseline", "as_sdk"))) == MATMUL


def check_staging(text: str, expected: str, **captured: Any) -> Kernel:
    made = multiplex.hw(kernel(text, **captured))
    assert body(made) == expected.strip("\n")
    return made


def test_guards_are_kept() -> None:
    made = check_staging(
        """
        def f(a, out, n):
            tile = cuda.shared.array(64, float32)
            t = cuda.threadIdx.x
            if t < n:
                tile[t] = a[t]
            else:
                tile[t] = float32(0)
            cuda.syncthreads()
            out[t] = tile[63 - t]
        """,
        """
tile = smm.array(64, float32)
t = cuda.threadIdx.x
if t < n:
    staged = a[t]
smm.alloc()
if t < n:
    tile[t] = staged
else:
    tile[t] = float32(0)
cuda.syncthreads()
out[t] = tile[63 - t]
smm.release()
        """.rstrip(),
    )
    a, out = np.arange(40, dtype=np.float32), np.zeros(64, np.float32)
    made.simulate(1, 64, (a, out, 40), management="dynamic")
    assert (out == np.r_[np.zeros(24), np.arange(39, -1, -1)]).all()


def test_sides_of_a_guard_share_a_variable_where_its_type_is_the_same() -> None:
    text = """
    def f(a, b, out, n):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        if t < n:
            tile[t] = a[t]
        else:
            tile[t] = {}
        cuda.syncthreads()
        out[t] = tile[63 - t]
    """
    a, b = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.int32)
    for other, line in (("a[t - n]", "smm.alloc()\ntile[t] = staged\n"), ("b[t]", "tile[t] = staged_2\n")):
        plain = kernel(text.format(other))
        made, out, expected = multiplex.hw(plain), np.zeros(64, np.float32), np.zeros(64, np.float32)
        assert line in textwrap.dedent(body(made)).replace("    ", "")
        made.simulate(1, 64, (a, b, out, 40), management="dynamic")
        plain.simulate(1, 64, (a, b, expected, 40))
        assert (out == expected).all()


def test_loads_do_not_pass_stores() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array((2, 64), float32)
        t = cuda.threadIdx.x
        tile[0, t] = float32(1)
        out[t] = float32(2)
        tile[1, t] = a[t]
        cuda.syncthreads()
        out[t] = tile[1, 63 - t]
    """
    assert "staged" not in multiplex.hw(kernel(text)).source


def test_a_barrier_that_orders_stores_stays() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        out[t] = float32(2)
        cuda.syncthreads()
        tile[t] = out[63 - t]
        cuda.syncthreads()
        a[t] = tile[t ^ 1]
    """
    found = body(multiplex.hw(kernel(text))).splitlines()
    order = [found.index(s) for s in ("cuda.syncthreads()", "staged = out[63 - t]", "smm.alloc()", "tile[t] = staged")]
    assert order == sorted(order)


def test_a_barrier_between_loads_and_later_stores_stays() -> None:
    """A permutation in place: the second warp is still loading when the first could store."""
    made = kernel("""
    def f(a, p):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        tile[t] = p[t]
        cuda.syncthreads()
        k = tile[t]
        for _ in range(t // 32 * 100):
            k = (k * 5 + 3) & 63
        x = a[k]
        cuda.syncthreads()
        a[t] = x
    """)
    expected = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.int32)[::-1].copy()
    made.simulate(1, 64, expected)
    for change in (multiplex.hw, multiplex.isolate):
        a = np.arange(64, dtype=np.float32)
        change(made).simulate(1, 64, (a, expected[1]), management="dynamic")
        assert (a == expected[0]).all()


def test_index_computations_are_done_again_where_needed() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array((8, 64), float32)
        t = cuda.threadIdx.x
        for i in range(2, 8, 2):
            column = t ^ i
            tile[i, column] = a[i * 64 + column]
        cuda.syncthreads()
        out[t] = tile[2, t] + tile[4, t] + tile[6, t]
    """
    made = multiplex.hw(kernel(text))
    assert "staged = cuda.local.array(3, float32)" in made.source
    assert made.source.count("column = t ^ i") == 2
    a, out = np.arange(512, dtype=np.float32), np.zeros(64, np.float32)
    made.simulate(1, 64, (a, out), management="dynamic")
    assert (out == a[128:192] + a[256:320] + a[384:448]).all()


def test_accumulators_are_not_split() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array((8, 64), float32)
        t = cuda.threadIdx.x
        place = 0
        for i in range(8):
            place = (place + i) % 8
            tile[place, t] = a[i * 64 + t]
        cuda.syncthreads()
        out[t] = tile[0, 63 - t]
    """
    assert "staged" not in multiplex.hw(kernel(text)).source


def test_loads_do_not_pass_what_they_need() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array((8, 64), float32)
        t = cuda.threadIdx.x
        place = 0
        for i in range(4):
            place = (place + i) % 8
            tile[i, t] = a[place * 64 + t]
        tile[4, t] = a[place * 64 + t]
        cuda.syncthreads()
        out[t] = tile[4, 63 - t]
    """
    made = multiplex.hw(kernel(text))
    a, out = np.arange(512, dtype=np.float32), np.zeros(64, np.float32)
    made.simulate(1, 64, (a, out), management="dynamic")
    assert (out == a[6 * 64 : 7 * 64][::-1]).all()


def test_a_branch_that_loads_nothing_leaves_nothing_behind() -> None:
    made = multiplex.hw(
        kernel("""
    def f(a, out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        for i in range(2):
            if t < 40:
                if t < 20:
                    tile[t + 64 * i] = 0
                else:
                    tile[t + 64 * i] = a[t + 64 * i]
            if t >= 40:
                tile[t + 64 * i] = 1
        cuda.syncthreads()
        out[t] = tile[63 - t] + tile[127 - t]
    """)
    )
    ast.parse(made.source)
    assert "staged" in made.source
    a, out = np.arange(128, dtype=np.float32), np.zeros(64, np.float32)
    made.simulate(1, 64, (a, out), management="dynamic")
    a[:20] = a[64:84] = 0
    a[40:64] = a[104:] = 1
    assert (out == (a[:64] + a[64:])[::-1]).all()


def test_registers_for_staging_are_limited() -> None:
    mv = benchmarks.get("MV").kernel("baseline", "as_sdk")
    assert "staged" in multiplex.hw(mv, stage_registers=32).source
    assert "staged" not in multiplex.hw(mv, stage_registers=31).source
    assert "staged" not in multiplex.hw(mv, stage_registers=0).source


def test_modules_get_names_that_are_free() -> None:
    made = multiplex.hw(
        kernel("""
    def f(smm):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = smm[t]
        cuda.syncthreads()
        smm[t] = tile[63 - t]
    """)
    )
    assert "smm_module.alloc()" in made.source
    a = np.arange(64, dtype=np.float32)
    made.simulate(1, 64, (a,), management="dynamic")
    assert (a == np.arange(63, -1, -1)).all()
