"""Findings: errors, warnings and notes about the use of shared and global memory, from runs with `check="races"`.

A race is a pair of accesses to the same bytes by different threads that nothing orders, at least one of them a write:
in shared memory by threads of a block in one interval between barriers, in global memory by any threads of the grid
(csrc/chip/order.h says what orders them). Two atomics do not race. Two stores of which one leaves the value as it is
are a note. On the
modelled machines (compute capability 1.x to 3.x) the threads of a warp run in lockstep, on which warp-synchronous code
counts, and the compiler moves no access past another one in which a thread of the warp may touch the same bytes. So
"races" reports a pair within a warp that no `cuda.syncwarp` orders as a warning, of kind "lockstep"; threads of compute
capability 7.x do not run so, and for "races-strict" the pair is a race. The machine chooses the order in which a warp
takes the arms of a branch: pairs in two arms are such pairs too.
"""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from smmux import _core
from smmux.base.counted import counted
from smmux.base.dimensions import Dim3, coordinates

if TYPE_CHECKING:
    from smmux.compiler.instruction import Instruction
    from smmux.compiler.program import Program

__all__ = ["Access", "Finding", "FindingInfo", "Findings", "finding_info", "from_core"]

CUDA_FILES = (".cu", ".cuh", ".h", ".hpp", ".ptx")
"""Endings of files of CUDA C++ and PTX."""
CUDA_TEXTS = ("<text>", "")
"""Names of a program that is no file, and of code that does not say where its lines are."""

RECORD = np.dtype(
    [
        ("kind", "<u4"),
        ("pc", "<u4", 2),
        ("thread", "<u4", 2),
        ("block", "<u4", 2),
        ("address", "<u4"),
        ("sm", "<u4"),
        ("in_global", "<u4"),
        ("cycle", "<u8"),
        ("count", "<u8"),
    ]
)
"""One finding as the core records it: struct finding of csrc."""

BARRIER_KINDS = ("divergence", "early-exit")
"""Kinds of findings about barriers, which have no place in memory."""

INSTRUCTION_BYTES = 16
"""Of compiled code, between addresses."""

LONE_KINDS = ("uninitialised", "released")
"""Kinds of findings about one access alone."""

ACTIONS = {
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "bar": "barrier",
    "exit": "exit",
    "BAR": "barrier",
    "EXIT": "exit",
}
"""What instructions do, by the first part of their names."""


class FindingInfo(NamedTuple):
    """A kind of finding: its severity, "error", "warning" or "note", its definition, and a remedy."""

    severity: str
    doc: str
    remedy: str


