"""Records: elements of structured arrays, and their fields.

A record is an `ArrayRef` without axes whose type is a `Structure`. A field is a view of the same bytes: its base counts
elements of its own type where it lies at a multiple of their size, as NumPy's aligned dtypes have it. Any other field
(of a packed dtype) is `Packed`: it is moved in the largest pieces that lie at multiples of their own size.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from smmux.compiler import ir
from smmux.compiler.build import memory64, words
from smmux.compiler.build.numbers import DTYPES, MACHINE_TYPE, Complex, Dtype, Kind, Value, constant, unknown
from smmux.compiler.python import arith, floats, unsupported
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, complex_of, element_type, number, operand, result
from smmux.compiler.python.typed_values import (
    Anything,
    ArrayRef,
    Choice,
    LocalArray,
    Packed,
    Static,
    Structure,
    type_name,
)
from smmux.language.types import Record, Scalar

WORD = 4

StoreField = Callable[[Frame, ast.AST, ArrayRef, ArrayRef, list[Value]], None]
"""Copies one element of a field."""


def is_record(value: Anything) -> bool:
    """True for one record, rather than an array of them."""
    return isinstance(value, ArrayRef) and isinstance(value.dtype, Structure) and not value.shape


def structure(record: Record) -> Structure:
    """The type of the elements of an array of records, which counts whole ones."""
    return Structure(record, record.dtype.itemsize)


def name_of(f: Frame, node: ast.AST, array: ArrayRef, key: Anything) -> str | None:
    """The field that a key between brackets means: a text, or for one record a number; None for other indices."""
    if isinstance(key, Static) and isinstance(key.object, str):
        return key.object
    if is_record(array) and isinstance(key, Value) and key.known and isinstance(key.const, int):
        assert isinstance(array.dtype, Structure)
        names = array.dtype.record.dtype.names or ()
        if not -len(names) <= key.const < len(names):
            raise f.error(node, f"field {key.const} of a record of {len(names)}")
        return names[key.const]
    return None


def field(f: Frame, node: ast.AST, array: ArrayRef, name: str) -> ArrayRef:
    """A field of a record, or of each record of an array, as an array of the same shape."""
    if not isinstance(array.dtype, Structure):
        raise f.error(node, f"{array.name!r} has no field {name!r}: its elements are {array.dtype}, not records")
    fields = array.dtype.record.dtype.fields
    assert fields is not None
    if name not in fields:
        raise f.error(node, unsupported.of_field(name, tuple(fields)))
    dtype, start = fields[name][:2]
    shape: tuple[int, ...] = ()
    if dtype.subdtype is not None:
        dtype, shape = dtype.subdtype
    inner = tuple(dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return _part(f, node, array, dtype, start, shape, inner)


def movable(f: Frame, node: ast.AST, record: ArrayRef) -> ArrayRef:
    """The same record with all of its place in the base, so that a variable can hold one or another of an array."""
    offset = constant(Kind.INT32, record.offset)
    base = offset if record.base is None else arith.binary(f, node, "Add", record.base, offset)
    return replace(record, base=base.settled, offset=0)


def _part(
    f: Frame, node: ast.AST, array: ArrayRef, dtype: np.dtype[Any], start: int, shape: tuple[int, ...], inner: Any
) -> ArrayRef:
    """The bytes of an array of records from `start` on, as elements of another type with further axes."""
    assert isinstance(array.dtype, Structure)
    step = array.dtype.unit
    if dtype.names is not None:
        unit = math.gcd(step, start, *inner)
        kind: Scalar | Structure | Packed = Structure(Record(dtype), unit)
        storage = array.storage
    else:
        element = Scalar(dtype.name)
        size = element_type(f, node, element).size
        unit = math.gcd(step, start, size)
        kind = element if unit == size else Packed(element, unit := math.gcd(unit, WORD))
        assert not isinstance(array.storage, Choice)
        storage = _seen_as(f, array.storage, unit if isinstance(kind, Packed) else size, element)
    factor = step // unit
    base = array.base
    if base is not None and factor != 1:
        base = arith.binary(f, node, "Mult", base, constant(Kind.INT32, factor)).settled
    return replace(
        array,
        storage=storage,
        dtype=kind,
        shape=(*array.shape, *shape),
        strides=(*(s * factor for s in array.strides), *(s // unit for s in inner)),
        base=base,
        offset=array.offset * factor + start // unit,
    )


def _seen_as(f: Frame, storage: ir.Storage | LocalArray, size: int, element: Scalar) -> ir.Storage:
    """The memory of records as elements of a type, or of pieces of it."""
    assert isinstance(storage, ir.Storage)  # records lie in memory
    dtype = DTYPES[element.name]
    if size != dtype.size:
        dtype = DTYPES[f"uint{8 * size}"]
    key = ("view", storage.space, storage.index, storage.offset, storage.dynamic, dtype)
    if key not in f.ctx.storage:
        part, count = memory64.layout(storage.space, dtype, storage.nbytes // dtype.size)
        f.ctx.storage[key] = replace(storage, element=part, elements=count, signed=dtype.signed)
    seen: ir.Storage = f.ctx.storage[key]
    return seen


# -- fields that are moved in pieces


def load(f: Frame, place: ArrayRef) -> Value | Complex:
    """The number in a packed field."""
    assert isinstance(place.dtype, Packed)
    dtype = DTYPES[place.dtype.element.name]
    if f.ctx.dry:
        part = unknown(dtype.kind)
        return Complex(part, part) if dtype.complex else part
    found = [_word(f, place, dtype, i) for i in range(max(dtype.size // WORD, 1))]
    if dtype.size >= 2 * WORD:
        return memory64.element(dtype, found)
    return _small(f, dtype, found[0])


def _word(f: Frame, place: ArrayRef, dtype: Dtype, number: int) -> ir.Operand:
    """A word of a number, put together from its pieces."""
    assert isinstance(place.dtype, Packed)
    assert isinstance(place.storage, ir.Storage)
    unit = place.dtype.unit
    address, offset = _address(f, place)
    total: ir.Operand | None = None
    for i in range(min(dtype.size, WORD) // unit):
        piece = f.b.reg(ir.Type.U32)
        mem = ir.Mem(place.storage, unit, offset + number * WORD // unit + i)
        op = "tex.1d" if place.storage.space is ir.Space.TEXTURE else f"ld.{place.storage.space.value}"
        f.b.append(ir.Instr(op, (piece,), (address,), f.b.loc, mem=mem))
        if total is not None:
            shifted = f.b.op("shl.b32", ir.Type.U32, piece, words.immediate(8 * unit * i))
            piece = f.b.op("or.b32", ir.Type.U32, total, shifted)
        total = piece
    assert total is not None
    type = MACHINE_TYPE[dtype.kind]
    return f.b.op("mov.b32", type, total) if type is ir.Type.F32 and dtype.size >= WORD else total


def _small(f: Frame, dtype: Dtype, word: ir.Operand) -> Value:
    """A number of 16 or 32 bits from its word."""
    if dtype.kind is Kind.FLOAT16:
        return Value(Kind.FLOAT16, f.b.op("cvt.f32.f16", ir.Type.F32, word))
    if dtype.size < WORD and dtype.signed:
        word = f.b.op("cvt.s32.s16", ir.Type.S32, word)
    return replace(result(dtype.kind, word, dtype.lo, dtype.hi), small=dtype.small)


def store(f: Frame, node: ast.AST, place: ArrayRef, value: Anything) -> None:
    """Write a packed field."""
    assert isinstance(place.dtype, Packed)
    assert isinstance(place.storage, ir.Storage)
    dtype, unit = DTYPES[place.dtype.element.name], place.dtype.unit
    data = _words(f, node, dtype, value)
    if f.ctx.dry:
        return
    address, offset = _address(f, place)
    for i in range(dtype.size // unit):
        word, shift = data[i * unit // WORD], 8 * (i * unit % WORD)
        piece = f.b.op("shr.u32", ir.Type.U32, word, words.immediate(shift)) if shift else word
        mem = ir.Mem(place.storage, unit, offset + i)
        f.b.append(ir.Instr(f"st.{place.storage.space.value}", (), (address, piece), f.b.loc, mem=mem))


def _words(f: Frame, node: ast.AST, dtype: Dtype, value: Anything) -> list[ir.Operand]:
    """A number as the words of an element."""
    if dtype.complex:
        whole = complex_of(f, node, value, dtype.kind)
        return [word for part in (whole.re, whole.im) for word in _number_words(f, dtype, part)]
    return _number_words(f, dtype, cast(f, node, number(f, node, value), dtype.kind))


def _number_words(f: Frame, dtype: Dtype, x: Value) -> list[ir.Operand]:
    """A number of an element's type as words."""
    if x.kind.wide:
        return list(words.words_of(f.b, x))
    return [floats.halved(f, x) if dtype.kind is Kind.FLOAT16 and not f.ctx.dry else operand(f, x)]


def _address(f: Frame, place: ArrayRef) -> tuple[ir.Operand, int]:
    """The index operand and the constant offset of a field, in pieces."""
    if place.base is None:
        return ir.Imm(place.offset & 0xFFFFFFFF, ir.Type.S32), 0
    return operand(f, place.base), place.offset


def copy(f: Frame, node: ast.AST, target: ArrayRef, value: Anything, store_field: StoreField) -> None:
    """target = value, of two records of one type: field by field."""
    assert isinstance(target.dtype, Structure)
    if not (isinstance(value, ArrayRef) and isinstance(value.dtype, Structure) and not value.shape):
        raise f.error(node, f"a {target.dtype.name} takes a record, not {type_name(value)}")
    if value.dtype.record != target.dtype.record:
        raise f.error(node, f"a {target.dtype.name} takes a record of its own type, not a {value.dtype.name}")
    for name in target.dtype.fields:
        _copy_field(f, node, field(f, node, target, name), field(f, node, value, name), store_field)


def _copy_field(f: Frame, node: ast.AST, to: ArrayRef, source: ArrayRef, store_field: StoreField) -> None:
    for index in np.ndindex(*to.shape):
        at = [constant(Kind.INT32, i) for i in index]
        store_field(f, node, to, source, at)
