"""Loops that stay loops take several iterations at a time, as a vendor's compiler has them.

Loads of all of them can then be on their way at once, and a branch is paid for once. What is left over of the trips
goes through a loop of its own, iteration by iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from smmux.base.trees import walk
from smmux.compiler import ir
from smmux.compiler.analysis.ops import FENCES
from smmux.compiler.build.builder import Mark
from smmux.compiler.build.numbers import MACHINE_TYPE, RANGE, Kind, Value, constant
from smmux.compiler.python import arith, compare, ranges
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import operand, result
from smmux.compiler.python.ranges import Range

LARGEST = 1 << 20
"""The largest step of a loop in groups, with whose multiples nothing passes the end of its type."""

LONGEST = 300
"""Operations of a group at most: LLVM's threshold of loops to unroll, whose share for one trip of four it is."""

TOGETHER = FENCES | {"shfl"}
"""Operations that all threads meet at, or that say so: a loop with one of them keeps its trips."""


class TooLongError(Exception):
    """A group has more operations than are worth it."""


def sizes(f: Frame, node: ast.For, over: Range, largest: int | None) -> list[int]:
    """The trips of the groups in which those of a loop can be taken, as far as its text tells: what is left over of
    large groups goes into smaller ones."""
    size = f.ctx.options.group
    found = [size >> shift for shift in range(0, size.bit_length(), 2) if size >> shift > 1]
    if not _may(f, node, over):
        return []
    return [n for n in found if n <= (largest or size) and (node, f.source, n) not in f.ctx.too_long]


def _may(f: Frame, node: ast.For, over: Range) -> bool:
    if f.b.dry or f.b.block is None:
        return False
    plain = over.kind is Kind.INT32 and over.counted is Kind.INT32 and over.step.lo > 0
    if not plain or (over.step.known and over.step.const > LARGEST) or node.orelse:
        return False
    leaves = (ast.Break, ast.Continue, ast.Return, ast.While)
    return not any(isinstance(inner, leaves) for statement in node.body for inner in walk(statement))


def refuse(f: Frame, node: ast.For, size: int) -> None:
    """Remember that groups of that size are not worth it."""
    f.ctx.too_long.add((node, f.source, size))


def grouped(f: Frame, node: ast.For, over: Range, size: int) -> Range:
    """The range of the groups: its numbers are those at which a whole group begins."""
    step = over.step
    by = _times(f, node, step, size)
    if over.start.known and over.stop.known and step.known:
        groups = ranges.trips(over.start.const, over.stop.const, step.const) // size
        stop = constant(over.kind, over.start.const + groups * size * step.const)
        return replace(over, stop=stop, step=by, last=(stop.const, stop.const))
    back = _times(f, node, step, size - 1)
    machine, least = MACHINE_TYPE[over.kind], RANGE[over.kind][0]
    if over.stop.lo - back.hi >= least:
        stop = arith.binary(f, node, "Sub", over.stop, back)
    else:  # no range begins below the least number, at which this one stops
        less = (
            operand(f, constant(over.kind, -back.const)) if back.known else f.b.op("neg.s32", machine, operand(f, back))
        )
        reg = f.b.op("add.sat.s32", machine, operand(f, over.stop), less)
        stop = result(over.kind, reg, least, over.stop.hi - back.lo)
    if step.hi > LARGEST:
        small = compare.numbers(f, node, "LtE", step, constant(over.kind, LARGEST))
        none = operand(f, constant(over.kind, least))
        reg = f.b.op("selp.b32", machine, operand(f, stop), none, operand(f, small))
        stop = result(over.kind, reg, least, stop.hi)
    return replace(over, stop=stop, step=by, last=(over.last[0] - back.hi, over.last[1] - back.lo))


def _times(f: Frame, node: ast.For, step: Value, factor: int) -> Value:
    """A multiple of the step, as far as that is no larger than `LARGEST`."""
    if step.known:
        return constant(step.kind, factor * step.const)
    product = f.b.op("mul.lo.s32", MACHINE_TYPE[step.kind], operand(f, step), operand(f, constant(step.kind, factor)))
    return result(step.kind, product, factor * step.lo, factor * min(step.hi, LARGEST))


def rest(over: Range, counter: Value) -> Range:
    """The range of the trips that are left over, from the counter on behind the last group."""
    return replace(over, start=replace(counter, lo=over.start.lo, hi=max(over.start.hi, over.stop.hi)))


def numbers(f: Frame, node: ast.For, counter: Value, over: Range, size: int) -> Iterator[Value]:
    """The counters of the trips of the group that begins at a counter."""
    low, high = ranges.counter_bounds(over)
    at = replace(counter, lo=low, hi=high)
    for trip in range(size):
        yield at
        if over.step.known:
            at = arith.binary(f, node, "Add", replace(counter, lo=low, hi=high), _times(f, node, over.step, trip + 1))
        else:
            at = arith.binary(f, node, "Add", at, over.step)
        at = replace(at, lo=low, hi=high)


def emitted(f: Frame, mark: Mark) -> Iterable[ir.Instr]:
    """What was emitted since a mark."""
    blocks = f.b.function.blocks
    if mark.block is not None:
        yield from mark.block.instrs[mark.instrs :]
    for block in blocks[mark.blocks :]:
        yield from block.instrs


def check_length(f: Frame, mark: Mark) -> None:
    """Give a group up that is too long already."""
    if f.b.emitted - mark.emitted > LONGEST:
        raise TooLongError


def worth(f: Frame, mark: Mark, loops: int) -> bool:
    """Whether the loop emitted since a mark is a short one without barriers and loops of its own.

    loops: those that had been emitted then."""
    if f.b.emitted - mark.emitted > LONGEST or f.ctx.rolled != loops + 1:
        return False
    return not any(instr.op in TOGETHER or instr.op.startswith("vote.") for instr in emitted(f, mark))
