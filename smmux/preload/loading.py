"""Writes the statements by which the threads of a block load boxes into shared memory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from smmux.preload.boxes import Box, Side
from smmux.preload.strips import Strip
from smmux.preload.study import Study

__all__ = ["Loading", "summed"]

SIDES = (("first",), ("top", "left"), ("front", "top", "left"))
"""Names for the places where a box begins, by its number of sides."""

COUNTERS = (("i",), ("row", "column"), ("plane", "row", "column"))
"""Names for the counters of the loops that load a box."""

TURNS = 3
"""Write up to this many rounds of loads along a side as statements, and more as a loop [EST]: a tile takes one round,
its halo one or two."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A round: the elements of a side that the threads load at the same time.

    index: of a thread's element, counted from the side's beginning: the thread's number plus a constant, or a loop's
    counter. added: that constant. head: the `for` or `if` around the loads, empty if there is none. lowest, highest:
    the first and the last element of the array's axis that it loads in any block.
    """

    index: str
    added: int
    head: str
    lowest: int
    highest: int


class Loading:
    """Writes the statements that load boxes, at the beginning of a kernel or of a strip.

    new: makes names. module: the name of the kernel language's module. threads: names of the thread's index by axis.
    tiles: names of the shared arrays, by array. strip: the iterations that the boxes serve, None for the whole block.
    counter: the variable of the strip's first iteration. before: lines in front of the loop, which `lines` fills in.
    """

    def __init__(
        self,
        study: Study,
        new: Callable[..., str],
        module: str,
        threads: Mapping[int, str],
        tiles: Mapping[str, str],
        strip: Strip | None = None,
        counter: str = "",
    ) -> None:
        self.strip, self.counter = strip, counter
        self.study, self.new, self.module, self.threads, self.tiles = study, new, module, threads, tiles
        self.starts: dict[str, str] = {}
        self.before: list[str] = []

    def lines(self, boxes: Sequence[Box]) -> Iterator[str]:
        """Write the statements. Boxes that begin at the same place and have the same shape are loaded together."""
        groups: dict[tuple[object, ...], list[Box]] = {}
        for one in boxes:
            ends = (one.size, self._pitch(one)) if one.pitch else tuple(side.length for side in one.sides)
            key = (*((side.block, side.loop, side.first, side.extent) for side in one.sides), ends)
            groups.setdefault(key, []).append(one)
        for group in groups.values():
            yield from self._group(group)

    def _group(self, group: Sequence[Box]) -> Iterator[str]:
        sides = group[0].sides
        starts = []
        for wish, side in zip(SIDES[len(sides) - 1], sides, strict=True):
            text = self._begin(side)
            if (any(side.block) or side.loop) and text not in self.starts and not text.isidentifier():
                self.starts[text] = self.new(wish, f"{wish}_side")
                line = f"{self.starts[text]} = {text}"
                if self.strip and not side.loop:
                    self.before.append(line)
                else:
                    yield line
            starts.append(self.start(side))
        turns = [self._turns(side, k, len(sides)) for k, side in enumerate(sides)]
        place = self.new("place") if group[0].pitch else ""
        unrolled = bool(place) and not any(turn.head.startswith("for") for along in turns for turn in along)
        if unrolled:
            first = [_plus(start, along[0].index) for start, along in zip(starts, turns, strict=True)]
            yield f"{place} = {self._flat(group[0], *first)}"
        yield from self._nest(group, starts, turns, (), place, unrolled)

    def start(self, side: Side) -> str:
        """Return where a side begins: a name, or a number."""
        text = self._begin(side)
        return self.starts.get(text, text)

    def behind(self, index: ast.expr, side: Side) -> str:
        """Write an index of the source as counted from where a side begins."""
        text, start = ast.unparse(index), self.start(side)
        text = text if isinstance(index, ast.Name | ast.Call | ast.BinOp) else f"({text})"
        return text if start == "0" else f"{text} - {start}" if start.isidentifier() else f"{text} - ({start})"

    def _begin(self, side: Side) -> str:
        """Write the computation of where a side begins."""
        terms = [(c, f"{self.module}.blockIdx.{'xyz'[k]}") for k, c in enumerate(side.block)]
        start = self.strip.counter.start if self.strip else 0
        return summed([*terms, (side.loop, self.counter)], side.first - side.loop * start)

    def _turns(self, side: Side, k: int, count: int) -> list[_Turn]:
        """Divide a side into rounds. The first side is loaded by the threads of all axes that are left."""
        thread, step = self._thread(count - 1 - k, k == 0)
        passes = -(-side.extent // step)
        if passes > TURNS:
            name = self.new(COUNTERS[count - 1][k])
            first = "" if step == 1 else f"{thread}, "
            last = "" if step == 1 else f", {step}"
            return [_Turn(name, 0, f"for {name} in range({first}{side.extent}{last}):", side.lowest, side.highest)]
        turns = []
        for added in range(0, side.extent, step):
            rest = side.extent - added
            beyond = max(rest - step, 0)
            head = f"if {thread} < {rest}:" if rest < step else ""
            turns.append(_Turn(_plus(thread, str(added)), added, head, side.lowest + added, side.highest - beyond))
        return turns

    def _thread(self, axis: int, outermost: bool) -> tuple[str, int]:
        """Return the number of a thread along an axis, and how many threads there are."""
        sizes = self.study.block
        axes = [k for k in range(axis, 3) if sizes[k] > 1] if outermost else [axis] * (sizes[axis] > 1)
        text, count = "0", 1
        for k in axes:
            text = self.threads[k] if count == 1 else f"{text} + {count} * {self.threads[k]}"
            count *= sizes[k]
        return text, count

    def _nest(
        self,
        group: Sequence[Box],
        starts: Sequence[str],
        turns: Sequence[Sequence[_Turn]],
        chosen: tuple[_Turn, ...],
        place: str,
        unrolled: bool,
    ) -> Iterator[str]:
        """Nest the rounds along the sides that are left."""
        if len(chosen) == len(turns):
            yield from self._elements(group, starts, chosen, place, unrolled)
            return
        for turn in turns[len(chosen)]:
            inner = list(self._nest(group, starts, turns, (*chosen, turn), place, unrolled))
            single = inner[0].startswith("if ") and all(line.startswith(" ") for line in inner[1:])
            if turn.head.startswith("if") and single:
                yield f"{turn.head[:-1]} and {inner[0][3:]}"
                yield from inner[1:]
            else:
                yield from [turn.head] * bool(turn.head)
                yield from (f"{'    ' * bool(turn.head)}{line}" for line in inner)

    def _elements(
        self, group: Sequence[Box], starts: Sequence[str], turns: Sequence[_Turn], place: str, unrolled: bool
    ) -> Iterator[str]:
        """Write the loads of one element of each box, under the condition that the arrays have it."""
        like = group[0]
        index = [_plus(start, turn.index) for start, turn in zip(starts, turns, strict=True)]
        if not place:
            names = [f"{like.name}.size"] if len(index) == 1 else [f"{like.name}.shape[{k}]" for k in range(len(index))]
            ends = zip(index, turns, like.sides, names, strict=True)
            checks = [_inside(text, turn.lowest, turn.highest, side.length, name) for text, turn, side, name in ends]
        else:
            if unrolled:
                index = [self._beside(like, place, *turns)]
            else:
                yield f"{place} = {self._flat(like, *index)}"
                index = [place]
            pitch = self._number(like)
            lowest, highest = (pitch * getattr(turns[0], end) + getattr(turns[1], end) for end in ("lowest", "highest"))
            checks = [_inside(index[0], lowest, highest, like.size, f"{like.name}.size")]
        needed = [check for check in checks if check]
        if needed:
            yield f"if {' and '.join(needed)}:"
        for one in group:
            here = ", ".join(turn.index for turn in turns)
            yield f"{'    ' * bool(needed)}{self.tiles[one.name]}[{here}] = {one.name}[{', '.join(index)}]"

    # -- rows of an array of one axis

    def _flat(self, one: Box, row: str, column: str) -> str:
        """Write the index of the element at a row and a column."""
        if row == "0":
            return column
        rows = row if row.isidentifier() else f"({row})"
        return _plus(f"{rows} * {self._pitch(one)}", column)

    def _beside(self, one: Box, place: str, row: _Turn, column: _Turn) -> str:
        """Write the index of an element: `place` moved on by the constants of the rounds."""
        rows = f"{row.added} * {self._pitch(one)}" if row.added else "0"
        return _plus(_plus(place, rows), str(column.added))

    def _pitch(self, one: Box) -> str:
        """Return the elements of a row: the argument that holds their number, or the number."""
        assert one.pitch is not None
        text = self.study.texts.text(one.pitch)
        return text if text in self.study.source.parameters else str(self._number(one))

    def _number(self, one: Box) -> int:
        assert one.pitch is not None
        return sum(coefficient for _, coefficient in self.study.tiles.values.numbers(one.pitch))


def summed(terms: Sequence[tuple[int, str]], constant: int) -> str:
    """Write a sum of multiples of names.

    >>> summed([(16, "x"), (-1, "y"), (0, "z")], -1), summed([(1, "x")], 2), summed([], 0)
    ('16 * x - y - 1', 'x + 2', '0')
    """
    texts = [name if c == 1 else f"-{name}" if c == -1 else f"{c} * {name}" for c, name in terms if c]
    texts += [str(constant)] * (constant != 0 or not texts)
    return " + ".join(texts).replace("+ -", "- ")


def _plus(a: str, b: str) -> str:
    """Write the sum of two texts, leaving out zeros."""
    return b if a == "0" else a if b == "0" else f"{a} + {b}"


def _inside(text: str, lowest: int, highest: int, length: int, name: str) -> str:
    """Write the condition that an index is within its axis; nothing for what is certain."""
    if lowest >= 0 and highest < length:
        return ""
    if lowest >= 0:
        return f"{text} < {name}"
    return f"0 <= {text} < {name}" if highest >= length else f"{text} >= 0"
