"""Windows and host threads change nothing; neither do racing kernels and atomics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import gpus, policies
from tests.fuzz.cases import run_launch
from tests.fuzz.corpus import record

from .assembler import CTAID_X, TID_X, Assembler, variant

ROUNDS = 6


def busy_kernel() -> Assembler:
    """Every block loads, works for a time of its own, races on shared words, allocates, and writes."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(64), c=TID_X)
    a("shl.b32", d=1, a=0, b=a.imm(2))
    a("add.s32", d=2, a=1, b=a.param(0))  # own word of x
    a("and.b32", d=3, a=0, b=a.imm(31))
    a("shl.b32", d=3, a=3, b=a.imm(2))
    a("add.s32", d=3, a=3, b=a.param(1))  # one of 32 words that all blocks fight for
    a("mul.lo.s32", d=4, a=CTAID_X, b=a.imm(7))
    a("and.b32", d=4, a=4, b=a.imm(15))  # rounds of work
    a("shl.b32", d=7, a=TID_X, b=a.imm(2))
    a("mov.b32", d=5, a=a.imm(0))
    for turn in range(ROUNDS):
        a("ld.global", d=6, a=2, width=4, aux=0)
        a("bar.sync", sub=1, imm=256)
        a("st.shared", d=6, a=7, width=4, flags=16)
        top = len(a.rows)
        a("add.s32", d=5, a=5, b=6)
        a("add.s32", d=4, a=4, b=a.imm(-1))
        a("setp.gt.s32", d=0, a=4, b=a.imm(0))
        a("bra", guard=0, imm=top, aux=len(a.rows) + 1)
        a("ld.shared", d=6, a=7, width=4, flags=16)
        a("bar.sync", sub=2)
        a("add.s32", d=5, a=5, b=6)
        a("atom.global", d=8, a=3, b=5, width=4, aux=1, sub=0)
        a("add.s32", d=5, a=5, b=8)
        a("st.global", d=8, a=3, width=4, aux=1)  # a race, decided by order of arrival
        a("st.global", d=5, a=2, width=4, aux=0)
        a("mov.b32", d=4, a=a.imm(turn))
    a("exit")
    return a


def run(gpu: Any, window: int, threads: int, blocks: int = 90) -> tuple[Any, ...]:
    x = np.arange(blocks * 64, dtype=np.uint32)
    y = np.zeros(32, np.uint32)
    found = busy_kernel().run(
        gpu,
        grid=(blocks, 1, 1),
        block=(64, 1, 1),
        buffers=(x, y),
        dynamic_bytes=7000,
        management="dynamic",
        extra_blocks=2,
        window=window,
        threads=threads,
    )
    return found, x.tobytes(), y.tobytes()


@pytest.mark.quick
@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100", "GTX480-16K", "GTX480-48K"])
@pytest.mark.parametrize("model", [0, 1])
def test_windows_and_host_threads_give_the_same_bits(gpu: str, model: int) -> None:
    machine = variant(gpu, mem_model=model)
    expected = run(machine, 0, 1)
    for window in (1, 8, 32, 0):
        for threads in (1, 2):
            assert run(machine, window, threads) == expected
    assert expected[0]["counters"]["allocations"] == 90 * ROUNDS


def test_full_queues_know_no_windows_or_host_threads() -> None:
    for gpu in ("GTX285", "GTX480-48K"):
        machine = variant(gpu, mem_model=1, sm_count=6, port_room=1)
        expected = run(machine, 0, 1)
        assert expected[0]["counters"]["port_blocked"]
        assert all(run(machine, window, threads) == expected for window, threads in ((1, 1), (13, 2), (0, 3)))


CHOICES = [
    (kind.option, name)
    for kind in policies.KINDS.values()
    if kind.option in gpus.PARAMETERS
    for name in policies.names(kind.name)
]
"""Every policy that a machine chooses."""


@pytest.mark.parametrize(("option", "policy"), CHOICES)
def test_no_policy_of_a_machine_knows_windows_or_host_threads(option: str, policy: str) -> None:
    for gpu in ("GTX285", "GTX480-48K"):
        machine = variant(gpu, mem_model=1, sm_count=6, dram_age_cap=40, sched_group=2, **{option: policy})
        expected = run(machine, 0, 1)
        assert all(run(machine, window, threads) == expected for window, threads in ((1, 1), (13, 2), (0, 3)))


@settings(max_examples=25)
@given(st.integers(1, 128), st.integers(1, 3), st.integers(1, 120))
def test_any_window(window: int, threads: int, blocks: int) -> None:
    machine = variant("GTX285", mem_model=1, sm_count=6)
    assert run(machine, window, threads, blocks) == run(machine, 0, 1, blocks)


