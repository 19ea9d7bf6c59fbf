"""Finds and rewrites the uses of an array's elements: `array[index]`, or `add(array, index, value)` for an atomic
operation.

Before an array is divided, all uses are written with all their indices, and the one by which it is divided is put in
front. Some kernels interleave rows: word k of a lane of StoreGPU's messages is at `first + 32 * k`, where `first` steps
over the 512 words of each warp. Such an array becomes `array[k, slot]`, with a slot per `first`; the bytes are the
same, in another order.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from smmux.base.parsing import expression
from smmux.base.trees import copied, walk
from smmux.multiplex.analysis.facts import Linear, assignments, linear, single_values, value_of
from smmux.multiplex.analysis.scalars import assigned
from smmux.multiplex.analysis.threads import UnknownError, per_thread
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.rewriting.build import at, behind, element, lists, names_in, renamed, substitute
from smmux.rewriting.draft import Names
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import ATOMICS, acts
from smmux.source.function_source import FunctionSource

Node = TypeVar("Node", bound=ast.AST)
Bounds = Mapping[str, tuple[int, int]]


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
        call = copied(self.node)
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
        found = (self.use(inner) for node in nodes for inner in walk(node))
        return (use for use in found if use is not None)

    def changed(self, node: Node, change: Callable[[Use, Use], ast.expr]) -> Node:
        """Copy a tree, replacing each use. change: makes the replacement from the use and its copy, whose indices have
        been replaced already.
        """
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(made, name, self.changed(value, change))
            elif isinstance(value, list):
                setattr(made, name, [self.changed(v, change) if isinstance(v, ast.AST) else v for v in value])
        use, inner = self.use(node), self.use(made)
        return made if use is None or inner is None else change(use, inner)  # type: ignore[return-value]


def without_extents(source: FunctionSource, tree: ast.FunctionDef, array: str, shape: tuple[int, ...]) -> None:
    """Write the numbers for an array's shape, size and axes, and for its length, in place."""
    for node in list(walk(tree)):
        value: Any = None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == array:
            value = {"shape": shape, "size": math.prod(shape), "ndim": len(shape)}.get(node.attr)
        elif isinstance(node, ast.Call) and source.resolve(node.func) is len and len(node.args) == 1:
            value = shape[0] if ast.unparse(node.args[0]) == array else None
        if value is not None:
            substitute(tree, node, at(expression(repr(value)), node))


def without_row(analysis: Analysis, tree: ast.FunctionDef, arrays: Collection[str]) -> bool:
    """Write one row of arrays, or another name for one, where it is used, in place: `row = tile[1]` and `row[t]` become
    `tile[1][t]`. False if there is none.
    """
    for name, value in single_values(analysis.source, tree).items():
        row = isinstance(value, ast.Name | ast.Subscript) and _root(value) in arrays and name not in arrays
        if not row or not analysis.fact(value).rank or any(isinstance(n, ast.Slice) for n in walk(value)):
            continue
        plain = (node for node in walk(tree) if isinstance(node, ast.Assign) and len(node.targets) == 1)
        if (definition := next((node for node in plain if node.value is value), None)) is None:
            continue
        around = (body for outer in walk(tree) if isinstance(outer, ast.stmt) for body in lists(outer))
        body = next(body for body in around if definition in body)
        body[body.index(definition)] = at(ast.Pass(), definition)
        renamed(tree, {name: value})
        return True
    return False


