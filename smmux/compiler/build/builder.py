"""Emission of instructions into basic blocks, with undo (a loop that proves too long to unroll is lowered again)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smmux.compiler import ir


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the emission to come back to."""

    blocks: int
    block: ir.Block | None
    instrs: int
    emitted: int
    work: int


class Builder:
    """Appends to `block`; None means that no execution gets here, and what is emitted is dropped.

    While `dry`, types are being inferred and nothing is kept. `emitted` counts operations and `work` statements
    lowered, including those that fold to nothing.
    """

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.block: ir.Block | None = None
        self.loc: ir.Loc | None = None
        self.dry = False
        self.emitted = 0
        self.work = 0
        self._dummies = {type: ir.Reg(-1, type) for type in ir.Type}
        self.start(self.new_block())

    def new_block(self) -> ir.Block:
        """A block that is not yet in the function."""
        return self.function.block()

    def start(self, block: ir.Block) -> None:
        """Place a block at the end of the function and go on there."""
        block.id = len(self.function.blocks)
        self.function.blocks.append(block)
        self.block = block

    def reg(self, type: ir.Type, name: str = "", variable: bool = False) -> ir.Reg:
        """A new register."""
        return self._dummies[type] if self.dry else self.function.reg(type, name, variable)

    def append(self, instr: ir.Instr) -> None:
        """Add an instruction to the current block."""
        if self.block is not None and not self.dry:
            self.block.instrs.append(instr)
            self.emitted += 1

    def annotate(self, instr: ir.Instr) -> None:
        """Add an instruction that counts as none, since passes replace it, usually by nothing."""
        self.append(instr)
        self.emitted -= self.block is not None and not self.dry

    def op(self, name: str, type: ir.Type, *srcs: ir.Operand, **attrs: int) -> ir.Reg:
        """Emit an operation with one result."""
        dst = self.reg(type)
        self.append(ir.Instr(name, (dst,), srcs, self.loc, attrs=attrs))
        return dst

    def pair(self, name: str, *srcs: ir.Operand) -> tuple[ir.Reg, ir.Reg]:
        """Emit an operation whose result has two words, the lower one first."""
        dsts = self.reg(ir.Type.U32), self.reg(ir.Type.U32)
        self.append(ir.Instr(name, dsts, srcs, self.loc))
        return dsts

    def last(self, name: str, dst: ir.Operand | None) -> ir.Instr | None:
        """The instruction just emitted, if it is that operation with that result."""
        if self.block is None or not self.block.instrs:
            return None
        instr = self.block.instrs[-1]
        return instr if instr.op == name and dst in instr.dsts else None

    def effect(self, name: str, srcs: Sequence[ir.Operand] = (), **attrs: int) -> None:
        """Emit an operation without result."""
        self.append(ir.Instr(name, (), tuple(srcs), self.loc, attrs=attrs))

    def trap(self, condition: ir.Operand, told: ir.Trap) -> None:
        """End the launch in threads in which a condition holds."""
        traps = self.function.traps
        if told not in traps:
            traps.append(told)
        self.effect("trap", (condition,), trap=traps.index(told))

    def move(self, dst: ir.Reg, src: ir.Operand) -> None:
        """Write a variable."""
        self.append(ir.Instr("mov.pred" if dst.type is ir.Type.PRED else "mov.b32", (dst,), (src,), self.loc))

    def move_all(self, moves: Sequence[tuple[ir.Reg, ir.Operand]]) -> None:
        """Write several variables at once: every source is read before any destination is written."""
        pending = [(dst, src) for dst, src in moves if dst is not src]
        readers: dict[ir.Operand, int] = {}
        for _, src in pending:
            if isinstance(src, ir.Reg):
                readers[src] = readers.get(src, 0) + 1
        ready = [move for move in pending if not readers.get(move[0])]
        waiting = {dst: src for dst, src in pending if readers.get(dst)}
        while ready or waiting:
            if not ready:  # only cycles are left: save one destination
                dst = next(iter(waiting))
                saved = self.reg(dst.type, dst.name)
                self.move(saved, dst)
                waiting = {d: saved if s is dst else s for d, s in waiting.items()}
                readers[saved], readers[dst] = readers[dst], 0
                ready.append((dst, waiting.pop(dst)))
            dst, src = ready.pop()
            self.move(dst, src)
            if isinstance(src, ir.Reg):
                readers[src] -= 1
                if not readers[src] and src in waiting:
                    ready.append((src, waiting.pop(src)))

    def branch(self, target: ir.Block) -> None:
        """End the block with a jump."""
        self._end(ir.Instr("bra", loc=self.loc, target=target))

    def branch_if(self, condition: ir.Operand, target: ir.Block, other: ir.Block) -> None:
        """End the block with a conditional jump."""
        self._end(ir.Instr("cbr", (), (condition,), self.loc, target=target, other=other))

    def exit(self) -> None:
        """End the thread."""
        self._end(ir.Instr("exit", loc=self.loc))

    def _end(self, instr: ir.Instr) -> None:
        if not self.dry:
            self.append(instr)
            self.block = None

    def mark(self) -> Mark:
        """Remember the current point."""
        return Mark(
            len(self.function.blocks), self.block, len(self.block.instrs) if self.block else 0, self.emitted, self.work
        )

    def rewind(self, mark: Mark) -> None:
        """Forget everything emitted since."""
        del self.function.blocks[mark.blocks :]
        self.block = mark.block
        if self.block is not None:
            del self.block.instrs[mark.instrs :]
        self.emitted, self.work = mark.emitted, mark.work
