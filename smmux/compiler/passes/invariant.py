"""Loops: preheaders, and motion of operations whose results do not change in a loop to before it. Loads stay."""

from __future__ import annotations

from smmux.compiler.analysis.graph import Graph, NaturalLoop
from smmux.compiler.analysis.live_ranges import liveness
from smmux.compiler.analysis.ops import is_pure, latency_class, may_fault
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Instr, Reg, Type

__all__ = ["hoist_invariants", "insert_preheaders", "invariants", "preheader"]


def insert_preheaders(function: Function) -> None:
    """Give every loop one block before its header that goes nowhere else."""
    graph = Graph(function)
    place = {block: i for i, block in enumerate(function.blocks)}
    new: list[tuple[int, Block]] = []
    for loop in graph.loops:
        outside = [pred for pred in graph.preds[loop.header] if pred not in loop.blocks]
        if len(outside) == 1 and len(set(outside[0].successors)) == 1:
            continue
        block = Block(-1, [Instr("bra", loc=loop.header.instrs[-1].loc, target=loop.header)])
        _redirect(function, loop.header, outside, block)
        new.append((place[loop.header], block))
    for at, block in sorted(new, key=lambda item: -item[0]):
        function.blocks.insert(at, block)


def _redirect(function: Function, header: Block, outside: list[Block], block: Block) -> None:
    """Let the edges from `outside` to `header` go through `block`, which merges their values."""
    for pred in outside:
        last = pred.instrs[-1]
        last.target = block if last.target is header else last.target
        last.other = block if last.other is header else last.other
    for phi in phis(header):
        entering = [(p, s) for p, s in zip(phi.preds, phi.srcs, strict=True) if p in outside]
        staying = [(p, s) for p, s in zip(phi.preds, phi.srcs, strict=True) if p not in outside]
        if len(entering) == 1:
            value = entering[0][1]
        else:
            merged = Phi(
                "phi", (function.reg(phi.dsts[0].type, phi.dsts[0].name),), preds=tuple(p for p, _ in entering)
            )
            merged.srcs = tuple(s for _, s in entering)
            block.instrs.insert(0, merged)
            value = merged.dsts[0]
        phi.preds = (block, *(p for p, _ in staying))
        phi.srcs = (value, *(s for _, s in staying))


def preheader(graph: Graph, loop: NaturalLoop) -> Block | None:
    """The only block outside from which the loop is entered, if it goes nowhere else."""
    outside = [pred for pred in graph.preds[loop.header] if pred not in loop.blocks]
    return outside[0] if len(outside) == 1 and len(set(outside[0].successors)) == 1 else None


def hoist_invariants(function: Function, live: int) -> int:
    """Move pure operations whose sources are defined outside a loop to its preheader; inner loops first.

    live: a loop takes operations in as long as it holds fewer values than this. Loops around loops keep cheap
    operations: their iterations are long, and a register held through them costs more than an operation. Returns how
    many values the fullest loop that took any in holds: limits from there on are none.
    """
    graph = Graph(function)
    if not graph.loops:
        return 0
    home = {dst: block for block in graph.order for instr in block.instrs for dst in instr.dsts}
    pressure = _pressure(graph)
    around = {loop.parent for loop in graph.loops}
    fullest = 0
    for loop in graph.loops:
        before = preheader(graph, loop)
        if before is None:
            continue
        innermost = loop not in around
        held = max(pressure[block] for block in loop.blocks)
        moved: list[Instr] = []
        for block in sorted(loop.blocks, key=graph.index.__getitem__):
            kept: list[Instr] = []
            for instr in block.instrs:
                if held < live and (innermost or _expensive(instr)) and _invariant(instr, loop, home):
                    moved.append(instr)
                    held += len(instr.dsts)
                    home.update(dict.fromkeys(instr.dsts, before))
                else:
                    kept.append(instr)
            block.instrs = kept
        before.instrs[-1:] = [*moved, before.instrs[-1]]
        if moved:
            fullest = max(fullest, held)
    return fullest


def invariants(graph: Graph) -> set[Instr]:
    """The operations that do not change in a loop without inner loops, from which `hoist_invariants` takes them where
    registers allow."""
    home = {dst: block for block in graph.order for instr in block.instrs for dst in instr.dsts}
    outer = {loop.parent for loop in graph.loops}
    found: set[Instr] = set()
    for loop in graph.loops:
        if loop in outer:
            continue
        for block in sorted(loop.blocks, key=graph.index.__getitem__):
            for instr in block.instrs:
                if _invariant(instr, loop, home):
                    found.add(instr)
                    home.update(dict.fromkeys(instr.dsts, graph.idom[loop.header]))
    return found


def _pressure(graph: Graph) -> dict[Block, int]:
    """The largest number of 32-bit values live at one point of each block."""
    _, live_out = liveness(graph.order)
    words = 0
    for block in graph.order:
        for instr in block.instrs:
            for dst in instr.dsts:
                words |= 0 if dst.type is Type.PRED else 1 << dst.id
    most: dict[Block, int] = {}
    for block in graph.order:
        live = live_out[block] & words
        most[block] = live.bit_count()
        for instr in reversed(block.instrs):
            if isinstance(instr, Phi):
                break
            for dst in instr.dsts:
                live &= ~(1 << dst.id)
            for src in instr.srcs:
                if isinstance(src, Reg):
                    live |= 1 << src.id
            most[block] = max(most[block], (live & words).bit_count())
    return most


CHEAP = ("alu", "shift", "cvt")
"""Latency classes that are as well computed again in each iteration, where registers are short."""


def _expensive(instr: Instr) -> bool:
    return latency_class(instr.op) not in CHEAP


def _invariant(instr: Instr, loop: NaturalLoop, home: dict[Reg, Block]) -> bool:
    if isinstance(instr, Phi) or not is_pure(instr.op) or instr.guard is not None or may_fault(instr):
        return False
    if instr.dsts[0].type is Type.PRED:  # few, and as cheap to compute again
        return False
    return all(not isinstance(src, Reg) or home.get(src) not in loop.blocks for src in instr.srcs)
