"""A kernel's text run as plain Python, thread by thread, on the numbers of `python_numbers`.

Python itself does control flow, unpacking, scopes, evaluation order and short cuts. Before it runs, each barrier
becomes a `yield`, so that threads take turns, and an assignment to a variable converts to the type that its name begins
with.
"""

from __future__ import annotations

import ast
import linecache
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from tests.numba import python_numbers as numbers
from tests.numba.python_numbers import KINDS, Number

RAISED = (IndexError, ZeroDivisionError, UnboundLocalError)
"""What a kernel may raise while it runs."""


class OutsideAxis(IndexError):
    """An index outside its axis with which the machine may find memory all the same, so that only `check="bounds"` is
    sure to notice: another element of the array, or of an array beside it."""


class Array:
    """An array: bounds are checked axis by axis, and elements are read and written in their types.

    whole: the array of which this one is a part. beside: the arrays with which it lies in one piece of memory: those of
    the thread, or those of the block.
    """

    def __init__(
        self, data: NDArray[Any], beside: list[NDArray[Any]] | None = None, whole: NDArray[Any] | None = None
    ) -> None:
        self.data = data
        self.whole = data if whole is None else whole
        self.beside: list[NDArray[Any]] = [] if beside is None else beside
        if whole is None:
            self.beside.append(data)

    def _place(self, index: Any) -> tuple[int | slice, ...]:
        items = index if isinstance(index, tuple) else (index,)
        along = list(zip(items, self.data.shape, strict=False))
        place = tuple(
            self._slice(item) if isinstance(item, slice) else self._from_start(operator.index(item), extent)
            for item, extent in along
        )
        if all(isinstance(i, slice) or 0 <= i < extent for i, (_, extent) in zip(place, along, strict=True)):
            return place
        raise OutsideAxis if self._in_memory(place) else IndexError

    @staticmethod
    def _from_start(i: int, extent: int) -> int:
        return i + extent if i < 0 else i

    @staticmethod
    def _slice(item: slice) -> slice:
        return slice(*(None if e is None else operator.index(e) for e in (item.start, item.stop, item.step)))

    def _in_memory(self, place: tuple[int | slice, ...]) -> bool:
        """Whether an element may be where the arrays of this memory are, in whatever order they lie."""
        first = self.data.ctypes.data
        first += sum(i * step for i, step in zip(place, self.data.strides, strict=False) if not isinstance(i, slice))
        low, high = byte_bounds(self.whole)
        others = sum(array.nbytes for array in self.beside) - self.whole.nbytes
        return low - others <= first < high + others

    def __getitem__(self, index: Any) -> Any:
        try:
            value = self.data[self._place(index)]
        except IndexError as error:
            items = index if isinstance(index, tuple) else (index,)
            inside = self.data[tuple(self._slice(item) if isinstance(item, slice) else 0 for item in items)]
            value = np.full(inside.shape, Number.instead_of(error), self.data.dtype)[()]
        if isinstance(value, np.ndarray):
            return Array(value, self.beside, self.whole)
        narrow = value.dtype.kind in "iu" and value.dtype.itemsize < 4
        return Number(np.int32(value)) if narrow else Number(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[self._place(index)] = numbers.cast(value, self.data.dtype).value

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterable[Any]:
        return (self[i] for i in range(len(self.data)))

    @property
    def T(self) -> Array:
        """The transposed array."""
        return Array(self.data.T, self.beside, self.whole)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.data.shape

    @property
    def size(self) -> int:
        """Its number of elements."""
        return self.data.size

    @property
    def ndim(self) -> int:
        """Its number of axes."""
        return self.data.ndim


class Scalar:
    """A type: a cast, or the type of an array's elements."""

    def __init__(self, name: str) -> None:
        self.dtype = np.dtype(name)

    def __call__(self, x: Any) -> Number:
        dtype = self.dtype if self.dtype.kind not in "iu" or self.dtype.itemsize >= 4 else np.dtype(np.int32)
        return Number(dtype.type(numbers.cast(x, self.dtype).value))


@dataclass
class Position:
    """The names of numba.cuda, for one thread."""

    block: int
    thread: int
    grid_size: int
    block_size: int
    shared: dict[int, Array]
    shared_memory: list[NDArray[Any]]
    made: int = 0

    def __post_init__(self) -> None:
        space = type("Space", (), {})
        self.threadIdx, self.blockIdx, self.blockDim, self.gridDim = (space() for _ in range(4))
        values = (self.thread, self.block, self.block_size, self.grid_size)
        for where, value in zip((self.threadIdx, self.blockIdx, self.blockDim, self.gridDim), values, strict=True):
            where.x = Number(np.int32(value)) if Number.narrow else value
        self.local, self.atomic = space(), space()
        local_memory: list[NDArray[Any]] = []
        self.local.array = lambda shape, dtype: Array(np.zeros(shape, dtype.dtype), local_memory)
        self.atomic.add = lambda array, index, value: self._update(array, index, value, operator.add)
        self.atomic.max = lambda array, index, value: self._update(array, index, value, numbers.largest)
        self.atomic.min = lambda array, index, value: self._update(array, index, value, numbers.smallest)

    def grid(self, axes: int) -> Any:
        """The thread's number in the grid."""
        index = self.block * self.block_size + self.thread
        return Number(np.int32(index)) if Number.narrow else index

    def shared_array(self, shape: Any, dtype: Scalar) -> Array:
        """An array of the block: the n-th that each thread asks for."""
        self.made += 1
        if self.made not in self.shared:
            self.shared[self.made] = Array(np.zeros(shape, dtype.dtype), self.shared_memory)
        return self.shared[self.made]

    @staticmethod
    def selp(condition: Any, a: Any, b: Any) -> Any:
        """a if condition else b"""
        return a if condition else b

    @staticmethod
    def _update(array: Array, index: Any, value: Any, function: Callable[[Any, Any], Any]) -> Any:
        old = array[index]
        array[index] = function(old, numbers.cast(value, array.data.dtype))
        return old


class Threads:
    """What `cuda` means in the text: the names of the thread whose turn it is."""

    now: Position

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)

    @property
    def shared(self) -> Any:
        """cuda.shared"""
        space = type("Space", (), {})()
        space.array = self.now.shared_array
        return space

    @staticmethod
    def jit(function: Any = None, **_: Any) -> Any:
        """Kernels and device functions stay functions."""
        return function if callable(function) else lambda function: function


