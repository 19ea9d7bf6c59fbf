"""The last step: blocks to a line of instructions, virtual to machine registers, IR to the rows of INSN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.compiler.analysis.graph import exits_only, reconvergence, reverse_postorder
from smmux.compiler.analysis.ops import copy_of
from smmux.compiler.code.registers import Assignment
from smmux.compiler.ir import Block, ConstWord, Function, Imm, Instr, Operand, Param, Reg, Space, Special
from smmux.compiler.program import (
    DATA_FIELDS,
    DYNAMIC,
    GUARD_NOT,
    INSN,
    ISOLATE,
    MAX_INSNS,
    NEGATE_Q,
    NEGATE_QB,
    OPERAND_NONE,
    OPERAND_SPECIAL,
    OPERAND_UNIFORM,
    SIGNED,
    SYNCWARP,
    SYNCWARP_BEHIND,
    UNIFORM,
)
from smmux.errors import CompileError

__all__ = ["encode", "layout"]

FLAGS = (INSN.names or ()).index("flags")
"""Position of the flags in a row."""

OPERAND_FIELDS = ("q", "d", "a", "b", "c", "dh", "ah", "bh", "ch")
"""Operand fields of a row, in order; between `c` and `dh` stand others."""


def layout(function: Function) -> list[Block]:
    """Reachable blocks in the order of the program: the source's. Blocks that only exit become guarded exits."""
    reachable = set(reverse_postorder(function.blocks[0], lambda block: block.successors))
    entry = function.blocks[0]
    return [b for b in function.blocks if b in reachable and (b is entry or not exits_only(b))]


@dataclass(slots=True, eq=False)
class _Jump:
    """A branch or exit whose target pc is not known yet."""

    target: Block | None
    guard: Reg | None = None
    negate: bool = False
    meet: Block | None = None
    line: int = 0
    meet_next: bool = False  # lanes meet at the next instruction


def encode(
    function: Function, order: list[Block], assignment: Assignment
) -> tuple[NDArray[Any], NDArray[Any], dict[int, tuple[int, ...]]]:
    """Code and uniform rows of a function laid out in `order` with its registers assigned, and the source lines of
    joined accesses by pc.
    """
    items, starts, synced = _linear(function, order, assignment)
    if len(items) > MAX_INSNS:
        raise CompileError(
            f"kernel {function.name!r} has {len(items)} instructions, {MAX_INSNS} is the most", function.filename
        )
    encoder = _Encoder(assignment, starts)
    rows = [
        encoder.jump(item, pc) if isinstance(item, _Jump) else encoder.instruction(item)
        for pc, item in enumerate(items)
    ]
    for pc, flag in synced:
        rows[pc] = (*rows[pc][:FLAGS], rows[pc][FLAGS] | flag, *rows[pc][FLAGS + 1 :])
    uniforms = np.array(list(encoder.uniforms), dtype=UNIFORM) if encoder.uniforms else np.zeros(0, UNIFORM)
    joined = {pc: item.mem.lines for pc, item in enumerate(items) if isinstance(item, Instr) and item.mem}
    return np.array(rows, dtype=INSN), uniforms, {pc: lines for pc, lines in joined.items() if lines}


def _linear(
    function: Function, order: list[Block], assignment: Assignment
) -> tuple[list[Instr | _Jump], dict[Block, int], list[tuple[int, int]]]:
    """Instructions and jumps in order, copies to themselves left out; the pc at which each block starts; and the pcs
    of instructions that carry a syncwarp, each with the flag that says so.
    """
    meets = reconvergence(function)
    items: list[Instr | _Jump] = []
    starts: dict[Block, int] = {}
    synced: list[tuple[int, int]] = []
    for i, block in enumerate(order):
        starts[block] = len(items)
        waiting: Instr | None = None  # a syncwarp, which is no instruction itself
        following = order[i + 1] if i + 1 < len(order) else None
        for instr in block.instrs[:-1]:
            if instr.op == "nop":
                waiting = instr
            elif not _vanishes(instr, assignment):
                if waiting:
                    synced.append((len(items), SYNCWARP))
                    waiting = None
                items.append(instr)
        jumps = _jumps(block.instrs[-1], following, meets.get(block))
        if len(jumps) == 2 and jumps[0].target is None and jumps[1].target in starts:
            jumps = _loop_end(jumps[0], jumps[1])
        if waiting and jumps:
            synced.append((len(items), SYNCWARP))
        elif waiting:  # others may reach what follows: the last of the block carries it, which must have one then
            if starts[block] == len(items):
                items.append(waiting)
            synced.append((len(items) - 1, SYNCWARP_BEHIND))
        items.extend(jumps)
    return items, starts, synced


def _vanishes(instr: Instr, assignment: Assignment) -> bool:
    """Whether an instruction is a copy whose ends share a register."""
    if copy_of(instr) is None:
        return False
    source = instr.srcs[0]
    return isinstance(source, Reg) and assignment.numbers[source.id] == assignment.numbers[instr.dsts[0].id]


def _jumps(last: Instr, following: Block | None, meet: Block | None) -> list[_Jump]:
    """A block's terminator as zero to two instructions."""
    line = last.loc.line if last.loc else 0
    if last.op == "exit":
        return [_Jump(None, line=line)]
    assert last.target is not None
    if last.op == "bra":
        return [] if last.target is following else [_Jump(_place(last.target), line=line)]
    assert last.other is not None
    predicate = last.srcs[0]
    assert isinstance(predicate, Reg)
    negated = bool(last.attrs.get("negate_q"))
    yes, no = last.target, last.other
    if exits_only(no) or (yes is following and not exits_only(yes)):
        yes, no, negated = no, yes, not negated
    first = _Jump(_place(yes), predicate, negated, meet, line)
    return [first] if no is following else [first, _Jump(_place(no), line=line)]


