"""Judges of what the paper on TELEPORT says: speed, effort, memory accesses, and what the hardware costs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.effort import bits
from experiments.common.preloading import (
    BASELINE,
    BYPASS,
    DEFAULT,
    GHOST,
    GPU,
    HAND,
    NO_HOLD,
    PROGRAMS,
    TELEPORT,
    found,
    mean_of,
    ratios,
    speedups,
)
from experiments.common.verdicts import MARGIN, Claim, Verdict, close, exceeds
from smmux import gpus
from smmux.preload.analysis import CLASSES
from smmux.sweep import Record

__all__ = [
    "bandwidth", "effort", "held", "jacobi", "jacobi_loads", "jacobi_shared", "locality", "matrix_effort",
    "matrix_slow", "matrix_speed", "never_evicted", "occupancy", "over_baseline", "over_hand", "overhead",
    "precalculable", "reads",
]  # fmt: skip


def _mean(claim: Claim, records: Sequence[Record], other: str) -> Verdict:
    own = speedups(records, other)
    ours = mean_of(own)
    reproduced, note = close([ours], claim.numbers)
    slow = [name for name, value in own.items() if value < 1]
    bypass = mean_of(speedups(records, other, TELEPORT, BYPASS))
    listed = ", ".join(slow) or "none"
    return claim.verdict(ours, reproduced, f"{len(own)} programs, {note}; slower: {listed}; past the L2 {bypass:.2f}")


def over_hand(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The geometric mean of TELEPORT's speed over the hand-written kernels'."""
    return _mean(claim, records, HAND)


