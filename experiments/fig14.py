"""Figure 14: speedup of dynamic shared-memory management in hardware (HW, CO-HW) over static allocation.

Static allocation with K blocks per SM against up to K+2 and K+3 blocks that hold shared memory only inside their
regions (HW), and against K+1 blocks that hold part of it for good (CO-HW), on the card that the paper simulated. The
paper's simulator runs PTX in program order (schedule `source`); `list` orders instructions as an assembler does for a
card. The HW and CO-HW kernels are made by `smmux.multiplex`.

The schedule `source` is also computed with perfect instruction fetch, for the default builds, and for MV with
addresses hashed over the memory partitions; VTB and VTB_pipe stand beside HW with as many blocks. With --sensitivities
on machines that differ in one other assumption.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.claims import protocol
from experiments.common import beside, cards, harness, runs
from experiments.common.cards import CAMPING, GPU, HASHED, PERFECT_FETCH
from experiments.common.harness import MARGIN, Verdict, exceeds, verdict
from experiments.common.runs import SCHEDULES, by_key, simulate_all
from experiments.common.speedups import (
    LIMITED,
    MEAN,
    OTHERS,
    bars,
    baseline_and,
    by_problem,
    is_default,
    means,
    stall_table,
    with_speedups,
)
from smmux import benchmarks, multiplex
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.models import SharedMemoryTable
from smmux.sweep import Record

EXTRA = (2, 3)
CO_EXTRA = 1  # what 16 kB allow
TOGETHER = 1.95  # blocks in flight on average that count as two: an SM's last one may run alone
TAKING_TURNS = 0.05  # of the allocations wait for another block's release
SERIES = (("hw", 2), ("hw", 3), ("co_hw", CO_EXTRA))
OTHER_BUILDS = {"MV": ("x_hoisted",), "STO": ("sha1_ring",), "CV": ("radius32",)}
QUICK_BESIDE = ("FFT",)  # of which a quick run has the software approaches: most of its time goes into compiling
PAPER = {"hw": "P3", "co_hw": "P44"}
"""Claims that give mean and maximum of a variant."""
FETCH_MARK = {
    "marker": "D",
    "color": "black",
    "markerfacecolor": "white",
    "markersize": 2.2,
    "markeredgewidth": 0.6,
    "label": "perfect fetch",
}


def paper() -> dict[str, tuple[float, ...]]:
    """Mean and maximum of each variant as the paper gives them."""
    return {variant: harness.paper(claim) for variant, claim in PAPER.items()}


def points(gpu: Gpu, schedules: Sequence[str], size: str, builds: Sequence[str] | None = None) -> list[Record]:
    """All runs of a machine, of the default builds or of those named; CO-HW of the default builds."""
    made: list[Record] = []
    for name, schedule in itertools.product(LIMITED, schedules):
        benchmark = benchmarks.get(name)
        for build in builds or benchmark.builds[:1]:
            if build in benchmark.builds:
                common: Any = {"benchmark": name, "build": build, "schedule": schedule, "gpu": gpu, "size": size}
                made += baseline_and(EXTRA, **common)
                if build == benchmark.builds[0] and benchmark.divided:
                    made += baseline_and((CO_EXTRA,), variant="co_hw", **common)
    return made


def machines(sensitivities: bool) -> list[Gpu]:
    """The machines of a run, the card first, then the one for the benchmarks that camp on a partition."""
    return [cards.card(), cards.hashed(), cards.perfect_fetch(), *(cards.sensitivities() if sensitivities else [])]


def run(quick: bool = False, jobs: int | None = None, sensitivities: bool = False) -> list[Record]:
    """Simulate; every record has its speedup over the baseline."""
    size = runs.size(quick)
    card, hashed, *others = machines(sensitivities)
    todo = points(card, SCHEDULES, size)
    todo += points(card, SCHEDULES[:1], size, [build for builds in OTHER_BUILDS.values() for build in builds])
    for name in OTHERS:
        build = benchmarks.get(name).builds[0]
        todo += baseline_and(EXTRA[:1], benchmark=name, build=build, schedule=SCHEDULES[0], gpu=card, size=size)
    for gpu in others:
        todo += points(gpu, SCHEDULES[:1], size)
    todo += beside.points(size, QUICK_BESIDE) if quick else beside.points(size)
    for name in () if quick else CAMPING:
        build = benchmarks.get(name).builds[0]
        todo += baseline_and(EXTRA, benchmark=name, build=build, schedule=SCHEDULES[0], gpu=hashed, size=size)
    return with_speedups(simulate_all(by_problem(todo), jobs, "fig14"))


def drawn(records: Sequence[Record]) -> list[Record]:
    """The records of the bars."""
    return [r for r in records if (r["variant"], r["extra_blocks"]) in SERIES]


def plot(records: Sequence[Record], ax: Any, schedule: str = SCHEDULES[0]) -> Any:
    """Grouped bars of one schedule; the paper's means are drawn over ours."""
    order = {(variant, extra): i for i, (variant, extra) in enumerate(SERIES)}
    shown = [b for b in bars(drawn(records)) if b["schedule"] == schedule]
    shown.sort(key=lambda b: ([*LIMITED, MEAN].index(b["benchmark"]), order[b["variant"], b["extra_blocks"]]))
    fetched = {(b["benchmark"], b["series"]): b["speedup"] for b in bars(drawn(records), PERFECT_FETCH)}
    marks = {}
    if schedule == SCHEDULES[0]:
        shown = [b | {"fetched": fetched.get((b["benchmark"], b["series"]))} for b in shown]
        marks = {"fetched": FETCH_MARK}
    figures.grouped_bars(ax, shown, x="benchmark", hue="series", y="speedup", labels="inside", marks=marks)
    last = len({b["benchmark"] for b in shown}) - 1
    end = last + 0.9  # room to see the lines beside the bars
    hw, co_hw = (mean for mean, _ in paper().values())
    figures.reference_line(ax, hw, "paper, HW (GM of 7)", between=(last - 0.45, end))
    ax.plot((last - 0.45, end), [co_hw] * 2, ":", color="black", lw=0.9, label="paper, CO-HW (GM of 3)")
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, end)
    ax.set_ylabel("Speedup over static")
    ax.set_ylim(0, 1.2 * max(hw, *(b["speedup"] for b in shown)))
    ax.set_title(f"schedule: {schedule}", loc="left", fontsize=7, pad=2)
    if schedule == SCHEDULES[0]:
        figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.06), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """Speedups, with blocks resident and registers; the paper gives no bar but the means and the maxima."""
    columns = list(itertools.product(SCHEDULES, SERIES))

    def row(label: str, found: dict[tuple[Any, ...], float], *rest: Any) -> tuple[Any, ...]:
        return (label, *(found.get((schedule, *series)) for schedule, series in columns), *rest)

    rows = []
    for gpu, build in itertools.product((GPU, HASHED, PERFECT_FETCH), ("", *sum(OTHER_BUILDS.values(), ()))):
        for name in (*LIMITED, *OTHERS):
            own = [
                r for r in records
                if (r["benchmark"], r["gpu"]) == (name, gpu) and (r["build"] == build if build else is_default(r))
            ]  # fmt: skip
            if own:
                found = {(r["schedule"], r["variant"], r["extra_blocks"]): r["speedup"] for r in own}
                label = " ".join([name, build]) if build else name
                registers = ", ".join(str(r["registers"]) for r in own if r["variant"] == "baseline")
                note = gpu.removeprefix(GPU).lstrip(", ")
                rows.append(row(label, found, own[0]["residency"], own[0]["blocks"], registers, note))
        if not build and gpu != HASHED:
            said = ", ".join(f"{v.upper().replace('_', '-')} {mean}" for v, (mean, _) in paper().items())
            note = f"paper: {said}" if gpu == GPU else "perfect fetch"
            rows.append(row(MEAN, means(drawn(records), gpu), None, None, "", note))
    header = (
        "",
        *(f"{s} {v.upper().replace('_', '-')} K+{n}" for s, (v, n) in columns),
        "K",
        "blocks",
        "registers",
        "",
    )
    return "\n\n".join(part for part in (harness.table(header, rows), beside.table(records)) if part)


