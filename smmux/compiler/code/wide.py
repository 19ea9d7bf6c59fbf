"""Registers as a compiler for 64-bit addresses counts them, of code that has addresses and indices of 32 bits."""

from __future__ import annotations

from smmux.compiler.code.budget import Allocated
from smmux.compiler.ir import Reg, Type

__all__ = ["words_held"]


def words_held(code: Allocated, words: int) -> int:
    """The most words of values at one time where each value has so many, except for halves of 64 bits: of those each
    has one."""
    classes = code.classes
    halves = {classes.find(reg.id) for reg in _halves(code)}
    changes: dict[int, int] = {}
    for id, segments in classes.segments.items():
        if classes.regs[id].type is Type.PRED:
            continue
        own = 1 if id in halves else words
        for start, end, _ in segments:
            changes[start] = changes.get(start, 0) + own
            changes[end] = changes.get(end, 0) - own
    most = held = 0
    for point in sorted(changes):
        held += changes[point]
        most = max(most, held)
    return most


def _halves(code: Allocated) -> list[Reg]:
    """The registers that operations on 64 bits read and write."""
    return [
        operand
        for block in code.order
        for instr in block.instrs
        if "64" in instr.op or instr.op.startswith(("addc.", "subc."))
        for operand in (*instr.dsts, *instr.srcs)
        if isinstance(operand, Reg) and operand.type is not Type.PRED
    ]
