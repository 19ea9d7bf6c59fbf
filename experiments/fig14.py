"""Figure 14: speedup of dynamic shared-memory management in hardware (HW) over static allocation.

Static allocation with K blocks per SM against up to K+2 and K+3 blocks that hold shared memory only inside their
regions, on the card that the paper simulated. The paper's simulator runs PTX in program order (schedule `source`);
`list` orders instructions as an assembler does for a card. Benchmarks whose kernels have an `hw` variant are shown.

Also computed with perfect instruction fetch, and with --sensitivities on machines that differ in one other assumption.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from experiments import harness
from experiments.harness import Verdict, verdict
from experiments.runs import SCHEDULES, by_key, simulate_all
from smmux import benchmarks, gpus
from smmux import plot as figures
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.sweep import Record

GPU = "GTX285-1100"
EXTRA = (2, 3)
LIMITED = benchmarks.names()[:7]  # of Table 1: those whose occupancy shared memory limits
PAPER_MEAN, PAPER_MAX = 1.53, 2.34
TOLERANCE = 0.1  # relative, of a mean or maximum that counts as reproduced
MEAN = "GM"

PERFECT_FETCH = f"{GPU}, perfect fetch"
NS_SCALED = {
    "t_rrd": 11, "t_rcd": 17, "t_ras": 35, "t_rp": 14, "t_rc": 49, "t_cl": 14, "t_wl": 10, "t_wtr": 9, "t_wr": 16,
}  # fmt: skip
"""DRAM timing of the 800 MHz part kept in nanoseconds at 1100 MHz, not in cycles (hw-parameters 8)."""


def cards() -> list[Gpu]:
    """The simulated card, with its instruction cache and with perfect fetch."""
    card = gpus.get(GPU)
    return [card, card.replace(name=PERFECT_FETCH, icache_bytes=0)]


def sensitivities(card: Gpu) -> list[Gpu]:
    """The card with one assumption changed, for each that the sources leave open."""
    changes: dict[str, dict[str, int]] = {
        "ns-scaled DRAM": NS_SCALED,
        "flat memory": {"mem_model": 0},
        "single issue": {"issue_width": 1},
        "OCC21 occupancy": {"reg_unit": 512, "reg_alloc_warp": 0, "warp_gran": 2, "smem_unit": 512},
        "block start 128 clk": {"block_start": 128},
        "block start 1000 clk": {"block_start": 1000},
        "memory 60 clk farther": {"mem_pipeline": card.mem_pipeline + 60},
    }
    return [card.replace(name=f"{card.name}, {name}", **values) for name, values in changes.items()]


def shown() -> tuple[str, ...]:
    """Names of the benchmarks that have a variant for dynamic management."""
    return tuple(name for name in LIMITED if "hw" in benchmarks.get(name).variants)


def builds(name: str) -> list[str]:
    """Builds of a benchmark that exist for static and for dynamic management, the default one first."""
    found = benchmarks.get(name)
    return [build for build in found.builds if ("hw", build) in found.kernels]


def is_default(record: Record) -> bool:
    """Whether a record is of its benchmark's default build, which alone goes into figure and mean."""
    return bool(record["build"] == benchmarks.get(record["benchmark"]).builds[0])


def points(machines: Iterable[Gpu], schedules: Sequence[str], size: str, all_builds: bool = False) -> list[Record]:
    """All runs, those of one problem next to each other."""
    machines = list(machines)
    made: list[Record] = []
    for name in shown():
        for build, gpu, schedule in itertools.product(builds(name), machines, schedules):
            common = {"benchmark": name, "build": build, "schedule": schedule, "gpu": gpu, "size": size}
            if all_builds or is_default(common):
                made.append({**common, "variant": "baseline", "management": "static", "extra_blocks": 0})
                made += [{**common, "variant": "hw", "management": "dynamic", "extra_blocks": extra} for extra in EXTRA]
    return made


def run(quick: bool = False, jobs: int | None = None, everything: bool = False) -> list[Record]:
    """Simulate; every record has its speedup over the baseline. everything: also on the machines of `sensitivities`."""
    size = "quick" if quick else "default"
    card, perfect = cards()
    todo = points([card], SCHEDULES, size, all_builds=True) + points([perfect], SCHEDULES, size)
    if everything:
        todo += points(sensitivities(card), SCHEDULES[:1], size)
    todo.sort(key=lambda point: LIMITED.index(point["benchmark"]))
    return with_speedups(simulate_all(todo, jobs, "fig14"))


