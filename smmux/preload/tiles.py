"""Works out which bytes an access touches in a block, from its polynomial and all threads and iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smmux.compiler.analysis.graph import NaturalLoop
from smmux.compiler.ir import Reg, Special
from smmux.preload.clamps import Clamp
from smmux.preload.intervals import MAX_POINTS, Runs, TooMany, points, strided
from smmux.preload.names import of_symbol
from smmux.preload.polynomials import Polynomials
from smmux.preload.symbolic import Iteration, Opaque, Polynomial, Symbol
from smmux.preload.trips import Condition, conditions

__all__ = ["Linear", "Tile", "Tiles"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear form: constant + block . blockIdx + thread . threadIdx + sum of coefficient * iteration.

    loops: place and coefficient of each loop.
    """

    constant: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    loops: tuple[tuple[int, int], ...]

    @property
    def fixed(self) -> bool:
        """Whether it is the same number in all threads, blocks and iterations."""
        return not (any(self.block) or any(self.thread) or self.loops)


@dataclass(frozen=True, slots=True)
class Tile:
    """The bytes of an array that an access touches in a block: `runs`, moved by `block` . blockIdx."""

    block: tuple[int, int, int]
    runs: Runs


@dataclass(frozen=True, slots=True)
class _Test:
    """A `Condition` of a loop whose start is a linear form and whose step is a number.

    symbols: what start and step are made of.
    """

    start: Linear
    step: int
    relation: str
    entered: bool
    symbols: tuple[Symbol, ...]

    def trips(self, start: Numbers) -> Numbers | None:
        """Count the iterations that the condition allows for values of the start; None if it does not end the loop."""
        step, first = self.step, int(self.entered)
        if self.relation == "ne":
            times, rest = np.divmod(-start, step)
            return times + 1 if not rest.any() and (times >= -first).all() else None
        if (self.relation in ("gt", "ge")) != (step < 0):
            return None
        start, step = (-start, -step) if step < 0 else (start, step)
        passed = -((start - (self.relation in ("le", "ge"))) // step)  # k below it pass
        return np.maximum(passed + 1, 0) if self.entered else 1 + np.maximum(passed, 0)


class Tiles:
    """Works out the tiles of one launch. values: the polynomials of its kernel."""

    def __init__(self, values: Polynomials) -> None:
        self.values = values
        self.grid, self.block = values.facts.grid, values.facts.block
        self.loops = {values.iteration(loop).place: loop for loop in values.ranges.graph.loops}
        self._tests: dict[int, list[_Test] | Opaque] = {}

    def linear(self, value: Polynomial) -> Linear:
        """Return a polynomial as a linear form of what varies. Raises Opaque if it is none."""
        constant, block, thread = 0, [0, 0, 0], [0, 0, 0]
        loops: dict[int, int] = {}
        for monomial, coefficient in self.values.numbers(value):
            if len(monomial) > 1:
                raise Opaque(f"a product of {' and '.join(of_symbol(symbol) for symbol in monomial)}")
            if not monomial:
                constant += coefficient
            elif isinstance(symbol := monomial[0], Iteration):
                loops[symbol.place] = loops.get(symbol.place, 0) + coefficient
            elif isinstance(symbol, Special):
                kind, _, axis = symbol.name.value.partition(".")
                (block if kind == "ctaid" else thread)["xyz".index(axis)] += coefficient
            else:
                raise Opaque("a value that is not known before the launch")
        sizes = zip(block, self.grid, strict=True)
        moving = [c if n > 1 else 0 for c, n in sizes]
        return Linear(constant, (moving[0], moving[1], moving[2]), (thread[0], thread[1], thread[2]), _items(loops))

    def unclamped(self, value: Polynomial) -> Polynomial:
        """Take the clamps off a polynomial, if its tile still holds all that is read. Raises Opaque if it may not.

        A thread whose index is clamped reads the element at the limit. The tile holds that element if some thread of
        the block has the limit as its own index. This is so in every block if the form under the clamp takes all values
        between its ends, and the limit lies between them. All threads must make the same iterations.
        """
        for symbol in value.symbols:
            clamp = self.values.clamps.get(symbol) if isinstance(symbol, Reg) else None
            if clamp is None:
                continue
            factor, rest = value.by(symbol)
            form = self.linear(self.values.opened(self.values.of(clamp.form)))
            others = [self.linear(self.values.opened(part)) for part in (factor, rest)]
            reason = f"a {'maximum' if clamp.low else 'minimum'} that may lie outside of the block's tile"
            alone = not any(_share(form, other) or self.trips(other)[1] for other in others)
            if not alone or not self._reaches(form, clamp):
                raise Opaque(reason)
            return self.unclamped(rest.plus(factor.times(self.values.of(clamp.form))))
        return value

    def _reaches(self, form: Linear, clamp: Clamp) -> bool:
        """Tell whether a form takes all values between its ends, and reaches the limit in every block."""
        counts = [(abs(c), n) for c, n in zip(form.thread, self.block, strict=True)]
        if form.loops:
            return False
        values = 1
        for stride, count in sorted(counts):
            if stride > values:
                return False
            values += stride * (count - 1)
        low = form.constant + sum(min(c * (n - 1), 0) for c, n in zip(form.thread, self.block, strict=True))
        moves = [c * (n - 1) for c, n in zip(form.block, self.grid, strict=True)]
        if clamp.low:
            return low + values - 1 + sum(min(move, 0) for move in moves) >= clamp.limit
        return low + sum(max(move, 0) for move in moves) <= clamp.limit

    def tile(self, index: Linear, unit: int, width: int, around: Sequence[int] = ()) -> Tile:
        """Return the bytes of accesses of `width` bytes at an index in elements of `unit` bytes. Raises Opaque.

        around: the loops in which the access stands, which may have no iterations.
        """
        try:
            return self._tile(index, unit, width, around)
        except TooMany:
            pass
        try:
            return self._tile(index, unit, width, ())
        except TooMany:
            raise Opaque(f"more than {MAX_POINTS} places in a block") from None

    def _tile(self, index: Linear, unit: int, width: int, around: Sequence[int]) -> Tile:
        fixed, varying = self.trips(index, around)
        dimensions = [(unit * dict(index.loops).get(place, 0), count) for place, count in fixed.items()]
        threads = [(unit * c, n) for c, n in zip(index.thread, self.block, strict=True)]
        start = np.array([(unit * index.constant, unit * index.constant + width)], dtype=np.int64)
        if not varying:
            runs = strided(start, [*dimensions, *threads])
        else:
            runs = strided(points(self._enumerated(index, varying) * unit, width), dimensions)
        moved = (unit * index.block[0], unit * index.block[1], unit * index.block[2])
        self._fits(index.block, runs, unit)
        return Tile(moved, runs)

    def lowest(self, value: Polynomial) -> int:
        """Return the smallest value of a polynomial in the launch; 0 if no thread computes it. Raises Opaque."""
        linear = self.linear(self.unclamped(value))
        runs = self.tile(linear, 1, 1).runs
        moves = (c * (n - 1) for c, n in zip(linear.block, self.grid, strict=True))
        return int(runs[0, 0]) + sum(min(move, 0) for move in moves) if len(runs) else 0

    def _fits(self, block: Sequence[int], runs: Runs, unit: int) -> None:
        """Raise Opaque for an index that could wrap around 32 bits."""
        moves = [c * (n - 1) * unit for c, n in zip(block, self.grid, strict=True)]
        low, high = sum(min(m, 0) for m in moves), sum(max(m, 0) for m in moves)
        if len(runs) and not (-(1 << 31) <= runs[0, 0] + low and runs[-1, 1] + high <= 1 << 32):
            raise Opaque("numbers that 32 bits do not hold")

    def symbols(self, index: Linear) -> dict[Symbol, None]:
        """Return the symbols that decide how many iterations have the loops that an index depends on."""
        fixed, varying = self.trips(index)
        return {symbol: None for at in (*fixed, *varying) for test in self.tests(at) for symbol in test.symbols}

    # -- loops

    def trips(self, index: Linear, around: Sequence[int] = ()) -> tuple[dict[int, int], list[int]]:
        """Divide the loops that an index depends on, and those around it, into two kinds.

        The first have the same number of iterations for all threads, and come with it; the others differ from thread to
        thread, and are listed outer ones first.
        """
        fixed: dict[int, int] = {}
        varying: dict[int, None] = {}
        work = [place for place, _ in index.loops] + [place for place in around if self._counted(place)]
        while work:
            place = work.pop()
            if place in fixed or place in varying:
                continue
            tests = self.tests(place)
            if all(test.start.fixed for test in tests):
                fixed[place] = int(_least(tests, [np.array([test.start.constant]) for test in tests])[0])
                continue
            varying[place] = None
            work += [other for test in tests for other, _ in test.start.loops]
        for place in [p for p in fixed if any(p in dict(t.start.loops) for v in varying for t in self.tests(v))]:
            varying[place] = None  # what another loop's count depends on is enumerated with it
            del fixed[place]
        return fixed, sorted(varying)

    def trips_of(self, place: int) -> tuple[dict[int, int], list[int]]:
        """Do as `trips` for an index that depends on this one loop. Raises Opaque."""
        return self.trips(Linear(0, (0, 0, 0), (0, 0, 0), ((place, 1),)))

    def _counted(self, place: int) -> bool:
        """Tell whether a loop's iterations can be counted, and those of the loops that their number depends on."""
        try:
            return all(self._counted(other) for test in self.tests(place) for other, _ in test.start.loops)
        except Opaque:
            return False

    def tests(self, place: int) -> list[_Test]:
        """Return the conditions that bound a loop's iterations, alike in all blocks. Raises Opaque if none does."""
        found = self._tests.get(place)
        if found is None:
            try:
                found = self._find_tests(self.loops[place])
            except Opaque as error:
                found = error
            self._tests[place] = found
        if isinstance(found, Opaque):
            raise found
        return found

    def _find_tests(self, loop: NaturalLoop) -> list[_Test]:
        found, differs = [], False
        for condition in conditions(self.values, loop):
            test = self._test(condition)
            differs |= test is not None and any(test.start.block)
            if test is not None and not any(test.start.block):
                found.append(test)
        if not found:
            what = "a trip count that differs from block to block" if differs else "an unknown trip count"
            raise Opaque(f"{what} (loop of line {loop.line})")
        return found

    def _test(self, condition: Condition) -> _Test | None:
        try:
            start, step = self.linear(condition.start), self.linear(condition.step)
        except Opaque:
            return None
        if not step.fixed or not step.constant:
            return None
        test = _Test(
            start,
            step.constant,
            condition.relation,
            condition.entered,
            (*condition.start.symbols, *condition.step.symbols),
        )
        if test.trips(np.array([start.constant])) is None and start.fixed:
            return None
        backwards = test.relation != "ne" and (test.relation in ("gt", "ge")) != (test.step < 0)
        return None if backwards else test

    def _enumerated(self, index: Linear, varying: list[int]) -> Numbers:
        """Return the index, without the part that depends on the block, for every thread and iteration.

        varying: the loops whose iterations differ from thread to thread, which are gone through one by one.
        """
        axes = np.meshgrid(*(np.arange(n, dtype=np.int64) for n in self.block), indexing="ij")
        known: dict[object, Numbers] = {("thread", k): axis.ravel() for k, axis in enumerate(axes)}
        for place in varying:
            tests = self.tests(place)
            trips = _least(tests, [_at(test.start, known, axes[0].size) for test in tests])
            if int(trips.sum()) > MAX_POINTS:
                raise TooMany
            known = {key: np.repeat(values, trips) for key, values in known.items()}
            ends = np.cumsum(trips)
            known[place] = np.arange(int(trips.sum()), dtype=np.int64) - np.repeat(ends - trips, trips)
        return _at(index, known, 0)


def _share(one: Linear, other: Linear) -> bool:
    """Tell whether two forms both depend on one axis of the thread's index."""
    return any(a and b for a, b in zip(one.thread, other.thread, strict=True))


def _at(value: Linear, known: dict[object, Numbers], count: int) -> Numbers:
    """Return the values of a form for known values of its symbols; a loop without one is in its first iteration.

    count: how many values to return if nothing is known.
    """
    size = len(next(iter(known.values()))) if known else count
    total = np.full(size, value.constant, dtype=np.int64)
    for k, coefficient in enumerate(value.thread):
        total += coefficient * known["thread", k]
    for place, coefficient in value.loops:
        if place in known:
            total += coefficient * known[place]
    return total


def _least(tests: list[_Test], starts: list[Numbers]) -> Numbers:
    """Return how many iterations a loop makes: the fewest that any condition allows. Raises Opaque if none tells."""
    counts = [count for test, start in zip(tests, starts, strict=True) if (count := test.trips(start)) is not None]
    if not counts:
        raise Opaque("an unknown trip count")
    least: Numbers = np.minimum.reduce(counts)
    return least


def _items(loops: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((place, coefficient) for place, coefficient in loops.items() if coefficient))
