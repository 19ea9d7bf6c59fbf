"""Arguments of compiled kernels as bytes: scalars, structures with pointers, tables of pointers."""

from __future__ import annotations

import reprlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.base.counted import counted
from smmux.compiler.sass.cubin import KernelImage, Parameter
from smmux.errors import LaunchError

__all__ = ["POINTER_BYTES", "arrays_of", "parameter_bytes", "table_of", "tables_of"]

POINTER = struct.Struct("<Q")
POINTER_BYTES = POINTER.size
NULL = POINTER.pack(0)
STRUCTURE, LONGEST = "[]", 16
"""Type of structures, and bytes of a number that PTX has no other type for."""
POINTER_KINDS = ("", STRUCTURE, "b64", "u64")
"""Types that PTX gives pointers, alone or in a structure; the first is one that nobody knows."""
Address = int


def arrays_of(value: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of an argument, each of which is a pointer, with what errors call them: of a structure (a tuple) those
    of its fields, of a table (a list) its elements."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise LaunchError(f"{name} is an array of Python objects, of which no GPU knows")
        yield name, value
    elif isinstance(value, tuple):
        for number, field in enumerate(value):
            yield from arrays_of(field, f"{name}.{number}")
    elif isinstance(value, list):
        if not value:
            raise LaunchError(f"{name} is an empty list: a table of pointers has one array at least")
        for number, element in enumerate(value):
            if not isinstance(element, np.ndarray):
                raise LaunchError(f"{name} is a list, which is a table of pointers: each element must be an array")
            yield from arrays_of(element, f"{name}[{number}]")


def tables_of(value: Any) -> Iterator[list[Any]]:
    """The tables of an argument."""
    if isinstance(value, list):
        yield value
    elif isinstance(value, tuple):
        for field in value:
            yield from tables_of(field)


def table_of(table: Sequence[NDArray[Any]], addresses: dict[int, Address]) -> NDArray[np.uint8]:
    """A table as it lies in device memory. addresses: of arrays, by their identity."""
    return np.frombuffer(b"".join(POINTER.pack(addresses[id(array)]) for array in table), np.uint8)


def parameter_bytes(
    image: KernelImage, values: Sequence[Any], addresses: dict[int, Address], names: Sequence[str]
) -> bytes:
    """The bytes of the kernel's parameters. addresses: of arrays and tables, by their identity. names: what errors
    call the values."""
    found = bytearray(image.param_bytes)
    parameters = sorted(image.parameters, key=lambda p: p.ordinal)
    for parameter, value, name in zip(parameters, values, names, strict=True):
        data = _bytes(parameter, value, addresses, name)
        if len(data) != parameter.size:
            raise LaunchError(f"{name} has {counted(parameter.size, 'byte')}, not {len(data)}")
        found[parameter.offset : parameter.offset + parameter.size] = data
    return bytes(found)


REALS: dict[str, type[np.floating[Any]]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
"""Types of PTX that are no whole numbers."""


def _check_kind(parameter: Parameter, value: Any, name: str) -> None:
    """Refuse what would be bits of another type than the parameter's, where that is known."""
    real, whole = parameter.kind in REALS, parameter.kind[:1] in ("s", "u")
    if isinstance(value, np.generic):
        wrong = (real and value.dtype.kind in "biu") or (whole and value.dtype.kind in "fc")
    else:
        wrong = (real and isinstance(value, (np.ndarray, list))) or (whole and isinstance(value, float))
    if wrong:
        given = value.dtype.name if isinstance(value, np.generic) else reprlib.repr(value)
        wanted = "floating-point number" if real else "whole number"
        bits = 8 * parameter.size
        raise LaunchError(f"{name} is a {wanted} of {bits} bits in the kernel, not {given}")


def _bytes(parameter: Parameter, value: Any, addresses: dict[int, Address], name: str) -> bytes:
    """The bytes of an argument."""
    _check_kind(parameter, value, name)
    if isinstance(value, (np.ndarray, list)):
        return POINTER.pack(addresses[id(value)])
    if value is None and parameter.size == POINTER_BYTES and parameter.kind in POINTER_KINDS:
        return NULL
    return _structure(value, addresses)[0] if isinstance(value, tuple) else _scalar(parameter, value, name)


def _real(kind: type[np.floating[Any]], value: float) -> bytes:
    """The bytes of a floating-point number. OverflowError for a finite one that is none of that type."""
    with np.errstate(over="ignore"):
        real = kind(value)
    if np.isinf(real) and not np.isinf(value):
        raise OverflowError(value)
    return bytes(real.tobytes())


def _structure(fields: tuple[Any, ...], addresses: dict[int, Address]) -> tuple[bytes, int]:
    """The bytes of a structure, and what it is aligned to, as C++ has it."""
    found, most = bytearray(), 1
    for field in fields:
        data, aligned = _field(field, addresses)
        found += bytes(-len(found) % aligned) + data
        most = max(most, aligned)
    return bytes(found) + bytes(-len(found) % most), most


def _field(value: Any, addresses: dict[int, Address]) -> tuple[bytes, int]:
    """The same of a field: a Python number is an int or a float of C++."""
    if isinstance(value, tuple):
        return _structure(value, addresses)
    if isinstance(value, (np.ndarray, list)):
        return POINTER.pack(addresses[id(value)]), POINTER_BYTES
    if value is None:
        return NULL, POINTER_BYTES
    if isinstance(value, np.generic):
        return value.tobytes(), value.dtype.alignment
    try:
        if isinstance(value, float):
            return _real(np.float32, value), 4
        return (np.uint32(value) if value > np.iinfo(np.int32).max else np.int32(value)).tobytes(), 4
    except (TypeError, ValueError, OverflowError):
        raise LaunchError(f"a field of a structure is no number of 32 bits: {reprlib.repr(value)}") from None


def _scalar(parameter: Parameter, value: Any, name: str) -> bytes:
    """The bytes of a scalar argument: of a NumPy scalar its own, of a Python number as many as the parameter has."""
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, complex) and parameter.kind in ("", STRUCTURE):
            return bytes({8: np.complex64, 16: np.complex128}[parameter.size](value).tobytes())
        if parameter.kind == STRUCTURE and parameter.size != LONGEST:
            raise OverflowError(value)
        if parameter.kind in REALS and isinstance(value, int | float):
            return _real(REALS[parameter.kind], value)
        if isinstance(value, float):
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[parameter.size], value)
        number = int(value) if isinstance(value, bool) else value.__index__()
        return int(number).to_bytes(parameter.size, "little", signed=number < 0)
    except (KeyError, OverflowError, AttributeError, struct.error):
        raise LaunchError(
            f"{name} has {counted(parameter.size, 'byte')}, which {reprlib.repr(value)} does not fit: "
            "pass a NumPy scalar of the parameter's type, an array for a pointer or None for a null pointer, "
            "a tuple for a structure, a list of arrays for a table of pointers"
        ) from None
