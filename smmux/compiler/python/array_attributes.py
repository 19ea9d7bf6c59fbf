"""What an array says of itself, and views of its bytes as another type."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import memory64
from smmux.compiler.build.numbers import DTYPES, Kind, Value, constant, extent_value, weak
from smmux.compiler.python import arith, array_access, array_choices, records, unsupported
from smmux.compiler.python.array_declarations import contiguous, dtype_of
from smmux.compiler.python.context import Frame
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, LocalArray, Packed, Static, Structure, Tuple
from smmux.language.types import Record, Scalar


def attribute(f: Frame, node: ast.Attribute, array: ArrayRef) -> Anything:
    """a.shape, a.size, a.ndim, a.dtype, a.strides, a.itemsize, a.nbytes; fields of records."""
    if isinstance(array.dtype, Structure) and (not array.shape or node.attr in array.dtype.fields):
        return member(f, node, array, node.attr)
    size = unit = _size(array)
    if isinstance(array.dtype, Structure | Packed):
        unit = array.dtype.unit
    attributes: dict[str, Any] = {
        "shape": lambda: Tuple(array.extents),
        "strides": lambda: Tuple(tuple(weak(unit * s) for s in array.strides)),
        "size": lambda: _product(f, node, array.extents),
        "ndim": lambda: weak(len(array.shape)),
        "itemsize": lambda: weak(size),
        "nbytes": lambda: _product(f, node, (weak(size), *array.extents)),
        "dtype": lambda: Static(_type(array)),
        "T": lambda: replace(array, shape=array.shape[::-1], strides=array.strides[::-1]),
    }
    if node.attr in ("real", "imag") and _of_numbers(array):
        return part(f, node, array, node.attr)
    if node.attr not in attributes:
        raise f.error(node, unsupported.of_array(node.attr, (*attributes, "view()")))
    return attributes[node.attr]()  # type: ignore[no-any-return]


def _of_numbers(array: ArrayRef) -> bool:
    return not isinstance(array.dtype, Structure | Packed)


def part(f: Frame, node: ast.AST, array: ArrayRef, name: str) -> ArrayRef:
    """The real or the imaginary parts of an array of complex numbers, as an array; a real one is its own real part."""
    dtype = DTYPES[array.dtype.name]
    if not dtype.complex:
        if name == "imag":
            raise f.error(node, f"the imaginary part of an array of {array.dtype} is 0")
        return array
    array_choices.refuse_choice(f, node, array, f"take .{name} of")
    element = Scalar(dtype.kind.value)
    storage = array.storage
    if isinstance(storage, LocalArray):
        storage = _local_view(f, storage, element)
    elif isinstance(storage, ir.Storage):
        storage = _viewed(storage, element)
    base = array.base and arith.binary(f, node, "Mult", array.base, constant(Kind.INT32, 2)).settled
    offset, strides = 2 * array.offset + (name == "imag"), tuple(2 * stride for stride in array.strides)
    return replace(array, storage=storage, dtype=element, strides=strides, base=base, offset=offset)


def member(f: Frame, node: ast.AST, array: ArrayRef, name: str) -> Anything:
    """A field of a record: its value, or its row; of an array of records the array of that field."""
    place = records.field(f, node, array, name)
    return place if place.shape else array_access.load(f, node, place, [])


def _type(array: ArrayRef) -> Scalar | Record:
    """The type of an array's elements, as kernels name it."""
    if isinstance(array.dtype, Structure):
        return array.dtype.record
    return array.dtype.element if isinstance(array.dtype, Packed) else array.dtype


def _size(array: ArrayRef) -> int:
    """Bytes of an element."""
    kind = _type(array)
    return kind.dtype.itemsize if isinstance(kind, Record) else DTYPES[kind.name].size


def _product(f: Frame, node: ast.AST, numbers: tuple[Value, ...]) -> Value:
    known = math.prod(int(factor.const) for factor in numbers if factor.known)
    if all(factor.known for factor in numbers):
        return weak(known)
    product = constant(Kind.INT32, known)
    for factor in numbers:
        if not factor.known:
            product = arith.binary(f, node, "Mult", product, replace(factor, kind=Kind.INT32))
    return extent_value(product.operand)


def view(f: Frame, node: ast.AST, array: ArrayRef, dtype: Anything) -> ArrayRef:
    """a.view(dtype): the same bytes as elements of another type; the last dimension changes length."""
    element = dtype_of(f, node, dtype)
    if isinstance(element, Record) or isinstance(array.dtype, Structure | Packed):
        raise f.error(node, "records have no view of another type; index their fields")
    new, old = DTYPES[element.name].size, DTYPES[array.dtype.name].size
    array_choices.refuse_choice(f, node, array, "take the view of")
    if not array.shape or array.strides != contiguous(array.shape) or array.base is not None:
        raise f.error(node, "only whole, contiguous arrays have a view of another type")
    if array.shape[-1] * old % new or array.offset * old % new:
        raise f.error(
            node, f"the last dimension ({array.shape[-1]} elements of {array.dtype}) is not a multiple of {element}"
        )
    shape = (*array.shape[:-1], array.shape[-1] * old // new)
    storage = array.storage
    assert not isinstance(storage, Choice)
    if isinstance(storage, ir.Storage):
        key = ("view", storage.space, storage.index, storage.offset, storage.dynamic, element)
        if key not in f.ctx.storage:
            f.ctx.storage[key] = _viewed(storage, element)
        storage = f.ctx.storage[key]
    else:
        storage = _local_view(f, storage, element)
    return replace(
        array, storage=storage, dtype=element, shape=shape, strides=contiguous(shape), offset=array.offset * old // new
    )


def _local_view(f: Frame, storage: LocalArray, element: Scalar) -> ir.Storage | LocalArray:
    """The storage of a view of a per-thread array, which has to lie in memory."""
    if f.ctx.dry:
        return storage
    return _viewed(storage.memory or array_choices.demote(f, storage), element)


def _viewed(storage: ir.Storage, element: Scalar) -> ir.Storage:
    """The same bytes as elements of another type."""
    dtype = DTYPES[element.name]
    size, elements = memory64.layout(storage.space, dtype, storage.nbytes // dtype.size)
    return replace(storage, element=size, elements=elements, signed=dtype.signed)
