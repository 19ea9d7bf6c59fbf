"""Phis: they merge the values of a variable where control flow joins, between `construct` and `destruct`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smmux.compiler.ir import Block, Instr, Operand

__all__ = ["Phi", "phis"]


@dataclass(slots=True, eq=False)
class Phi(Instr):
    """An instruction at the head of a block that takes srcs[i] where control came from preds[i]."""

    preds: tuple[Block, ...] = ()

    def source(self, pred: Block) -> Operand:
        """The value that arrives from `pred`."""
        return self.srcs[self.preds.index(pred)]

    def copy(self, blocks: Mapping[Block | None, Block | None]) -> Phi:
        """A phi with the same sources in a copy of its function."""
        preds = tuple(new for pred in self.preds if (new := blocks.get(pred)) is not None)
        return Phi(self.op, self.dsts, self.srcs, self.loc, preds=preds)


def phis(block: Block) -> list[Phi]:
    """The phis at the head of a block."""
    leading: list[Phi] = []
    for instr in block.instrs:
        if not isinstance(instr, Phi):
            break
        leading.append(instr)
    return leading
