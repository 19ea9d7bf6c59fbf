"""Writes out, at their calls, device functions that declare or access shared arrays, or have barriers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from smmux import cuda
from smmux.base.trees import copied, walk
from smmux.compiler.python.call_graph import device_function
from smmux.rewriting.build import at, has_docstring, lists, names_in, renamed, substitute
from smmux.rewriting.draft import Draft, without_annotations
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import ATOMICS, BARRIERS, calls, functions
from smmux.source.attributes import peek
from smmux.source.function_source import MISSING, FunctionSource, assigned_names


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
        self.draft, self.source, self.names = draft, draft.source, draft.names
        self.arrays, self.counters = arrays, _counters([draft.tree])
        self.wanted = (*BARRIERS, cuda.shared.array) if barriers else (cuda.shared.array,)
        self.reason = "has a barrier" if barriers else "accesses the array"
        self.wanting: dict[FunctionSource, bool] = {}  # whether device functions have such calls
        self.around: set[str] = set()  # variables of the loops around a statement
        self.mine: dict[str, FunctionSource] = {}  # names that inlining has brought in

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A statement list, in place."""
        statements[:] = [made for node in statements for made in self.statement(node)]
        return statements

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """What takes the place of a statement."""
        outer = self.around
        if isinstance(node, ast.For):
            self.around = outer | names_in(node.target)
        for inner in lists(node):
            self.body(inner)
        self.around = outer
        indices, node = self.loaded_first(node)
        yield from self.body(indices)
        while taken_out := self.taken_out(node):
            yield from self.body(taken_out)
        if (call := self.call_of(node)) and (function := self.function(call)):
            yield from self.body(self.written_out(node, call, function))
            self.draft.changed()
            return
        for nested in self.inlined(*(n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))):
            why = f"a device function that {self.reason} has to be a statement, or all of an assigned value"
            raise refuse(self.source, nested, why)
        yield node

    def call_of(self, node: ast.stmt) -> ast.Call | None:
        """The call that a statement consists of, if it has to be written out."""
        value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        return value if isinstance(value, ast.Call) and self.function(value) is not None else None

    def function(self, call: ast.Call) -> FunctionSource | None:
        """The device function of a call that has to be written out."""
        function = device_function(self.source, call)
        if function is None:
            return None
        given = [*call.args, *(k.value for k in call.keywords)]
        if any(isinstance(value, ast.Name) and value.id in self.arrays for value in given):
            return function
        if function not in self.wanting:
            inside = (calls(f, node, self.wanted) for f in functions(function) for node in walk(f.node))
            self.wanting[function] = any(inside)
        return function if self.wanting[function] else None

    def inlined(self, *nodes: ast.AST) -> list[ast.Call]:
        """Calls in expressions that have to be written out."""
        inside = (n for node in nodes for n in walk(node))
        return [n for n in inside if isinstance(n, ast.Call) and self.function(n) is not None]

    # -- calls within expressions

    def loaded_first(self, node: ast.stmt) -> tuple[list[ast.stmt], ast.stmt]:
        """`a[i] += f(a)` as `a[i] = a[i] + f(a)`, in the order of evaluation, behind statements that compute i once."""
        made: list[ast.stmt] = []
        if not isinstance(node, ast.AugAssign) or not self.inlined(node.target, node.value):
            return made, node
        part: ast.expr = node.target
        while isinstance(part, ast.Subscript):
            indices = list(part.slice.elts) if isinstance(part.slice, ast.Tuple) else [part.slice]
            changing = [i for i in indices if any(isinstance(n, ast.Call | ast.Subscript) for n in walk(i))]
            made[:0] = [self.put_in_front(i, node, "index", f"{_root(part)}_index") for i in changing]
            part = part.value
        if not isinstance(node.target, ast.Subscript) or not self.inlined(node.value):
            return made, node
        loaded = copied(node.target)
        loaded.ctx = ast.Load()
        value = ast.BinOp(loaded, node.op, node.value)
        return made, ast.copy_location(ast.Assign([node.target], ast.copy_location(value, node)), node)

    def put_in_front(self, part: ast.expr, node: ast.stmt, *wishes: str) -> ast.stmt:
        """A variable in the place of a part of a statement, and the assignment to it."""
        name = self.names.new(*wishes)
        substitute(node, part, at(ast.Name(name, ast.Load()), node))
        return at(ast.Assign([ast.Name(name, ast.Store())], part), node)

    def depends(self, node: ast.AST) -> bool:
        """Whether it matters when a part of an expression is evaluated: loads, atomics, calls of device functions."""
        if isinstance(node, ast.Subscript):
            return not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape")
        function = self.source.resolve(node.func) if isinstance(node, ast.Call) else None
        return peek(function, "definition") is not None or id(function) in ATOMICS or calls(self.source, node, BARRIERS)

    def taken_out(self, node: ast.stmt) -> list[ast.stmt]:
        """The first call in the expression of a statement, and what is evaluated before it, as statements."""
        value = _expression_of(node)
        if value is None or self.call_of(node) is not None:
            return []
        order = list(_evaluated(value))
        first = next((n for n in order if isinstance(n, ast.Call) and self.function(n) is not None), None)
        if first is None or any(map(_skips, order)):
            return []
        arguments = {id(n) for n in walk(first)}
        loads = [n for n in order[: order.index(first)] if id(n) not in arguments and self.depends(n)]
        inner = {id(n) for load in loads for n in walk(load) if n is not load}
        outer = [load for load in loads if id(load) not in inner and isinstance(load, ast.expr)]
        return [self.put_in_front(part, node, f"{_root(part)}_value") for part in [*outer, first]]

    # -- calls that are statements

    def written_out(self, node: ast.stmt, call: ast.Call, function: FunctionSource) -> list[ast.stmt]:
        """What the call does, as statements of the caller."""
        given = self.arguments(function, call)
        if function.fastmath and not self.source.fastmath:
            raise refuse(self.source, call, f"{function.name!r} {self.reason} and other arithmetic, fastmath=True")
        if function.declared:
            why = "and a signature, which converts its arguments; leave the signature out"
            raise refuse(self.source, call, f"{function.name!r} {self.reason} {why}")
        body = self.with_one_exit(function)
        value = body.pop().value if isinstance(body[-1], ast.Return) else None  # type: ignore[attr-defined]
        assigned = dict.fromkeys(assigned_names(body))
        names = self.capture(function)
        if isinstance(value, ast.Name) and value.id in assigned.keys() - given.keys():
            if (target := self.kept(node, value, function, names_in(*given.values()))) is not None:
                names[value.id], value = target, None
        made: list[ast.stmt] = []
        for parameter, argument in given.items():
            if parameter not in assigned and _simple(argument) and not names_in(argument) & assigned.keys():
                names[parameter] = argument
                continue
            local = self.local(parameter, function)
            names[parameter] = ast.Name(local, ast.Load())
            made.append(at(ast.Assign([ast.Name(local, ast.Store())], copied(argument)), node))
        counters = _counters(body) & self.counters - self.around
        for name in assigned:
            if name not in counters and name not in names:
                names[name] = ast.Name(self.local(name, function), ast.Load())
        made += [renamed(statement, names) for statement in body]
        if isinstance(node, ast.Assign) and value is not None:
            made.append(at(ast.Assign(node.targets, renamed(value, names)), node))
        return made if function.filename == self.source.filename else [at(statement, node) for statement in made]

    def with_one_exit(self, function: FunctionSource) -> list[ast.stmt]:
        """The statements of a function, which ends with its only `return` if there is one."""
        body = copied(function.node.body[int(has_docstring(function.node)) :])
        self.draft.overlapping |= without_annotations(function, body)
        if not any(map(_exits, body[:-1])) and (isinstance(body[-1], ast.Return) or not _exits(body[-1])):
            return body
        name = self.names.new(f"{function.name}_value")
        changed = self.one_exit(function, body, name)
        value = any(node.value is not None for node in _exits(function.node))
        last = [at(ast.Return(ast.Name(name, ast.Load())), function.node)] if value else []
        return [*changed, *last]

    def one_exit(self, function: FunctionSource, body: list[ast.stmt], name: str) -> list[ast.stmt]:
        """Statements that assign to a variable what they returned."""
        i, exits = next(((i, exits) for i, node in enumerate(body) if (exits := _exits(node))), (0, []))
        if not exits:
            return body
        node = body[i]
        if isinstance(node, ast.Return):
            value = node.value
            return [*body[:i], at(ast.Assign([ast.Name(name, ast.Store())], value), node) if value else ast.Pass()]
        sides = [node.body, node.orelse] if isinstance(node, ast.If) else []
        going_on = [k for k, side in enumerate(sides) if not _always_returns(side)]
        if not isinstance(node, ast.If) or len(going_on) > 1:
            where = "a loop"
            if isinstance(node, ast.If):
                where = f"`if {ast.unparse(node.test)}:` under a further condition"
            why = f"returns within {where}; keep the value and return it at the end"
            raise refuse(function, exits[0], f"{function.name!r} {self.reason} and {why}")
        for k in going_on:
            sides[k] = sides[k] + body[i + 1 :]
        then, otherwise = (self.one_exit(function, side, name) for side in sides)
        return [*body[:i], ast.copy_location(ast.If(node.test, then or [ast.Pass()], otherwise), node)]

    def arguments(self, function: FunctionSource, call: ast.Call) -> dict[str, ast.expr]:
        """The argument for each parameter, given by position or by name, or its default."""
        named = {k.arg: k.value for k in call.keywords}
        by_name = dict(zip(function.parameters, call.args, strict=False)) | {n: v for n, v in named.items() if n}
        for name, value in function.defaults.items():
            if isinstance(value, int | float) and name not in by_name:
                by_name[name] = at(ast.Constant(value), call)
        starred = None in named or any(isinstance(a, ast.Starred) for a in call.args)
        names = (*function.parameters, *function.keywords)
        if starred or function.rest or by_name.keys() != set(names) or len(call.args) > len(function.parameters):
            why = f"give {function.name!r}, which {self.reason}, its arguments one by one"
            raise refuse(self.source, call, why)
        return {name: by_name[name] for name in names}

    def kept(self, node: ast.stmt, value: ast.Name, function: FunctionSource, used: set[str]) -> ast.Name | None:
        """Return the caller's variable for the value, if the function can use it in the place of the variable that it
        returns.
        """
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        others = used | names_in(*function.node.body) - {value.id} | self.around
        return target if isinstance(target, ast.Name) and target.id not in others else None

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
        for name in sorted(names_in(*function.node.body) - function.locals):
            value, known = function.lookup(name), self.source.lookup(name)
            if value is MISSING or value is known and name not in self.source.locals:
                continue
            own = name
            if known is not MISSING or name in self.names.taken:
                own = next((n for n, v in self.names.added.items() if v is value), "")
                own = own or self.names.new(f"{name}_of_{function.name}")
                renamed[name] = ast.Name(own, ast.Load())
            self.names.taken.add(own)
            self.names.added[own] = value
        return renamed