@settings(max_examples=40)
@given(st.integers(1, 700), st.integers(1, 3), st.integers(1, 9), st.integers(1, 3))
def test_any_time_between_a_block_and_the_next(block_start: int, threads: int, sms: int, per_tpc: int) -> None:
    """SMs that wait for their next block within a window get the one that they get clock by clock."""
    machine = variant("GTX285", mem_model=1, sm_count=sms, sms_per_tpc=per_tpc, block_start=block_start)
    assert run(machine, 0, threads, blocks=60) == run(machine, 1, 1, blocks=60)


def test_first_blocks_that_start_after_later_ones() -> None:
    """Given out slowly, the last of the first blocks starts when those that follow ended ones have long run."""
    machine = variant("GTX285", mem_model=0, sm_count=2, sms_per_tpc=8, dispatch_interval=128, block_start=443)
    a = Assembler()
    a("mov.b32", d=0, a=TID_X)
    a("exit")
    runs = [a.run(machine, grid=(60, 1, 1), block=(32, 1, 1), window=window) for window in (0, 1, 8, 32)]
    assert all(found == runs[0] for found in runs)


def test_a_block_that_ends_where_another_one_starts() -> None:
    """A block given out slowly may end in the very cycle in which the one in another's place starts."""
    machine = variant(
        "GTX285", mem_model=0, icache_bytes=0, sm_count=3, sms_per_tpc=1, block_start=16, dispatch_interval=16
    )
    a = Assembler()
    a("and.b32", d=0, a=CTAID_X, b=a.imm(3))
    a("setp.gt.s32", d=0, a=0, b=a.imm(1))
    a("bra", guard=0, guard_not=True, imm=10, aux=10)
    for _ in range(7):
        a("add.s32", d=1, a=1, b=0)
    a("exit")
    assert a.run(machine, grid=(60, 1, 1), window=0) == a.run(machine, grid=(60, 1, 1), window=1)


def host_work(gpu: str, threads: int, camped: bool = False) -> tuple[int, int, int]:
    """Cycles, windows and passes of a streaming copy: 240 blocks of 128 threads, eight words each. With camping all
    stores go to one line."""
    a = Assembler()
    a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(1024), c=TID_X)
    a("shl.b32", d=0, a=0, b=a.imm(2))
    a("add.s32", d=1, a=0, b=a.param(0))
    a("add.s32", d=2, a=0, b=a.param(1))
    if camped:
        a("mov.b32", d=2, a=a.param(1))
    for turn in range(8):
        if not camped:
            a("ld.global", d=3, a=1, imm=turn * 512, width=4, aux=0)
        a("st.global", d=3, a=2, imm=0 if camped else turn * 512, width=4, aux=1)
    a("exit")
    x, y = np.arange(240 * 1024, dtype=np.uint32), np.zeros(240 * 1024, np.uint32)
    found = a.run(variant(gpu, mem_model=1), grid=(240, 1, 1), block=(128, 1, 1), buffers=(x, y), threads=threads)
    assert camped or np.array_equal(x, y)
    return found["counters"]["cycles"], a.host["windows"], a.host["passes"]


@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100", "GTX480-16K", "GTX480-48K"])
def test_windows_are_as_long_as_the_machine_allows(gpu: str) -> None:
    """What further host threads gain hangs on it, and on how often they meet: once a window for the SMs and once for
    the partitions."""
    cycles, alone, passes = host_work(gpu, 1)
    assert 10 < alone <= cycles / 280 + 2  # the fastest reply takes 294 to 320 clocks, blocks may start every 150
    assert passes <= 2.1 * alone
    for threads in (2, 3):
        same, windows, met = host_work(gpu, threads)
        assert same == cycles
        assert windows <= 1.4 * alone  # half as long, with one pass each, while one partition has much of the work
        assert met <= 1.1 * passes


@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100", "GTX480-16K", "GTX480-48K"])
def test_memory_lags_behind_where_one_partition_has_all_the_work(gpu: str) -> None:
    """Windows are half as long then, and threads meet once a window: nobody waits for that partition."""
    cycles, alone, _ = host_work(gpu, 1, camped=True)
    for threads in (2, 3):
        same, windows, passes = host_work(gpu, threads, camped=True)
        assert same == cycles
        assert 1.9 * alone <= windows <= 2.1 * alone
        assert passes <= 1.15 * windows  # both begin and end of the run apart


@pytest.mark.parametrize("gpu", ["GTX285", "GTX285-1100", "K20c"])
def test_transactions_of_one_load_served_by_several_host_threads(gpu: str) -> None:
    """Words of a scattered load come from several partitions at a time and must not wipe each other out."""
    launch = next(launch for launch in record([]) if launch.name.startswith("everything"))
    launch.config = list(gpus.as_tuple(gpus.get(gpu)))
    expected = run_launch(replace(launch, options=launch.options | {"threads": 1}))
    for _ in range(25):
        assert run_launch(replace(launch, options=launch.options | {"threads": 2})) == expected
