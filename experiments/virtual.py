"""Claims about thread blocks of several virtual ones (paper, Section 4), from the runs of Figure 11 and the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments import cards
from experiments.cards import MEASURED
from experiments.harness import Verdict, verdict
from experiments.runs import by_key
from experiments.software import HEAD
from experiments.stalls import at_barriers
from smmux import benchmarks, gpus, models, multiplex
from smmux.multiplex import MultiplexError
from smmux.sweep import Record

__all__ = ["check"]

KB = 1024
SMALL = MEASURED[:2]
"""The cards with 16 kB of shared memory."""
LESS = 1.75  # times as long: "significantly less than twice"


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P17 to P22 and P24 to P27, for schedule `list`."""
    found = by_key((r for r in records if r["schedule"] == HEAD), "gpu", "benchmark", "variant")
    names = list(dict.fromkeys(name for _, name, _ in found))
    return [
        *(_fft(found) if "FFT" in names else []),
        _divergence(found),
        _barriers(found, names),
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
            all(r["residency"] == 1 for r in own.values()) and max(together.values()) <= 1,
            "blocks in flight per SM on average: never two",
        ),
        verdict("P18", [size, block[0]], (size, block[0]) == (8736, 128), "bytes, threads"),
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


def _barriers(found: Found, names: Sequence[str]) -> Verdict:
    """Barriers that a baseline's block passes, alone and as part of VTB, and the time that they cost."""
    gpu = SMALL[1]
    made = {}
    for name in names:
        base, vtb = (found[gpu, name, variant] for variant in ("baseline", "vtb"))
        per_block = vtb["barriers"] / vtb["blocks"]
        made[name] = [round(base["barriers"] / base["blocks"], 1), round(per_block, 1)]
    waits = {name: at_barriers(found[gpu, name, "vtb"]) - at_barriers(found[gpu, name, "baseline"]) for name in names}
    registers = {
        name: found[gpu, name, "vtb"]["registers"] - found[gpu, name, "baseline"]["registers"] for name in names
    }
    return verdict(
        "P21",
        made,
        all(after >= before for before, after in made.values()) and all(share > 0 for share in waits.values()),
        f"barriers of a thread block, baseline and VTB, on {gpu}; more of the warps' lives spent at them: "
        + ", ".join(f"{name} {share:+.0%}" for name, share in waits.items())
        + "; registers more: "
        + ", ".join(f"{name} {more:+d}" for name, more in registers.items()),
    )


def _parallelism(found: Found, names: Sequence[str]) -> Verdict:
    """Outstanding transactions of an SM on average."""
    gpu = SMALL[1]
    flights = {}
    for name in names:
        pair = (found[gpu, name, variant] for variant in ("baseline", "vtb"))
        flights[name] = [round(r["flight_cycles"] / (r["cycles"] * gpus.get(gpu).sm_count), 2) for r in pair]
    more = [name for name, (before, after) in flights.items() if after > before]
    return verdict(
        "P22",
        flights,
        len(more) > len(names) / 2,
        f"transactions outstanding per SM on {gpu}, baseline and VTB; more under VTB for {len(more)} of {len(names)}",
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
    less = [name for name, ratio in own.items() if ratio < 1]
    return verdict(
        "P24",
        own,
        len(less) > len(names) / 2,
        f"idle time on {gpu}, VTB_pipe over VTB; less for {', '.join(less) or 'none'}. VTB of MC combines four blocks. "
        "DEVIATIONS D18. With perfect fetch: "
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
    refused = _refusal()
    return [
        verdict("P26", size, size == [15360, 64], "bytes, threads"),
        verdict(
            "P27",
            costs,
            all(registers > 0 or issued > 0 for registers, issued in costs.values()) and bool(refused),
            f"words of registers and spills more than the baseline, and share of instructions more, on {gpu}; FFT: "
            + (refused or "can be divided"),
        ),
    ]


def _refusal() -> str:
    """Why FFT's planes cannot be divided; empty if they can."""
    try:
        multiplex.co_vtb(benchmarks.get("FFT").kernel(), "planes", private=1088)
    except MultiplexError as error:
        return f"refused, {error.msg}"
    return ""
