"""The race check against its definition, on random programs; what it says about blocks, allocations and barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus
from smmux.compiler.program import DYNAMIC, SYNCWARP, SYNCWARP_BEHIND
from smmux.results.checks import RECORD
from smmux.running.launch_options import CHECKS
from tests.reference import races as definition
from tests.reference.races import Step

from .assembler import CTAID_X, TID_X, Assembler, variant

BYTES = 256
KINDS = tuple(name for name, *_ in _core.FINDINGS)


def findings(found: dict[str, Any]) -> list[tuple[str, tuple[int, int], int]]:
    """(kind, pcs, address) of the records, without notes."""
    records = np.frombuffer(found["findings"], RECORD)
    told = [(KINDS[r["kind"]], tuple(r["pc"].tolist()), int(r["address"])) for r in records]
    return [finding for finding in told if finding[0] != "same-value"]


@st.composite
def patterns(draw: st.DrawFn, op: str) -> tuple[int, int, int, int, int]:
    """(width, scale, offset, guard mask, guard value): thread t accesses scale * t + offset if t & mask == value, or
    takes part in the syncwarp."""
    if op == "barrier":
        return 0, 0, 0, 0, 0
    if op == "syncwarp":
        mask = draw(st.sampled_from((0, 0, 0, 1, 15, 16)))
        return 0, 0, 0, mask, draw(st.integers(0, 31)) & mask
    width = draw(st.sampled_from((4, 4, 8) if op == "atom" else (1, 2, 4, 8, 16)))
    scale = draw(st.sampled_from((0, 1, 1, 2, 3, 31))) * width
    offset = draw(st.integers(0, 7)) * width
    mask = draw(st.sampled_from((0, 0, 1, 7, 31, 32, 63, 95)))
    return width, scale, offset, mask, draw(st.integers(0, 127)) & mask


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, tuple[int, int, int, int, int]]]:
    ops = st.sampled_from(("ld", "ld", "st", "st", "atom", "barrier", "syncwarp"))
    chosen = draw(st.lists(ops, min_size=2, max_size=9))
    if not draw(st.booleans()):
        chosen = [op for op in chosen if op != "atom"]  # the quick way is closed to programs with atomics
    return [(op, draw(patterns(op))) for op in chosen]


def all_meet(program: Any) -> bool:
    """Do all lanes take part in every syncwarp? Where some do not, a race may go unseen: two tags are kept, and it may
    be a third thread's access that nothing orders."""
    return not any(op == "syncwarp" and pattern[3] for op, pattern in program)


def step(op: str, pattern: tuple[int, int, int, int, int], dynamic: bool = False) -> Step:
    """The definition's view of an instruction; the dynamic part lies behind the static one."""
    width, scale, offset, mask, value = pattern

    def address(thread: int) -> int | None:
        return BYTES * dynamic + (scale * thread + offset) % BYTES if thread & mask == value else None

    return Step(op, width, address)


