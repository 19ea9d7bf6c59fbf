"""Writes a kernel as a complete Python file: imports, captured constants, device functions, the kernel itself.

The file needs Numba and nothing of smmux. Names are kept, and so are the spelling and the comments of statements that
no pass has changed; where two functions mean different things by a global name, the later one gets another.
"""

from __future__ import annotations

import ast
import builtins
import copy
import enum
import itertools
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smmux import cuda
from smmux.base import parsing
from smmux.base.deep import deep
from smmux.base.parsing import expression
from smmux.base.trees import copied
from smmux.language.types import Scalar
from smmux.rewriting.build import at
from smmux.rewriting.vocabulary import calls
from smmux.source import constants
from smmux.source.attributes import peek
from smmux.source.function_source import MISSING, FunctionSource

INDENT = "    "
WIDTH = 120


@deep
def listing(source: FunctionSource) -> str:
    """The text of a kernel with all it needs."""
    program = Program()
    program.function(source)
    return program.text()


@dataclass
class Program:
    """A file in the making: what each global name stands for, and the lines that define it."""

    names: dict[str, Any] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)  # import x
    members: dict[str, set[str]] = field(default_factory=dict)  # from x import y
    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    written: dict[FunctionSource, str] = field(default_factory=dict)

    def text(self) -> str:
        """The file."""
        numpy = {line for line in self.imports if line.startswith("import numpy")}
        standard = sorted(self.imports - numpy)
        others = sorted(numpy)
        for module in sorted(self.members):
            line = f"from {module} import {', '.join(sorted(self.members[module]))}"
            (standard if module == "math" else others).append(line)
        parts = ["\n".join(lines) for lines in (standard, others, self.constants) if lines]
        return "\n\n".join(parts) + "\n\n\n" + "\n\n".join(self.functions)

    def function(self, source: FunctionSource) -> str:
        """Write a function, after those that it calls; its name in the file."""
        if source in self.written:
            return self.written[source]
        self.module("cuda", cuda)
        tree = _Flattener(self, source).visit(copied(source.node))
        name = self.written[source] = tree.name = self.claim(source.name, source)
        # A device function is part of its caller, as for smmux: a call that is written once per virtual block must not
        # stop the card's compiler from inlining it, or arrays given to it leave the registers.
        device = ("device=True", 'inline="always"') if source.device else ()
        options = [*device, *(("fastmath=True",) if source.fastmath else ())]
        decorator = f"@cuda.jit({', '.join(options)})" if options else "@cuda.jit"
        self.functions.append(f"{decorator}\n{Printer(source).function(tree)}")
        return name

    def claim(self, wish: str, value: Any) -> str:
        """A global name for an object: the wish, or with a number behind it if that means something else."""
        wanted = itertools.chain([wish], (f"{wish}_{i}" for i in itertools.count(2)))
        name = next(n for n in wanted if n not in self.names or same(self.names[n], value))
        self.names[name] = value
        return name

    def constant(self, wish: str, value: Any) -> str | None:
        """A name for a captured constant, None if it cannot be written down."""
        text = self.literal(value)
        if text is None:
            return None
        known = wish in self.names and same(self.names[wish], value)
        name = self.claim(wish, value)
        if not known:
            self.constants.append(f"{name} = {text}")
        return name

    def literal(self, value: Any) -> str | None:
        """A constant as an expression."""
        if isinstance(value, enum.Enum):
            return self.literal(value.value)
        if type(value) is float:
            return repr(value) if np.isfinite(value) else f'float("{value}")'
        if type(value) is complex:  # its own text forgets the signs of zeros
            return f"complex({self.literal(value.real)}, {self.literal(value.imag)})"
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        if isinstance(value, tuple):
            items = [self.literal(item) for item in value]
            if any(item is None for item in items):
                return None
            return f"({', '.join(map(str, items))}{',' * (len(items) == 1)})"
        if isinstance(value, np.generic):
            return f"{self.module('np', np)}.{value.dtype.name}({self.literal(value.item())})"
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            numpy = self.module("np", np)
            return f"{numpy}.array({self.elements(value.tolist())}, {numpy}.{value.dtype.name})"
        return None

    def elements(self, value: Any) -> str:
        """The elements of an array, a list of each axis."""
        return f"[{', '.join(map(self.elements, value))}]" if isinstance(value, list) else str(self.literal(value))

    def module(self, wish: str, module: types.ModuleType) -> str:
        """Import a module; its name in the file."""
        if module is cuda:
            return self.member("numba", "cuda", wish, cuda)
        name, path = self.claim(wish, module), module.__name__
        self.imports.add(f"import {path}" if name == path else f"import {path} as {name}")
        return name

    def member(self, module: str, attribute: str, wish: str, value: Any) -> str:
        """Import an object from a module; its name in the file."""
        name = self.claim(wish, value)
        self.members.setdefault(module, set()).add(attribute if name == attribute else f"{attribute} as {name}")
        return name


