"""How a kernel uses an array by its elements: `array[index]`, or `add(array, index, value)` for an atomic operation."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.syntax.build import at, element
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import ATOMICS

__all__ = ["Use", "Uses", "elements_only"]

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Use:
    """An element in a kernel: `array[index]`, or the one that an atomic operation changes, `add(array, index, value)`.

    name: the node that names the array.
    """

    node: ast.Subscript | ast.Call
    name: ast.Name

    @property
    def array(self) -> str:
        """The name of the array, or of a view of it."""
        return self.name.id

    @property
    def stores(self) -> bool:
        """Whether the element can change."""
        return isinstance(self.node, ast.Call) or isinstance(self.node.ctx, ast.Store)

    @property
    def index(self) -> list[ast.expr]:
        """The indices, the leading one first."""
        return _items(self.node.slice if isinstance(self.node, ast.Subscript) else self.node.args[1])

    def put(self, *index: ast.expr) -> None:
        """Give the element other indices, in place."""
        inside = index[0] if len(index) == 1 else at(ast.Tuple(list(index), ast.Load()), self.name)
        if isinstance(self.node, ast.Subscript):
            self.node.slice = inside
        else:
            self.node.args[1] = inside

    def elsewhere(self, array: str, *index: ast.expr) -> ast.expr:
        """The same use of an element of another array."""
        made = at(element(array, *index, store=self.stores), self.node)
        if isinstance(self.node, ast.Subscript):
            return made
        call = copy.deepcopy(self.node)
        call.args[:2] = [made.value, made.slice]
        return call


@dataclass(frozen=True, slots=True)
class Uses:
    """Finds the uses of an array and its views, which have these names, in the trees of a function."""

    source: FunctionSource
    arrays: Collection[str]

    def use(self, node: ast.AST) -> Use | None:
        """The use that a node is, None for all others."""
        name: ast.AST | None = None
        if isinstance(node, ast.Subscript):
            name = node.value
        elif isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
            name = node.args[0] if id(self.source.resolve(node.func)) in ATOMICS else None
        if not isinstance(node, ast.Subscript | ast.Call) or not isinstance(name, ast.Name):
            return None
        return Use(node, name) if name.id in self.arrays else None

    def of(self, *nodes: ast.AST) -> Iterator[Use]:
        """All uses in trees."""
        found = (self.use(inner) for node in nodes for inner in ast.walk(node))
        return (use for use in found if use is not None)

    def changed(self, node: Node, change: Callable[[Use, Use], ast.expr]) -> Node:
        """A copy of a tree with something else for each use; change: makes it of the use and its copy, in whose
        indices all has been changed.
        """
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(made, name, self.changed(value, change))
            elif isinstance(value, list):
                setattr(made, name, [self.changed(v, change) if isinstance(v, ast.AST) else v for v in value])
        use, inner = self.use(node), self.use(made)
        return made if use is None or inner is None else change(use, inner)  # type: ignore[return-value]


def elements_only(source: FunctionSource, tree: ast.FunctionDef, arrays: Mapping[str, int]) -> None:
    """Write all uses as elements with all their indices, in place: `tile[i][j]` becomes `tile[i, j]`. Rows, slices and
    other names for an array are refused. arrays: by name of the array and its views, the number of indices.
    """
    followed: set[ast.AST] = set()  # names in uses, and in definitions of views
    for node in ast.walk(tree):
        while isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript) and _root(node) in arrays:
            index = [*_items(node.value.slice), *_items(node.slice)]
            node.value, node.slice = node.value.value, at(ast.Tuple(index, ast.Load()), node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            followed.add(node.func.value)
    for use in list(Uses(source, arrays).of(tree)):
        use.put(*use.index)
        if len(use.index) == arrays[use.array] and not any(isinstance(i, ast.Slice | ast.Starred) for i in use.index):
            followed.add(use.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in arrays and node not in followed:
            many = f"{arrays[node.id]} indices" if arrays[node.id] > 1 else "its index"
            raise refuse(source, node, f"a divided array is used by its elements alone: {node.id}[...] with {many}")


def _root(node: ast.expr) -> str | None:
    """The name in front of all indices."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _items(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]
