"""The software approaches on the simulated card, beside HW with as many blocks: points, table and claims of Figure 14.

Two virtual blocks in each of K make 2 K; HW gets as many with K+1 (MV, SP: K+3). What both wait for is counted alike:
time that warps spend at barriers until the last one arrives, and for grants of shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.common import cards, harness
from experiments.common.approaches import APPROACHES
from experiments.common.cards import CAMPING, GPU, HASHED
from experiments.common.harness import MARGIN, Verdict, exceeds, listed, verdict
from experiments.common.runs import SCHEDULES, by_key
from experiments.common.speedups import LIMITED, MEAN, OTHERS, baseline_and, is_default
from experiments.common.stalls import at_barriers, for_memory
from smmux import benchmarks
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = ["check", "doubling", "points", "table"]

MOST = 3
"""Blocks beyond K that Figure 14 has at most."""

Found = dict[tuple[Any, ...], Record]


def points(size: str, names: Iterable[str] = (*LIMITED, *OTHERS)) -> list[Record]:
    """HW with 2 K blocks and the software approaches with two virtual blocks in K; of those that camp also hashed."""
    made: list[Record] = []
    for name in names:
        benchmark = benchmarks.get(name)
        common: Any = {"benchmark": name, "build": benchmark.builds[0], "schedule": SCHEDULES[0], "size": size}
        for gpu in (cards.card(), cards.hashed()) if name in CAMPING else (cards.card(),):
            extras = [doubling(name)] if name in LIMITED else []
            made += baseline_and(extras, gpu=gpu, **common)
            alone = {"gpu": gpu, "management": "static", "extra_blocks": 0, "n": 2}
            made += [{**common, **alone, "variant": v} for v in APPROACHES if v in benchmark.variants]
    return made


def doubling(name: str) -> int:
    """Blocks beyond K that make 2 K of them, as many as two virtual ones in each of K: K itself."""
    return benchmarks.get(name).table1.blocks


def in_flight(record: Record) -> float:
    """Blocks, or virtual ones, of an SM on average."""
    return float((record.get("n") or 1) * record["block_cycles"] / (record["cycles"] * cards.card().sm_count))


def compared(own: Sequence[Record], gpu: str = GPU) -> dict[str, list[Record]]:
    """HW, VTB and VTB_pipe of each benchmark that has all three, schedule `source`."""
    head = [r for r in own if (r["gpu"], r["schedule"]) == (gpu, SCHEDULES[0]) and is_default(r)]
    found: Found = by_key(head, "benchmark", "variant", "extra_blocks")
    keys = {name: [(name, "hw", doubling(name)), (name, "vtb", 0), (name, "vtb_pipe", 0)] for name in LIMITED}
    return {name: [found[key] for key in row] for name, row in keys.items() if all(key in found for key in row)}


def table(own: Sequence[Record]) -> str:
    """Speedups and waits of HW, VTB and VTB_pipe with 2 K blocks; empty where nothing was run."""
    rows: list[tuple[Any, ...]] = []
    for gpu in (GPU, HASHED):
        triples = compared(own, gpu)
        rows += [
            (
                name,
                *(r["speedup"] for r in row),
                *(f"{in_flight(r):.2f}" for r in row[:2]),
                *(f"{100 * at_barriers(r):.0f}" for r in row),
                f"{100 * for_memory(row[0]):.0f}",
                gpu.removeprefix(GPU).lstrip(", "),
            )
            for name, row in triples.items()
        ]
        if len(triples) > 1:
            rows.append((MEAN, *_means(triples), *[None] * 6, ""))
    header = ("HW at 2 K blocks beside software", "HW", "VTB", "VTB_pipe", "in flight HW", "VTB",
              "% at barriers HW", "VTB", "VTB_pipe", "% for memory HW", "")  # fmt: skip
    return harness.table(header, rows) if rows else ""


def _means(triples: dict[str, list[Record]]) -> list[float]:
    return [geometric_mean(row[i]["speedup"] for row in triples.values()) for i in range(3)]


def check(own: Sequence[Record]) -> list[Verdict]:
    """Claims P41, P47 and P56, of default builds on the card."""
    triples = compared(own)
    found: Found = by_key((r for r in own if r["variant"] == "hw"), "benchmark", "extra_blocks")
    most = {name: in_flight(found[name, MOST]) for name in triples}
    return [*([_waits(triples, most), _overheads(triples)] if triples else []), *_unaffected(own)]


def _waits(triples: dict[str, list[Record]], most: dict[str, float]) -> Verdict:
    """The three parts of the claim: blocks in flight, time at barriers, and waiting of any kind, as there is overlap.

    most: blocks of HW in flight with K+3. What a block waits for its barriers and for memory is not overlapped.
    """
    waits = {name: [at_barriers(r) for r in row] for name, row in triples.items()}
    total = {name: waits[name][0] + for_memory(row[0]) for name, row in triples.items()}
    flights = {name: [round(f, 2) for f in (most[name], in_flight(row[1]))] for name, row in triples.items()}
    parts = {
        "more blocks in flight than VTB": [name for name, (hw, vtb) in flights.items() if exceeds(hw, vtb)],
        "less time at barriers than both": [name for name, (hw, *rest) in waits.items() if exceeds(min(rest), hw)],
        "less waiting in all": [name for name, (_, *rest) in waits.items() if exceeds(min(rest), total[name])],
    }
    return verdict(
        "P41",
        {name: [round(value, 3) for value in (*row, total[name])] for name, row in waits.items()},
        all(len(names) == len(triples) for names in parts.values()),
        "share of the warps' lives spent at barriers, HW with 2 K blocks, VTB and VTB_pipe with two in each of K, and "
        f"with the wait for memory of HW. (Virtual) blocks in flight per SM, HW with K+{MOST} and VTB: "
        + ", ".join(f"{name} {hw} {vtb}" for name, (hw, vtb) in flights.items())
        + f". From {MARGIN:.0%} on "
        + "; ".join(f"{part} for {listed(names)}" for part, names in parts.items())
        + " (DEVIATIONS D22)",
    )


def _overheads(triples: dict[str, list[Record]]) -> Verdict:
    ratios = {name: [round(r["speedup"], 3) for r in row] for name, row in triples.items()}
    means = _means(triples)
    better = [name for name, (hw, *software) in ratios.items() if exceeds(hw, max(software))]
    return verdict(
        "P47",
        ratios,
        exceeds(means[0], max(means[1:])),
        "speedups of the same three; means "
        + ", ".join(f"{value:.3f}" for value in means)
        + f"; HW above both by {MARGIN:.0%} for {listed(better)}",
    )


def _unaffected(own: Sequence[Record]) -> list[Verdict]:
    """MM, TP and RD: nothing to gain and nothing to lose, by any approach."""
    found: dict[str, dict[str, float]] = {}
    for r in own:
        if r["benchmark"] in OTHERS and r["variant"] != "baseline":
            found.setdefault(r["variant"], {})[r["benchmark"]] = round(r["speedup"], 3)
    if not found:
        return []
    changed = [f"{name} {v:.2f} ({variant})" for variant, row in found.items() for name, v in row.items() if affects(v)]
    note = (
        f"speedups, HW with K+2; up to {MARGIN:.0%} counts as not affected, beyond it: {listed(changed)}. The paper "
        "leaves the three out of its experiments (DEVIATIONS D13)"
    )
    return [verdict("P56", found, not changed, note)]


def affects(speedup: float) -> bool:
    """Whether an approach makes a kernel faster or slower."""
    return abs(speedup - 1) > MARGIN