class Rewriter(ast.NodeTransformer):
    """Barriers become yields, and assignments to typed variables conversions."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if ast.unparse(node.value) == "cuda.syncthreads()":
            return ast.copy_location(ast.Expr(ast.Yield()), node)
        return self.generic_visit(node)

    def _converted(self, target: ast.expr, value: ast.expr) -> ast.expr:
        if not (isinstance(target, ast.Name) and target.id[0] in KINDS and target.id[1:].isdigit()):
            return value
        call = ast.Call(ast.Name("typed_", ast.Load()), [ast.Constant(target.id[0]), value], [])
        return ast.copy_location(call, value)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._converted(node.targets[0], node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        assert node.value is not None
        node.value = self._converted(node.target, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        node.value = self._converted(node.target, node.value)
        return node


def typed(kind: str, value: Any) -> Any:
    """The value of a variable of a type; a typed number of another one is a fault of the generator."""
    assert not isinstance(value, Number) or value.value.dtype in (KINDS[kind], np.bool_), (kind, value)
    return value if isinstance(value, Number) and value.value.dtype == KINDS[kind] else numbers.cast(value, KINDS[kind])


NAMES: dict[str, Any] = {
    "min": numbers.smallest,
    "max": numbers.largest,
    "range": numbers.counting,
    "typed_": typed,
    **{name: Scalar(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
    **{name: Scalar(name) for name in ("float16", "float32", "float64", "complex64", "complex128", "bool")},
}


def compiled(text: str, filename: str = numbers.TEXT) -> dict[str, Any]:
    """The names that the text defines."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    tree = ast.fix_missing_locations(Rewriter().visit(tree))
    linecache.cache.pop(filename, None)
    module: dict[str, Any] = {**NAMES, "cuda": Threads(), "math": numbers.Mathematics, "np": np}
    exec(compile(tree, filename, "exec"), module)
    return module


def run(module: dict[str, Any], grid: int, block: int, arguments: list[Any]) -> set[str]:
    """Run the kernel; arrays are written in place. Returns the names of what threads raised. A block ends with the
    stretch between barriers in which one of its threads raises: what the others would find then is not defined. The
    other blocks go on, since a machine may have them before it."""
    everything: set[str] = set()
    Number.narrow = not any(isinstance(value, np.ndarray) and value.itemsize >= 8 for value in arguments)
    arguments = [_argument(value) for value in arguments]
    with np.errstate(all="ignore"):
        for b in range(grid):
            shared: dict[int, Array] = {}
            memory: list[NDArray[Any]] = []
            raised: set[str] = set()
            live = [_Thread(module, Position(b, t, grid, block, shared, memory), arguments) for t in range(block)]
            while live and not raised:
                live = [thread for thread in live if thread.step(raised)]
            everything |= raised
    return everything


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Array(value)
    if isinstance(value, int):
        return Number(np.int32(value)) if Number.narrow else value
    return Number(value)


class _Thread:
    """One thread of the kernel: a generator if the kernel has barriers."""

    def __init__(self, module: dict[str, Any], position: Position, arguments: list[Any]) -> None:
        self.cuda, self.position = module["cuda"], position
        self.start: Callable[[], Any] = lambda: module["kernel"](*arguments)
        self.rest: Any = None

    def step(self, raised: set[str]) -> bool:
        """Run to the next barrier or the end; False at the end."""
        self.cuda.now = self.position
        try:
            if self.rest is None:
                self.rest = self.start()
                if self.rest is None:
                    return False
            next(self.rest)
            return True
        except StopIteration:
            return False
        except RAISED as error:
            raised.add(type(error).__name__)
            return False
