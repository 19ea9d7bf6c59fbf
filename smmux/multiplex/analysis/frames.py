"""The state of a walk over a kernel: what it has found out so far, and where it is."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from smmux.language.types import Scalar
from smmux.multiplex.analysis.accesses import Block, Event, Piece, Touch
from smmux.multiplex.analysis.facts import Array, Condition, Fact, Scope, Site, join, trips, value_of
from smmux.multiplex.analysis.unmet import Cause, Reason
from smmux.rewriting.refusals import refuse
from smmux.source.function_source import FunctionSource

Rule = TypeVar("Rule", bound=Callable[..., Any])
LOAD, STORE = False, True
Path = tuple[ast.Call, ...]  # the calls that lead to a function

RULES: dict[type[ast.AST], Callable[..., Any]] = {}
"""The rule for each class of syntax node: for an expression it returns a fact, for a statement it records what it does.
"""


def rule(*nodes: type[ast.AST]) -> Callable[[Rule], Rule]:
    """Register the rule for expressions, (frame, node), or for statements, (frame, node, piece), of these classes."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(nodes, function))
        return function

    return register


@dataclass
class Analysis:
    """What is known of a kernel: its statements with what they do, its arrays, and facts of its variables."""

    source: FunctionSource
    tree: ast.FunctionDef
    apart: frozenset[str] = frozenset()  # names of shared arrays without regions: every virtual block has its own
    body: Block = field(default_factory=lambda: Block([]))
    arrays: dict[tuple[str, ast.AST | str], Array] = field(default_factory=dict)
    scopes: dict[Path, Scope] = field(default_factory=dict)  # functions, by the calls that lead to them
    stored: set[Array] = field(default_factory=set)  # those that the kernel stores to
    unquiet: set[tuple[Scope, ast.AST]] = field(default_factory=set)  # loads whose element may be stored to meanwhile
    shortened: set[tuple[ast.stmt, str]] = field(default_factory=set)  # loops that some threads cut short, and how
    changed: bool = False  # this walk has found something new

    @property
    def shared(self) -> list[Array]:
        """Shared arrays in the order of their declaration."""
        return [array for array in self.arrays.values() if array.space == "shared"]

    def array(self, space: str, name: str, node: ast.AST, key: ast.AST | str, source: FunctionSource) -> Array:
        """The array of a declaration or parameter."""
        return self.arrays.setdefault((space, key), Array(space, name, node, source))

    def add(self, known: set[Any], item: Any) -> None:
        """Remember something that holds from now on, in all further walks too."""
        self.changed |= item not in known
        known.add(item)

    # -- questions about expressions, once the kernel has been analysed

    def fact(self, node: ast.expr, scope: Scope | None = None) -> Fact:
        """What is known of an expression, in the kernel or in a function that it calls."""
        return Frame(self, scope or self.scopes[()]).eval(node)

    def integer(self, node: ast.expr, scope: Scope | None = None) -> int | None:
        """The value of a constant integer expression, None for all others."""
        value = self.fact(node, scope).const
        return value if type(value) is int else None

    def trips(self, loop: ast.AST, scope: Scope | None = None) -> range | None:
        """The values that the counter of a loop over a constant range takes; None where they are not known."""
        return trips((scope or self).source, loop, lambda node: self.integer(node, scope))

    def variable(self, name: str) -> Fact | None:
        """What is known of a variable of the kernel."""
        return self.scopes[()].facts.get(name)

    def variables(self) -> Iterable[tuple[str, Fact]]:
        """All variables of the kernel, with what is known of them."""
        return self.scopes[()].facts.items()

    def accesses(self, node: ast.expr) -> list[Event]:
        """What an expression of the kernel does to memory."""
        frame = Frame(self, self.scopes[()])
        frame.eval(node)
        return frame.out


