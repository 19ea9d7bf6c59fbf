"""Constants that a kernel's text spells: computed by Python's operators on plain numbers, within bounds.

Whatever computes a number of the text before the kernel runs does it here, so that no text is ever evaluated as Python,
and no expression takes more than a moment.

>>> import ast
>>> evaluate(ast.parse("2 * N + 1", mode="eval").body, {"N": 16}.get)
33
>>> evaluate(ast.parse("9 ** 9 ** 7", mode="eval").body)
Traceback (most recent call last):
    ...
smmux.source.constants.TooLong: an integer of more than 1000 bits; numbers of kernels have at most 64
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeGuard

__all__ = [
    "COMPARISONS", "MOST_BITS", "OPERATORS", "SIGNS", "TooLong", "compute", "evaluate", "number", "plain",
    "refused_shape",
]  # fmt: skip

MOST_BITS = 1000
"""Bits that an integer may have on the way to a constant [EST]: all that a float has room for. More take time and
memory, and no number of a kernel's is that large."""

MOST_ELEMENTS = 2**24
"""Elements of a declared array: beyond all shared and local memories, and far from where 32 bits end."""

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
})  # fmt: skip
SIGNS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
)
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge,
})  # fmt: skip
"""What Python's operators compute, by their names in `ast`: of two numbers, of one, and comparisons."""

NUMBERS = (bool, int, float, complex)


class TooLong(OverflowError):
    """An integer that no kernel has a use for, and that would take long to compute."""

    def __init__(self) -> None:
        super().__init__(f"an integer of more than {MOST_BITS} bits; numbers of kernels have at most 64")


def number(value: Any) -> TypeGuard[bool | int | float | complex]:
    """Whether a value is a plain number of Python's, whose operators are Python's own."""
    return type(value) in NUMBERS


def plain(value: Any) -> Any:
    """A number of a class that is derived from one of Python's, as that one: what the class adds is not asked."""
    if number(value):
        return value
    if isinstance(value, int):
        return int.__pos__(value)
    if isinstance(value, float):
        return float.__pos__(value)
    return complex.__pos__(value) if isinstance(value, complex) else value


def compute(op: str, *values: Any) -> Any:
    """An operator, by its name in `ast`, on constants. Raises ArithmeticError, TypeError or ValueError."""
    if not all(map(number, values)):
        raise TypeError("a constant expression is made of numbers")
    if len(values) == 2 and _bits(op, *values) > MOST_BITS:
        raise TooLong
    table = SIGNS if len(values) == 1 else OPERATORS if op in OPERATORS else COMPARISONS
    if op not in table:
        raise TypeError(f"{op} is no operator on {len(values)} constants")
    value = table[op](*values)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise TooLong
    return value


def _bits(op: str, a: Any, b: Any) -> int:
    """At least the bits of the result of an operation on Python integers, before it is computed."""
    if not (isinstance(a, int) and isinstance(b, int)) or b < 0:
        return 0
    if op == "LShift":
        return a.bit_length() + b if a else 0
    return (a.bit_length() - 1) * b if op == "Pow" and abs(a) > 1 else 0


def refused_shape(shape: Sequence[int]) -> str:
    """Why no kernel can declare an array of a shape; empty if one can."""
    if all(extent >= 0 for extent in shape) and math.prod(shape) > MOST_ELEMENTS:
        return f"no memory of a card holds arrays of {math.prod(shape)} elements; pass an array"
    return ""


def evaluate(node: ast.expr, named: Callable[[str], Any] = lambda name: None) -> Any:
    """The value of an expression of numbers, names of numbers, and operators; None for any other expression.

    named: the object of a name, None if there is none. Raises ArithmeticError, TypeError or ValueError as `compute`.
    """
    if isinstance(node, ast.Constant | ast.Name):
        value = plain(node.value if isinstance(node, ast.Constant) else named(node.id))
        return value if number(value) else None
    if isinstance(node, ast.UnaryOp):
        operands = [node.operand]
    elif isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    else:
        return None
    values = [evaluate(operand, named) for operand in operands]
    return None if None in values else compute(type(node.op).__name__, *values)
