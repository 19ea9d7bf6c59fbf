"""Redefines: the stores that replace what a shared array held before, so that it is not in use in front of them.

A store begins a define of an array if what was stored before has been used, and nothing has been loaded since the last
barrier; the stores that follow up to the next load belong to it. A define replaces the contents unless it leaves
elements as another define of the same array stored them: a loop that writes the inside of a tile anew needs the halo
that was stored in front of it. It is enough if it stores to all places, by their text, that any other does; or if what
is loaded until the next define is found to lie in what it stores (`coverage`).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called, Event, Loop, Piece, Touch, barriers
from smmux.multiplex.analysis.coverage import Access, Coverage, Define
from smmux.multiplex.analysis.facts import Array, Scope, Site
from smmux.multiplex.analysis.frames import Analysis
from smmux.multiplex.analysis.steady import beyond, place_text

__all__ = ["mark_redefines"]

Held = dict[Array, frozenset[Touch]]
"""First stores of the defines that an array's contents can come from."""


def mark_redefines(analysis: Analysis) -> None:
    """Find the stores of a kernel that replace the contents of arrays, and mark them."""
    followed = _Defines(analysis)
    while followed.again():
        pass
    for touch in followed.first - followed.partial:
        touch.redefines = True


@dataclass(slots=True)
class _State:
    """Where defines are at a place of the kernel.

    read: arrays loaded from since the last barrier. unread: those stored to and not loaded from since. going_on:
    defines that further stores belong to, by their first store; several behind a branch.
    """

    read: set[Array] = field(default_factory=set)
    unread: set[Array] = field(default_factory=set)
    going_on: dict[Array, dict[Touch, Define]] = field(default_factory=dict)
    held: Held = field(default_factory=dict)

    def copy(self) -> _State:
        """The same state, to go on with on another way."""
        return _State(set(self.read), set(self.unread), dict(self.going_on), dict(self.held))

    def merge(self, ways: Sequence[_State], uniform: bool) -> None:
        """Where ways come together; uniform: all threads of a block have taken the same one."""
        unread = [way.unread for way in ways]
        everywhere = set.union(*unread) if uniform else set.intersection(*unread)
        # a use by some threads is a use by the block
        self.unread = everywhere.union(*(own - self.unread for own in unread))
        self.read = set.union(*(way.read for way in ways))
        going_on: dict[Array, dict[Touch, Define]] = {}
        for way in ways:
            for array, defines in way.going_on.items():
                going_on[array] = {**going_on.get(array, {}), **defines}
        self.going_on, self.held = going_on, _joined(*(way.held for way in ways))


def _joined(*ways: Held) -> Held:
    """What arrays can hold behind one of several ways."""
    arrays = {array for held in ways for array in held}
    return {array: frozenset[Touch]().union(*(held.get(array, ()) for held in ways)) for array in arrays}


