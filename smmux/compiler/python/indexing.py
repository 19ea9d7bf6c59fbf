"""From the indices between the brackets to the row or element of an array that they pick."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.base.counted import counted
from smmux.compiler import ir
from smmux.compiler.build.numbers import INT32_MAX, INT32_MIN, Kind, Value, constant
from smmux.compiler.index import FAR, Axis, Index, reach, start
from smmux.compiler.python import arith, array_choices
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import operand
from smmux.compiler.python.typed_values import ArrayRef, Structure
from smmux.errors import CompileError


def too_many(f: Frame, node: ast.AST, array: ArrayRef, count: int) -> CompileError:
    """The error of more indices than an array has axes."""
    axes = counted(len(array.shape), "dimension")
    return f.error(node, f"{array.name!r} has {axes}, but {count} indices are given")


def countable(f: Frame, node: ast.AST, array: ArrayRef, axes: int) -> None:
    """Refuse a row of the first axes if one of them is longer than an index, an int32, can say."""
    long = [extent for extent in array.shape[:axes] if isinstance(extent, int) and extent > INT32_MAX]
    if long:
        hint = f"an index is an int32: pass views of at most {INT32_MAX} elements"
        raise f.error(node, f"{array.name!r} has an axis of {long[0]} elements; {hint}")


def locate(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value]) -> ArrayRef:
    """The row or element that indices pick: base and offset advanced by index times stride."""
    if len(index) > len(array.shape):
        raise too_many(f, node, array, len(index))
    countable(f, node, array, len(index))
    index = [_from_start(f, i, extent) for i, extent in zip(index, array.shape, strict=False)]
    offset = array.offset
    for i, extent, stride in zip(index, array.shape, array.strides, strict=False):
        if i.known:
            offset += _constant(array, len(index), int(i.const), extent, stride) * stride
    if not f.ctx.dry and not f.ctx.options.bounds and not f.ctx.untaken:  # bounds raises
        _note(f, node, array, index, offset)
    base, index = _safe(f, array, index, offset)
    if f.ctx.options.bounds and not f.ctx.dry:
        _check(f, node, array, index)
    for i, stride in zip(index, array.strides, strict=False):
        if not i.known and stride:
            base = scaled(f, node, base, i, stride)
    rest = len(index)
    return replace(array, base=base, offset=offset, shape=array.shape[rest:], strides=array.strides[rest:])


def _check(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value]) -> None:
    """End the launch if an index is outside its axis."""
    f.at(node)
    for k, (i, extent) in enumerate(zip(index, array.extents, strict=False)):
        at = i if not i.known else constant(Kind.INT32, i.const + (extent.const or 0) * (i.const < 0))
        if at.known and extent.known and 0 <= at.const < extent.const:
            continue
        n = f"{extent.const}" if extent.known else "known only at run time"
        outside = f.b.op("setp.ge.u32", ir.Type.PRED, operand(f, at), operand(f, replace(extent, kind=Kind.INT32)))
        f.b.trap(outside, ir.Trap("axis", f"axis {k} of {array.name!r}, whose extent is {n}", array.name))


def _note(f: Frame, node: ast.AST, array: ArrayRef, index: list[Value], offset: int) -> None:
    """Note whether the bounds of an index are outside its axis, while the element may be one of the array.

    A place that is lowered several times, such as one in a loop that is unrolled, is outside if it always is.
    """
    axes = f.ctx.function.axes
    for k, (i, extent) in enumerate(zip(index, array.shape, strict=False)):
        if isinstance(extent, int) and extent > 0:
            low, high = (int(i.const),) * 2 if i.known else (i.lo, i.hi)
            outside = (low >= extent or high < -extent) and _perhaps_inside(f, array, index, offset)
            place = f.loc(node), f"axis {k} of {array.name!r}, whose extent is {extent}"
            axes[place] = axes.get(place, True) and outside


def _perhaps_inside(f: Frame, array: ArrayRef, index: list[Value], offset: int) -> bool:
    """Whether the bounds of indices leave it open that the element is one of the array."""
    storage = array_choices.memory(f, array) or array.storage
    if isinstance(storage, ir.Storage):
        start, end = -storage.before // array.unit, (storage.nbytes - storage.before) // array.unit
    else:
        start, end = 0, getattr(storage, "elements", 0)
    first, last = _span(array, index, offset)
    return first < end and last >= start


def scaled(f: Frame, node: ast.AST, base: Value | None, i: Value, stride: int) -> Value:
    """The base of an array moved by an index times a stride."""
    step = constant(Kind.INT32, stride)
    if base is None:
        return arith.binary(f, node, "Mult", i, step).settled
    return arith.multiply_add(f, node, i, step, base).settled


def _from_start(f: Frame, i: Value, extent: int | Value) -> Value:
    """A constant that counts from an end which is known only at run time is an index like any other."""
    if isinstance(extent, int) or not i.known or i.const >= 0:
        return i
    back = ir.Imm(max(int(i.const), INT32_MIN) & 0xFFFFFFFF, ir.Type.S32)
    return Value(Kind.INT32, f.b.op("add.s32", ir.Type.S32, operand(f, extent), back), None, INT32_MIN, INT32_MAX)


def _constant(array: ArrayRef, count: int, i: int, extent: int | Value, stride: int) -> int:
    """A constant index from the start of its axis; one far outside stays where a byte address can tell."""
    far = FAR // (2 * count * max(abs(stride), 1) * array.unit)
    if isinstance(extent, int):
        i, far = i + extent if i < 0 else i, max(far, extent)
    return max(-far, min(i, far))


def _safe(f: Frame, array: ArrayRef, index: list[Value], offset: int) -> tuple[Value | None, list[Value]]:
    """The base of the array and the indices, with an `Index` before them if their bounds do not show that they need no
    care."""
    storage = array_choices.memory(f, array)
    index = list(index)
    along = [k for k, i in enumerate(index) if not i.known and array.strides[k]]
    values = [index[k] for k in along]
    final = len(index) == len(array.shape) and not isinstance(array.dtype, Structure)  # fields follow
    safe = storage is None or (not f.ctx.options.axes and _inside(storage, array, index, offset, final))
    if not along or f.ctx.dry or storage is None or safe:
        return array.base, [_word(i) for i in index]
    axes = tuple(Axis(array.strides[k], index[k].kind is not Kind.UINT32) for k in along)
    extents = [operand(f, replace(array.extents[k], kind=Kind.INT32)) for k in along]
    bases = [] if array.base is None else [array.base]
    dsts = tuple(f.b.reg(ir.Type.S32) for _ in (*along, *bases))
    srcs = (*(operand(f, i) for i in values), *extents, *(operand(f, base) for base in bases))
    size = array.unit
    f.b.annotate(Index("index", dsts, srcs, f.b.loc, array=storage, axes=axes, offset=offset, size=size, final=final))
    for k, dst in zip(along, dsts, strict=False):
        index[k] = Value(Kind.INT32, dst, None, 0 if index[k].lo >= 0 else INT32_MIN, INT32_MAX)
    base = replace(bases[0], operand=dsts[-1], const=None) if bases else None
    return base, [_word(i) for i in index]


def _inside(storage: ir.Storage, array: ArrayRef, index: list[Value], offset: int, final: bool) -> bool:
    """Whether the bounds of the indices show that none is negative and that their byte offset fits an address."""
    if any(not i.known and i.lo < 0 for i in index):
        return False
    size = array.unit
    low, high = _span(array, index, offset)
    first, last = reach(storage, final)
    return first <= low * size and high * size + start(storage) <= last


def _span(array: ArrayRef, index: list[Value], offset: int) -> tuple[int, int]:
    """The first and the last element that indices may mean, by their bounds; offset: that of the constant ones."""
    low = high = offset
    if array.base is not None:
        low, high = low + array.base.lo, high + array.base.hi
    for i, stride in zip(index, array.strides, strict=False):
        if not i.known:
            low, high = low + min(i.lo * stride, i.hi * stride), high + max(i.lo * stride, i.hi * stride)
    return low, high


def _word(i: Value) -> Value:
    """An index as a signed word."""
    if i.known:
        return i
    return Value(Kind.INT32, i.operand, None, max(i.lo, INT32_MIN), min(i.hi, INT32_MAX))
