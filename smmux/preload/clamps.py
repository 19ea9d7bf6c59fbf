"""Recognizes values that are held at an edge, such as `max(i, 0)` or `x - 1 if x > 0 else 0`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smmux.compiler.analysis.conditions import MIRRORED
from smmux.compiler.ir import Instr, Operand, Reg

if TYPE_CHECKING:
    from smmux.preload.polynomials import Polynomials
    from smmux.preload.symbolic import Polynomial

__all__ = ["CHOICES", "Clamp", "clamp_of"]

CHOICES = ("min.s32", "max.s32", "selp.b32")


@dataclass(frozen=True, slots=True)
class Clamp:
    """A value that is a form, but held at an edge.

    low: whether the edge is below. If so, the value is `limit` where the form is at most `edge`; else, where the form
    is at least `edge`. Elsewhere it is the form. limit and edge are numbers that the launch fixes.
    """

    form: Operand
    limit: int
    low: bool
    edge: int


def clamp_of(values: Polynomials, instr: Instr) -> Clamp | None:
    """Read a minimum, a maximum or a choice as a clamp; None if it is none. Raises Opaque if its form does."""
    first, second = (values.number(source) for source in instr.srcs[:2])
    if (first is None) == (second is None):
        return None
    form, limit = instr.srcs[first is not None], second if first is None else first
    assert limit is not None
    if instr.op == "selp.b32":
        clamp = _chosen(values, instr.srcs[2], second is None, form, limit)
    else:
        low = instr.op == "max.s32"
        clamp = Clamp(form, limit, low, limit - 1 if low else limit + 1)
    if clamp is None or (clamp.edge > limit if clamp.low else clamp.edge < limit):
        return None
    values.raw(form)
    return clamp if _apart(values, clamp) else None


def _chosen(values: Polynomials, condition: Operand, truth: bool, form: Operand, limit: int) -> Clamp | None:
    """Read a choice as a clamp; None if it is none: its condition has to compare the form with a number.

    truth: of the condition where the choice takes the limit.
    """
    compared = list(values.ranges.conditions.comparisons(condition, truth))
    if len(compared) != 1:
        return None
    relation, type, sources = compared[0]
    one, other = sources[0], sources[len(sources) // 2]
    if relation in ("eq", "ne") or type.startswith("u"):
        return None
    difference, held = values.raw(one).plus(values.raw(other), -1), values.raw(form)
    for sign, related in ((1, relation), (-1, MIRRORED[relation])):
        rest = _number(values, difference.plus(held, -sign))
        if rest is not None:  # sign * form + rest stands in the relation to 0
            edge = -sign * rest
            low = related in ("lt", "le")
            return Clamp(form, limit, low, edge + {"lt": -1, "gt": 1}.get(related, 0))
    return None


def _number(values: Polynomials, value: Polynomial) -> int | None:
    """Return the number that a polynomial is; None if it varies."""
    terms = list(values.numbers(value))
    return None if any(monomial for monomial, _ in terms) else sum(number for _, number in terms)


def _apart(values: Polynomials, clamp: Clamp) -> bool:
    """Tell whether the clamps do not meet: a form that is held itself, at its own edge, is held short of this edge."""
    inner = values.clamps.get(clamp.form) if isinstance(clamp.form, Reg) else None
    return inner is None or (inner.limit > clamp.edge if clamp.low else inner.limit < clamp.edge)
