"""Judges of what the paper says about how long shared memory is in use (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import cards
from experiments.common.cards import GPU
from experiments.common.lifetimes import SLOW_SHARED, series
from experiments.common.runs import by_key
from experiments.common.schedules import IN_SIMULATION
from experiments.common.speedups import LIMITED, MEAN
from experiments.common.verdicts import MARGIN, Claim, Verdict, close, exceeds
from smmux import benchmarks
from smmux.sweep import Record

__all__ = ["hg_on_shared_memory", "isolation", "mean_share", "rd_on_global_memory", "shares_in_order"]

HEAD, OTHER = IN_SIMULATION
LIMITED_SHARE = 0.35  # at most: "a very limited amount of time"
HIGH_SHARE = 0.5  # at least: "high", "most of its time"
BUSY = 0.7  # of the time a DRAM bus moves data where it limits; the rest goes into rows, turnarounds and refresh
UNMOVED = 0.02  # of its time may a kernel gain or lose by a change of what does not limit it
ENTIRE = 0.8  # at least: "almost the entire lifetime"
APART = 1.5  # times the share of isolated regions is what "looks like nearly the whole kernel" at least


def mean_share(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The mean share of isolated regions."""
    own = series(records, "isolated", HEAD)[MEAN]
    published, listed = (series(records, "isolated", *key)[MEAN] for key in ((HEAD, "published"), (OTHER, "default")))
    reproduced, off = close([own], claim.numbers)
    note = f"{off}. Builds as published: {published:.3f}; schedule {OTHER}: {listed:.3f} (DEVIATIONS D8)"
    return claim.verdict(round(own, 3), reproduced, note)


def shares_in_order(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Which benchmarks use shared memory for long and which do not."""
    head = series(records, "isolated", HEAD)
    order = sorted(benchmarks.names(), key=lambda name: -head[name])
    few = {name: head[name] for name in LIMITED if name != "HG"}
    wrong = [name for name, share in few.items() if share > LIMITED_SHARE]
    wrong += ["HG"] if head["HG"] < HIGH_SHARE else []
    wrong += [name for name in ("MM", "TP") if not exceeds(head[name], max(few.values()))]
    wrong += [] if order[-1] == "RD" else ["RD"]
    return claim.verdict(
        order,
        not wrong,
        f"in order of shares; 'very limited' is taken as at most {LIMITED_SHARE:.0%}, 'high' as at least "
        f"{HIGH_SHARE:.0%}, 'often' as more than any limited one by {MARGIN:.0%}, 'idle most of the time' as least"
        + (f"; not so: {', '.join(f'{name} {head[name]:.0%}' for name in wrong)} (DEVIATIONS D8)" if wrong else ""),
    )


def rd_on_global_memory(claim: Claim, records: Sequence[Record]) -> Verdict:
    """RD: how busy the DRAM is, and what slower shared memory changes."""
    baselines = [r for r in records if (r["benchmark"], r["variant"], r["schedule"]) == ("RD", "baseline", HEAD)]
    on = by_key(baselines, "gpu")
    card, own = cards.card(), on[(GPU,)]
    clocks = own["cycles"] * card.dram_khz / card.shader_khz * card.partitions
    busy, slower = own["dram_busy"] / clocks, on[(SLOW_SHARED,)]["cycles"] / own["cycles"] - 1
    return claim.verdict(
        round(busy, 3),
        busy >= BUSY and abs(slower) <= UNMOVED,
        f"share of time in which the DRAM bus moves data ({BUSY:.0%} counts as limiting); shared memory of twice the "
        f"latency changes RD's time by {slower:+.2%} (up to {UNMOVED:.0%} counts as nothing)",
    )


def isolation(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Time from a block's first store to its last load, without isolation, beside that in isolated regions."""
    isolated = series(records, "isolated", OTHER)[MEAN]
    published = series(records, "baseline", OTHER, "published")
    staged = series(records, "baseline", OTHER)[MEAN]
    entire = [name for name in benchmarks.names() if published[name] >= ENTIRE]
    return claim.verdict(
        {"isolated": round(isolated, 3), "not": round(published[MEAN], 3), "almost entire": entire},
        published[MEAN] > APART * isolated and len(entire) > len(benchmarks.names()) / 2,
        f"time from a block's first store to its last load, schedule {OTHER}, builds as published. 'Nearly the whole "
        f"kernel' is taken as {ENTIRE:.0%} of it in more than half of the benchmarks (DEVIATIONS D9). Staged builds: "
        f"{staged:.3f}",
    )


def hg_on_shared_memory(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The share of HG."""
    share = series(records, "isolated", HEAD)["HG"]
    return claim.verdict(
        round(share, 3), share >= HIGH_SHARE, f"share of HG; 'most' is taken as at least {HIGH_SHARE:.0%}"
    )
