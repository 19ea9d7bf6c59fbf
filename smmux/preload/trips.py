"""Finds the conditions under which loops go on, from which their iterations are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smmux.compiler.analysis.graph import NaturalLoop
from smmux.compiler.ir import Imm, Operand, Reg
from smmux.preload.polynomials import Polynomials
from smmux.preload.symbolic import Iteration, Opaque, Polynomial

__all__ = ["Condition", "conditions"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A loop goes on after iteration k only if start + step * k stands in a relation to 0.

    relation: "lt", "le", "gt", "ge" or "ne". entered: whether the condition holds for entering the loop too, with
    k = -1; else the first iteration is always made.
    """

    start: Polynomial
    step: Polynomial
    relation: str
    entered: bool


def conditions(values: Polynomials, loop: NaturalLoop) -> list[Condition]:
    """List the conditions under which a loop goes on, those from which its iterations can be counted.

    The front end enters a loop under the condition that its latch tests. The condition of a `break` only ends it.
    """
    graph, found = values.ranges.graph, []
    for block in sorted(loop.blocks, key=graph.index.__getitem__):
        last = block.instrs[-1]
        inside = [one for one in block.successors if one in loop.blocks]
        if last.op != "cbr" or len(inside) != 1 or last.target is last.other:
            continue
        if all(graph.dominates(block, latch) for latch in loop.latches):
            stays = last.target is inside[0]
            compared = values.ranges.conditions.comparisons(_chosen(values, last.srcs[0], stays), stays)
            for relation, _, sources in compared:
                with_pair = _pair(sources)
                if with_pair is not None:
                    found += list(_condition(values, loop, relation, *with_pair, inside[0] is loop.header))
    return found


def _chosen(values: Polynomials, condition: Operand, truth: bool) -> Operand:
    """Pick the one alternative of a condition that the launch does not decide, as for a range whose step may have
    either sign; the condition itself if there is not just one."""
    instr = values.defs.get(condition) if isinstance(condition, Reg) else None
    if instr is None or instr.op != ("or.pred" if truth else "and.pred"):
        return condition
    still = [source for source in instr.srcs if values.number(source) is None]
    return _chosen(values, still[0], truth) if len(still) == 1 else condition


def _pair(sources: tuple[Operand, ...]) -> tuple[Operand, Operand] | None:
    """Return the two operands that are compared, None if a constant does not fit 32 bits.

    Of numbers of two words it is the low words: a loop that ends does not count further.
    """
    if len(sources) == 2:
        return sources[0], sources[1]
    one, high_one, other, high_other = sources
    for low, high in ((one, high_one), (other, high_other)):
        sign = (low.bits >> 31) * 0xFFFFFFFF if isinstance(low, Imm) else None
        if isinstance(high, Imm) and sign is not None and high.bits != sign:
            return None
    return one, other


def _condition(
    values: Polynomials, loop: NaturalLoop, relation: str, one: Operand, other: Operand, entered: bool
) -> Iterator[Condition]:
    least = values.defs.get(other) if isinstance(other, Reg) else None
    if least is not None and (least.op, relation[0]) in (("min.s32", "l"), ("max.s32", "g")):
        for source in least.srcs:  # less than the least of two is less than each
            yield from _condition(values, loop, relation, one, source, entered)
        return
    try:
        step, start = values.of(one).plus(values.of(other), -1).by(values.iteration(loop))
    except Opaque:
        return
    fixed = all(not isinstance(symbol, Iteration) and values.number(symbol) is not None for symbol in step.symbols)
    if relation != "eq" and step.terms and fixed:
        yield Condition(start, step, relation, entered)
