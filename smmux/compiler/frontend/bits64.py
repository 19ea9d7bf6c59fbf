"""Counts of bits in integers of 64 bits, made of those of their words."""

from __future__ import annotations

from smmux.compiler import ir
from smmux.compiler.frontend import words
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.special_registers import index_kind
from smmux.compiler.frontend.typed_values import Value


def population(f: Frame, value: Value) -> Value:
    """Number of ones."""
    low, high = (f.b.op("popc.b32", ir.Type.S32, word) for word in words.words_of(f, value))
    return Value(index_kind(f), f.b.op("add.s32", ir.Type.S32, low, high), None, 0, 64)


def leading_zeros(f: Frame, value: Value) -> Value:
    """Number of zeros above the highest one."""
    low, high = words.words_of(f, value)
    below = f.b.op("add.s32", ir.Type.S32, f.b.op("clz.b32", ir.Type.S32, low), words.immediate(32))
    empty = f.b.op("setp.eq.s32", ir.Type.PRED, high, words.ZERO)
    above = f.b.op("clz.b32", ir.Type.S32, high)
    return Value(index_kind(f), f.b.op("selp.b32", ir.Type.S32, below, above, empty), None, 0, 64)


def first_set(f: Frame, value: Value) -> Value:
    """Position of the lowest one, counted from 1; 0 if there is none."""
    low, high = words.words_of(f, value)
    below, above = _lowest(f, low), _lowest(f, high)
    shifted = f.b.op("add.s32", ir.Type.S32, above, words.immediate(32))
    nothing = f.b.op("setp.eq.s32", ir.Type.PRED, high, words.ZERO)
    upper = f.b.op("selp.b32", ir.Type.S32, words.ZERO, shifted, nothing)
    empty = f.b.op("setp.eq.s32", ir.Type.PRED, low, words.ZERO)
    return Value(index_kind(f), f.b.op("selp.b32", ir.Type.S32, upper, below, empty), None, 0, 64)


def _lowest(f: Frame, word: ir.Operand) -> ir.Operand:
    """Position of the lowest one of a word, counted from 1."""
    lowest = f.b.op("and.b32", ir.Type.S32, word, f.b.op("neg.s32", ir.Type.S32, word))
    return f.b.op("sub.s32", ir.Type.S32, words.immediate(32), f.b.op("clz.b32", ir.Type.S32, lowest))
