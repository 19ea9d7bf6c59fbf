"""The programs of the paper on TELEPORT: what runs in which form and on which machine, and how records are found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import programs
from experiments.common.effort import effort
from experiments.common.runs import problem_of
from experiments.common.schedules import IN_SIMULATION
from smmux import gpus, preload
from smmux.gpus import Gpu
from smmux.plot import geometric_mean
from smmux.preload.analysis import CLASSES
from smmux.sweep import Record, sweep

__all__ = [
    "BASELINE", "BYPASS", "DEFAULT", "FORMS", "GHOST", "GPU", "HAND", "NO_HOLD", "OTHERS", "OURS", "PROGRAMS",
    "TELEPORT", "found", "machines", "mean_of", "points", "preloaded", "ratios", "settings", "simulate", "simulate_all",
    "speedups",
]  # fmt: skip

GPU = "GTX480-48K"
"""The machine: the published model of the predecessor ships its configuration."""
OTHERS = ("GTX285", "GTX480-16K", "K20c")
PROGRAMS = (
    "MMA", "MMAC", "JAC", "EDS", "HSP", "SRD1", "SRD2", "BKP1", "BKP2", "NN", "NNC", "LPS", "RDC5", "RDC6", "FWL",
    "HIS1", "HIS2",
)  # fmt: skip
BASELINE, HAND, OURS, TELEPORT = "baseline", "hand-written", "tiled by smmux", "TELEPORT"
FORMS = (BASELINE, HAND, OURS, TELEPORT)
GHOST = "ghost zone"
DEFAULT, NO_HOLD, BYPASS = "as specified", "no hold", "past the L2"
"""Settings of the hardware that every run has: claims need all three."""
SPECIFIED: Record = {"preload_lookup": 1}
"""What the paper has otherwise than its predecessor, whose machine the library models: requests are looked up in the
L2, since the number of memory accesses stays as low as the Baseline's."""
LABELS = ("setting",)

CHANGES: dict[str, Record] = {
    NO_HOLD: {"preload_policy": "lines"},
    BYPASS: {"preload_lookup": 0},
    "ideal": {"preload_policy": "ideal"},
    "traffic, no waiting": {"preload_policy": "traffic"},
    "lines of 64 bytes": {"preload_line": 64},
    "64 bytes, past the L2": {"preload_line": 64, "preload_lookup": 0},
    "a request per 8 clk": {"preload_interval": 8},
    "blocks wait for room": {"preload_wait": 1},
    "shared memory of 16 kB": {"smem_bytes": 16384},
}
"""Machine parameters of each setting, beside those of `SPECIFIED`."""
PARAMETER_BYTES = 272
"""Of shared memory that parameters and built-in variables take at most where they lie there."""
DYNAMIC = {"dynamic": {"preload_early": 1}, "dynamic, tiles kept": {"preload_early": 0}}
"""Settings under dynamic management of shared memory."""


def specified(name: str) -> Gpu:
    """A machine that fetches tiles as the paper says."""
    return gpus.get(name).replace(**SPECIFIED)


def settings(sensitivities: bool) -> dict[str, Gpu]:
    """The machine as specified, and as changed in one thing, by setting."""
    own = specified(GPU)
    changes = dict(list(CHANGES.items())[: None if sensitivities else 2])
    if sensitivities:
        changes |= DYNAMIC
    return {DEFAULT: own} | {name: own.replace(name=f"{GPU}, {name}", **change) for name, change in changes.items()}


def machines(sensitivities: bool) -> list[Gpu]:
    """All machines that run."""
    return [*settings(sensitivities).values(), *(specified(name) for name in OTHERS if sensitivities)]


def points(quick: bool, sensitivities: bool) -> list[Record]:
    """What to run: all programs in all forms, and under TELEPORT with each setting."""
    size = "quick" if quick else "default"
    todo: list[Record] = []
    for name in PROGRAMS:
        ghost = [GHOST] if GHOST in programs.workload(name).builds else []
        common = {"workload": name, "size": size, "schedule": IN_SIMULATION.head, "management": "static"}
        for setting, gpu in settings(sensitivities).items():
            forms = [*FORMS, *ghost] if setting == DEFAULT else [TELEPORT]
            how = "dynamic" if setting in DYNAMIC else "static"
            todo.extend(
                common | {"management": how, "setting": setting, "gpu": gpu, "form": form} for form in forms
            )  # fmt: skip
        if sensitivities:
            other = common | {"setting": IN_SIMULATION.other, "schedule": IN_SIMULATION.other, "gpu": specified(GPU)}
            todo.extend(other | {"form": form} for form in FORMS)
            for gpu in map(specified, OTHERS):
                todo.extend(common | {"setting": gpu.name, "gpu": gpu, "form": form} for form in FORMS)
    return todo