def same(a: Any, b: Any) -> bool:
    """Whether two captured objects can share a name."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return (constants.number(a) or type(a) is str or isinstance(a, np.generic)) and repr(a) == repr(b)


def _of_cuda() -> Iterator[tuple[str, Any]]:
    """What `cuda` has, with its name there: of its namespaces, such as cuda.shared, the members too."""
    for name, value in vars(cuda).items():
        if not name.startswith("_"):
            yield name, value
            if isinstance(value, type) and value in (cuda.shared, cuda.local, cuda.const, cuda.atomic):
                yield from ((f"{name}.{n}", getattr(value, n)) for n in vars(value) if not n.startswith("_"))


class _Flattener(ast.NodeTransformer):
    """Makes the global names of one function those of the file."""

    def __init__(self, program: Program, source: FunctionSource) -> None:
        self.program, self.source = program, source

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [self.visit(s) for s in node.body]
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        optional = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        texts = [self.program.literal(self.source.defaults.get(argument.arg)) for argument in optional]
        node.args.defaults = [expression(t) if t else d for t, d in zip(texts, node.args.defaults, strict=True)]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        value = self.visit(node.value) if node.value is not None else None
        return ast.copy_location(ast.Assign([node.target], value) if value is not None else ast.Pass(), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.chain(node, [])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attributes: list[ast.Attribute] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root)
            root = root.value
        if isinstance(root, ast.Name):
            return self.chain(root, attributes)
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        declared = calls(self.source, node, (cuda.shared.array, cuda.local.array))
        self.generic_visit(node)
        if declared:
            node.args[:1] = map(self.extents, node.args[:1])
            for keyword in node.keywords:
                keyword.value = self.extents(keyword.value) if keyword.arg == "shape" else keyword.value
        return node

    def extents(self, shape: ast.expr) -> ast.expr:
        """The shape of an array, computed: on a card Numba takes numbers and names of them, and no sums."""
        if isinstance(shape, ast.Tuple):
            shape.elts = [self.extents(item) for item in shape.elts]
        elif isinstance(shape, ast.BinOp):
            try:
                value = constants.evaluate(shape, self.constant)
            except (ArithmeticError, TypeError, ValueError) as reason:
                raise self.source.error(shape, f"constant expression: {reason}") from None
            return ast.copy_location(ast.Constant(value), shape) if value is not None else shape
        return shape

    def constant(self, name: str) -> Any:
        """The number that a name of the file stands for, or some other object, or None."""
        value = self.program.names.get(name)
        return value.item() if isinstance(value, np.integer) else value

    def chain(self, root: ast.Name, attributes: list[ast.Attribute]) -> ast.expr:
        """A name with attributes: its shortest captured part that the file can name becomes that name."""
        whole = attributes[-1] if attributes else root
        if root.id in self.source.locals:
            return whole
        for i, prefix in enumerate([root, *attributes]):
            value = self.source.resolve(prefix)
            if value is MISSING:
                break
            wish = "_".join([root.id, *(a.attr for a in attributes[:i])])
            name = self.named(wish, prefix, value, whole=prefix is whole)
            if name is None:
                continue
            new = at(expression(name), prefix)
            if prefix is whole:
                return new
            attributes[i].value = new
            break
        return whole

    def named(self, wish: str, prefix: ast.expr, value: Any, whole: bool) -> str | None:
        """The file's name for a captured object, None for one that has to be reached through its attributes.

        whole: it is the object itself that the kernel uses, and not an attribute of it.
        """
        program = self.program
        last = prefix.attr if isinstance(prefix, ast.Attribute) else wish
        if isinstance(prefix, ast.Name) and getattr(builtins, prefix.id, MISSING) is value:
            return prefix.id
        if isinstance(value, types.ModuleType):
            known = value is cuda or value.__name__ in ("math", "numpy")
            return program.module(last, value) if known or whole else None
        if isinstance(definition := peek(value, "definition"), FunctionSource):
            return program.function(definition)
        if isinstance(value, Scalar):
            numba = "numba.types" if value.name == "float16" else "numba"  # which has all names but this one
            return program.member(numba, value.name, last, value)
        while wish in self.source.locals:
            wish += "_"
        if (text := program.constant(wish, value)) is not None:
            return text
        if (found := next((n for n, v in _of_cuda() if v is value), None)) is not None:
            return f"{program.module('cuda', cuda)}.{found}"  # the simulator knows no other spelling
        if (found := next((n for n, v in vars(np).items() if v is value and not n.startswith("_")), None)) is not None:
            return program.member("numpy", found, last, value)
        module = peek(value, "__module__")
        if whole and isinstance(module, str) and peek(value, "__name__") and not module.startswith("smmux"):
            return program.member(module, value.__name__, last, value)
        return None


class Printer:
    """Prints statements of one file, unchanged ones as their author wrote them."""

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.printed: set[int] = set()  # lines of the file whose comments are out

    def function(self, tree: ast.FunctionDef) -> str:
        """A function, without its decorators."""
        head = copy.copy(tree)
        head.body, head.decorator_list = [ast.Pass()], []
        lines = ast.unparse(head).splitlines()[:-1]
        return "\n".join([*lines, *self.block(tree.body, 1)]) + "\n"

    def block(self, body: list[ast.stmt], depth: int) -> list[str]:
        """A statement list."""
        lines: list[str] = []
        for i, node in enumerate(body):
            if i:
                lines += self.before(node, depth)
            lines += self.statement(node, depth)
        return lines

    def statement(self, node: ast.stmt, depth: int) -> list[str]:
        """A statement and what is in it."""
        indent = INDENT * depth
        if isinstance(node, ast.For):
            head = f"for {self.text(node.target)} in {self.text(node.iter)}"
        elif isinstance(node, ast.If | ast.While):
            head = f"{'if' if isinstance(node, ast.If) else 'while'} {self.text(node.test)}"
        else:
            return [indent + line if line else "" for line in self.simple(node, WIDTH - len(indent)).splitlines()]
        lines = [f"{indent}{head}:", *self.block(node.body, depth + 1)]
        if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            rest = self.statement(node.orelse[0], depth)
            return [*lines, f"{indent}el{rest[0].lstrip()}", *rest[1:]]
        return [*lines, f"{indent}else:", *self.block(node.orelse, depth + 1)] if node.orelse else lines

    def simple(self, node: ast.stmt, width: int) -> str:
        """A statement without others in it."""
        if (text := self.original(node)) is not None:
            return text
        if isinstance(node, ast.Assign):
            targets = "".join(f"{self.text(t)} = " for t in node.targets)
            if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
                return targets.replace("(", "").replace(")", "") + ", ".join(self.text(v) for v in node.value.elts)
            return targets + self.text(node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return '"""' + "\n".join(textwrap.wrap(node.value.value, width - 6)) + '"""'
        return ast.unparse(node)

    def text(self, node: ast.expr) -> str:
        """An expression."""
        return self.original(node) or ast.unparse(node)

    def original(self, node: ast.stmt | ast.expr) -> str | None:
        """How the user's file spells a node, if the node is still what stands there."""
        start, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not 0 < start <= last or node.end_col_offset is None:
            return None
        lines = [self.source.line(n).rstrip("\n").encode() for n in range(start, last + 1)]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        text = b"\n".join(lines).decode(errors="replace")
        try:
            parsed = parsing.module(text).body if isinstance(node, ast.stmt) else [expression(f"({text})")]
        except (SyntaxError, ValueError):
            return None
        if [_plain(part) for part in parsed] != [_plain(node)]:
            return None
        first, *rest = text.splitlines()
        return "\n".join([first, *(line[min(node.col_offset, len(line) - len(line.lstrip())) :] for line in rest)])

    def before(self, node: ast.stmt, depth: int) -> Iterator[str]:
        """Blank line and comments that stand in front of a statement in the user's file, the first time."""
        number = getattr(node, "lineno", 0) - 1
        comments: list[str] = []
        while number > 0 and self.source.line(number).strip().startswith("#"):
            comments.insert(0, INDENT * depth + self.source.line(number).strip())
            number -= 1
        if number + 1 in self.printed or number <= self.source.node.lineno:
            return
        if comments or not self.source.line(number).strip():
            self.printed.add(number + 1)
            if self.source.line(number) and not self.source.line(number).strip():
                yield ""
            yield from comments


def _plain(node: ast.AST) -> str:
    """A tree as text, without places, and with all names and elements as if they were loaded."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")
