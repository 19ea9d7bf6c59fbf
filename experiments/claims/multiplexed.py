"""Judges of what the paper says about the gains of HW and CO-HW and about their kernels (Figure 14)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import cards, runs
from experiments.common.beside import in_flight
from experiments.common.runs import by_key
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import CO_EXTRA, EXTRA, LIMITED, MEAN, bars, drawn, on_card
from experiments.common.verdicts import MARGIN, Claim, Verdict, close, exceeds
from smmux import benchmarks, multiplex
from smmux.models import SharedMemoryTable
from smmux.sweep import Record

__all__ = [
    "added_instructions", "co_hw_gains", "co_hw_over_hw", "fft_blocks_take_turns", "hw_gains", "region_calls",
]  # fmt: skip

TOGETHER = 1.95  # blocks in flight on average count as two: an SM's last one may run alone
TAKING_TURNS = 0.05  # of the allocations have to wait for another block's release at least


def _speedups(records: Sequence[Record], variant: str, extras: Sequence[int]) -> dict[str, float]:
    """The best speedup of a variant with any of these numbers of extra blocks, by benchmark and in the mean."""
    own = [bar for bar in bars(drawn(records)) if (bar["schedule"], bar["variant"]) == (IN_SIMULATION.head, variant)]
    best: dict[str, float] = {}
    for bar in own:
        if bar["extra_blocks"] in extras:
            best[bar["benchmark"]] = max(bar["speedup"], best.get(bar["benchmark"], 0))
    return {name: best[name] for name in (*LIMITED, MEAN) if name in best}


def hw_gains(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The mean and the maximum of HW, with K+2 or K+3 blocks, whichever is better."""
    return _mean_and_maximum(claim, _speedups(records, "hw", EXTRA), "MV's part: DEVIATIONS D4")


def co_hw_gains(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The mean and the maximum of CO-HW."""
    divided = _speedups(records, "co_hw", (CO_EXTRA,))
    return _mean_and_maximum(claim, divided, "DEVIATIONS D7") if divided else None


def _mean_and_maximum(claim: Claim, speedups: dict[str, float], reason: str) -> Verdict:
    """Whether mean and maximum are the paper's; the note says how far off they are."""
    most = max((name for name in speedups if name != MEAN), key=speedups.__getitem__)
    ours = speedups[MEAN], speedups[most]
    as_paper, off = close(ours, claim.numbers)
    return claim.verdict([round(v, 3) for v in ours], as_paper, f"mean and maximum ({most}): {off} ({reason})")


def co_hw_over_hw(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """CO-HW over HW with K+2 or K+3 blocks, whichever is better; it should be above HW for MC alone."""
    divided, best = _speedups(records, "co_hw", (CO_EXTRA,)), _speedups(records, "hw", EXTRA)
    if not divided:
        return None
    better = {name: round(value / best[name], 3) for name, value in divided.items() if name != MEAN}
    wrong = [name for name, ratio in better.items() if exceeds(ratio, 1) != (name == "MC")]
    note = f"CO-HW over the better of HW; it counts as better from {MARGIN:.0%} on" + (
        f"; {', '.join(wrong)} differs (DEVIATIONS D7)" if wrong else ""
    )
    return claim.verdict(better, not wrong, note)


def fft_blocks_take_turns(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """Two blocks are in flight, whose allocations the table cannot grant together, so that some had to wait."""
    runs_of_fft = [r for r in on_card(records) if (r["benchmark"], r["variant"]) == ("FFT", "hw")]
    if not runs_of_fft:
        return None
    compiled = runs.program(benchmarks.get("FFT"), "hw")
    table = SharedMemoryTable(cards.card(), dynamic_bytes=compiled.dynamic_bytes)
    granted = [table.alloc_dynamic(block, compiled.dynamic_bytes) is not None for block in range(2)]
    flights = min(in_flight(r) for r in runs_of_fft)
    waited = min(r["allocation_waits"] / r["allocations"] for r in runs_of_fft)
    return claim.verdict(
        {"blocks in flight": round(flights, 2), "granted at a time": sum(granted)},
        flights >= TOGETHER and granted == [True, False] and waited >= TAKING_TURNS,
        f"the fewest blocks in flight of any run, of which {TOGETHER} count as two; two allocations of "
        f"{compiled.dynamic_bytes} bytes never fit into {table.capacity}, and at least {waited:.0%} of all had to wait "
        f"for another block's release ({TAKING_TURNS:.0%} count as taking turns)",
    )


def region_calls(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The regions of the baseline, and the calls of smm in what the pass makes of it."""
    calls = {}
    for name in _speedups(records, "hw", EXTRA):
        if name != MEAN:
            baseline, hw = (benchmarks.get(name).kernel(variant) for variant in ("baseline", "hw"))
            calls[name] = [
                len(multiplex.regions(baseline)),
                hw.source.count(".alloc("),
                hw.source.count(".release("),
            ]
    same = all(len(set(counts)) == 1 for counts in calls.values())
    return claim.verdict(calls, same, "regions in the source, allocations, releases")


def added_instructions(claim: Claim, records: Sequence[Record]) -> Verdict:
    """How much more the HW kernels issue than the baselines, and what IPC would say of them instead of cycles."""
    own = [r for r in on_card(records) if r["benchmark"] in LIMITED]
    points = by_key(own, "benchmark", "variant", "extra_blocks")
    ratios = {}
    for name in dict.fromkeys(r["benchmark"] for r in own):
        base, hw = points[name, "baseline", 0], points[name, "hw", EXTRA[0]]
        added, faster = hw["instructions"] / base["instructions"], base["cycles"] / hw["cycles"]
        ratios[name] = [round(value, 4) for value in (added, added * faster, faster)]
    more = all(added > 1 for added, _, _ in ratios.values())
    note = f"HW with K+{EXTRA[0]} over baseline: instructions issued, IPC, and speedup in cycles"
    return claim.verdict(ratios, more, note)
