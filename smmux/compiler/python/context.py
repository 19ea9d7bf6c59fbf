"""The state of one compilation, and of one function being lowered within it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build.builder import Builder
from smmux.compiler.build.numbers import Value
from smmux.compiler.python.promotion import Typing
from smmux.compiler.python.typed_values import Anything
from smmux.errors import CompileError
from smmux.source.function_source import FunctionSource

# (frame, name) of a variable, with a third item that of its flag (`assignment`); or (array, index) of an element of a
# local array
Key = tuple[Any, ...]
Env = dict[Key, Anything]
Edge = tuple[ir.Block, Env]


NO_FLOAT64 = (
    "this is float64 arithmetic, which machines below compute capability 1.3 do not have; "
    "use float32 data, or a machine such as GTX285 (smmux.gpus)"
)


class Unknown(Exception):
    """Type inference has read a variable before any definition of it was seen."""


class Widened(Exception):
    """Lowering has to begin anew: a kernel turned out to have data of 64 bits."""


@dataclass(frozen=True, slots=True)
class Note:
    """A place where compiled Numba, which computes in int64 and float64, can get another value."""

    loc: ir.Loc
    message: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.loc.filename}:{self.loc.line}:{self.loc.col}: {self.message}"


@dataclass(frozen=True, slots=True)
class Inference:
    """Types of a function's variables and of its result, for given arguments."""

    types: dict[str, Anything]
    result: Anything | None
    errors: dict[str, CompileError]
    failed: dict[str, CompileError]
    forks: dict[str, CompileError]
    parted: frozenset[str]  # names that have to be taken apart first, since their types change (`versions`)


@dataclass(slots=True, eq=False)
class LoopExits:
    """The edges on which `break` and `continue` have left a loop being lowered, with the variables of that moment."""

    breaks: list[Edge] = field(default_factory=list)
    continues: list[Edge] = field(default_factory=list)


