"""Rewrites negative leading indices: they count from the end of the whole array, not of one of its parts.

An index in which something is subtracted, and that is not certainly positive, is written so that it counts from the
beginning. An index that comes from data alone stays as it is, and is taken for the number of a row.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from smmux import cuda
from smmux.base.trees import copied, walk
from smmux.language.kernel_only import Attribute, Dim3
from smmux.language.types import Scalar
from smmux.multiplex.analysis.facts import assignments, linear, range_bounds, value_of
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.divided.uses import Use, Uses
from smmux.rewriting.build import at

ROOM = 24  # names that a proof may follow, one inside the other
GROWING = (ast.Add, ast.Mult, ast.FloorDiv, ast.RShift, ast.LShift, ast.BitOr, ast.BitXor)


def from_the_beginning(
    analysis: Analysis, tree: ast.FunctionDef, extents: Mapping[str, int], bounds: Mapping[str, tuple[int, int]]
) -> None:
    """Write leading indices that may be negative so that they are not, in place.

    extents: of the leading axis, by name of the array and its views. bounds: of variables, where they are known.
    """
    signs = _Signs(analysis, tree, bounds)
    signs.block(tree.body, {})
    for use in list(Uses(analysis.source, extents).of(tree)):
        lead, extent = use.index[0], extents[use.array]
        constant = analysis.integer(lead)
        if constant is not None:
            if constant < 0:
                use.put(at(ast.Constant(constant + extent), use.node), *use.index[1:])
        elif signs.subtracts(lead) and not signs.proven(use):
            below = ast.Compare(copied(lead), [ast.Lt()], [ast.Constant(0)])
            wrapped = ast.IfExp(below, ast.BinOp(copied(lead), ast.Add(), ast.Constant(extent)), lead)
            use.put(at(wrapped, use.node), *use.index[1:])


class _Signs:
    """What is known of the signs of a kernel's expressions; around: ranges of the loops around each node."""

    def __init__(self, analysis: Analysis, tree: ast.FunctionDef, bounds: Mapping[str, tuple[int, int]]) -> None:
        self.analysis, self.source, self.bounds = analysis, analysis.source, bounds
        self.stores = assignments(tree)
        self.around: dict[ast.AST, Mapping[str, tuple[int, int]]] = {}

    def block(self, body: list[ast.stmt], known: Mapping[str, tuple[int, int]]) -> None:
        """Note the ranges of loops around all nodes of statements."""
        for node in body:
            inside = dict(known)
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                over = self.analysis.trips(node)
                if over and len(self.stores.get(node.target.id, [])) == 1:
                    inside[node.target.id] = (min(over), max(over))
            for inner in walk(node):
                self.around[inner] = inside
            for inner_body in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if isinstance(inner_body, list):
                    self.block(inner_body, inside)

    def subtracts(self, node: ast.expr, room: int = ROOM) -> bool:
        """Whether something is subtracted on the way to a value."""
        for inner in walk(node):
            if isinstance(inner, ast.Sub | ast.USub | ast.Invert):
                return True
            if isinstance(inner, ast.Name) and room:
                values = [value_of(store, inner.id) for store in self.stores.get(inner.id, [])]
                if any(
                    v is not None and not isinstance(v, ast.Subscript) and self.subtracts(v, room // 2) for v in values
                ):
                    return True
        return False

    def proven(self, use: Use) -> bool:
        """Whether the leading index of a use is certainly not negative."""
        lead = use.index[0]
        known = {**self.bounds, **self.around.get(use.node, {})}
        form = linear(lead, self.analysis.integer)
        ends = form.bounds(known)
        return ends is not None and ends[0] >= 0 or self.positive(lead, frozenset())

    def positive(self, node: ast.expr, assumed: frozenset[str]) -> bool:
        """Whether a value is certainly not negative, if these variables are not."""
        if (value := self.analysis.integer(node)) is not None:
            return value >= 0
        if isinstance(node, ast.Name):
            return node.id in assumed or self.variable(node.id, assumed | {node.id})
        if isinstance(node, ast.Attribute):
            place = self.source.resolve(node.value)
            found = self.source.resolve(node)
            return isinstance(place, Dim3) or isinstance(found, Attribute) or node.attr == "size"
        if isinstance(node, ast.BinOp):
            sides = [self.positive(side, assumed) for side in (node.left, node.right)]
            if isinstance(node.op, ast.Mod):
                return sides[1]
            return any(sides) if isinstance(node.op, ast.BitAnd) else isinstance(node.op, GROWING) and all(sides)
        if isinstance(node, ast.IfExp):
            return self.positive(node.body, assumed) and self.positive(node.orelse, assumed)
        return isinstance(node, ast.Call) and self.called(node, assumed)

    def called(self, node: ast.Call, assumed: frozenset[str]) -> bool:
        """What a function gives."""
        function = self.source.resolve(node.func)
        signs = [self.positive(argument, assumed) for argument in node.args]
        if isinstance(function, Scalar):
            return function.name.startswith("uint") or all(signs)
        if function in (min, int):
            return bool(signs) and all(signs)
        return function in (abs, len, cuda.grid, cuda.gridsize, cuda.popc, cuda.clz) or function is max and any(signs)

    def variable(self, name: str, assumed: frozenset[str]) -> bool:
        """What a variable can be given."""
        stores = self.stores.get(name, [])
        if not stores or name in self.source.parameters or len(assumed) > ROOM:
            return False
        return all(self.given(store, name, assumed) for store in stores)

    def given(self, store: ast.AST, name: str, assumed: frozenset[str]) -> bool:
        """What an assignment or a loop gives a variable."""
        if isinstance(store, ast.AugAssign):
            operation = ast.BinOp(ast.Name(name, ast.Load()), store.op, store.value)
            return self.positive(operation, assumed)
        if (bounds := range_bounds(self.source, store)) is not None:
            step = self.analysis.integer(bounds[2])
            stop = self.analysis.integer(bounds[1])
            down = step is not None and step < 0 and stop is not None and stop >= -1
            return (
                down
                or (step is not None and step > 0 or self.positive(bounds[2], assumed))
                and self.positive(bounds[0], assumed)
            )
        value = value_of(store, name)
        return value is not None and self.positive(value, assumed)
