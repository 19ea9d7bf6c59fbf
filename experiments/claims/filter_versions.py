"""Judges of what the article on Kepler's bank modes says of its filter, from runs of the three versions."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import workloads
from experiments.common.filtering import FERMI, VERSIONS, largest, ratios, runs_of
from experiments.common.verdicts import TOLERANCE, Claim, Verdict, close, exceeds
from smmux.sweep import Record

__all__ = [
    "bytes_and_blocks", "half_the_accesses", "limits", "pairs_with_conflicts", "pairs_without_conflicts", "times",
]  # fmt: skip

TAPS = 21
HALO = TAPS - 1
ALIKE = 0.5
"""How much busier the units that compute may be than the memories."""


def _at_most_points(records: Sequence[Record]) -> dict[str, Record]:
    """The run of each version with the most points."""
    return {name: r for name, (r,) in runs_of(records, points=largest(records)).items()}


def _per_warp(record: Record, counter: str) -> float:
    return float(record[counter] / record["warps"])


def bytes_and_blocks(claim: Claim, records: Sequence[Record]) -> Verdict:
    """What the kernels declare, and their grids."""
    own = _at_most_points(records)
    values = {name: r["shared_array_bytes"] // 4 for name, r in own.items()}
    n = own["v1"]["threads"]
    blocks = {name: r["blocks"] for name, r in own.items()}
    return claim.verdict(
        values,
        values == {"v1": n + HALO, "v2": 2 * n + 2 * HALO, "v3": 2 * n + 2 * HALO}
        and blocks["v1"] == 2 * blocks["v2"] == 2 * blocks["v3"],
        f"values in shared memory of blocks with {n} threads; blocks {', '.join(map(str, blocks.values()))}",
    )


def limits(claim: Claim, records: Sequence[Record]) -> Verdict:
    """How busy the parts of an SM and the DRAM are in version 1.

    The profiler counts load/store units among the units that compute, and the banks among memories: both work on the
    accesses to shared memory.
    """
    own = _at_most_points(records)["v1"]
    busy = {part: round(own[part], 3) for part in workloads.PARTS}
    shared = own["shared_passes"] / (own["shared_passes"] + own["transactions"])
    compute = max(busy["arithmetic lanes"], busy[workloads.LOAD_STORE])
    banks = busy[workloads.LOAD_STORE] * shared  # of the time: half of the width of each bank stays unused
    memory = max(banks, busy["DRAM"])
    return claim.verdict(
        busy | {"banks in use": round(banks, 3)},
        compute == busy[workloads.LOAD_STORE]
        and memory == banks
        and not exceeds(compute, memory, ALIKE)
        and shared > 0.5,
        f"shares of the time of version 1. Load/store units are busiest, {shared:.0%} of it with shared memory, and "
        f"of the memories its banks. 'Alike' is taken as up to {ALIKE:.0%} more",
    )


def half_the_accesses(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Instructions that access shared memory, for the same outputs."""
    accesses = {name: r["shared_accesses"] for name, r in _at_most_points(records).items()}
    return claim.verdict(accesses, accesses["v1"] == 2 * accesses["v2"] == 2 * accesses["v3"])


def pairs_with_conflicts(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Version 2 against version 1, and its conflicts."""
    own = _at_most_points(records)
    gain, conflicts = own["v1"]["time_us"] / own["v2"]["time_us"], _per_warp(own["v2"], "shared_conflicts")
    return claim.verdict(
        {"v1 / v2": round(gain, 3), "conflicts": conflicts},
        exceeds(own["v1"]["time_us"], own["v2"]["time_us"]) and conflicts == HALO and not own["v1"]["shared_conflicts"],
        f"of a warp's {TAPS} loads {conflicts:g} conflict: those that begin at a segment do not",
    )


def pairs_without_conflicts(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Version 3 against version 2: passes, conflicts, time."""
    own = _at_most_points(records)
    passes = {name: _per_warp(r, "shared_passes") for name, r in own.items()}
    return claim.verdict(
        {"v2 / v3": round(own["v2"]["time_us"] / own["v3"]["time_us"], 3), "passes": passes},
        not own["v3"]["shared_conflicts"]
        and passes["v2"] - passes["v3"] == HALO
        and exceeds(own["v2"]["time_us"], own["v3"]["time_us"]),
        f"passes of a warp, with those that store its values; loads alone {TAPS}, {TAPS + HALO} and {TAPS}",
    )


def times(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The ratios of the times, beside the times themselves, and how far the ratios depend on the size."""
    own = {name: r["time_us"] for name, r in _at_most_points(records).items()}
    measured = ratios(dict(zip(VERSIONS, claim.numbers, strict=True)))
    reproduced, off = close(ratios(own), measured)
    alike, times_off = close(tuple(own.values()), claim.numbers)
    by_size = {
        points: ratios({name: r["time_us"] for name, (r,) in runs_of(records, points=points).items()})
        for points in sorted({r["points"] for rs in runs_of(records).values() for r in rs})
    }
    fermi = {name: r["time_us"] for name, (r, *_) in runs_of(records, FERMI).items()}
    return claim.verdict(
        {name: round(time, 1) for name, time in own.items()},
        reproduced,
        f"v1/v2, v2/v3 and v1/v3 {', '.join(f'{r:.3f}' for r in ratios(own))}, measured "
        f"{', '.join(f'{r:.3f}' for r in measured)}: {off}. Times {times_off.partition(';')[0]}"
        f"{'' if alike else f' (beyond {TOLERANCE:.0%})'}. v1/v2 and v2/v3 by points: "
        + ", ".join(f"{points} {one:.3f} {two:.3f}" for points, (one, two, _) in by_size.items())
        + (f". v1/v2 on Fermi {fermi['v1'] / fermi['v2']:.3f}" if fermi else "")
        + " (DEVIATIONS D26)",
    )