class Frame:
    """A function on a walk.

    out: what the statement at hand has done so far. loops: those around, with their functions and the number of reasons
    there were outside. reasons: why some threads may not get here.
    """

    def __init__(self, analysis: Analysis, scope: Scope, path: Path = (), caller: Frame | None = None) -> None:
        self.analysis, self.scope, self.path, self.caller = analysis, scope, path, caller
        self.source = scope.source
        self.out: list[Event] = []
        self.loops: list[tuple[Scope, ast.stmt, int]] = list(caller.loops) if caller else []
        self.reasons: list[Reason] = list(caller.reasons) if caller else []
        self.conditions: list[Condition] = list(caller.conditions) if caller else []
        self.names: dict[ast.AST, str] = {}  # of what calls are assigned to
        self.result: Fact | None = None
        self.statement: ast.stmt | None = None

    def eval(self, node: ast.expr) -> Fact:
        """What is known of an expression; its accesses and barriers become events."""
        return RULES.get(type(node), RULES[ast.expr])(self, node)  # type: ignore[no-any-return]

    def block(self, body: list[ast.stmt]) -> Block:
        """Walk over a statement list."""
        block = Block(body)
        depth = len(self.reasons)
        for node in body:
            piece, self.statement = Piece(node), node
            with self.aside() as piece.events:
                RULES.get(type(node), RULES[ast.stmt])(self, node, piece)
            block.pieces.append(piece)
            if self.scope.left_early and len(self.reasons) == depth:
                self.reasons.append(Reason(node, self.source, Cause.RETURN))
        del self.reasons[depth:]
        return block

    def assign(self, name: str, fact: Fact) -> None:
        """Define a variable; if only some threads get here, it then differs between threads."""
        if self.reasons and fact.uniform:
            fact = Fact(False, fact.arrays, items=fact.items, rank=fact.rank)
        self.widen(name, fact)

    def widen(self, name: str, fact: Fact) -> None:
        """Widen what is known of a variable, so that it covers this fact too."""
        before = self.scope.facts.get(name)
        after = join(before, fact)
        if after != before:
            self.scope.facts[name] = after
            self.analysis.changed = True

    def bind(self, target: ast.expr, fact: Fact) -> None:
        """Assignment to a name, an element or a tuple of these."""
        if isinstance(target, ast.Name):
            self.assign(target.id, fact)
        elif isinstance(target, ast.Subscript):
            self.element(target, STORE)
        elif isinstance(target, ast.Tuple | ast.List):
            if fact.items is None and fact.shared:
                self.contents(fact, target)
            fits = fact.items is not None and len(fact.items) == len(target.elts)
            items = fact.items if fits and fact.items else [Fact(fact.uniform)] * len(target.elts)
            for item, value in zip(target.elts, items, strict=True):
                self.bind(item, value)
        elif isinstance(target, ast.Attribute) and (record := self.eval(target.value)).arrays:
            self.parts(record, target, LOAD, STORE)  # the rest of the record stays
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Fact(fact.uniform))
        else:
            raise refuse(self.source, target, "only names, elements, their fields and tuples of these can be assigned")

    def element(self, node: ast.Subscript, *writes: bool) -> Fact:
        """An element: LOAD, STORE, or one after the other."""
        base, index = self.eval(node.value), self.eval(node.slice)
        uniform = base.uniform and index.uniform
        if base.items is not None and not base.arrays:
            position = index.const
            if isinstance(position, int) and 0 <= position < len(base.items):
                return base.items[position]
            return Fact(uniform and all(i.uniform for i in base.items))
        rank = self.rank_behind(base.rank, node.slice)
        if rank != 0 and writes == (LOAD,) and (rank or _sliced(node.slice)):
            return Fact(uniform, base.arrays, rank=rank)  # a row or a part: nothing is loaded yet
        arrays = sorted(base.arrays, key=lambda a: (a.space, a.name))
        for write, array in itertools.product(writes, arrays):
            uniform &= self.touch(array, node, write)
        return Fact(uniform, base.arrays, rank=rank)

    def variable(self, name: str) -> bool:
        """Whether a name is one of the function's variables, or of those that passes have added."""
        return name in self.source.locals or name in self.scope.facts

    def rank_behind(self, rank: int | None, index: ast.expr) -> int | None:
        """The axes that an index leaves; None if that is not known."""
        items = _indices(index)
        if rank is None or not all(isinstance(i, ast.Slice) or self.single(i) for i in items):
            return 0 if rank is not None and len(items) >= rank else None
        return max(0, rank - sum(not isinstance(i, ast.Slice) for i in items))

    def single(self, node: ast.expr) -> bool:
        """Whether an index is certainly one number, and no tuple of them."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int)
        if isinstance(node, ast.Name):
            stores = self.scope.stores.get(node.id, [])
            values = [value_of(store, node.id) for store in stores]
            counted = [isinstance(store, ast.For) and isinstance(store.target, ast.Name) for store in stores]
            return bool(stores) and all(
                counter or value is not None and not isinstance(value, ast.Name | ast.Tuple) and self.single(value)
                for counter, value in zip(counted, values, strict=True)
            )
        if isinstance(node, ast.Call):
            return isinstance(self.eval(node.func).const, Scalar)
        return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Attribute)

    def parts(self, fact: Fact, node: ast.AST, *writes: bool) -> None:
        """Fields of what can be a record of an array, loaded or stored to."""
        arrays = sorted(fact.arrays, key=lambda a: (a.space, a.name))
        for write, array in itertools.product(writes, arrays):
            self.touch(array, node, write)

    def contents(self, fact: Fact, node: ast.AST, *writes: bool) -> bool:
        """Record that an array is loaded, or otherwise used, as a whole; True if all threads get the same."""
        arrays = sorted(fact.arrays, key=lambda a: (a.space, a.name)) if fact.array else []
        touched = [self.touch(array, node, write) for write in writes or (LOAD,) for array in arrays]
        return fact.uniform and all(touched)

    def touch(self, array: Array, node: ast.AST, write: bool) -> bool:
        """An access to an array; True if equal indices give equal values in all threads of a block."""
        if array.space in ("shared", "private", "global"):
            loops = tuple((scope, loop) for scope, loop, _ in self.loops)
            site = Site(self.scope, self.statement, loops, tuple(self.conditions), bool(self.reasons))
            self.out.append(Touch(array, write, node, site))
        if write:
            self.analysis.add(self.analysis.stored, array)
        if array.space in ("shared", "private"):
            return (self.scope, node) not in self.analysis.unquiet
        return array.space == "const" or array.space == "global" and array not in self.analysis.stored

    @contextmanager
    def aside(self) -> Iterator[list[Event]]:
        """Within: what happens goes to a list of its own."""
        outer, self.out = self.out, []
        yield self.out
        self.out = outer

    @contextmanager
    def under(self, test: ast.expr | None, side: bool) -> Iterator[None]:
        """Within: a condition is, or is not, true."""
        self.conditions.append(Condition(self.scope, test, side))
        yield
        self.conditions.pop()

    @contextmanager
    def diverging(self, node: ast.AST, differs: bool, why: Cause) -> Iterator[None]:
        """Within: only some threads of a block execute, if `differs`."""
        depth = len(self.reasons)
        if differs:
            self.reasons.append(Reason(node, self.source, why))
        yield
        del self.reasons[depth:]


def _indices(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _sliced(index: ast.expr) -> bool:
    """Whether an index certainly leaves an axis."""
    return any(isinstance(i, ast.Slice) or isinstance(i, ast.Constant) and i.value is ... for i in _indices(index))


def _integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