def assemble(
    program: list[tuple[str, tuple[int, int, int, int, int]]], rounds: int = 1, dynamic: int = 0
) -> tuple[Assembler, dict[int, int]]:
    """The machine's view, and the step of each pc. Every thread stores a value of its own at every step. dynamic: bit
    per step that accesses the dynamic part; the program is between an allocation and a release then."""
    a, steps, pending = Assembler(), {}, 0
    if dynamic:
        a("bar.sync", sub=1, imm=BYTES)
    a("mov.b32", d=8, a=a.imm(rounds))
    start = len(a.rows)
    for number, (op, (width, scale, offset, mask, value)) in enumerate(program):
        if op == "syncwarp" and not mask:
            pending = SYNCWARP
            continue
        if op == "syncwarp":
            a("and.b32", d=1, a=TID_X, b=a.imm(mask), flags=pending)
            a("setp.eq.s32", d=0, a=1, b=a.imm(value))
            a("bra", guard=0, guard_not=True, imm=len(a.rows) + 2, aux=len(a.rows) + 2)
            a("nop", flags=SYNCWARP_BEHIND)
            pending = 0
            continue
        flags, pending = pending, 0
        if op == "barrier":
            a("bar.sync", flags=flags)
            continue
        a("mul.lo.s32", d=0, a=TID_X, b=a.imm(scale), flags=flags)
        a("add.s32", d=0, a=0, b=a.imm(offset))
        a("and.b32", d=0, a=0, b=a.imm(BYTES - 1))
        a("and.b32", d=1, a=TID_X, b=a.imm(mask))
        a("setp.eq.s32", d=0, a=1, b=a.imm(value))
        fresh = 0x01010101 * (1 + number)
        for d in (4, 5, 6, 7):
            a("mul.lo.s32", d=d, a=TID_X, b=a.imm(0x01010101))
            a("add.s32", d=d, a=d, b=a.imm(fresh << 4))
        space = DYNAMIC if dynamic >> number & 1 else 0
        if op == "atom":
            add = _core.ATOMS["ADD" if width == 4 else "ADD64"]
            pc = a("atom.shared", guard=0, a=0, b=4, bh=4, width=width, sub=add, flags=space)
        else:
            data = {"d": 4, "b": 5, "c": 6, "q": 7}
            used = dict(list(data.items())[: max(1, width // 4)])
            pc = a(f"{op}.shared", guard=0, a=0, width=width, flags=space, **used)
        steps[pc] = number
    a("add.s32", d=8, a=8, b=a.imm(-1), flags=pending)
    a("setp.ne.s32", d=1, a=8, b=a.imm(0))
    a("bra", guard=1, imm=start, aux=len(a.rows) + 1)
    if dynamic:
        a("bar.sync", sub=2)
    a("exit")
    return a, steps


@pytest.mark.long
@settings(max_examples=150)
@given(programs(), st.sampled_from((32, 64, 96, 75)), st.sampled_from(("races", "races-strict")), st.integers(0, 1))
def test_findings_are_the_definitions(program: Any, threads: int, check: str, gpu: int) -> None:
    """Nothing is found that is no race, and of the races of every byte at least one."""
    a, steps = assemble(program)
    machine = ("GTX285", "GTX480-16K")[gpu]
    found = findings(a.run(machine, block=(threads, 1, 1), shared=BYTES, check=CHECKS[check]))
    taken = [step(op, pattern) for op, pattern in program]
    expected = definition.races(taken, threads, check == "races-strict")
    got = {
        (kind, frozenset(steps[pc] for pc in pcs)) for kind, pcs, _ in found if kind in ("race", "lockstep", "conflict")
    }
    # The bytes of a thread's number repeat in its value: stores of one value are no race, whichever comes last.
    assert got <= set().union(*expected.values())
    for byte, pairs in expected.items() if all_meet(program) else ():
        if all(distinct(taken, threads, byte, pair) for pair in pairs):
            assert got & pairs, byte
            if "race" in dict(pairs):  # what two warps do is not taken for what one does in lockstep
                assert set(dict(got & pairs)) - {"lockstep"}, byte
    read = {steps[pcs[0]] for kind, pcs, _ in found if kind == "uninitialised"}
    surely, maybe = definition.uninitialised(taken, threads)
    assert surely <= read <= maybe


MACHINES = [  # in the second, blocks start at odd places; in the second and third, one after the other
    gpus.get("GTX285"),
    variant("GTX285", sm_count=3, smm_unit=1),
    variant("GTX480-16K", sm_count=1, smm_unit=16),
]


@settings(max_examples=60)
@given(
    programs(), st.integers(1, 3), st.integers(0, 511), st.integers(0, 5), st.sampled_from(("races", "races-strict"))
)
def test_findings_in_loops_of_many_blocks_with_dynamic_memory(
    program: Any, rounds: int, spaces: int, where: int, check: str
) -> None:
    """The same where steps come round again, blocks follow blocks in an SM and memory is allocated and released."""
    a, steps = assemble(program, rounds, spaces)
    options = {"extra_blocks": where // 3, "check": CHECKS[check]}
    management = ("static", "dynamic")[where // 3]
    grid = (1 if where % 3 == 0 else 30, 1, 1)
    size = {"grid": grid, "block": (64, 1, 1), "shared": BYTES + 3, "dynamic_bytes": BYTES}
    found = findings(a.run(MACHINES[where % 3], management=management, **size, **options))
    taken = [step(op, pattern, bool(spaces >> i & 1)) for i, (op, pattern) in enumerate(program)]
    count = len(taken)
    expected = {
        byte: {loop_pair(pair, taken, count) for pair in pairs}
        for byte, pairs in definition.races(taken * rounds, 64, check == "races-strict").items()
    }
    got = {
        (kind, frozenset(steps[pc] for pc in pcs)) for kind, pcs, _ in found if kind in ("race", "lockstep", "conflict")
    }
    assert got <= set().union(*expected.values())
    for byte, pairs in expected.items() if all_meet(program) else ():
        if all(distinct(taken, 64, byte, pair) for pair in pairs):
            assert got & pairs, byte
            if "race" in dict(pairs):  # what two warps do is not taken for what one does in lockstep
                assert set(dict(got & pairs)) - {"lockstep"}, byte
    read = {steps[pcs[0]] for kind, pcs, _ in found if kind == "uninitialised"}
    surely, maybe = definition.uninitialised(taken * rounds, 64)
    assert {number % count for number in surely} <= read <= {number % count for number in maybe}


def loop_pair(pair: tuple[str, frozenset[int]], taken: list[Step], count: int) -> tuple[str, frozenset[int]]:
    """Steps of a round. Stores of one instruction conflict in whichever rounds, unless lockstep orders them."""
    numbers = frozenset(number % count for number in pair[1])
    alone = len(numbers) == 1 and taken[min(numbers)].op == "st"
    return "conflict" if alone and pair[0] == "race" else pair[0], numbers


def distinct(taken: list[Step], threads: int, byte: int, pair: tuple[str, frozenset[int]]) -> bool:
    """Do the stores of these steps to the byte all store different values (in its lowest byte, see `assemble`)?"""
    values = [
        (thread + (0x10 * (1 + number) & 0xFF)) & 0xFF
        for number in pair[1]
        for thread in range(threads)
        if taken[number].op == "st"
        and (first := taken[number].address(thread)) is not None
        and first <= byte < first + taken[number].width
    ]
    return len(set(values)) == len(values)


def test_bytes_of_a_word_are_apart() -> None:
    """Threads of different warps store to the bytes of one word."""
    a = Assembler()
    a("st.shared", a=TID_X, d=TID_X, width=1)
    a("exit")
    assert findings(a.run(block=(96, 1, 1), shared=96, check=1)) == []


def test_a_grant_is_uninitialised_again() -> None:
    """What was stored before a release may not be loaded after the next allocation, whoever had it meanwhile."""
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    a("bar.sync", sub=1, imm=256)
    a("st.shared", a=0, d=0, width=4, flags=DYNAMIC)
    a("ld.shared", a=0, d=1, width=4, flags=DYNAMIC)
    a("bar.sync", sub=2)
    a("bar.sync", sub=1, imm=256)
    stale = a("ld.shared", a=0, d=1, width=4, flags=DYNAMIC)
    a("bar.sync", sub=2)
    a("exit")
    for management in ("static", "dynamic"):
        found = a.run(grid=(9, 1, 1), block=(64, 1, 1), dynamic_bytes=256, management=management, check=1)
        assert {(kind, pcs) for kind, pcs, _ in findings(found)} == {("uninitialised", (stale, stale))}
        assert int(np.frombuffer(found["findings"], RECORD)["count"].sum()) == 9 * 64


def test_blocks_do_not_race_with_those_before_them() -> None:
    """The next block of an SM, or whoever is granted the memory next, finds no traces."""
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    a("xor.b32", d=1, a=0, b=a.imm(128))  # the other warp's
    for _ in range(3):
        a("bar.sync", sub=1, imm=3000)
        a("st.shared", a=0, d=0, width=4, flags=DYNAMIC)
        a("bar.sync")
        a("ld.shared", a=1, d=2, width=4, flags=DYNAMIC)
        a("bar.sync", sub=2)
    a("exit")
    for management, extra in (("static", 0), ("dynamic", 0), ("dynamic", 3)):
        options = {"management": management, "extra_blocks": extra}
        assert findings(a.run(grid=(300, 1, 1), block=(64, 1, 1), dynamic_bytes=3000, check=1, **options)) == []


def exit_of_some(late: bool) -> Assembler:
    """Threads from 40 on exit, before the first barrier or after it."""
    a = Assembler()
    a("setp.ge.s32", d=0, a=TID_X, b=a.imm(40))
    if late:
        a("bar.sync")
    a("exit", guard=0)
    a("bar.sync")
    a("exit")
    return a


@pytest.mark.parametrize(("late", "kind"), [(False, "early-exit"), (True, "divergence")])
def test_barriers_without_those_who_have_exited(late: bool, kind: str) -> None:
    a = exit_of_some(late)
    out = a.run(grid=(2, 1, 1), block=(64, 1, 1), check=1)
    assert findings(out) == [(kind, (1 + late, 2 + late), 0)] * 2  # one per SM
    assert set(np.frombuffer(out["findings"], RECORD)["thread"][0].tolist()) == {40, 0}


def test_warps_at_different_barriers() -> None:
    a = Assembler()
    a("setp.lt.s32", d=0, a=TID_X, b=a.imm(32))
    a("bra", guard=0, imm=4, aux=5)
    a("bar.sync")
    a("bra", imm=5, aux=-1)
    a("bar.sync")
    a("exit")
    [(kind, pcs, _)] = findings(a.run(block=(64, 1, 1), check=1))
    assert (kind, set(pcs)) == ("divergence", {2, 4})


def racing() -> Assembler:
    """Every block does another part of the wrong things."""
    a = Assembler()
    a("and.b32", d=3, a=CTAID_X, b=a.imm(7))
    a("setp.eq.s32", d=0, a=3, b=a.imm(5))
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    a("xor.b32", d=1, a=0, b=a.imm(128))
    a("ld.shared", a=1, d=2, width=4)
    a("st.shared", guard=0, a=0, d=0, width=4)
    a("ld.shared", a=1, d=2, width=4)
    a("st.shared", a=a.imm(0), d=TID_X, width=1)
    a("exit")
    return a


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_findings_do_not_depend_on_the_host(gpu: str) -> None:
    """Windows and host threads: the same records, values and cycles, and the cycles are those without a check."""
    options = {"grid": (200, 1, 1), "block": (64, 1, 1), "shared": 512}
    expected = racing().run(gpu, check=1, **options)
    assert len(findings(expected)) > 3
    for window in (1, 32):
        for threads in (1, 2, 3):
            assert racing().run(gpu, check=1, window=window, threads=threads, **options) == expected
    plain = racing().run(gpu, **options)
    assert plain["counters"] == expected["counters"]


def test_more_pairs_than_there_is_room_for() -> None:
    """700 loads of what nobody wrote: 512 of them are kept, the others counted."""
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    for _ in range(700):
        a("ld.shared", a=0, d=1, width=4)
    a("exit")
    out = a.run(block=(32, 1, 1), shared=128, check=1)
    assert len(findings(out)) == 512
    assert out["findings_lost"] == (700 - 512) * 32
