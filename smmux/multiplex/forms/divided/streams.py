"""Writes the region of a divided array as two streams: first one for the private part, then one for the public part.

From the beginning of the region, as many statements as possible go into both streams, each restricted to the stream's
part. Statements that access both parts at once, store to global memory or cannot be divided come behind the streams,
and test the index each time. Registers must be right in both streams: the second one repeats computations whose results
are gone, and variables that it needs from before the region are saved or computed again.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from smmux import cuda
from smmux.base.parsing import statement
from smmux.base.trees import copied
from smmux.multiplex.analysis.accesses import Piece, barriers, escaping, touches
from smmux.multiplex.analysis.scalars import assigned, certain, exposed, fills, needed_after, stored_once
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.divided.mixed import Mixed
from smmux.multiplex.forms.divided.parts import NotDivisibleError, Parts
from smmux.multiplex.forms.divided.waiting import NotDeferredError, Waiting
from smmux.multiplex.regions.find import Span, is_barrier
from smmux.rewriting.build import at, names_in
from smmux.rewriting.vocabulary import calls, prints

BEFORE, WRONG = -1, -2  # versions of a variable: its value from before the region; one that nothing may need


class ConflictError(Exception):
    """Registers cannot be right in both streams if the statement with this number is among those divided."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


def streams(analysis: Analysis, region: Span, fresh: Callable[[], tuple[Parts, Waiting]]) -> Streams:
    """Divide the statements of a region. fresh: makes the parts and the registers of an attempt."""
    limit = len(region.pieces)
    while True:
        made = Streams(analysis, region, *fresh())
        try:
            made.divide(limit)
        except ConflictError as conflict:
            limit = min(conflict.limit, limit - 1)
        else:
            return made


