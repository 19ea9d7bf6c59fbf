"""Arrays of `smmux.cuda` on the host's side: device arrays are NumPy arrays, and stay where they are.

>>> import numpy as np
>>> device = to_device(np.arange(6).reshape(2, 3))
>>> int(device.sum()), device[1].copy_to_host().tolist()
(15, [3, 4, 5])
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "DeviceNDArray",
    "Hint",
    "In",
    "InOut",
    "Out",
    "as_cuda_array",
    "device_array",
    "device_array_like",
    "from_cuda_array_interface",
    "is_cuda_array",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "to_device",
]


class DeviceNDArray(np.ndarray[Any, Any]):
    """A NumPy array with the methods of Numba's device arrays.

    What NumPy computes of it are plain arrays and numbers; parts of it are device arrays.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """A result of NumPy's functions: a number where it has no axis."""
        plain = np.asarray(array)
        return plain[()] if plain.ndim == 0 else plain

    _turned = False  # whether it is a transposed array, or a part of one

    def __array_finalize__(self, obj: Any) -> None:
        self._turned = getattr(obj, "_turned", False)

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes in another order: a view."""
        made = super().transpose(*axes)
        made._turned = True
        return made

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order: a view."""
        return self.transpose()

    def __bool__(self) -> bool:
        """Whether there are elements, as in Numba, where code tells so an array from None; of truth values NumPy's."""
        if self.ndim == 0 or self.dtype.kind == "b":
            return bool(np.asarray(self))
        return len(self) > 0

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = 0) -> NDArray[Any]:
        """A copy as a plain array, or a copy into `ary`."""
        if ary is None:
            return np.array(self, subok=False)
        _copy(ary, self)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrite with the elements of `ary`."""
        _copy(self, np.asarray(ary))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Place and type, as other libraries read them of device arrays: in the memory of this computer."""
        strides = None if self.flags.c_contiguous else self.strides
        address = self.__array_interface__["data"][0] if self.size else 0
        data = address, not self.flags.writeable
        return {**self.__array_interface__, "data": data, "version": 3, "strides": strides, "stream": None}

    @property
    def stream(self) -> int:
        """The default stream: launches are synchronous."""
        return 0

    @property
    def alloc_size(self) -> int:
        """Bytes of the elements."""
        return self.nbytes

    def is_c_contiguous(self) -> bool:
        """Whether rows lie one behind the other."""
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Whether columns lie one behind the other."""
        return self.flags.f_contiguous

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """self[item]"""
        return self[item]

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """self[key] = value"""
        self[key] = value

    def split(self, section: int, stream: Any = 0) -> Iterator[Any]:
        """Parts of so many elements of a one-dimensional array; the last one may be shorter."""
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The array itself: launches are synchronous, whatever their stream."""
        return self


def _copy(to: Any, source: NDArray[Any]) -> None:
    """Copy between arrays of one shape and type, as device copies do."""
    if to.shape != source.shape:
        raise ValueError(f"incompatible shape: {to.shape} vs. {source.shape}")
    if to.dtype != source.dtype:
        raise TypeError(f"incompatible dtype: {to.dtype} vs. {source.dtype}; use .astype")
    np.copyto(to, source)


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceNDArray | None = None) -> DeviceNDArray:
    """A copy of an array, or of its elements into `to`."""
    if to is not None:
        if copy:
            _copy(to, np.asarray(obj))
        return to
    lent = obj.copy() if isinstance(obj, np.void) else obj  # a record, of which np.array makes a view
    made = np.array(lent) if copy else np.empty_like(obj, subok=False)
    return made.view(DeviceNDArray)


def device_array(
    shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: Any = "C", stream: Any = 0
) -> DeviceNDArray:
    """A new array with undefined elements (zeros)."""
    dtype = np.dtype(dtype)
    if strides is None:
        return np.zeros(shape, dtype, order).view(DeviceNDArray)
    shape, strides = np.atleast_1d(shape), np.atleast_1d(strides)
    if shape.size and (strides < 0).any():
        raise ValueError("strides of a new array cannot be negative")
    last = int(((shape - 1) * strides).sum()) + dtype.itemsize if shape.all() else 0
    memory = np.zeros(last, np.uint8)
    return np.ndarray(tuple(shape), dtype, memory, strides=tuple(strides)).view(DeviceNDArray)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """A new array of the shape, type and order of another."""
    return _like(ary).view(DeviceNDArray)


