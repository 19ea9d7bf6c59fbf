"""Cleaning up behind partial evaluation: variables that nobody reads go, and so do those that are written once."""

from __future__ import annotations

from smmux.compiler import ir

EFFECTS = ("st.", "atom.", "bar.", "membar", "bra", "cbr", "exit", "shfl", "vote", "nop", "trap", "print", "assume")


def clean(function: ir.Function) -> None:
    """Drop unreachable blocks and dead instructions; read single definitions at their source."""
    _reachable(function)
    definitions: dict[ir.Reg, list[ir.Instr]] = {}
    for instr in function.instrs():
        for dst in instr.dsts:
            definitions.setdefault(dst, []).append(instr)
    _forward(function, definitions)
    _drop_dead(function, definitions)


def _reachable(function: ir.Function) -> None:
    seen: set[int] = set()
    work = [function.blocks[0]]
    while work:
        block = work.pop()
        if id(block) not in seen:
            seen.add(id(block))
            work.extend(block.successors)
    function.blocks = [b for b in function.blocks if id(b) in seen]
    for number, block in enumerate(function.blocks):
        block.id = number


def _forward(function: ir.Function, definitions: dict[ir.Reg, list[ir.Instr]]) -> None:
    """Replace a variable that has one definition, from a value that does not change, by that value. It stays if it is
    read further up, in the next iteration of a loop before which it has no value.

    Not if it is read further up, in the next iteration of a loop before which it has no value.
    """
    forwarded: dict[ir.Reg, ir.Operand] = {}
    first_read: dict[ir.Operand, int] = {}
    position: dict[int, int] = {}
    for place, instr in enumerate(function.instrs()):
        position[id(instr)] = place
        for source in instr.srcs:
            first_read.setdefault(source, place)
    for reg, instrs in definitions.items():
        if reg.variable and len(instrs) == 1 and instrs[0].op in ("mov.b32", "mov.pred"):
            source = instrs[0].srcs[0]
            carried = first_read.get(reg, len(position)) <= position[id(instrs[0])]
            if not carried and not (isinstance(source, ir.Reg) and source.variable):
                forwarded[reg] = source

    def final(operand: ir.Operand) -> ir.Operand:
        while isinstance(operand, ir.Reg) and operand in forwarded:
            operand = forwarded[operand]
        return operand

    if forwarded:
        for instr in function.instrs():
            if any(s in forwarded for s in instr.srcs if isinstance(s, ir.Reg)):
                instr.srcs = tuple(map(final, instr.srcs))


def _drop_dead(function: ir.Function, definitions: dict[ir.Reg, list[ir.Instr]]) -> None:
    live: set[int] = set()
    work = [i for i in function.instrs() if i.op.startswith(EFFECTS)]
    while work:
        instr = work.pop()
        if id(instr) in live:
            continue
        live.add(id(instr))
        for source in (*instr.srcs, *((instr.guard,) if instr.guard else ())):
            if isinstance(source, ir.Reg):
                work.extend(definitions.get(source, ()))
    for block in function.blocks:
        block.instrs = [i for i in block.instrs if id(i) in live]
