"""From one type to another: literals to machine types, promotion of operands, casts, joins of definitions."""

from __future__ import annotations

import ast
from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import (
    DTYPES,
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    MACHINE_TYPE,
    RANGE,
    STRONG,
    SUPPORTED,
    UINT32_MAX,
    Complex,
    Kind,
    Value,
    bits,
    constant,
    extent_value,
    round32,
    unknown,
    weak,
)
from smmux.compiler.python import floats
from smmux.compiler.python.context import Frame
from smmux.compiler.python.identity import describe, same_view
from smmux.compiler.python.promotion import LASTING, Typing, one_of_two, together
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, Static, Structure, Tuple, type_name
from smmux.language.types import Scalar

FLOAT32_EXACT = 2**24  # integers up to this magnitude are float32 numbers


def operand(f: Frame, value: Value) -> ir.Operand:
    """The machine's operand that holds a number."""
    if value.known:
        return ir.Imm(bits(value.kind, value.const), MACHINE_TYPE[value.kind])
    return value.operand if value.operand is not None else f.b.reg(MACHINE_TYPE[value.kind])


def result(kind: Kind, reg: ir.Operand, lo: int = INT32_MIN, hi: int = UINT32_MAX, drift: bool = False) -> Value:
    """A number in one register, its bounds limited by its type."""
    low, high = RANGE.get(kind, (0, 0))
    return Value(kind, reg, None, max(lo, low), min(hi, high), drift)


