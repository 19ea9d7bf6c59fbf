"""Floats of 64 and of 16 bits: the operations of the one, the rounding of the other, and conversions to both.

A float64 is two words. A float16 is held as the float32 of its value; each operation on it is one of float32, rounded
to 16 bits afterwards, which is NumPy's value.
"""

from __future__ import annotations

import numpy as np

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import MACHINE_TYPE, RANGE, Kind, Value, bits
from smmux.compiler.python.context import Frame

SIGN = 0x80000000


def word(f: Frame, value: Value) -> ir.Operand:
    """The register or constant of a float of one word."""
    if value.known:
        return ir.Imm(bits(value.kind, value.const), MACHINE_TYPE[value.kind])
    return value.operand if value.operand is not None else f.b.reg(MACHINE_TYPE[value.kind])


def operation(f: Frame, kind: Kind, name: str, *values: Value) -> Value:
    """An operation on float64 numbers: `add.f64` and its like."""
    return words.double(kind, f.b.pair(name, *(w for v in values for w in words.words_of(f.b, v))))


def compare(f: Frame, name: str, x: Value, y: Value) -> ir.Reg:
    """A comparison of float64 numbers."""
    return f.b.op(f"setp.{name}.f64", ir.Type.PRED, *words.words_of(f.b, x), *words.words_of(f.b, y))


def negate(f: Frame, value: Value) -> Value:
    """-x of a float64: its sign changed."""
    low, high = words.words_of(f.b, value)
    return words.double(value.kind, (low, f.b.op("xor.b32", ir.Type.U32, high, words.immediate(SIGN))))


def absolute(f: Frame, value: Value) -> Value:
    """abs(x) of a float64: its sign cleared."""
    low, high = words.words_of(f.b, value)
    return words.double(value.kind, (low, f.b.op("and.b32", ir.Type.U32, high, words.immediate(SIGN - 1))))


def round16(f: Frame, reg: ir.Operand) -> Value:
    """A float32 rounded to a float16."""
    half = f.b.op("cvt.rn.f16.f32", ir.Type.U32, reg)
    return Value(Kind.FLOAT16, f.b.op("cvt.f32.f16", ir.Type.F32, half))


def from_integer(f: Frame, value: Value, kind: Kind) -> Value:
    """An integer as a float, rounded once."""
    if words.fits(value.lo, value.hi) or not value.kind.wide:
        signed = value.kind is not Kind.UINT32 and (not value.kind.wide or words.fits_signed(value.lo, value.hi))
        source, operands = "s32" if signed else "u32", (words.low_word(f.b, value),)
    else:
        source, operands = "u64" if value.kind is Kind.UINT64 else "s64", words.words_of(f.b, value)  # type: ignore[assignment]
    if kind.double:
        return words.double(kind, f.b.pair(f"cvt.rn.f64.{source}", *operands))
    reg = f.b.op(f"cvt.rn.f32.{source}", ir.Type.F32, *operands)
    return round16(f, reg) if kind is Kind.FLOAT16 else Value(kind, reg)


def resize(f: Frame, value: Value, kind: Kind) -> Value:
    """A float as one of another size, rounded once."""
    if kind.double:
        return words.double(kind, f.b.pair("cvt.f64.f32", word(f, value)))
    if not value.kind.double:
        return round16(f, word(f, value)) if kind is Kind.FLOAT16 else Value(kind, value.operand)
    if kind is Kind.FLOAT16:
        half = f.b.op("cvt.rn.f16.f64", ir.Type.U32, *words.words_of(f.b, value))
        return Value(kind, f.b.op("cvt.f32.f16", ir.Type.F32, half))
    return Value(kind, f.b.op("cvt.rn.f32.f64", ir.Type.F32, *words.words_of(f.b, value)))


def to_integer(f: Frame, value: Value, kind: Kind) -> Value:
    """A float as an integer, towards zero; out of range the nearest, 0 for NaN."""
    target = {Kind.INT32: "s32", Kind.UINT32: "u32", Kind.UINT64: "u64"}.get(kind, "s64")
    operands = words.words_of(f.b, value) if value.kind.double else (word(f, value),)
    name = f"cvt.rzi.{target}.{'f64' if value.kind.double else 'f32'}"
    if kind.wide:
        return words.integer(kind, f.b.pair(name, *operands))
    return Value(kind, f.b.op(name, MACHINE_TYPE[kind], *operands), None, *RANGE[kind])


def whole(f: Frame, mode: str, value: Value) -> Value:
    """A float64 rounded to an integer: rmi down, rpi up, rzi towards zero, rni to the nearest, halves to even."""
    return operation(f, value.kind, f"cvt.{mode}.f64.f64", value)


def halved(f: Frame, value: Value) -> ir.Operand:
    """The 16 bits of a float16, for memory."""
    if value.known:
        return words.immediate(int(np.float64(value.const).astype(np.float16).view(np.uint16)))
    return f.b.op("cvt.rn.f16.f32", ir.Type.U32, word(f, value))
