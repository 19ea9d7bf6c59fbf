"""Preloaded tiles under dynamic management of shared memory."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.machine.preloaded import THREADS

from .assembler import CTAID_X, TID_X, Assembler, variant

# ---- dynamic management ---------------------------------------------------------------------------


def sharer(turns: int) -> Assembler:
    """Every thread loads two words of its block's tile, the second one if its warp is the first; then the block
    allocates, counts down, and adds what it finds in shared memory."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(THREADS), c=TID_X)
    a("mad.lo.s32", d=1, a=0, b=a.imm(4), c=a.param(0))
    a("mad.lo.s32", d=0, a=0, b=a.imm(4), c=a.param(1))
    a("ld.global", d=2, a=1, width=4, aux=0)
    a("setp.lt.s32", d=0, a=TID_X, b=a.imm(32))
    a("ld.global", d=3, a=1, imm=128, width=4, aux=0, guard=0)
    a("add.s32", d=2, a=2, b=3)
    a("shl.b32", d=4, a=TID_X, b=a.imm(2))
    a("bar.sync", sub=1, imm=256)
    a("st.shared", d=2, a=4, width=4, flags=16)
    a("mov.b32", d=5, a=a.imm(turns))
    top = a("sub.s32", d=5, a=5, b=a.imm(1))
    a("setp.gt.s32", d=1, a=5, b=a.imm(0))
    a("bra", guard=1, imm=top, aux=top + 3)
    a("ld.shared", d=6, a=4, width=4, flags=16)
    a("bar.sync", sub=2, imm=256)
    a("add.s32", d=2, a=2, b=6)
    a("st.global", d=2, a=0, width=4, aux=1)
    a("exit")
    return a


def shared_run(blocks: int = 40, turns: int = 60, management: str = "dynamic", **changes: Any) -> dict[str, Any]:
    machine = variant("GTX480-48K", **{"sm_count": 2, "smem_bytes": 2048, **changes})
    found = []
    for window, threads in ((0, 1), (5, 2)):
        x = np.arange(blocks * THREADS + 32, dtype=np.int32)
        y = np.zeros(blocks * THREADS, np.int32)
        table = [[0, 4 * THREADS, 0, 0, 0, 4 * THREADS, 0, 0, 4 * THREADS - 1]]
        more: dict[str, Any] = {"management": management, "window": window, "threads": threads, "dynamic_bytes": 256}
        more |= {"extra_blocks": 4 * (management != "static"), "nregs": 16, "npreds": 4, "preload": table}
        found.append(sharer(turns).run(machine, grid=(blocks, 1, 1), block=(THREADS, 1, 1), buffers=(x, y), **more))
        both = (x[: blocks * THREADS] + np.where(np.arange(blocks * THREADS) % THREADS < 32, x[32:], 0)).astype(
            np.int32
        )
        assert np.array_equal(y, 2 * both)
    assert found[0] == found[1]
    counters: dict[str, Any] = found[0]["counters"]
    assert counters["preload_blocks"] + counters["preload_unfit"] == blocks
    return counters


@pytest.mark.parametrize("policy", ["ideal", "hold", "lines"])
def test_under_dynamic_management_a_tile_goes_after_its_last_use(policy: str) -> None:
    """What the blocks that count down no longer need has room for the tiles of others."""
    early = shared_run(preload_policy=policy)
    late = shared_run(preload_policy=policy, preload_early=0)
    assert early["preload_released"] == early["preload_blocks"] > late["preload_blocks"]
    assert late["preload_released"] == 0
    assert early["cycles"] < late["cycles"]
    assert early["allocation_wait_cycles"] < late["allocation_wait_cycles"]
    assert shared_run(preload_policy=policy, management="static")["preload_released"] == 0


@pytest.mark.parametrize("management", ["dynamic", "aged", "throttled"])
def test_tiles_and_allocations_wait_for_each_other_and_end(management: str) -> None:
    for wait, size, turns in product((0, 1), (1024, 1280, 4096), (1, 90)):
        found = shared_run(24, turns, management, preload_wait=wait, smem_bytes=size, sm_count=1)
        assert found["allocations"] == 24
        assert not wait or not found["preload_unfit"]
