"""Claims about thread blocks of several virtual ones (paper, Section 4), from the runs of Figure 11 and the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.common import cards
from experiments.common.approaches import SCHEDULES
from experiments.common.cards import MEASURED
from experiments.common.harness import MARGIN, Verdict, exceeds, listed, paper, verdict
from experiments.common.runs import by_key
from experiments.common.stalls import at_barriers
from smmux import benchmarks, gpus, models
from smmux.sweep import Record

__all__ = ["check"]

KB = 1024
SMALL = MEASURED[:2]
"""The cards with 16 kB of shared memory."""
LESS = 1.75  # times as long: "significantly less than twice"


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P17 to P22 and P24 to P27, for schedule `list`."""
    found, other = (
        by_key((r for r in records if r["schedule"] == schedule), "gpu", "benchmark", "variant")
        for schedule in SCHEDULES
    )
    names = list(dict.fromkeys(name for _, name, _ in found))
    return [
        *(_fft(found) if "FFT" in names else []),
        _divergence(found),
        _barriers(found, other, names),
        _parallelism(found, names),
        _idle(found, names),
        _sizing(),
        *_division(found),
    ]


Found = dict[tuple[Any, ...], Record]


def _fft(found: Found) -> list[Verdict]:
    """Claims P17 to P19."""
    sms = {gpu: gpus.get(gpu).sm_count for gpu in SMALL}
    own = {gpu: found[gpu, "FFT", "baseline"] for gpu in SMALL}
    together = {gpu: round(r["block_cycles"] / (r["cycles"] * sms[gpu]), 3) for gpu, r in own.items()}
    phases = {}
    for gpu in SMALL:
        pair = [found[gpu, "FFT", variant] for variant in ("baseline", "vtb")]
        single, double = (r["first_barrier_cycles"] / r["blocks"] for r in pair)
        phases[gpu] = round(double / single, 3)
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem("tiny")
    kernel, _, block = benchmark.launch(problem, "vtb")
    program = kernel.compile(problem.arguments())
    size = program.shared_bytes + gpus.get("GTX285").smem_reserved + program.param_bytes(benchmark.pointer_bytes)
    return [
        verdict(
            "P17",
            together,
            all(r["residency"] == 1 for r in own.values())
            and all(1 - MARGIN <= value <= 1 for value in together.values()),
            "blocks in flight per SM on average: never two, and hardly ever none",
        ),
        verdict("P18", [size, block[0]], (size, block[0]) == paper("P18"), "bytes, threads"),
        verdict(
            "P19",
            phases,
            all(ratio <= LESS for ratio in phases.values()),
            f"time from block start to the first barrier, VTB over baseline; up to {LESS} counts as significantly less",
        ),
    ]


def _divergence(found: Found) -> Verdict:
    """Divergent branches of VTB less those of the baseline."""
    more = {}
    for (gpu, name, variant), record in found.items():
        if variant == "vtb":
            more[f"{name}, {gpu}"] = record["divergent_branches"] - found[gpu, name, "baseline"]["divergent_branches"]
    differ = {where: count for where, count in more.items() if count}
    note = "divergent branches of VTB less the baseline's, where they differ; in " + f"{len(more)} pairs of runs"
    return verdict("P20", differ, not differ, note)


def _barriers(found: Found, other: Found, names: Sequence[str]) -> Verdict:
    """Barriers that a baseline's block passes, alone and as part of VTB, what they cost in time and in registers.

    other: the runs in program order, beside which those in schedule `list` show what reordering gains.
    """
    gpu = SMALL[1]
    pairs = {name: [found[gpu, name, variant] for variant in ("baseline", "vtb")] for name in names}
    made = {name: [round(r["barriers"] / r["blocks"], 1) for r in pair] for name, pair in pairs.items()}
    waits = {name: at_barriers(vtb) - at_barriers(base) for name, (base, vtb) in pairs.items()}
    registers = {name: vtb["registers"] - base["registers"] for name, (base, vtb) in pairs.items()}
    reordered = {
        name: [other[gpu, name, r["variant"]]["cycles"] / r["cycles"] for r in pair]
        for name, pair in pairs.items()
        if (gpu, name, "vtb") in other
    }
    tested = (
        all(after > before for before, after in made.values())
        and all(share > 0 for share in waits.values())
        and any(more > 0 for more in registers.values())
    )
    return verdict(
        "P21",
        made,
        None if tested else False,
        f"barriers of a thread block, baseline and VTB, on {gpu}; more of the warps' lives spent at them: "
        + ", ".join(f"{name} {share:+.0%}" for name, share in waits.items())
        + "; registers more: "
        + ", ".join(f"{name} {more:+d}" for name, more in registers.items())
        + ". ILP is not judged, since what reordering gains depends on the number of warps too; baseline and VTB: "
        + listed(f"{name} {base:.2f} {vtb:.2f}" for name, (base, vtb) in reordered.items()),
    )