@cache
def finding_info() -> Mapping[str, FindingInfo]:
    """Severity, definition and remedy of every kind of finding."""
    return {name: FindingInfo(*info) for name, *info in _core.FINDINGS}


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a finding: an instruction, its place in the source, and the thread and block (x, y, z) of who did it.

    action: "load", "store", "atomic", "barrier" or "exit". text: of the line, where no file has it.
    """

    action: str
    filename: str
    line: int
    thread: Dim3
    block: Dim3
    pc: int
    text: str = ""

    @property
    def source(self) -> str:
        """The text of the line; empty where the file cannot be read."""
        return self.text or linecache.getline(self.filename, self.line).strip()

    @property
    def place(self) -> tuple[str, int]:
        """File and line, which tell one place of the source from another; of compiled code without lines, where each
        instruction is one, no file and a number below 0."""
        return (self.filename, self.line) if self.line else ("", -1 - self.pc)

    def at(self, filename: str) -> str:
        """The place in words, with that name for the file: the address in compiled code without lines."""
        return f"{filename}:{self.line}" if self.line else f"{INSTRUCTION_BYTES * self.pc:#06x}"

    def __str__(self) -> str:
        return f"{self.action} at {self.at(self.filename)} by thread {self.thread}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of finding at one pair of source lines: the example seen first, and how often it was seen.

    kind: a name of `finding_info`. first, second: the two accesses, in the order of time; what is wrong by itself
    stands for both. block: that of the example, of two blocks the second's. array, index: name and flat index of the
    element, None where no memory is accessed or it has no name. address: byte offset in the block's static or dynamic
    shared memory, or from the first byte of the array. count: how many accesses of single threads gave this finding.
    """

    kind: str
    first: Access
    second: Access
    block: Dim3
    array: str | None
    index: int | None
    address: int
    cycle: int
    count: int

    @property
    def severity(self) -> str:
        """The severity: "error", "warning" for code that may be meant so, or "note" for what is harmless."""
        return finding_info()[self.kind].severity

    @property
    def remedy(self) -> str:
        """A sentence that says how to mend the kernel, in the words of its language."""
        remedy = finding_info()[self.kind].remedy
        if Path(self.second.filename).suffix in CUDA_FILES or self.second.filename in CUDA_TEXTS:
            remedy = remedy.replace("cuda.sync", "__sync")
        return remedy

    @property
    def lines(self) -> tuple[int, int]:
        """The source lines of both accesses."""
        return self.first.line, self.second.line

    @property
    def element(self) -> str:
        """The element of memory, in words; empty for a finding about barriers."""
        if self.array is not None:
            return f"{self.array}[{self.index}]"
        return "" if self.kind in BARRIER_KINDS else f"byte {self.address}"

    def __str__(self) -> str:
        one, other = self.first.block, self.second.block
        apart = [f"{side} of block {side.block}" if one != other else str(side) for side in (self.first, self.second)]
        sides = apart[1] if self.kind in LONE_KINDS else " and ".join(apart)
        where = (f", {self.element}" if self.element else "") + (f", block {other}" if one == other else "")
        kind = self.kind if self.severity == "error" else f"{self.kind} ({self.severity})"
        return f"{kind}: {sides}{where}, {counted(self.count, 'time')}"

    def explain(self) -> str:
        """The finding with the text of its source lines and the remedy."""
        texts = {side.place: side.source for side in (self.first, self.second) if side.source}
        lines = [f"{line:>6}  {text}" for (_, line), text in sorted(texts.items(), key=lambda one: one[0][1])]
        return "\n".join([str(self), *lines, f"    to do: {self.remedy}"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        sides = {
            name: {
                "action": a.action,
                "filename": a.filename,
                "line": a.line,
                "thread": list(a.thread),
                "block": list(a.block),
                "pc": a.pc,
            }
            for name, a in (("first", self.first), ("second", self.second))
        }
        rest = {"block": list(self.block), "array": self.array, "index": self.index, "address": self.address}
        counts = {"cycle": self.cycle, "count": self.count}
        return {"kind": self.kind, "severity": self.severity, **sides, **rest, **counts}


class Findings(tuple[Finding, ...]):
    """The errors and warnings of a run, errors first, then by source line; printing it explains each, and says its
    notes.

    notes: what is harmless, and said only so that one knows: `bool`, `len` and iteration leave them out.
    lost: further accesses of which the core, out of room, kept only the number.
    """

    def __new__(cls, findings: Iterable[Finding] = (), lost: int = 0, notes: Iterable[Finding] = ()) -> Findings:
        """The findings; lost, notes: see the class."""
        self = super().__new__(cls, findings)
        self.lost = lost
        self.notes = tuple(notes)
        return self

    lost: int
    notes: tuple[Finding, ...]

    def of(self, *kinds: str) -> Findings:
        """The findings of some kinds."""
        return Findings((f for f in self if f.kind in kinds), self.lost)

    @property
    def errors(self) -> Findings:
        """The findings that are not warnings."""
        return Findings((f for f in self if f.severity == "error"), self.lost)

    def __str__(self) -> str:
        lines = [finding.explain() for finding in self]
        lines += [str(note) for note in self.notes]
        if self.lost:
            lines.append(f"and {self.lost} more at further pairs of lines")
        return "\n".join(lines) or "no findings"

    def summary(self) -> str:
        """The numbers of errors and warnings, in words."""
        errors = len(self.errors)
        parts = [(errors, "error"), (len(self) - errors, "warning")]
        words = [counted(n, what) for n, what in parts if n]
        return ", ".join([*words, *(["more without room"] if self.lost else [])]) or "no findings"

    def _repr_html_(self) -> str:
        head = ("finding", "first", "second", "place", "block", "count", "to do")
        rows = []
        for f in (*self, *self.notes):
            sides = [
                f"{a.action} at {html.escape(a.at(Path(a.filename).name))} by {a.thread}<br>"
                f"<code>{html.escape(a.source)}</code>"
                for a in (f.first, f.second)
            ]
            kind = f"<span title='{html.escape(finding_info()[f.kind].doc)}'>{f.kind}</span> ({f.severity})"
            cells = [
                kind,
                *sides,
                html.escape(f.element),
                " and ".join(dict.fromkeys((str(f.first.block), str(f.block)))),
                f"{f.count:,}",
                html.escape(f.remedy),
            ]
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        if self.lost:
            rows.append(f"<tr><td colspan='{len(head)}'>and {self.lost} more at further pairs of lines</td></tr>")
        if not rows:
            return "<p>no findings</p>"
        titles = "".join(f"<th>{title}</th>" for title in head)
        return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def from_core(raw: bytes, lost: int, program: Program, grid: Dim3, block: Dim3) -> Findings:
    """The findings in the records of the core, merged into one for each kind and pair of source lines.

    Of lines that race between warps, or conflict, it is not said that they rely on lockstep as well.
    """
    merged: dict[Any, Finding] = {}
    records = np.sort(np.frombuffer(raw, RECORD), order=["cycle", "sm"], kind="stable")
    divergent = any(_kind(record) == "divergence" for record in records)
    copies = _copied_barriers(program.instructions) if divergent else {}
    for record in records:
        if _kind(record) == "divergence" and _same_barrier(copies, *record["pc"].tolist()):
            continue  # in front of which some warps have diverged
        finding = _finding(record, program, grid, block)
        sides = (finding.first, finding.second)
        key = (finding.kind, frozenset((side.place, side.action) for side in sides))
        before = merged.get(key)
        merged[key] = finding if before is None else replace(before, count=before.count + finding.count)
    worse = {lines for kind, lines in merged if kind in ("race", "conflict")}
    told = [finding for (kind, lines), finding in merged.items() if kind != "lockstep" or lines not in worse]
    ordered = sorted(told, key=lambda f: (f.severity != "error", sorted(f.lines), f.kind, f.first.action))
    notes = [finding for finding in ordered if finding.severity == "note"]
    return Findings((finding for finding in ordered if finding.severity != "note"), lost, notes)


def _kind(record: Any) -> str:
    """The name of a record's kind of finding."""
    name: str = _core.FINDINGS[record["kind"]][0]
    return name


def _same_barrier(copies: Mapping[int, set[int]], first: int, second: int) -> bool:
    """Whether two barriers are one of the source."""
    return not copies.get(first, {first}).isdisjoint(copies.get(second, {second}))


def _copied_barriers(instructions: Sequence[Instruction]) -> dict[int, set[int]]:
    """Barriers of compiled code that are copies for warps that have diverged, and of which others each is a copy.

    The assembler puts a branch in front of barriers of which it does not know that all lanes of a warp reach them at
    once: `BRA.DIV` to copies, which end with a jump behind the barriers, or `BRA.CONV` over copies to the barriers.
    Lanes that have diverged take the copies, one group after the other. For sm_75 a routine has one copy for all.
    """
    found: dict[int, set[int]] = {}
    for pc, branch in enumerate(instructions):
        if branch.opcode != "BRA" or not {"DIV", "CONV"} & {*branch.modifiers}:
            continue
        target, behind = _target(branch), pc + 1
        first, copy = (behind, target) if "DIV" in branch.modifiers else (target, behind)
        originals = _barriers(instructions, first, len(instructions))
        for each, original in zip(_copies(instructions, copy), originals, strict=False):
            found.setdefault(each, set()).add(original)
    return found


def _target(branch: Instruction) -> int:
    """The number of the instruction to which a branch leads."""
    return next((each.target for each in branch.operands if each.target is not None), 0) // INSTRUCTION_BYTES


def _end(instructions: Sequence[Instruction], start: int) -> int:
    """The first instruction from one on behind which no lane goes on."""
    for pc in range(start, len(instructions)):
        each = instructions[pc]
        if each.guard is None and (each.opcode == "RET" or (each.opcode in ("BRA", "EXIT") and not each.modifiers)):
            return pc
    return len(instructions)


def _barriers(instructions: Sequence[Instruction], start: int, end: int) -> list[int]:
    """The barriers between two instructions, by number."""
    return [pc for pc in range(start, end) if instructions[pc].opcode == "BAR"]


def _copies(instructions: Sequence[Instruction], start: int) -> list[int]:
    """The copies of barriers from an instruction on, and in routines that are called there."""
    found = []
    for pc in range(start, _end(instructions, start)):
        found += _barriers(instructions, pc, pc + 1)
        if instructions[pc].opcode == "CALL" and (routine := _target(instructions[pc])):
            found += _barriers(instructions, routine, _end(instructions, routine))
    return found


def _action(program: Program, pc: int, in_global: bool) -> str:
    """What an instruction does to the memory that a finding is about: copies load from the device's and store."""
    if not in_global and program.instructions and program.instructions[pc].opcode == "LDGSTS":
        return "store"
    return ACTIONS.get(program.ops[pc].split(".")[0], program.ops[pc])


def _finding(record: Any, program: Program, grid: Dim3, block: Dim3) -> Finding:
    address, in_global = int(record["address"]), bool(record["in_global"])
    first, second = (
        Access(
            action=_action(program, pc, in_global),
            filename=program.file_of(pc),
            line=program.line_of(pc, address),
            thread=coordinates(thread, block),
            block=coordinates(number, grid),
            pc=pc,
            text=program.source(int(program.code["line"][pc]), program.file_of(pc)).strip() if program.sources else "",
        )
        for pc, thread, number in zip(
            record["pc"].tolist(), record["thread"].tolist(), record["block"].tolist(), strict=True
        )
    )
    kind = _kind(record)
    placed = program.placed(second.pc, address, sure=True) if in_global else None
    array, index = (None, None) if kind in BARRIER_KINDS or placed else _element(program, second.pc, address)
    if placed:
        array, index, address = placed[0].name, placed[1] // placed[0].element, placed[1]
    elif not in_global and program.reserved_first and kind not in (*BARRIER_KINDS, "released"):
        address -= program.reserved_bytes  # in front of the kernel's own
    return Finding(
        kind=kind,
        first=first,
        second=second,
        block=second.block,
        array=array,
        index=index,
        address=address,
        cycle=int(record["cycle"]),
        count=int(record["count"]),
    )


def _element(program: Program, pc: int, address: int) -> tuple[str | None, int | None]:
    """Name and flat index of the element of an array that an instruction accesses."""
    place = program.element(pc, address)
    return (None, None) if place is None else (place[0].name, place[1] // place[0].element)
