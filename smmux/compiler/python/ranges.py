"""The bounds of a `range`, its counter, and how the counter stops at the ends of its type."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from smmux.compiler import ir
from smmux.compiler.build.numbers import INT64_MAX, MACHINE_TYPE, RANGE, Kind, Value, constant, weak
from smmux.compiler.python import arith, compare
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import cast, operand, result, settle, strong_kind, to_kind
from smmux.compiler.python.promotion import Typing, promoted
from smmux.compiler.signature import LARGE


@dataclass(frozen=True, slots=True)
class Range:
    """The bounds of a `range`. last: bounds of `stop`, as far as more is known of it than its type.

    kind: the type of the numbers, and of the bounds. But where Python's integers pass those of 64 signed bits, the
    start is a uint64, in which is counted, or the stop, or both: they are compared by their values.
    """

    start: Value
    stop: Value
    step: Value
    kind: Kind
    last: tuple[int, int]

    @property
    def counted(self) -> Kind:
        """The type of the counter."""
        return self.start.kind


def make(f: Frame, node: ast.Call, values: list[Value]) -> Range:
    """range(stop), range(start, stop) or range(start, stop, step)."""
    start, stop, step = (weak(0), values[0], weak(1)) if len(values) == 1 else (*values, weak(1))[:3]
    kind = _kind(f, node, start, stop, step)
    if kind is Kind.UINT32 and step.known and step.const < 0:
        raise f.error(node, "a range over uint32 cannot run downwards; use int32(...)")
    if step.known and step.const == 0:
        raise f.error(node, "the step of a range must not be 0")
    for argument, bound in zip(node.args, values, strict=False):
        _countable(f, argument, bound, kind)
    last = _last(f, node.args[0] if len(values) == 1 else node.args[1], stop)
    return _range(f, node, start, stop, step, kind, last)


def _countable(f: Frame, node: ast.expr, bound: Value, kind: Kind) -> None:
    """Refuse a bound that an int32 cannot hold, where the range counts in one: say how it counts in an int64."""
    if kind is Kind.INT32 and bound.known and RANGE[kind][1] < bound.const <= INT64_MAX:
        cure = f"write int64({ast.unparse(node)})"
        raise f.error(node, f"integer {bound.const} does not fit int32, in which this range counts: {cure}")


def upto(f: Frame, node: ast.AST, stop: Value) -> Range:
    """range(stop) where a loop counts items."""
    return _range(f, node, weak(0), stop, weak(1), _kind(f, node, stop), (stop.lo, stop.hi))


def _range(f: Frame, node: ast.AST, start: Value, stop: Value, step: Value, kind: Kind, last: tuple[int, int]) -> Range:
    start, stop, step = (settle(f, node, v, "range") for v in (start, stop, step))
    large = RANGE[kind][1] < max(start.hi, stop.hi) and kind is Kind.WEAK_INT
    if not (large and stop.hi > RANGE[kind][1]):
        stop = to_kind(f, node, stop, kind)
    start = to_kind(f, node, start, Kind.UINT64 if large and start.lo >= 0 else kind)
    return Range(start, stop, to_kind(f, node, step, kind), kind, last)


def trips(start: int, stop: int, step: int) -> int:
    """How many numbers a range of constants has: more, perhaps, than `len` can tell."""
    return max(0, -((start - stop) // step))


def _kind(f: Frame, node: ast.AST, *values: Value) -> Kind:
    kind = Kind.WEAK_INT
    for value in values:
        if value.kind.floating:
            raise f.error(node, "range needs integers, not floats")
        kind = promoted(f, kind, value.kind)
    kind = _counter_kind(f, kind)
    if kind is Kind.UINT32 and not f.ctx.dry:
        typed = [v for v in values if not v.kind.weak]
        if any(v.kind is not Kind.UINT32 and v.lo < 0 for v in typed):
            raise f.error(
                node, "range of int32, which may be negative, and uint32: write int32(...) or uint32(...) around one"
            )
    return kind


def _counter_kind(f: Frame, kind: Kind) -> Kind:
    """The type of what a `range` counts: in kernels with 64-bit data a Python int."""
    if f.typing is Typing.NUMBA:
        return Kind.UINT64 if kind in (Kind.UINT32, Kind.UINT64) else Kind.INT64
    return strong_kind(kind) if f.narrow else Kind.WEAK_INT


def _last(f: Frame, node: ast.expr, stop: Value) -> tuple[int, int]:
    """Bounds of the end of a range: those of the value, of the variable, or of the arguments of this launch."""
    low, high = stop.lo, stop.hi
    declared = f.types.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(declared, Value) and declared.kind is stop.kind:
        low, high = max(low, declared.lo), min(high, declared.hi)
    if isinstance(stop.operand, ir.Param) and stop.operand.word in f.ctx.small:
        low, high = max(low, -LARGE), min(high, LARGE)
    return low, high


def counter_bounds(over: Range) -> tuple[int, int]:
    """Bounds of the counter in the body."""
    low, high = RANGE[over.counted]
    if over.step.lo > 0:
        return over.start.lo, max(over.start.lo, min(over.stop.hi - 1, high))
    if over.step.hi < 0:
        return min(over.start.hi, max(over.stop.lo + 1, low)), over.start.hi
    return low, high


def number_bounds(over: Range) -> tuple[int, int]:
    """Bounds of the range's numbers in their type."""
    low, high = counter_bounds(over)
    fit = RANGE[over.kind][0] <= low and high <= RANGE[over.kind][1]
    return (low, high) if fit else RANGE[over.kind]


