"""String matching: one simulated point, the seed's example instruction by instruction, and the law of run times."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.common.runs import by_key
from experiments.common.schedules import ON_CARDS
from experiments.programs import ac, corpora
from experiments.programs.automaton import BYTES, Automaton
from smmux import gpus
from smmux.benchmarks import Problem
from smmux.gpus import Gpu
from smmux.results.result import Result
from smmux.sweep import Record, product

__all__ = [
    "BEYOND", "COUNTS", "EXAMPLE", "GPU", "KEYS", "LAYOUTS", "LONGEST", "MAIN", "ONE", "QUICK_COUNTS", "QUICK_LONGEST",
    "QUICK_LOOKUPS", "QUICK_SIZES", "ROOMY", "SIZES", "common_size", "example", "law", "law_errors", "machines",
    "main_points", "measured", "other_points", "point", "predicted", "simulate", "sizes_of", "speedup", "times",
]  # fmt: skip

GPU = "GTX285"
ROOMY = f"{GPU}, 64 kB of shared memory"
QUICK_LOOKUPS = f"{GPU}, texture hits at once"
MAIN = ("GM", "SM-1", "SM-2")
"""The seed's approaches."""
LAYOUTS = ("SM-1", "SM-2", "padded", "diagonal")
COUNTS = (100, 1000, 5000, 20_000)
SIZES = (50_000, 200_000, 800_000, 1_600_000)
LONGEST = {100: (3_200_000, 6_400_000, 16_000_000), 20_000: (3_200_000,)}
"""Bytes of further texts by number of patterns; on the longest one the law of the two before it is tested."""
ONE = SIZES[-1]
"""Bytes of the texts on which everything else is compared."""
BEYOND = (16_000_000, 200_000_000)
"""Bytes of texts that are not simulated with every number of patterns."""
QUICK_COUNTS, QUICK_SIZES, QUICK_LONGEST = (100, 1000), (50_000, 400_000), {100: (800_000,)}
EXAMPLE = "example"
"""The seed's: 1024 bytes of text, a block of 16 threads."""
EXAMPLE_BYTES, EXAMPLE_THREADS = 1024, 16
KEYS = ("text", "gpu", "table", "pitch", "approach", "patterns", "size")
"""Columns that tell records of `simulate` apart."""
MAKING = threading.Lock()


def machines() -> list[Gpu]:
    """The card; with shared memory for as many blocks as it takes; with a texture cache that is always quick."""
    card = gpus.get(GPU)
    quick = {"tex_bytes": 262144, "tex_ways": 64, "lat_tex": 1}
    return [card, card.replace(name=ROOMY, smem_bytes=65536), card.replace(name=QUICK_LOOKUPS, **quick)]


@lru_cache(2)
def automaton(text: str, patterns: int) -> Automaton:
    """The automaton of so many patterns."""
    return Automaton.of(corpora.patterns(text, patterns))


@lru_cache(2)
def found(text: str, patterns: int, size: int) -> tuple[NDArray[np.uint8], ac.Matches]:
    """A text, and where patterns end in it."""
    wanted = corpora.patterns(text, patterns)
    letters = corpora.text(text, size, wanted)
    return letters, ac.occurrences(letters, wanted)


def simulate(
    *,
    text: str,
    patterns: int,
    size: int,
    approach: str,
    table: str = "texture",
    pitch: int = ac.PITCH,
    gpu: str | Gpu = GPU,
) -> Record:
    """Run one kernel on one text, check every position, and return a flat record with all counters.

    Raises `smmux.benchmarks.WrongOutputError` where a pattern is missed or found too often.
    """
    with MAKING:  # each is made once, by whoever comes first
        machine = automaton(text, patterns)
        letters, expected = found(text, patterns, size)
    kernel, problem = ac.problem(letters, machine, approach, table=table, pitch=pitch, expected=expected)
    result = ran(kernel, problem, approach, gpu=gpu)
    return {
        "threads": problem.threads,
        "states": machine.states,
        "matches": int(expected.count.sum()),
        "time_us": result.time_us,
        "residency": result.residency,
        "limiter": result.limiter,
        "registers": result.program.nregs,
        **result.counters,
    }


def example(*, text: str, approach: str) -> Record:
    """The seed's example, with what its loads from global memory, its stores to shared memory and its loads cost.

    Patterns of one byte, so that no thread reads another's bytes.
    """
    letters = corpora.text("english", EXAMPLE_BYTES)
    kernel, problem = ac.problem(letters, Automaton.of([b"e", b"t"]), approach, threads=EXAMPLE_THREADS)
    result = ran(kernel, problem, approach, gpu=GPU, profile=True)
    return {
        "threads": problem.threads,
        "size": len(letters),
        "copies": of_op(result, "ld.global", "issued"),
        "copy_transactions": of_op(result, "ld.global", "transactions"),
        "copy_bytes": of_op(result, "ld.global", "bytes"),
        "store_passes": of_op(result, "st.shared", "passes"),
        "reads": of_op(result, "ld.shared", "issued"),
        "read_passes": of_op(result, "ld.shared", "passes"),
    }


