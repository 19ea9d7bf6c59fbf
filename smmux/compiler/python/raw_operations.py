"""The operations of `machine_operations` on numbers of 64 bits, which the library names."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.numbers import Kind, Value, constant
from smmux.compiler.library import machine_operations
from smmux.compiler.python import floats
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import number, operand, result, to_kind
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Anything


def _double(f: Frame, node: ast.AST, x: Anything) -> Value:
    return to_kind(f, node, number(f, node, x), Kind.FLOAT64)


@call(machine_operations.high_word)
def high_word(f: Frame, node: ast.AST, x: Anything) -> Value:
    """The upper word: no operation."""
    return _word(words.words_of(f.b, _double(f, node, x))[1])


@call(machine_operations.low_word)
def low_word(f: Frame, node: ast.AST, x: Anything) -> Value:
    """The lower word: no operation."""
    return _word(words.words_of(f.b, _double(f, node, x))[0])


def _word(operand: ir.Operand) -> Value:
    return constant(Kind.UINT32, operand.bits) if isinstance(operand, ir.Imm) else result(Kind.UINT32, operand)


@call(machine_operations.from_words)
def from_words(f: Frame, node: ast.AST, high: Anything, low: Anything) -> Value:
    """A float64 of two words: no operation."""
    pair = [operand(f, to_kind(f, node, number(f, node, word), Kind.UINT32)) for word in (low, high)]
    return words.double(Kind.FLOAT64, (pair[0], pair[1]))


def _whole(mode: str, function: Callable[[float], float], f: Frame, node: ast.AST, value: Anything) -> Value:
    """A float rounded to an integer, as a float."""
    x = number(f, node, value)
    if x.known and math.isfinite(x.const):
        return constant(x.kind, math.copysign(function(x.const), x.const))
    if x.kind.double:
        return floats.whole(f, mode, x)
    return result(x.kind, f.b.op(f"cvt.{mode}.f32.f32", ir.Type.F32, operand(f, x)))


call(machine_operations.nearest)(partial(_whole, "rni", round))
call(machine_operations.truncated)(partial(_whole, "rzi", math.trunc))
call(machine_operations.lowered)(partial(_whole, "rmi", math.floor))
call(machine_operations.raised)(partial(_whole, "rpi", math.ceil))
