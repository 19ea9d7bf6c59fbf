"""What decides how often barriers are met: it has to be computed by all threads, whoever's turn it is."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence

from smmux import cuda
from smmux.compiler.frontend.source import FunctionSource, assigned_names
from smmux.multiplex.analysis.accesses import Block, Piece, escaping, touches
from smmux.multiplex.analysis.scalars import Flow, closure
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.regions.find import Usage, synchronises
from smmux.multiplex.syntax.build import names_in
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import BARRIERS, COUNTING, calls

ASSIGNMENTS = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr
DECLARATIONS = (cuda.shared.array, cuda.local.array, cuda.const.array_like)


class Control:
    """The variables that loops and conditions around barriers depend on, and the statements that assign them.

    varying: variables that can differ between virtual blocks. deciding: the others that decide how often barriers are
    met. What depends on varying ones is computed by those virtual blocks that take part.
    """

    def __init__(self, analysis: Analysis, usage: Usage, varying: set[str]) -> None:
        self.analysis, self.source, self.usage, self.varying = analysis, analysis.source, usage, varying
        around = list(_synchronising(analysis.body, usage))
        around += [p for piece in around for side in piece.blocks for p in side.pieces if any(escaping(p.events))]
        met = names_in(*(head for piece in around for head in heads(piece.node)))
        nodes = [node for statement in analysis.body.body for node in ast.walk(statement)]
        self.deciding = closure(met, [(used, changed) for changed, used in _flows(nodes, elements=False)]) - varying

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
        names: set[str] = set()
        for piece in pieces:
            if not synchronises(piece):
                names |= set(assigned_names([piece.node])) if self.assigns(piece) else set()
                continue
            if isinstance(piece.node, ast.For):
                names |= names_in(piece.node.target)
            if not self.differs(piece.node):
                names |= set(assigned_names(heads(piece.node)))
            for side in piece.blocks:
                names |= self.clobbered(side.pieces)
        return names


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


def tainted(source: FunctionSource, tree: ast.FunctionDef, seeds: set[str]) -> set[str]:
    """Variables that can differ between virtual blocks: what is computed from their indices, or under such conditions.

    Conditions around barriers do not count: what depends on them is computed by all virtual blocks or not at all.
    """

    def called(node: ast.AST, functions: tuple[object, ...]) -> bool:
        return any(calls(source, inner, functions) for inner in ast.walk(node))

    nodes = list(ast.walk(tree))
    counts = [node for node in nodes if isinstance(node, ASSIGNMENTS) and called(node, COUNTING)]
    seeds = seeds.union(*(changed for changed, _ in _flows(counts)))  # each virtual block has a count of its own
    local = [n for n in nodes if isinstance(n, ast.Assign) and calls(source, n.value, (cuda.local.array,))]
    arrays = set().union(*(changed for changed, _ in _flows(local)))
    flows = list(_flows(nodes))
    for node in nodes:
        if isinstance(node, ast.If | ast.While) and not called(node, BARRIERS):
            flows.append((set(assigned_names([node])), names_in(node.test)))
        elif isinstance(node, ast.Call):
            flows.append((arrays & {a.id for a in node.args if isinstance(a, ast.Name)}, names_in(*node.args)))
    return closure(seeds, flows)


def _flows(nodes: Iterable[ast.AST], elements: bool = True) -> Iterator[Flow]:
    """What assignments do; elements: of an array change it."""
    for node in nodes:
        if isinstance(node, ast.For):
            yield _roots(node.target, elements), names_in(node.iter)
        elif isinstance(node, ASSIGNMENTS):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield set().union(*(_roots(target, elements) for target in targets)), names_in(node.value)


def _roots(target: ast.expr, elements: bool) -> set[str]:
    """Variables that an assignment to a target changes."""
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*(_roots(item, elements) for item in target.elts))
    if isinstance(target, ast.Subscript):
        return _roots(target.value, elements) if elements else set()
    return names_in(target)