def ran(kernel: Any, problem: Problem, approach: str, **options: Any) -> Result:
    """The result of a run whose outputs are right.

    Threads that copy their own bytes copy one at a time, as the seed says: accesses are not joined to wider ones.
    """
    arguments = problem.arguments()
    join = approach != "own copy"
    result: Result = kernel.simulate(
        problem.grid, problem.block, arguments, schedule=ON_CARDS.head, join=join, **options
    )
    problem.check(arguments)
    return result


def of_op(result: Result, op: str, counter: str) -> int:
    """A counter summed over the instructions of a kind."""
    return sum(i[counter] for i in result.instructions() if i["op"].startswith(op))


def point(text: str, **rest: Any) -> Record:
    """`example` or `simulate`."""
    return example(text=text, **rest) if text == EXAMPLE else simulate(text=text, **rest)


def main_points(quick: bool) -> list[Record]:
    """The seed's figures: its approaches over the size of the text and the number of patterns."""
    counts, sizes, longest = (QUICK_COUNTS, QUICK_SIZES, QUICK_LONGEST) if quick else (COUNTS, SIZES, LONGEST)
    points = []
    for count in counts:
        for size in (*sizes, *longest.get(count, ())):
            common: dict[str, Any] = {"text": ["english"], "table": ["texture"], "pitch": [ac.PITCH], "gpu": [GPU]}
            points += product(**common, patterns=[count], size=[size], approach=MAIN)
    return points


def other_points(quick: bool) -> list[Record]:
    """All else, on texts of one size: random ones, other layouts, the table elsewhere or without a gap, machines."""
    counts, size = (QUICK_COUNTS[:1], QUICK_SIZES[-1]) if quick else (COUNTS, ONE)
    common: dict[str, Any] = {"size": [size], "pitch": [ac.PITCH], "gpu": [GPU], "table": ["texture"]}
    words = {**common, "text": ["english"]}
    few = counts[:1]
    ends = [counts[0], *counts[3:]]
    points = product(**words, patterns=ends, approach=[*LAYOUTS[2:], "own copy"])
    points += product(**words | {"table": ["global"]}, patterns=ends, approach=MAIN)
    points += product(**words | {"pitch": [BYTES]}, patterns=few, approach=MAIN)
    points += product(**words | {"gpu": machines()[1:]}, patterns=few, approach=[MAIN[0], *LAYOUTS[:3]])
    points += product(**common, text=["random"], patterns=counts, approach=MAIN)
    return sorted(points, key=lambda p: (p["text"], p["patterns"]))  # of one automaton after the other


def measured(
    records: Sequence[Record],
    text: str = "english",
    gpu: str = GPU,
    table: str = "texture",
    pitch: int = ac.PITCH,
) -> dict[tuple[str, int, int], Record]:
    """The records of one setting by approach, number of patterns and size of the text."""
    wanted = (text, gpu, table, pitch)
    own = [r for r in records if r["text"] != EXAMPLE and tuple(r[k] for k in KEYS[:4]) == wanted]
    return {(key[0], key[1], key[2]): record for key, record in by_key(own, *KEYS[4:]).items()}


def times(records: Sequence[Record], **setting: Any) -> dict[tuple[str, int, int], float]:
    """Microseconds by approach, number of patterns and size of the text; `setting` as `measured` takes it."""
    return {key: record["time_us"] for key, record in measured(records, **setting).items()}


def speedup(found: Mapping[tuple[str, int, int], float], one: str, other: str) -> dict[tuple[int, int], float]:
    """How many times as fast one approach is as another, by number of patterns and size of the text that both have."""
    both = [(n, size) for name, n, size in found if name == other and (one, n, size) in found]
    return {key: found[other, *key] / found[one, *key] for key in both}


def common_size(found: Mapping[tuple[str, int, int], float]) -> int:
    """Bytes of the text on which all else is compared."""
    return ONE if ("GM", COUNTS[0], ONE) in found else QUICK_SIZES[-1]


def law(found: Mapping[tuple[str, int, int], float], approach: str, patterns: int) -> tuple[float, float]:
    """Microseconds of an empty text, and per byte, by the two sizes before the longest one with as many patterns."""
    *_, one, two, _ = sizes_of(found, patterns)
    first, second = (found[approach, patterns, size] for size in (one, two))
    slope = (second - first) / (two - one)
    return first - slope * one, slope


def predicted(found: Mapping[tuple[str, int, int], float], approach: str, patterns: int, size: int) -> float:
    """Microseconds for a text of any size, by the law."""
    start, slope = law(found, approach, patterns)
    return start + slope * size


def sizes_of(found: Mapping[tuple[str, int, int], float], patterns: int) -> list[int]:
    """Bytes of the texts in which so many patterns were looked for by all approaches of the seed."""
    return sorted(size for name, n, size in found if (name, n) == (MAIN[0], patterns))


def law_errors(found: Mapping[tuple[str, int, int], float]) -> dict[tuple[str, int], float]:
    """How far the law is off for the longest text, by approach and number of patterns, where it was tested."""
    counts = sorted({n for _, n, _ in found})
    errors: dict[tuple[str, int], float] = {}
    for count in counts:
        *before, longest = sizes_of(found, count)
        if len(before) > 1 and longest > common_size(found):
            errors |= {(a, count): predicted(found, a, count, longest) / found[a, count, longest] - 1 for a in MAIN}
    return errors
