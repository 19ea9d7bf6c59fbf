"""Listings of compiled GPU code as text."""

from __future__ import annotations

import itertools
import linecache
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from smmux.compiler.instruction import Control, Instruction, Place

__all__ = ["control_text", "listing"]


def control_text(control: Control) -> str:
    """Control bits in a few columns: counters waited for, read and write counter, yield, stall count.

    `B0--3--:R2:W-:Y:S04` waits for counters 0 and 3, drops counter 2 when its operands are read, and lets the warp's
    next instruction issue 4 cycles later; Y stands where the bit is 0, as is usual in such listings.
    """
    waits = "".join(str(i) if control.wait >> i & 1 else "-" for i in range(6))
    read, write = ("-" if n is None else str(n) for n in (control.read_barrier, control.write_barrier))
    return f"B{waits}:R{read}:W{write}:{'-' if control.yields else 'Y'}:S{control.stall:02}"


def listing(
    instructions: Sequence[Instruction], head: str, sources: Mapping[str, str], notes: Sequence[str] = ()
) -> str:
    """Instructions with addresses and control bits; above them the line of source that they come from, where it
    changes, and below it the lines of functions that were inlined there. notes: what stands in front of each."""
    lines = [head]
    before: tuple[Place, ...] = ()
    for number, instruction in enumerate(instructions):
        here = _chain(instruction)
        if here != before:
            lines += _heading(here, before, sources)
            before = here
        note = f"  {notes[number]}" if notes else ""
        lines.append(f"{note}  {instruction.address:#06x}  {control_text(instruction.control)}  {instruction.text}")
    return "\n".join(lines) + "\n"


def _chain(instruction: Instruction) -> tuple[Place, ...]:
    """The places of an instruction, the outermost first; empty where none is known."""
    if instruction.file is None:
        return ()
    return (*reversed(instruction.callers), Place(instruction.file, instruction.line))


def _heading(chain: tuple[Place, ...], before: tuple[Place, ...], sources: Mapping[str, str]) -> Iterator[str]:
    """The lines above instructions of one place, without those that head the instruction before as well."""
    if not chain:
        yield "(no line of source)"
    known = zip(chain[:-1], before, strict=False)
    same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], known)))
    for depth, place in enumerate(chain[same:], same):
        text = _source(place, sources).strip()
        yield f"{'  ' * depth}{posixpath.basename(place.file)}:{place.line}{'  ' if text else ''}{text}"


def _source(place: Place, sources: Mapping[str, str]) -> str:
    """The text of a line."""
    if place.file in sources:
        lines = sources[place.file].splitlines()
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    return linecache.getline(place.file, place.line)
