"""`flight_cycles`, `first_barrier_cycles`, `barrier_wait_cycles`: times summed over transactions, blocks, warps."""

from __future__ import annotations

import numpy as np
import pytest

from .assembler import TID_X, Assembler, variant

MACHINES = [variant(gpu, icache_bytes=0, mem_model=0) for gpu in ("GTX285", "GTX480-16K")]


def flights(machine, *, loads: int, dependent: bool, grid: int = 1) -> tuple[int, int]:
    """Transactions and their time in flight, of loads of one word by one thread, each of another line."""
    a = Assembler()
    a("mov.b32", d=0, a=a.param(0))
    for i in range(loads):
        a("ld.global", d=1 if dependent else 1 + i, a=0, c=a.imm(0), width=4, q=0)
        a("add.s32", d=0, a=0, b=a.imm(1024))
        if dependent:
            a("add.s32", d=0, a=0, b=1)  # of zeros
    a("exit")
    found = a.run(machine, grid=(grid, 1, 1), block=(1, 1, 1), nregs=20, buffers=(np.zeros(16384, np.uint8),))[
        "counters"
    ]
    assert found["transactions"] == loads * grid
    return found["cycles"], found["flight_cycles"]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_dependent_loads_are_in_flight_one_at_a_time(machine) -> None:
    (_, one), (cycles, eight) = (flights(machine, loads=n, dependent=True) for n in (1, 8))
    assert eight == 8 * one
    assert 0.8 * cycles < eight < cycles


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_independent_loads_are_in_flight_together(machine) -> None:
    (_, one), (cycles, eight) = (flights(machine, loads=n, dependent=False) for n in (1, 8))
    assert eight == 8 * one
    assert eight > 3 * cycles


def test_blocks_add_up() -> None:
    (_, one), (_, three) = (flights(MACHINES[0], loads=4, dependent=True, grid=n) for n in (1, 3))
    assert 3 * one <= three < 3.1 * one  # they meet at the port


def until_barrier(adds: int, barriers: int = 1, grid: int = 1) -> int:
    """The counter after a chain of additions and some barriers, each with a chain behind it."""
    a = Assembler()
    a("mov.b32", d=0, a=TID_X)
    for _ in range(adds):
        a("add.s32", d=0, a=0, b=0)
    for _ in range(barriers):
        a("st.shared", a=a.imm(0), d=0, width=4)
        a("bar.sync")
        a("add.s32", d=0, a=0, b=0)
    a("exit")
    return a.run(MACHINES[0], grid=(grid, 1, 1), shared=16)["counters"]["first_barrier_cycles"]


def test_what_comes_before_the_first_barrier_counts() -> None:
    assert until_barrier(20) - until_barrier(10) == 10 * MACHINES[0].lat_alu
    assert until_barrier(10) == until_barrier(10, barriers=3) == until_barrier(10, grid=5) / 5
    assert until_barrier(10, barriers=0) == 0


def at_barriers(adds: int, warps: int = 2, barriers: int = 1, grid: int = 1, **allocation: int) -> int:
    """Time that warps wait at barriers; before each barrier only the first warp does additions."""
    a = Assembler()
    a("mov.b32", d=0, a=TID_X)
    a("setp.lt.s32", d=0, a=0, b=a.imm(32))
    for _ in range(barriers):
        beyond = len(a.rows) + 1 + adds
        a("bra", guard=0, guard_not=True, imm=beyond, aux=beyond)
        for _ in range(adds):
            a("add.s32", d=0, a=0, b=0)
        a("bar.sync", **allocation)
        if allocation:
            a("bar.sync", sub=2)
    a("exit")
    size = {"grid": (grid, 1, 1), "block": (32 * warps, 1, 1), "dynamic_bytes": allocation.get("imm", 0)}
    management = "dynamic" if allocation else "static"
    found = a.run(MACHINES[0], **size, management=management, extra_blocks=1)["counters"]
    assert bool(found["allocation_waits"]) == bool(allocation)
    return found["barrier_wait_cycles"]


def test_all_but_the_last_warp_wait_at_a_barrier() -> None:
    chain = 10 * MACHINES[0].lat_alu
    for warps in (1, 2, 4):
        assert at_barriers(20, warps) - at_barriers(10, warps) == (warps - 1) * chain
    assert at_barriers(20, barriers=3) - at_barriers(10, barriers=3) == 3 * chain
    assert at_barriers(20, grid=5) - at_barriers(10, grid=5) == 5 * chain


def test_waiting_for_a_grant_is_not_waiting_at_a_barrier() -> None:
    """Blocks that take turns with the whole memory: each waits for the other's release."""
    whole = {"sub": 1, "imm": 16000}
    chain = 10 * MACHINES[0].lat_alu
    assert at_barriers(20, grid=60, **whole) - at_barriers(10, grid=60, **whole) == 60 * chain
