"""Loop peeling (the paper's Section 4.2, Histogram): the first loads of a region's loop are moved in front of it.

A region that begins with a loop over values loaded one by one leaves the other virtual block nothing to do meanwhile.
The loads of its first iterations, into registers, are such a task.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Block, Piece, escaping, touches
from smmux.multiplex.analysis.scalars import assigned, exposed
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Span, find, synchronises
from smmux.multiplex.syntax.build import at, element, expression, has_docstring, names_in, statement
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.vocabulary import device_function

__all__ = ["peel", "works"]

PEELED = 16
"""Registers per thread that peeled loads may use: as many as a thread has on a full SM of compute capability 1.3, with
its 16,384 registers and 1,024 threads.
"""


def works(source: FunctionSource, piece: Piece) -> bool:
    """Whether a statement is enough work to overlap with something: a loop, or the call of a device function."""
    return any(
        isinstance(n, ast.For | ast.While) or isinstance(n, ast.Call) and device_function(source, n) is not None
        for n in ast.walk(piece.node)
    )


def peel(draft: Draft) -> None:
    """Peel the first loop with loads of each region that has no work in front of it, in place."""
    analysis = analysed(draft)
    usage = find(analysis, in_turns=True)
    for block in usage.places.walk(analysis.body):
        end = 0
        for span in usage.of(block):
            before = block.pieces[end : span.start]
            if not any(works(draft.source, p) or any(touches(p.events, "global")) for p in before):
                _peel(draft, analysis, span)
            end = span.stop


def _peel(draft: Draft, analysis: Analysis, span: Span) -> None:
    """Peel a loop of one region, if there is one that allows it."""
    pieces = span.pieces
    for k, piece in enumerate(pieces):
        loop = _candidate(analysis, pieces[:k], piece)
        if loop is not None:
            loop.split(draft, span.block, pieces[0].node)
            draft.changed()
            return
        if any(t.write for t in touches(piece.events, "global")):
            return


def _candidate(analysis: Analysis, before: list[Piece], piece: Piece) -> Peeling | None:
    """The loop of a statement, None unless its loads may be done in front of the statements before it."""
    node, source = piece.node, analysis.source
    trips = analysis.trips(node) if not synchronises(piece) else None
    if trips is None or not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or node.orelse:
        return None
    if not isinstance(node.target, ast.Name) or len(node.iter.args) != 1 or len(trips) <= PEELED:
        return None
    loads = list(touches(piece.events, "global"))
    if len(loads) != 1 or loads[0].write or any(escaping(piece.events)):
        return None
    if any(isinstance(n, ast.Break | ast.Continue) for s in node.body for n in ast.walk(s)):
        return None  # later iterations may not be for loading
    load = loads[0].node
    if not isinstance(load, ast.Subscript) or not _every_time(node.body, load):
        return None
    changed = assigned(source, [p.node for p in before]) | set(assigned_names(node.body))
    if (names_in(load) - {node.target.id}) & changed or node.target.id in exposed(source, [p.node for p in before]):
        return None
    return Peeling(node, node.target, loads[0].array.name, load, len(trips))


@dataclass(frozen=True, slots=True)
class Peeling:
    """A loop `for i in range(trips)` with one load from global memory in each iteration."""

    loop: ast.For
    counter: ast.Name
    array: str
    load: ast.Subscript
    trips: int

    def split(self, draft: Draft, block: Block, front: ast.stmt) -> None:
        """Put the loads of the first iterations in front of a statement, and what uses them where the loop was."""
        name = draft.names.new("peeled", f"peeled_{self.array}")
        module = draft.names.module("cuda", cuda)
        value = element(name, ast.Name(self.counter.id, ast.Load()))
        put = element(name, ast.Name(self.counter.id, ast.Load()), store=True)
        loads = self.over(f"range({PEELED})", [at(ast.Assign([put], copy.deepcopy(self.load)), self.loop)])
        uses = [copy.deepcopy(s, {id(self.load): at(copy.deepcopy(value), self.loop)}) for s in self.loop.body]
        rest = self.over(f"range({PEELED}, {self.trips})", self.loop.body)
        place = block.body.index(self.loop)
        block.body[place : place + 1] = [self.over(f"range({PEELED})", uses), rest]
        block.body.insert(block.body.index(front) if front is not self.loop else place, loads)
        declared = statement(f"{name} = {module}.local.array({PEELED}, {self.array}.dtype)")
        body = draft.tree.body
        body.insert(int(has_docstring(draft.tree)), at(declared, body[0]))

    def over(self, text: str, body: list[ast.stmt]) -> ast.For:
        """The loop with another range and body."""
        made = ast.For(copy.deepcopy(self.loop.target), at(expression(text), self.loop), body, [])
        return ast.copy_location(made, self.loop)


def _every_time(body: list[ast.stmt], load: ast.AST) -> bool:
    """Whether an expression is evaluated in every iteration, and stands in the kernel itself."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and any(n is load for n in ast.walk(node)):
            return not any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(node))
    return False
