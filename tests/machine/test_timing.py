"""Closed forms: what one or two warps on an idle chip take, to the cycle."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import _core, gpus, policies

from .assembler import LANEID, Assembler, variant

MACHINES = ("GTX285", "GTX285-1100", "GTX480-16K", "GTX480-48K")
ARITHMETIC = {name.upper() for name, (_, doc) in _core.CLASSES.items() if not doc.startswith("compiled")} - {
    "SHARED",
    "CONST",
    "GLOBAL",
    "BRA",
    "BAR",
    "SHFL",
    "IDIV",
    "IREM",
    "IDIV64",
    "IREM64",
}
ALU = sorted(
    op
    for op, (_, _, cls, operands) in _core.OPS.items()
    if operands.startswith(("d,a", "d,dh,a")) and cls in ARITHMETIC
)


def cycles(build, gpu, *, n, **options) -> int:
    """Cycles of a program with n repetitions of what `build` emits, fetched perfectly."""
    a = Assembler()
    build(a, n)
    a("exit")
    return a.run(variant(gpu, icache_bytes=0), **options)["counters"]["cycles"]


def slope(build, gpu, *, few=3, many=19, **options) -> float:
    """Cycles per repetition."""
    return (cycles(build, gpu, n=many, **options) - cycles(build, gpu, n=few, **options)) / (many - few)


def class_of(op: str) -> str:
    """Name of an operation's latency class."""
    wanted = _core.OPS[op][2].lower()
    return next(name for name in _core.CLASSES if name == wanted)


def sources(op: str, register: int) -> dict[str, int]:
    """All source fields of an operation set to one register, their high words to the next."""
    return {field: register + len(field) - 1 for field in _core.OPS[op][3].split(",") if field[0] in "abc"}


@pytest.mark.parametrize("gpu", MACHINES)
def test_dependent_chain_takes_the_latency(gpu: str) -> None:
    def chain(op: str) -> float:
        def build(a: Assembler, n: int) -> None:
            a("mov.b32", d=0, a=a.imm(1))
            for _ in range(n):
                a(op, d=0, dh=1, q=0, **sources(op, 0))

        return slope(build, gpu)

    assert {op: chain(op) for op in ALU} == {op: getattr(gpus.get(gpu), f"lat_{class_of(op)}") for op in ALU}


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("op", ["div.s32", "rem.s32", "div.u32", "rem.u32"])
def test_division_latency(op: str, gpu: str) -> None:
    def build(a: Assembler, n: int) -> None:
        a("mov.b32", d=0, a=a.imm(1))
        for i in range(n):
            a(op, d=1, a=0, b=a.imm(1))
            a("add.s32", d=0, a=1, b=a.imm(i))

    machine = gpus.get(gpu)
    assert slope(build, gpu) == getattr(machine, f"lat_{class_of(op)}") + machine.lat_alu


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("op", ["add.s32", "mul.lo.s32", "mad.lo.s32", "mad.f32", "sin.approx.f32", "shl.b32"])
def test_independent_stream_takes_the_issue_interval(op: str, gpu: str) -> None:
    def build(a: Assembler, n: int) -> None:
        for i in range(n):
            a(op, d=4 + i % 50, **sources(op, 0))

    machine = gpus.get(gpu)
    expected = max(machine.issue_interval, getattr(machine, f"issue_{class_of(op)}"))
    assert slope(build, gpu, few=100, many=200, nregs=54) == expected