def with_speedups(records: Iterable[Record]) -> list[Record]:
    """Records with `speedup`: cycles of the baseline of the same build, schedule and machine over their own."""
    records = list(records)
    keys = ("benchmark", "build", "schedule", "gpu")
    baselines = by_key((r for r in records if r["variant"] == "baseline"), *keys)
    return [{**r, "speedup": baselines[tuple(r[k] for k in keys)]["cycles"] / r["cycles"]} for r in records]


def bars(records: Iterable[Record], gpu: str = GPU) -> list[Record]:
    """What the figure shows: a record per benchmark, schedule and limit, and their geometric means."""
    kept = [r for r in records if r["variant"] == "hw" and r["gpu"] == gpu and is_default(r)]
    names = list(dict.fromkeys(r["benchmark"] for r in kept))
    series = list(dict.fromkeys((r["schedule"], r["extra_blocks"]) for r in kept))
    series.sort(key=lambda s: (SCHEDULES.index(s[0]), s[1]))
    found = by_key(kept, "benchmark", "schedule", "extra_blocks")
    made = []
    for name in [*names, MEAN]:
        for schedule, extra in series:
            values = [found[n, schedule, extra]["speedup"] for n in (names if name == MEAN else [name])]
            made.append(
                {
                    "benchmark": name,
                    "schedule": schedule,
                    "extra_blocks": extra,
                    "series": f"K+{extra}, {schedule}",
                    "speedup": geometric_mean(values),
                }
            )
    return made


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Grouped bars; the paper's mean is drawn over ours."""
    shown_bars = bars(records)
    figures.grouped_bars(ax, shown_bars, x="benchmark", hue="series", y="speedup", labels=True)
    last = len({b["benchmark"] for b in shown_bars}) - 1
    figures.reference_line(ax, PAPER_MEAN, "paper, GM of 7", between=(last - 0.5, last + 0.5))
    ax.axvline(last - 0.5, color="0.6", linewidth=0.5)
    ax.set_xlim(-0.5, last + 0.5)
    ax.set_ylabel("Speedup over static")
    ax.set_ylim(0, 1.18 * max(PAPER_MEAN, *(b["speedup"] for b in shown_bars)))
    line, *boxes = zip(*ax.get_legend_handles_labels(), strict=True)  # lines come first
    ax.legend(*zip(*boxes, line, strict=True), ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0))
    return ax


def table(records: Sequence[Record]) -> str:
    """Speedups, with blocks resident and registers; the paper gives no bar but the mean and the maximum."""
    found = by_key(bars(records), "benchmark", "schedule", "extra_blocks")
    chosen = [r for r in records if r["gpu"] == GPU and is_default(r)]
    limits = by_key(chosen, "benchmark", "schedule", "extra_blocks")
    rows = []
    for name in [*dict.fromkeys(key[0] for key in found)]:
        base = limits.get((name, SCHEDULES[0], 0))
        rows.append(
            (
                name,
                base and base["residency"],
                *(found[name, schedule, extra]["speedup"] for schedule in SCHEDULES for extra in EXTRA),
                base and base["blocks"],
                base and ", ".join(str(limits[name, schedule, EXTRA[0]]["registers"]) for schedule in SCHEDULES),
                PAPER_MEAN if name == MEAN else None,
            )
        )
    ideal = by_key(bars(records, PERFECT_FETCH), "benchmark", "schedule", "extra_blocks")
    if ideal:
        means = (ideal[MEAN, schedule, extra]["speedup"] for schedule in SCHEDULES for extra in EXTRA)
        rows.append((f"{MEAN}, perfect fetch", None, *means, None, None, PAPER_MEAN))
    for name, build in dict.fromkeys((r["benchmark"], r["build"]) for r in records if not is_default(r)):
        other = by_key(
            (r for r in records if (r["benchmark"], r["build"]) == (name, build)), "schedule", "extra_blocks"
        )
        speedups = (other[schedule, extra]["speedup"] for schedule in SCHEDULES for extra in EXTRA)
        registers = ", ".join(str(other[schedule, EXTRA[0]]["registers"]) for schedule in SCHEDULES)
        base = other[SCHEDULES[0], 0]
        rows.append((f"{name} {build}", base["residency"], *speedups, base["blocks"], registers, None))
    header = ("", "K", *(f"{s} K+{n}" for s in SCHEDULES for n in EXTRA), "blocks", "registers", "paper")
    return harness.table(header, rows)


