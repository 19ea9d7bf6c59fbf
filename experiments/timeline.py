"""The recorded time line of any kernel on one SM: `python -m experiments.timeline FFT`, or FILE.py:KERNEL.

A kernel of a file is launched as `python -m smmux run` does it: with --grid, --block and --arguments, which are words
such as `float32[1024]=arange`. A benchmark's kernel runs at its quick size, with --variant in another form; forms for
dynamic management run under it with one block more than static management holds. The SM that had most blocks is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import cards, timelines
from experiments.common.harness import Experiment, name_of_machine
from experiments.common.variants import LABELS, MANAGED
from experiments.common.verdicts import judged
from smmux import benchmarks, gpus
from smmux.base.counted import counted
from smmux.errors import ConfigError, Error
from smmux.gpus import Gpu
from smmux.shell.command_words import argument, dimensions, kernel_of
from smmux.sweep import Record, sweep

SIZE = "quick"
DEFAULT = "FFT"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "kernel": {"default": DEFAULT, "nargs": "?", "metavar": "KERNEL", "help": "a benchmark, or FILE.py:KERNEL (FFT)"},
    "variant": {"default": "baseline", "choices": list(LABELS), "help": "form of a benchmark's kernel (%(default)s)"},
    "gpu": {"default": cards.GPU, "type": name_of_machine, "help": "the machine (%(default)s)"},
    "grid": {"default": (1,), "type": dimensions, "metavar": "DIMS", "help": "blocks, of a file's kernel"},
    "block": {
        "default": (32,),
        "type": dimensions,
        "metavar": "DIMS",
        "help": "threads of a block, of a file's kernel",
    },
    "arguments": {"default": [], "nargs": "*", "metavar": "WORD", "help": "arguments of a file's kernel"},
}
check = partial(judged, "timeline")


def machines(gpu: str = cards.GPU) -> list[Gpu]:
    """The machine."""
    return [gpus.get(gpu)]


def sizes(kernel: str = DEFAULT) -> Record:
    """The size of the benchmark's problem."""
    return {kernel: benchmarks.get(kernel).sizes[SIZE]} if kernel in benchmarks.names() else {}


def simulate(*, kernel: str, gpu: Gpu, grid: str, block: str, arguments: str) -> Record:
    """Run a kernel of a file, and return the record of one SM. Raises ConfigError for a request without meaning, and
    for a kernel that fails."""
    try:
        made = kernel_of(kernel)
        values = tuple(argument(word) for word in arguments.split())
    except (ValueError, OSError) as error:
        raise ConfigError(f"{error}; benchmarks are {', '.join(benchmarks.names())}") from None
    try:
        result = made.simulate(dimensions(grid), dimensions(block), values, gpu=gpu, trace=timelines.EVENTS)
    except Error as error:
        raise ConfigError(error.in_a_line) from None
    return {"schedule": result.schedule, **timelines.record_of(result)}


def run(
    kernel: str = DEFAULT,
    variant: str = "baseline",
    gpu: str = cards.GPU,
    grid: Sequence[int] = (1,),
    block: Sequence[int] = (32,),
    arguments: Sequence[str] = (),
    jobs: int | None = None,
) -> list[Record]:
    """Simulate the kernel."""
    [machine] = machines(gpu)
    if kernel not in benchmarks.names():
        point = {"kernel": kernel, "gpu": machine, "arguments": " ".join(arguments)}
        point |= {"grid": ",".join(map(str, grid)), "block": ",".join(map(str, block))}
        return sweep(simulate, [point], jobs=jobs, description="timeline")
    point = {"benchmark": kernel, "variant": variant, "gpu": machine, "schedule": machine.schedule, "size": SIZE}
    if variant in MANAGED:
        point |= {"management": "dynamic", "extra_blocks": 1}
    return sweep(timelines.simulate, [point], jobs=jobs, description="timeline")


def _name(record: Record) -> str:
    if "kernel" in record:
        return str(record["kernel"])
    return f"{record['benchmark']}, {LABELS[record['variant']]}"


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the warps."""
    [record] = records
    timelines.plot_warps(record, ax, _name(record), record["time_us"])
    ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.98), fontsize=6)
    ax.tick_params(labelbottom=False)
    return ax


def plot_memory(records: Sequence[Record], ax: Any) -> Any:
    """Draw who holds which shared memory."""
    [record] = records
    timelines.plot_memory(record, ax, record["time_us"])
    ax.tick_params(labelbottom=False)
    return ax


def plot_series(records: Sequence[Record], ax: Any, name: str = "ipc") -> Any:
    """Draw one curve."""
    [record] = records
    timelines.plot_series(records, ax, name, [_name(record)], record["time_us"])
    last = name == list(timelines.SERIES)[-1]
    ax.tick_params(labelbottom=last)
    if last:
        ax.set_xlabel("us", fontsize=6, labelpad=1)
    return ax


def table(records: Sequence[Record]) -> str:
    """Times, residency, and for what share of their lives warps wait."""
    return timelines.table_of(records, [_name(r) for r in records])


def caption(records: Sequence[Record]) -> str:
    """A sentence with time and machine."""
    [r] = records
    line = f"SM {r['sm']}, with up to {counted(r['residency'], 'block')} at a time."
    return f"{_name(r)} on {r['gpu']}, schedule {r['schedule']}: {r['time_us']:.1f} us; {line}"


def summary(records: Sequence[Record]) -> Record:
    """Time, cycles and blocks at a time."""
    [r] = records
    return {name: r[name] for name in ("time_us", "cycles", "residency")}


EXPERIMENT = Experiment.of(
    globals(),
    plots=[plot, plot_memory, *(partial(plot_series, name=name) for name in timelines.SERIES)],
    arguments=ARGUMENTS,
    figsize=(6.8, 5.6),
)

main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