class _Defines:
    """The defines of all arrays, followed along the kernel until nothing changes.

    found: by the first store. others: stores that belong to no define, as they follow a load; updates of elements only
    where these are known. first: stores that begin a define. partial: those of defines that are not enough.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.synchronised: set[ast.stmt] = set()  # loops with barriers
        self.unread: dict[Loop, frozenset[Array]] = {}  # what a loop hands from one trip to the next
        self.held: dict[Loop, Held] = {}
        self.partial: set[Touch] = set()

    def again(self) -> bool:
        """Follow the defines once more; whether that was necessary."""
        self.found: dict[Array, dict[Touch, Define]] = {}
        self.others: dict[Array, Define] = {}
        self.first: set[Touch] = set()
        self.changed = False
        self.sequence(self.analysis.body.pieces, _State())
        if not self.changed:
            known = len(self.partial)
            self.partial.update(self.not_enough())
            self.changed = len(self.partial) > known
        return self.changed

    def not_enough(self) -> Iterator[Touch]:
        """First stores of defines that may leave elements as another one stored them."""
        coverage = Coverage(self.analysis, self.synchronised)
        for array, defines in self.found.items():
            everything = [*defines.values(), *([self.others[array]] if array in self.others else [])]
            doubtful = {
                touch: define
                for touch, define in defines.items()
                if define.varies or any(other.places - define.places for other in everything)
            }
            if doubtful and not coverage.holds(array, list(doubtful.values()), everything):
                yield from doubtful

    # -- along control

    def sequence(self, events: Sequence[Event], state: _State) -> None:
        """Events one after the other."""
        for event in events:
            if isinstance(event, Touch):
                if event.array.space == "shared":
                    self.touch(event, state)
            elif isinstance(event, Barrier):
                state.read.clear()
            elif isinstance(event, Alternatives):
                ways = [state.copy() for _ in event.ways]
                for way, own in zip(event.ways, ways, strict=True):
                    self.sequence(way, own)
                state.merge(ways, event.uniform)
            elif isinstance(event, Loop):
                self.loop(event, state)
            elif isinstance(event, Called | Piece):
                self.sequence(event.events if isinstance(event, Piece) else event.body, state)

    def loop(self, loop: Loop, state: _State) -> None:
        """A loop, once: what it hands on to the next trip is known the next time."""
        read, entry = set(state.read), state.held
        trip = [*loop.body, *loop.again]
        synchronised = any(barriers(trip))
        if synchronised:
            self.synchronised.add(loop.node)
            state.read.clear()
            state.unread |= self.unread.get(loop, frozenset())
        state.held = _joined(entry, self.held.get(loop, {}))
        self.sequence(trip, state)
        held = _joined(self.held.get(loop, {}), state.held)
        unread = self.unread.get(loop, frozenset()) | state.unread
        self.changed |= held != self.held.get(loop, {}) or synchronised and unread != self.unread.get(loop, frozenset())
        self.held[loop], self.unread[loop] = held, unread
        if not loop.always:
            state.held = _joined(entry, state.held)
        self.sequence(loop.orelse, state)
        state.read |= read

    # -- accesses

    def touch(self, touch: Touch, state: _State) -> None:
        """A load or store of a shared array."""
        array, node, site = touch.array, touch.node, touch.site
        if not touch.write:
            plain = isinstance(node, ast.Subscript) and _is_array(site.scope, node.value, array)
            load = self.access(site, node.slice if plain else None, site.loops)  # type: ignore[attr-defined]
            for first in state.held.get(array, ()):
                if first in self.found.get(array, {}):
                    self.found[array][first].loads.append(load)
            state.going_on.pop(array, None)
            state.read.add(array)
            state.unread.discard(array)
            return
        if array not in state.read | state.unread:
            self.first.add(touch)
            kept = state.held.get(array, frozenset()) if touch in self.partial else frozenset()
            state.held[array] = kept | {touch}
            define = self.found.setdefault(array, {}).setdefault(touch, Define(site))
            state.going_on[array] = {touch: define}
        if isinstance(node, ast.Subscript):
            self.store(array, node, site, state)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            self.other_store(array, node.args[0], node.args[1], site, update=True)
        state.unread.add(array)

    def store(self, array: Array, node: ast.Subscript, site: Site, state: _State) -> None:
        """A store as part of the defines that go on."""
        direct = _is_array(site.scope, node.value, array)
        if not state.going_on.get(array):
            self.other_store(array, node.value, node.slice, site, _updates(site.statement, node))
        for define in state.going_on.get(array, {}).values():
            text = place_text(site, node.slice, define.begin, self.synchronised)
            define.varies |= text is None and any(loop in self.synchronised for _, loop in site.loops)
            define.places.add(text if direct and text else (site.scope, node))
            loops = beyond(define.begin.loops, site.loops)
            define.stores.append(self.access(site, node.slice if direct else None, loops))

    def other_store(self, array: Array, base: ast.expr, index: ast.expr, site: Site, update: bool) -> None:
        """A store that follows a load: no define, but what it stores must be replaced by one too. An update of what a
        define stored lies where that did.
        """
        text = place_text(site, index, site, self.synchronised)
        certain = text is not None and _is_array(site.scope, base, array)
        if certain or not update:
            others = self.others.setdefault(array, Define(site))
            place: Hashable = text if certain else (site.scope, index)
            others.places.add(place)
            others.stores.append(self.access(site, index if certain else None, []))

    def access(self, site: Site, index: ast.expr | None, loops: Sequence[tuple[Scope, ast.stmt]]) -> Access:
        """An access, its index only where all threads get there, in each trip of these loops."""
        certain = not (site.conditions or site.divergent)
        certain = certain and all(self.analysis.trips(loop, scope) for scope, loop in loops)
        return Access(site, index if certain else None)


def _is_array(scope: Scope, node: ast.expr, array: Array) -> bool:
    """Whether an expression is the array itself, and not a row or view of it."""
    if not isinstance(node, ast.Name):
        return False
    if node.id in scope.source.parameters:
        given = scope.argument(node.id)
        return given is not None and scope.caller is not None and _is_array(scope.caller, given, array)
    stores = scope.assignments(node.id)
    return len(stores) == 1 and isinstance(stores[0], ast.Assign) and stores[0].value is array.node


def _updates(statement: ast.stmt | None, element: ast.Subscript) -> bool:
    """Whether a statement loads the element that it stores."""
    if isinstance(statement, ast.AugAssign):
        return statement.target is element
    loaded = ast.walk(statement.value) if isinstance(statement, ast.Assign) else ()
    return any(isinstance(n, ast.Subscript) and ast.unparse(n) == ast.unparse(element) for n in loaded)
