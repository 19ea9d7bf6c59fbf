"""Finds redefines: stores that replace what a shared array held, so that the array is not in use before them.

A define of an array is a run of stores up to the next load. It begins with a store behind a barrier, with no load in
between, if the contents before have been used. It replaces the contents unless later loads need elements from an
earlier define: a loop that rewrites the inside of a tile still needs the halo stored before. Two things prove that it
replaces them: it stores to every place, by its text, to which any other define stores; or all that is loaded until the
next define lies in what it stores (`Coverage`).

Places are compared by text, which needs indices that always mean the same. Such an index is made of constants, indices
of the thread, sizes, arguments of the kernel, variables that are assigned once from nothing else, and counters of loops
without barriers, whose heads belong to the text.
"""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from smmux import cuda
from smmux.base.trees import walk
from smmux.language.types import Scalar
from smmux.multiplex.analysis.accesses import Alternatives, Barrier, Called, Event, Loop, Piece, Touch, barriers
from smmux.multiplex.analysis.facts import Array, Scope, Site, value_of
from smmux.multiplex.analysis.frames import Analysis
from smmux.multiplex.analysis.threads import Access, Coverage, Define, UnknownError
from smmux.source.function_source import MISSING, assigned_names

PURE = (range, int, float, min, max, abs, len, cuda.grid, cuda.gridsize)
PARTS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple)
MAX_DEPTH = 32

Item = TypeVar("Item")

Firsts = dict[Array, frozenset[Touch]]  # defines of arrays, by their first stores


def mark_redefines(analysis: Analysis) -> None:
    """Find the stores of a kernel that replace the contents of arrays, and mark them."""
    followed = _Defines(analysis)
    while followed.again():
        pass
    for touch in followed.first - followed.partial:
        touch.redefines = True


@dataclass(slots=True)
class _State:
    """Where defines are at a place of the kernel."""

    read: set[Array] = field(default_factory=set)  # loaded from since the last barrier
    unread: set[Array] = field(default_factory=set)  # stored to and not loaded from since
    going_on: Firsts = field(default_factory=dict)  # further stores belong to these, several behind a branch
    held: Firsts = field(default_factory=dict)  # what is in an array can come from these

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
        self.going_on = _joined(*(way.going_on for way in ways))
        self.held = _joined(*(way.held for way in ways))


def _joined(*ways: Firsts) -> Firsts:
    """The defines behind one of several ways."""
    arrays = {array for way in ways for array in way}
    return {array: frozenset[Touch]().union(*(way.get(array, ()) for way in ways)) for array in arrays}


class _Defines:
    """The defines of all arrays, followed along the kernel until nothing changes.

    found: defines by their first store. others: stores that follow a load and so belong to no define; updates of
    elements only where the elements are known. first: stores that begin a define. partial: the first stores of defines
    that do not replace everything. unread, held: what a loop hands from one trip to the next.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.synchronised: set[ast.stmt] = set()  # loops with barriers
        self.unread: dict[Loop, frozenset[Array]] = defaultdict(frozenset)
        self.held: dict[Loop, Firsts] = defaultdict(dict)
        self.partial: set[Touch] = set()

    def again(self) -> bool:
        """Follow the defines once more. True if something new was found."""
        self.found: dict[Array, dict[Touch, Define]] = defaultdict(dict)
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

    def sequence(self, events: Sequence[Event], state: _State) -> None:
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
        """Walk over a loop once; what it hands to its next trip is used when the loop is walked over again."""
        read, entry = set(state.read), state.held
        trip = [*loop.body, *loop.again]
        synchronised = any(barriers(trip))
        if synchronised:
            self.synchronised.add(loop.node)
            state.read.clear()
            state.unread |= self.unread[loop]
        state.held = _joined(entry, self.held[loop])
        self.sequence(trip, state)
        held, unread = _joined(self.held[loop], state.held), self.unread[loop] | state.unread
        self.changed |= held != self.held[loop] or synchronised and unread != self.unread[loop]
        self.held[loop], self.unread[loop] = held, unread
        if not loop.always:
            state.held = _joined(entry, state.held)
        self.sequence(loop.orelse, state)
        state.read |= read

    def touch(self, touch: Touch, state: _State) -> None:
        """A load or store of a shared array."""
        array, node, site = touch.array, touch.node, touch.site
        if not touch.write:
            plain = isinstance(node, ast.Subscript) and _is_array(site.scope, node.value, array)
            load = self.access(site, node.slice if plain else None, site.loops)  # type: ignore[attr-defined]
            for first in state.held.get(array, frozenset()) & self.found[array].keys():
                self.found[array][first].loads.append(load)
            state.going_on.pop(array, None)
            state.read.add(array)
            state.unread.discard(array)
            return
        if array not in state.read | state.unread:
            self.first.add(touch)
            kept = state.held.get(array, frozenset()) if touch in self.partial else frozenset()
            state.held[array] = kept | {touch}
            self.found[array].setdefault(touch, Define(site))
            state.going_on[array] = frozenset({touch})
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
        for first in state.going_on.get(array, ()):
            define = self.found[array][first]
            text = place_text(site, node.slice, define.begin, self.synchronised)
            define.varies |= text is None and any(loop in self.synchronised for _, loop in site.loops)
            define.places.add(text if direct and text else (site.scope, node))
            loops = beyond(define.begin.loops, site.loops)
            define.stores.append(self.access(site, node.slice if direct else None, loops))

    def other_store(self, array: Array, base: ast.expr, index: ast.expr, site: Site, update: bool) -> None:
        """Note a store that follows a load. It is no define, but a later define must replace what it stores too. An
        update of elements lies where the define that stored them does.
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
    stores = scope.stores.get(node.id, [])
    return len(stores) == 1 and isinstance(stores[0], ast.Assign) and stores[0].value is array.node