def over_baseline(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The geometric mean of TELEPORT's speed over the Baseline's."""
    return _mean(claim, records, BASELINE)


def effort(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Lines of the hand-written kernels over the Baseline's: mean, least and most."""
    own = ratios(records, "lines of code", HAND, BASELINE)
    ours = [mean_of(own), min(own.values()), max(own.values())]
    return claim.verdict(ours, *close(ours, claim.numbers))


def precalculable(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The share of the Baselines' loads whose range is known before the launch."""
    own = [forms[BASELINE] for forms in found(records).values()]
    static, quasi, never = (sum(r[kind] for r in own) for kind in CLASSES)
    share = (static + quasi) / (static + quasi + never)
    return claim.verdict(
        share, share > 0.5, f"{static} static, {quasi} quasi-static, {never} not, in {len(own)} kernels"
    )


def matrix_effort(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Lines of MMA by hand over those of its Baseline, which TELEPORT needs too."""
    ours = ratios(records, "lines of code", HAND, BASELINE)["MMA"]
    return claim.verdict(ours, *close([ours], claim.numbers))


def matrix_speed(claim: Claim, records: Sequence[Record]) -> Verdict:
    """TELEPORT's speed over the hand-written MMA's, and the instructions that it saves."""
    own, fewer = speedups(records, HAND), ratios(records, "instructions", HAND)
    bypass = speedups(records, HAND, TELEPORT, BYPASS)
    again = ratios(records, "dram_reads", TELEPORT, HAND, BYPASS)
    ours = [own["MMA"], own["MMAC"]]
    return claim.verdict(
        ours,
        close(ours[:1], claim.numbers)[0],
        f"by rows and by columns; Hand-written runs {fewer['MMA']:.2f} times the instructions; past the L2 it reads "
        f"{again['MMA']:.2f} times as much from DRAM, as a row of a tile is half a line: {bypass['MMA']:.2f}",
    )


def matrix_slow(claim: Claim, records: Sequence[Record]) -> Verdict:
    """MMA by hand over its Baseline, for both mappings of threads."""
    own = speedups(records, BASELINE, HAND)
    ours = [own["MMA"], own["MMAC"]]
    return claim.verdict(
        ours, exceeds(own["MMAC"], 1.5) and exceeds(own["MMA"], 1), "by rows and by columns; the mapping is not stated"
    )


def jacobi_loads(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Elements that threads load for a block of 16 x 16 outputs."""
    own = found(records)["JAC"]
    ours = [own[form]["elements loaded"] for form in (BASELINE, HAND)]
    reproduced, note = close(ours, claim.numbers)
    return claim.verdict(ours, reproduced, f"{note}; a halo on both sides needs 18 x 18 = 324")


def jacobi_shared(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Elements that threads load from and store to shared memory for a block of 16 x 16 outputs."""
    ours = found(records)["JAC"][HAND]["shared elements"]
    reproduced, note = close([ours], claim.numbers)
    return claim.verdict(ours, reproduced, f"{note}; a tile is stored once: 324 stores and 2304 loads")


def jacobi(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Effort and speed of the hand-written JAC, with a halo, beside the Baseline's and TELEPORT's."""
    forms = found(records)["JAC"]
    ours = [
        ratios(records, "lines of code", HAND, BASELINE)["JAC"],
        forms[HAND]["cycles"] / forms[TELEPORT]["cycles"],
    ]
    ghost = forms[GHOST]["cycles"] / forms[TELEPORT]["cycles"]
    reproduced, note = close(ours, claim.numbers)
    return claim.verdict(ours, reproduced, f"{note}; {ghost:.2f} times as fast as with a ghost zone")


def locality(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Accesses of DRAM per activation under TELEPORT, over the Baseline's and the hand-written kernels'."""
    ours = [mean_of(ratios(records, "row locality", TELEPORT, other)) for other in (BASELINE, HAND)]
    bypass = mean_of(ratios(records, "row locality", TELEPORT, HAND, BYPASS))
    return claim.verdict(
        ours, all(exceeds(value, 1) for value in ours), f"over Baseline and Hand-written; past the L2 {bypass:.2f}"
    )


def reads(claim: Claim, records: Sequence[Record]) -> Verdict:
    """DRAM reads under TELEPORT over the Baseline's."""
    ours = mean_of(ratios(records, "dram_reads", TELEPORT, BASELINE))
    bypass = mean_of(ratios(records, "dram_reads", TELEPORT, BASELINE, BYPASS))
    return claim.verdict(
        ours,
        ours <= 1 + MARGIN,
        f"requests are looked up in the L2; past it, what neighbouring blocks share is read for each: {bypass:.2f}",
    )


def held(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Requests of threads for lines that are on their way, with and without holding blocks."""
    waits = {
        setting: sum(forms[TELEPORT]["preload_waits"] for forms in found(records, setting).values())
        for setting in (DEFAULT, NO_HOLD)
    }
    default, loose = found(records), found(records, NO_HOLD)
    faster = mean_of({name: default[name][TELEPORT]["cycles"] / loose[name][TELEPORT]["cycles"] for name in loose})
    return claim.verdict(
        list(waits.values()),
        waits[DEFAULT] == 0 < waits[NO_HOLD],
        f"requests for lines on their way, held and not; without holding blocks {faster:.2f} times as fast, since the "
        "tags know such lines and send no request",
    )


def overhead(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Bits of the table and of the tags over those of the memories on the chip."""
    own = bits(gpus.get(GPU))
    ours = (own["table"] + own["tags"]) / own["on chip"]
    return claim.verdict(ours, ours < claim.numbers[0], "bits of table and tags; nothing is known of the controller's")


def bandwidth(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Bytes per second of all shared memories over those of DRAM, and the delay of a load from DRAM over theirs."""
    gpu = gpus.get(GPU)
    shared = gpu.sm_count * gpu.smem_banks * gpu.smem_bank_bytes / gpu.smem_clk_per_way * gpu.shader_khz
    dram = gpu.partitions * gpu.dram_burst_bytes / gpu.dram_burst_clk * gpu.dram_khz
    ours = [shared / dram, gpu.flat_latency / gpu.lat_shared]
    reproduced, note = close(ours, claim.numbers[:2])
    return claim.verdict(ours, reproduced, f"{note}; bandwidth, and delay without queues; energy is not modelled")


def _launches(records: Sequence[Record]) -> list[Record]:
    return [r for r in records if r["form"] == TELEPORT and not r["refused"]]


def never_evicted(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Lines of tiles that were fetched more than once, and requests of blocks that missed their tile."""
    own = _launches(records)
    lines = sum(r["preload_lines"] for r in own)
    lost = sum(r["preload_misses"] for r in own)
    held = [r for r in own if r["setting"] == DEFAULT]
    again = sum(abs(r["preload_packets"] - r["preload_lines"]) for r in held)
    return claim.verdict({"lines": lines, "missed": lost, "again": again}, not lost and not again)


def occupancy(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Resident blocks with tiles against those without."""
    default = found(records)
    fewer = [name for name in PROGRAMS if default[name][TELEPORT]["residency"] != default[name][BASELINE]["residency"]]
    return claim.verdict(fewer or "none", not fewer, f"of {len(PROGRAMS)} programs those with other resident blocks")
