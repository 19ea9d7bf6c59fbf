"""Device functions that access shared arrays, or have barriers, written out at their calls."""

from __future__ import annotations

import ast
import copy
from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace

from smmux import cuda
from smmux.compiler.frontend.source import MISSING, FunctionSource, assigned_names
from smmux.multiplex.errors import refuse
from smmux.multiplex.syntax import Names, at

__all__ = ["inline_accesses", "inline_barriers"]

BARRIERS = (cuda.syncthreads, cuda.syncthreads_and, cuda.syncthreads_count, cuda.syncthreads_or)


def inline_accesses(source: FunctionSource, tree: ast.FunctionDef, names: Names, arrays: set[str]) -> None:
    """Replace calls of device functions that are given one of the arrays by what they do, in place."""
    Inliner(source, names, arrays, _counters(tree)).body(tree.body)


def inline_barriers(source: FunctionSource, tree: ast.FunctionDef, names: Names) -> None:
    """Replace calls of device functions with barriers in them by what they do, in place."""
    Inliner(source, names, set(), _counters(tree), barriers=True).body(tree.body)


class Inliner:
    """Writes out calls, in functions called too: of functions given one of the arrays, or of those with barriers.

    arrays: names of the arrays and their views. counters: loop variables that are not used outside of their loops.
    """

    def __init__(
        self, source: FunctionSource, names: Names, arrays: set[str], counters: set[str], barriers: bool = False
    ) -> None:
        self.counters, self.barriers = counters, barriers
        self.around: list[str] = []  # variables of the loops around a statement
        self.source = replace(source, captured=ChainMap(names.added, source.captured))  # type: ignore[arg-type]
        self.names, self.arrays = names, set(arrays)
        self.reason = "has a barrier" if barriers else "accesses the array"
        self.mine: dict[str, FunctionSource] = {}  # names that inlining has brought in

    def body(self, statements: list[ast.stmt]) -> None:
        """A statement list."""
        made: list[ast.stmt] = []
        for node in statements:
            if isinstance(node, ast.For):
                self.around += _names_in([node.target])
            for inner in ("body", "orelse"):
                if isinstance(getattr(node, inner, None), list):
                    self.body(getattr(node, inner))
            if isinstance(node, ast.For):
                del self.around[len(self.around) - len(_names_in([node.target])) :]
            if (first := self.taken_out(node)) is not None:
                written_out = self.written_out(first, first.value)
                self.body(written_out)
                made += written_out
            call = self.call_of(node)
            if call is None:
                self.refuse_nested(node)
                made.append(node)
                continue
            written_out = self.written_out(node, call)
            self.body(written_out)
            made += written_out
        statements[:] = made

    def call_of(self, node: ast.stmt) -> ast.Call | None:
        """The call that a statement consists of, if it is given one of the arrays."""
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        return value if isinstance(value, ast.Call) and self.function(value) is not None else None

    def function(self, call: ast.Call) -> FunctionSource | None:
        """The device function of a call with one of the arrays among the arguments."""
        function = getattr(self.source.resolve(call.func), "definition", None)
        if not isinstance(function, FunctionSource):
            return None
        given = any(isinstance(a, ast.Name) and a.id in self.arrays for a in call.args)
        return function if given or self.barriers and has_barrier(function) else None

    def taken_out(self, node: ast.stmt) -> _Assignment | None:
        """A call within the value of a statement, made a statement of its own, where that changes no order of loads."""
        value = node.value if isinstance(node, ast.Assign | ast.AugAssign | ast.Return) else None
        if value is None or self.call_of(node) is not None and not isinstance(node, ast.AugAssign):
            return None
        calls = [n for n in ast.walk(value) if isinstance(n, ast.Call) and self.function(n) is not None]
        if len(calls) != 1 or any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(value)):
            return None
        inside = {id(n) for n in ast.walk(calls[0])}
        rest = [n for n in ast.walk(node) if id(n) not in inside]
        if any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) for n in rest):
            return None
        function = self.function(calls[0])
        assert function is not None
        name = self.names.new(f"{function.name}_value")
        made = at(_Assignment([ast.Name(name, ast.Store())], calls[0]), node)
        node.value = _Replacer(calls[0], at(ast.Name(name, ast.Load()), node)).visit(value)  # type: ignore[attr-defined]
        return made

    def refuse_nested(self, node: ast.stmt) -> None:
        """Calls within expressions are not written out."""
        for inner in ast.iter_child_nodes(node):
            for call in ast.walk(inner) if isinstance(inner, ast.expr) else ():
                if isinstance(call, ast.Call) and self.function(call) is not None:
                    why = f"a device function that {self.reason} has to be a statement, or all of an assigned value"
                    raise refuse(self.source, call, why)

    def written_out(self, node: ast.stmt, call: ast.Call) -> list[ast.stmt]:
        """What the call does, as statements of the caller."""
        function = self.function(call)
        assert function is not None
        if call.keywords or len(call.args) != len(function.parameters):
            raise refuse(self.source, call, f"give {function.name!r}, which {self.reason}, all arguments by position")
        if function.fastmath and not self.source.fastmath:
            raise refuse(self.source, call, f"{function.name!r} {self.reason} and other arithmetic, fastmath=True")
        body = _without_docstring(copy.deepcopy(function.node.body))
        returned = body.pop() if isinstance(body[-1], ast.Return) else None
        if any(isinstance(n, ast.Return) for s in body for n in ast.walk(s)):
            raise refuse(function, function.node, f"{function.name!r} {self.reason} and returns early")
        assigned = set(assigned_names(body))
        names: dict[str, ast.expr] = self.capture(function)
        made: list[ast.stmt] = []
        for parameter, argument in zip(function.parameters, call.args, strict=True):
            if parameter not in assigned and _simple(argument) and not assigned & _names_in([argument]):
                names[parameter] = argument
                continue
            local = self.local(parameter, function)
            names[parameter] = ast.Name(local, ast.Load())
            made.append(at(ast.Assign([ast.Name(local, ast.Store())], copy.deepcopy(argument)), node))
        counters = _counters(ast.Module(body, [])) & self.counters - set(self.around)
        for name in dict.fromkeys(assigned_names(body)):
            if name in counters:
                continue
            names.setdefault(name, ast.Name(self.local(name, function), ast.Load()))
        if returned is not None and isinstance(node, ast.Assign):
            assert isinstance(returned, ast.Return)
            assert returned.value is not None
            body.append(at(ast.Assign(node.targets, returned.value), node))
        renamer = _Renamer(names)
        made += [renamer.visit(s) for s in body]
        if function.filename != self.source.filename:
            made = [at(s, node) for s in made]
        return made

    def local(self, wish: str, function: FunctionSource) -> str:
        """A name for a variable of an inlined function: its own if that is free, or was its own before."""
        if self.mine.get(wish) is function:
            return wish
        name = self.names.new(wish)
        self.mine[name] = function
        return name

    def capture(self, function: FunctionSource) -> dict[str, ast.expr]:
        """Make the names that a function captures known to the kernel; those that get other names there."""
        renamed: dict[str, ast.expr] = {}
        for name in sorted(_names_in(function.node.body) - function.locals):
            value = function.lookup(name)
            known = self.source.lookup(name)
            if value is MISSING or value is known and name not in self.source.locals:
                continue
            if known is not MISSING or name in self.names.taken:
                own = next((n for n, v in self.names.added.items() if v is value), "")
                own = own or self.names.new(f"{name}_of_{function.name}")
                renamed[name] = ast.Name(own, ast.Load())
                self.names.added[own] = value
            else:
                self.names.taken.add(name)
                self.names.added[name] = value
        return renamed


