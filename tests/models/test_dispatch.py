"""Dispatch with dynamic shared memory at random times: nobody waits for ever, nothing overlaps, nothing is left behind.

The dispatcher is the definition in tests/reference/dispatch.py; it runs on the definition of the table and on the
machine's. What is shown about placement: with first fit from below for both kinds of entry the memory can be split for
good and all blocks wait for ever. Dynamic entries at the highest free place avoid that for the history in the first
test, but not for every history: a block that starts late can still land in the hole of a released dynamic entry. With
the top kept free of static entries it cannot happen, unless allocations queue behind a start that finds no place:
neither in order of arrival nor by age, nor where starts wait for other blocks to get their memory.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from smmux import _core
from tests.reference.dispatch import AnyTable, Block, Deadlock, Dispatcher, check_trace
from tests.reference.smm import Table

# One-ended first fit: static blocks of 1, 5, 3, 1, 4 units, dynamic size 2, in 9 units of memory.
SPLIT = (
    Block(1, ((6, 4), (2, 7)), 6),
    Block(5, ((7, 8),), 2),
    Block(3, ((4, 1), (6, 1)), 4),
    Block(1, (), 7),
    Block(4, ((7, 6),), 4),
)

# Equal static blocks of 2 units, dynamic size 4, 16 units of memory. Blocks 4 and 5 end at once, their successors come
# late: while dynamic entries hold 12-16 and then 8-12. One lands at 12, the other at 8; 10-12 and 14-16 stay free.
LATE = (
    Block(2, ((2, 7), (31, 1))),
    Block(2, ((3, 12), (30, 1))),
    Block(2, ((40, 1),)),
    Block(2, ((40, 1),)),
    Block(2, (), 1),
    Block(2, (), 1),
    Block(2, ((40, 1),), start=10),
    Block(2, ((40, 1),), start=20),
)

# Equal static blocks of 2 units, dynamic size 1, 9 units of memory: dynamic entries push static ones to odd addresses,
# so that the last start the rule admits finds no place. If allocations wait behind it, nobody ever ends.
MISPLACED = (
    Block(2, (), 4, start=5),
    Block(2, ((9, 5),), 1, start=7),
    Block(2, ((9, 7),), 0, start=7),
    Block(2, ((6, 7), (9, 8)), 9, start=7),
    Block(2, ((9, 2),), 4, start=8),
    Block(2, ((4, 8),)),
    Block(2, ((0, 2),), 9),
)


def run(
    blocks: Sequence[Block],
    capacity: int,
    dynamic: int,
    table: AnyTable,
    unit: int = 1,
    limit: int = 8,
    **rules: Any,
) -> Dispatcher:
    """The finished run under some rules of the dispatcher, its trace checked; raises Deadlock."""
    dispatcher = Dispatcher(table, blocks, capacity, dynamic, unit, limit, **rules)
    dispatcher.run()
    check_trace(dispatcher.trace, blocks, dynamic, capacity)
    return dispatcher


def random_blocks(rng: random.Random, mixed: bool) -> tuple[list[Block], int, int, int, int]:
    """Blocks, capacity, dynamic size, unit, residency limit. Static sizes are equal unless `mixed`."""
    unit = rng.choice((1, 1, 4))
    dynamic = rng.randint(1, 12)
    capacity = unit * rng.randint(dynamic // unit + 2, 24 + 2 * dynamic)
    room = capacity - -(-dynamic // unit) * unit
    static = rng.randint(0, min(room, 10))
    blocks = [
        Block(
            static=rng.randint(0, min(room, 10)) if mixed else static,
            regions=tuple((rng.randint(0, 20), rng.randint(0, 20)) for _ in range(rng.randint(0, 2))),
            tail=rng.randint(0, 20),
            start=rng.randint(0, 30) * rng.randint(0, 1),
        )
        for _ in range(rng.randint(2, 12))
    ]
    return blocks, capacity, dynamic, unit, rng.randint(1, 8)


RULES: Mapping[str, Mapping[str, Any]] = {
    "dynamic": {},
    "aged": {"aged": True},
    "throttled": {"max_waiting": 0},
    "throttled, one": {"max_waiting": 1},
}
"""What the dispatcher does under each management."""


def check_sequences(seed: int, count: int, mixed: bool, rules: Mapping[str, Any]) -> None:
    """Random sequences on the machine's table; every tenth also on the definition, with the same trace."""
    rng = random.Random(seed)
    for number in range(count):
        blocks, capacity, dynamic, unit, limit = random_blocks(rng, mixed)
        table = _core.Smm(capacity, unit, dynamic)
        trace = run(blocks, capacity, dynamic, table, unit, limit, **rules).trace
        assert table.entries() == []
        if number % 10 == 0:
            reference = run(blocks, capacity, dynamic, Table(capacity, unit, dynamic), unit, limit, **rules)
            assert trace == reference.trace
            assert not reference.table.held  # type: ignore[attr-defined]


