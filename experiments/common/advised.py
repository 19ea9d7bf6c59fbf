"""What the slides on the memories of GPUs compare: the runs, by a name each, and how their records are found."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.runs import by_key
from experiments.common.schedules import ON_CARDS
from smmux.sweep import Record

__all__ = ["CARDS", "FINE", "LABELS", "MEMORIES", "PAIRS", "SPREAD", "STRETCHES", "found", "points", "stretched"]

CARDS = ("GTX285", "GTX480-48K", "K20c")
FINE = "K20c"
"""The card all of whose accesses to global memory are requests of 32 bytes."""
LABELS = ("pattern",)
"""What a record says of a run that the run itself does not ask for."""

PAIRS = {
    "array of structures": ("AoS", "SoA"),
    "blocked": ("blocked", "interleaved"),
    "untiled product": ("untiled", "tiled"),
    "constant, 32 places": ("constant 32", "constant 1"),
}
"""Patterns that the slides advise against, each with the one that they advise."""
MEMORIES = ("constant", "texture", "global")
SPREAD = (1, 2, 4, 8, 16, 32)
"""Places that a warp reads at a time."""
STRETCHES = (1, 2, 4, 8, 16, 32, 64, 256)
"""Elements in a row of a thread, in blocked assignment."""

SIZES: dict[bool, dict[str, Record]] = {
    False: {
        "POINTS": {"points": 1 << 20, "each": 4},
        "SUMS": {"elements": 1 << 19, "each": 32},
        "PRODUCT": {"order": 256},
        "LOOKUP": {"threads": 1 << 14},
    },
    True: {
        "POINTS": {"points": 1 << 16, "each": 4},
        "SUMS": {"elements": 1 << 16, "each": 32},
        "PRODUCT": {"order": 96},
        "LOOKUP": {"threads": 1 << 11},
    },
}
"""Sizes of the problems in full and in quick runs."""


def points(quick: bool) -> list[Record]:
    """What to run: every pattern on every card, and blocked assignment with stretches of several lengths on one."""
    sizes = SIZES[quick]
    todo: list[Record] = []

    def add(
        pattern: str, workload: str, build: str, cards: Sequence[str] = CARDS, join: bool = True, **size: int
    ) -> None:
        common = {"pattern": pattern, "workload": workload, "build": build, "schedule": ON_CARDS.head, "join": join}
        todo.extend(common | {"gpu": gpu, "size": {**sizes[workload], **size}} for gpu in cards)

    for stretch in STRETCHES:
        if stretch != sizes["SUMS"]["each"]:
            add(f"blocked {stretch}", "SUMS", "blocked", (FINE,), each=stretch)
    add("interleaved 1", "SUMS", "interleaved", (FINE,), each=1)
    add("blocked", "SUMS", "blocked")
    add("interleaved", "SUMS", "interleaved")
    # CUDA C aligns a structure of two ints to four bytes, so that its stores stay two; here they would be joined.
    add("AoS", "POINTS", "aos", join=False)
    add("AoS, stores joined", "POINTS", "aos")
    add("SoA", "POINTS", "soa", join=False)
    add("untiled", "PRODUCT", "untiled")
    add("tiled", "PRODUCT", "tiled")
    for memory in MEMORIES:
        for places in SPREAD:
            add(f"{memory} {places}", "LOOKUP", memory, places=places)
    return todo


def found(records: Sequence[Record]) -> dict[tuple[str, str], Record]:
    """The records by pattern and card."""
    return {(str(pattern), str(gpu)): r for (pattern, gpu), r in by_key(records, "pattern", "gpu").items()}


def stretched(records: Sequence[Record]) -> dict[int, Record]:
    """The runs of blocked assignment on one card, by the length of a thread's stretch."""
    own = found(records)
    return {
        stretch: own.get((f"blocked {stretch}", FINE)) or own["blocked", FINE]
        for stretch in STRETCHES
    }  # fmt: skip
