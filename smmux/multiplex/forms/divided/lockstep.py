"""Writes statements whose accesses can go to both parts of an array, in the order of a warp in lockstep: all threads
load, then all store.

An `if ... else` on the index chooses the part. Some threads of a warp execute one side before the others execute the
other, so loads under it could see stores of the same statement. Therefore all values wait in variables, and only the
stores stand under the condition.
"""

from __future__ import annotations

import ast

from smmux.base.trees import copied, walk
from smmux.language.types import Scalar
from smmux.multiplex.forms.divided.parts import PRIVATE, Bounds, Parts
from smmux.multiplex.forms.divided.uses import Use
from smmux.rewriting.build import at
from smmux.rewriting.refusals import MultiplexError, refuse
from smmux.rewriting.vocabulary import calls
from smmux.source.function_source import FunctionSource


def in_lockstep(parts: Parts, node: ast.stmt, bounds: Bounds) -> list[ast.stmt]:
    """A simple statement that stores to the array, with its loads in front of its stores; refused where it has none."""
    return _Ordered(parts, copied(node), bounds).statements()


class _Ordered:
    """Writes one statement anew; made: what takes its place so far."""

    def __init__(self, parts: Parts, node: ast.stmt, bounds: Bounds) -> None:
        self.parts, self.node, self.bounds = parts, node, bounds
        self.made: list[ast.stmt] = []

    def refused(self, why: str) -> MultiplexError:
        return refuse(self.parts.source, self.node, f"accesses of this statement can go to different parts: {why}")

    def statements(self) -> list[ast.stmt]:
        """What takes the place of the statement."""
        node = self.node
        stored = [use for use in self.parts.uses.of(node) if use.stores]
        if any(isinstance(use.node, ast.Call) for use in stored):
            self.atomic(stored)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            target = self.fixed(node.target)
            loaded = ast.Subscript(target.value, target.slice, ast.Load())
            value = ast.BinOp(at(loaded, node), node.op, node.value)
            self.store(target, self.waiting(ast.copy_location(value, node), target))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
            for single, name in self.values(targets, node.value):
                self.store(single, name)
        else:
            raise self.refused("write it as assignments")
        return self.made

    # -- values

    def values(self, targets: list[ast.expr], value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """Each single target with the variable in which its value waits, all of them loaded."""
        groups = [target for target in targets if isinstance(target, ast.Tuple | ast.List)]
        if not groups:
            name = self.waiting(value, targets[0])
            return [(target, name) for target in targets]
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        plain = not any(isinstance(t, ast.Tuple | ast.List | ast.Starred) for t in groups[0].elts)
        if len(targets) > 1 or not plain or len(items) != len(groups[0].elts):
            raise self.refused("assign one value to each target")
        return [(target, self.waiting(item, target)) for target, item in zip(groups[0].elts, items, strict=True)]

    def waiting(self, value: ast.expr, target: ast.expr | None = None) -> ast.expr:
        """A variable with a value, of the target's type if the value has none of its own."""
        chosen = self.parts.chosen(value, self.bounds)
        use = self.parts.uses.use(target) if target is not None else None
        dtype = self.parts.types.get(use.array) if use is not None else None
        if use is not None and weak(self.parts.source, value) and dtype is not None:
            if not self.callable(dtype):
                raise self.refused("give its value a type, as in float32(value)")
            chosen = ast.Call(copied(dtype), [chosen], [])
        return self.assigned(chosen, "value", f"{use.array if use is not None else 'next'}_value")

    def callable(self, dtype: ast.expr) -> bool:
        """Whether a type is written in a way that also converts."""
        found = self.parts.source.resolve(dtype)
        return isinstance(found, Scalar | type)

    def assigned(self, value: ast.expr, *wishes: str) -> ast.expr:
        """A new variable, assigned."""
        name = self.parts.names.new(*wishes)
        self.made.append(at(ast.Assign([ast.Name(name, ast.Store())], value), self.node))
        return ast.Name(name, ast.Load())

    # -- stores

    def store(self, target: ast.expr, value: ast.expr) -> None:
        """An assignment to a variable or an element, of the part that its index asks for."""
        use = self.parts.uses.use(target)
        if use is None:
            self.made.append(self.assignment(self.parts.chosen(target, self.bounds), value))
            return
        assert isinstance(use.node, ast.Subscript)
        use = self.parts.uses.use(self.fixed(use.node))
        assert use is not None
        if (part := self.parts.part(use, self.bounds)) is not None:
            self.made.append(self.assignment(use.node if part == PRIVATE else self.parts.moved(use), value))
            return
        private, public = self.assignment(use.node, value), self.assignment(self.parts.moved(use), value)
        self.made.append(self.either(use, private, public))

    def assignment(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        """target = value."""
        return at(ast.Assign([copied(target)], copied(value)), self.node)

    def either(self, use: Use, private: ast.stmt, public: ast.stmt) -> ast.stmt:
        """One of two statements, as the index of a use asks for."""
        return ast.copy_location(ast.If(self.parts.test(use, PRIVATE), [private], [public]), self.node)

    def fixed(self, target: ast.Subscript) -> ast.Subscript:
        """An element whose indices are loaded, or computed by functions, before."""
        target = copied(target)
        use = self.parts.uses.use(target)
        if use is not None:
            use.put(*map(self.index, use.index))
        return target

    def index(self, node: ast.expr) -> ast.expr:
        """An index that can be evaluated several times."""
        if not any(isinstance(inner, ast.Subscript | ast.Call) for inner in walk(node)):
            return node
        return self.assigned(self.parts.chosen(node, self.bounds), "place", "index")

    # -- atomic operations

    def atomic(self, stored: list[Use]) -> None:
        """An atomic operation, behind the loads of its arguments."""
        node, use = self.node, stored[0]
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        if len(stored) > 1 or value is not use.node or not isinstance(value, ast.Call):
            raise self.refused("assign what an atomic operation returns to a variable of its own")
        index = list(map(self.index, use.index))
        value.args[2:] = [self.waiting(argument, value.args[0]) for argument in value.args[2:]]
        use.put(*index)
        part = self.parts.part(use, self.bounds)
        private, public = use.node, self.parts.moved(use)
        sides: list[ast.stmt]
        if isinstance(node, ast.Expr):
            sides = [at(ast.Expr(call), node) for call in (private, public)]
        else:
            old = self.parts.names.new("old", f"old_{use.array}")
            sides = [self.assignment(ast.Name(old, ast.Store()), call) for call in (private, public)]
        self.made.append(sides[part != PRIVATE] if part is not None else self.either(use, sides[0], sides[1]))
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.store(target, ast.Name(old, ast.Load()))


def weak(source: FunctionSource, node: ast.expr) -> bool:
    """Whether a value is made of numbers alone that take the type of what they meet."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name | ast.Attribute):
        return type(source.resolve(node)) in (int, float, bool) and not _local(source, node)
    if isinstance(node, ast.IfExp):
        return weak(source, node.body) and weak(source, node.orelse)
    if isinstance(node, ast.BinOp):
        return weak(source, node.left) and weak(source, node.right)
    if isinstance(node, ast.BoolOp):
        return all(weak(source, value) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        return weak(source, node.operand)
    if isinstance(node, ast.Call):
        simple = calls(source, node, (min, max, abs, int, float, round))
        return simple and all(weak(source, argument) for argument in node.args)
    return False


def _local(source: FunctionSource, node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in source.locals
