"""Which lines the L1 keeps: how many under each carve-out, which drive each other out, and how long one stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .bench import Bench, Row
from .cuda_driver import CARVEOUT, MAX_DYNAMIC_SHARED

KB, LINE = 1 << 10, 128
SIZES = (228, 196, 164, 132, 100, 64, 32)
"""Of shared memory, in kB."""
HIT = 200
"""No load that hits takes so many clocks."""
KEPT_FREE = 56
"""Lines of what shared memory leaves that are for those on their way."""
OVER = (1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7, 1.9, 2.1)
"""Lines of a round over those that the L1 keeps."""
DISTANCES = (8, 16, 32, 64, 96, 128, 160, 192, 256)

HOT = np.arange(32)
AT_ONCE = 1 << 25
"""Added to the number of a line that is asked for twice at once."""
ASKED = {"once": [HOT], "twice": [HOT, HOT], "twice at once": [HOT + AT_ONCE]}
"""Some lines as they are asked for."""

Steps = Callable[[Sequence[int] | np.ndarray], np.ndarray]


def offsets(lines: Sequence[int] | np.ndarray) -> np.ndarray:
    """The steps of sets.cu for numbers of lines."""
    numbers = np.asarray(lines, np.int64)
    return np.asarray(numbers % AT_ONCE * LINE + 2 * (numbers >= AT_ONCE), np.uint32)


def stepper(bench: Bench, kilobytes: int) -> Steps:
    """What tells which of a sequence of lines an SM misses one after the other, with so much shared memory."""
    card, module = bench.card, bench.module("sets")
    base, places, out = card.alloc(4 << 30), card.alloc(1 << 18), card.alloc(1 << 17)
    function = module["steps"]

    def misses(lines: Sequence[int] | np.ndarray) -> np.ndarray:
        steps = offsets(lines)
        room = min(kilobytes - 2, 220) * KB
        assert 4 * len(steps) <= room
        function.set(MAX_DYNAMIC_SHARED, room).set(CARVEOUT, 100 * kilobytes // 228)  # the driver takes the step above
        card.put(places, steps)
        function(1, 1, base, places, np.int32(len(steps)), out, shared=room)
        return np.asarray(card.get(out, len(steps), np.uint16) > HIT)

    return misses


def most(kilobytes: int) -> int:
    """The most steps that fit the shared memory."""
    return min(kilobytes - 2, 220) * KB // 4


def rounds_of(steps: Steps, kilobytes: int, lines: int, most_rounds: int = 30) -> np.ndarray:
    """The part of so many lines side by side that is missed in each round through them, in a shuffled order."""
    rounds = min(most_rounds, most(kilobytes) // lines)
    order = np.random.default_rng(lines).permutation(lines)
    return np.asarray(steps(np.tile(order, rounds)).reshape(rounds, lines).mean(axis=1))


def l1_rounds(bench: Bench) -> Iterator[Row]:
    """Rounds through lines side by side: the first number that misses, and what part misses beyond it."""
    for size in SIZES:
        steps, kept = stepper(bench, size), (256 - size) * KB // LINE - KEPT_FREE
        steps(np.arange(min(most(size), 2 * kept)))  # into the L2
        for lines in (kept - 4, kept, kept + 4, *(int(kept * over) for over in OVER)):
            if most(size) // lines >= 4:
                found = rounds_of(steps, size, lines)
                row = {f"round_{i + 1}": found[i] for i in (1, 2, 3)}
                yield {"shared_kb": size, "lines": lines, **row, "later": found[len(found) // 2 :].mean()}


def again(distance: int, times: int, count: int = 6000) -> np.ndarray:
    """New lines in turn, each asked for again so many new ones later, `times` in all."""
    new = np.arange(count)
    return np.stack([np.maximum(new - k * distance, 0) for k in range(times)], axis=1)


def beside(hot: int, count: int) -> np.ndarray:
    """New lines in a shuffled order, with `hot` lines asked for between any two of them."""
    new = 2000 + np.random.default_rng(4).permutation(30000)[:count]
    return np.concatenate([np.tile(np.arange(hot), (count, 1)), new[:, None]], axis=1)


def behind(asked: str, new: int) -> np.ndarray:
    """The lines of `ASKED`, new ones in a shuffled order, and those lines again."""
    first, others = ASKED[asked], 2000 + np.random.default_rng(5).permutation(30000)[:new]
    return np.concatenate([*first, others, HOT])


def l1_stay(bench: Bench) -> Iterator[Row]:
    """With 228 kB of shared memory: what part is missed of lines that come again, or stay in use. With 32 kB: of lines
    that were asked for before so many new ones."""
    steps = stepper(bench, 228)
    steps(np.arange(30000))
    for times in (2, 3):
        for distance in DISTANCES:
            found = steps(again(distance, times).ravel()).reshape(-1, times)[2000:]
            yield {"what": f"asked for {times} times", "lines": distance, "missed": found[:, -1].mean()}
    for hot in (1, 8, 32, 64, 128, 150):
        found = steps(beside(hot, most(228) // (hot + 1)).ravel()).reshape(-1, hot + 1)
        yield {"what": "in use beside new ones", "lines": hot, "missed": found[len(found) // 3 :, :hot].mean()}
    steps = stepper(bench, 32)
    for asked in ASKED:
        for new in (500, 1000, 1500, 2000, 3000, 5000):
            missed = steps(behind(asked, new))[-len(HOT) :].mean()
            yield {"what": f"asked for {asked} before new ones", "lines": new, "missed": missed}


def overflows(steps: Steps, lines: Sequence[int], rounds: int = 10) -> bool:
    """Whether so many lines are still missed in later rounds."""
    order = np.random.default_rng(len(lines))
    found = steps(np.concatenate([order.permutation(lines) for _ in range(rounds)]))
    return bool(found[4 * len(lines) :].any())


def fewest(steps: Steps, lines: Sequence[int]) -> list[int]:
    """Of lines that overflow the fewest that do."""
    kept, size = list(lines), len(lines) // 8
    while True:
        before, i = len(kept), 0
        while i < len(kept):
            rest = kept[:i] + kept[i + size :]
            if rest and overflows(steps, rest):
                kept = rest
            else:
                i += size
        if size == 1 and len(kept) == before:
            return kept
        size = max(1, size // 2)


def l1_sets(bench: Bench) -> Iterator[Row]:
    """With 132 kB: the fewest of some random lines that drive each other out; all lines of a set; and for each further
    bit of a line's number which low ones make up for it."""
    steps = stepper(bench, 132)
    steps(np.arange(32768))
    for seed in range(5):
        found = fewest(steps, np.random.default_rng(seed).choice(32768, 880, replace=False).tolist())
        yield {"what": "fewest", "lines": " ".join(map(str, sorted(found)))}
        if not seed:
            others = found[:-1]
    members = [y for y in range(32768) if y in others or overflows(steps, [*others, y], 8)]
    yield {"what": "set", "lines": " ".join(map(str, members))}
    for bit in range(15, 25):
        low = next(low for low in range(8192) if overflows(steps, [*others, 1 << bit | low], 8))
        yield {"what": f"bit {bit}", "lines": str(1 << bit | low)}


PROBES: dict[str, Any] = {"l1_rounds": l1_rounds, "l1_stay": l1_stay, "l1_sets": l1_sets}
