"""`check="races"` as users meet it: lines and names, the kernels of seed 004."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, int32
from tests.multiplex.kernels import kernel
from tests.package.chunk_tries import CHUNK, FIRST_EXAMPLE, chunks, first_try, line_of, run, second_try, third_try


@pytest.mark.parametrize("check", ["races", "races-strict"])
def test_the_first_try_is_a_race(check: str) -> None:
    """S7: some threads compare while others store."""
    found = run(first_try, chunks(), check).races
    compare, store = line_of(first_try, "if a[tid] > tbmax"), line_of(first_try, "if a[tid] > tbmax") + 1
    assert {frozenset(race.lines) for race in found} == {frozenset((compare, store))}
    race = found[0]
    assert {race.first.action, race.second.action} == {"load", "store"}
    assert race.first.filename == race.second.filename == inspect.getsourcefile(first_try.function)
    assert race.first.thread != race.second.thread
    assert (race.array, race.index, race.element) == ("tbmax", 0, "tbmax[0]")
    assert race.count >= 1


def test_threads_that_return_before_a_barrier() -> None:
    """Seed 004: the guard of try 1 in the last block."""
    result = run(first_try, chunks(size=CHUNK + 100))
    early = result.findings.of("early-exit")
    assert [f.severity for f in early] == ["warning", "warning"]
    assert {(f.block, f.first.thread, f.first.action) for f in early} == {((1, 0, 0), (100, 0, 0), "exit")}
    guard, first = line_of(first_try, "if tid >= a.size"), line_of(first_try, "tbmax[0] = a[tid]")
    assert [f.lines for f in early] == [(guard, first + 1), (guard, first + 4)]  # the return is its guard's branch


@pytest.mark.parametrize("check", [None, "races"])
def test_the_second_try_diverges(check: str | None) -> None:
    """S8: an error with or without the check, once the threads of a warp part."""
    with pytest.raises(smmux.BarrierError) as caught:
        run(second_try, chunks(), check)
    assert caught.value.line in range(line_of(second_try, "mine ="), line_of(second_try, "break"))


def test_the_second_try_diverges_where_whole_warps_leave() -> None:
    """S8: each warp holds one value. Those that are done leave while others go on to the next barrier."""
    a = np.repeat(np.arange(2 * CHUNK // 32, dtype=np.int32) * 5 % 7, 32)
    divergence = run(second_try, a).findings.errors
    assert {finding.kind for finding in divergence} == {"divergence"}
    assert {finding.first.action for finding in divergence} <= {"exit", "barrier"}
    with pytest.raises(smmux.RaceError):
        run(second_try, a).raise_for_findings()


@pytest.mark.parametrize("check", ["races", "races-strict"])
def test_the_third_try_is_no_race(check: str) -> None:
    """S9: only write-write flags."""
    result = run(third_try, chunks(), check)
    assert not result.races
    assert not result.findings.errors
    [conflict] = result.findings
    store = line_of(third_try, "if a[tid] > mine") + 1
    assert (conflict.kind, conflict.lines, conflict.severity) == ("conflict", (store, store), "warning")
    result.raise_for_findings()
    with pytest.raises(smmux.RaceError):
        result.raise_for_findings(warnings=True)


@pytest.mark.parametrize("barrier", ["cuda.syncthreads()", "cuda.threadfence()"])
def test_the_barrier_is_required(barrier: str) -> None:
    """S6. A fence is no barrier."""
    made = kernel(FIRST_EXAMPLE.replace("BARRIER", barrier))
    result = made.simulate(1, 64, (np.zeros(64, np.int32),), check="races")
    assert bool(result.races) == (barrier != "cuda.syncthreads()")


def test_atomics_and_equal_values_are_no_race() -> None:
    made = kernel("""
    def f(a, out):
        hits = cuda.shared.array(2, int32)
        flag = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t < 2:
            hits[t] = 0
        flag[0] = 7
        cuda.syncthreads()
        cuda.atomic.add(hits, a[t] % 2, 1)
        cuda.syncthreads()
        out[t] = hits[t % 2] + flag[0]
    """)
    out = np.zeros(96, np.int32)
    result = made.simulate(1, 96, (np.arange(96, dtype=np.int32), out), check="races-strict")
    assert not result.findings
    assert out.tolist() == [55] * 96


@pytest.mark.parametrize("check", ["races", "races-strict"])
@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_one_instruction_that_stores_one_value_is_no_conflict(check: str, gpu: str) -> None:
    """Neither in memory that held another value, nor as the first store of all."""

    @cuda.jit
    def flag(out):
        set = cuda.shared.array(2, int32)
        t = cuda.threadIdx.x
        set[t % 2] = 7
        cuda.syncthreads()
        set[t % 2] = 8
        cuda.syncthreads()
        out[t] = set[t % 2]

    result = flag.simulate(1, 128, (np.zeros(128, np.int32),), gpu=gpu, check=check)
    assert not result.findings


def test_an_atomic_and_a_load_race() -> None:
    made = kernel("""
    def f(out):
        hits = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            hits[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(hits, 0, 1)
        out[t] = hits[0]
    """)
    [race] = made.simulate(1, 64, (np.zeros(64, np.int32),), check="races").findings
    assert {race.first.action, race.second.action} == {"atomic", "load"}


STEPS = """
def f(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    s[t + 32] = 0
    cuda.syncwarp()
    for d in (16, 8, 4, 2, 1):
        x = s[t] + s[t + d]
        SYNC
        s[t] = x
        cuda.syncwarp()
    out[t] = s[t]
"""


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize("sync", ["cuda.syncwarp()", "x = x"])
def test_lockstep_is_order_unless_strict(sync: str, schedule: str) -> None:
    made = kernel(STEPS.replace("SYNC", sync))
    out = np.zeros(32, np.int32)
    for check, races in (("races", False), ("races-strict", sync != "cuda.syncwarp()")):
        result = made.simulate(1, 32, (out,), check=check, schedule=schedule)
        assert bool(result.races) == races
        assert bool(result.findings.of("lockstep")) == (check == "races" and sync != "cuda.syncwarp()")
        assert out[0] == 496


BEHIND_A_SYNCWARP = {
    "no lane stores behind it": """
    x = out[t]
    s[t] = x
    cuda.syncwarp()
    if t < n:
        s[t + 32] = x
    """,
    "at the end of an arm": """
    s[t] = t
    if n == 0:
        out[t], out[t + 32], out[t + 64] = 1, 2, 3
        cuda.syncwarp()
    """,
    "alone in an arm": """
    s[t] = t
    if n == 0:
        cuda.syncwarp()
    """,
    "in front of a loop": """
    s[t] = t
    if n == 0:
        cuda.syncwarp()
    for i in range(n):
        out[t + i] = s[t ^ 1]
    """,
}


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize("way", BEHIND_A_SYNCWARP)
def test_a_syncwarp_orders_those_who_have_come_by_it(way: str, schedule: str) -> None:
    body = f"def f(out, n):\n    s = cuda.shared.array(64, int32)\n    t = cuda.threadIdx.x\n{BEHIND_A_SYNCWARP[way]}"
    made = kernel(f"{body}\n    out[t] = s[t ^ 1]\n")
    for n in (0, 4):
        result = made.simulate(1, 32, (np.zeros(96, np.int32), n), check="races-strict", schedule=schedule)
        assert bool(result.races) == (n > 0 and "no lane" not in way)


def test_a_syncwarp_orders_those_who_take_part() -> None:
    """The lower half-warp alone: it may load what its own lanes have stored, and no other."""
    made = kernel("""
    def f(out, mirror):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        s[t] = t
        if t < 16:
            cuda.syncwarp(0xFFFF)
            out[t] = s[t ^ mirror]
        out[t + 32] = t
    """)
    for mirror, races in ((1, False), (31, True)):
        result = made.simulate(1, 32, (np.zeros(64, np.int32), mirror), check="races-strict")
        assert bool(result.races) == races


@cuda.jit
def uninitialised(a):
    tile = cuda.shared.array((4, 40), float32)
    t = cuda.threadIdx.x
    tile[1, t] = a[t]
    cuda.syncthreads()
    a[t] = tile[1, t + 1]


def test_uninitialised_load() -> None:
    """Only the last thread's neighbour has stored nothing."""
    result = uninitialised.simulate(3, 32, (np.zeros(32, np.float32),), check="races")
    [found] = result.findings.of("uninitialised")
    assert (found.kind, found.severity, found.count) == ("uninitialised", "error", 3)
    assert {finding.array for finding in result.races} == {"a"}  # of three blocks, each of which writes all of it
    assert found.second.thread == (31, 0, 0)
    assert found.second.line == line_of(uninitialised, "t + 1")
    assert (found.array, found.index) == ("tile", 72)
    assert str(found) == (
        f"uninitialised: load at {__file__}:{found.second.line} by thread (31, 0, 0), tile[72], "
        "block (0, 0, 0), 3 times"
    )


def test_threads_and_blocks_have_three_dimensions() -> None:
    made = kernel("""
    def f(out):
        s = cuda.shared.array(128, int32)
        x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        if x == 3 and y == 2 and z == 1 and cuda.blockIdx.y == 1:
            out[0] = s[5]
    """)
    [found] = made.simulate((2, 2), (4, 4, 4), (np.zeros(1, np.int32),), gpu="GTX480-48K", check="races").findings
    assert (found.second.thread, found.block[1]) == ((3, 2, 1), 1)