def sensitivity_table(records: Sequence[Record]) -> str:
    """Means on the machines that differ in one assumption."""
    rows = []
    for name in dict.fromkeys(r["gpu"] for r in records if r["gpu"] != HASHED):
        found = means(drawn(records), name)
        rows.append((name, *(found[SCHEDULES[0], *series] for series in SERIES)))
    return harness.table(("mean speedup on", *(f"{v.upper().replace('_', '-')} K+{n}" for v, n in SERIES)), rows)


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P3, P40, P41, P44, P45, P47, P54, P56, P57 and P59, for the schedule `source`."""
    head = SCHEDULES[0]
    found = {
        (b["benchmark"], b["variant"], b["extra_blocks"]): b["speedup"]
        for b in bars(drawn(records))
        if b["schedule"] == head
    }
    names = [name for name in LIMITED if any(key[0] == name for key in found)]
    best = {name: max(found[name, "hw", extra] for extra in EXTRA) for name in [*names, MEAN]}
    divided = {name: found[name, "co_hw", CO_EXTRA] for name in [*names, MEAN] if (name, "co_hw", CO_EXTRA) in found}
    card = cards.card()
    own = [r for r in records if r["gpu"] == GPU and r["schedule"] == head and is_default(r)]
    made = [
        _mean_and_maximum("P3", best, "MV's part: DEVIATIONS D4"),
        *_fft_blocks(own),
        *beside.check(own),
    ]
    if divided:
        made += [
            _mean_and_maximum("P44", divided, "DEVIATIONS D7"),
            _collaborative(divided, best),
        ]
    return [
        *made,
        verdict("P54", *_region_calls(names)),
        verdict(
            "P57",
            [card.smem_bytes, 4 * card.regs_sm, card.dram_khz],
            (card.smem_bytes, 4 * card.regs_sm, card.dram_khz) == (16384, 65536, 1_100_000),
            "bytes, bytes, kHz",
        ),
        verdict("P59", *_added_instructions([r for r in own if r["benchmark"] in LIMITED])),
    ]


def _mean_and_maximum(claim: str, found: dict[str, float], reason: str) -> Verdict:
    """Whether mean and maximum are the paper's; the note says how far off they are."""
    most = max((name for name in found if name != MEAN), key=found.__getitem__)
    ours = found[MEAN], found[most]
    close, off = harness.close(ours, harness.paper(claim))
    return verdict(claim, [round(v, 3) for v in ours], close, f"mean and maximum ({most}): {off} ({reason})")


