"""Ranges of what single operations give: special registers, arithmetic, loads, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smmux.compiler.analysis.affine import signed
from smmux.compiler.ir import Function, Instr, Mem, Operand, Space, SpecialName
from smmux.compiler.launch_facts import Facts

__all__ = [
    "FULL",
    "MAX",
    "MIN",
    "Range",
    "allowed",
    "fits",
    "hull",
    "narrow",
    "of_operation",
    "of_parameter",
    "of_special",
]

Range = tuple[int, int]
"""Smallest and largest value, as signed numbers of 32 bits."""

UNREACHED: Range = (0, 0)
"""Any range will do where conditions contradict each other, for nobody gets there."""

MIN, MAX = -(1 << 31), (1 << 31) - 1
FULL: Range = (MIN, MAX)


def of_special(name: SpecialName, facts: Facts) -> Range:
    """A special register, by what is known of the launch."""
    kind, _, axis = name.value.partition(".")
    if kind == "laneid":
        return 0, 31
    most = (facts.grid if "cta" in kind else facts.block)["xyz".index(axis)]
    return (1, min(most, MAX)) if kind.startswith("n") else (0, min(most - 1, MAX))


def of_parameter(word: int, function: Function, facts: Facts) -> Range:
    """A word of the parameters: that of an integer argument, or the lower or upper one of two."""
    place, part = function.scalars.get(word, (len(facts.scalars), 0))
    known = facts.scalars[place] if place < len(facts.scalars) else None
    if known is None or not fits(known):
        return FULL
    return known if part == 0 else (known[0] >> 32, known[1] >> 32)


def fits(found: Range) -> bool:
    """Whether a range of exact results is one of 32-bit numbers, so that none wraps."""
    return MIN <= found[0] and found[1] <= MAX


def hull(*ranges: Range) -> Range:
    """The smallest range around others."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def narrow(found: Range, constant: int, limits: Range, other: int) -> Range:
    """The range of x + constant, which is at most `found`, given that x + other is within limits."""
    distance = signed((constant - other) & 0xFFFFFFFF)
    moved = found[0] - distance, found[1] - distance
    moved = moved if fits(moved) else FULL
    low, high = max(moved[0], limits[0]) + distance, min(moved[1], limits[1]) + distance
    if low <= high and not fits((low, high)):
        return found
    low, high = max(low, found[0]), min(high, found[1])
    return (low, high) if low <= high else UNREACHED


def allowed(relation: str, type: str, other: Range) -> Range:
    """The values that stand in a relation to one in a range."""
    low, high = other
    if type == "u32" and relation in ("lt", "le"):
        return (0, high - (relation == "lt")) if low >= 0 else FULL
    if type == "u32" and relation not in ("eq", "ne"):
        return FULL
    if relation == "ne" and low == high:
        return (MIN + 1, MAX) if low == MIN else (MIN, MAX - 1) if low == MAX else FULL
    return {
        "lt": (MIN, high - 1), "le": (MIN, high), "gt": (low + 1, MAX), "ge": (low, MAX), "eq": other,
    }.get(relation, FULL)  # fmt: skip


def of_operation(instr: Instr, of: Callable[[Operand], Range], function: Function) -> Range:
    """The result of an operation whose sources' ranges `of` tells."""
    if instr.mem is not None:
        return _loaded(instr, instr.mem, function)
    rule = _RULES.get(instr.op)
    if rule is None:
        return FULL
    found: Range = rule(*map(of, instr.srcs))
    return found if fits(found) else FULL


def _loaded(instr: Instr, mem: Mem, function: Function) -> Range:
    """An element of a narrow array, or of a constant one, whose content is known."""
    if not instr.op.startswith("ld.") or len(instr.dsts) != 1:
        return FULL
    array = mem.array
    if array.space is Space.CONST and mem.width == array.element:
        kind = f"<{'i' if array.signed or mem.width == 4 else 'u'}{mem.width}"
        content = np.frombuffer(function.const, np.uint8)[array.offset : array.offset + array.nbytes].view(kind)
        return (int(content.min()), int(content.max())) if content.size else FULL
    if mem.width < 4:
        bits = 8 * mem.width
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if mem.signed else (0, (1 << bits) - 1)
    return FULL


def _product(a: Range, b: Range, c: Range = (0, 0)) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners) + c[0], max(corners) + c[1]


def _quotient(a: Range, b: Range) -> Range:
    """Truncated division by a positive number, else anything of that size."""
    if b[0] <= 0:
        most = max(abs(a[0]), abs(a[1]))
        return -most, most
    corners = [abs(x) // y * (1 if x >= 0 else -1) for x in a for y in b]
    return min(corners), max(corners)


def _remainder(a: Range, b: Range) -> Range:
    most = max(abs(b[0]), abs(b[1])) - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _unsigned_quotient(a: Range, b: Range) -> Range:
    if b[0] <= 0:
        return (0, a[1]) if a[0] >= 0 else FULL
    return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 else (0, 0xFFFFFFFF // b[0])


def _unsigned_remainder(a: Range, b: Range) -> Range:
    if b[0] < 0:
        return FULL
    return 0, min(b[1] - 1 if b[1] else 0, a[1]) if a[0] >= 0 else b[1] - 1 if b[1] else 0


def _and(a: Range, b: Range) -> Range:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else FULL


def _or(a: Range, b: Range) -> Range:
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if a[0] >= 0 and b[0] >= 0 else FULL


def _left(a: Range, b: Range) -> Range:
    if a[0] < 0 or b[0] < 0:
        return FULL
    return (0, a[1] << min(b[1], 64)) if b[1] < 32 else FULL


def _arithmetic_right(a: Range, b: Range) -> Range:
    if b[0] < 0:
        return min(a[0], 0), max(a[1], 0)
    counts = (min(b[0], 31), min(b[1], 31))
    return min(a[0] >> n for n in counts), max(a[1] >> n for n in counts)


def _logical_right(a: Range, b: Range) -> Range:
    if a[0] >= 0:
        return _arithmetic_right(a, b)
    return (0, 0xFFFFFFFF >> min(b[0], 32)) if b[0] > 0 else FULL


_RULES: dict[str, Any] = {
    "add.s32": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub.s32": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "neg.s32": lambda a: (-a[1], -a[0]),
    "mul.lo.s32": _product,
    "mad.lo.s32": _product,
    "div.s32": _quotient,
    "rem.s32": _remainder,
    "div.u32": _unsigned_quotient,
    "rem.u32": _unsigned_remainder,
    "and.b32": _and,
    "or.b32": _or,
    "xor.b32": _or,
    "not.b32": lambda a: (~a[1], ~a[0]),
    "shl.b32": _left,
    "shr.s32": _arithmetic_right,
    "shr.u32": _logical_right,
    "min.s32": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max.s32": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min.u32": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])) if a[0] >= 0 and b[0] >= 0 else _and(a, b),
    "max.u32": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])) if a[0] >= 0 and b[0] >= 0 else FULL,
    "abs.s32": lambda a: (max(a[0], -a[1], 0), max(-a[0], a[1])),
    "popc.b32": lambda a: (0, 32),
    "clz.b32": lambda a: (0, 32),
    "cvt.s32.s8": lambda a: (-128, 127),
    "cvt.u32.u8": lambda a: (0, 255),
    "cvt.s32.s16": lambda a: (-32768, 32767),
    "cvt.u32.u16": lambda a: (0, 65535),
}
