"""Arrays in use: indices, loads, stores and atomics."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import memory64, words
from smmux.compiler.build.numbers import DTYPES, MACHINE_TYPE, Complex, Dtype, Kind, Value, constant, unknown
from smmux.compiler.python import array_choices, environment, floats, records
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, cast_to, complex_of, number, operand, result, settle
from smmux.compiler.python.indexing import locate
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, LocalArray, Packed, Static, Structure, Tuple
from smmux.language.types import Scalar

NOTHING = Static(None)

# -- indexing


def indices(f: Frame, node: ast.AST, value: Anything) -> list[Value]:
    """The indices between the brackets, as integers."""
    index_values = []
    for item in value.items if isinstance(value, Tuple) else (value,):
        if isinstance(item, Static) and (item.object is None or item.object is Ellipsis):
            raise f.error(node, "None and ... are not supported in an index")
        index = number(f, node, item)
        if index.whole:  # an index that a float64 does not hold is outside of any array
            index = cast(f, node, index, Kind.INT64)
        if index.kind.floating:
            hint = ", or typing='numba', where uint64 with int64 is int64" if index.kind is Kind.FLOAT64 else ""
            raise f.error(node, f"an array index has to be an integer, not a float; write int(...) or use //{hint}")
        if index.kind is Kind.BOOL:
            raise f.error(node, "an array index has to be an integer; to NumPy a bool is a mask: write int(...)")
        index_values.append(_index(f, index.settled))
    return index_values


def _index(f: Frame, index: Value) -> Value:
    """An index as one word."""
    return words.index_word(f.b, index) if index.kind.wide and not (index.known or f.ctx.dry) else index


def _reach(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], place: ArrayRef) -> ir.Storage | int:
    """The storage that an element access goes to: memory, or the number of a register."""
    storage = place.storage
    if isinstance(storage, ir.Storage):
        return storage
    assert isinstance(storage, LocalArray)
    known = place.base is None and storage.dtype == array.dtype
    if known and not 0 <= place.offset < storage.elements:
        raise f.error(node, f"index {[i.const for i in index]} outside {storage.name!r} of shape {array.shape}")
    if storage.memory is not None:
        return storage.memory
    return place.offset if known else array_choices.demote(f, storage)


def _each(
    f: Frame, node: ast.AST, place: ArrayRef, access: Callable[[ArrayRef], Anything], nothing: Anything = NOTHING
) -> Anything:
    """The access of an element, which has a branch for each of several arrays that it may lie in; or nothing, where no
    path has assigned one and the kernel ends before."""
    if not isinstance(place.storage, Choice) or f.ctx.dry:
        return access(place)
    assert place.which is not None
    key = (f.id, f".chosen.{getattr(node, 'lineno', 0)}.{getattr(node, 'col_offset', 0)}")
    which, edges = operand(f, place.which), []
    arrays = array_choices.storages(f, place)
    if not arrays:
        return nothing
    for storage in arrays:
        other = None
        if storage is not arrays[-1]:
            number = ir.Imm(f.ctx.choices.number(storage), ir.Type.S32)
            here, other = f.b.new_block(), f.b.new_block()
            f.b.branch_if(f.b.op("setp.eq.s32", ir.Type.PRED, which, number), here, other)
            before = f.ctx.env
            f.b.start(here)
            f.ctx.env = dict(before)
        value = access(replace(place, storage=storage, which=None))
        f.ctx.env[key] = value
        assert f.b.block is not None
        edges.append((f.b.block, f.ctx.env))
        if other is not None:
            f.b.start(other)
            f.ctx.env = dict(before)
    environment.merge(f, node, edges)
    return f.ctx.env.pop(key)


def load(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value]) -> Anything:
    """array[index]: an element, or a row if there are fewer indices than dimensions."""
    place = locate(f, node, array, index)
    if place.shape:
        return place
    return _each(f, node, place, lambda one: _load(f, node, array, index, one), _zero(array))


def _zero(array: ArrayRef) -> Anything:
    """What an element holds that nobody has stored to."""
    if isinstance(array.dtype, Structure | Packed):
        return NOTHING
    dtype = DTYPES[array.dtype.name]
    zero = constant(dtype.kind, 0)
    return Complex(zero, zero) if dtype.complex else zero


def _load(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], place: ArrayRef) -> Anything:
    if isinstance(place.dtype, Structure):
        return records.movable(f, node, place)
    if isinstance(place.dtype, Packed):
        return records.load(f, place)
    dtype = DTYPES[array.dtype.name]
    if f.ctx.dry and dtype.complex:
        return Complex(unknown(dtype.kind), unknown(dtype.kind))
    if f.ctx.dry:
        return _any_element(dtype)
    target = _reach(f, node, array, index, place)
    if isinstance(target, int):
        return f.ctx.env.get((place.storage, target), _zero(array))
    if target.space is ir.Space.CONST and place.base is None:
        count = target.nbytes // dtype.size
        if not 0 <= place.offset < count:
            raise f.error(node, f"index {place.offset} outside the constant array {array.name!r} of {count}")
        if dtype.size >= 8:
            return memory64.constant(target, dtype, place.offset)
        if dtype.size == 4:
            return result(dtype.kind, ir.ConstWord(target.offset + 4 * place.offset, MACHINE_TYPE[dtype.kind]))
    return _load_memory(f, target, dtype, place)


def _load_memory(f: Frame, target: ir.Storage, dtype: Dtype, place: ArrayRef) -> Value | Complex:
    if dtype.size >= 8:
        return memory64.load(f.b, target, dtype, *_address(f, place))
    loaded = Kind.INT32 if dtype.kind in (Kind.BOOL, Kind.FLOAT16) else dtype.kind
    dst = f.b.reg(MACHINE_TYPE[loaded])
    address, offset = _address(f, place)
    mem = ir.Mem(target, dtype.size, offset, signed=dtype.signed)
    f.b.append(
        ir.Instr(
            "tex.1d" if target.space is ir.Space.TEXTURE else f"ld.{target.space.value}",
            (dst,),
            (address,),
            f.b.loc,
            mem=mem,
        )
    )
    value = replace(result(loaded, dst, dtype.lo, dtype.hi), small=dtype.small)
    if dtype.kind is Kind.FLOAT16:
        return Value(Kind.FLOAT16, f.b.op("cvt.f32.f16", ir.Type.F32, dst))
    if dtype.kind is not Kind.BOOL:
        return value
    return result(Kind.BOOL, f.b.op("setp.ne.s32", ir.Type.PRED, dst, ir.Imm(0, ir.Type.S32)), 0, 1)


def _address(f: Frame, place: ArrayRef) -> tuple[ir.Operand, int]:
    """The index operand and the constant offset of an access, in elements."""
    if place.base is None:
        return ir.Imm(place.offset & 0xFFFFFFFF, ir.Type.S32), 0
    return operand(f, place.base), place.offset


def store(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], value: Anything) -> None:
    """array[index] = value, converted as by a cast."""
    writable(f, node, array)
    place = locate(f, node, array, index)
    if place.shape:
        raise f.error(
            node, f"{len(array.shape)} indices are needed to store an element of {array.name!r}, {len(index)} given"
        )
    _each(f, node, place, lambda one: _store(f, node, array, index, one, value))


def _store(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], place: ArrayRef, value: Anything) -> Anything:
    """Store to an element."""
    _store_element(f, node, array, index, place, value)
    return NOTHING


def _store_element(
    f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], place: ArrayRef, value: Anything
) -> None:
    if isinstance(place.dtype, Structure):
        records.copy(f, node, place, value, _copy_element)
        return
    if isinstance(place.dtype, Packed):
        records.store(f, node, place, value)
        return
    dtype = DTYPES[array.dtype.name]
    if dtype.complex:
        _store_complex(f, node, array, index, place, dtype, value)
        return
    x = number(f, node, value)
    if x.kind is Kind.WEAK_INT and x.known and dtype.kind.integral and not dtype.lo <= x.const <= dtype.hi:
        raise f.error(node, f"integer {x.const} does not fit {array.dtype}, the type of {array.name!r}")
    if x.drift and x.kind.floating and not dtype.kind.floating:
        x = settle(f, node, x, f"conversion to {array.dtype}")
    target = None if f.ctx.dry else _reach(f, node, array, index, place)
    if isinstance(target, int):
        assert isinstance(place.storage, LocalArray)
        f.ctx.env[(place.storage, target)] = cast_to(f, node, x, place.storage.dtype)
        return
    x = cast(f, node, x, dtype.kind)
    if dtype.kind is Kind.BOOL:
        x = cast(f, node, x, Kind.INT32)
    if target is None:
        return
    address, offset = _address(f, place)
    if dtype.size == 8:
        memory64.store(f.b, target, address, offset, *words.words_of(f.b, x))
        return
    data = floats.halved(f, x) if dtype.kind is Kind.FLOAT16 else operand(f, x)
    mem = ir.Mem(target, dtype.size, offset, signed=dtype.signed)
    f.b.append(ir.Instr(f"st.{target.space.value}", (), (address, data), f.b.loc, mem=mem))


def _copy_element(f: Frame, node: ast.AST, to: ArrayRef, source: ArrayRef, index: list[Value]) -> None:
    """to[index] = source[index]."""
    store(f, node, to, index, load(f, node, source, index))


def _store_complex(
    f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], place: ArrayRef, dtype: Dtype, value: Anything
) -> None:
    x = complex_of(f, node, value, dtype.kind)
    if f.ctx.dry:
        return
    target = _reach(f, node, array, index, place)
    if isinstance(target, int):
        f.ctx.env[(place.storage, target)] = x
    else:
        memory64.store(f.b, target, *_address(f, place), *_words(f, x.re), *_words(f, x.im))


def writable(f: Frame, node: ast.AST, array: ArrayRef) -> None:
    """Refuse stores to constant and read-only arrays."""
    if array.readonly:
        constant = isinstance(array.storage, ir.Storage) and array.storage.space is ir.Space.CONST
        space = "constant" if constant else "read-only"
        raise f.error(node, f"{array.name!r} is {space} and cannot be stored to")


def atomic(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], name: str, values: list[Value]) -> Value:
    """An atomic operation on an element; returns its old value."""
    writable(f, node, array)
    place = locate(f, node, array, index)
    if place.shape:
        raise f.error(
            node, f"{len(array.shape)} indices are needed for an element of {array.name!r}, {len(index)} given"
        )
    if isinstance(array.dtype, Structure | Packed):
        raise f.error(node, f"atomics work on numbers that lie at multiples of their size, not on {array.dtype.name}")
    dtype = DTYPES[array.dtype.name]
    if dtype.size < 4 or dtype.complex:
        raise f.error(node, f"atomics work on elements of 32 and 64 bits, not on {array.dtype}")
    numbers = [cast(f, node, v, dtype.kind) for v in values]
    converted = [word for v in numbers for word in _words(f, v)]
    if f.ctx.dry:
        return unknown(dtype.kind)
    old = _each(f, node, place, lambda one: _atomic(f, node, array, index, one, name, converted), _zero(array))
    assert isinstance(old, Value)
    return old


def _atomic(
    f: Frame,
    node: ast.AST,
    array: ArrayRef,
    index: list[Value],
    place: ArrayRef,
    name: str,
    converted: list[ir.Operand],
) -> Value:
    """The atomic operation on an element whose array is known; its result is 0 where nobody takes it."""
    assert isinstance(array.dtype, Scalar)
    dtype = DTYPES[array.dtype.name]
    target = _reach(f, node, array, index, place)
    if isinstance(target, int) or target.space not in (ir.Space.GLOBAL, ir.Space.SHARED):
        raise f.error(node, "atomics work on global and shared arrays; a local array belongs to one thread")
    address, offset = _address(f, place)
    old = tuple(f.b.reg(MACHINE_TYPE[dtype.kind]) for _ in range(dtype.size // 4))
    mem = ir.Mem(target, dtype.size, offset, atom=name)
    dsts = () if node in f.unused else old
    f.b.append(ir.Instr(f"atom.{target.space.value}", dsts, (address, *converted), f.b.loc, mem=mem))
    if not dsts:
        return constant(dtype.kind, 0)
    return memory64.number(dtype.kind, old[0], old[1]) if len(old) == 2 else result(dtype.kind, old[0])


def _words(f: Frame, value: Value) -> tuple[ir.Operand, ...]:
    """The registers that hold a number."""
    return words.words_of(f.b, value) if value.kind.wide else (operand(f, value),)


# -- elements in registers


def local_elements(array: ArrayRef) -> list[tuple[Any, int]]:
    """Keys of the registers of a per-thread array."""
    storage = array.storage
    if isinstance(storage, LocalArray) and storage.memory is None:
        return [(storage, i) for i in range(storage.elements)]
    return []


def _any_element(dtype: Dtype) -> Value:
    """An element of which only the type is known."""
    return Value(dtype.kind, None, None, dtype.lo, dtype.hi, small=True) if dtype.small else unknown(dtype.kind)


def element_variable(f: Frame, storage: LocalArray, index: int) -> Anything:
    """A variable for an element of a per-thread array."""
    dtype = DTYPES[storage.dtype.name]
    part = _any_element(dtype)
    return environment.variable(f, Complex(part, part) if dtype.complex else part, f"{storage.name}.{index}")