def elements_only(source: FunctionSource, tree: ast.FunctionDef, arrays: Mapping[str, int]) -> None:
    """Write all uses as elements with all their indices, in place: `tile[i][j]` becomes `tile[i, j]`. Rows, slices and
    other names for an array are refused. arrays: by name of the array and its views, the number of indices.
    """
    followed: set[ast.AST] = set()  # names in uses, and in definitions of views
    for node in walk(tree):
        while isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript) and _root(node) in arrays:
            index = [*_items(node.value.slice), *_items(node.slice)]
            node.value, node.slice = node.value.value, at(ast.Tuple(index, ast.Load()), node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            followed.add(node.func.value)
    for use in list(Uses(source, arrays).of(tree)):
        use.put(*use.index)
        if len(use.index) == arrays[use.array] and all(map(_number, use.index)):
            followed.add(use.name)
    for node in walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in arrays and node not in followed:
            many = f"{arrays[node.id]} indices" if arrays[node.id] > 1 else "its index"
            raise refuse(source, node, f"a divided array is used by its elements alone: {node.id}[...] with {many}")


def acting_first(analysis: Analysis, names: Names, tree: ast.AST, arrays: Collection[str]) -> None:
    """Move indices with side effects, as in `queue[add(length, 0, 1)] = x`, to statements in front, in place, since a
    divided array evaluates an index several times.
    """
    source = analysis.source
    uses = Uses(source, arrays)
    for body in [body for outer in walk(tree) if isinstance(outer, ast.stmt) for body in lists(outer)]:
        for node in list(body):
            parts = [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.stmt)]
            inside = [n for part in parts for n in walk(part) if isinstance(n, ast.expr)]
            indices = [(use, n) for use in uses.of(*parts) for index in use.index for n in walk(index)]
            acting = [(use, n) for use, n in indices if isinstance(n, ast.Call) and acts(source, n)]
            if not acting:
                continue
            use, call = acting[0]
            alone = [n for n in inside if acts(source, n)] == [call] and isinstance(node, ast.Assign | ast.Expr)
            others = [n for n in inside if n not in set(walk(call)) and n is not use.node]
            if not alone or any(_matters(analysis, call, n) for n in others):
                why = "an index of a divided array is evaluated several times; assign what this call returns first"
                raise refuse(source, call, why)
            name = names.new("place", "index")
            body.insert(body.index(node), at(ast.Assign([ast.Name(name, ast.Store())], call), node))
            substitute(use.node, call, at(ast.Name(name, ast.Load()), node))


def _matters(analysis: Analysis, call: ast.Call, node: ast.expr) -> bool:
    """Whether it matters that a part of an expression is evaluated in front of a call, and not behind it."""
    if isinstance(node, ast.IfExp | ast.BoolOp) or isinstance(node, ast.Compare) and len(node.ops) > 1:
        return True
    atomic = id(analysis.source.resolve(call.func)) in ATOMICS
    changed = analysis.fact(call.args[0]).arrays if atomic else frozenset()
    return isinstance(node, ast.Subscript) and (not changed or bool(analysis.fact(node.value).arrays & changed))


def _number(index: ast.expr) -> bool:
    """Whether an index can be a number: no slice, no `...`, no field of a record."""
    return not isinstance(index, ast.Slice | ast.Starred) and not (
        isinstance(index, ast.Constant) and not isinstance(index.value, int)
    )


