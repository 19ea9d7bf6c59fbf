"""`cuda.*` and `smm.*` inside kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import bits64, memory64, words
from smmux.compiler.build.numbers import DTYPES, MACHINE_TYPE, Kind, Value, constant, weak
from smmux.compiler.python import arith, array_access, array_declarations, compare, floats
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, number, operand, result, settle, strong, to_kind, truth
from smmux.compiler.python.inlining import library_number
from smmux.compiler.python.rules import call
from smmux.compiler.python.special_registers import index_kind, special
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple
from smmux.language import kernel_names as cuda, smm

ALL_DYNAMIC = -1  # bytes of an allocation, until all dynamic arrays are known
BAR_PLAIN, BAR_ALLOC, BAR_RELEASE = range(3)
SHFL_IDX, SHFL_UP, SHFL_DOWN, SHFL_BFLY = range(4)
VOTE_ALL, VOTE_ANY = range(2)
AXES = "xyz"


# -- position


def _lane(f: Frame, node: ast.AST) -> Value:
    return Value(index_kind(f), ir.Special(ir.SpecialName.LANEID), None, 0, 31)


_laneid: Any = cuda.laneid
_laneid.lower = _lane


def _dimensions(f: Frame, node: ast.AST, ndim: Anything) -> int:
    count = number(f, node, ndim)
    if not count.known or count.const not in (1, 2, 3):
        raise f.error(node, "the number of dimensions has to be 1, 2 or 3")
    return int(count.const)


def _per_axis(f: Frame, node: ast.AST, ndim: Anything, value: Callable[[str], Value]) -> Anything:
    count = _dimensions(f, node, ndim)
    return value("x") if count == 1 else Tuple(tuple(value(axis) for axis in AXES[:count]))


@call(cuda.grid)
def grid(f: Frame, node: ast.AST, ndim: Anything) -> Anything:
    """Position in the grid."""

    def position(axis: str) -> Value:
        block, size, thread = (special(f, register, axis) for register in ("ctaid", "ntid", "tid"))
        return arith.multiply_add(f, node, block, size, thread)

    return _per_axis(f, node, ndim, position)


@call(cuda.gridsize)
def gridsize(f: Frame, node: ast.AST, ndim: Anything) -> Anything:
    """Threads of the grid."""

    def extent(axis: str) -> Value:
        return arith.binary(f, node, "Mult", special(f, "nctaid", axis), special(f, "ntid", axis))

    return _per_axis(f, node, ndim, extent)


# -- barriers and fences


@call(cuda.syncthreads)
def syncthreads(f: Frame, node: ast.AST) -> Static:
    """Barrier of the block."""
    f.b.effect("bar.sync", sub=BAR_PLAIN)
    return Static(None)


@call(smm.alloc)
def alloc(f: Frame, node: ast.AST, nbytes: Anything | None = None) -> Static:
    """Barrier that allocates shared memory."""
    size = weak(ALL_DYNAMIC) if nbytes is None else number(f, node, nbytes)
    if not f.ctx.dry and (
        not size.known or not isinstance(size.const, int) or size.const < ALL_DYNAMIC or size.const == 0
    ):
        raise f.error(node, "the number of bytes has to be a positive compile-time constant")
    if nbytes is None:
        f.ctx.nothing_to_allocate = f.error(node, "the kernel declares no smm.array(...) that this could allocate")
    f.b.effect("bar.sync", sub=BAR_ALLOC, bytes=size.const or 0)
    return Static(None)


@call(smm.release)
def release(f: Frame, node: ast.AST) -> Static:
    """Barrier that releases shared memory."""
    f.b.effect("bar.sync", sub=BAR_RELEASE)
    return Static(None)


@call(smm.isolate)
def isolate(f: Frame, node: ast.AST) -> Static:
    """Barrier at the border of a measured region."""
    f.b.effect("bar.sync", sub=BAR_PLAIN, isolate=1)
    return Static(None)


@call(cuda.syncwarp)
def syncwarp(f: Frame, node: ast.AST, mask: Anything | None = None) -> Static:
    """A fence for the compiler and no instruction, since the lanes of a warp run in lockstep."""
    f.b.effect("nop")
    return Static(None)


def _count(f: Frame, node: ast.AST, predicate: Value) -> Value:
    return library_number(f, node, "block_count", cast(f, node, predicate, Kind.INT32))


@call(cuda.syncthreads_count)
def syncthreads_count(f: Frame, node: ast.AST, predicate: Anything) -> Value:
    """Barrier with a count, by a counter in shared memory (4 bytes)."""
    return _count(f, node, truth(f, node, predicate))


@call(cuda.syncthreads_or)
def syncthreads_or(f: Frame, node: ast.AST, predicate: Anything) -> Value:
    """Barrier; 1 if the predicate is true in any thread."""
    some = compare.numbers(f, node, "NotEq", syncthreads_count(f, node, predicate), weak(0))
    return cast(f, node, some, Kind.INT32)


@call(cuda.syncthreads_and)
def syncthreads_and(f: Frame, node: ast.AST, predicate: Anything) -> Value:
    """Barrier; 1 if the predicate is true in all threads."""
    exceptions = _count(f, node, arith.logical_not(f, truth(f, node, predicate)))
    return cast(f, node, compare.numbers(f, node, "Eq", exceptions, weak(0)), Kind.INT32)


@call(cuda.threadfence, cuda.threadfence_block, cuda.threadfence_system)
def threadfence(f: Frame, node: ast.AST) -> Static:
    """Memory fence."""
    f.b.effect("membar")
    return Static(None)


# -- storage

NONE = Static(None)


@call(cuda.shared.array)
def shared_array(f: Frame, node: ast.AST, shape: Anything, dtype: Anything, alignment: Anything = NONE) -> ArrayRef:
    """Static shared memory."""
    align = array_declarations.alignment_of(f, node, alignment)
    return array_declarations.declare_shared(f, node, shape, dtype, dynamic=False, align=align)


@call(smm.array)
def dynamic_array(f: Frame, node: ast.AST, shape: Anything, dtype: Anything) -> ArrayRef:
    """Shared memory of the part that is allocated and released."""
    return array_declarations.declare_shared(f, node, shape, dtype, dynamic=True)


@call(cuda.local.array)
def local_array(f: Frame, node: ast.AST, shape: Anything, dtype: Anything, alignment: Anything = NONE) -> ArrayRef:
    """Registers, or local memory."""
    align = array_declarations.alignment_of(f, node, alignment)
    return array_declarations.declare_local(f, node, shape, dtype, align)


@call(cuda.const.array_like)
def const_array(f: Frame, node: ast.AST, array: Anything) -> ArrayRef:
    """Constant memory."""
    return array_declarations.declare_const(f, node, array)


# -- atomics: name, then the operation for int32, uint32 and float32 (None: refused)

ATOMICS = (
    (cuda.atomic.add, "ADD", "ADD", "ADD_F32"),
    (cuda.atomic.sub, "SUB", "SUB", "ADD_F32"),
    (cuda.atomic.and_, "AND", "AND", None),
    (cuda.atomic.or_, "OR", "OR", None),
    (cuda.atomic.xor, "XOR", "XOR", None),
    (cuda.atomic.inc, None, "INC", None),
    (cuda.atomic.dec, None, "DEC", None),
    (cuda.atomic.exch, "EXCH", "EXCH", "EXCH"),
    (cuda.atomic.max, "MAX_S32", "MAX_U32", "MAX_NAN_F32"),
    (cuda.atomic.min, "MIN_S32", "MIN_U32", "MIN_NAN_F32"),
    (cuda.atomic.nanmax, "MAX_S32", "MAX_U32", "MAX_F32"),
    (cuda.atomic.nanmin, "MIN_S32", "MIN_U32", "MIN_F32"),
)


def _atomic(
    names: dict[str, str | None], f: Frame, node: ast.AST, array: Anything, index: Anything, value: Anything
) -> Value:
    if not isinstance(array, ArrayRef):
        raise f.error(node, "the first argument of an atomic operation has to be an array")
    x = number(f, node, value)
    if array.dtype.name not in names:
        raise f.error(node, f"atomics work on elements of {', '.join(names)}, not on {array.dtype}")
    name = names[array.dtype.name]
    if name is None:
        supported = ", ".join(t for t, n in names.items() if n)
        raise f.error(node, f"this atomic operation works on {supported}, not on {array.dtype}")
    if name in ("ADD_F32", "ADD_F64") and names["int32"] == "SUB":
        x = arith.negate(f, node, to_kind(f, node, x, DTYPES[array.dtype.name].kind))
    if name.endswith("_F64"):
        f.needs_double(node)
    return array_access.atomic(f, node, array, array_access.indices(f, node, index), name, [x])


def _of_64_bits(name: str | None) -> str | None:
    """The operation on elements of 64 bits."""
    if name is None:
        return None
    return name.replace("32", "64") if name.endswith("32") else f"{name}64"


for _function, *_names in ATOMICS:
    _single = dict(zip(("int32", "uint32", "float32"), _names, strict=True))
    _double = {name.replace("32", "64"): _of_64_bits(operation) for name, operation in _single.items()}
    call(_function)(partial(_atomic, _single | _double))


@call(cuda.atomic.cas)
def cas(f: Frame, node: ast.AST, array: Anything, index: Anything, old: Anything, value: Anything) -> Value:
    """Compare and swap."""
    if not isinstance(array, ArrayRef):
        raise f.error(node, "the first argument of an atomic operation has to be an array")
    name = "CAS64" if DTYPES[array.dtype.name].size == 8 else "CAS"
    values = [number(f, node, old), number(f, node, value)]
    return array_access.atomic(f, node, array, array_access.indices(f, node, index), name, values)


@call(cuda.atomic.compare_and_swap)
def compare_and_swap(f: Frame, node: ast.AST, array: Anything, old: Anything, value: Anything) -> Value:
    """Compare and swap of element 0."""
    index = Tuple((weak(0),) * len(array.shape)) if isinstance(array, ArrayRef) else weak(0)
    return cas(f, node, array, index, old, value)


# -- warps


def _shuffle(mode: int, f: Frame, node: ast.AST, mask: Anything, value: Anything, lane: Anything) -> Value:
    x = strong(f, node, number(f, node, value))
    if x.kind is Kind.BOOL:
        x = cast(f, node, x, Kind.INT32)
    x = settle(f, node, x, "shuffle")
    source = operand(f, to_kind(f, node, number(f, node, lane), Kind.INT32))

    def shuffled(word: ir.Operand) -> ir.Reg:
        return f.b.op("shfl", MACHINE_TYPE[x.kind], word, source, operand(f, constant(Kind.INT32, 32)), sub=mode)

    if x.kind.wide:
        return memory64.number(x.kind, *map(shuffled, words.words_of(f.b, x)))
    return result(x.kind, shuffled(operand(f, x)), x.lo, x.hi)


for _function, _mode in (
    (cuda.shfl_sync, SHFL_IDX),
    (cuda.shfl_up_sync, SHFL_UP),
    (cuda.shfl_down_sync, SHFL_DOWN),
    (cuda.shfl_xor_sync, SHFL_BFLY),
):
    call(_function)(partial(_shuffle, _mode))


def _predicate(f: Frame, node: ast.AST, value: Anything) -> ir.Operand:
    return operand(f, truth(f, node, value))


@call(cuda.all_sync)
def all_sync(f: Frame, node: ast.AST, mask: Anything, predicate: Anything) -> Value:
    """True in all active lanes."""
    return result(Kind.BOOL, f.b.op("vote.pred", ir.Type.PRED, _predicate(f, node, predicate), sub=VOTE_ALL), 0, 1)


@call(cuda.any_sync)
def any_sync(f: Frame, node: ast.AST, mask: Anything, predicate: Anything) -> Value:
    """True in any active lane."""
    return result(Kind.BOOL, f.b.op("vote.pred", ir.Type.PRED, _predicate(f, node, predicate), sub=VOTE_ANY), 0, 1)


@call(cuda.eq_sync)
def eq_sync(f: Frame, node: ast.AST, mask: Anything, predicate: Anything) -> Value:
    """Whether the predicate is the same in all active lanes."""
    every, some = all_sync(f, node, mask, predicate), any_sync(f, node, mask, predicate)
    return compare.either(f, every, arith.logical_not(f, some))


@call(cuda.ballot_sync)
def ballot_sync(f: Frame, node: ast.AST, mask: Anything, predicate: Anything) -> Value:
    """A bit per lane."""
    return result(Kind.UINT32, f.b.op("vote.ballot.b32", ir.Type.U32, _predicate(f, node, predicate)))


@call(cuda.activemask)
def activemask(f: Frame, node: ast.AST) -> Value:
    """A bit per active lane."""
    return ballot_sync(f, node, weak(0), weak(True))


@call(cuda.lanemask_lt)
def lanemask_lt(f: Frame, node: ast.AST) -> Value:
    """A bit per lane below: (1 << laneid) - 1."""
    lane = ir.Special(ir.SpecialName.LANEID)
    bit = f.b.op("shl.b32", ir.Type.U32, ir.Imm(1, ir.Type.U32), lane)
    return result(Kind.UINT32, f.b.op("add.s32", ir.Type.U32, bit, ir.Imm(0xFFFFFFFF, ir.Type.U32)))


# -- arithmetic


@call(cuda.selp)
def selp(f: Frame, node: ast.AST, condition: Anything, a: Anything, b: Anything) -> Value:
    """Selection without a branch."""
    return arith.select(f, node, truth(f, node, condition), number(f, node, a), number(f, node, b))


def _bits(f: Frame, node: ast.AST, value: Anything, what: str) -> Value:
    x = number(f, node, value)
    if x.kind.floating:
        raise f.error(node, f"cuda.{what} needs an integer, not a float")
    return strong(f, node, settle(f, node, cast(f, node, x, Kind.INT32) if x.kind is Kind.BOOL else x, f"cuda.{what}"))


def _bit_count(name: str, op: str, f: Frame, node: ast.AST, x: Anything) -> Value:
    value = _bits(f, node, x, name)
    if value.kind.wide:
        return (bits64.population if name == "popc" else bits64.leading_zeros)(f.b, index_kind(f), value)
    return result(Kind.INT32, f.b.op(op, ir.Type.S32, operand(f, _bits(f, node, x, name))), 0, 32)


call(cuda.popc)(partial(_bit_count, "popc", "popc.b32"))
call(cuda.clz)(partial(_bit_count, "clz", "clz.b32"))


@call(cuda.brev)
def brev(f: Frame, node: ast.AST, x: Anything) -> Value:
    """Bits reversed."""
    value = _bits(f, node, x, "brev")
    if value.kind.wide:
        low, high = (f.b.op("brev.b32", ir.Type.U32, word) for word in words.words_of(f.b, value))
        return words.integer(value.kind, (high, low))
    return result(value.kind, f.b.op("brev.b32", MACHINE_TYPE[value.kind], operand(f, value)))


@call(cuda.ffs)
def ffs(f: Frame, node: ast.AST, x: Anything) -> Value:
    """Position of the lowest one: 32 - clz of the isolated bit."""
    number_of_bits = _bits(f, node, x, "ffs")
    if number_of_bits.kind.wide:
        return bits64.first_set(f.b, index_kind(f), number_of_bits)
    value = operand(f, number_of_bits)
    lowest = f.b.op("and.b32", ir.Type.S32, value, f.b.op("neg.s32", ir.Type.S32, value))
    zeros = f.b.op("clz.b32", ir.Type.S32, lowest)
    return result(Kind.INT32, f.b.op("sub.s32", ir.Type.S32, ir.Imm(32, ir.Type.S32), zeros), 0, 32)


@call(cuda.fma)
def fma(f: Frame, node: ast.AST, a: Anything, b: Anything, c: Anything) -> Value:
    """Multiply-add with one rounding."""
    values = [number(f, node, v) for v in (a, b, c)]
    if any(v.kind in (Kind.FLOAT64, Kind.INT64, Kind.UINT64) or (v.kind.wide and not v.known) for v in values):
        f.needs_double(node)
        return floats.operation(f, Kind.FLOAT64, "fma.rn.f64", *(to_kind(f, node, v, Kind.FLOAT64) for v in values))
    x, y, z = (
        operand(f, to_kind(f, node, settle(f, node, number(f, node, v), "cuda.fma"), Kind.FLOAT32)) for v in (a, b, c)
    )
    return result(Kind.FLOAT32, f.b.op("fma.rn.f32", ir.Type.F32, x, y, z))
