"""Device functions that declare or access shared arrays, or have barriers, written out at their calls."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator

from smmux import cuda
from smmux.compiler.frontend.source import MISSING, FunctionSource, assigned_names
from smmux.multiplex.syntax.annotations import without_annotations
from smmux.multiplex.syntax.build import at
from smmux.multiplex.syntax.draft import Draft
from smmux.multiplex.syntax.refusals import refuse
from smmux.multiplex.syntax.vocabulary import ATOMICS, BARRIERS, calls, device_function

__all__ = ["inline_accesses", "inline_barriers"]


def inline_accesses(draft: Draft, arrays: set[str]) -> None:
    """Replace calls of device functions that are given one of the arrays by what they do, in place."""
    Inliner(draft, arrays, barriers=False).body(draft.tree.body)


def inline_barriers(draft: Draft) -> None:
    """Replace calls of device functions with barriers in them by what they do, in place."""
    Inliner(draft, set(), barriers=True).body(draft.tree.body)


class Inliner:
    """Writes out calls, in functions called too: of functions given one of the arrays, or of those with barriers.

    arrays: names of the arrays and their views. counters: loop variables that are not used outside of their loops.
    """

    def __init__(self, draft: Draft, arrays: set[str], barriers: bool) -> None:
        self.draft, self.counters, self.barriers = draft, _counters(draft.tree), barriers
        self.around: list[str] = []  # variables of the loops around a statement
        self.source, self.names, self.arrays = draft.source, draft.names, set(arrays)
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
            index, node = self.loaded_first(node)
            self.body(index)
            made += index
            while taken_out := self.taken_out(node):
                self.body(taken_out)
                made += taken_out
            call = self.call_of(node)
            if call is None:
                self.refuse_nested(node)
                made.append(node)
                continue
            written_out = self.written_out(node, call)
            self.body(written_out)
            made += written_out
            self.draft.changed()
        statements[:] = made

    def call_of(self, node: ast.stmt) -> ast.Call | None:
        """The call that a statement consists of, if it is given one of the arrays."""
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        return value if isinstance(value, ast.Call) and self.function(value) is not None else None

    def function(self, call: ast.Call) -> FunctionSource | None:
        """The device function of a call with one of the arrays among the arguments."""
        function = device_function(self.source, call)
        if function is None:
            return None
        given = any(
            isinstance(a, ast.Name) and a.id in self.arrays for a in [*call.args, *(k.value for k in call.keywords)]
        )
        if given or self.barriers and _calls(function, BARRIERS) or _calls(function, (cuda.shared.array,)):
            return function
        return None

    def inlined(self, *nodes: ast.AST) -> list[ast.Call]:
        """Calls in expressions that have to be written out."""
        inside = (n for node in nodes for n in ast.walk(node))
        return [n for n in inside if isinstance(n, ast.Call) and self.function(n) is not None]

    def loaded_first(self, node: ast.stmt) -> tuple[list[ast.stmt], ast.stmt]:
        """`a[i] += f(a)` as `a[i] = a[i] + f(a)`, in the order of evaluation, behind statements that compute i once."""
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Subscript):
            return [], node
        if not self.inlined(node.target, node.value):
            return [], node
        made: list[ast.stmt] = []
        part: ast.expr = node.target
        while isinstance(part, ast.Subscript):
            indices = list(part.slice.elts) if isinstance(part.slice, ast.Tuple) else [part.slice]
            changing = [i for i in indices if any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(i))]
            made[:0] = [self.put_in_front(found, node, ("index", f"{_root(part)}_index")) for found in changing]
            part = part.value
        if not self.inlined(node.value):
            return made, node
        loaded = copy.deepcopy(node.target)
        loaded.ctx = ast.Load()
        value = ast.BinOp(loaded, node.op, node.value)
        return made, ast.copy_location(ast.Assign([node.target], ast.copy_location(value, node)), node)

    def put_in_front(self, found: ast.expr, node: ast.stmt, wishes: tuple[str, ...]) -> ast.stmt:
        """A variable in the place of a part of a statement, and the assignment to it."""
        name = self.names.new(*wishes)
        _Replacer(found, at(ast.Name(name, ast.Load()), node)).visit(node)
        return at(ast.Assign([ast.Name(name, ast.Store())], found), node)

    def depends(self, node: ast.AST) -> bool:
        """Whether it matters when a part of an expression is evaluated: loads, atomics, calls of device functions."""
        if isinstance(node, ast.Subscript):
            return not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape")
        function = self.source.resolve(node.func) if isinstance(node, ast.Call) else None
        return hasattr(function, "definition") or id(function) in ATOMICS or calls(self.source, node, BARRIERS)

    def taken_out(self, node: ast.stmt) -> list[ast.stmt]:
        """The first call in the expression of a statement, and what is evaluated before it, as statements."""
        part = _expression_of(node)
        value = getattr(node, part) if part else None
        if value is None or self.call_of(node) is not None:
            return []
        order = list(_evaluated(value))
        first = next((n for n in order if isinstance(n, ast.Call) and self.function(n) is not None), None)
        if first is None or any(map(_skips, order)):
            return []
        arguments = {id(n) for n in ast.walk(first)}
        loads = [n for n in order[: order.index(first)] if id(n) not in arguments and self.depends(n)]
        inner = {id(n) for load in loads for n in ast.walk(load) if n is not load}
        outer = [load for load in loads if id(load) not in inner and isinstance(load, ast.expr)]
        return [self.put_in_front(found, node, (f"{_root(found)}_value",)) for found in [*outer, first]]

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
        given = self.arguments(function, call)
        if function.fastmath and not self.source.fastmath:
            raise refuse(self.source, call, f"{function.name!r} {self.reason} and other arithmetic, fastmath=True")
        body = self.with_one_exit(function)
        returned = body.pop() if isinstance(body[-1], ast.Return) else None
        assigned = set(assigned_names(body))
        names: dict[str, ast.expr] = self.capture(function)
        result = self.result(node, returned, assigned, function, given)
        if result is not None:
            names[result] = node.targets[0]  # type: ignore[attr-defined]
        made: list[ast.stmt] = []
        for parameter, argument in given.items():
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
            if name not in names:
                names[name] = ast.Name(self.local(name, function), ast.Load())
        renamer = _Renamer(names)
        made += [renamer.visit(s) for s in body]
        if isinstance(node, ast.Assign) and result is None:
            assert isinstance(returned, ast.Return)
            assert returned.value is not None
            made.append(at(ast.Assign(node.targets, renamer.visit(returned.value)), node))
        if function.filename != self.source.filename:
            made = [at(s, node) for s in made]
        return made

    def with_one_exit(self, function: FunctionSource) -> list[ast.stmt]:
        """The statements of a function, which ends with its only `return` if there is one."""
        body = _without_docstring(copy.deepcopy(function.node.body))
        self.draft.overlapping |= without_annotations(function, body)
        if not any(_returns(node) for node in body[:-1]) and isinstance(body[-1], ast.Return) or not _returns(*body):
            return body
        name = self.names.new(f"{function.name}_value")
        try:
            changed = _one_exit(body, name)
        except _ManyExitsError as reason:
            raise refuse(function, reason.node, f"{function.name!r} {self.reason} and {reason}") from None
        value = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function.node))
        last = [at(ast.Return(ast.Name(name, ast.Load())), function.node)] if value else []
        return [*changed, *last]

    def arguments(self, function: FunctionSource, call: ast.Call) -> dict[str, ast.expr]:
        """The argument for each parameter, given by position or by name, or its default."""
        named = {k.arg: k.value for k in call.keywords}
        by_name = dict(zip(function.parameters, call.args, strict=False)) | {n: v for n, v in named.items() if n}
        for name, value in function.defaults.items():
            if isinstance(value, int | float) and name not in by_name:
                by_name[name] = at(ast.Constant(value), call)
        starred = None in named or any(isinstance(a, ast.Starred) for a in call.args)
        if starred or by_name.keys() != set(function.parameters) or len(call.args) > len(function.parameters):
            why = f"give {function.name!r}, which {self.reason}, its arguments one by one"
            raise refuse(self.source, call, why)
        return {name: by_name[name] for name in function.parameters}

    def result(
        self,
        node: ast.stmt,
        returned: ast.stmt | None,
        assigned: set[str],
        function: FunctionSource,
        given: dict[str, ast.expr],
    ) -> str | None:
        """The variable of a function that can be the one of the caller that its value is assigned to."""
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        value = returned.value if isinstance(returned, ast.Return) else None
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Name):
            return None
        others = _names_in(given.values()) | _names_in(function.node.body) - {value.id} | set(self.around)
        mine = value.id in assigned and value.id not in given and target.id not in others
        return value.id if mine else None

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


def _returns(*nodes: ast.stmt) -> bool:
    """Whether statements have a `return` in them."""
    return any(isinstance(n, ast.Return) for node in nodes for n in ast.walk(node))


class _ManyExitsError(Exception):
    """A `return` that conditions around what follows cannot replace."""

    def __init__(self, node: ast.stmt, why: str) -> None:
        super().__init__(why)
        self.node = node


def _one_exit(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Statements that assign to a variable what they returned."""
    for i, node in enumerate(body):
        if isinstance(node, ast.Return):
            value = node.value
            return [*body[:i], at(ast.Assign([ast.Name(name, ast.Store())], value), node) if value else ast.Pass()]
        if not _returns(node):
            continue
        exits = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
        if not isinstance(node, ast.If):
            raise _ManyExitsError(exits[0], "returns within a loop; keep the value and return it at the end")
        sides = [node.body, node.orelse]
        going_on = [k for k, side in enumerate(sides) if not _always_returns(side)]
        if len(going_on) > 1:
            where = f"returns within `if {ast.unparse(node.test)}:` under a further condition"
            raise _ManyExitsError(exits[0], f"{where}; keep the value and return it at the end")
        for k in going_on:
            sides[k] = sides[k] + body[i + 1 :]
        then, otherwise = (_one_exit(side, name) for side in sides)
        return [*body[:i], ast.copy_location(ast.If(node.test, then or [ast.Pass()], otherwise), node)]
    return body


