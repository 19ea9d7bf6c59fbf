"""Removal of dead code: operations without effect whose results no one reads."""

from __future__ import annotations

from smmux.compiler.analysis.ops import is_removable
from smmux.compiler.ir import Function, Instr, Reg

__all__ = ["remove_dead"]


def remove_dead(function: Function) -> None:
    """Keep operations with effects and all that they depend on; a load that no one reads is not performed."""
    definitions: dict[Reg, Instr] = {}
    work: list[Instr] = []
    for instr in function.instrs():
        for dst in instr.dsts:
            definitions[dst] = instr
        if not is_removable(instr):
            work.append(instr)
    live = set(work)
    while work:
        instr = work.pop()
        for operand in (*instr.srcs, instr.guard):
            if isinstance(operand, Reg):
                definition = definitions.get(operand)
                if definition is not None and definition not in live:
                    live.add(definition)
                    work.append(definition)
    if atomics := [instr for instr in live if instr.op.startswith("atom.") and instr.dsts]:
        read = {operand for instr in live for operand in instr.srcs if isinstance(operand, Reg)}
        for instr in atomics:
            if not any(dst in read for dst in instr.dsts):
                instr.dsts = ()
    for block in function.blocks:
        block.instrs = [instr for instr in block.instrs if instr in live]
