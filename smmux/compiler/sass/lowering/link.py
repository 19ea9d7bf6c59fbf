"""A kernel with the functions that it calls and that have sections of their own, as one piece of code.

Compilers that optimise put all of them into the kernel's section; with `-G` each function has its own, and calls name
it by a relocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from smmux.compiler.instruction import Instruction, Operand
from smmux.compiler.sass.cubin import FUNCTION, Cubin, Relocation
from smmux.compiler.sass.elf import Elf
from smmux.compiler.sass.listing import read_kernel
from smmux.errors import CompileError
from smmux.language.placement import FIRST_ADDRESS

__all__ = ["GLOBALS_ADDRESS", "Linked", "constants_offset", "link"]

GLOBALS_ADDRESS = FIRST_ADDRESS
"""Device address of a module's global variables, which lie in front of all arrays; a copy of its constants follows."""
ALIGNMENT = 256
LOW, HIGH, CALLS = 56, 57, (58, 75)
"""Kinds of relocations in code: the low and the high word of an address as an immediate, the target of a call."""
INSN_BYTES = 16


@dataclass(frozen=True, eq=False)
class Linked:
    """Code of a kernel: its instructions, those of functions behind them, and where each function begins in bytes.
    constants: device address of the module's constants."""

    instructions: tuple[Instruction, ...]
    starts: Mapping[str, int]
    owners: Mapping[str, tuple[str, int]]
    constants: int

    def address_of(self, relocation: Relocation) -> int:
        """The address that a relocation puts in its place; CompileError if nothing lies there."""
        if relocation.space == "global":
            return GLOBALS_ADDRESS + relocation.address
        if relocation.space == "constant":
            return self.constants + relocation.address
        section, value = self.owners.get(relocation.symbol, ("", 0))
        if relocation.space == "text" and section in self.starts:
            return self.starts[section] + value + relocation.addend
        raise CompileError(f"the address of {relocation.symbol!r} is not known to the simulator")


def constants_offset(cubin: Cubin) -> int:
    """How many bytes behind the first global variable the constants begin in device memory."""
    return -(-cubin.globals_bytes // ALIGNMENT) * ALIGNMENT


@lru_cache(256)
def link(cubin: Cubin, name: str) -> Linked:
    """The code of a kernel and of all functions that it may call, with addresses in their places."""
    elf = Elf(cubin.data)
    owners = dict(_owners(elf))
    names = _reached(cubin, name, owners)
    parts = _parts(cubin, elf, name, names)
    starts, at = {}, 0
    for part in names:
        starts[part] = at
        at += len(read_kernel(parts, part)) * INSN_BYTES
    linked = Linked((), starts, owners, GLOBALS_ADDRESS + constants_offset(cubin))
    found = [i for part in names for i in _moved(read_kernel(parts, part), starts[part])]
    for relocation in cubin.relocations:
        if relocation.section == "text" and relocation.kernel in starts:
            index = (starts[relocation.kernel] + relocation.offset) // INSN_BYTES
            found[index] = _relocated(found[index], relocation, linked)
    return replace(linked, instructions=tuple(found))


def _owners(elf: Elf) -> Iterator[tuple[str, tuple[str, int]]]:
    """Of each function the name of its section's owner, and its place there."""
    for symbol in elf.symbols:
        if symbol.kind == FUNCTION and 0 < symbol.section < len(elf.sections):
            section = elf.sections[symbol.section].name
            yield symbol.name, (section.removeprefix(".text."), symbol.value)


def _reached(cubin: Cubin, name: str, owners: Mapping[str, tuple[str, int]]) -> list[str]:
    """The sections of code that a kernel reaches, itself first; all whose address is in a variable count."""
    wanted: dict[str, list[str]] = {}
    for r in cubin.relocations:
        own = r.kernel in ("", name) or r.section == "text"
        if r.space == "text" and r.symbol in owners and own:
            wanted.setdefault(r.kernel if r.section == "text" else name, []).append(owners[r.symbol][0])
    names = [name]
    for part in names:
        names += dict.fromkeys(found for found in wanted.get(part, ()) if found not in names)
    return names


def _parts(cubin: Cubin, elf: Elf, name: str, names: list[str]) -> Cubin:
    """The module with these sections as its kernels."""
    if names == [name]:
        return cubin
    image, kernels = cubin.kernels[name], {}
    for part in names:
        section = elf.named[f".text.{part}"]
        words = np.frombuffer(section.data, "<u8").reshape(-1, 2)
        own = {part: (0, len(section.data))}
        kernels[part] = (
            image if part == name else replace(image, name=part, words=words, section=section.index, functions=own)
        )
    return replace(cubin, kernels=kernels)


def _moved(instructions: tuple[Instruction, ...], start: int) -> Iterator[Instruction]:
    """Instructions of a section that begins there."""
    for i in instructions:
        if not start or "ABS" in i.modifiers:
            yield replace(i, address=i.address + start) if start else i
            continue
        operands = tuple(
            replace(o, target=o.target + start) if o.kind == "label" and o.target is not None else o for o in i.operands
        )
        yield replace(i, address=i.address + start, operands=operands)


def _relocated(i: Instruction, relocation: Relocation, linked: Linked) -> Instruction:
    """An instruction with an address in its place."""
    if relocation.kind in CALLS:
        extern = relocation.space == "extern"
        target = None if extern else linked.address_of(relocation)
        place = Operand("label", relocation.symbol, target=target, symbol=relocation.symbol)
        return replace(i, operands=(*i.operands[:-1], place))
    if relocation.kind not in (LOW, HIGH):
        raise CompileError(f"a relocation of kind {relocation.kind} in code is not simulated: {i.text}")
    value = linked.address_of(relocation) >> (0 if relocation.kind == LOW else 32) & 0xFFFFFFFF
    operands = tuple(replace(o, value=value) if o.kind == "imm" else o for o in i.operands[:2])
    encoding = (i.encoding[0] & 0xFFFFFFFF | value << 32, i.encoding[1])
    return replace(i, operands=(*operands, *i.operands[2:]), encoding=encoding)