def _root(node: ast.expr) -> str | None:
    """The name in front of all indices."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _items(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


@dataclass
class Layout:
    """How rows are interleaved.

    views: elements per element of the array, by name of the array and of its views. stride: elements between rows.
    base, slot: the variable where a thread's elements begin, and the one that takes its place; found on the way.
    """

    analysis: Analysis
    names: Names
    views: Mapping[str, int]
    rows: int
    stride: int
    base: str = ""
    slot: str = ""
    served: set[str] = field(default_factory=set)  # variables whose expressions took their place in an index

    def put_rows_first(self, tree: ast.FunctionDef) -> None:
        """Rewrite all accesses, in place; raises `MultiplexError` for one whose row cannot be told."""
        self.block(tree.body, {}, {})
        self.declare_slot(tree)
        _drop_unused(tree, self.served)

    def block(self, body: list[ast.stmt], defined: dict[str, ast.expr], counters: Bounds) -> None:
        """Rewrite statements. defined: the expressions that variables stand for; counters: bounds of those of loops."""
        source = self.analysis.source
        for node in body:
            changed = assigned(source, [node])
            kept = {n: v for n, v in defined.items() if not ({n} | names_in(v)) & changed}
            around, counted = defined, counters
            if isinstance(node, ast.For | ast.While):  # what one iteration changes, the next one finds changed
                around, counted = kept, {n: ends for n, ends in counters.items() if n not in changed}
            if isinstance(node, ast.For) and (over := self.analysis.trips(node)):
                names = names_in(node.target) - assigned(source, node.body)
                counted = {**counted, **dict.fromkeys(names, (min(over), max(over)))}
            for field_, part in ast.iter_fields(node):
                inner = counted if field_ != "orelse" else {n: e for n, e in counted.items() if n not in changed}
                if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                    self.block(part, dict(around), inner)
                    continue
                nodes = [n for n in (part if isinstance(part, list) else [part]) if isinstance(n, ast.AST)]
                for use in list(Uses(source, self.views).of(*nodes)):
                    self.rewrite(use, around, inner)
            defined, counters = kept, {n: ends for n, ends in counters.items() if n not in changed}
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Name | ast.Constant):
                target, *others = node.targets
                if isinstance(target, ast.Name) and not others and target.id not in names_in(node.value):
                    defined[target.id] = node.value

    def forms(self, index: ast.expr, defined: Mapping[str, ast.expr]) -> Iterator[tuple[Linear, set[str]]]:
        """An index with ever more variables replaced by what they stand for, and which ones were."""
        form, replaced = linear(index, self.analysis.integer), set[str]()
        yield form, replaced
        while inner := [t for t in form.terms if t in defined]:
            replaced = replaced | {*inner}
            rest = Linear({t: f for t, f in form.terms.items() if t not in inner}, form.constant)
            form = sum((linear(defined[t], self.analysis.integer).times(form.terms[t]) for t in inner), rest)
            yield form, replaced

    def rewrite(self, use: Use, defined: Mapping[str, ast.expr], counters: Bounds) -> None:
        """array[base + stride * row + rest] becomes array[row, slot + rest]."""
        ratio = self.views[use.array]
        step = self.stride * ratio
        found = None
        for form, replaced in self.forms(use.index[0], defined):
            row = Linear({t: f // step for t, f in form.terms.items() if f % step == 0 and t in counters})
            rest = {t: f for t, f in form.terms.items() if t not in row.terms}
            if list(rest.values()) == [ratio] and form.constant % step < ratio:
                found = next(iter(rest)), row + Linear({}, form.constant // step), form.constant % step, replaced
        if found is None:
            why = f"no row can be told in this index: it is not one variable plus {step} times a counter or a constant"
            raise refuse(self.analysis.source, use.node, why)
        base, row, constant, replaced = found
        if not self.slot:
            self.base, self.slot = base, self.names.new("slot", f"{use.array}_slot")
        elif self.base != base:
            why = f"the rows begin at {self.base!r} elsewhere and at {base!r} here"
            raise refuse(self.analysis.source, use.node, why)
        low, high = row.bounds(counters) or (0, 0)
        if low < 0 or high >= self.rows:
            first = low if low < 0 else high
            raise refuse(
                self.analysis.source, use.node, f"row {first} is used here, and there are rows 0 to {self.rows - 1}"
            )
        self.served |= replaced
        use.put(row.node(), Linear({self.slot: ratio}, constant).node())

    def declare_slot(self, tree: ast.FunctionDef) -> None:
        """`slot = ...` behind the definition of the base, which is checked for all threads a block can have."""
        period = self.rows * self.stride
        text = f"{self.base} // {period} * {self.stride} + {self.base} % {self.stride}"
        base, *others = assignments(tree).get(self.base, [None])
        if not isinstance(base, ast.Assign) or value_of(base, self.base) is None:
            raise refuse(self.analysis.source, base, f"{self.base!r} has no definition in the kernel")
        if others:
            raise refuse(
                self.analysis.source, others[0], f"{self.base!r}, where rows begin, has a second definition here"
            )
        self.check_base(base)
        behind(tree, base, ast.Assign([ast.Name(self.slot, ast.Store())], expression(text)))

    def check_base(self, node: ast.Assign) -> None:
        """Refuse a base that is not in row 0 in every thread."""
        source = self.analysis.source
        try:
            rows = per_thread(self.analysis, node.value) // self.stride % self.rows
        except UnknownError as reason:
            why = f"{self.base!r} cannot be computed from threadIdx.x alone, so its row is not known: {reason}"
            raise refuse(source, node, why) from None
        if rows.any():
            raise refuse(source, node, f"{self.base!r} is not in row 0 in thread {int(rows.astype(bool).argmax())}")


def _drop_unused(tree: ast.FunctionDef, served: Collection[str]) -> None:
    """Take out definitions that only served indices."""
    used = {n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for node in walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not (isinstance(s, ast.Assign) and names_in(*s.targets) <= set(served) - used)]
            body[:] = kept or body