def _updates(statement: ast.stmt | None, element: ast.Subscript) -> bool:
    """Whether a statement loads the element that it stores."""
    if isinstance(statement, ast.AugAssign):
        return statement.target is element
    loaded = walk(statement.value) if isinstance(statement, ast.Assign) else ()
    return any(isinstance(n, ast.Subscript) and ast.unparse(n) == ast.unparse(element) for n in loaded)


# -- texts of places


def place_text(site: Site, index: ast.expr, since: Site, synchronised: Collection[ast.stmt]) -> str | None:
    """The text of a place with all that it depends on; None if what it depends on is not always the same.

    since: where the define began, whose conditions and loops are around its stores. synchronised: loops with barriers.
    """
    if any(loop in synchronised for _, loop in beyond(since.loops, site.loops)):
        return None
    texts, scope = _Texts(site, synchronised), site.scope
    try:
        parts = [texts.of(scope, index)]
        parts += [texts.head(function, loop) for function, loop in site.loops if loop not in synchronised]
        parts += [f"{c.side} {texts.of(c.scope, c.test)}" for c in beyond(since.conditions, site.conditions)]
    except UnknownError:
        return None
    while scope.caller is not None:
        if any(isinstance(n, ast.Return) and n is not scope.tree.body[-1] for n in walk(scope.tree)):
            return None
        scope = scope.caller
    return " ".join(parts)


def beyond(around: Sequence[Item], now: Sequence[Item]) -> list[Item]:
    """Conditions or loops that have come around since."""
    same = itertools.takewhile(bool, (a == b for a, b in zip(around, now, strict=False)))
    return list(now[sum(same) :])


class _Texts:
    """Texts of steady expressions around an access; parameters of device functions are what they are in the call."""

    def __init__(self, site: Site, synchronised: Collection[ast.stmt]) -> None:
        self.site, self.synchronised = site, synchronised

    def head(self, scope: Scope, loop: ast.stmt) -> str:
        """What a loop runs over, if it makes all of its trips."""
        leaves = any(isinstance(n, ast.Break | ast.Continue) for n in walk(loop))
        if not isinstance(loop, ast.For) or loop.orelse or leaves:
            raise UnknownError
        return self.of(scope, loop.iter)

    def of(self, scope: Scope, node: ast.expr | None, within: ast.AST | None = None, depth: int = 0) -> str:
        """The text of an expression; within: the assignment of which it is the value."""
        source = scope.source
        if isinstance(node, ast.Name):
            return self.variable(scope, node.id, within, depth + 1)
        if isinstance(node, ast.Constant):
            return ast.dump(node)
        if isinstance(node, ast.Attribute):
            captured = source.resolve(node) is not MISSING or source.resolve(node.value) is not MISSING
            if not captured and node.attr not in ("shape", "size", "ndim"):
                raise UnknownError
            return ast.dump(node) if captured else f"{_array(scope, node.value)}.{node.attr}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            kind, parts = f"{_array(scope, node.value.value)}.shape", [node.slice]
        elif isinstance(node, ast.Call) and not node.keywords:
            called = source.resolve(node.func)
            if not (isinstance(called, Scalar) or any(called is pure for pure in PURE)):
                raise UnknownError
            kind, parts = ast.unparse(node.func), node.args
        elif isinstance(node, PARTS):
            operators = [type(n).__name__ for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr)]
            kind = " ".join([type(node).__name__, *operators])
            parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        else:
            raise UnknownError
        return f"{kind}({', '.join(self.of(scope, part, within, depth) for part in parts)})"

    def variable(self, scope: Scope, name: str, within: ast.AST | None, depth: int) -> str:
        """The text of a variable: its name, once it is known to have always the same value."""
        stores, given = scope.stores.get(name, []), scope.argument(name)
        text = name if scope.caller is None else f"{scope.source.name}.{name}"
        if given is not None and scope.caller is not None:
            return self.of(scope.caller, given, None, depth)
        if not stores:
            return text if name in scope.source.locals else name
        if name in scope.source.parameters:
            raise UnknownError
        loops = [n for function, n in self.site.loops if function is scope and n in stores]
        counted = [n for n in loops if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
        if counted and counted[-1] not in self.synchronised and name not in assigned_names(counted[-1].body):
            if within is not None and not any(n is within for n in walk(counted[-1])):
                raise UnknownError
            return text
        value = value_of(stores[0], name) if len(stores) == 1 else None
        if value is None or depth > MAX_DEPTH:
            raise UnknownError
        self.of(scope, value, stores[0], depth)
        return text


def _array(scope: Scope, node: ast.expr) -> str:
    """The text of an array."""
    while isinstance(node, ast.Name) and scope.caller is not None and (given := scope.argument(node.id)) is not None:
        scope, node = scope.caller, given
    return f"{scope.source.name}.{ast.dump(node)}"
