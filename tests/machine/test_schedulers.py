"""Warp schedulers: the order of issues is that of the policy's definition, and laws hold between policies."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus, policies
from tests.reference import scheduler
from tests.reference.scheduler import Step

from .assembler import CTAID_X, TID_X, Assembler, variant

POLICIES = policies.names("scheduler")
TICKETS = 4
"""How often a warp may draw a number from the counter that tells in which order warps came to it."""
MASKS = (5, 6)
"""Bits of a warp's number; who has one of them takes part in what predicate 0 or 1 guards."""


def machine(policy: str, **changes: Any) -> gpus.Gpu:
    """One SM on a memory that answers after a fixed time."""
    memory = {"mem_model": 0, "flat_bytes_per_kclk": 100_000_000, "flat_latency": 150, "credits": 4096}
    blocks = {
        "sm_count": 1,
        "sms_per_tpc": 1,
        "dispatch_interval": 7,
        "block_start": 40,
        "icache_bytes": 0,
        "regs_sm": 262144,
    }
    return variant("GTX480-48K", sched_policy=policy, issue_width=1, **memory | blocks | changes)


class Kernel:
    """A random program, for the machine and as steps; step i writes register i."""

    def __init__(self, gpu: gpus.Gpu, rng: Random, warps: int, length: int) -> None:
        self.gpu, self.rng, self.asm = gpu, rng, Assembler()
        self.steps: list[tuple[Step, int | None]] = []  # with the guard
        self.tickets: list[int] = []
        a = self.asm
        self.add("shr.u32", (), a=TID_X, b=a.imm(5))
        self.add("mad.lo.s32", (0,), a=CTAID_X, b=a.imm(warps), c=0)
        place = self.add("mad.lo.s32", (1,), a=1, b=a.imm(4 * TICKETS), c=a.param(1))
        self.set_by = [self.add_predicate(i, mask) for i, mask in enumerate(MASKS)]
        while len(self.steps) < length:
            self.add_something()
        for i, ticket in enumerate(self.tickets):
            self.add("st.global", (place, ticket), a=place, d=ticket, imm=4 * i, width=4, aux=1)
        self.add("exit", ())

    def add(self, op: str, needs: tuple[int, ...], guard: int | None = None, **fields: int) -> int:
        """One more instruction, which needs results of these; returns its number, which is its register too."""
        number = len(self.steps)
        _, _, latency_class, operands = _core.OPS[op]
        name = latency_class.lower()
        memory = name == "global"
        answer = self.gpu.flat_latency if memory else 0
        self.steps.append(
            (
                Step(
                    getattr(self.gpu, f"unit_{name}"),
                    getattr(self.gpu, f"issue_{name}"),
                    getattr(self.gpu, f"lat_{name}") + answer,
                    needs if guard is None else (*needs, self.set_by[guard]),
                    memory,
                ),
                guard,
            )
        )
        if operands.startswith("d"):
            fields = {"d": number} | fields
        self.asm(op, guard=guard, **fields)
        return number

    def add_predicate(self, number: int, mask: int) -> int:
        """Predicate `number` says who has a bit of the mask; returns the step that sets it."""
        bits = self.add("and.b32", (1,), a=1, b=self.asm.imm(mask))
        return self.add("setp.ne.s32", (bits,), d=number, a=bits, b=self.asm.imm(0))

    def add_something(self) -> None:
        """A ticket, which only some of the warps may draw, or arithmetic on one of the last results."""
        recent, kind = self.rng.randrange(len(self.steps) - 4, len(self.steps)), self.rng.random()
        if kind < 0.25 and len(self.tickets) < TICKETS:
            guard = self.rng.choice((None, 0, 1))
            ticket = self.add("atom.global", (), guard, a=self.asm.param(0), b=self.asm.imm(32), width=4, aux=0, sub=0)
            self.tickets.append(ticket)
        elif recent in self.set_by:
            self.add("add.s32", (0,), a=0, b=0)
        elif kind < 0.5:
            self.add("ex2.approx.f32", (recent,), a=recent)
        else:
            self.add(self.rng.choice(("add.s32", "mul.lo.s32")), (recent,), a=recent, b=recent)

    def of(self, number: int) -> list[Step]:
        """The steps of warp `number` of the grid: of those that it is guarded from, only the issue is left."""
        out = []
        for step, guard in self.steps:
            idle = guard is not None and not number & MASKS[guard]
            out.append(Step(step.unit, step.busy, 0, step.needs) if idle else step)
        return out


