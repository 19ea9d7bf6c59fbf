"""Which parameters of a test belong to the quick tests, where all of them would take long."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

import pytest


def spread(count: int, most: int) -> set[int]:
    """At most so many of the places 0 to count - 1, spread evenly, first and last among them."""
    return {k * (count - 1) // max(most - 1, 1) for k in range(most)} if count > most else set(range(count))


def cover(combinations: Sequence[Sequence[Hashable]]) -> set[int]:
    """Places of enough combinations that each value of each list is in one of them.

    There is one for each value of the longest list. Those values of the others come first that none has yet, then those
    that the fewest have."""
    if not combinations:
        return set()
    lists = range(len(combinations[0]))
    longest = max(lists, key=lambda axis: len({values[axis] for values in combinations}))
    by_value = defaultdict(list)
    for place, values in enumerate(combinations):
        by_value[values[longest]].append(place)
    used: Counter[tuple[int, Hashable]] = Counter()
    kept: set[int] = set()

    def take(places: Iterable[int]) -> None:
        best = min(places, key=lambda place: sorted(used[axis, combinations[place][axis]] for axis in lists))
        used.update((axis, combinations[best][axis]) for axis in lists)
        kept.add(best)

    for places in by_value.values():
        take(places)
    for place, values in enumerate(combinations):
        if any(not used[axis, values[axis]] for axis in lists):
            take([place])
    return kept


def by_function(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """The items of each test, one for each of its parameters."""
    found = defaultdict(list)
    for item in items:
        found[item.nodeid.partition("[")[0]].append(item)
    return list(found.values())


def beyond(items: list[pytest.Item], most: int) -> list[pytest.Item]:
    """Those of a test's parameters that are too many."""
    away = []
    for same in by_function(items):
        kept = spread(len(same), most)
        away += [item for place, item in enumerate(same) if place not in kept]
    return away


def combination(item: pytest.Item) -> list[Hashable]:
    """Which value a test has of each of its lists of parameters. A list may be of several parameters at once."""
    params, found = item.callspec.params, []  # type: ignore[attr-defined]
    for marker in item.iter_markers("parametrize"):
        names = marker.args[0].replace(",", " ").split() if isinstance(marker.args[0], str) else marker.args[0]
        found.append(tuple(id(params[name]) for name in names))
    return found


def mark_long(items: list[pytest.Item]) -> None:
    """Mark as `long` those parameters of tests marked `quick` that the quick tests do without."""
    for same in by_function(item for item in items if item.get_closest_marker("quick")):
        same = [item for item in same if not item.get_closest_marker("slow") and not item.get_closest_marker("long")]
        marker = same[0].get_closest_marker("quick") if same else None
        if marker is None:
            continue
        if marker.args:
            kept = spread(len(same), *marker.args)
        else:
            kept = cover([combination(item) for item in same])
        for place, item in enumerate(same):
            if place not in kept:
                item.add_marker("long")
