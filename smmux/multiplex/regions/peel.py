"""Loop peeling (the paper's Section 4.2, Histogram): the first loads of a region's loop are moved in front of it.

A region that begins with a loop over values loaded one by one leaves the other virtual block nothing to do meanwhile.
The loads of its first iterations, into registers, are such a task.
"""

from __future__ import annotations

import ast
import copy

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Block, Piece, Touch, escaping, touches
from smmux.multiplex.analysis.scalars import assigned, exposed, names_in
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Span, find, synchronises
from smmux.multiplex.syntax.build import at, element, expression, statement
from smmux.multiplex.syntax.draft import Draft

__all__ = ["peel", "works"]

PEELED = 16  # registers per thread that peeled loads may use


def works(source: FunctionSource, piece: Piece) -> bool:
    """Whether a statement is enough work to overlap with something: a loop, or the call of a device function."""
    return any(
        isinstance(n, ast.For | ast.While)
        or isinstance(n, ast.Call)
        and isinstance(getattr(source.resolve(n.func), "definition", None), FunctionSource)
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
        loop = Loop.of(analysis, pieces[:k], piece)
        if loop is not None:
            loop.split(draft, span.block, pieces[0].node)
            draft.changed()
            return
        if any(t.write for t in touches(piece.events, "global")):
            return


class Loop:
    """A loop `for i in range(trips)` with one load from global memory in each iteration."""

    def __init__(self, node: ast.For, load: Touch, trips: int) -> None:
        self.node, self.load, self.trips = node, load, trips

    @staticmethod
    def of(analysis: Analysis, before: list[Piece], piece: Piece) -> Loop | None:
        """The loop of a statement, None unless its loads may be done in front of the statements before it."""
        node = piece.node
        if not isinstance(node, ast.For) or node.orelse or synchronises(piece) or not isinstance(node.target, ast.Name):
            return None
        trips = _trips(analysis, node)
        loads = list(touches(piece.events, "global"))
        if trips is None or trips <= PEELED or len(loads) != 1 or loads[0].write or any(escaping(piece.events)):
            return None
        if any(isinstance(n, ast.Break | ast.Continue) for s in node.body for n in ast.walk(s)):
            return None  # later iterations may not be for loading
        load = loads[0].node
        if not isinstance(load, ast.Subscript) or not _every_time(node.body, load):
            return None
        source = analysis.source
        changed = assigned(source, [p.node for p in before]) | set(assigned_names(node.body))
        if (names_in(load) - {node.target.id}) & changed or node.target.id in exposed(source, [p.node for p in before]):
            return None
        return Loop(node, loads[0], trips)

    def split(self, draft: Draft, block: Block, front: ast.stmt) -> None:
        """Put the loads of the first iterations in front of a statement, and what uses them where the loop was."""
        assert isinstance(self.node.target, ast.Name)
        name, counter = draft.names.new("peeled", f"peeled_{self.load.array.name}"), self.node.target.id
        module = draft.names.module("cuda", cuda)
        loads = self.over(f"range({PEELED})")
        index = ast.Name(counter, ast.Load())
        load = copy.deepcopy(self.load.node)
        assert isinstance(load, ast.expr)
        loads.body = [at(ast.Assign([element(name, index, store=True)], load), self.node)]
        first = self.over(f"range({PEELED})")
        first.body = [_replaced(s, self.load.node, element(name, index)) for s in self.node.body]
        rest = self.over(f"range({PEELED}, {self.trips})")
        rest.body = self.node.body
        place = block.body.index(self.node)
        block.body[place : place + 1] = [first, rest]
        block.body.insert(block.body.index(front) if front is not self.node else place, loads)
        declared = statement(f"{name} = {module}.local.array({PEELED}, {self.load.array.name}.dtype)")
        draft.tree.body.insert(_behind_docstring(draft.tree), at(declared, draft.tree.body[0]))

    def over(self, text: str) -> ast.For:
        """The head of the loop with another range."""
        return ast.copy_location(
            ast.For(copy.deepcopy(self.node.target), at(expression(text), self.node), [], []), self.node
        )


def _trips(analysis: Analysis, node: ast.For) -> int | None:
    """The number of trips of a loop that counts from zero."""
    over = analysis.trips(node)
    simple = isinstance(node.iter, ast.Call) and len(node.iter.args) == 1
    return over.stop if over is not None and simple else None


def _every_time(body: list[ast.stmt], load: ast.AST) -> bool:
    """Whether an expression is evaluated in every iteration, and stands in the kernel itself."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and any(n is load for n in ast.walk(node)):
            return not any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(node))
    return False


def _behind_docstring(tree: ast.FunctionDef) -> int:
    return int(isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant))


def _replaced(statement: ast.stmt, node: ast.AST, new: ast.expr) -> ast.stmt:
    """A copy of a statement with one expression replaced."""
    return copy.deepcopy(statement, {id(node): at(new, node)})
