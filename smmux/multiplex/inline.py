"""Device functions that access shared arrays, written out at their calls."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from smmux.compiler.frontend.source import MISSING, FunctionSource, assigned_names
from smmux.multiplex.errors import refuse
from smmux.multiplex.syntax import Names, at

__all__ = ["inline_accesses"]


def inline_accesses(source: FunctionSource, tree: ast.FunctionDef, names: Names, arrays: set[str]) -> None:
    """Replace calls of device functions that are given one of the arrays by what they do, in place."""
    Inliner(source, names, arrays, _counters(tree)).body(tree.body)


class Inliner:
    """Writes out calls, in functions called too.

    arrays: names of the arrays and their views. counters: loop variables that are not used outside of their loops.
    """

    def __init__(self, source: FunctionSource, names: Names, arrays: set[str], counters: set[str]) -> None:
        self.counters = counters
        self.around: list[str] = []  # variables of the loops around a statement
        self.source, self.names, self.arrays = source, names, set(arrays)
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
        given = any(isinstance(a, ast.Name) and a.id in self.arrays for a in call.args)
        function = getattr(self.source.resolve(call.func), "definition", None)
        return function if given and isinstance(function, FunctionSource) else None

    def refuse_nested(self, node: ast.stmt) -> None:
        """Calls within expressions are not written out."""
        for inner in ast.iter_child_nodes(node):
            for call in ast.walk(inner) if isinstance(inner, ast.expr) else ():
                if isinstance(call, ast.Call) and self.function(call) is not None:
                    why = "a device function that accesses the array has to be a statement, or all of an assigned value"
                    raise refuse(self.source, call, why)

    def written_out(self, node: ast.stmt, call: ast.Call) -> list[ast.stmt]:
        """What the call does, as statements of the caller."""
        function = self.function(call)
        assert function is not None
        if call.keywords or len(call.args) != len(function.parameters):
            raise refuse(
                self.source, call, f"give {function.name!r}, which accesses the array, all arguments by position"
            )
        if function.fastmath and not self.source.fastmath:
            raise refuse(
                self.source, call, f"{function.name!r} accesses the array with other arithmetic, fastmath=True"
            )
        body = _without_docstring(copy.deepcopy(function.node.body))
        returned = body.pop() if isinstance(body[-1], ast.Return) else None
        if any(isinstance(n, ast.Return) for s in body for n in ast.walk(s)):
            raise refuse(function, function.node, f"{function.name!r} accesses a divided array and returns early")
        self.capture(function, call)
        assigned = set(assigned_names(body))
        names: dict[str, ast.expr] = {}
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

    def capture(self, function: FunctionSource, call: ast.Call) -> None:
        """Make the names that a function captures known to the kernel."""
        for name in sorted(_names_in(function.node.body) - function.locals):
            value = function.lookup(name)
            if value is MISSING or value is self.source.lookup(name) or self.names.added.get(name) is value:
                continue
            if self.source.lookup(name) is not MISSING or name in self.names.taken:
                raise refuse(self.source, call, f"{function.name!r} uses a global {name!r} that is another one here")
            self.names.taken.add(name)
            self.names.added[name] = value


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
