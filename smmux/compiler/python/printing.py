"""`print` inside kernels: strings are known when the kernel is compiled, numbers are noted while it runs."""

from __future__ import annotations

import ast

from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value
from smmux.compiler.build.words import words_of
from smmux.compiler.program import Text
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, operand, settle, strong
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Anything, Static, type_name

ZERO = ir.Imm(0, ir.Type.U32)
KINDS = {
    Kind.BOOL: "bool",
    Kind.INT32: "s32",
    Kind.UINT32: "u32",
    Kind.INT64: "s64",
    Kind.UINT64: "u64",
    Kind.FLOAT16: "f32",
    Kind.FLOAT32: "f32",
    Kind.FLOAT64: "f64",
}


@call(print)
def show(
    f: Frame, node: ast.AST, *values: Anything, sep: Anything | None = None, end: Anything | None = None
) -> Static:
    """A line of strings and numbers. Each number is noted with the text in front of it, the last one with the end."""
    between, last = _string(f, node, "sep", sep, " "), _string(f, node, "end", end, "\n")
    text = ""
    for i, value in enumerate(values):
        text += between if i else ""
        known = _known(f, node, value)
        if known is None:
            assert isinstance(value, Value)
            _emit(f, node, text, value, last if i == len(values) - 1 else "")
            text = ""
        else:
            text += known
    if not values or _known(f, node, values[-1]) is not None:
        _emit(f, node, text + last, None, "")
    return Static(None)


def _string(f: Frame, node: ast.AST, name: str, value: Anything | None, otherwise: str) -> str:
    if value is None or (isinstance(value, Static) and value.object is None):
        return otherwise
    if isinstance(value, Static) and isinstance(value.object, str):
        return value.object
    raise f.error(node, f"{name} of print has to be a string")


def _known(f: Frame, node: ast.AST, value: Anything) -> str | None:
    """The text of a string or of a constant; None for a number that the kernel computes."""
    if isinstance(value, Static) and isinstance(value.object, str):
        return value.object
    if not isinstance(value, Value):
        raise f.error(node, f"print takes strings and numbers, not {type_name(value)}")
    if not value.known:
        return None
    return f"{value.const:f}" if value.kind.floating else str(value.const)


def _emit(f: Frame, node: ast.AST, before: str, value: Value | None, after: str) -> None:
    """Note a number, if there is one, with the text in front of it and behind it."""
    words: tuple[ir.Operand, ir.Operand]
    if value is None:
        kind, words = "", (ZERO, ZERO)
    else:
        value = strong(f, node, settle(f, node, value, "print"))
        kind = KINDS[value.kind]
        if value.kind is Kind.BOOL:
            value = cast(f, node, value, Kind.INT32)
        words = words_of(f.b, value) if value.kind.wide else (operand(f, value), ZERO)
    texts = f.ctx.function.texts
    text = Text(before, kind, after)
    if text not in texts:
        texts.append(text)
    f.b.effect("print", words, text=texts.index(text))
