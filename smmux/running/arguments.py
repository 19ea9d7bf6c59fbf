"""Arguments of a kernel as the core takes them: parameter words, and the bytes of arrays at device addresses."""

from __future__ import annotations

import numbers
import operator
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smmux.errors import LaunchError
from smmux.language.placement import extent, place

if TYPE_CHECKING:
    from smmux.compiler.program import Placed, Program

__all__ = ["Arguments", "Buffer", "as_bytes", "memory_of", "pack"]


class Buffer(NamedTuple):
    """Memory of the host at a device address. size: in bytes. writable: whether kernels may write it."""

    memory: NDArray[np.uint8]
    address: int
    size: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """Kernel arguments as the core takes them.

    words: one 32-bit parameter word per scalar and per array (its device address), in flattened argument order.
    arrays: the array arguments, in the same order. buffers: the memory of each array.
    addresses: the device address of each array's element 0. const: the constant segment of this launch, if it is not
    the program's. places: of compiled code, what lies where.
    """

    words: tuple[int, ...]
    arrays: tuple[NDArray[Any], ...]
    buffers: tuple[Buffer, ...]
    addresses: tuple[int, ...]
    const: bytes | None = None
    places: tuple[Placed, ...] = ()


def pack(program: Program, values: Sequence[Any]) -> Arguments:
    """Arguments in a row (`placement.flatten`) as parameter words and buffers.

    Raises LaunchError for a value that its parameter cannot take.
    """
    params = [word for word in program.params if word.type != "high"]
    if len(values) != len(params):
        raise LaunchError(f"{program.name} takes {len(params)} values, {len(values)} given")
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    places = iter(place(arrays))
    words: list[int] = []
    buffers, starts = [], []
    for word, value in zip(params, values, strict=True):
        if isinstance(value, np.ndarray) != (word.type in ("ptr", "tex")):
            raise LaunchError(f"argument {word.name!r} must be {_WANTED[word.type]}, not {type(value).__name__}")
        if isinstance(value, np.ndarray):
            low, high = extent(value)
            start = next(places)
            memory = as_bytes(value, low, high - low)
            buffers.append(Buffer(memory, start, high - low, bool(value.flags.writeable)))
            starts.append(start + value.ctypes.data - low)
            words.append(starts[-1])
        elif word.type in COMPLEX:
            words += struct.unpack(COMPLEX[word.type][1], _complex_bytes(word.name, word.type, value))
        elif word.type in WIDE:
            low_and_high = _long_word(word.name, word.type, value)
            words += [low_and_high & 0xFFFFFFFF, low_and_high >> 32]
        else:
            words.append(_word(word.name, word.type, value))
    return Arguments(tuple(words), tuple(arrays), tuple(buffers), tuple(starts))


WIDE = ("s64", "u64", "f64")
"""Types of parameters that take two words."""

COMPLEX = {"c64": ("<ff", "<II"), "c128": ("<dd", "<IIII")}
"""Types of complex parameters: the parts, and the words, as `struct` has them."""

_WANTED = {
    "ptr": "an array",
    "tex": "a texture",
    **dict.fromkeys(("s32", "s64"), "an int"),
    **dict.fromkeys(("u32", "u64"), "an unsigned int"),
    **dict.fromkeys(("f32", "f64"), "a float"),
    **dict.fromkeys(("c64", "c128"), "a complex number"),
}
_RANGE = {
    "s32": (-(1 << 31), (1 << 31) - 1),
    "u32": (0, (1 << 32) - 1),
    "s64": (-(1 << 63), (1 << 63) - 1),
    "u64": (0, (1 << 64) - 1),
}


def _word(name: str, kind: str, value: Any) -> int:
    """The 32 bits of a scalar argument."""
    if kind == "f32":
        return _float_word(name, value)
    return _integer(name, kind, value) & 0xFFFFFFFF


def _long_word(name: str, kind: str, value: Any) -> int:
    """The 64 bits of a scalar argument."""
    if kind != "f64":
        return _integer(name, kind, value) & 0xFFFFFFFFFFFFFFFF
    if not isinstance(value, numbers.Real | np.bool_):
        raise LaunchError(f"argument {name!r} must be a float, not {value!r}")
    return int.from_bytes(struct.pack("<d", float(value)), "little")


def _complex_bytes(name: str, kind: str, value: Any) -> bytes:
    """The bytes of a complex argument, each part rounded once."""
    if not isinstance(value, numbers.Complex | np.bool_):
        raise LaunchError(f"argument {name!r} must be a complex number, not {value!r}")
    exact = complex(value)
    try:
        return struct.pack(COMPLEX[kind][0], exact.real, exact.imag)
    except OverflowError:
        raise LaunchError(f"argument {name!r} = {value!r} does not fit complex64") from None


def _integer(name: str, kind: str, value: Any) -> int:
    """An integer argument. Raises LaunchError for one that its parameter cannot take."""
    try:
        integer = int(value) if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        raise LaunchError(f"argument {name!r} must be {_WANTED[kind]}, not {value!r}") from None
    low, high = _RANGE[kind]
    if not low <= integer <= high:
        hint = "; pass numpy.uint32(...)" if kind == "s32" and 0 <= integer < 1 << 32 else ""
        raise LaunchError(f"argument {name!r} = {integer} does not fit {kind}{hint}")
    return integer


def _float_word(name: str, value: Any) -> int:
    """The 32 bits of a float argument, rounded once."""
    if not isinstance(value, numbers.Real | np.bool_):
        raise LaunchError(f"argument {name!r} must be a float, not {value!r}")
    try:
        rounded = struct.pack("<f", float(value))
    except OverflowError:
        raise LaunchError(f"argument {name!r} = {value!r} does not fit float32") from None
    return int.from_bytes(rounded, "little")


class _Memory:
    """A span of an array's memory as NumPy's array interface describes it; it keeps the array alive."""

    def __init__(self, array: NDArray[Any], start: int, count: int, dtype: DTypeLike) -> None:
        self.array = array
        data = (start, not array.flags.writeable)
        self.__array_interface__ = {"version": 3, "typestr": np.dtype(dtype).str, "shape": (count,), "data": data}


def memory_of(array: NDArray[Any], start: int, count: int, dtype: DTypeLike) -> NDArray[Any]:
    """So many elements of a type, one behind the other, from an address in an array's memory on."""
    return np.asarray(_Memory(array, start, count, dtype))


def as_bytes(array: NDArray[Any], start: int, size: int) -> NDArray[np.uint8]:
    """The memory between an array's first and last byte, whatever its strides. start: the address of the first one.

    Raises LaunchError for an array that the core cannot read.
    """
    if not array.flags.aligned or not array.dtype.isnative:
        raise LaunchError(
            f"an array of {array.dtype} is not aligned or not in this computer's byte order; copy it first"
        )
    return memory_of(array, start, size, np.uint8)