def _exits(node: ast.AST) -> list[ast.Return]:
    """The `return`s in a statement."""
    return [n for n in walk(node) if isinstance(n, ast.Return)]


def _always_returns(body: list[ast.stmt]) -> bool:
    """Whether no way leads to the end of a statement list."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return)


def _expression_of(node: ast.stmt) -> ast.expr | None:
    """The expression of a statement that is evaluated once, before all else that it does."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
        return node.value
    return node.test if isinstance(node, ast.If) else node.iter if isinstance(node, ast.For) else None


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of an expression in the order in which they are evaluated."""
    for child in ast.iter_child_nodes(node):
        yield from _evaluated(child)
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


def _simple(node: ast.expr) -> bool:
    """True for arguments that can stand wherever the parameter stands."""
    return isinstance(node, ast.Name | ast.Constant) or isinstance(node, ast.Attribute) and _simple(node.value)


def _counters(body: list[ast.stmt]) -> set[str]:
    """Variables of for loops that are neither assigned nor used anywhere else."""
    tree, within = ast.Module(body, []), Counter[str]()
    everywhere = _uses(tree)
    for loop in _outer_loops(tree):
        uses = _uses(loop)
        within.update({name: uses[name] for name in names_in(loop.target)})
    return {name for name, count in within.items() if count == everywhere[name]}


def _uses(node: ast.AST) -> Counter[str]:
    return Counter(n.id for n in walk(node) if isinstance(n, ast.Name))


def _outer_loops(node: ast.AST, around: frozenset[str] = frozenset()) -> Iterator[ast.For]:
    """For loops that are not within one of the same variable."""
    if isinstance(node, ast.For) and not names_in(node.target) & around:
        yield node
        around |= names_in(node.target)
    for child in ast.iter_child_nodes(node):
        yield from _outer_loops(child, around)
