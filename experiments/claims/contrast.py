"""Judges of what the paper says of dynamic management in hardware beside the software approaches (Figure 14)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.beside import compared, in_flight, means
from experiments.common.runs import by_key
from experiments.common.speedups import OTHERS, on_card
from experiments.common.stalls import at_barriers, for_memory
from experiments.common.tables import listed
from experiments.common.verdicts import MARGIN, Claim, Verdict, exceeds
from smmux.sweep import Record

__all__ = ["overheads", "unaffected", "waits"]

MOST = 3
"""The most blocks beyond K in Figure 14."""


def waits(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The three parts of the claim: blocks in flight, time at barriers, and waiting of any kind.

    The last one stands for overlap: what a block waits, at barriers and for memory, is not overlapped.
    """
    triples = compared(records)
    if not triples:
        return None
    hw = by_key((r for r in on_card(records) if r["variant"] == "hw"), "benchmark", "extra_blocks")
    barriers = {name: [at_barriers(r) for r in row] for name, row in triples.items()}
    total = {name: barriers[name][0] + for_memory(row[0]) for name, row in triples.items()}
    flights = {
        name: [round(f, 2) for f in (in_flight(hw[name, MOST]), in_flight(row[1]))] for name, row in triples.items()
    }
    parts = {
        "more blocks in flight than VTB": [name for name, (own, vtb) in flights.items() if exceeds(own, vtb)],
        "less time at barriers than both": [n for n, (own, *rest) in barriers.items() if exceeds(min(rest), own)],
        "less waiting in all": [name for name, (_, *rest) in barriers.items() if exceeds(min(rest), total[name])],
    }
    return claim.verdict(
        {name: [round(value, 3) for value in (*row, total[name])] for name, row in barriers.items()},
        all(len(names) == len(triples) for names in parts.values()),
        "share of the warps' lives spent at barriers: HW with 2 K blocks, VTB and VTB_pipe with two virtual blocks in "
        f"each of K, and HW together with its wait for memory. (Virtual) blocks in flight per SM, HW with K+{MOST} "
        "and VTB: "
        + ", ".join(f"{name} {own} {vtb}" for name, (own, vtb) in flights.items())
        + f". A difference counts from {MARGIN:.0%} on: "
        + "; ".join(f"{part} for {listed(names)}" for part, names in parts.items())
        + " (DEVIATIONS D22)",
    )


def overheads(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The speedups of HW, VTB and VTB_pipe with as many blocks."""
    triples = compared(records)
    if not triples:
        return None
    ratios = {name: [round(r["speedup"], 3) for r in row] for name, row in triples.items()}
    hw, *software = means(triples)
    better = [name for name, (own, *rest) in ratios.items() if exceeds(own, max(rest))]
    return claim.verdict(
        ratios,
        exceeds(hw, max(software)),
        "speedups of HW with 2 K blocks, VTB and VTB_pipe; means "
        + ", ".join(f"{value:.3f}" for value in (hw, *software))
        + f"; HW above both by {MARGIN:.0%} for {listed(better)}",
    )


def unaffected(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """MM, TP and RD: nothing to gain and nothing to lose, by any approach."""
    speedups: dict[str, dict[str, float]] = {}
    for r in on_card(records):
        if r["benchmark"] in OTHERS and r["variant"] != "baseline":
            speedups.setdefault(r["variant"], {})[r["benchmark"]] = round(r["speedup"], 3)
    if not speedups:
        return None
    changed = [
        f"{name} {value:.2f} ({variant})"
        for variant, row in speedups.items()
        for name, value in row.items()
        if abs(value - 1) > MARGIN
    ]
    note = (
        f"speedups by approach, of HW with K+2; a change up to {MARGIN:.0%} counts as not affected, beyond it are: "
        f"{listed(changed)}. The paper leaves the three out of its experiments (DEVIATIONS D13)"
    )
    return claim.verdict(speedups, not changed, note)
