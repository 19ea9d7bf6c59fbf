"""What is known before a kernel runs: facts of expressions, arrays, places in a program, and integers.

What is known of integers are trips of loops, single values and linear forms. What a name stands for is the caller's
business there: a function `constant` gives the value of a compile-time constant, such as `Analysis.integer`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smmux.base.parsing import expression
from smmux.base.trees import walk
from smmux.rewriting.build import names_in
from smmux.source.constants import number
from smmux.source.function_source import MISSING, FunctionSource

Constant = Callable[[ast.expr], int | None]


@dataclass(frozen=True, eq=False, slots=True)
class Array:
    """A shared array at its declaration, or an array parameter of the kernel, or a per-thread or constant array."""

    space: str  # "shared", "private" (a shared one that is apart, see `Analysis`), "global", "local" or "const"
    name: str
    node: ast.AST
    source: FunctionSource


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """What an expression can be."""

    uniform: bool  # the same in all threads of a block
    arrays: frozenset[Array] = frozenset()  # those it can be, or be a row or view of
    const: Any = MISSING  # its value, or the captured object that it is
    items: tuple[Fact, ...] | None = None  # of a tuple
    rank: int | None = None  # of an array, 0 for an element; None if it is not known

    def __eq__(self, other: object) -> bool:
        """Whether two facts say the same; objects are the same if they are one, whatever they think of each other."""
        return isinstance(other, Fact) and (
            (self.uniform, self.arrays, self.items, self.rank) == (other.uniform, other.arrays, other.items, other.rank)
            and same(self.const, other.const)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def array(self) -> bool:
        """Whether it can be an array, and not only an element."""
        return bool(self.arrays) and self.rank != 0

    @property
    def shared(self) -> bool:
        """Whether it can be an array of shared memory."""
        return self.array and any(array.space in ("shared", "private") for array in self.arrays)


UNIFORM = Fact(True)
VARYING = Fact(False)


def same(a: Any, b: Any) -> bool:
    """Whether two constants are one object, or the same number or text."""
    return a is b or (type(a) is type(b) and (number(a) or type(a) is str) and repr(a) == repr(b))


def known(value: Any) -> Fact:
    """A compile-time constant."""
    items = tuple(known(item) for item in value) if isinstance(value, tuple) else None
    return Fact(True, const=value, items=items)


def join(a: Fact | None, b: Fact) -> Fact:
    """What covers both."""
    if a is None or a == b:
        return b
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
    rank = a.rank if a.rank == b.rank or not b.arrays else b.rank if not a.arrays else None
    return Fact(
        a.uniform and b.uniform, a.arrays | b.arrays, a.const if same(a.const, b.const) else MISSING, items, rank
    )


# -- places in a program


@dataclass(eq=False)
class Scope:
    """A function as it is called from one place; the kernel has no caller and no call."""

    source: FunctionSource
    tree: ast.FunctionDef
    caller: Scope | None = None
    call: ast.Call | None = None
    facts: dict[str, Fact] = field(default_factory=dict)  # what is known of each variable
    left_early: bool = False  # some threads return from it before others do

    @cached_property
    def stores(self) -> dict[str, list[ast.AST]]:
        """The nodes that assign each variable."""
        return assignments(self.tree)

    def argument(self, name: str) -> ast.expr | None:
        """The expression that the call gives a parameter which the function does not change."""
        if self.call is None or name in self.stores:
            return None
        given = dict(zip(self.source.parameters, self.call.args, strict=False))
        given |= {k.arg: k.value for k in self.call.keywords if k.arg is not None}
        return given.get(name)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under which something is executed, and its side."""

    scope: Scope
    test: ast.expr | None  # None for one that no expression tells
    side: bool


@dataclass(frozen=True, slots=True)
class Site:
    """The place of an access in the program."""

    scope: Scope
    statement: ast.stmt | None
    loops: tuple[tuple[Scope, ast.stmt], ...]  # those around it, with their functions, outermost first
    conditions: tuple[Condition, ...]
    divergent: bool  # some threads of a block may not get there


# -- integers: loops over ranges, variables that are assigned once, linear forms