def compare(gpu: gpus.Gpu, seed: int, blocks: int, warps: int) -> dict[str, int]:
    """The machine's order of tickets and its cycles are those of the definition; returns the machine's counters."""
    kernel = Kernel(gpu, Random(seed), warps, 14 + seed % 20)
    counter, drawn = np.zeros(1, np.uint32), np.zeros((blocks * warps, TICKETS), np.uint32)
    counters: dict[str, int] = kernel.asm.run(
        gpu,
        grid=(blocks, 1, 1),
        block=(32 * warps, 1, 1),
        nregs=len(kernel.steps),
        buffers=(counter, drawn),
    )["counters"]
    sm = scheduler.Sm(
        scheduler.Machine(
            gpu.sched_policy,
            gpu.schedulers,
            gpu.issue_interval,
            gpu.sched_group,
            min(gpu.max_blocks_sm, gpu.max_warps_sm // warps),
            gpu.max_warps_sm,
            gpu.dispatch_interval,
            gpu.block_start,
            {name: getattr(gpu, f"{name}_units") for name, _ in _core.UNITS},
        ),
        [[kernel.of(block * warps + warp) for warp in range(warps)] for block in range(blocks)],
    ).run()
    expected = np.zeros_like(drawn)
    order = [(b * warps + w, kernel.tickets.index(step)) for _, b, w, step in sm.log if step in kernel.tickets]
    taken = [(w, i) for w, i in order if (guard := kernel.steps[kernel.tickets[i]][1]) is None or w & MASKS[guard]]
    for number, place in enumerate(taken):
        expected[place] = number
    assert np.array_equal(drawn // 1024, expected)
    assert counters["instructions"] == len(sm.log)
    assert counters["cycles"] == sm.end
    return counters


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    schedulers=st.sampled_from((1, 2, 4)),
    interval=st.sampled_from((1, 2, 4)),
    group=st.sampled_from((1, 2, 3, 8, 64)),
    blocks=st.integers(1, 9),
    warps=st.integers(1, 8),
    resident=st.integers(1, 8),
)
def test_warps_issue_in_the_order_of_the_definition(
    policy: str, seed: int, schedulers: int, interval: int, group: int, blocks: int, warps: int, resident: int
) -> None:
    gpu = machine(policy, schedulers=schedulers, issue_interval=interval, sched_group=group, max_blocks_sm=resident)
    compare(gpu, seed, blocks, warps)


def test_schedulers_share_a_unit_fairly() -> None:
    """The warps of two schedulers, who want nothing but the unit that both share, end at the same time."""
    a = Assembler()
    for i in range(64):
        a("ex2.approx.f32", d=1 + i % 16, a=0)  # none of which waits for the one before
    a("exit")
    gpu = machine("gto", schedulers=2, issue_interval=2, sfu_units=1)
    found = a.run(gpu, block=(64, 1, 1), nregs=17)["counters"]
    busy = 2 * 64 * gpu.issue_sfu
    assert busy <= found["cycles"] + gpu.issue_sfu <= busy + 2 * gpu.issue_sfu
    assert found["idle_no_block"] <= 2 * gpu.issue_sfu  # of one warp after the other the first would idle for half


def counters_of(gpu: gpus.Gpu, seed: int, blocks: int = 9, warps: int = 6) -> dict[str, int]:
    """Counters of a random program."""
    kernel = Kernel(gpu, Random(seed), warps, 30)
    buffers = np.zeros(1, np.uint32), np.zeros((blocks * warps, TICKETS), np.uint32)
    found = kernel.asm.run(gpu, grid=(blocks, 1, 1), block=(32 * warps, 1, 1), nregs=len(kernel.steps), buffers=buffers)
    counters: dict[str, int] = found["counters"]
    return counters


@pytest.mark.parametrize("schedulers", [1, 2, 4])
def test_two_levels_with_one_group_are_one_level(schedulers: int) -> None:
    for seed in range(5):
        expected = counters_of(machine("lrr", schedulers=schedulers), seed)
        group = 64 // schedulers
        assert counters_of(machine("two_level", schedulers=schedulers, sched_group=group), seed) == expected
        assert counters_of(machine("lrr", schedulers=schedulers, sched_group=1), seed) == expected


def test_every_policy_and_every_size_of_group_changes_something() -> None:
    runs = [[counters_of(machine(policy), seed) for seed in range(5)] for policy in POLICIES]
    runs += [[counters_of(machine("two_level", sched_group=size), seed) for seed in range(5)] for size in (1, 3)]
    assert all(a != b for i, a in enumerate(runs) for b in runs[:i])


def test_groups_come_to_their_loads_one_after_the_other() -> None:
    """What the policy is for (Narasiman et al., figure 6): with round-robin all warps load and then all wait; in two
    levels one group computes while another one waits."""
    a = Assembler()
    for _ in range(3):
        for _ in range(24):
            a("add.s32", d=1, a=1, b=1)
        a("ld.global", d=2, a=a.param(0), width=4, aux=0)
        a("add.s32", d=1, a=1, b=2)
    a("exit")
    cycles = {
        policy: a.run(
            machine(policy, schedulers=1, sched_group=8, coalesce_l1=0, flat_latency=600),
            block=(32 * 32, 1, 1),
            buffers=(np.zeros(1, np.uint32),),
        )["counters"]["cycles"]
        for policy in ("lrr", "two_level")
    }
    assert cycles["two_level"] < 0.85 * cycles["lrr"]
