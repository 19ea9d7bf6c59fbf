"""Finds boxes: the rows and columns of an array that hold all that a block reads, and the place of each read in them.

A kernel may use an array of one axis as a matrix. Its rows are recovered then: of all pitches, the one that splits the
indices into the smallest box.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from smmux.base.trees import walk
from smmux.compiler.ir import Reg
from smmux.preload.classes import CLASSES, Row
from smmux.preload.counters import Counters, NoBox
from smmux.preload.occurrences import Part
from smmux.preload.strips import Strip
from smmux.preload.study import Study
from smmux.preload.symbolic import Iteration, Opaque, Polynomial
from smmux.preload.tiles import Linear, Tiles

__all__ = ["Box", "Side", "Use", "box"]


@dataclass(frozen=True, slots=True)
class Side:
    """One axis of a box, `extent` elements long.

    The box begins at element block . blockIdx + loop * i + first of the array's axis, i being the iteration of the
    strip's loop. lowest, highest: the first and the last element in any block. length: elements of the array's axis.
    """

    block: tuple[int, int, int]
    loop: int
    first: int
    extent: int
    lowest: int
    highest: int
    length: int


@dataclass(frozen=True, slots=True)
class Use:
    """A read of the source, with its index along each side, counted from the side's first element.

    written: for each side, the index as it stands in the source if it is clamped at an edge there, counted from the
    axis's first element; None if it is not clamped. times: how often the threads of a block read it, at most.
    """

    node: ast.Subscript
    indices: tuple[Linear, ...]
    written: tuple[ast.expr | None, ...]
    times: float


@dataclass(frozen=True, slots=True)
class Box:
    """The box of an array.

    pitch: the elements of a row, as a polynomial, if the array has one axis and the box two; else None. strip: the
    iterations that the box serves; None if it serves the whole block.
    """

    name: str
    sides: tuple[Side, ...]
    uses: tuple[Use, ...]
    itemsize: int
    size: int
    pitch: Polynomial | None = None
    strip: Strip | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each side."""
        return tuple(side.extent for side in self.sides)

    @property
    def elements(self) -> int:
        """All elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of shared memory that it takes."""
        return self.elements * self.itemsize

    @property
    def loads(self) -> int:
        """How many elements a block loads into it; blocks at the border load fewer."""
        return min(self.elements, self.size) * (self.strip.count if self.strip else 1)

    @property
    def replaced(self) -> float:
        """How many loads of a block's threads it replaces, at most."""
        return sum(use.times for use in self.uses)


def box(study: Study, number: int, rows: Sequence[Row], strip: Strip | None = None) -> Box:
    """Find the box of some reads of an array, for the whole block or for some iterations of a loop. Raises NoBox."""
    array, name = study.arrays[number], study.names[number]
    parts = [_part(study, row, array) for row in rows]
    if strip:
        for row, part in zip(rows, parts, strict=True):
            if strip.place not in part.loops:
                raise NoBox(f"a read outside of the loop of line {strip.node.lineno}", row.found.line)
    if array.ndim == 1:
        return _of_vector(study, name, array, rows, parts, strip)
    forms = [_by_axis(study.tiles, row, part, array) for row, part in zip(rows, parts, strict=True)]
    held = [_held(study.tiles, row, part, array) for row, part in zip(rows, parts, strict=True)]
    return _boxed(study, name, array, rows, forms, array.shape, held, strip)