def _place(target: Block) -> Block | None:
    """The block where a jump goes; None for one that is an exit itself."""
    return None if exits_only(target) else target


def _loop_end(leave: _Jump, repeat: _Jump) -> list[_Jump]:
    """The end of a loop behind which threads exit: one branch per iteration, lanes that are done wait behind it."""
    back = _Jump(repeat.target, leave.guard, not leave.negate, None, leave.line, meet_next=True)
    return [back, _Jump(None, line=leave.line)]


class _Encoder:
    """Instructions to rows, collecting the uniform operands."""

    def __init__(self, assignment: Assignment, starts: dict[Block, int]) -> None:
        self.numbers = assignment.numbers
        self.starts = starts
        self.uniforms: dict[tuple[int, int], int] = {}

    def jump(self, jump: _Jump, pc: int) -> tuple[int, ...]:
        none = OPERAND_NONE
        guard = self._guard(jump.guard, jump.negate)
        if jump.target is None:
            return (_core.OPS["exit"][0], guard, 0, 0, 0, *(none,) * 5, 0, -1, jump.line, *(none,) * 4, 0)
        meet = pc + 1 if jump.meet_next else self.starts[jump.meet] if jump.meet is not None else -1
        target = self.starts[jump.target]
        return (_core.OPS["bra"][0], guard, 0, 0, 0, *(none,) * 5, target, meet, jump.line, *(none,) * 4, 0)

    def instruction(self, instr: Instr) -> tuple[int, ...]:
        fields = dict.fromkeys(OPERAND_FIELDS, OPERAND_NONE)
        code, _, _, operands = _core.OPS[instr.op]
        attrs = instr.attrs
        sub = attrs.get("sub", 0)
        flags = imm = width = aux = 0
        if instr.mem is not None:
            flags, sub, imm, aux, width = self._memory(instr, fields)
        else:
            self._operands(instr, operands, fields)
            if instr.op == "bar.sync":
                imm = attrs.get("bytes", 0)
            elif instr.op == "trap":
                imm = attrs["trap"]
            elif instr.op == "print":
                imm = attrs["text"]
        if attrs:
            flags |= NEGATE_Q * attrs.get("negate_q", 0) | NEGATE_QB * attrs.get("negate_qb", 0)
            flags |= ISOLATE * attrs.get("isolate", 0)
        guard = self._guard(instr.guard, instr.guard_not)
        line = instr.loc.line if instr.loc else 0
        q, d, a, b, c, dh, ah, bh, ch = fields.values()
        return (code, guard, sub, width, flags, q, d, a, b, c, imm, aux, line, dh, ah, bh, ch, 0)

    def _guard(self, guard: Reg | None, negated: bool) -> int:
        return 0 if guard is None else 1 + self.numbers[guard.id] | (GUARD_NOT if negated else 0)

    def _operands(self, instr: Instr, operands: str, fields: dict[str, int]) -> None:
        srcs, dsts = iter(instr.srcs), iter(instr.dsts)
        for kind in filter(None, operands.split(",")):
            if kind in ("d", "p", "dh"):
                fields["d" if kind == "p" else kind] = self.numbers[next(dsts).id]
            else:
                fields[{"qa": "a", "qb": "b"}.get(kind, kind)] = self.operand(next(srcs))

    def _memory(self, instr: Instr, fields: dict[str, int]) -> tuple[int, int, int, int, int]:
        mem = instr.mem
        assert mem is not None
        assert mem.lowered
        address = instr.srcs[0]
        imm = mem.offset & 0xFFFFFFFF
        if isinstance(address, Imm):
            imm = (imm + address.bits) & 0xFFFFFFFF
        else:
            fields["a"] = self.operand(address)
        sub = 0
        if instr.op.startswith("atom"):
            sub = _core.ATOMS[mem.atom]
            for field, dst in zip(("d", "dh"), instr.dsts, strict=False):
                fields[field] = self.numbers[dst.id]
            for field, src in zip("bc" if mem.width == 4 else ("b", "bh", "c", "ch"), instr.srcs[1:], strict=False):
                fields[field] = self.operand(src)
        else:
            for field, data in zip(DATA_FIELDS, instr.dsts or instr.srcs[1:], strict=False):
                fields[field] = self.operand(data)
        dynamic = mem.array.space is Space.SHARED and mem.array.dynamic
        flags = (SIGNED if mem.signed else 0) | (DYNAMIC if dynamic else 0)
        return flags, sub, imm - (1 << 32) if imm >> 31 else imm, mem.array.index, mem.width

    def operand(self, operand: Operand) -> int:
        """The code of an operand: a register, a special register or a row of the uniforms."""
        if isinstance(operand, Reg):
            return self.numbers[operand.id]
        if isinstance(operand, Special):
            name = operand.name.value
            if name in _core.SPECIALS:
                return OPERAND_SPECIAL | int(_core.SPECIALS[name])
            kind, dimension = name.split(".")
            return self._uniform(kind, "xyz".index(dimension))
        if isinstance(operand, Imm):
            return self._uniform("imm", operand.bits)
        if isinstance(operand, Param):
            return self._uniform("param", operand.word)
        assert isinstance(operand, ConstWord)
        return self._uniform("const", operand.offset)

    def _uniform(self, kind: str, value: int) -> int:
        key = (int(_core.UNIFORMS[kind]), value)
        return OPERAND_UNIFORM | self.uniforms.setdefault(key, len(self.uniforms))
