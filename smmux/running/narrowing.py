"""Launches whose 64-bit arrays and numbers are 32 bits wide on the machine, for those who want the speed.

>>> import numpy as np
>>> import warnings
>>> from smmux import cuda
>>> @cuda.jit
... def third(a):
...     a[cuda.grid(1)] /= 3
>>> a = np.ones(32)
>>> with warnings.catch_warnings(action="ignore"), narrow():
...     third[1, 32](a)
>>> float(a[0]) == float(np.float32(1) / np.float32(3))
True
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.base.settings import setting
from smmux.base.tracebacks import frames_to_caller
from smmux.errors import LaunchError
from smmux.language.placement import extent, root
from smmux.language.types import ArrayAnnotation, FunctionType, Scalar, TupleAnnotation
from smmux.running.arguments import memory_of

__all__ = ["NarrowWarning", "for_launch", "narrow", "narrowed_signatures"]

NARROWER = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}

_active = setting(__name__, "narrow", False)


class NarrowWarning(UserWarning):
    """Arguments of 64 bits were passed with 32."""


@contextmanager
def narrow() -> Iterator[None]:
    """Under `with`, all launches pass arguments of 64 bits with 32, as `simulate(..., narrow=True)` does for one."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def for_launch(wanted: bool, args: Sequence[Any], names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The arguments of a launch, with 32 bits in place of 64 if that is wanted; arrays get their results at the end."""
    if not (wanted or _active.get()) or not isinstance(args, tuple | list):
        yield args
        return
    work = _Narrowing()
    values = tuple(
        work.value(value, names[i] if i < len(names) else str(i + 1)) for i, value in enumerate(args)
    )  # fmt: skip
    if work.changed:
        message = f"{', '.join(work.changed)}: 64-bit arguments are computed with 32 bits, as narrow asks for"
        warnings.warn(message, NarrowWarning, stacklevel=frames_to_caller())
    token = _active.set(True)
    try:
        yield values
    finally:
        _active.reset(token)
        work.write_back()


def narrowed_signatures(declared: Sequence[FunctionType]) -> Sequence[FunctionType]:
    """The signatures of a kernel with 32-bit types in place of those of 64, under `narrow`."""
    if not _active.get():
        return declared
    return [FunctionType(one.returns, tuple(map(_narrower, one.arguments))) for one in declared]


def _narrower(declared: Any) -> Any:
    """A declared type with 32 bits where it has 64."""
    if isinstance(declared, Scalar):
        return Scalar(NARROWER.get(declared.name, declared.name))
    if isinstance(declared, ArrayAnnotation):
        return ArrayAnnotation(_narrower(declared.element), declared.ndim, declared.layout)
    if isinstance(declared, TupleAnnotation):
        return TupleAnnotation(tuple(map(_narrower, declared.items)))
    return declared


class _Narrowing:
    """The arguments of one launch; changed: the names of those that are passed with fewer bits."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self._buffers: dict[tuple[int, str], _Buffer] = {}

    def value(self, value: Any, name: str) -> Any:
        """An argument with 32 bits where it has 64."""
        if isinstance(value, tuple):
            return tuple(self.value(item, f"{name}[{i}]") for i, item in enumerate(value))
        if isinstance(value, np.generic):
            return self._number(value, name)
        if not hasattr(value, "__array_interface__"):
            return value
        array = np.asarray(value)
        if array.dtype.name not in NARROWER:
            return value
        self.changed.append(f"{name} ({array.dtype.name})")
        whole = root(array)
        key = extent(whole)[0], array.dtype.str
        if key not in self._buffers:
            self._buffers[key] = _Buffer(whole, array.dtype, name)
        return self._buffers[key].view(array)

    def _number(self, value: Any, name: str) -> Any:
        dtype = value.dtype.name
        if dtype not in NARROWER:
            return value
        self.changed.append(f"{name} ({dtype})")
        return _converted(np.asarray(value), name)[()]

    def write_back(self) -> None:
        """Store what the kernel has changed in the arrays of 64 bits."""
        for buffer in self._buffers.values():
            buffer.write_back()


class _Buffer:
    """The memory of an array as elements of its own type (`wide`), and as elements of half as many bits (`narrow`)."""

    def __init__(self, whole: NDArray[Any], dtype: np.dtype[Any], name: str) -> None:
        low, high = extent(whole)
        self.low, self.writeable = low, whole.flags.writeable
        self.wide = memory_of(whole, low, (high - low) // dtype.itemsize, dtype)
        self.narrow = _converted(self.wide, name)
        self.before = self.narrow.copy()

    def view(self, array: NDArray[Any]) -> NDArray[Any]:
        """The same view of the narrow elements as an array is of the wide ones."""
        offset, rest = divmod(array.ctypes.data - self.low, array.itemsize)
        if rest or any(stride % array.itemsize for stride in array.strides):
            raise LaunchError("an array whose elements overlap those of its buffer cannot be narrowed; copy it first")
        if not array.size:
            return np.empty(array.shape, self.narrow.dtype)
        strides = tuple(stride // array.itemsize * self.narrow.itemsize for stride in array.strides)
        made = np.ndarray(array.shape, self.narrow.dtype, self.narrow, offset * self.narrow.itemsize, strides)
        made.flags.writeable = array.flags.writeable
        return made

    def write_back(self) -> None:
        """Store the elements whose bits have changed; the others keep all of theirs."""
        words = self.narrow.itemsize // 4
        new, old = (part.view(np.uint32).reshape(-1, words) for part in (self.narrow, self.before))
        changed = (new != old).any(axis=1)
        if changed.any():
            self.wide[changed] = self.narrow[changed]


def _converted(wide: NDArray[Any], name: str) -> NDArray[Any]:
    """Elements with 32 bits in place of 64; what does not fit is refused."""
    with np.errstate(over="ignore"):
        narrow = wide.astype(NARROWER[wide.dtype.name])
    if wide.dtype.kind in "iu":
        lost = narrow.astype(wide.dtype) != wide
    else:
        lost = np.isinf(narrow) & ~np.isinf(wide)
    if lost.any():
        value = wide[lost].flat[0]
        raise LaunchError(f"argument {name!r} holds {value}, which does not fit {narrow.dtype}: leave out narrow")
    return narrow
