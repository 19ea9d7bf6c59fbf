"""Facts of expressions: arithmetic, accesses, calls."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from smmux import cuda, smm
from smmux.compiler.frontend.source import MISSING as UNRESOLVED
from smmux.compiler.frontend.source import FunctionSource
from smmux.language import Attribute, Dim3
from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called, Event, Touch
from smmux.multiplex.analysis.facts import CONSTANT_OPERATIONS, MISSING, UNIFORM, VARYING, Array, Fact, join, known
from smmux.multiplex.analysis.redefines import UNLIKE, Access, Define, Held, Open, beyond, key_of
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import ATOMICS, BARRIERS

if TYPE_CHECKING:
    from smmux.multiplex.analysis.uniformity import Analysis, Frame

__all__ = ["Expressions"]

VARYING_CALLS = (
    cuda.grid, cuda.shfl_sync, cuda.shfl_up_sync, cuda.shfl_down_sync, cuda.shfl_xor_sync, cuda.all_sync, cuda.any_sync,
    cuda.eq_sync, cuda.ballot_sync, cuda.activemask,
)  # fmt: skip
MANAGED = {f: f"smm.{f.__name__}" for f in (smm.alloc, smm.release, smm.isolate, smm.array)}
MAX_DEPTH = 64


class Expressions:
    """The part of a walk that deals with expressions."""

    analysis: Analysis
    source: FunctionSource
    path: tuple[int, ...]
    caller: Frame | None
    env: dict[str, Fact]
    targets: dict[ast.AST, str]
    out: list[Event]
    read: set[Array]
    unread: set[Array]
    defining: Open
    held: Held
    conditions: list[tuple[ast.expr, bool]]
    reasons: list[tuple[ast.AST, FunctionSource, str]]
    result: Fact | None
    at: ast.stmt | None

    def eval(self, node: ast.expr) -> Fact:
        """Facts of an expression; its accesses and barriers become events."""
        if isinstance(node, ast.Constant):
            return known(node.value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.access(node, write=False)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.IfExp):
            return self.choice(node)
        if isinstance(node, ast.Tuple | ast.List):
            items = tuple(self.eval(item) for item in node.elts)
            return Fact(all(i.uniform for i in items), frozenset().union(*(i.arrays for i in items)), items=items)
        if isinstance(node, ast.NamedExpr):
            frame: Any = self
            fact = self.eval(node.value)
            frame.bind(node.target, fact)
            return fact
        if isinstance(node, ast.BoolOp):
            return self.joined(node)
        return self.operation(node)

    def joined(self, node: ast.BoolOp) -> Fact:
        """a and b, a or b: what comes later is evaluated under conditions."""
        facts = [self.eval(node.values[0])]
        for before, value in itertools.pairwise(node.values):
            outer, self.out = self.out, []
            self.conditions.append((before, isinstance(node.op, ast.And)))
            facts.append(self.eval(value))
            later, self.out = self.out, outer
            if later:
                self.out = [*self.out, Alternatives((later, []))]
        del self.conditions[len(self.conditions) - len(node.values) + 1 :]
        return Fact(all(f.uniform for f in facts))

    def operation(self, node: ast.expr) -> Fact:
        """Operators: constants are computed, all else is uniform if the operands are."""
        operands = [self.eval(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        kind: ast.AST | None = getattr(node, "op", None)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            kind = node.ops[0]
        compute = CONSTANT_OPERATIONS.get(type(kind)) if kind is not None else None
        values = [o.const for o in operands]
        if compute is not None and all(isinstance(v, int | float) for v in values):
            try:
                return known(compute(*values))
            except (ArithmeticError, TypeError, ValueError):
                return UNIFORM
        return Fact(all(o.uniform for o in operands))

    def name(self, node: ast.Name) -> Fact:
        """A variable, or a captured object."""
        if node.id in self.source.locals or node.id in self.env:
            return self.env.get(node.id, UNIFORM)
        return self.captured(node)

    def captured(self, node: ast.expr) -> Fact:
        """An object from outside the kernel."""
        value = self.source.resolve(node)
        if isinstance(value, Dim3 | Attribute):
            return Fact(value.name not in ("threadIdx", "laneid"), const=value)
        return UNIFORM if value is UNRESOLVED else known(value) if isinstance(value, tuple) else Fact(True, const=value)

    def attribute(self, node: ast.Attribute) -> Fact:
        """A captured object, threadIdx.x and its like, or the shape of an array."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.source.locals:
            value = self.source.resolve(node)
            if value is not UNRESOLVED:
                return self.captured(node)
            return Fact(self.eval(node.value).uniform)
        owner = self.eval(node.value)
        if node.attr == "T":
            return owner
        return UNIFORM if owner.arrays else Fact(owner.uniform)

    def choice(self, node: ast.IfExp) -> Fact:
        """a if test else b."""
        test = self.eval(node.test)
        outer, ways, facts = self.out, [], []
        for taken, side in ((True, node.body), (False, node.orelse)):
            self.out = []
            self.conditions.append((node.test, taken))
            facts.append(self.eval(side))
            self.conditions.pop()
            ways.append(self.out)
        self.out = [*outer, Alternatives(tuple(ways))]
        fact = join(facts[0], facts[1])
        return fact if test.uniform else Fact(False, fact.arrays, MISSING, fact.items)

    # -- arrays

    def access(self, node: ast.Subscript, write: bool, silent: bool = False) -> Fact:
        """array[index], loaded or stored; silent: base and index have been evaluated before."""
        out = self.out
        base, index = self.eval(node.value), self.eval(node.slice)
        if silent:
            self.out = out
        uniform = base.uniform and index.uniform
        if base.items is not None and not base.arrays:
            position = index.const
            if isinstance(position, int) and 0 <= position < len(base.items):
                return base.items[position]
            return Fact(uniform and all(i.uniform for i in base.items))
        for array in sorted(base.arrays, key=lambda a: (a.space, a.name)):
            uniform &= self.touch(array, node, write)
        return Fact(uniform, base.arrays)

    def touch(self, array: Array, node: ast.AST, write: bool) -> bool:
        """An access to an array; True if equal indices give equal values in all threads of a block."""
        frame: Any = self
        if array.space in ("shared", "private", "global"):
            first = array not in self.read | self.unread
            place = (self.path, id(node))
            fresh = first and ("partial", (array, place)) not in self.analysis.flags
            self.out = [*self.out, Touch(array, write, node, self.source, fresh)]
            if write:
                if first:
                    self.held[array] = frozenset({place}) | (
                        frozenset() if fresh else self.held.get(array, frozenset())
                    )
                self.define(array, node, place if first else None)
                self.unread.add(array)
            else:
                self.defining.pop(array, None)
                plain = isinstance(node, ast.Subscript) and self.direct(node.value, array)
                load = self.accessed(getattr(node, "slice", None) if plain else None, frame.open_loops())
                self.analysis.defines.load(array, self.held.get(array, frozenset()), load)
                self.read.add(array)
                self.unread.discard(array)
        if write:
            self.analysis.flag("stored", array)
        if array.space == "global":
            return ("stored", array) not in self.analysis.flags
        return array.space == "const"

    def define(self, array: Array, node: ast.AST, begins: Hashable | None) -> None:
        """A store, as part of the define that it begins or that goes on."""
        frame: Any = self
        if array.space == "global":
            return
        if not isinstance(node, ast.Subscript):
            if isinstance(node, ast.Call) and len(node.args) > 1:
                self.alter(array, node.args[0], node.args[1], update=True)
            return
        if begins is None and not self.defining.get(array):
            self.alter(array, node.value, node.slice, _updates(self.at, node))
        if begins is not None:
            self.defining[array] = self.analysis.defines.begin(array, begins, frame)
        direct = self.direct(node.value, array)
        for define in self.defining.get(array, {}).values():
            text, varies = key_of(frame, node.slice, define)
            define.places.add(text if direct else f"{UNLIKE}{id(node)} {self.path}")
            define.varies |= varies
            loops = beyond(define.loops, frame.open_loops())
            define.stores.append(self.accessed(node.slice if direct else None, loops))

    def alter(self, array: Array, base: ast.expr, index: ast.expr, update: bool) -> None:
        """A store that follows a load: no define, but what it stores must be replaced by one too. An update of what a
        define stored lies where that did.
        """
        frame: Any = self
        here = Define(tuple(frame.conditions), tuple(frame.open_loops()))
        text, _ = key_of(frame, index, here)
        certain = self.direct(base, array) and not text.startswith(UNLIKE)
        if certain or not update:
            others = self.analysis.defines.others.setdefault(array, here)
            others.places.add(text if certain else f"{UNLIKE}{id(index)} {self.path}")
            others.stores.append(self.accessed(index if certain else None, []))

    def direct(self, node: ast.expr, array: Array) -> bool:
        """Whether an expression is the array itself, and not a row or view of it."""
        frame: Any = self
        if not isinstance(node, ast.Name):
            return False
        stores = frame.definitions(node.id)
        if node.id in self.source.parameters:
            given = frame.argument(node.id)
            return not stores and given is not None and self.caller is not None and self.caller.direct(given, array)
        return len(stores) == 1 and isinstance(stores[0], ast.Assign) and stores[0].value is array.node

    def accessed(self, index: ast.expr | None, loops: list[ast.stmt]) -> Access:
        """An access, its index only where all threads get there, in each trip of these loops."""
        frame: Any = self
        certain = not (frame.conditions or self.reasons) and all(map(frame.constant_range, loops))
        return Access(frame, index if certain else None, tuple(frame.open_loops()))

    def declare(self, space: str, node: ast.Call) -> Fact:
        """The declaration of a shared, per-thread or constant array."""
        for argument in node.args:
            self.eval(argument)
        name = self.targets.get(node, space)
        space = "private" if space == "shared" and name in self.analysis.apart else space
        array = self.analysis.array(space, name, node, id(node))
        self.analysis.declared_in.setdefault(array, self.source)
        return Fact(True, frozenset({array}))

    def named(self, target: ast.expr, value: ast.expr) -> Fact:
        """Evaluate what is assigned; an array takes its name from the target."""
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            self.targets[value] = target.id
        return self.eval(value)

    # -- calls

    def call(self, node: ast.Call) -> Fact:
        """A function of the language, a device function, a cast, a method of an array."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            owner = self.eval(node.func.value)
            if owner.arrays:
                return owner
        function = self.eval(node.func).const
        spaces = {cuda.shared.array: "shared", cuda.local.array: "local", cuda.const.array_like: "const"}
        if (space := _entry(spaces, function)) is not None:
            return self.declare(space, node)
        if (managed := _entry(MANAGED, function)) is not None:
            raise refuse(self.source, node, f"the kernel manages shared memory itself: {managed} stands here")
        if any(function is barrier for barrier in BARRIERS):
            return self.barrier(node)
        definition = getattr(function, "definition", None)
        if isinstance(definition, FunctionSource):
            return self.inline(node, definition)
        arguments = [self.eval(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        arguments += [self.eval(k.value) for k in node.keywords]
        if id(function) in ATOMICS and arguments:
            for array in arguments[0].arrays:
                self.touch(array, node, write=False)
                self.touch(array, node, write=True)
            return VARYING
        return Fact(all(a.uniform for a in arguments) and function not in VARYING_CALLS)

    def barrier(self, node: ast.Call) -> Fact:
        """A barrier; all threads of the block have to get there together."""
        frame: Any = self
        frame.refuse_divergent(node, "barrier")
        for argument in node.args:
            self.eval(argument)
        self.out = [*self.out, Barrier(node, self.source)]
        frame.barrier_in_loops()
        return UNIFORM

    def inline(self, node: ast.Call, source: FunctionSource) -> Fact:
        """Walk a device function at its call."""
        from smmux.multiplex.analysis.uniformity import Frame

        if len(self.path) > MAX_DEPTH:
            raise refuse(self.source, node, f"{source.name!r} calls itself: recursion is not supported")
        assert isinstance(self, Frame)
        callee = Frame(self.analysis, source, (*self.path, id(node)), self)
        callee.call_node = node
        bound = dict(zip(source.parameters, (self.eval(a) for a in node.args), strict=False))
        bound |= {k.arg: self.eval(k.value) for k in node.keywords if k.arg is not None}
        for name in source.parameters:
            value = bound.get(name)
            if value is None:
                value = known(source.defaults[name]) if name in source.defaults else UNIFORM
            callee.receive(name, value)
        callee.block(source.node.body)
        self.out = [*self.out, Called(callee.out)]
        return callee.result or UNIFORM

    def receive(self, name: str, fact: Fact) -> None:
        """An argument: as uniform as it is in the caller."""
        before = self.env.get(name)
        after = join(before, fact)
        if after != before:
            self.env[name] = after
            self.analysis.changed = True

    def iterated(self, node: ast.expr) -> tuple[bool, Fact, bool]:
        """What a for loop runs over: is the number of trips uniform, what is an item, does every block make a trip."""
        if isinstance(node, ast.Call) and self.eval(node.func).const is range:
            bounds = [self.eval(a) for a in node.args]
            uniform = all(b.uniform for b in bounds)
            values = [b.const for b in bounds]
            if all(isinstance(v, int) for v in values):
                return True, UNIFORM, len(range(*values)) > 0
            # range(thread, constant, constant): the threads of a block share the work
            shared_out = len(bounds) == 3 and not bounds[0].uniform and all(isinstance(v, int) for v in values[1:])
            return uniform, Fact(uniform), shared_out
        over = self.eval(node)
        if over.items:
            item: Fact | None = None
            for one in over.items:
                item = join(item, one)
            assert item is not None
            return True, item, True
        return over.uniform, Fact(over.uniform, over.arrays), False


def _updates(statement: ast.stmt | None, element: ast.Subscript) -> bool:
    """Whether a statement loads the element that it stores."""
    if isinstance(statement, ast.AugAssign):
        return statement.target is element
    loaded = ast.walk(statement.value) if isinstance(statement, ast.Assign) else ()
    return any(isinstance(n, ast.Subscript) and ast.unparse(n) == ast.unparse(element) for n in loaded)


def _entry(table: dict[Any, str], function: Any) -> str | None:
    return next((value for key, value in table.items() if key is function), None)
