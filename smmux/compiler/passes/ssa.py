"""Static single assignment: variables become phis at the start of the passes and copies again at their end.

Construction places phis at iterated dominance frontiers where the variable is live (Cytron et al. 1991, pruned).
Destruction gives every phi a variable of its own, written at the end of each predecessor and read at the head of the
block (Sreedhar et al. 1999, method I): always correct, and coalescing removes what was not needed.
"""

from __future__ import annotations

from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.live_ranges import liveness, reads
from smmux.compiler.analysis.ops import copy_of, move
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg, Type

__all__ = ["construct", "destruct"]


def construct(function: Function) -> None:
    """Rename variables so that every register has one definition, which dominates its uses.

    Elements of a local array that are read and never written have no definition at all, and read as 0.
    """
    graph = Graph(function)
    homes: dict[Reg, list[Block]] = {}
    writes: dict[Reg, int] = {}
    for block in graph.order:
        for instr in block.instrs:
            for dst in instr.dsts:
                writes[dst] = writes.get(dst, 0) + 1
                homes.setdefault(dst, []).append(block)
    variables = {reg: blocks for reg, blocks in homes.items() if reg.variable or writes[reg] > 1}
    variables |= {
        reg: [] for block in graph.order for instr in block.instrs for reg in reads(instr) if reg not in homes
    }
    if variables:
        origin = _place_phis(function, graph, variables)
        _rename(function, graph, set(variables), origin)


def _place_phis(function: Function, graph: Graph, variables: dict[Reg, list[Block]]) -> dict[Phi, Reg]:
    """Insert phis whose sources are filled in later, and say which variable each stands for."""
    frontier = _frontiers(graph)
    live_in, _ = liveness(graph.order)
    origin: dict[Phi, Reg] = {}
    for reg, blocks in variables.items():
        work, placed = list(dict.fromkeys(blocks)), set()
        while work:
            for block in frontier[work.pop()]:
                if block not in placed and live_in[block] >> reg.id & 1:
                    placed.add(block)
                    preds = tuple(graph.preds[block])
                    phi = Phi("phi", (function.reg(reg.type, reg.name),), (reg,) * len(preds), preds=preds)
                    origin[phi] = reg
                    block.instrs.insert(0, phi)
                    work.append(block)
    return origin


def _frontiers(graph: Graph) -> dict[Block, list[Block]]:
    frontier: dict[Block, dict[Block, None]] = {block: {} for block in graph.order}
    for block in graph.order:
        preds = graph.preds[block]
        if len(preds) > 1 or block is graph.entry:
            for pred in preds:
                runner = pred
                while runner is not graph.idom[block] or (block is graph.entry and runner is not graph.entry):
                    frontier[runner][block] = None
                    runner = graph.idom[runner]
    return {block: list(blocks) for block, blocks in frontier.items()}


def _rename(function: Function, graph: Graph, variables: set[Reg], origin: dict[Phi, Reg]) -> None:
    values: dict[Block, dict[Reg, Operand]] = {}
    for block in graph.order:  # every block after its immediate dominator
        current = dict(values[graph.idom[block]]) if block is not graph.entry else {}
        values[block] = current
        kept: list[Instr] = []
        for instr in block.instrs:
            if isinstance(instr, Phi):
                if instr in origin:
                    current[origin[instr]] = instr.dsts[0]
                kept.append(instr)
                continue
            for src in instr.srcs:
                if isinstance(src, Reg) and src in variables:
                    instr.srcs = tuple(_current(current, src, variables) for src in instr.srcs)
                    break
            if instr.guard is not None and instr.guard in variables:
                guard = _current(current, instr.guard, variables)
                if not isinstance(guard, Reg):
                    kept.append(move(function.reg(Type.PRED), guard, instr))
                    guard = kept[-1].dsts[0]
                instr.guard = guard
            source = copy_of(instr)
            if source is not None and instr.dsts[0] in variables:
                current[instr.dsts[0]] = source
                continue
            if not variables.isdisjoint(instr.dsts):
                fresh = [function.reg(dst.type, dst.name) if dst in variables else dst for dst in instr.dsts]
                current.update((old, new) for old, new in zip(instr.dsts, fresh, strict=True) if old is not new)
                instr.dsts = tuple(fresh)
            kept.append(instr)
        block.instrs = kept
    for phi, reg in origin.items():
        phi.srcs = tuple(_current(values[pred], reg, variables) for pred in phi.preds)


def _current(values: dict[Reg, Operand], operand: Operand, variables: set[Reg]) -> Operand:
    """The value of an operand; a register that was never written reads as 0."""
    if isinstance(operand, Reg) and operand in variables:
        return values.get(operand) or Imm(0, operand.type)
    return operand


def destruct(function: Function) -> None:
    """Replace phis by copies through variables."""
    endings: dict[Block, list[Instr]] = {}
    for block in function.blocks:
        leading = phis(block)
        if not leading:
            continue
        heads: list[Instr] = []
        for phi in leading:
            dst = phi.dsts[0]
            variable = function.reg(dst.type, dst.name, variable=True)
            heads.append(move(dst, variable, block.instrs[-1]))
            for pred, src in zip(phi.preds, phi.srcs, strict=True):
                endings.setdefault(pred, []).append(move(variable, src, pred.instrs[-1]))
        block.instrs[: len(leading)] = heads
    for block, moves in endings.items():
        block.instrs[-1:] = [*moves, block.instrs[-1]]
