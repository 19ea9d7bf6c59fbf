"""Branch simplification: known conditions, empty blocks, straight lines of blocks."""

from __future__ import annotations

from smmux.compiler.analysis.graph import Graph, exits_only, reverse_postorder
from smmux.compiler.analysis.ops import move
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Imm, Instr, Reg

__all__ = ["drop_source", "simplify_branches"]


def simplify_branches(function: Function) -> None:
    """Fold branches on known conditions, forward jumps through empty blocks, merge blocks that follow each other."""
    _fold_conditions(function)
    _drop_unreachable(function)
    _forward_empty(function)
    _drop_unreachable(function)
    _merge_lines(function)


def _remove_edge(pred: Block, block: Block) -> None:
    """Remove the edge from `pred` to `block`, whose phis lose a source."""
    for phi in phis(block):
        drop_source(phi, pred)


def drop_source(phi: Phi, pred: Block) -> None:
    """Remove a phi's source for the edge from `pred`."""
    keep = [i for i, p in enumerate(phi.preds) if p is not pred]
    phi.srcs = tuple(phi.srcs[i] for i in keep)
    phi.preds = tuple(phi.preds[i] for i in keep)


def _fold_conditions(function: Function) -> None:
    defs = {dst: instr for instr in function.instrs() if instr.op == "not.pred" for dst in instr.dsts}
    for block in function.blocks:
        last = block.instrs[-1]
        if last.op != "cbr":
            continue
        assert last.target is not None
        assert last.other is not None
        condition = last.srcs[0]
        while isinstance(condition, Reg) and condition in defs:
            condition = defs[condition].srcs[0]
            last.target, last.other = last.other, last.target
        last.srcs = (condition,)
        if isinstance(condition, Imm):
            taken, left = (last.target, last.other) if condition.bits else (last.other, last.target)
            if left is not taken:
                _remove_edge(block, left)
            block.instrs[-1] = Instr("bra", loc=last.loc, target=taken)
        elif last.target is last.other:
            block.instrs[-1] = Instr("bra", loc=last.loc, target=last.target)
        _fold_exit(block)


def _fold_exit(block: Block) -> None:
    """Replace a jump to a block that only exits by an exit."""
    last = block.instrs[-1]
    targets = block.successors
    if targets and all(exits_only(target) for target in targets):
        block.instrs[-1] = Instr("exit", loc=last.loc)


def _drop_unreachable(function: Function) -> None:
    reachable = set(reverse_postorder(function.blocks[0], lambda block: block.successors))
    for block in function.blocks:
        if block not in reachable:
            for following in dict.fromkeys(block.successors):
                if following in reachable:
                    _remove_edge(block, following)
    function.blocks = [block for block in function.blocks if block in reachable]


def _forward_empty(function: Function) -> None:
    """Let predecessors of a block that only jumps go to its target, where the target's phis can tell them apart."""
    graph = Graph(function)
    for block in graph.order:
        last = block.instrs[-1]
        if len(block.instrs) > 1 or last.op != "bra" or block is graph.entry:
            continue
        target = last.target
        assert target is not None
        if target is block:
            continue
        before = graph.preds[block]
        if phis(target) and not set(before).isdisjoint(graph.preds[target]):
            continue
        for pred in before:
            end = pred.instrs[-1]
            end.target = target if end.target is block else end.target
            end.other = target if end.other is block else end.other
        for phi in phis(target):
            at = phi.preds.index(block)
            phi.srcs = (*phi.srcs[:at], *(phi.srcs[at],) * len(before), *phi.srcs[at + 1 :])
            phi.preds = (*phi.preds[:at], *before, *phi.preds[at + 1 :])
        preds = graph.preds[target]
        preds.remove(block)
        preds[:] = dict.fromkeys((*preds, *before))
        graph.preds[block] = []
        for pred in before:
            if pred.instrs[-1].op == "cbr" and pred.instrs[-1].target is pred.instrs[-1].other:
                pred.instrs[-1] = Instr("bra", loc=pred.instrs[-1].loc, target=target)


def _merge_lines(function: Function) -> None:
    """Append a block to its only predecessor, if that goes nowhere else."""
    graph = Graph(function)
    gone: set[Block] = set()
    for block in graph.order:
        if block in gone:
            continue
        while True:
            last = block.instrs[-1]
            if last.op != "bra":
                break
            following = last.target
            assert following is not None
            if following is graph.entry or following is block or len(graph.preds[following]) > 1:
                break
            leading = phis(following)
            copies = [move(phi.dsts[0], phi.srcs[0], last) for phi in leading]
            block.instrs[-1:] = [*copies, *following.instrs[len(leading) :]]
            gone.add(following)
            for after in dict.fromkeys(following.successors):
                graph.preds[after] = [block if p is following else p for p in graph.preds[after]]
                for phi in phis(after):
                    phi.preds = tuple(block if p is following else p for p in phi.preds)
    function.blocks = [block for block in function.blocks if block not in gone]