def _like(ary: Any) -> NDArray[Any]:
    """A contiguous array with Numba's order of axes: by their strides, as NumPy has it of positive ones.

    Transposing a device array makes one in C order there; here it makes a view, of which that is made up for.
    """
    ary = np.asanyarray(ary)
    if isinstance(ary, DeviceNDArray) and ary._turned:
        return np.zeros(ary.shape, ary.dtype)
    if ary.ndim < 2 or ary.flags.c_contiguous or ary.flags.f_contiguous:
        return np.zeros_like(ary, order="K", subok=False)
    outer = sorted(range(ary.ndim), key=lambda axis: ary.strides[axis])[::-1]
    return np.zeros([ary.shape[axis] for axis in outer], ary.dtype).transpose(np.argsort(outer))


def pinned_array(shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: Any = "C") -> NDArray[Any]:
    """A new array of the host."""
    return device_array(shape, dtype, strides, order).view(np.ndarray)


def pinned_array_like(ary: Any) -> NDArray[Any]:
    """A new array of the host, of the shape, type and order of another."""
    return _like(ary)


def mapped_array(
    shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: Any = "C", **_: Any
) -> DeviceNDArray:
    """A new array that host and device share."""
    return device_array(shape, dtype, strides, order)


def mapped_array_like(ary: Any, **_: Any) -> DeviceNDArray:
    """A new array that host and device share, of the shape, type and order of another."""
    return device_array_like(ary)


managed_array = mapped_array


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Do nothing around the statements under `with`: arrays stay where they are."""
    yield


@contextmanager
def mapped(*arylist: Any, **_: Any) -> Iterator[Any]:
    """The arrays as device arrays of the same memory."""
    views = [as_cuda_array(ary) for ary in arylist]
    yield views[0] if len(views) == 1 else views


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """The array itself, with the methods of a device array."""
    if not isinstance(obj, np.ndarray) and hasattr(obj, "__cuda_array_interface__"):
        obj = _Lent(obj)
    return np.asarray(obj).view(DeviceNDArray)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """The array that the words of another library's device array describe."""
    return as_cuda_array(_Lent(SimpleNamespace(__cuda_array_interface__=desc, owner=owner)))


def is_cuda_array(obj: Any) -> bool:
    """Whether an object is a device array, of this or of another library."""
    return hasattr(obj, "__cuda_array_interface__")


def passed(argument: Any) -> Any:
    """An argument of a launch as the kernel gets it: hints, and arrays of other libraries, become arrays."""
    if isinstance(argument, Hint):
        return argument.passed()
    if isinstance(argument, enum.Enum):
        return argument.value
    if hasattr(argument, "__cuda_array_interface__") and not isinstance(argument, np.ndarray):
        return as_cuda_array(argument)
    if isinstance(argument, np.ndarray) and argument.ndim == 0 and argument.dtype.names is not None:
        return argument[()]  # a record, in the same memory
    return argument


class _Lent:
    """An object that describes its elements as device arrays do, in words that NumPy reads."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        words = ("shape", "typestr", "data", "strides", "version", "descr")
        self.__array_interface__ = {k: v for k, v in owner.__cuda_array_interface__.items() if k in words}


class Hint:
    """An argument of a launch with the direction in which it is copied."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def passed(self) -> Any:
        """The array that the kernel gets."""
        return self.value


class In(Hint):
    """An array that is not copied back: what the kernel stores in it is lost."""

    def passed(self) -> Any:
        """A copy."""
        return np.array(self.value)


class Out(Hint):
    """An array whose elements the kernel does not need."""


class InOut(Hint):
    """An array that is copied both ways, as without the word."""