def simulate(
    *, workload: str, form: str, gpu: Gpu, size: str | Mapping[str, float], schedule: str, management: str
) -> Record:
    """Run one form of a program, check its outputs, and return a flat record of what it took, with all counters.

    A form that `smmux.preload.tile` refuses has the reason as `refused`, and no counters.
    """
    row = programs.workload(workload)
    build = form if form in row.builds else BASELINE
    problem = problem_of(row, size, build)
    arguments = problem.arguments()
    kernel = row.kernels[build]
    if form == OURS:
        try:
            room = gpu.smem_bytes - PARAMETER_BYTES
            kernel = preload.tile(kernel, problem.grid, problem.block, arguments, shared_bytes=room)
        except preload.TileError as error:
            return {"refused": error.msg}
    analysis = preload.analyze(kernel, problem.grid, problem.block, arguments)
    result = kernel.simulate(
        problem.grid,
        problem.block,
        arguments,
        gpu=gpu,
        schedule=schedule,
        management=management,
        preload=analysis.table if form == TELEPORT else None,
        profile=True,
    )
    problem.check(arguments)
    kinds = Counter(access.kind for access in analysis.reads)
    return {
        "refused": "",
        **{kind: kinds[kind] for kind in CLASSES},
        "entries": len(analysis.table.entries),
        "dropped": analysis.table.dropped,
        "lines of code": effort(kernel),
        "time_us": result.time_us,
        "residency": result.residency,
        "elements loaded": _threads(result, "ld.global") / problem.blocks,
        "shared elements": (_threads(result, "ld.shared") + _threads(result, "st.shared")) / problem.blocks,
        "row locality": (result["dram_reads"] + result["dram_writes"]) / max(1, result["dram_activates"]),
        **result.counters,
    }


def _threads(result: Any, op: str) -> int:
    return sum(row["threads"] for row in result.instructions() if row["op"] == op)


def simulate_all(todo: Sequence[Record], jobs: int | None) -> list[Record]:
    """Run `simulate` for points that have its keywords, and labels beside them that only their records bear."""
    return sweep(_labelled, todo, jobs=jobs, description="teleport")


def _labelled(**point: Any) -> Record:
    return simulate(**{name: value for name, value in point.items() if name not in LABELS})


def found(records: Sequence[Record], setting: str = DEFAULT) -> dict[str, dict[str, Record]]:
    """The records of a setting by program and form, without forms that were refused."""
    own: dict[str, dict[str, Record]] = {}
    for r in records:
        if r["setting"] == setting and not r["refused"]:
            own.setdefault(r["workload"], {})[r["form"]] = r
    return own


def preloaded(records: Sequence[Record]) -> list[str]:
    """The programs whose table has entries, in order."""
    own = found(records)
    return [name for name in PROGRAMS if own[name][TELEPORT]["entries"]]


def ratios(
    records: Sequence[Record], counter: str, one: str, other: str = TELEPORT, setting: str = DEFAULT
) -> dict[str, float]:
    """A counter of one form over that of another, by program that is preloaded and has both.

    setting: of the runs under TELEPORT; other forms take their default where a setting does not run them.
    """
    default, own = found(records), found(records, setting)
    forms = {name: default[name] | own.get(name, {}) for name in preloaded(records)}
    return {name: f[one][counter] / f[other][counter] for name, f in forms.items() if one in f and other in f}


def speedups(records: Sequence[Record], over: str, form: str = TELEPORT, setting: str = DEFAULT) -> dict[str, float]:
    """How many times as fast as another form one is, by program."""
    return ratios(records, "cycles", over, form, setting)


def mean_of(values: Mapping[str, float]) -> float:
    """The geometric mean over programs; nan for none."""
    return geometric_mean(values.values()) if values else math.nan