def _part(study: Study, row: Row, array: NDArray[Any]) -> Part:
    """Return the one instruction of a read. Raises NoBox if it has several, or if no box can serve it."""
    found = row.found
    if row.kind == CLASSES[2]:
        raise NoBox(row.reason, found.line)
    node = found.node
    if node is None or not isinstance(node.value, ast.Name) or node.value.id != found.name:
        raise NoBox("a read through another name, or in a device function", found.line)
    assigned = (n for n in walk(study.source.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    if any(n.id == node.value.id for n in assigned):
        raise NoBox("a name that the kernel gives to another array", found.line)
    (part, *more) = found.parts
    if more or part.unit != array.itemsize or array.dtype.names is not None or not array.flags.c_contiguous:
        raise NoBox("elements of several parts, or not side by side", found.line)
    return part


# -- indices by axis


def _by_axis(tiles: Tiles, row: Row, part: Part, array: NDArray[Any]) -> tuple[Linear, ...]:
    """Return the index along each axis of an array of several axes."""
    strides = [stride // array.itemsize for stride in array.strides]
    if len(set(strides)) < len(strides) or array.ndim > 3:
        raise NoBox("an array of more than three axes, or of axes of one element", row.found.line)
    assert isinstance(part.index, Polynomial)
    rest, known = part.index, {axis.stride: axis for axis in part.axes}
    for axis in part.axes:
        rest = rest.plus(axis.index, -axis.stride)
    if rest.symbols or not set(known) <= set(strides):
        raise NoBox("an index that is not told apart by axis", row.found.line)
    offset = sum(coefficient for _, coefficient in rest.terms)
    forms = []
    for stride, length in zip(strides, array.shape, strict=True):
        if stride in known:
            axis, form = known[stride], tiles.linear(tiles.unclamped(known[stride].index))
            low, high = _extremes(tiles, axis.index, row.found.line)
            if (axis.top >= length and high >= length) or (axis.bottom < 0 and low < 0):
                raise NoBox("an index that may pass the ends of its axis", row.found.line)
            forms.append(form)
        else:
            forms.append(Linear(offset // stride, (0, 0, 0), (0, 0, 0), ()))
            offset %= stride
    if offset:
        raise NoBox("an index that is not told apart by axis", row.found.line)
    return tuple(forms)


def _held(tiles: Tiles, row: Row, part: Part, array: NDArray[Any]) -> tuple[ast.expr | None, ...]:
    """Return, for each axis, the index as written if it is clamped at an edge, else None."""
    strides = [stride // array.itemsize for stride in array.strides]
    clamped = [a.stride for a in part.axes if tiles.unclamped(a.index) != a.index]
    assert row.found.node is not None
    index = row.found.node.slice
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    if clamped and len(items) != len(strides):
        raise NoBox("an index that is not told apart by axis", row.found.line)
    return tuple(items[k] if stride in clamped else None for k, stride in enumerate(strides))


def _of_vector(
    study: Study, name: str, array: NDArray[Any], rows: Sequence[Row], parts: Sequence[Part], strip: Strip | None
) -> Box:
    """Find the smallest box of an array of one axis: without rows, or with rows of any length that its indices name."""
    plain = [study.tiles.unclamped(part.index) for part in parts if isinstance(part.index, Polynomial)]
    linear = [study.tiles.linear(index) for index in plain]
    held = [_held(study.tiles, row, part, array) for row, part in zip(rows, parts, strict=True)]
    found = _boxed(study, name, array, rows, [(form,) for form in linear], array.shape, held, strip)
    if any(one is not None for ones in held for one in ones):
        return found
    for pitch, value in _pitches(study.tiles, plain):
        forms = [_split(form, pitch) for form in linear]
        try:
            other = _boxed(study, name, array, rows, forms, (math.inf, math.inf), [(None, None)] * len(rows), strip)
        except NoBox:
            continue
        if other.elements < found.elements:
            found = replace(other, pitch=value)
    return found


def _pitches(tiles: Tiles, indices: Sequence[Polynomial]) -> Iterator[tuple[int, Polynomial]]:
    """List the candidates for a pitch: numbers known before the launch by which indices may go from row to row."""
    seen = set()
    for index in indices:
        for monomial, coefficient in index.terms:
            factors = tuple(s for s in monomial if not isinstance(s, Iteration) and tiles.values.number(s) is not None)
            single = [Polynomial(((factors, 1),)), Polynomial(((factors, abs(coefficient)),))]
            for value in (*(Polynomial.of(s) for s in factors), *single):
                number = sum(c for _, c in tiles.values.numbers(value))
                if number > 1 and number not in seen:
                    seen.add(number)
                    yield number, value


def _split(form: Linear, pitch: int) -> tuple[Linear, Linear]:
    """Split an index into its row, the part that goes by whole rows, and its column, the rest."""

    def parts(c: int) -> tuple[int, int]:
        return (0, c) if c % pitch else (c // pitch, 0)

    row = (form.constant + pitch // 2) // pitch
    block, thread = [parts(c) for c in form.block], [parts(c) for c in form.thread]
    loops = [(place, parts(c)) for place, c in form.loops]
    halves = []
    for k, constant in enumerate((row, form.constant - row * pitch)):
        (bx, by, bz), (tx, ty, tz) = (tuple(p[k] for p in ps) for ps in (block, thread))
        kept = tuple((place, p[k]) for place, p in loops if p[k])
        halves.append(Linear(constant, (bx, by, bz), (tx, ty, tz), kept))
    return halves[0], halves[1]


# -- the box around them


def _boxed(
    study: Study,
    name: str,
    array: NDArray[Any],
    rows: Sequence[Row],
    forms: Sequence[tuple[Linear, ...]],
    lengths: Sequence[float],
    held: Sequence[tuple[ast.expr | None, ...]],
    strip: Strip | None,
) -> Box:
    sides = tuple(_side(study, [form[k] for form in forms], rows, length, strip) for k, length in enumerate(lengths))
    uses, counters = [], Counters(study.source, study.tiles)
    for row, form, written in zip(rows, forms, held, strict=True):
        inner = (
            replace(one, block=(0, 0, 0), constant=one.constant - side.first)
            for one, side in zip(form, sides, strict=True)
        )
        assert row.found.node is not None
        for place in {place for one in form for place, _ in one.loops}:
            counters.of(place, row.found.node)
        uses.append(Use(row.found.node, tuple(inner), written, _times(study.tiles, row)))
    return Box(name, sides, tuple(uses), array.itemsize, array.size, strip=strip)


def _times(tiles: Tiles, row: Row) -> float:
    """Count how often a block's threads make a read: threads times iterations, or infinity if these are not known."""
    (part,) = row.found.parts
    times: float = math.prod(tiles.block)
    for place in part.loops:
        try:
            times *= tiles.trips_of(place)[0].get(place, math.inf)
        except Opaque:
            return math.inf
    return times


def _side(study: Study, forms: Sequence[Linear], rows: Sequence[Row], length: float, strip: Strip | None) -> Side:
    if len({form.block for form in forms}) > 1:
        raise NoBox("reads that move differently from block to block", rows[-1].found.line)
    steps = {dict(form.loops).get(strip.place, 0) if strip else 0 for form in forms}
    if len(steps) > 1:
        raise NoBox("reads that move differently from iteration to iteration", rows[-1].found.line)
    (step,) = steps
    ends = [_within(study.tiles, form, row.found.line, strip) for form, row in zip(forms, rows, strict=True)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    moves = [c * (n - 1) for c, n in zip(forms[0].block, study.grid, strict=True)]
    moves += [step * strip.length * (strip.count - 1)] if strip else []
    lowest, highest = low + sum(min(m, 0) for m in moves), high + sum(max(m, 0) for m in moves)
    most = -1 if math.isinf(length) else int(length)
    return Side(forms[0].block, step, low, high - low + 1, lowest, highest, most)


def _within(tiles: Tiles, form: Linear, line: int, strip: Strip | None = None) -> tuple[int, int]:
    """Return the smallest and the largest value in a block, without the part that depends on the block.

    With a strip, they are those in its first iterations.
    """
    try:
        fixed, varying = tiles.trips(form)
    except Opaque as error:
        raise NoBox(error.reason, line) from None
    if varying:
        raise NoBox("a trip count that differs from thread to thread", line)
    if strip and strip.place in fixed:
        fixed[strip.place] = strip.length
    counts = [(c, n) for c, n in zip(form.thread, tiles.block, strict=True)]
    counts += [(c, fixed[place]) for place, c in form.loops]
    moves = [c * (max(n, 1) - 1) for c, n in counts]
    return form.constant + sum(min(m, 0) for m in moves), form.constant + sum(max(m, 0) for m in moves)


def _extremes(tiles: Tiles, value: Polynomial, line: int) -> tuple[int, int]:
    """Return the smallest and the largest value of an index in any block. The index may be clamped at edges."""
    symbols = [s for s in value.symbols if isinstance(s, Reg) and s in tiles.values.clamps]
    factor, rest = value.by(symbols[0]) if symbols else (Polynomial(), value)
    if factor == Polynomial.constant(1) and not rest.symbols:
        clamp, moved = tiles.values.clamps[symbols[0]], sum(c for _, c in rest.terms)
        low, high = _extremes(tiles, tiles.values.of(clamp.form), line)
        if clamp.low:
            low, high = max(low, min(clamp.limit, clamp.edge + 1)), max(high, clamp.limit)
        else:
            low, high = min(low, clamp.limit), min(high, max(clamp.limit, clamp.edge - 1))
        return low + moved, high + moved
    return _ends(tiles, tiles.linear(tiles.unclamped(value)), line)


def _ends(tiles: Tiles, form: Linear, line: int) -> tuple[int, int]:
    """Return the smallest and the largest value in any block."""
    low, high = _within(tiles, form, line)
    moves = [c * (n - 1) for c, n in zip(form.block, tiles.grid, strict=True)]
    return low + sum(min(m, 0) for m in moves), high + sum(max(m, 0) for m in moves)
