"""Judges of what the paper says about thread blocks that hold several virtual ones (Section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.common import cards
from experiments.common.approaches import by_number
from experiments.common.cards import MEASURED
from experiments.common.runs import by_key
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import LIMITED, MEAN
from experiments.common.stalls import at_barriers
from experiments.common.tables import listed
from experiments.common.verdicts import MARGIN, Claim, Verdict, exceeds
from smmux import benchmarks, gpus, models
from smmux.compiler.program import Program
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = [
    "barriers", "cost_of_division", "divergence", "divided_nine_kilobytes", "fft_back_to_back", "fft_loading",
    "fft_size", "idle_time", "mc_size", "more_than_two", "parallelism",
]  # fmt: skip

KB = 1024
SMALL = MEASURED[:2]
"""The cards with 16 kB of shared memory."""
FERMI = SMALL[1]
"""The card with 16 kB on which the paper gains most."""
LESS = 1.75  # times as long at most: "significantly less than twice"

Points = dict[tuple[Any, ...], Record]


def _points(records: Sequence[Record], schedule: str = ON_CARDS.head) -> Points:
    """The records of a schedule by machine, benchmark and variant."""
    return by_key((r for r in records if r["schedule"] == schedule), "gpu", "benchmark", "variant")


def _names(points: Points) -> list[str]:
    return list(dict.fromkeys(name for _, name, _ in points))


def _compiled(name: str, variant: str) -> tuple[Program, int]:
    """A benchmark's kernel, compiled for its smallest problem, and the threads of its block."""
    problem = benchmarks.get(name).problem("tiny")
    kernel, _, block = benchmarks.get(name).launch(problem, variant)
    return kernel.compile(problem.arguments()), block[0]