def _always_returns(body: list[ast.stmt]) -> bool:
    """Whether no way leads to the end of a statement list."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return)


class _Replacer(ast.NodeTransformer):
    def __init__(self, node: ast.AST, new: ast.AST) -> None:
        self.node, self.new = node, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.node else self.generic_visit(node)


def _calls(function: FunctionSource, wanted: tuple[object, ...], depth: int = 0) -> bool:
    """Whether a device function, or one that it calls, calls one of the functions of the language."""
    for node in ast.walk(function.node):
        if calls(function, node, wanted):
            return True
        inner = device_function(function, node) if isinstance(node, ast.Call) else None
        if inner is not None and depth < 64 and _calls(inner, wanted, depth + 1):
            return True
    return False


def _expression_of(node: ast.stmt) -> str:
    """The field of a statement with an expression that is evaluated once, before all else that it does."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
        return "value"
    return "test" if isinstance(node, ast.If) else "iter" if isinstance(node, ast.For) else ""


def _evaluated(node: ast.expr) -> Iterator[ast.AST]:
    """Parts of an expression in the order in which they are evaluated."""
    for child in ast.iter_child_nodes(node):
        yield from _evaluated(child)  # type: ignore[arg-type]
    yield node


def _skips(node: ast.AST) -> bool:
    """Whether parts of an expression are evaluated under a condition."""
    return isinstance(node, ast.IfExp | ast.BoolOp) or isinstance(node, ast.Compare) and len(node.ops) > 1


def _root(node: ast.AST) -> str:
    """The name of an element's array, or of the function that is called."""
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else _root(node.func)
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else "loaded"


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