@pytest.mark.parametrize("gpu", MACHINES)
def test_shared_pointer_chase_takes_the_latency(gpu: str) -> None:
    def build(a: Assembler, n: int) -> None:
        for _ in range(n):
            a("ld.shared", d=0, a=0, width=4)

    assert slope(build, gpu, shared=1024) == gpus.get(gpu).lat_shared


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16])
def test_each_further_bank_way_costs_its_time(gpu: str, ways: int) -> None:
    """Lanes i of a request address word i * ways: `ways` lanes in each bank that is used."""

    def build(a: Assembler, n: int) -> None:
        a("mul.lo.s32", d=0, a=LANEID, b=a.imm(4 * ways))
        for _ in range(n):
            a("ld.shared", d=1, a=0, width=4)
            a("and.b32", d=2, a=1, b=a.imm(0))
            a("add.s32", d=0, a=0, b=2)

    machine = gpus.get(gpu)
    requests = 2 if machine.smem_rule == 1 else 1
    extra = max(0, requests * ways * machine.smem_clk_per_way - machine.issue_shared)
    assert slope(build, gpu, shared=32 * 64) == machine.lat_shared + extra + 2 * machine.lat_alu


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_barrier(gpu: str, warps: int) -> None:
    """The last of the warps arrives after the others have issued, and lat_bar later all go on."""

    def build(a: Assembler, n: int) -> None:
        for _ in range(n):
            a("bar.sync")

    machine = gpus.get(gpu)
    per_scheduler = -(-warps // machine.schedulers)
    between = max(machine.issue_interval, machine.issue_bar)
    expected = max((per_scheduler - 1) * between + machine.lat_bar, per_scheduler * between)
    assert slope(build, gpu, block=(32 * warps, 1, 1)) == expected


@pytest.mark.parametrize("gpu", MACHINES)
def test_two_warps_share_the_arithmetic_unit(gpu: str) -> None:
    def build(a: Assembler, n: int) -> None:
        for i in range(n):
            a("add.s32", d=4 + i % 50, a=0, b=0)

    machine = gpus.get(gpu)
    warps = 2 * machine.schedulers
    assert slope(build, gpu, few=100, many=200, nregs=54, block=(32 * warps, 1, 1)) == 2 * machine.issue_alu


def test_dual_issue_pairs_different_units_only() -> None:
    """GTX285-1100 issues a multiplication (SFU) beside an addition (SP), not two additions (GS302)."""

    def pairs(second: str):
        def build(a: Assembler, n: int) -> None:
            for i in range(n):
                a("add.f32", d=4 + i % 50, a=0, b=0)
                a(second, d=54 + i % 50, a=0, b=0)

        return build

    options = {"few": 50, "many": 100, "nregs": 110}
    assert slope(pairs("mul.f32"), "GTX285-1100", **options) == 4
    assert slope(pairs("add.f32"), "GTX285-1100", **options) == 8
    assert slope(pairs("add.f32"), "GTX285", **options) == 8


def rate(ops: tuple[str, ...], gpu: gpus.Gpu, warps: int) -> float:
    """Clocks of an SM for one instruction of each of some operations, many of which all warps want to execute."""

    def build(a: Assembler, n: int) -> None:
        for i in range(n):
            for j, op in enumerate(ops):
                width = {"width": 4} if op == "ld.shared" else {}
                a(op, d=4 + (len(ops) * i + j) % 28, **sources(op, 0), **width)

    def taken(n: int) -> int:
        a = Assembler()
        build(a, n)
        a("exit")
        return a.run(gpu, nregs=32, shared=64, block=(32 * warps, 1, 1))["counters"]["cycles"]

    return (taken(60) - taken(30)) / 30 / warps


@pytest.mark.parametrize("warps", [1, 4, 8, 16])
@pytest.mark.parametrize(
    ("ops", "clocks"),
    [
        (("mad.f32",), {1: 4, 16: 4}),
        (("mul.f32",), {1: 8 / 3, 16: 8 / 3}),  # 32 in 8 clocks of the SFU, 64 on the SP: 12 per clock
        (("mad.f32", "mul.f32"), {1: 6, 16: 16 / 3}),
        (("mad.f32", "sin.approx.f32"), {1: 16, 16: 16}),
        (("mad.f32", "mad.f32", "mad.f32", "mad.f32", "sin.approx.f32"), {1: 16, 16: 16}),
        (("mad.f32", "add.s32"), {1: 8, 16: 8}),
        (("mad.f32", "ld.shared"), {1: 8, 16: 8}),
    ],
)
def test_sp_and_sfu_of_a_gtx285_work_at_once(ops: tuple[str, ...], clocks: dict[int, float], warps: int) -> None:
    """The scheduler issues to them in turn; one warp can use both, and many share them in the best way.

    A multiplication takes 4 clocks of the SP or 8 of the SFU: a pair of multiply-add and multiplication takes 4 (2 - k)
    of the one and 8 k of the other, which is 16 / 3 at k = 2 / 3.
    """
    gpu = variant("GTX285", icache_bytes=0)
    if warps in clocks:
        assert rate(ops, gpu, warps) == pytest.approx(clocks[warps], rel=0.03)
    without = variant("GTX285", icache_bytes=0, sfu_slots=0)
    assert rate(ops, without, warps) >= max(4 * len(ops), rate(ops, gpu, warps)) * 0.99


def test_divergent_branch_runs_both_sides_and_meets_again() -> None:
    def build(a: Assembler, n: int) -> None:
        a("setp.lt.s32", d=0, a=LANEID, b=a.imm(16))
        a("bra", guard=0, imm=4, aux=5)
        a("add.s32", d=1, a=1, b=a.imm(1))
        a("bra", imm=5, aux=5)
        a("add.s32", d=1, a=1, b=a.imm(2))

    a = Assembler()
    build(a, 1)
    a("exit")
    counters = a.run("GTX285")["counters"]
    assert counters["divergent_branches"] == 1
    assert counters["instructions"] == 6
    assert counters["thread_instructions"] == 32 + 16 + 3 * 16 + 32  # the branch counts the lanes that take it


def test_a_branch_to_the_next_instruction_splits_no_warp() -> None:
    """Both ways are where lanes meet: none may go on alone, past it, and to a barrier."""
    a = Assembler()
    a("setp.lt.s32", d=0, a=LANEID, b=a.imm(16))
    a("bra", guard=0, imm=2, aux=2)
    a("bar.sync")
    a("exit")
    counters = a.run("GTX285")["counters"]
    assert counters["divergent_branches"] == 0
    assert counters["instructions"] == 4


@pytest.mark.parametrize("schedulers", [1, 2, 4])
@pytest.mark.parametrize("policy", policies.names("scheduler"))
def test_scheduler_time_is_accounted_for(schedulers: int, policy: str) -> None:
    a = Assembler()
    a("mov.b32", d=0, a=LANEID)
    for _ in range(20):
        a("mul.lo.s32", d=0, a=0, b=0)
        a("add.s32", d=1, a=1, b=0)
        a("bar.sync")
    a("exit")
    gpu = variant("GTX285", schedulers=schedulers, sfu_slots=int(schedulers == 1), sched_policy=policy)
    counters = a.run(gpu, grid=(70, 1, 1), block=(128, 1, 1))["counters"]
    parts = counters["issue_cycles"] + sum(v for name, v in counters.items() if name.startswith("idle_"))
    assert parts == counters["scheduler_cycles"] == counters["cycles"] * schedulers * 30
    assert counters["idle_other"] == 0


@pytest.mark.parametrize("gpu", MACHINES)
def test_fence_waits_for_acknowledgements(gpu: str) -> None:
    """Stores leave a warp behind; a fence holds it until they are answered, and costs nothing without them."""

    def run(*, store: bool, fence: bool) -> int:
        a = Assembler()
        if store:
            a("st.global", d=0, a=a.param(0), width=4, aux=0)
        if fence:
            a("membar")
        for _ in range(3):
            a("add.s32", d=1, a=1, b=1)
        a("exit")
        machine = variant(gpu, icache_bytes=0, mem_model=0)
        return a.run(machine, block=(1, 1, 1), buffers=(np.zeros(1, np.int32),))["counters"]["cycles"]

    machine = gpus.get(gpu)
    answered = machine.lat_global + machine.flat_latency
    chain = 2 * machine.lat_alu  # the third result is not waited for
    assert run(store=True, fence=False) == answered  # the grid ends with the acknowledgement
    assert run(store=True, fence=True) > answered + chain
    assert run(store=False, fence=True) <= run(store=False, fence=False) + machine.issue_bar