def range_bounds(source: FunctionSource, loop: ast.AST) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Start, stop and step of a loop `for name in range(...)`; None for any other statement."""
    if not (isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)):
        return None
    arguments = loop.iter.args
    if source.resolve(loop.iter.func) is not range or loop.iter.keywords or not 1 <= len(arguments) <= 3:
        return None
    start, stop = (ast.Constant(0), arguments[0]) if len(arguments) == 1 else (arguments[0], arguments[1])
    return start, stop, arguments[2] if len(arguments) == 3 else ast.Constant(1)


def trips(source: FunctionSource, loop: ast.AST, constant: Constant) -> range | None:
    """The values that the counter of a loop over a constant range takes; None where they are not known."""
    values = [value for bound in range_bounds(source, loop) or () if (value := constant(bound)) is not None]
    return range(*values) if len(values) == 3 and values[2] else None


def constant(source: FunctionSource, node: ast.expr) -> int | None:
    """The value of a literal or captured integer, None for all other expressions."""
    value = node.value if isinstance(node, ast.Constant) else source.resolve(node)
    return value if type(value) is int else None


def assignments(tree: ast.AST) -> dict[str, list[ast.AST]]:
    """The nodes that assign each variable of a function."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    for node in walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inside = [n for target in targets for n in walk(target) if isinstance(n, ast.Name)]
            for name in dict.fromkeys(n.id for n in inside if isinstance(n.ctx, ast.Store)):
                found[name].append(node)
    return dict(found)


def value_of(store: ast.AST, name: str) -> ast.expr | None:
    """The expression that a plain assignment gives a variable."""
    if not isinstance(store, ast.Assign):
        return None
    for target in store.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return store.value
        if isinstance(target, ast.Tuple) and isinstance(store.value, ast.Tuple):
            both = zip(target.elts, store.value.elts, strict=False)
            if len(target.elts) == len(store.value.elts):
                return next((v for t, v in both if isinstance(t, ast.Name) and t.id == name), None)
    return None


def single_values(source: FunctionSource, tree: ast.AST) -> dict[str, ast.expr]:
    """Find the variables that a function assigns exactly once, plainly, and the expression that each is assigned.

    An expression that uses a variable with several assignments may mean different values, and is left out.
    """
    stores = assignments(tree)
    once = {name: value_of(nodes[0], name) for name, nodes in stores.items() if len(nodes) == 1}
    changing = stores.keys() - once.keys()
    own = ((name, value) for name, value in once.items() if value is not None and name not in source.parameters)
    return {name: value for name, value in own if not names_in(value) & changing}


@dataclass(frozen=True)
class Linear:
    """A sum of terms: text of an expression -> its integer factor, and a constant."""

    terms: Mapping[str, int]
    constant: int = 0

    def __add__(self, other: Linear) -> Linear:
        terms = {text: self.terms.get(text, 0) + other.terms.get(text, 0) for text in [*self.terms, *other.terms]}
        return Linear({t: f for t, f in terms.items() if f}, self.constant + other.constant)

    def times(self, factor: int) -> Linear:
        """The sum, every term multiplied."""
        return Linear({t: factor * f for t, f in self.terms.items() if factor}, factor * self.constant)

    def bounds(self, known: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
        """Least and greatest value, if all terms are bounded."""
        low = high = self.constant
        for text, factor in self.terms.items():
            if text not in known:
                return None
            ends = [factor * end for end in known[text]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def node(self) -> ast.expr:
        """The sum as a person would write it: terms, then the constant."""
        total: ast.expr | None = None
        for text, factor in self.terms.items():
            total = _plus(total, expression(text), factor)
        return _plus(total, None, self.constant) if self.constant or total is None else total


def _plus(total: ast.expr | None, term: ast.expr | None, factor: int) -> ast.expr:
    """Build total + factor * term, or total + factor, as a tree, so that the printer sets parentheses."""
    size = abs(factor) if total is not None else factor
    if term is None:
        part: ast.expr = ast.Constant(size)
    elif abs(size) == 1:
        part = term if size > 0 else ast.UnaryOp(ast.USub(), term)
    else:
        part = ast.BinOp(ast.Constant(size), ast.Mult(), term)
    return part if total is None else ast.BinOp(total, ast.Add() if factor > 0 else ast.Sub(), part)


def linear(node: ast.expr, constant: Constant, defined: Mapping[str, ast.expr] | None = None) -> Linear:
    """The linear form of an expression.

    constant: the value of an expression that is a compile-time constant. defined: expressions that names stand for.
    """
    if (value := constant(node)) is not None:
        return Linear({}, value)
    if isinstance(node, ast.Name) and defined and node.id in defined:
        return linear(defined[node.id], constant, defined)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return linear(node.operand, constant, defined).times(-1)
    if isinstance(node, ast.BinOp):
        a, b = (linear(side, constant, defined) for side in (node.left, node.right))
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a + b.times(-1)
        if isinstance(node.op, ast.Mult) and not (a.terms and b.terms):
            return a.times(b.constant) if not b.terms else b.times(a.constant)
    return Linear({ast.unparse(node): 1})