class _Assignment(ast.Assign):
    """name = call"""

    value: ast.Call


class _Replacer(ast.NodeTransformer):
    def __init__(self, node: ast.AST, new: ast.AST) -> None:
        self.node, self.new = node, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.node else self.generic_visit(node)


def has_barrier(function: FunctionSource, depth: int = 0) -> bool:
    """Whether a device function, or one that it calls, has a barrier."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call):
            called = function.resolve(node.func)
            if any(called is barrier for barrier in BARRIERS):
                return True
            inner = getattr(called, "definition", None)
            if isinstance(inner, FunctionSource) and depth < 64 and has_barrier(inner, depth + 1):
                return True
    return False


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.names.get(node.id)
        if found is None:
            return node
        found = copy.deepcopy(found)
        if isinstance(found, ast.Name):
            found.ctx = node.ctx
        return ast.copy_location(found, node)


def _simple(node: ast.expr) -> bool:
    """True for arguments that can stand wherever the parameter stands."""
    return isinstance(node, ast.Name | ast.Constant) or isinstance(node, ast.Attribute) and _simple(node.value)


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def _counters(tree: ast.AST) -> set[str]:
    """Variables of for loops that are neither assigned nor used anywhere else."""
    uses = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    loops = _outer_loops(tree)
    names = {n for loop in loops for n in _names_in([loop.target])}
    within: dict[str, int] = dict.fromkeys(names, 0)
    for loop in loops:
        inside = [n.id for n in ast.walk(loop) if isinstance(n, ast.Name)]
        for name in _names_in([loop.target]):
            within[name] += inside.count(name)
    return {name for name in names if within[name] == uses.count(name)}


def _outer_loops(tree: ast.AST) -> list[ast.For]:
    """For loops that are not within one of the same variable."""
    found: list[ast.For] = []

    def visit(node: ast.AST, around: set[str]) -> None:
        if isinstance(node, ast.For) and not _names_in([node.target]) & around:
            found.append(node)
            around = around | _names_in([node.target])
        for child in ast.iter_child_nodes(node):
            visit(child, around)

    visit(tree, set())
    return found


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[int(documented) :]