def _collaborative(divided: dict[str, float], best: dict[str, float]) -> Verdict:
    better = {name: round(value / best[name], 3) for name, value in divided.items() if name != MEAN}
    as_paper = {name: exceeds(ratio, 1) == (name == "MC") for name, ratio in better.items()}
    wrong = [name for name, right in as_paper.items() if not right]
    note = f"CO-HW over the better HW; better from {MARGIN:.0%} on" + (
        f"; {', '.join(wrong)} differs (DEVIATIONS D7)" if wrong else ""
    )
    return verdict("P45", better, not wrong, note)


def _fft_blocks(own: Sequence[Record]) -> list[Verdict]:
    """Two blocks in flight, whose allocations the table cannot grant together, so that some had to wait."""
    runs_of_fft = [r for r in own if (r["benchmark"], r["variant"]) == ("FFT", "hw")]
    if not runs_of_fft:
        return []
    compiled = runs.program(benchmarks.get("FFT"), "hw")
    table = SharedMemoryTable(cards.card(), dynamic_bytes=compiled.dynamic_bytes)
    granted = [table.alloc_dynamic(block, compiled.dynamic_bytes) is not None for block in range(2)]
    flights = min(beside.in_flight(r) for r in runs_of_fft)
    waited = [r["allocation_waits"] / r["allocations"] for r in runs_of_fft]
    return [
        verdict(
            "P40",
            {"blocks in flight": round(flights, 2), "granted at a time": sum(granted)},
            flights >= TOGETHER and granted == [True, False] and min(waited) >= TAKING_TURNS,
            f"fewest of any run, {TOGETHER} count as two; two allocations of {compiled.dynamic_bytes} bytes never fit "
            f"{table.capacity}, and at least {min(waited):.0%} of all had to wait for another block's release "
            f"({TAKING_TURNS:.0%} count)",
        )
    ]


