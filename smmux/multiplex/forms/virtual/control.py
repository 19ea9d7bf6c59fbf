"""What decides how often barriers are met: it has to be computed by all threads, whoever's turn it is."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Block, Piece, escaping, touches
from smmux.multiplex.analysis.scalars import names_in
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.regions.find import Usage, synchronises
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import BARRIERS, COUNTING, calls

__all__ = ["Control", "heads", "segments", "tainted"]

ASSIGNMENTS = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr
DECLARATIONS = (cuda.shared.array, cuda.local.array, cuda.const.array_like)


class Control:
    """The variables that loops and conditions around barriers depend on, and the statements that assign them.

    varying: variables that can differ between virtual blocks. deciding: the others that decide how often barriers are
    met. What depends on varying ones is computed by those virtual blocks that take part.
    """

    def __init__(self, analysis: Analysis, usage: Usage, varying: set[str]) -> None:
        self.analysis, self.source, self.usage, self.varying = analysis, analysis.source, usage, varying
        self.deciding: set[str] = set()
        for piece in _synchronising(analysis.body, usage):
            self.deciding |= names_in(*heads(piece.node))
            for jump in (p for side in piece.blocks for p in _jumping(side)):
                self.deciding |= names_in(*heads(jump.node))
        assignments = list(_assignments(analysis.body.body))
        before = -1
        while before != len(self.deciding):
            before = len(self.deciding)
            for targets, value in assignments:
                if targets & self.deciding:
                    self.deciding |= value
        self.deciding -= varying

    def differs(self, node: ast.stmt) -> bool:
        """Whether virtual blocks can go different ways at a loop or condition."""
        return bool(names_in(*heads(node)) & self.varying)

    def common(self, piece: Piece) -> bool:
        """Whether a statement without barriers has to be executed by all threads; refused if it must not be."""
        return self.declares(piece) or self.assigns(piece)

    def declares(self, piece: Piece) -> bool:
        """True for the declaration of an array, or of a view."""
        value = piece.node.value if isinstance(piece.node, ast.Assign) else None
        if not isinstance(value, ast.Call):
            return False
        view = isinstance(value.func, ast.Attribute) and value.func.attr == "view"
        return view or calls(self.source, value, DECLARATIONS)

    def assigns(self, piece: Piece) -> bool:
        """Whether a statement decides how often barriers are met; refused if it accesses arrays as well."""
        if any(escaping(piece.events)):
            what = "leaves or repeats a loop with barriers"
        elif names := set(assigned_names([piece.node])) & self.deciding:
            what = f"computes {', '.join(sorted(names))}, which decides how often barriers are met"
        else:
            return False
        if any(touches(piece.events)) or any(t.write for t in touches(piece.events, "global")):
            why = f"this statement accesses arrays and {what}"
            raise refuse(self.source, piece.node, f"{why}: virtual blocks can take turns only if these are separate")
        return True

    def clobbered(self, pieces: Sequence[Piece]) -> set[str]:
        """Variables that all threads assign in the turn of one virtual block, whoever's it is."""
        found: set[str] = set()
        for piece in pieces:
            if not synchronises(piece):
                found |= set(assigned_names([piece.node])) if self.assigns(piece) else set()
                continue
            if isinstance(piece.node, ast.For):
                found |= names_in(piece.node.target)
            if not self.differs(piece.node):
                found |= set(assigned_names(heads(piece.node)))
            for side in piece.blocks:
                found |= self.clobbered(side.pieces)
        return found


def heads(node: ast.stmt) -> list[ast.expr]:
    """Condition or range of a compound statement."""
    if isinstance(node, ast.For):
        return [node.iter]
    return [node.test] if isinstance(node, ast.If | ast.While) else []


def segments(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces by barriers: each that has one alone, runs of others together."""
    runs = itertools.groupby(pieces, lambda piece: piece if synchronises(piece) else None)
    return [list(run) for _, run in runs]


def _synchronising(block: Block, usage: Usage) -> Iterator[Piece]:
    for piece in block.pieces:
        if piece.blocks and (synchronises(piece) or usage.within(piece)):
            yield piece
            for side in piece.blocks:
                yield from _synchronising(side, usage)


def _jumping(block: Block) -> Iterator[Piece]:
    """Conditional jumps of a statement list."""
    return (p for p in block.pieces if p.blocks and any(escaping(p.events)))


def _assignments(body: list[ast.stmt]) -> Iterator[tuple[set[str], set[str]]]:
    """Names assigned together, and the names that their values come from."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Assign):
            names = names_in(*(t for t in node.targets if not isinstance(t, ast.Subscript)))
            yield names, names_in(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield {node.target.id}, names_in(node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield names_in(node.target), names_in(node.value)
        elif isinstance(node, ast.For):
            yield names_in(node.target), names_in(node.iter)


def tainted(source: FunctionSource, tree: ast.FunctionDef, seeds: set[str]) -> set[str]:
    """Variables that can differ between virtual blocks: what is computed from their indices, or under such conditions.

    Conditions around barriers do not count: what depends on them is computed by all virtual blocks or not at all.
    """
    counted = [n for n in ast.walk(tree) if isinstance(n, ASSIGNMENTS)]
    counted = [n for n in counted if any(calls(source, inner, COUNTING) for inner in ast.walk(n))]
    found = seeds.union(*map(_changed, counted))  # each virtual block has a count of its own
    arrays = _local_arrays(source, tree)
    before = -1
    while before != len(found):
        before = len(found)
        for node in ast.walk(tree):
            if isinstance(node, ASSIGNMENTS) and names_in(node.value) & found:
                found |= _changed(node)
            elif isinstance(node, ast.For) and names_in(node.iter) & found:
                found |= names_in(node.target)
            elif isinstance(node, ast.If | ast.While) and names_in(node.test) & found:
                if not any(calls(source, inner, BARRIERS) for inner in ast.walk(node)):
                    found |= set(assigned_names([node]))
            elif isinstance(node, ast.Call) and names_in(*node.args) & found:
                found |= {a.id for a in node.args if isinstance(a, ast.Name)} & arrays
    return found


def _changed(node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) -> set[str]:
    """Names that an assignment changes."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {name for target in targets for name in _roots(target)}


def _roots(target: ast.expr) -> set[str]:
    """Names that an assignment to a target changes."""
    if isinstance(target, ast.Tuple | ast.List):
        return {n for item in target.elts for n in _roots(item)}
    while isinstance(target, ast.Subscript):
        target = target.value
    return names_in(target)


def _local_arrays(source: FunctionSource, tree: ast.FunctionDef) -> set[str]:
    return {
        t.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and calls(source, n.value, (cuda.local.array,))
        for t in n.targets
        if isinstance(t, ast.Name)
    }