@pytest.mark.quick
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("mixed", [False, True], ids=["equal", "mixed"])
def test_random_sequences(mixed: bool, rules: str) -> None:
    check_sequences(1, 1_000, mixed, RULES[rules])


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("mixed", [False, True], ids=["equal", "mixed"])
def test_a_hundred_thousand_random_sequences(mixed: bool, seed: int, rules: str) -> None:
    check_sequences(100 + seed, 10_000, mixed, RULES[rules])


def test_first_fit_at_one_end_deadlocks() -> None:
    with pytest.raises(Deadlock):
        run(SPLIT, 9, 2, Table(9, 1, highest=False))


def test_highest_place_does_not() -> None:
    assert run(SPLIT, 9, 2, Table(9, 1)).now > 0
    assert run(SPLIT, 9, 2, _core.Smm(9, 1)).now > 0


def test_highest_place_alone_deadlocks_when_blocks_start_late() -> None:
    with pytest.raises(Deadlock):
        run(LATE, 16, 4, Table(16, 1), limit=6)
    with pytest.raises(Deadlock):
        run(LATE, 16, 4, _core.Smm(16, 1), limit=6)


def test_with_the_top_kept_free_neither_deadlocks() -> None:
    for blocks, capacity, dynamic in ((SPLIT, 9, 2), (LATE, 16, 4)):
        expected = run(blocks, capacity, dynamic, Table(capacity, 1, dynamic), limit=6)
        assert run(blocks, capacity, dynamic, _core.Smm(capacity, 1, dynamic), limit=6).trace == expected.trace


def test_one_queue_for_starts_and_allocations_deadlocks() -> None:
    with pytest.raises(Deadlock):
        run(MISPLACED, 9, 1, _core.Smm(9, 1, 1), strict=True)
    assert run(MISPLACED, 9, 1, _core.Smm(9, 1, 1)).now > 0


@pytest.mark.parametrize(("highest", "mixed"), [(False, False), (False, True), (True, True)])
def test_random_sequences_deadlock_without_the_free_top(highest: bool, mixed: bool) -> None:
    """The random sequences are hard enough to tell the policies apart."""
    rng = random.Random(3)
    deadlocks = 0
    for _ in range(1_500):
        blocks, capacity, dynamic, unit, limit = random_blocks(rng, mixed)
        try:
            run(blocks, capacity, dynamic, Table(capacity, unit, highest=highest), unit, limit)
        except Deadlock:
            deadlocks += 1
    assert deadlocks > 0


def test_waiting_blocks_are_served_in_order_of_arrival() -> None:
    blocks = [Block(0, ((time, 10),)) for time in (3, 1, 2)]
    trace = run(blocks, 16, 16, _core.Smm(16, 1, 16)).trace
    assert [(time, block) for time, what, block, _ in trace if what == "grant"] == [(1, 1), (11, 2), (21, 0)]


def grants(blocks: Sequence[Block], **rules: Any) -> list[tuple[int, int]]:
    """Time and block of every grant, where the memory holds one allocation at a time."""
    trace = run(blocks, 16, 16, _core.Smm(16, 1, 16), **rules).trace
    return [(time, block) for time, what, block, _ in trace if what == "grant"]


def test_by_age_a_block_in_its_second_region_goes_before_one_in_its_first() -> None:
    """While block 0 holds the memory blocks 2 and 1 come, in this order; block 1 has started before block 2."""
    blocks = [Block(0, ((0, 10),)), Block(0, ((5, 10),)), Block(0, ((1, 10),), start=2)]
    assert grants(blocks) == [(0, 0), (10, 2), (20, 1)]
    assert grants(blocks, aged=True) == [(0, 0), (10, 1), (20, 2)]


def test_throttled_a_block_starts_when_no_more_wait_than_may() -> None:
    """Four blocks go for the memory, held by block 0 from 1 to 11, one clock after they have started."""
    blocks = [Block(0, ((1, 10),), start=number) for number in range(0, 8, 2)]
    starts = {
        limit: [time for time, what, _, _ in run(blocks, 16, 16, _core.Smm(16, 1, 16), max_waiting=limit).trace
                if what == "start"]
        for limit in (None, 1, 0)
    }  # fmt: skip
    assert starts == {None: [0, 2, 4, 6], 1: [0, 2, 4, 11], 0: [0, 2, 11, 11]}


def test_figure_9() -> None:
    """Two FFT blocks of 8736 bytes in 16 kB: together resident, one after the other in their regions."""
    blocks = [Block(32, ((10, 50), (20, 50)), 5)] * 2
    trace = run(blocks, 16384, 8704, _core.Smm(16384, 16, 8704), unit=16, limit=2).trace
    regions = [(time, what, block) for time, what, block, _ in trace if what in ("grant", "release")]
    assert regions == [
        (10, "grant", 0),
        (60, "release", 0),
        (60, "grant", 1),
        (110, "release", 1),
        (110, "grant", 0),
        (160, "release", 0),
        (160, "grant", 1),
        (210, "release", 1),
    ]
