"""Counts of bits in integers of 64 bits, made of those of their words; kind: the type of a count."""

from __future__ import annotations

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.builder import Builder
from smmux.compiler.build.numbers import Kind, Value


def population(code: Builder, kind: Kind, value: Value) -> Value:
    """Number of ones."""
    low, high = (code.op("popc.b32", ir.Type.S32, word) for word in words.words_of(code, value))
    return Value(kind, code.op("add.s32", ir.Type.S32, low, high), None, 0, 64)


def leading_zeros(code: Builder, kind: Kind, value: Value) -> Value:
    """Number of zeros above the highest one."""
    low, high = words.words_of(code, value)
    below = code.op("add.s32", ir.Type.S32, code.op("clz.b32", ir.Type.S32, low), words.immediate(32))
    empty = code.op("setp.eq.s32", ir.Type.PRED, high, words.ZERO)
    above = code.op("clz.b32", ir.Type.S32, high)
    return Value(kind, code.op("selp.b32", ir.Type.S32, below, above, empty), None, 0, 64)


def first_set(code: Builder, kind: Kind, value: Value) -> Value:
    """Position of the lowest one, counted from 1; 0 if there is none."""
    low, high = words.words_of(code, value)
    below, above = _lowest(code, low), _lowest(code, high)
    shifted = code.op("add.s32", ir.Type.S32, above, words.immediate(32))
    nothing = code.op("setp.eq.s32", ir.Type.PRED, high, words.ZERO)
    upper = code.op("selp.b32", ir.Type.S32, words.ZERO, shifted, nothing)
    empty = code.op("setp.eq.s32", ir.Type.PRED, low, words.ZERO)
    return Value(kind, code.op("selp.b32", ir.Type.S32, upper, below, empty), None, 0, 64)


def _lowest(code: Builder, word: ir.Operand) -> ir.Operand:
    """Position of the lowest one of a word, counted from 1."""
    lowest = code.op("and.b32", ir.Type.S32, word, code.op("neg.s32", ir.Type.S32, word))
    return code.op("sub.s32", ir.Type.S32, words.immediate(32), code.op("clz.b32", ir.Type.S32, lowest))