@dataclass
class Streams:
    """A region divided: statements for the private part, for the public part, and those that follow undivided.

    waiting: values of the public part that the first stream has put into registers. after, repeated: with the number of
    the statement that they come from; those repeated are the same in both streams. writes: variables assigned, by
    number of the statement. one_sided: variables that are right in one stream alone. split: per-thread arrays whose
    elements both streams store, each its own.
    """

    analysis: Analysis
    region: Span
    parts: Parts
    waiting: Waiting
    before: list[ast.stmt] = field(default_factory=list)
    after: list[tuple[int, ast.stmt]] = field(default_factory=list)
    rest: list[ast.stmt] = field(default_factory=list)
    repeated: list[tuple[int, ast.stmt]] = field(default_factory=list)
    writes: list[set[str]] = field(default_factory=list)
    one_sided: set[str] = field(default_factory=set)
    split: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source = self.analysis.source
        mine = self.parts.limit
        self.further = {array for array in self.analysis.shared if array.name not in mine}
        self.others = {name for name, fact in self.analysis.variables() if fact.arrays & self.further}

    def divide(self, limit: int) -> None:
        """Divide as many of the first statements as possible up to a limit; raises `ConflictError`."""
        pieces = self.region.pieces
        for i, piece in enumerate(pieces[:limit]):
            if not self.take(i, piece):
                break
            self.writes.append(assigned(self.source, [piece.node]) - self.parts.arrays - self.others)
        fixed = names_in(*self.waiting.fixed or ())
        for i, names in enumerate(self.writes):
            if names & fixed:
                raise ConflictError(i)
        while self.before and self.is_barrier(self.before[-1]):
            self.before.pop()  # the same one follows in the public part's stream
        if names_in(*self.before).isdisjoint(self.parts.arrays):
            self.before = [s for s in self.before if not self.is_barrier(s)]
        self.drop_repeated()
        for name in sorted(self.to_restore()):
            self.restore(name)
        self.rest = Mixed(self.parts).block([p.node for p in pieces[len(self.writes) :]], self.parts.bounds)

    def is_barrier(self, node: ast.stmt) -> bool:
        """True for a barrier on its own."""
        return isinstance(node, ast.Expr) and calls(self.source, node.value, (cuda.syncthreads,))

    # -- statements

    def take(self, i: int, piece: Piece) -> bool:
        """Put what a statement does to each part into the two streams; False if it cannot be divided."""
        node = piece.node
        if is_barrier(piece):
            self.before.append(node)
            self.after.append((i, copied(node)))
            return True
        stores = any(t.write for t in touches(piece.events, "global"))
        changed = assigned(self.source, [node])
        if (
            stores
            or prints(self.source, node)
            or any(barriers(piece.events))
            or any(escaping(piece.events))
            or changed & self.split
        ):
            return False
        if exposed(self.source, [node]) & self.one_sided:
            return False
        if not any(touches(piece.events)):
            again = copied(node)
            self.before.append(node)
            self.after.append((i, again))
            self.repeated.append((i, again))
            self.one_sided -= certain([node])
            return True
        if self.further & {touch.array for touch in touches(piece.events)}:
            return self.public(i, piece)
        return self.deferred(piece) or self.restricted(i, node)

    def public(self, i: int, piece: Piece) -> bool:
        """A statement that accesses other shared arrays alone: the public part's stream has it."""
        changed = assigned(self.source, [piece.node]) - self.others
        if any(self.parts.uses.of(piece.node)) or changed & self.needed_behind(i + 1):
            return False
        self.after.append((i, piece.node))
        self.one_sided |= changed
        return True

    def deferred(self, piece: Piece) -> bool:
        """A define whose values wait in registers: they are stored before all that the second stream does."""
        after = names_in(*(s for _, s in self.after))
        if not after.isdisjoint(self.parts.arrays) or any(not t.write for t in touches(piece.events)):
            return False
        try:
            self.before += self.waiting.deferred(piece.node)
        except NotDeferredError:
            return False
        self.one_sided -= certain([piece.node])
        return True

    def restricted(self, i: int, node: ast.stmt) -> bool:
        """A statement that is executed once for each part; what it assigns must not be needed later."""
        try:
            private, public, one_sided = self.parts.restricted(node, self.parts.bounds)
        except NotDivisibleError:
            return False
        source, changed = self.source, assigned(self.source, [node]) - self.parts.arrays
        for name in changed & self.needed_behind(i + 1):
            fresh = name not in exposed(source, [node]) and not any(name in w for w in self.writes)
            if self.local_size(name) is None or not fresh or not stored_once(source, node, name):
                return False
            self.split.add(name)
        self.before += private
        self.after += [(i, s) for s in public]
        self.one_sided |= one_sided - self.split
        return True

    def needed_behind(self, i: int) -> set[str]:
        """Variables that are needed behind the first statements of the region."""
        return needed_after(self.source, self.analysis.tree, self.region.block.body, self.region.start + i)

    def local_size(self, name: str) -> int | None:
        """Elements of a per-thread array, -1 if that is not known; None for a scalar."""
        fact = self.analysis.variable(name)
        arrays = [a.node for a in fact.arrays if a.space == "local"] if fact is not None else []
        if not arrays:
            return None
        shape = arrays[0].args[:1] if isinstance(arrays[0], ast.Call) and len(arrays) == 1 else []
        sizes = [self.analysis.integer(size) for size in shape]
        return -1 if not sizes or sizes[0] is None else sizes[0]

    # -- registers

    def drop_repeated(self) -> None:
        """Leave out repeated computations whose results are still in their variables, if nobody needs older ones."""
        counts = Counter(name for w in self.writes for name in w)
        for i, again in self.repeated:
            needed = {n for j, s in self.after if j < i for n in exposed(self.source, [s])}
            if all(counts[name] == 1 and name not in needed for name in self.writes[i]):
                self.after = [entry for entry in self.after if entry[1] is not again]

    def to_restore(self, restored: frozenset[str] = frozenset()) -> frozenset[str]:
        """Variables that the second stream needs from before the region; restored: those known of so far.

        Track which statement assigned the value that a variable has in the second stream. The stream begins with what
        the first one has left, or, for a restored variable, with the value from before the region.
        """
        source = self.source
        last = {name: i for i, names in enumerate(self.writes) for name in names}
        current = {name: BEFORE if name in restored else i for name, i in last.items()}
        for j, statements in itertools.groupby(self.after, operator.itemgetter(0)):
            wanted = {n: max((i for i in range(j) if n in self.writes[i]), default=BEFORE) for n in last}
            here = set[str]()  # assigned by what the second stream has executed of this statement
            for _, node in statements:
                wrong = {name for name in last.keys() - here if current[name] != wanted[name]}
                stale = min(exposed(source, [node]) & wrong - self.split, default=None)
                if stale is not None and (wanted[stale] != BEFORE or stale in restored):
                    raise ConflictError(j)
                if stale is not None:
                    return self.to_restore(restored | {stale})
                changed = assigned(source, [node]) & last.keys()
                current |= {name: WRONG if name in wrong - certain([node]) else j for name in changed}
                here |= changed
        needed = self.needed_behind(len(self.writes)) & last.keys() - self.split
        if any(current[name] != last[name] for name in needed):
            raise ConflictError(len(self.writes) - 1)
        return restored

    def restore(self, name: str) -> None:
        """Bring a variable's value from before the region back between the streams."""
        node = self.region.pieces[0].node
        if self.local_size(name) is None:
            saved = self.parts.names.new(f"{name}_before", f"saved_{name}")
            self.before.insert(0, at(statement(f"{saved} = {name}"), node))
            self.before.append(at(statement(f"{name} = {saved}"), node))
            return
        earlier = self.region.block.pieces[: self.region.start]
        filled = [p for p in earlier if name in assigned(self.source, [p.node]) and not self.declares_array(p.node)]
        if not filled or not self.repeatable(filled[-1], earlier, name):
            raise ConflictError(min(i for i, w in enumerate(self.writes) if name in w))
        self.before.append(copied(filled[-1].node))

    def declares_array(self, node: ast.stmt) -> bool:
        """True for the declaration of an array."""
        return isinstance(node, ast.Assign) and calls(self.source, node.value, (cuda.shared.array, cuda.local.array))

    def repeatable(self, piece: Piece, earlier: list[Piece], name: str) -> bool:
        """Whether a statement fills a per-thread array, and does the same when it is executed again."""
        since = [p.node for p in earlier[earlier.index(piece) + 1 :]]
        stores = any(t.write for t in touches(earlier[earlier.index(piece) :], "global")) or any(touches(piece.events))
        changed = assigned(self.source, since).union(*self.writes)
        if stores or assigned(self.source, [piece.node]) != {name} or exposed(self.source, [piece.node]) & changed:
            return False
        return fills(self.source, piece.node, name, self.local_size(name))