def item(f: Frame, node: ast.AST, counter: Value, over: Range) -> Value:
    """The number of the range at which the counter is."""
    low, high = counter_bounds(over)
    return cast(f, node, replace(counter, lo=low, hi=high), over.kind)


def advanced(f: Frame, node: ast.For, counter: Value, over: Range) -> Value:
    """The counter of the next iteration; a signed one stays at the end of its type, which no range passes."""
    low, high = counter_bounds(over)
    counter = replace(counter, lo=low, hi=high)
    if over.kind is Kind.INT32 and not _ends(over):
        reg = f.b.op("add.sat.s32", MACHINE_TYPE[over.kind], operand(f, counter), operand(f, over.step))
        return result(over.kind, reg)
    return arith.binary(f, node, "Add", counter, cast(f, node, over.step, over.counted)).settled


def _ends(over: Range) -> bool:
    """True if the counter, a step behind its last value, is sure to be a number of its type."""
    low, high = RANGE[over.counted]
    up = over.step.hi <= 0 or over.last[1] - 1 + over.step.hi <= high
    down = over.step.lo >= 0 or over.last[0] + 1 + over.step.lo >= low
    return up and down


def goes_on(f: Frame, node: ast.For, counter: Value, over: Range) -> Value:
    """The condition that the next counter is within the range."""
    within = continues(f, node, counter, over)
    if over.kind is Kind.INT32 or _ends(over):
        return within
    return compare.both(f, within, _unwrapped(f, node, counter, over))


def _unwrapped(f: Frame, node: ast.For, counter: Value, over: Range) -> Value:
    """The condition that the last addition of the step did not pass an end of the counter's type."""
    step, zero = over.step, constant(over.kind, 0)
    if over.kind is Kind.UINT32:
        return compare.numbers(f, node, "GtE", counter, step)
    by = cast(f, node, step, over.counted)
    lowest, highest = (constant(over.counted, end) for end in RANGE[over.counted])
    up = compare.numbers(f, node, "GtE", counter, arith.binary(f, node, "Add", lowest, by))
    if step.lo >= 0:
        return up
    down = compare.numbers(f, node, "LtE", counter, arith.binary(f, node, "Add", highest, by))
    if step.hi <= 0:
        return down
    up = compare.both(f, compare.numbers(f, node, "Gt", step, zero), up)
    down = compare.both(f, compare.numbers(f, node, "Lt", step, zero), down)
    return compare.either(f, up, down)


def continues(f: Frame, node: ast.For, counter: Value, over: Range) -> Value:
    """The condition that a counter is within the range."""
    stop, step = over.stop, over.step
    if step.lo >= 0 or over.kind is Kind.UINT32:
        return compare.numbers(f, node, "Lt", counter, stop)
    if step.hi <= 0:
        return compare.numbers(f, node, "Gt", counter, stop)
    zero = constant(over.kind, 0)
    up = compare.both(f, compare.numbers(f, node, "Gt", step, zero), compare.numbers(f, node, "Lt", counter, stop))
    down = compare.both(f, compare.numbers(f, node, "Lt", step, zero), compare.numbers(f, node, "Gt", counter, stop))
    return compare.either(f, up, down)
