"""Arrays as kernels declare them: types, shapes, and a place in shared, local or constant memory."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

import numpy as np

from smmux.compiler import ir
from smmux.compiler.build import memory64
from smmux.compiler.build.numbers import DTYPES, SUPPORTED, weak
from smmux.compiler.python import records
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import element_type, number
from smmux.compiler.python.typed_values import Anything, ArrayRef, LocalArray, Static, Structure, Tuple
from smmux.language.types import Record, Scalar
from smmux.source.constants import refused_shape

MAX_REGISTER_ARRAY = 512
"""Elements of a local array that may lie in registers [EST]; longer ones go to memory at once. No machine has more than
255 registers per thread, but an array whose elements are not all alive at a time needs fewer than it has."""


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements, last index fastest."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


# -- types and shapes written in the source


NUMPY_NAMES = {np.dtype(name): name for name in DTYPES}


def dtype_of(f: Frame, node: ast.AST, value: Anything) -> Scalar | Record:
    """The element type that an expression names: `float32`, `np.int32`, "uint8", `a.dtype`."""
    named = value.object if isinstance(value, Static) else None
    if isinstance(named, Scalar):
        element_type(f, node, named)
        return named
    if isinstance(named, Record):
        return named
    if named is int or named is float:
        named = np.int64 if named is int else np.float64
    try:
        dtype = np.dtype(named) if named is not None else None
    except TypeError:
        dtype = None
    if dtype is None:
        raise f.error(node, f"an element type is needed here; supported are {SUPPORTED}")
    if dtype.names is not None:
        refuse_dtype(dtype, lambda text: f.error(node, text))
        return Record(dtype)
    if dtype not in NUMPY_NAMES:
        raise f.error(node, f"{dtype.name} is not supported by the machine; supported are {SUPPORTED}")
    return Scalar(NUMPY_NAMES[dtype])


def scalar_of(f: Frame, node: ast.AST, value: Anything) -> Scalar:
    """The type of a number that an expression names."""
    named = dtype_of(f, node, value)
    if isinstance(named, Record):
        raise f.error(node, f"{named} is a record; a number's type is needed here")
    return named


def shape_of(f: Frame, node: ast.AST, value: Anything) -> tuple[int, ...]:
    """A constant shape: an int or a tuple of ints."""
    items = value.items if isinstance(value, Tuple) else (value,)
    shape = []
    for item in items:
        extent = number(f, node, item)
        if not extent.known and f.ctx.dry:
            extent = weak(1)
        if not extent.known or not isinstance(extent.const, int):
            raise f.error(node, "the shape of an array has to be a compile-time constant of ints, as a global is")
        if extent.const < 0:
            raise f.error(node, f"negative extent {extent.const} in the shape of an array")
        shape.append(extent.const)
    if not shape:
        raise f.error(node, "0-d arrays are not supported; use shape 1")
    return tuple(shape)


# -- declarations


def _declared_shape(f: Frame, node: ast.AST, value: Anything) -> tuple[int, ...]:
    """A constant shape that some memory holds."""
    shape = shape_of(f, node, value)
    if reason := refused_shape(shape):
        raise f.error(node, reason)
    return shape


def alignment_of(f: Frame, node: ast.AST, value: Anything) -> int:
    """The bytes that `alignment=` asks for; 1 for None."""
    if isinstance(value, Static) and value.object is None:
        return 1
    bytes = number(f, node, value).const
    if not isinstance(bytes, int) or bytes <= 0 or bytes & (bytes - 1):
        raise f.error(node, "alignment has to be a compile-time constant and a power of two, in bytes")
    return bytes


def declare_shared(
    f: Frame, node: ast.AST, shape: Anything, dtype: Anything, dynamic: bool, align: int = 1
) -> ArrayRef:
    """`cuda.shared.array` or `smm.array`: one array per place in the source, however often it is passed."""
    element, extents = dtype_of(f, node, dtype), _declared_shape(f, node, shape)
    size = _size(element)
    from_launch = extents == (0,) and not dynamic
    if from_launch:
        extents = (f.ctx.dynshared // size,)
        if not extents[0]:
            raise f.error(
                node, "shape 0 means the bytes given at launch, kernel[grid, block, stream, bytes], which are 0"
            )
    key = ("shared", id(node), element, extents, align)
    if key not in f.ctx.storage and not f.ctx.dry:
        offset = (
            launch_offset(f)
            if from_launch
            else f.ctx.place(
                ir.Space.SHARED, size * math.prod(extents), dynamic=dynamic, align=max(_align(element), align)
            )
        )
        f.ctx.storage[key] = f.ctx.declare(
            _array(f, node, ir.Space.SHARED, element, math.prod(extents), offset, dynamic)
        )
    storage = f.ctx.storage.get(key)
    if storage is None:  # types are being inferred: a stand-in, the same each time
        stand_in = _array(f, node, ir.Space.SHARED, element, math.prod(extents), 0, dynamic)
        count = sum(isinstance(k, tuple) and k[0] == "stand-in" for k in f.ctx.storage)
        storage = f.ctx.storage.setdefault(("stand-in", *key), replace(stand_in, index=-1 - count))
    return ArrayRef(storage, _seen(element), extents, contiguous(extents))


def _size(element: Scalar | Record) -> int:
    """Bytes of an element."""
    return element.dtype.itemsize if isinstance(element, Record) else DTYPES[element.name].size


def _align(element: Scalar | Record) -> int:
    """Bytes at a multiple of which an array begins in a segment."""
    return 8 if isinstance(element, Record) else min(max(_size(element), 4), 8)


def _seen(element: Scalar | Record) -> Scalar | Structure:
    """The type of an array's elements."""
    return records.structure(element) if isinstance(element, Record) else element