def number(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The value itself, if it is a number; else a CompileError."""
    if isinstance(value, Value):
        return value
    if isinstance(value, ArrayRef):
        missing = len(value.shape)
        cure = f"{missing} more ind{'ex' if missing == 1 else 'ices'} needed"
        if not missing:
            cure = "name a field of it" if isinstance(value.dtype, Structure) else f"write {value.name}[()]"
        raise f.error(node, f"{value.name!r} is {type_name(value)} here; {cure}")
    if isinstance(value, Complex):
        raise f.error(node, f"a real number is needed here, not {type_name(value)}; take .real, .imag or abs(...)")
    raise f.error(node, f"a number is needed here, not {type_name(value)}")


def settle(f: Frame, node: ast.AST, value: Value, what: str) -> Value:
    """A value about to be used where its upper bits matter; noted if Numba's wider result could differ there."""
    if value.drift:
        wide, cast = ("float64", "float32") if value.kind.floating else ("int64", value.kind.value)
        f.note(node, f"{what} uses a value that Numba holds as {wide}: write {cast}(...) around it")
        return value.settled
    return value


def strong(f: Frame, node: ast.AST, value: Value) -> Value:
    """The value with a machine type: an int literal becomes int32, or int64 if it needs it, a float literal float32.

    Where Python's numbers are as wide as Python has them, those known at run time only become int64 and float64."""
    if not value.kind.weak:
        return value
    kind = STRONG[value.kind] if f.typing is not Typing.NUMBA else LASTING[value.kind]
    if value.kind is Kind.WEAK_INT and not words.fits_signed(value.lo, value.hi) and (value.known or not f.narrow):
        kind = Kind.INT64 if value.hi <= INT64_MAX else Kind.UINT64
    elif value.kind is Kind.WEAK_FLOAT and not f.narrow:
        kind = Kind.FLOAT64
    return to_kind(f, node, value, kind)


def to_kind(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """Implicit conversion of an operand to the type of the operation."""
    if value.kind is kind:
        return value
    if value.kind is Kind.WEAK_INT and kind.integral:
        _check_literal(f, node, value, kind)
    return cast(f, node, value, kind)


def _check_literal(f: Frame, node: ast.AST, value: Value, kind: Kind) -> None:
    low, high = RANGE[kind]
    if value.known and not low <= value.const <= high:
        hint = f"; write uint32({value.const})" if kind is Kind.INT32 and 0 < value.const <= UINT32_MAX else ""
        raise f.error(node, f"integer {value.const} does not fit {kind.value}{hint}")


def cast(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """Conversion as by a cast: wraps integers, rounds towards zero from floats."""
    if value.kind is kind:
        return replace(value, drift=False, small=False) if value.drift or value.small else value
    if value.known:
        return _cast_constant(value, kind)
    if kind is Kind.BOOL:
        return truth(f, node, value)
    if value.kind is Kind.BOOL:
        return _from_bool(f, value, kind)
    if kind.wide:
        value = settle(f, node, value, f"conversion to {kind.value}")
    if kind.floating:
        return _to_float(f, node, value, kind)
    if value.kind.floating:
        return _float_to_integer(f, node, value, kind)
    if kind.wide:
        return words.extend(f.b, value.settled, kind)
    low, high = RANGE.get(kind, (INT32_MIN, INT32_MAX))
    if low <= value.lo and value.hi <= high:
        return Value(kind, value.operand, None, value.lo, value.hi)
    return Value(kind, value.operand, None, low, high)


def _from_bool(f: Frame, value: Value, kind: Kind) -> Value:
    condition = operand(f, value)
    if kind.double:
        high = f.b.op("selp.b32", ir.Type.U32, words.immediate(0x3FF00000), words.ZERO, condition)
        return words.double(kind, (words.ZERO, high))
    one, zero = constant(kind, 1), constant(kind, 0)
    chosen = f.b.op("selp.b32", MACHINE_TYPE[kind], operand(f, one), operand(f, zero), condition)
    return Value(kind, chosen, None, 0, 1) if kind.wide else result(kind, chosen, 0, 1)


def _to_float(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    if not value.kind.floating:
        value = settle(f, node, value, f"conversion to {kind.value}")
        if kind.double:
            f.needs_double(node)
        return floats.from_integer(f, value, kind)
    if value.kind.double and kind.double or value.kind is Kind.FLOAT16 and kind is Kind.FLOAT32:
        return replace(value, kind=kind, drift=False)
    if kind.double or value.kind.double:
        f.needs_double(node)
    return floats.resize(f, value, kind)


def _float_to_integer(f: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    value = settle(f, node, value, f"conversion to {kind.value}")
    if value.kind.double:
        f.needs_double(node)
    if kind.wide or value.kind.double:
        return floats.to_integer(f, value, kind)
    name = "cvt.rzi.u32.f32" if kind is Kind.UINT32 else "cvt.rzi.s32.f32"
    return result(kind, f.b.op(name, MACHINE_TYPE[kind], operand(f, value)))


def _cast_constant(value: Value, kind: Kind) -> Value:
    """The value that the machine's conversion gives at run time: out of range the nearest integer, 0 for NaN."""
    content = value.const
    if kind is Kind.BOOL:
        return weak(bool(content))
    if value.kind.floating and kind.integral:
        low, high = RANGE[kind]
        content = 0 if content != content else int(min(max(content, low), high))
    return constant(kind, content)


def cast_to(f: Frame, node: ast.AST, anything: Anything, dtype: Scalar) -> Value | Complex:
    """A cast written in the source, or the conversion by a store: `uint8(x)` keeps 8 bits, as an int32."""
    element = element_type(f, node, dtype)
    if element.complex:
        return complex_of(f, node, anything, element.kind)
    value = cast(f, node, number(f, node, anything), element.kind)
    whole = element.size >= 4 or element.kind in (Kind.BOOL, Kind.FLOAT16)
    if whole:
        return value
    if element.lo <= value.lo and value.hi <= element.hi:
        return replace(value, small=True)
    if value.known:
        span = element.hi - element.lo + 1
        return replace(constant(element.kind, (value.const - element.lo) % span + element.lo), small=True)
    name = f"cvt.{'s32.s' if element.signed else 'u32.u'}{8 * element.size}"
    reg = f.b.op(name, ir.Type.S32, operand(f, value))
    return Value(element.kind, reg, None, element.lo, element.hi, small=True)


def as_complex(value: Value | Complex) -> Complex:
    """A number as a complex one, of its own type."""
    return value if isinstance(value, Complex) else Complex(value, weak(0.0))


def complex_of(f: Frame, node: ast.AST, value: Anything, kind: Kind) -> Complex:
    """A number as a complex one whose parts have a type."""
    if isinstance(value, Complex):
        return Complex(cast(f, node, value.re, kind), cast(f, node, value.im, kind))
    return Complex(cast(f, node, number(f, node, value), kind), constant(kind, 0.0))


def element_type(f: Frame, node: ast.AST, dtype: Scalar):  # type: ignore[no-untyped-def]
    """The behaviour of loads and stores of a type."""
    if dtype.name not in DTYPES:
        raise f.error(node, f"{dtype.name} is not supported by the machine; supported are {SUPPORTED}")
    element = DTYPES[dtype.name]
    if (element.kind.wide or element.kind is Kind.FLOAT16) and not f.source.library:
        f.ctx.has_wide_data()
    return element


def truth(f: Frame, node: ast.AST, value: Anything) -> Value:
    """The value as a condition."""
    if isinstance(value, Static) and value.object is None:
        return weak(False)
    if isinstance(value, Tuple):
        return weak(bool(value.items))
    if isinstance(value, Complex):
        real, imaginary = truth(f, node, value.re), truth(f, node, value.im)
        if real.known or imaginary.known:
            first, other = (real, imaginary) if real.known else (imaginary, real)
            return first if first.const else other
        return result(Kind.BOOL, f.b.op("or.pred", ir.Type.PRED, operand(f, real), operand(f, imaginary)), 0, 1)
    value = number(f, node, value)
    if value.kind is Kind.BOOL:
        return value
    if value.known:
        return weak(bool(value.const))
    value = settle(f, node, value, "condition")
    if value.kind.double:
        return result(Kind.BOOL, floats.compare(f, "neu", value, constant(Kind.FLOAT64, 0.0)), 0, 1)
    if value.kind.wide:
        return result(Kind.BOOL, words.is_zero(f.b, "ne", value), 0, 1)
    name = "setp.neu.f32" if value.kind.floating else "setp.ne.s32"
    return result(
        Kind.BOOL, f.b.op(name, ir.Type.PRED, operand(f, value), operand(f, constant(strong_kind(value.kind), 0))), 0, 1
    )


def strong_kind(kind: Kind) -> Kind:
    """The machine type of a kind."""
    return STRONG.get(kind, kind)


def lasting_kind(f: Frame, kind: Kind) -> Kind:
    """The type of a variable, or of a value chosen at run time: Python's numbers stay what they are only where they are
    as wide as Python has them."""
    if f.typing is Typing.WIDE:
        return kind
    return (STRONG if f.narrow else LASTING).get(kind, kind)


def exact_in_float32(value: Value) -> bool:
    """True if the number converts to float32 without rounding, whatever it is at run time."""
    if value.known:
        return bool(value.const != value.const or round32(value.const) == value.const)
    return value.kind in (Kind.FLOAT32, Kind.BOOL, Kind.FLOAT16) or (
        -FLOAT32_EXACT <= value.lo and value.hi <= FLOAT32_EXACT
    )


def float64_in_numba(f: Frame, node: ast.AST, *values: Value) -> bool:
    """True if compiled Numba computes an operation on these in float64, and rounding that gives our result.

    One +, -, *, / or sqrt of float32 numbers, computed in float64 and then rounded, is the float32 result; several are
    not.
    """
    wide = any(v.drift or v.kind is not Kind.FLOAT32 for v in values)
    for v in values:
        settle(f, node, v, "float arithmetic")
    if not wide:
        return False
    if all(map(exact_in_float32, values)):
        return True
    f.note(node, "Numba computes this in float64: write float32(...) around literals and integers")
    return False


class Conflict(Exception):
    """Two definitions of a variable have types that do not join."""


def differ(f: Frame, a: Anything, b: Anything) -> bool:
    """Whether definitions of two types make a name two variables.

    Where Python's numbers are narrow, a variable may be a literal once and a number of one type elsewhere."""
    if isinstance(a, Value) and isinstance(b, Value) and not f.narrow:
        x, y = (LASTING.get(v.kind, v.kind) if f.typing is Typing.NUMBA else v.kind for v in (a, b))
        return x is not y or a.small is not b.small
    try:
        join(a, b)
    except Conflict:
        return True
    return False


def join(a: Anything, b: Anything, f: Frame | None = None) -> Anything:
    """The type of a variable with two definitions in a function; where there is none, of types that fit."""
    if describe(a) == describe(b):
        return a
    if f is not None and f.typing is Typing.NUMBA and isinstance(a, Value) and isinstance(b, Value):
        kind = one_of_two(f, a, b)
        if a.kind is not b.kind:
            wanted = unknown(kind)
            return a if describe(a) == describe(wanted) else wanted
    if isinstance(a, Value) and isinstance(b, Value):
        try:
            joined = _join_numbers(a, b)
        except Conflict:
            if f is None:
                raise
            joined = unknown(together(f, a, b))
        return (
            a if describe(joined) == describe(a) else joined
        )  # the same object: inference is over when nothing changes
    if isinstance(a, Complex) or isinstance(b, Complex):
        return _join_complex(a, b)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        items = tuple(map(join, a.items, b.items))
        names = a.names if a.names == b.names else ()
        unchanged = names == a.names and all(x is y for x, y in zip(items, a.items, strict=True))
        return a if unchanged else Tuple(items, names)
    if isinstance(a, ArrayRef) and isinstance(b, ArrayRef) and a.dtype == b.dtype:
        if same_view(a, b):
            return a if a.base is not None or isinstance(a.storage, Choice) and b.base is None else b
        if len(a.shape) == len(b.shape):
            return _join_arrays(a, b)  # which one it is has to be known wherever it is used
    raise Conflict


def _join_arrays(a: ArrayRef, b: ArrayRef) -> ArrayRef:
    """The type of a variable that stands for several arrays: extents that differ count as known only at run time, and
    so does the first element where it is a number of the variable's."""
    pairs = zip(a.shape, b.shape, strict=True)
    shape = tuple(x if not isinstance(x, int) or x == y else extent_value(None) for x, y in pairs)
    base, offset, readonly = a.base, a.offset, a.readonly
    if isinstance(a.storage, Choice):
        if a.strides != b.strides:
            raise Conflict
        readonly = a.readonly or b.readonly
        if a.base is None and (b.base is not None or a.offset != b.offset):
            base, offset = Value(Kind.INT32), 0
    kept = base is a.base and readonly == a.readonly and all(x is y for x, y in zip(shape, a.shape, strict=True))
    return a if kept else replace(a, shape=shape, base=base, offset=offset, readonly=readonly)


def _join_complex(a: Anything, b: Anything) -> Complex:
    """The type of a variable that is a complex number once, and that or another number elsewhere."""
    if not (isinstance(a, Complex | Value) and isinstance(b, Complex | Value)):
        raise Conflict
    x, y = as_complex(a), as_complex(b)
    joined = x.zip(join, y)
    return a if isinstance(a, Complex) and joined.re is a.re and joined.im is a.im else joined


def _join_numbers(a: Value, b: Value) -> Value:
    drift = a.drift or b.drift
    if a.kind is b.kind:
        return _join_alike(a, b, drift)
    kinds = {a.kind, b.kind}
    if kinds == {Kind.WEAK_INT, Kind.WEAK_FLOAT}:
        return Value(Kind.WEAK_FLOAT)
    if Kind.BOOL in kinds and not (a.kind.floating or b.kind.floating):
        kind = a.kind if b.kind is Kind.BOOL else b.kind
        return unknown(Kind.INT32 if kind is Kind.WEAK_INT else kind, drift)
    for literal, typed in ((a.kind, b.kind), (b.kind, a.kind)):
        if literal.weak and not typed.weak and (literal is Kind.WEAK_INT or typed.floating):
            # Numba's variable would be float64, since its literals are.
            return unknown(typed, drift or typed in (Kind.FLOAT32, Kind.FLOAT16))
    for wide, narrow in WIDENED:
        if wide in kinds and kinds <= {wide, *narrow}:
            return unknown(wide)
    raise Conflict


WIDENED = (
    (Kind.INT64, (Kind.INT32, Kind.UINT32)),
    (Kind.UINT64, (Kind.UINT32,)),
    (Kind.FLOAT64, (Kind.FLOAT32, Kind.FLOAT16)),
    (Kind.FLOAT32, (Kind.FLOAT16,)),
)
"""Types of which a variable may have several, each exact in the first."""


SMALL_BOUNDS = ((0, 255), (-128, 127), (0, 65535), (-32768, 32767))
"""Of the integers of 8 and 16 bits."""


def _join_alike(a: Value, b: Value, drift: bool) -> Value:
    widest = unknown(a.kind)
    if a.kind is Kind.WEAK_INT and any(v.known and not words.fits_signed(v.lo, v.hi) for v in (a, b)):
        return unknown(Kind.INT64)  # of literals that an int32 does not hold
    if not a.known and a.drift == drift and (a.lo, a.hi) == (widest.lo, widest.hi):
        return a  # already as wide as can be
    if a.small and b.small and (a.lo, a.hi) != (b.lo, b.hi):
        low, high = min(a.lo, b.lo), max(a.hi, b.hi)
        for least, most in SMALL_BOUNDS:
            if least <= low and high <= most:
                return Value(a.kind, None, None, least, most, drift, small=True)
    # Bounds are kept only while all definitions agree, so that inference comes to an end.
    if (a.lo, a.hi) != (b.lo, b.hi):
        return unknown(a.kind, drift)
    return Value(a.kind, None, None, a.lo, a.hi, drift, small=a.small and b.small)
