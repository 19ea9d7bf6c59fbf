"""Conditions that a part decides: control goes at once to where the whole condition would send it.

`if a and b` with an expensive `b` is a branch on `a`, then a block in which the values of both sides meet, and a branch
on what they gave. Where `a` is false, nobody needs to meet: the edge goes on to the end of the `if`, as it does in
`if a: if b:`.
"""

from __future__ import annotations

from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.ops import is_pure, move
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg
from smmux.compiler.passes.branches import drop_source

__all__ = ["shorten_circuits"]


def shorten_circuits(function: Function) -> None:
    """Lead edges past blocks that only find out what is known on the edge."""
    while _shortened(function):
        pass


def _shortened(function: Function) -> bool:
    """Lead edges past all blocks, inner parts of conditions last; whether there was one to lead.

    The graph's predecessors are kept up to date, and so is who reads what: the value of a condition's part is free
    once the edges from it have been led on. The graph's dominators are asked for what lies behind a block's side that
    is entered from the block alone, of which no edge that is led changes anything.
    """
    graph = Graph(function)
    homes, changed = _uses(graph), False
    for block in reversed(graph.order):
        if not _decides(graph, block):
            continue
        known = [(pred, truth) for pred in graph.preds[block] if (truth := _on_edge(graph, pred, block)) is not None]
        free = {truth: _free(graph, block, truth, homes) for truth in {truth for _, truth in known}}
        read = _sources(block)
        led = [pred for pred, truth in known if free[truth] and _lead(graph, pred, block, truth)]
        if led:
            for gone in read - _sources(block):
                homes[gone].discard(block)
            _left(graph, block)
            changed = True
    return changed


def _uses(graph: Graph) -> dict[Reg, set[Block]]:
    """The blocks that read each register."""
    homes: dict[Reg, set[Block]] = {}
    for block in graph.order:
        for operand in _sources(block):
            homes.setdefault(operand, set()).add(block)
    return homes


def _sources(block: Block) -> set[Reg]:
    """The registers that a block reads."""
    operands = (operand for instr in block.instrs for operand in (*instr.srcs, instr.guard))
    return {operand for operand in operands if isinstance(operand, Reg)}


def _decides(graph: Graph, block: Block) -> bool:
    """Whether a block where edges meet does no more than to compute, and branches. Edges into a loop stay, since a loop
    is entered at its header alone."""
    last, preds = block.instrs[-1], graph.preds[block]
    if last.op != "cbr" or last.target is last.other or len(preds) < 2 or not phis(block):
        return False
    if any(graph.index[pred] >= graph.index[block] for pred in preds):
        return False
    return all(is_pure(instr.op) for instr in block.instrs[:-1])


def _free(graph: Graph, block: Block, truth: bool, homes: dict[Reg, set[Block]]) -> bool:
    """Whether nobody where a block's branch goes reads what the block computes, but only the block and its other
    side."""
    last = block.instrs[-1]
    other = last.other if truth else last.target
    assert other is not None
    own = graph.preds[other] == [block]
    readers = {home for instr in block.instrs for dst in instr.dsts for home in homes.get(dst, ())}
    return all(home is block or (own and graph.dominates(other, home)) for home in readers)


def _on_edge(graph: Graph, pred: Block, block: Block) -> bool | None:
    """The condition of a block's branch where control comes from a predecessor; None if it is not known."""
    known: dict[Operand, bool] = {}
    at, before = block, [pred]
    while len(before) == 1 and before[0] is not at:
        last = before[0].instrs[-1]
        if last.op == "cbr" and last.target is not last.other:
            known.setdefault(last.srcs[0], last.target is at)
        at, before = before[0], graph.preds[before[0]]
    for instr in block.instrs[:-1]:
        truth = _truth(instr, known, pred)
        if truth is not None:
            known[instr.dsts[0]] = truth
    return _value(block.instrs[-1].srcs[0], known)


def _value(operand: Operand, known: dict[Operand, bool]) -> bool | None:
    return bool(operand.bits) if isinstance(operand, Imm) else known.get(operand)


def _truth(instr: Instr, known: dict[Operand, bool], pred: Block) -> bool | None:
    """What an operation on predicates gives; None if that is not known."""
    if instr.guard is not None or instr.attrs:
        return None
    if isinstance(instr, Phi):
        return _value(instr.source(pred), known)
    values = [_value(source, known) for source in instr.srcs]
    if instr.op == "not.pred" and values[0] is not None:
        return not values[0]
    if instr.op == "and.pred":
        return False if False in values else True if values == [True, True] else None
    if instr.op == "or.pred":
        return True if True in values else False if values == [False, False] else None
    return None


def _lead(graph: Graph, pred: Block, block: Block, truth: bool) -> bool:
    """Lead an edge to where the block's branch goes; not where the two edges from a block would have to differ."""
    end, branch = pred.instrs[-1], block.instrs[-1]
    target = branch.target if truth else branch.other
    assert target is not None
    if end.target is end.other or (phis(target) and target in pred.successors):
        return False
    end.target = target if end.target is block else end.target
    end.other = target if end.other is block else end.other
    for phi in phis(target):
        phi.srcs, phi.preds = (*phi.srcs, phi.source(block)), (*phi.preds, pred)
    for phi in phis(block):
        drop_source(phi, pred)
    graph.preds[block].remove(pred)
    graph.preds[target] = list(dict.fromkeys((*graph.preds[target], pred)))
    return True


def _left(graph: Graph, block: Block) -> None:
    """Mend a block that has lost edges: its phis choose no more if one is left, and if none is, it has no part in the
    phis behind it."""
    preds = graph.preds[block]
    for following in dict.fromkeys(block.successors) if not preds else ():
        graph.preds[following].remove(block)
        for phi in phis(following):
            drop_source(phi, block)
    if len(preds) == 1:
        leading = phis(block)
        block.instrs[: len(leading)] = [move(phi.dsts[0], phi.srcs[0], phi) for phi in leading]
