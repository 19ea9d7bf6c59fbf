"""Judges of what the paper says about MV and FFT over the size of the problem (Figures 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.schedules import ON_CARDS
from experiments.common.throughput import (
    BATCHES,
    BUDGETED,
    FETCHED,
    HEIGHTS,
    SETTINGS,
    curve,
    mean,
    mean_ratio,
    ran,
    ratios,
)
from experiments.common.verdicts import Claim, Verdict, close, exceeds, paper
from smmux.sweep import Record

__all__ = ["fft_baseline", "fft_gains", "fft_over_batches", "mv_blocks", "mv_gains"]

BLOCK_ROWS = 32  # of the matrix, in a block of MV


def mv_gains(claim: Claim, records: Sequence[Record]) -> Verdict:
    """VTB_pipe over the baseline with 48 kB, faster with 48 kB and as fast with 16 kB; the 16K baseline is slower."""
    gains = list(ratios(records, "48K_VTB_pipe", "48K_BL").values())
    small, below = (mean_ratio(records, series, "48K_BL") for series in ("16K_VTB_pipe", "16K_BL"))
    ours = [max(gains), sum(gains) / len(gains)]
    as_paper, note = close((*ours, small), (*claim.numbers, 1))
    beside = ""
    for setting, means in ((FETCHED, "perfect fetch"), (BUDGETED, "the registers that K+3 blocks leave")):
        if setting in ran(records):
            ratio, other = (mean_ratio(records, f"{kb}_VTB_pipe", "48K_BL", setting) for kb in ("16K", "48K"))
            beside += f". With {means} VTB_pipe with 16 and 48 kB reaches {ratio:.3f} and {other:.3f}"
    return claim.verdict(
        [round(value, 3) for value in ours],
        as_paper and exceeds(1, below) if len(gains) == len(HEIGHTS) else None,
        f"maximum and mean over the 48K baseline. VTB_pipe with 16 kB reaches {small:.3f} of it (in the paper both are "
        f"as fast as CUBLAS), the 16K baseline {below:.3f}: {note}{beside} (DEVIATIONS D16)",
    )


def mv_blocks(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The blocks of the baseline by height of the matrix."""
    blocks = {r["size"]: r["blocks"] for r in records if r["variant"] == "baseline"}
    as_said = all(count == height // BLOCK_ROWS for height, count in blocks.items())
    return claim.verdict(blocks, as_said, f"blocks of {BLOCK_ROWS} threads by height of the matrix")


def fft_over_batches(claim: Claim, records: Sequence[Record]) -> Verdict:
    """How the baseline with 16 kB gains from larger batches; there is no CUFFT to compare it with."""
    small = curve(records, "16K_BL")
    growth = {batch: round(rate / next(iter(small.values())), 2) for batch, rate in small.items()}
    note = "rate of the 16K baseline over its rate with the smallest batch; CUFFT is not modelled"
    return claim.verdict(growth, None, note)


def fft_baseline(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The baseline with 48 kB, over that with 16 kB and over the paper's rate of CUFFT."""
    theirs, cufft = claim.numbers
    small, large = curve(records, "16K_BL"), curve(records, "48K_BL")
    base = mean(records, "48K_BL")
    as_fast, note = close([base], [theirs])
    faster = all(exceeds(rate, small[batch]) for batch, rate in large.items())
    return claim.verdict(
        [round(base, 1), None],
        faster and as_fast and exceeds(base, cufft) if len(large) == len(BATCHES) else None,
        f"GFLOPS, {note}; above the 16K baseline for "
        + ("every batch" if faster else "some batches only")
        + f"; {mean(records, '48K_BL', FETCHED):.1f} with perfect fetch. CUFFT's rate is the paper's (DEVIATIONS D14)",
    )


def fft_gains(claim: Claim, records: Sequence[Record]) -> Verdict:
    """VTB_pipe with 48 kB: the largest and the mean gain over the baseline, and the mean rate."""
    most, rate = claim.numbers
    gains = ratios(records, "48K_VTB_pipe", "48K_BL")
    pipe = mean(records, "48K_VTB_pipe")
    average, *others = (mean_ratio(records, "48K_VTB_pipe", "48K_BL", setting) for setting in SETTINGS)
    in_order, fetched, budgeted = others
    gaining, note = close((max(gains.values()), pipe, average), (most, rate, rate / paper("P38")[0]))
    return claim.verdict(
        [round(max(gains.values()), 3), round(pipe, 1)],
        gaining if len(gains) == len(BATCHES) else None,
        f"largest gain, mean GFLOPS, and mean gain ({average:.3f}): {note}; mean gain in schedule "
        f"{ON_CARDS.other} {in_order:.3f}, with perfect fetch {fetched:.3f}, with the registers that K+3 blocks leave "
        f"{budgeted:.3f} (DEVIATIONS D14, D20)",
    )
