"""Judges of what the paper says about the speedups of VTB, VTB_pipe and CO-VTB on cards (Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from experiments.common import approaches, cards
from experiments.common.approaches import BEST, best, means, speedups, step, substituted
from experiments.common.cards import MEASURED
from experiments.common.speedups import LIMITED
from experiments.common.variants import APPROACHES
from experiments.common.verdicts import MARGIN, Claim, Verdict, close, exceeds
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = [
    "approaches_in_order", "best_means", "cards_in_order", "choice_per_benchmark", "co_vtb_over_others", "maxima",
    "mc_is_the_exception", "means_with_16_kb", "means_with_48_kb", "width_of_lanes",
]  # fmt: skip

SMALL, LARGE = MEASURED[1:]
"""GTX480 with 16 and with 48 kB of shared memory."""
MUCH = 2 * MARGIN
"""More by this share is "much better"."""


def _complete(records: Sequence[Record]) -> bool:
    """Whether all seven benchmarks ran on all cards: the paper's means are of all."""
    return all(set(best(records, gpu)) == set(LIMITED) for gpu in MEASURED)


def best_means(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The means of the best approach, card by card; beside them those with the registers that K+3 blocks leave."""
    ours = [means(records, gpu)[BEST] for gpu in MEASURED]
    as_paper, note = close(ours, claim.numbers)
    budgeted = [mean for gpu in MEASURED if (mean := means(records, cards.budgeted(gpu).name).get(BEST))]
    rows = {"figure": ours, "K+3 registers": budgeted} if budgeted else {"figure": ours}
    reproduced = as_paper if _complete(records) else None
    shown = {name: [round(mean, 4) for mean in row] for name, row in rows.items()}
    return claim.verdict(shown, reproduced, f"the figure {note} (DEVIATIONS D4, D14, D15, D20)")


def maxima(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The largest speedup of any benchmark on GTX285, and on either GTX480."""
    tops = {gpu: max(best(records, gpu).items(), key=lambda item: item[1]) for gpu in MEASURED}
    ours = [tops[MEASURED[0]], max((tops[gpu] for gpu in MEASURED[1:]), key=lambda item: item[1])]
    as_paper, note = close([v for _, v in ours], claim.numbers)
    reproduced = as_paper if _complete(records) else None
    return claim.verdict([f"{v:.3f} ({name})" for name, v in ours], reproduced, note + " (DEVIATIONS D14)")


def means_with_16_kb(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The means of each approach on GTX480 with 16 kB."""
    return _means_on(SMALL, claim, records)


def means_with_48_kb(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The means of each approach on GTX480 with 48 kB."""
    return _means_on(LARGE, claim, records)


def _means_on(gpu: str, claim: Claim, records: Sequence[Record]) -> Verdict:
    own = means(records, gpu)
    columns = approaches.paper(gpu)
    as_paper, note = close([own[a] for a in columns], list(columns.values()))
    mixed = means(substituted(records, gpu, f"{gpu}, Table 1 bytes"), gpu)
    more = ", ".join(f"{mixed[a]:.3f}" for a in columns)
    return claim.verdict(
        [round(own[a], 3) for a in columns],
        as_paper if _complete(records) else None,
        f"{note}; CO-VTB's mean is over the three that have it; with Table 1's bytes: {more} (DEVIATIONS D14 to D18)",
    )


def approaches_in_order(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The approaches in the mean; the paper's own means of CO-VTB and VTB_pipe are less than the margin apart."""
    own = means(records, SMALL)
    steps = {(high, low): step(high, low, SMALL) for low, high in pairwise(APPROACHES)}
    return claim.verdict(
        {label: round(own[a], 3) for a, label in APPROACHES.items()},
        all(exceeds(own[high], own[low], margin) for (high, low), margin in steps.items()),
        f"{SMALL}; "
        + ", ".join(f"{APPROACHES[a]} above {APPROACHES[b]} from {margin:.1%} on" for (a, b), margin in steps.items())
        + " (the paper's own distance where it is less than the margin); CO-VTB's mean is over the three that have it, "
        "as in the paper (DEVIATIONS D17, D18)",
    )


def mc_is_the_exception(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The benchmarks for which VTB_pipe is not better than VTB; MC has to be the only one to be the exception."""
    ratios = {
        gpu: {name: round(row["vtb_pipe"] / row["vtb"], 3) for name, row in speedups(records, gpu).items()}
        for gpu in MEASURED
    }
    no_better = {gpu: [name for name, ratio in row.items() if not exceeds(ratio, 1)] for gpu, row in ratios.items()}
    return claim.verdict(
        no_better,
        all(names == ["MC"] for names in no_better.values()) if _complete(records) else None,
        f"benchmarks whose VTB_pipe is not better than VTB by {MARGIN:.0%}; VTB_pipe over VTB: "
        + "; ".join(
            gpu + " " + ", ".join(f"{name} {ratio}" for name, ratio in row.items()) for gpu, row in ratios.items()
        )
        + " (VTB of MC combines four blocks; DEVIATIONS D18)",
    )


def cards_in_order(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The means of every approach and of the best, card by card."""
    all_means = {gpu: means(records, gpu) for gpu in MEASURED}
    shown = {gpu: {APPROACHES.get(a, a): round(mean, 3) for a, mean in row.items()} for gpu, row in all_means.items()}
    small = all_means.pop(SMALL)
    highest = all(exceeds(small[a], mean) for row in all_means.values() for a, mean in row.items())
    note = f"means, each of them higher on {SMALL} by {MARGIN:.0%} at least (DEVIATIONS D17)"
    return claim.verdict(shown, highest if _complete(records) else None, note)


def width_of_lanes(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The best mean on the same card and memory with groups of lanes half as wide."""
    machines = (SMALL, cards.half_lanes().name)
    wide, narrow = (means(records, name).get(BEST) for name in machines)
    if not wide or not narrow:
        return claim.verdict(None, None, "not in quick runs")
    other = MEASURED[0]
    fetched = [means(records, cards.perfect_fetch(gpu).name).get(BEST) for gpu in (SMALL, other)]
    unbounded = means(records, cards.unbounded(other).name).get(BEST)
    own, theirs = (best(records, name) for name in machines)
    more = ", ".join(f"{name} {own[name]:.3f} {theirs[name]:.3f}" for name in own)
    return claim.verdict(
        [round(wide, 3), round(narrow, 3)],
        exceeds(wide, narrow) if _complete(records) else None,
        f"best mean on {SMALL}, and on one whose instructions hold their lanes 4 clocks, all else equal; the lanes are "
        f"the reason if it is less there by {MARGIN:.0%}. Both by benchmark: {more}. On {other} "
        f"{means(records, other)[BEST]:.3f}"
        + (f", without bounds of queues {unbounded:.3f}" if unbounded else "")
        + "; with perfect fetch {1}, and {0} on GTX480-16K".format(*(f and f"{f:.3f}" for f in fetched))
        + " (DEVIATIONS D21)",
    )


def co_vtb_over_others(claim: Claim, records: Sequence[Record]) -> Verdict:
    """CO-VTB over VTB or VTB_pipe, whichever is better."""
    ratios: dict[str, dict[str, float]] = {}
    for gpu in MEASURED:
        for name, row in speedups(records, gpu).items():
            if "co_vtb" in row:
                ratio = row["co_vtb"] / max(row["vtb"], row["vtb_pipe"])
                ratios.setdefault(name, {})[gpu] = round(ratio, 3)
    values = [ratio for row in ratios.values() for ratio in row.values()]
    better = sum(exceeds(ratio, 1, MUCH) for ratio in values)
    return claim.verdict(
        ratios,
        better > len(values) / 2 if values else None,
        f"CO-VTB over the better of VTB and VTB_pipe; {better} of {len(values)} are above it by {MUCH:.0%}, which "
        "counts as much better; more than half of them would be typical (DEVIATIONS D17)",
    )


def choice_per_benchmark(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The best approach per benchmark against each single one, both over the benchmarks that have the single one.

    The best cannot be worse, so that only the size of its lead says anything.
    """
    ratios: dict[str, dict[str, float]] = {}
    above = True
    for gpu in MEASURED:
        rows = speedups(records, gpu).values()
        for approach, name in APPROACHES.items():
            having = [max(row.values()) / row[approach] for row in rows if approach in row]
            if having:
                ratio = geometric_mean(having)
                ratios.setdefault(gpu, {})[name] = round(ratio, 3)
                above = above and exceeds(ratio, 1, step(BEST, approach, gpu))
    return claim.verdict(
        ratios,
        above if _complete(records) else None,
        "mean of the best approaches over that of each single one, of the benchmarks that have the single one; "
        f"{MARGIN:.0%} counts, or the paper's own difference where that is less (DEVIATIONS D14, D18)",
    )