def _region_calls(names: Sequence[str]) -> tuple[dict[str, list[int]], bool, str]:
    """Regions of the baseline, and calls of smm in what the pass makes of it."""
    calls = {}
    for name in names:
        benchmark = benchmarks.get(name)
        source = benchmark.kernel("hw").source
        calls[name] = [len(multiplex.regions(benchmark.kernel())), source.count(".alloc("), source.count(".release(")]
    same = all(len(set(counts)) == 1 for counts in calls.values())
    return calls, same, "regions in the source, allocations, releases"


def _added_instructions(own: Sequence[Record]) -> tuple[dict[str, list[float]], bool, str]:
    """How much more the HW kernels issue than the baselines, and what IPC would say of them instead of cycles."""
    found = by_key(own, "benchmark", "variant", "extra_blocks")
    ratios = {}
    for name in dict.fromkeys(r["benchmark"] for r in own):
        base, hw = found[name, "baseline", 0], found[name, "hw", EXTRA[0]]
        added, faster = hw["instructions"] / base["instructions"], base["cycles"] / hw["cycles"]
        ratios[name] = [round(value, 4) for value in (added, added * faster, faster)]
    more = all(added > 1 for added, _, _ in ratios.values())
    return ratios, more, f"HW with K+{EXTRA[0]} over baseline: instructions issued, IPC, and speedup in cycles"


def caption(records: Sequence[Record]) -> str:
    """The means."""
    own, fetched = (means(drawn(records), gpu) for gpu in (GPU, PERFECT_FETCH))
    k2, k3 = ((SCHEDULES[0], "hw", extra) for extra in EXTRA)
    (mean, _), (co_mean, _) = paper().values()
    co_hw = own.get((SCHEDULES[0], "co_hw", CO_EXTRA), math.nan)
    return (
        f"Figure 14. Holding shared memory only while it is used gains {own[k2]:.2f} with two and {own[k3]:.2f} with "
        f"three blocks beyond K (paper {mean}), holding part of it for good {co_hw:.2f} with one (paper {co_mean}); "
        f"geometric means, schedule {SCHEDULES[0]}. With perfect instruction fetch HW gains {fetched[k2]:.2f} and "
        f"{fetched[k3]:.2f}."
    )


def summary(records: Sequence[Record]) -> Record:
    """Bars and means, beside the paper's."""
    (mean, most), (co_mean, co_most) = paper().values()
    return {
        "speedups": bars(drawn(records)),
        "perfect_fetch": bars(drawn(records), PERFECT_FETCH),
        "paper": {"mean": mean, "maximum": most, "co_mean": co_mean, "co_maximum": co_most},
    }


EXPERIMENT = harness.Experiment(
    name="fig14",
    description=__doc__,
    run=run,
    table=table,
    summary=summary,
    caption=caption,
    check=lambda records: [*check(records), *protocol.check()],
    plots=[partial(plot, schedule=schedule) for schedule in SCHEDULES],
    machines=machines,
    sizes=partial(runs.sizes, (*LIMITED, *OTHERS)),
    options={"stalls": stall_table, "sensitivities": sensitivity_table},
    figsize=(3.33, 3.4),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    return harness.main(EXPERIMENT, argv)


if __name__ == "__main__":
    sys.exit(main())