def launch_offset(f: Frame) -> int:
    """Where the bytes given at launch lie. Their arrays all begin there, as `extern __shared__` ones do, and a block
    holds them even if there is no such array."""
    key = "bytes given at launch"
    if key not in f.ctx.storage:
        f.ctx.storage[key] = f.ctx.place(ir.Space.SHARED, f.ctx.dynshared)
    return int(f.ctx.storage[key])


def _array(
    f: Frame,
    node: ast.AST,
    space: ir.Space,
    element: Scalar | Record,
    elements: int,
    offset: int,
    dynamic: bool = False,
    name: str = "",
) -> ir.Storage:
    index, signed = f.ctx.next_index(space), False
    size = _size(element)
    if isinstance(element, Scalar):
        signed = DTYPES[element.name].signed
        size, elements = memory64.layout(space, DTYPES[element.name], elements)
    name = name or f.targets.get(node) or f"{space.value}{index}"
    return ir.Storage(space, index, name, size, elements, offset, signed=signed, dynamic=dynamic, loc=f.loc(node))


def declare_local(f: Frame, node: ast.AST, shape: Anything, dtype: Anything, align: int = 1) -> ArrayRef:
    """`cuda.local.array`: registers if every index is a constant once loops are unrolled, else local memory."""
    element, extents = dtype_of(f, node, dtype), _declared_shape(f, node, shape)
    if isinstance(element, Record):
        return _declare_local_records(f, node, element, extents, align)
    elements, size = math.prod(extents), DTYPES[element.name].size
    place = ("local", id(node), element, extents)
    # Each inlined call has an array of its own, but a loop has one for all iterations.
    key = (*place, f.id)
    if f.ctx.dry:
        return ArrayRef(LocalArray(f"{id(node)}", elements, element), element, extents, contiguous(extents))
    if key not in f.ctx.storage:
        storage = LocalArray(f.targets.get(node, "local"), elements, element)
        if place in f.ctx.in_memory or elements > MAX_REGISTER_ARRAY:
            offset = f.ctx.place(ir.Space.LOCAL, size * elements, align=max(align, 4))
            storage.memory = f.ctx.declare(_array(f, node, ir.Space.LOCAL, element, elements, offset))
        storage.place = place
        f.ctx.storage[key] = storage
    return ArrayRef(f.ctx.storage[key], element, extents, contiguous(extents))


def _declare_local_records(f: Frame, node: ast.AST, element: Record, extents: tuple[int, ...], align: int) -> ArrayRef:
    """A per-thread array of records, which lies in local memory."""
    key = ("local records", id(node), element, extents, None if f.ctx.dry else f.id)
    if key not in f.ctx.storage:
        offset = (
            0
            if f.ctx.dry
            else f.ctx.place(ir.Space.LOCAL, element.dtype.itemsize * math.prod(extents), align=max(align, 8))
        )
        array = _array(f, node, ir.Space.LOCAL, element, math.prod(extents), offset)
        f.ctx.storage[key] = replace(array, index=-1 - id(node)) if f.ctx.dry else f.ctx.declare(array)
    return ArrayRef(f.ctx.storage[key], records.structure(element), extents, contiguous(extents))


def declare_const(f: Frame, node: ast.AST, value: Anything) -> ArrayRef:
    """`cuda.const.array_like(captured)`: the array's bytes go to the constant segment."""
    if isinstance(value, ArrayRef) and value.readonly:
        return value
    source = value.object if isinstance(value, Static) else None
    if isinstance(value, Tuple):
        source = np.array([number(f, node, item).const for item in value.items])
        source = source.astype(np.float32 if source.dtype.kind == "f" else np.int32)
    if not isinstance(source, np.ndarray):
        raise f.error(node, "cuda.const.array_like needs a NumPy array captured from outside the kernel")
    refuse_dtype(source.dtype, lambda text: f.error(node, text))
    element = Scalar(NUMPY_NAMES[source.dtype]) if source.dtype.names is None else Record(source.dtype)
    key = ("const", source.dtype.str, source.shape, source.tobytes())
    shape = source.shape or (1,)
    if key not in f.ctx.storage:
        array = _array(f, node, ir.Space.CONST, element, source.size, 0)
        if not f.ctx.dry:
            content = f.ctx.function.const
            align = _align(element)
            offset = -(-len(content) // align) * align
            f.ctx.function.const = content.ljust(offset, b"\0") + np.ascontiguousarray(source).tobytes()
            array = f.ctx.storage[key] = f.ctx.declare(replace(array, offset=offset))
    else:
        array = f.ctx.storage[key]
    return ArrayRef(array, _seen(element), shape, contiguous(shape), readonly=True)


def refuse_dtype(dtype: np.dtype[Any], error: Any) -> None:
    """Raise `error(message)` for an element type that the machine lacks."""
    if dtype in NUMPY_NAMES:
        return
    for name, (inner, *_) in (dtype.fields or {}).items():
        refuse_dtype(inner.base, lambda text, name=name: error(f"field {name!r}: {text}"))
    if dtype.names is not None:
        return
    raise error(f"arrays of {dtype.name} are not supported; supported are {SUPPORTED}")
