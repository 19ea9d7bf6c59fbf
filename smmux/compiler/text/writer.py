"""A function of the IR as text, from which `reader.read` makes the same function.

    .entry scale "kernels.py" 3
    .param u32 "a" ""
    .storage global 0 "a" 4 1024 0 0 256
    .array 0
    .reg %0 s32
    B0:
      %0 = mad.lo.s32 %ctaid.x:s32, %ntid.x:s32, %tid.x:s32  // 0:4:9
      %1 = ld.global [s0 + 0, 4] %0  // 0:5:12
      exit

A storage has its space, its position, its name, the size of an element, the number of elements, its first byte, its
parameter word, its alignment, and what else is true of it. A memory operation names a storage, an offset and a width;
an `index` the storage, an offset, the size of an element and the stride of each axis. Behind `//` stand file, line and
column of the source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from smmux.compiler.index import Index
from smmux.compiler.ir import (
    ConstWord,
    Function,
    Imm,
    Instr,
    Loc,
    Mem,
    Operand,
    Param,
    Reg,
    Special,
    Storage,
)

__all__ = ["write"]


def write(function: Function) -> str:
    """The text of a function; ends with a line break."""
    return "\n".join(_Writer(function).lines()) + "\n"


class _Writer:
    """The numbers of what a function's lines name."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.blocks = {block: number for number, block in enumerate(function.blocks)}
        storages = [*function.arrays, *(array for instr in function.instrs() if (array := _storage(instr)))]
        self.storages = {storage: number for number, storage in enumerate(dict.fromkeys(storages))}
        places = [i.loc for i in function.instrs()] + [s.loc for s in self.storages] + [at for at, _ in function.axes]
        self.files = {name: number for number, name in enumerate(dict.fromkeys(at.filename for at in places if at))}

    def lines(self) -> Iterator[str]:
        f = self.function
        yield f".entry {f.name} {_quoted(f.filename)} {f.line}"
        yield f".bytes {f.shared_bytes} {f.dynamic_bytes} {f.local_bytes}"
        yield from (f".file {_quoted(name)}" for name in self.files)
        yield from (f".param {p.type.value} {_quoted(p.name)} {_quoted(p.wide)}" for p in f.params)
        yield from map(self._storage, self.storages)
        yield from (f".array {self.storages[array]}" for array in f.arrays)
        if f.const:
            yield f".const {f.const.hex()}"
        yield from (f".trap {_quoted(t.kind)} {_quoted(t.text)} {_quoted(t.array)}" for t in f.traps)
        yield from (f".text {_quoted(t.before)} {_quoted(t.kind)} {_quoted(t.after)}" for t in f.texts)
        yield from (f".scalar {word} {place} {part}" for word, (place, part) in f.scalars.items())
        yield from (f".axis {self._place(at)} {_quoted(text)} {int(always)}" for (at, text), always in f.axes.items())
        if f.indexed or f.guarded:
            yield f".indices {int(f.indexed)} {f.guarded}"
        yield from map(_register, _registers(f))
        yield f".next {f.next_reg}"
        for block in f.blocks:
            yield f"B{self.blocks[block]}:"
            yield from (f"  {self._instruction(instr)}" for instr in block.instrs)

    def _storage(self, s: Storage) -> str:
        flags = "".join(f" {name}" for name in ("signed", "dynamic") if getattr(s, name))
        place = f" {self._place(s.loc)}" if s.loc else ""
        numbers = f"{s.element} {s.elements} {s.offset} {s.param} {s.align}"
        return f".storage {s.space.value} {s.index} {_quoted(s.name)} {numbers}{flags}{place}"

    def _place(self, at: Loc) -> str:
        return f"{self.files[at.filename]}:{at.line}:{at.col}"

    def _instruction(self, instr: Instr) -> str:
        parts = []
        if instr.guard is not None:
            parts.append(f"@{'!' * instr.guard_not}%{instr.guard.id}")
        if instr.dsts:
            parts.append(f"{', '.join(f'%{dst.id}' for dst in instr.dsts)} =")
        parts.append(instr.op)
        if instr.mem is not None:
            parts.append(self._mem(instr.mem))
        if isinstance(instr, Index):
            parts.append(self._axes(instr))
        parts += [", ".join(map(_operand, instr.srcs))] if instr.srcs else []
        parts += [f"-> {', '.join(self._targets(instr))}"] if instr.target is not None else []
        if instr.attrs:
            parts.append("{" + ", ".join(f"{name} = {value}" for name, value in instr.attrs.items()) + "}")
        if instr.loc:
            parts.append(f" // {self._place(instr.loc)}")
        return " ".join(parts)

    def _targets(self, instr: Instr) -> Iterable[str]:
        return (f"B{self.blocks[b]}" for b in (instr.target, instr.other) if b is not None)

    def _mem(self, mem: Mem) -> str:
        flags = f" {mem.atom}" * bool(mem.atom) + " lowered" * mem.lowered + " signed" * mem.signed
        lines = f" lines {' '.join(map(str, mem.lines))}" if mem.lines else ""
        return f"[s{self.storages[mem.array]} + {mem.offset}, {mem.width}{flags}{lines}]"

    def _axes(self, index: Index) -> str:
        assert index.array is not None
        final = " final" if index.final else ""
        axes = "".join(f", {axis.stride}{' signed' if axis.signed else ''}" for axis in index.axes)
        return f"[s{self.storages[index.array]} + {index.offset}, {index.size}{final}{axes}]"


def _storage(instr: Instr) -> Storage | None:
    """The storage that an instruction names."""
    if isinstance(instr, Index):
        return instr.array
    return instr.mem.array if instr.mem else None


def _registers(function: Function) -> Iterator[Reg]:
    """All registers that are named, by number."""
    found: dict[int, Reg] = {}
    for instr in function.instrs():
        for operand in (*instr.dsts, *instr.srcs, instr.guard):
            if isinstance(operand, Reg):
                found[operand.id] = operand
    yield from (found[number] for number in sorted(found))


def _register(reg: Reg) -> str:
    named = f" {_quoted(reg.name)}" if reg.name else ""
    return f".reg %{reg.id} {reg.type.value}{named}{' variable' if reg.variable else ''}"


def _operand(operand: Operand) -> str:
    if isinstance(operand, Reg):
        return f"%{operand.id}"
    if isinstance(operand, Imm):
        return f"{operand.bits:#x}:{operand.type.value}"
    if isinstance(operand, Special):
        return f"%{operand.name.value}:{operand.type.value}"
    if isinstance(operand, Param):
        return f"param {operand.word} {_quoted(operand.name)} {_quoted(operand.wide)}:{operand.type.value}"
    assert isinstance(operand, ConstWord)
    return f"const {operand.offset}:{operand.type.value}"


def _quoted(text: str) -> str:
    """Text in double quotes, as JSON has it."""
    return json.dumps(text)