def _parallelism(found: Found, names: Sequence[str]) -> Verdict:
    """Outstanding transactions of an SM on average, and the time in which schedulers wait for memory alone."""
    gpu = SMALL[1]
    flights, waits = {}, {}
    for name in names:
        base, vtb = (found[gpu, name, variant] for variant in ("baseline", "vtb"))
        flights[name] = [round(r["flight_cycles"] / (r["cycles"] * gpus.get(gpu).sm_count), 2) for r in (base, vtb)]
        waits[name] = vtb["idle_global"] / (base["idle_global"] or 1)
    more = [name for name, (before, after) in flights.items() if exceeds(after, before)]
    less = [name for name, ratio in waits.items() if ratio <= 1 - MARGIN]
    return verdict(
        "P22",
        flights,
        min(len(more), len(less)) > len(names) / 2,
        f"transactions outstanding per SM on {gpu}, baseline and VTB; more under VTB for {len(more)} of {len(names)}. "
        f"Time idle for global memory, VTB over baseline, less for {len(less)}: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in waits.items())
        + f"; {MARGIN:.0%} counts",
    )


def _idle(found: Found, names: Sequence[str]) -> Verdict:
    """Time in which schedulers have a block but nothing to issue, VTB_pipe over VTB."""
    gpu = SMALL[1]

    def ratios(machine: str) -> dict[str, float]:
        made = {}
        for name in names:
            pair = [found.get((machine, name, variant)) for variant in ("vtb", "vtb_pipe")]
            idle = [r["scheduler_cycles"] - r["issue_cycles"] - r["idle_no_block"] for r in pair if r]
            if len(idle) == 2:
                made[name] = round(idle[1] / idle[0], 3)
        return made

    own, fetched = ratios(gpu), ratios(cards.perfect_fetch(gpu).name)
    less = [name for name, ratio in own.items() if ratio <= 1 - MARGIN]
    return verdict(
        "P24",
        own,
        len(less) > len(names) / 2,
        f"idle time on {gpu}, VTB_pipe over VTB; less by {MARGIN:.0%} for {listed(less)}. VTB of MC combines four "
        "blocks. DEVIATIONS D18. With perfect fetch: "
        + (", ".join(f"{name} {ratio}" for name, ratio in fetched.items()) or "not run"),
    )


def _sizing() -> Verdict:
    """Two parts of 7 kB and one of 2 kB in the place of 9 kB."""
    card = gpus.get(SMALL[0]).replace(smem_reserved=0)
    alone, merged = (models.occupancy(threads, 0, size * KB, card).blocks for threads, size in ((32, 9), (64, 16)))
    used = merged * (2 * 7 + 2)
    return verdict(
        "P25", [alone, 2 * merged, used], (alone, merged, used) == (1, 1, 16), "blocks, virtual blocks, kB used"
    )


def _division(found: Found) -> list[Verdict]:
    """Claims P26 and P27: what dividing an array costs."""
    gpu = SMALL[1]
    costs = {}
    for name in dict.fromkeys(name for _, name, variant in found if variant == "co_vtb"):
        base, divided = (found[gpu, name, variant] for variant in ("baseline", "co_vtb"))
        more = divided["registers"] - base["registers"] + divided["local_bytes"] // 4
        costs[name] = [more, round(divided["instructions"] / base["instructions"] - 1, 3)]
    benchmark = benchmarks.get("MC")
    problem = benchmark.problem("tiny")
    kernel, _, block = benchmark.launch(problem, "co_vtb")
    size = [kernel.compile(problem.arguments()).shared_bytes, block[0]]
    tested = all(registers > 0 and issued >= MARGIN for registers, issued in costs.values())
    return [
        verdict("P26", size, tuple(size) == paper("P26"), "bytes, threads"),
        verdict(
            "P27",
            costs,
            None if tested else False,
            f"words of registers and spills more than the baseline, and share of instructions more, on {gpu}. FFT is "
            "not judged: the pass refuses to divide it, which does not say that it would be slow (DEVIATIONS D17)",
        ),
    ]
