"""The check of global memory against its definition, on random programs, and what must not change what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core
from smmux.results.checks import RECORD
from smmux.running.launch_options import CHECKS
from tests.machine.assembler import CTAID_X, TID_X, Assembler, variant
from tests.reference import global_races as definition
from tests.reference.global_races import Step

BYTES = 512
KINDS = tuple(name for name, *_ in _core.FINDINGS)
BARRIERS = {"barrier": 0, "grid": 3}
MACHINES = ("GTX285", "GTX480-16K", "K20c")


@st.composite
def patterns(draw: st.DrawFn) -> tuple[str, int, int, int, int, int, int]:
    """(op, width, scale, stride, offset, mask, value): thread t of block g accesses scale * t + stride * g + offset if
    t & mask == value."""
    op = draw(st.sampled_from(("ld", "ld", "st", "st", "atom", "barrier", "grid")))
    if op in BARRIERS:
        return op, 0, 0, 0, 0, 0, 0
    width = draw(st.sampled_from((4, 4, 8) if op == "atom" else (1, 2, 4, 4, 8, 16)))
    scale = draw(st.sampled_from((0, 1, 1, 1, 2, 31))) * width
    stride = draw(st.sampled_from((0, 1, 32, 64, 64, 64))) * width
    mask = draw(st.sampled_from((0, 0, 1, 7, 31, 32, 63)))
    return op, width, scale, stride, draw(st.integers(0, 7)) * width, mask, draw(st.integers(0, 63)) & mask


def step(pattern: Any) -> Step:
    op, width, scale, stride, offset, mask, value = pattern

    def address(block: int, thread: int) -> int | None:
        return (scale * thread + stride * block + offset) % BYTES if thread & mask == value else None

    return Step(op, width, address)


def byte_of(number: int, block: int, thread: int) -> int:
    """What a thread stores at a step, in every byte."""
    return (5 * thread + 77 * block + 13 * number + 1) & 0xFF


def assemble(program: Any) -> tuple[Assembler, dict[int, int]]:
    """The machine's view, and the step of each pc."""
    a, steps = Assembler(), {}
    for number, (op, width, scale, stride, offset, mask, value) in enumerate(program):
        if op in BARRIERS:
            a("bar.sync", sub=BARRIERS[op])
            continue
        a("mul.lo.s32", d=0, a=TID_X, b=a.imm(scale))
        a("mad.lo.s32", d=0, a=CTAID_X, b=a.imm(stride), c=0)
        a("add.s32", d=0, a=0, b=a.imm(offset))
        a("and.b32", d=0, a=0, b=a.imm(BYTES - 1))
        a("add.s32", d=0, a=0, b=a.param(0))
        a("and.b32", d=1, a=TID_X, b=a.imm(mask))
        a("setp.eq.s32", d=0, a=1, b=a.imm(value))
        a("mul.lo.s32", d=2, a=TID_X, b=a.imm(5))
        a("mad.lo.s32", d=2, a=CTAID_X, b=a.imm(77), c=2)
        a("add.s32", d=2, a=2, b=a.imm(13 * number + 1))
        a("and.b32", d=2, a=2, b=a.imm(0xFF))
        for d in (4, 5, 6, 7):
            a("mul.lo.s32", d=d, a=2, b=a.imm(0x01010101))
        if op == "atom":
            add = _core.ATOMS["ADD" if width == 4 else "ADD64"]
            pc = a("atom.global", guard=0, a=0, b=4, bh=4, width=width, sub=add, aux=0)
        else:
            data = {"d": 4, "b": 5, "c": 6, "q": 7}
            used = dict(list(data.items())[: max(1, width // 4)])
            pc = a(f"{op}.global", guard=0, a=0, width=width, aux=0, **used)
        steps[pc] = number
    a("exit")
    return a, steps


def findings(found: dict[str, Any], steps: dict[int, int]) -> set[tuple[str, frozenset[int]]]:
    """Kind and steps of what was found, without notes."""
    records = np.frombuffer(found["findings"], RECORD)
    told = {(KINDS[r["kind"]], frozenset(steps[pc] for pc in r["pc"].tolist())) for r in records}
    return {finding for finding in told if finding[0] != "same-value"}


def distinct(taken: list[Step], blocks: int, threads: int, byte: int, pairs: Any) -> bool:
    """Do all stores to the byte store different values? And is it within one narrow piece of all of them?"""
    values = [
        byte_of(number, block, thread)
        for number in {number for _, pair in pairs for number in pair}
        for block in range(blocks)
        for thread in range(threads)
        if taken[number].op == "st"
        and (first := taken[number].address(block, thread)) is not None
        and first <= byte < first + taken[number].width
    ]
    return len(set(values)) == len(values)


@pytest.mark.long
@settings(max_examples=120)
@given(
    st.lists(patterns(), min_size=2, max_size=7),
    st.sampled_from(((3, 64), (2, 96), (4, 32), (3, 40))),
    st.sampled_from(("races", "races-strict")),
    st.sampled_from(MACHINES),
)
def test_findings_are_the_definitions(program: Any, size: tuple[int, int], check: str, gpu: str) -> None:
    """Nothing is found that is no race, and of the races of every byte at least one."""
    blocks, threads = size
    a, steps = assemble(program)
    out = a.run(
        gpu, grid=(blocks, 1, 1), block=(threads, 1, 1), buffers=(np.zeros(BYTES, np.uint8),), check=CHECKS[check]
    )
    got, taken = findings(out, steps), [step(pattern) for pattern in program]
    expected = definition.races(taken, blocks, threads, check == "races-strict")
    assert got <= set().union(*expected.values())
    for byte, pairs in expected.items():
        if distinct(taken, blocks, threads, byte, pairs):
            assert got & pairs, byte
            if "race" in dict(pairs):  # what two warps do is not taken for what one does in lockstep
                assert set(dict(got & pairs)) - {"lockstep"}, byte


def racing() -> Assembler:
    """Blocks store where others load, in several widths; some pairs are far apart in time."""
    program: Any = [
        ("st", 4, 4, 256, 0, 0, 0),
        ("ld", 4, 4, 128, 4, 0, 0),
        ("barrier", 0, 0, 0, 0, 0, 0),
        ("st", 1, 1, 32, 3, 1, 1),
        ("atom", 4, 0, 4, 8, 31, 2),
        ("ld", 16, 16, 64, 0, 3, 1),
    ]
    return assemble(program)[0]


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K", "GTX285-1100"])
def test_findings_do_not_depend_on_the_host(gpu: str) -> None:
    """Windows and host threads: the same records, values and cycles, and the cycles are those without a check."""
    runs = []
    for check, window, threads in ((1, 0, 1), (1, 1, 1), (1, 32, 2), (1, 0, 3), (1, 7, 4), (0, 0, 1)):
        memory = np.zeros(BYTES, np.uint8)
        out = racing().run(
            gpu, grid=(200, 1, 1), block=(64, 1, 1), buffers=(memory,), check=check, window=window, threads=threads
        )
        found = out.pop("findings"), out.pop("findings_lost")
        runs.append((found, out, memory.tobytes()))
    assert len(np.frombuffer(runs[0][0][0], RECORD)) > 3
    assert all(run == runs[0] for run in runs[:-1])
    assert runs[-1][1:] == runs[0][1:]


def test_what_was_found_before_a_fault_does_not_depend_on_the_host() -> None:
    """A store outside the array ends the run; other SMs have run on to the end of their window."""
    a = racing()
    a.rows.pop()
    a("setp.eq.s32", d=0, a=CTAID_X, b=a.imm(150))
    a("mov.b32", d=0, a=a.param(0))
    a("add.s32", d=0, a=0, b=a.imm(BYTES))
    a("st.global", guard=0, a=0, d=0, width=4, aux=0)
    a("exit")
    found = set()
    for window, threads in ((0, 1), (1, 1), (32, 2), (0, 3)):
        with pytest.raises(Exception, match="outside") as caught:
            a.run(grid=(200, 1, 1), block=(64, 1, 1), buffers=(np.zeros(BYTES, np.uint8),), check=1,
                  window=window, threads=threads)  # fmt: skip
        found.add(caught.value.findings)
    assert len(found) == 1


def test_too_much_to_watch_is_refused() -> None:
    """Marks take up to 84 bytes per 4 of an array; the buffer here is a large view of little memory."""
    a = Assembler()
    a("mov.b32", d=0, a=a.param(0))
    a("ld.global", a=0, d=1, width=1, aux=0)
    a("st.global", a=0, d=1, width=1, aux=0)
    a("exit")
    memory = np.empty(1 << 27, np.uint8)  # untouched: the host gives it no pages
    with pytest.raises(Exception, match="marks of who accessed which element take 6656 MiB, and 4096 are allowed"):
        a.run(buffers=(memory,), check=1)
    a.run(buffers=(memory,), check=0)


def test_blocks_follow_each_other_on_a_small_machine() -> None:
    """Blocks that never run at the same time race as well: a card starts them in any order."""
    a, steps = assemble([("st", 4, 4, 4, 0, 0, 0), ("ld", 4, 4, 4, 0, 0, 0)])
    out = a.run(variant("GTX285", sm_count=1, max_blocks_sm=1), grid=(3, 1, 1), block=(32, 1, 1),
                buffers=(np.zeros(BYTES, np.uint8),), check=1)  # fmt: skip
    assert ("race", frozenset((0,))) in findings(out, steps)
