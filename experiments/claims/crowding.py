"""Judges of what the paper says about how many blocks an SM should hold at most (Figure 15)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.cards import CAMPING
from experiments.common.curves import PRINTED, curves, without_camping
from experiments.common.speedups import MEAN
from experiments.common.tables import listed
from experiments.common.verdicts import MARGIN, Claim, Verdict, exceeds
from smmux.sweep import Record

__all__ = ["contention", "two_or_three", "who_gains"]

FALLING = MARGIN / 2
"""How far a benchmark has to fall to be named; the mean has to fall by the whole margin to count."""


def two_or_three(claim: Claim, records: Sequence[Record]) -> Verdict:
    """K+2 and K+3 are above K+1 and near each other: in the figure, and without the accident of partition camping."""
    printed = curves(records)[MEAN][1 : len(PRINTED) + 1]
    means_of = [r["speedup"] for r in printed], without_camping(records)
    gains = [[mean / one - 1 for mean in rest] for one, *rest in means_of]
    apart = [three / two - 1 for _, two, three in means_of]
    of_figure, hashed = (" and ".join(f"{gain:+.1%}" for gain in row) for row in gains)
    rows = [[round(value, 3) for value in row] for row in means_of]
    return claim.verdict(
        dict(zip(("figure", f"{listed(CAMPING)} hashed"), rows, strict=True)),
        all(exceeds(mean, one) for one, *rest in means_of for mean in rest) and max(map(abs, apart)) <= MARGIN,
        f"means with K+1, K+2 and K+3. K+2 and K+3 differ from K+1 by {of_figure} and, without partition camping "
        f"(DEVIATIONS D4), by {hashed}; each counts from {MARGIN:.0%} on. K+3 differs from K+2 by {apart[0]:+.1%} and "
        f"{apart[1]:+.1%} (up to {MARGIN:.0%} counts as similar)",
    )


def who_gains(claim: Claim, records: Sequence[Record]) -> Verdict:
    """For FFT and MC, K+2 or K+3 is above K+1 and neither is below it; for HG and MV neither is above it."""
    rows = curves(records)
    expected = {"FFT": True, "MC": True, "HG": False, "MV": False}
    steps = {name: [round(r["speedup"], 3) for r in rows[name][1:4]] for name in expected}
    gaining = {name: exceeds(max(rest), one) for name, (one, *rest) in steps.items()}
    losing = {name: exceeds(one, min(rest)) for name, (one, *rest) in steps.items()}
    off = [name for name, gains in expected.items() if gaining[name] != gains or (gains and losing[name])]
    note = (
        f"speedups with K+1, K+2 and K+3; a gain or a loss counts from {MARGIN:.0%} on; not as in the paper: "
        f"{listed(off)} (DEVIATIONS D4, D6)"
    )
    return claim.verdict(steps, not off, note)


def contention(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Blocks wait ever longer, and the curve of the means has a turning point, behind which it falls."""
    rows = curves(records)
    best = {name: max(row, key=lambda r: r["speedup"])["extra_blocks"] for name, row in rows.items()}
    fall = {name: row[-1]["speedup"] / max(r["speedup"] for r in row) - 1 for name, row in rows.items()}
    first, last = rows[MEAN][1], rows[MEAN][-1]
    falling = [f"{name} {fall[name]:+.1%}" for name in rows if name != MEAN and fall[name] <= -FALLING]
    note = (
        f"the best number of extra blocks; from there to K+{last['extra_blocks']} the mean changes by "
        f"{fall[MEAN]:+.1%} (a fall counts from {MARGIN:.0%} on), while blocks wait {last['wait']:.0%} of their time "
        f"for memory (with K+1 {first['wait']:.0%}). Benchmarks that fall by {FALLING:.1%} or more: {listed(falling)} "
        "(DEVIATIONS D4, D23)"
    )
    return claim.verdict(best, last["wait"] > 2 * first["wait"] and fall[MEAN] <= -MARGIN, note)