class Context:
    """One compilation: the function being built, all live variables, all storage."""

    def __init__(
        self,
        source: FunctionSource,
        options: Any,
        in_memory: frozenset[Any] = frozenset(),
        checked: frozenset[str] = frozenset(),
        choices: Any = None,
    ) -> None:
        self.source = source
        self.options = options
        self.function = ir.Function(source.name, source.filename, line=source.node.lineno)
        self.builder = Builder(self.function)
        self.env: Env = {}
        self.notes: dict[tuple[Any, ...], Note] = {}
        self.inferred: dict[Any, Inference] = {}
        self.places: dict[ast.AST, ir.Loc] = {}
        self.stores: dict[ast.AST, int] = {}  # in the body of a loop
        self.storage: dict[Any, Any] = {}  # arrays by the place that declares them
        self.too_long: set[Any] = set()  # loops that did not fit the limit when unrolled
        self.rolled = 0  # loops emitted that stay loops
        self.outcomes: dict[Any, bool] = {}  # what comparisons give in every thread, by their predicates
        self.untaken = 0  # sides of branches around that no thread takes
        self.stored: dict[
            Any, set[tuple[object, int]]
        ] = {}  # elements of local arrays that a loop turned out to change
        self.in_memory = in_memory  # local arrays known to need memory
        self.demoted: set[Any] = set()
        self.small: set[int] = set()  # words of parameters below `signature.LARGE` in this launch
        self.checked = checked  # names of variables whose assignment is checked while the kernel runs
        self.unsure: set[str] = set()  # names of variables that are read where some path has not assigned them
        self.choices = choices  # variables that stand for several arrays (`array_choices`)
        self.typing = Typing.NARROW
        self.frames = 0
        self.dynshared = 0
        self.nothing_to_allocate: CompileError | None = None  # if no array turns out to be for `smm.alloc()`

    def has_wide_data(self) -> None:
        """Note that an array, argument or cast of 64 bits was seen: types are those of kernels that have such."""
        if self.typing is Typing.NARROW:
            raise Widened

    @property
    def dry(self) -> bool:
        """True while types are inferred."""
        return self.builder.dry

    def place(self, space: ir.Space, array_bytes: int, *, dynamic: bool = False, align: int = 4) -> int:
        """Reserve bytes of a segment, packed in order of declaration; returns their offset."""
        attribute = "dynamic_bytes" if dynamic else f"{space.value}_bytes"
        start: int = -(-getattr(self.function, attribute) // align) * align
        setattr(self.function, attribute, start + array_bytes)
        return start

    def declare(self, array: ir.Storage) -> ir.Storage:
        """Add an array to the function."""
        self.function.arrays.append(array)
        return array

    def next_index(self, space: ir.Space) -> int:
        """Number of arrays declared so far in a space."""
        return 1 + max((a.index for a in self.function.arrays if a.space is space), default=-1)


class Frame:
    """A function being lowered: a kernel, or a device function at one call."""

    def __init__(
        self, ctx: Context, source: FunctionSource, caller: Frame | None = None, call: ast.AST | None = None
    ) -> None:
        self.ctx = ctx
        self.b = ctx.builder
        self.source = source
        self.caller = caller
        self.call = call  # the call in the caller
        self.depth: int = caller.depth + 1 if caller else 0
        self.id = ctx.frames
        ctx.frames += 1
        self.fastmath: bool = not source.library and (source.fastmath or (caller.fastmath if caller else False))
        self.typing = Typing.NARROW if source.narrow else Typing.WIDE if source.library else ctx.typing
        self.narrow: bool = self.typing is Typing.NARROW  # Python's numbers have 32 bits
        self.types: dict[str, Anything] = {}
        self.first: dict[str, ast.AST] = {}  # where inference saw a variable first
        self.errors: dict[str, CompileError] = {}
        self.failed: dict[str, CompileError] = {}  # variables whose definition is in error
        self.forks: dict[str, CompileError] = {}  # variables that stand for several arrays: refused where paths join
        self.used: set[str] = set()  # variables read while inferring
        self.parted: set[str] = set()  # names found to change their types
        self.targets: dict[ast.AST, str] = {}  # calls and the variable that each is assigned to
        self.unused: set[ast.AST] = set()  # calls whose result nobody takes
        self.probed: dict[ast.AST, Anything] | None = (
            None  # types of conditional expressions, once those of names are known
        )
        self.stale = False  # one of them has since got another type
        self.result: Anything | None = None  # joined type of the returns, while inferring
        self.loops: list[LoopExits] = []
        self.returns: list[Edge] = []

    def adopt(self, inference: Inference) -> None:
        """Take over the inferred types of the variables."""
        self.types = dict(inference.types)
        self.probed = {}
        self.errors, self.failed, self.forks = inference.errors, inference.failed, inference.forks

    def error(self, node: ast.AST | None, message: str) -> CompileError:
        """An error at a place in this function's source (in a library function: at its call)."""
        if self.source.library and self.caller is not None:
            return self.caller.error(self.call, message)
        return self.source.error(node, message)

    def needs_double(self, node: ast.AST) -> None:
        """Refuse float64 arithmetic for a machine that has none."""
        if not self.ctx.options.float64:
            raise self.error(node, NO_FLOAT64)

    def at(self, node: ast.AST) -> None:
        """Attribute the instructions emitted from here on to a node."""
        if not self.b.dry:
            self.b.loc = self.loc(node)

    def loc(self, node: ast.AST) -> ir.Loc:
        """The place of a node; functions of other files are attributed to their call."""
        if self.caller is not None and self.call is not None and self.source.filename != self.ctx.source.filename:
            return self.caller.loc(self.call)
        found = self.ctx.places.get(node)
        if found is None:
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
            found = self.ctx.places[node] = ir.Loc(self.source.filename, line, column)
        return found

    def note(self, node: ast.AST, message: str) -> None:
        """Record a place where compiled Numba can differ."""
        if not self.ctx.dry and not self.source.library:
            loc = self.loc(node)
            text = self.source.line(loc.line).strip() if loc.filename == self.source.filename else ""
            self.ctx.notes.setdefault((loc, message), Note(loc, message, text))

    def key(self, name: str) -> Key:
        """The key of a variable of this function among all live variables."""
        return (self.id, name)

    def active(self, source: FunctionSource) -> bool:
        """True if a function is being inlined already."""
        return (self.source.original or self.source).node is (source.original or source).node or (
            self.caller is not None and self.caller.active(source)
        )

    @contextmanager
    def inferring(self) -> Iterator[None]:
        """Walk without emitting anything, to infer types."""
        before, loc = self.b.dry, self.b.loc
        self.b.dry = True
        try:
            yield
        finally:
            self.b.dry, self.b.loc = before, loc

    @contextmanager
    def on_side(self, condition: Value, truth: bool) -> Iterator[None]:
        """Lower what stands where a condition is true, or false."""
        untaken = self.ctx.outcomes.get(condition.operand, truth) != truth
        self.ctx.untaken += untaken
        try:
            yield
        finally:
            self.ctx.untaken -= untaken