def fft_back_to_back(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The blocks of FFT's baseline that are on an SM at a time."""
    points = _points(records)
    if "FFT" not in _names(points):
        return None
    own = {gpu: points[gpu, "FFT", "baseline"] for gpu in SMALL}
    sms = {gpu: gpus.get(gpu).sm_count for gpu in SMALL}
    together = {gpu: round(r["block_cycles"] / (r["cycles"] * sms[gpu]), 3) for gpu, r in own.items()}
    alone = all(r["residency"] == 1 for r in own.values())
    return claim.verdict(
        together,
        alone and all(1 - MARGIN <= value <= 1 for value in together.values()),
        "blocks in flight per SM on average: never two, and hardly ever none",
    )


def fft_size(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The bytes and threads of a thread block of FFT that does the work of two."""
    if "FFT" not in _names(_points(records)):
        return None
    program, threads = _compiled("FFT", "vtb")
    parameters = program.param_bytes(benchmarks.get("FFT").pointer_bytes)
    size = program.shared_bytes + gpus.get(SMALL[0]).smem_reserved + parameters
    return claim.verdict([size, threads], (size, threads) == claim.numbers, "bytes, threads")


def fft_loading(claim: Claim, records: Sequence[Record]) -> Verdict | None:
    """The time from the start of a block of FFT to its first barrier, VTB over the baseline."""
    points, in_order = (_points(records, schedule) for schedule in ON_CARDS)
    if "FFT" not in _names(points):
        return None
    phases = {gpu: _loading(points, gpu) for gpu in SMALL}
    card = SMALL[0]
    made = (cards.perfect_fetch, cards.budgeted, cards.unbounded)
    others = {make(card).name: _loading(points, make(card).name) for make in made}
    others |= {f"{gpu}, {ON_CARDS.other}": _loading(in_order, gpu) for gpu in SMALL}
    return claim.verdict(
        phases,
        all(ratio is not None and ratio <= LESS for ratio in phases.values()),
        f"time from block start to first barrier, VTB over baseline; up to {LESS} counts as much less than twice"
        + "".join(f"; {name} {ratio:.3f}" for name, ratio in others.items() if ratio)
        + " (DEVIATIONS D31)",
    )


def _loading(points: Points, gpu: str) -> float | None:
    """The time from the start of a block of FFT to its first barrier on a machine, VTB over the baseline."""
    pair = [points.get((gpu, "FFT", variant)) for variant in ("baseline", "vtb")]
    single, double = (r["first_barrier_cycles"] / r["blocks"] if r else 0 for r in pair)
    return round(double / single, 3) if single else None


def divergence(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The divergent branches of VTB less those of the baseline."""
    points = _points(records)
    more = {}
    for (gpu, name, variant), record in points.items():
        if variant == "vtb":
            more[f"{name}, {gpu}"] = record["divergent_branches"] - points[gpu, name, "baseline"]["divergent_branches"]
    differ = {where: count for where, count in more.items() if count}
    note = f"divergent branches of VTB less the baseline's, in the pairs that differ of {len(more)} pairs of runs"
    return claim.verdict(differ, not differ, note)


def barriers(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The barriers that a block passes alone and in VTB, and what they cost in time and in registers.

    What reordering gains over program order is reported beside them.
    """
    points, in_order = (_points(records, schedule) for schedule in ON_CARDS)
    pairs = {name: [points[FERMI, name, variant] for variant in ("baseline", "vtb")] for name in _names(points)}
    passed = {name: [round(r["barriers"] / r["blocks"], 1) for r in pair] for name, pair in pairs.items()}
    waits = {name: at_barriers(vtb) - at_barriers(base) for name, (base, vtb) in pairs.items()}
    registers = {name: vtb["registers"] - base["registers"] for name, (base, vtb) in pairs.items()}
    reordered = {
        name: [in_order[FERMI, name, r["variant"]]["cycles"] / r["cycles"] for r in pair]
        for name, pair in pairs.items()
        if (FERMI, name, "vtb") in in_order
    }
    tested = (
        all(after > before for before, after in passed.values())
        and all(share > 0 for share in waits.values())
        and any(more > 0 for more in registers.values())
    )
    return claim.verdict(
        passed,
        None if tested else False,
        f"barriers of a thread block, baseline and VTB, on {FERMI}; share of the warps' lives spent at them, VTB less "
        "baseline: "
        + ", ".join(f"{name} {share:+.0%}" for name, share in waits.items())
        + "; registers, VTB less baseline: "
        + ", ".join(f"{name} {more:+d}" for name, more in registers.items())
        + ". ILP is not judged, since what reordering gains depends on the number of warps, too; it gains, baseline "
        "and VTB: " + listed(f"{name} {base:.2f} {vtb:.2f}" for name, (base, vtb) in reordered.items()),
    )


def parallelism(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The outstanding transactions of an SM on average, and the time in which its schedulers wait for memory alone."""
    points = _points(records)
    names, sms = _names(points), gpus.get(FERMI).sm_count
    flights, waits = {}, {}
    for name in names:
        base, vtb = (points[FERMI, name, variant] for variant in ("baseline", "vtb"))
        flights[name] = [round(r["flight_cycles"] / (r["cycles"] * sms), 2) for r in (base, vtb)]
        waits[name] = vtb["idle_global"] / (base["idle_global"] or 1)
    more = [name for name, (before, after) in flights.items() if exceeds(after, before)]
    less = [name for name, ratio in waits.items() if ratio <= 1 - MARGIN]
    return claim.verdict(
        flights,
        min(len(more), len(less)) > len(names) / 2,
        f"transactions outstanding per SM on {FERMI}, baseline and VTB; more under VTB for {len(more)} of "
        f"{len(names)}. Time idle for global memory, VTB over baseline, less for {len(less)}: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in waits.items())
        + f"; a difference counts from {MARGIN:.0%} on",
    )


def idle_time(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The time in which schedulers have a block but nothing to issue, VTB_pipe over VTB."""
    points = _points(records)
    own, fetched = (_idle_ratios(points, gpu) for gpu in (FERMI, cards.perfect_fetch(FERMI).name))
    less = [name for name, ratio in own.items() if ratio <= 1 - MARGIN]
    return claim.verdict(
        own,
        len(less) > len(_names(points)) / 2,
        f"idle time on {FERMI}, VTB_pipe over VTB; less by {MARGIN:.0%} for {listed(less)}. VTB of MC combines four "
        "blocks (DEVIATIONS D18). With perfect fetch: "
        + (", ".join(f"{name} {ratio}" for name, ratio in fetched.items()) or "not run"),
    )


def _idle_ratios(points: Points, machine: str) -> dict[str, float]:
    ratios = {}
    for name in _names(points):
        pair = [points.get((machine, name, variant)) for variant in ("vtb", "vtb_pipe")]
        idle = [r["scheduler_cycles"] - r["issue_cycles"] - r["idle_no_block"] for r in pair if r]
        if len(idle) == 2:
            ratios[name] = round(idle[1] / idle[0], 3)
    return ratios


def divided_nine_kilobytes(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The virtual blocks on an SM, with two private parts of 7 kB and a public one of 2 kB instead of 9 kB."""
    card = gpus.get(SMALL[0]).replace(smem_reserved=0)
    alone, merged = (models.occupancy(threads, 0, size * KB, card).blocks for threads, size in ((32, 9), (64, 16)))
    used = merged * (2 * 7 + 2)
    return claim.verdict(
        [alone, 2 * merged, used], (alone, merged, used) == (1, 1, 16), "blocks, virtual blocks, kB used"
    )


def mc_size(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The bytes and threads of a thread block of MC whose two virtual blocks share the public part of the array."""
    program, threads = _compiled("MC", "co_vtb")
    size = [program.shared_bytes, threads]
    return claim.verdict(size, tuple(size) == claim.numbers, "bytes, threads")


def cost_of_division(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The registers and instructions of CO-VTB beyond the baseline's."""
    points = _points(records)
    costs = {}
    for name in dict.fromkeys(name for _, name, variant in points if variant == "co_vtb"):
        base, divided = (points[FERMI, name, variant] for variant in ("baseline", "co_vtb"))
        more = divided["registers"] - base["registers"] + divided["local_bytes"] // 4
        costs[name] = [more, round(divided["instructions"] / base["instructions"] - 1, 3)]
    tested = all(registers > 0 and issued >= MARGIN for registers, issued in costs.values())
    return claim.verdict(
        costs,
        None if tested else False,
        f"registers and spilled words, CO-VTB less baseline, and the share of instructions that are added, on {FERMI}. "
        "FFT is not judged: the pass refuses to divide it, which does not say that it would be slow (DEVIATIONS D17)",
    )


def more_than_two(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The better of three and four virtual blocks over two, on average over the cards."""
    gains: dict[str, dict[str, float]] = {}
    for gpu in MEASURED:
        for name, row in by_number(records, gpu).items():
            if name != MEAN:
                gains.setdefault(name, {})[gpu] = round(max(row[3], row[4]) / row[2], 3)
    overall = {name: geometric_mean(row.values()) for name, row in gains.items()}
    gaining = [name for name, value in overall.items() if exceeds(value, 1)]
    return claim.verdict(
        gains,
        gaining == ["MC"] if set(gains) == set(LIMITED) else None,
        f"the better of N = 3 and 4 over N = 2; on average over the cards it is above it by {MARGIN:.0%} for "
        + listed(f"{name} {overall[name]:.2f}" for name in gaining)
        + " (DEVIATIONS D19)",
    )
