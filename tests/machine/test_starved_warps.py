"""Warps that find too few credits or too many pending misses: each is served in the end, with the right values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import policies

from .assembler import CTAID_X, TID_X, Assembler, variant

BLOCKS, THREADS, LOADS = 8, 256, 6
STRIDE = 16  # words between the threads' own words: a load takes 16 lines


def scattered() -> Assembler:
    """Every thread adds LOADS words that follow each other; each load waits for the one before."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=1, a=0, b=a.imm(4 * STRIDE), c=a.param(0))
    a("mad.lo.s32", d=2, a=0, b=a.imm(4), c=a.param(1))
    for word in range(LOADS):
        a("ld.global", d=3, a=1, imm=4 * word, width=4, aux=0)
        a("add.s32", d=4, a=4, b=3)
    a("st.global", d=4, a=2, width=4, aux=1)
    a("exit")
    return a


def run(**changes: Any) -> dict[str, Any]:
    """Counters, which no window and no further host thread changes."""
    gpu = variant("GTX480-48K", sm_count=2, **changes)
    found = []
    for window, threads in ((0, 1), (7, 2)):
        x, y = np.arange(BLOCKS * THREADS * STRIDE, dtype=np.uint32), np.zeros(BLOCKS * THREADS, np.uint32)
        found.append(
            scattered().run(
                gpu, grid=(BLOCKS, 1, 1), block=(THREADS, 1, 1), buffers=(x, y), window=window, threads=threads
            )
        )
        assert np.array_equal(y, x.reshape(-1, STRIDE)[:, :LOADS].sum(axis=1))
    assert found[0] == found[1]
    counters: dict[str, Any] = found[0]["counters"]
    return counters


@pytest.mark.parametrize("mshrs", [1, 2, 5, 32])
@pytest.mark.parametrize("credits", [1, 3, 16, 512])
def test_every_warp_is_served(mshrs: int, credits: int) -> None:
    counters = run(l1_mshrs=mshrs, credits=credits)
    lines = BLOCKS * THREADS // 32 * 16 * LOADS
    assert counters["l1_hits"] + counters["l1_merges"] + counters["l1_misses"] == lines
    assert counters["idle_credits"] > 0


@pytest.mark.parametrize("policy", policies.names("scheduler"))
def test_every_scheduler_serves_them(policy: str) -> None:
    """Also where those whose turn comes next go to sleep at once, which must not change the order of the others."""
    for mshrs, credits in ((1, 1), (2, 40)):
        assert run(sched_policy=policy, sched_group=2, l1_mshrs=mshrs, credits=credits)["idle_credits"] > 0


def test_nobody_starves_where_there_is_room_for_all() -> None:
    """The most that can be in flight are the lines of a load of each warp; credits beyond them change nothing."""
    lines = BLOCKS // 2 * THREADS // 32 * 16
    enough = run(l1_bytes=0, credits=lines)
    assert enough["idle_credits"] == 0
    assert run(l1_bytes=0, credits=2 * lines) == enough
    assert run(l1_bytes=0, credits=lines // 8)["idle_credits"] > 0


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-48K"])
def test_a_constant_that_waits_for_room_is_looked_up_once(gpu: str) -> None:
    """Each thread follows a chain through a table of constants; the address lies in the register that is loaded."""
    following = np.random.default_rng(7).permutation(1024).astype(np.uint32)
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=2, a=0, b=a.imm(4), c=a.param(0))
    a("shl.b32", d=1, a=0, b=a.imm(2))
    for _ in range(LOADS):
        a("ld.const", d=1, a=1, width=4)
    a("st.global", d=1, a=2, width=4, aux=0)
    a("exit")
    y = np.zeros(BLOCKS // 2 * THREADS, np.uint32)
    result = a.run(
        variant(gpu, sm_count=1, credits=1),
        grid=(BLOCKS // 2, 1, 1),
        block=(THREADS, 1, 1),
        buffers=(y,),
        const=(following * 4).tobytes(),
    )
    expected = np.arange(y.size)
    for _ in range(LOADS):
        expected = following[expected]
    assert np.array_equal(y, 4 * expected)
    assert result["counters"]["idle_credits"] > 0