def sensitivity_table(records: Sequence[Record]) -> str:
    """Means on the machines that differ in one assumption."""
    machines = [name for name in dict.fromkeys(r["gpu"] for r in records) if name != GPU]
    rows = []
    for name in [GPU, *machines]:
        means = by_key(bars(records, name), "benchmark", "schedule", "extra_blocks")
        rows.append((name, *(means[MEAN, SCHEDULES[0], extra]["speedup"] for extra in EXTRA)))
    return harness.table(("mean speedup on", *(f"K+{n}" for n in EXTRA)), rows)


def check(records: Sequence[Record]) -> list[Verdict]:
    """Claims P3, P40, P43, P54, P57 and P59, as far as the benchmarks shown allow."""
    found = by_key(bars(records), "benchmark", "schedule", "extra_blocks")
    names = [name for name in dict.fromkeys(key[0] for key in found) if name != MEAN]
    head = SCHEDULES[0]
    means = [found[MEAN, head, extra]["speedup"] for extra in EXTRA]
    most = max(found[name, head, extra]["speedup"] for name in names for extra in EXTRA)
    complete = set(names) == set(LIMITED)
    near = abs(max(means) / PAPER_MEAN - 1) <= TOLERANCE and abs(most / PAPER_MAX - 1) <= TOLERANCE
    card = gpus.get(GPU)
    return [
        verdict(
            "P3",
            [round(max(means), 3), round(most, 3)],
            near if complete else None,
            f"schedule {head}, the better of K+2 and K+3, {len(names)} of 7 benchmarks; within {TOLERANCE:.0%} counts",
        ),
        *_fft_blocks(records),
        verdict("P54", *_region_calls(names)),
        verdict(
            "P57",
            [card.smem_bytes, 4 * card.regs_sm, card.dram_khz],
            (card.smem_bytes, 4 * card.regs_sm, card.dram_khz) == (16384, 65536, 1_100_000),
            "bytes, bytes, kHz",
        ),
        verdict("P59", *_added_instructions(records)),
    ]


def _fft_blocks(records: Sequence[Record]) -> list[Verdict]:
    runs = [r for r in records if r["benchmark"] == "FFT" and r["variant"] == "hw" and r["gpu"] == GPU]
    if not runs:
        return []
    together = min(r["residency"] for r in runs)
    one_at_a_time = all(r["region_cycles"] <= r["cycles"] * gpus.get(GPU).sm_count for r in runs)
    return [
        verdict(
            "P40",
            {"blocks resident": together, "allocations": runs[0]["allocations"] // runs[0]["blocks"]},
            together >= 2 and one_at_a_time,
            "two allocations of 8704 bytes never fit 16 kB; the sum of all regions is below the SMs' time",
        )
    ]


def _region_calls(names: Sequence[str]) -> tuple[dict[str, int], bool, str]:
    """Calls of smm per region in the kernels' source, which has one region per pair of calls."""
    calls = {}
    for name in names:
        source = benchmarks.get(name).kernel("hw").source
        calls[name] = (source.count("smm.alloc("), source.count("smm.release("))
    pairs = {name: allocations for name, (allocations, _) in calls.items()}
    return pairs, all(a == r for a, r in calls.values()), "pairs of calls in each kernel, one pair per region"


def _added_instructions(records: Sequence[Record]) -> tuple[dict[str, float], bool, str]:
    """How much more the HW kernels issue than the baselines."""
    head = [r for r in records if r["gpu"] == GPU and r["schedule"] == SCHEDULES[0] and is_default(r)]
    issued = by_key(head, "benchmark", "variant", "extra_blocks")
    names = list(dict.fromkeys(r["benchmark"] for r in head))
    ratios = {
        name: round(issued[name, "hw", EXTRA[0]]["instructions"] / issued[name, "baseline", 0]["instructions"], 4)
        for name in names
    }
    return ratios, any(ratio != 1 for ratio in ratios.values()), "instructions issued, HW over baseline"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = harness.parser(__doc__)
    parser.add_argument("--sensitivities", action="store_true", help="also on machines that differ in one assumption")
    options = parser.parse_args(argv)
    report = harness.Report("fig14", options)
    records = run(options.quick, options.jobs, options.sensitivities)
    text = table(records)
    if options.sensitivities:
        text += "\n\n" + sensitivity_table(records)
    size = "quick" if options.quick else "default"
    report.finish(
        records,
        shown=text,
        summary={
            "speedups": bars(records),
            "perfect_fetch": bars(records, PERFECT_FETCH),
            "paper": {"mean": PAPER_MEAN, "maximum": PAPER_MAX},
        },
        verdicts=check(records),
        draw=lambda ax: plot(records, ax),
        machines=cards() + (sensitivities(cards()[0]) if options.sensitivities else []),
        sizes={name: benchmarks.get(name).sizes[size] for name in shown()},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
