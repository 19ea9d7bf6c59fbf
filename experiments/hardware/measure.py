"""Measure forms of programs on a real card: VTB and VTB_pipe, of the benchmarks or of foreign kernels, or tiles.

    python -m experiments.hardware.measure multiplex --out experiments/hardware
    python -m experiments.hardware.measure foreign --out experiments/hardware --samples 11
    python -m experiments.hardware.measure tiles --out experiments/hardware

This needs Numba with CUDA and a card. What is measured of each program, and how it is spelled, is in
`experiments.common.card_sources`; of several spellings the fastest counts.

VTB and VTB_pipe are measured under several carve-outs, on cards on which the split between L1 cache and shared memory
can be chosen (compute capability 7.0 and above). The carve-out, the size of shared memory that is asked for, is a
preference (`cuFuncSetAttribute`): the driver takes the next larger size that the card has, and a larger one for a
kernel that needs more. A block costs 1 kB beside its arrays (CUDA programming guide).

Every output is checked against the program's reference. The time of a launch is taken between two events around several
launches that wait in the queue behind another kernel, so that it holds no time of the host.

The results are FORMS_NAME.csv, with a row per program, variant, spelling and carve-out, and FORMS_NAME.json, which says
where and how they were measured. A program that fails has no rows: the others are measured, and the exit status is 1.
Continuous integration does not run this script.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from experiments.common.card_sources import FORMS, Size, Source, load, program
from experiments.common.measured import short
from experiments.common.preloading import BASELINE
from smmux.base import whole_files

BLOCK_EXTRA_BYTES = 1024  # of each block, reserved by the system on compute capability 8.0 and above
SAMPLES = 31
LAUNCHES = 8  # between two events
COLUMNS = (
    "benchmark", "variant", "spelling", "carveout_kb", "median_us", "low_us", "high_us", "speedup", "blocks", "threads",
    "shared_bytes", "registers", "resident", "samples", "gpu",
)  # fmt: skip


def on_device(cuda: Any, value: Any) -> Any:
    """An argument with its arrays on the card."""
    if isinstance(value, tuple):
        return tuple(on_device(cuda, item) for item in value)
    return cuda.to_device(np.array(value)) if isinstance(value, np.ndarray) else value


def on_host(value: Any) -> Any:
    """An argument with its arrays copied back from the card."""
    if isinstance(value, tuple):
        return tuple(on_host(item) for item in value)
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def function(compiled: Any) -> Any:
    """What Numba and the driver know of a kernel that has been compiled for one signature."""
    (overload,) = compiled.overloads.values()
    return overload, overload._codelibrary.get_cufunc()


def time_us(cuda: Any, hold: Callable[[], None], launch: Callable[[], None], samples: int) -> list[float]:
    """The microseconds that a launch takes, sample by sample."""
    times = []
    for _ in range(samples):
        begin, end = cuda.event(), cuda.event()
        hold()
        begin.record()
        for _ in range(LAUNCHES):
            launch()
        end.record()
        end.synchronize()
        times.append(1000 * cuda.event_elapsed_time(begin, end) / LAUNCHES)
    return times


@cache
def holder(cuda: Any) -> Callable[[], None]:
    """A function that keeps the card busy for some milliseconds, in which launches are queued."""

    @cuda.jit
    def hold(word: Any, steps: int) -> None:
        value = word[0]
        for i in range(steps):
            value = (value * 1103515245 + i) & 0x7FFFFFFF
        word[0] = value

    word = cuda.to_device(np.ones(1, np.int64))

    def run() -> None:
        hold[1, 1](word, 400_000)

    run()
    cuda.synchronize()
    return run


def measure(
    cuda: Any, name: str, sources: Iterator[Source], carveouts: Sequence[int | None], samples: int
) -> list[dict[str, Any]]:
    """The rows of a program; raises `WrongOutputError` where a kernel's output is not the reference.

    cuda: Numba's module.
    """
    device, hold = cuda.get_current_device(), holder(cuda)
    largest = device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR // 1024
    rows = []
    for source in sources:
        kernel = load(source.text, source.kernel)
        launch = kernel[source.grid, source.block]
        arguments = checked(cuda, source, launch)
        compiled, handle = function(kernel)
        for carveout in carveouts:
            wanted = None if carveout is None else min(carveout, largest)
            if wanted is not None:
                handle.set_shared_memory_carveout(100 * wanted // largest)
            times = sorted(time_us(cuda, hold, partial(launch, *arguments), samples))
            held = compiled.shared_mem_per_block + BLOCK_EXTRA_BYTES
            row = {
                "benchmark": name,
                "variant": source.variant,
                "spelling": source.spelling,
                "carveout_kb": wanted,
                "median_us": round(statistics.median(times), 3),
                "low_us": round(times[len(times) // 4], 3),
                "high_us": round(times[-1 - len(times) // 4], 3),
                "blocks": int(np.prod(source.grid)),
                "threads": int(np.prod(source.block)),
                "shared_bytes": compiled.shared_mem_per_block,
                "registers": compiled.regs_per_thread,
                "resident": None if wanted is None else wanted * 1024 // held,
                "samples": samples,
                "gpu": gpu_name(cuda),
            }
            rows.append(row)
            print(*row.values(), flush=True)
        checked(cuda, source, launch)
    return with_speedups(rows)


def checked(cuda: Any, source: Source, launch: Callable[..., None]) -> tuple[Any, ...]:
    """The arguments on the card after a launch whose outputs are right."""
    arguments = tuple(on_device(cuda, value) for value in source.problem.arguments())
    launch(*arguments)
    source.problem.check(tuple(on_host(value) for value in arguments))
    return arguments


def with_speedups(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a program with their speedups over the fastest spelling of the Baseline under the same carve-out."""
    best: dict[int | None, float] = {}
    for row in rows:
        if row["variant"] == BASELINE:
            key = row["carveout_kb"]
            best[key] = min(best.get(key, row["median_us"]), row["median_us"])
    return [{**row, "speedup": round(best[row["carveout_kb"]] / row["median_us"], 4)} for row in rows]


def gpu_name(cuda: Any) -> str:
    """The full name of the card."""
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def provenance(cuda: Any, sizes: dict[str, Size]) -> dict[str, Any]:
    """Where and how the rows were measured: card, versions, sizes by program, and method."""
    import numba

    device = cuda.get_current_device()
    return {
        "smmux": smmux.__version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "compute_capability": list(device.compute_capability),
        "multiprocessors": device.MULTIPROCESSOR_COUNT,
        "launches_per_sample": LAUNCHES,
        "problem_sizes": {name: dict(sizes_of(name, size)) for name, size in sizes.items()},
        "method": "median of samples; a sample is the time between two events around launches queued behind a kernel",
    }


def sizes_of(name: str, size: Size) -> Mapping[str, float]:
    """The sizes of a program's problem as numbers."""
    return program(name).sizes[size] if isinstance(size, str) else size


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows and write the files."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.hardware.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("forms", choices=FORMS, help="what is measured")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="folder for the files (%(default)s)"
    )
    parser.add_argument("--name", help="name of the files (the card's)")
    parser.add_argument("--benchmarks", nargs="+", metavar="NAME", help="programs to measure (all that have the forms)")
    parser.add_argument(
        "--carveouts", nargs="+", type=int, metavar="KB", help="shared memory in kB (multiplex: 16 48 228; tiles: any)"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="samples of which medians are taken (%(default)s)")
    parser.add_argument("--size", help="size of the problems: default, quick or tiny (those that fill a card)")
    options = parser.parse_args(argv)
    from numba import cuda

    forms = FORMS[options.forms]
    sizes = {name: options.size or forms.sizes.get(name, "default") for name in options.benchmarks or forms.programs}
    path = options.out / f"{options.forms}_{options.name or short(gpu_name(cuda)).lower()}"
    options.out.mkdir(parents=True, exist_ok=True)
    failed = False
    with whole_files.replacing(path.with_suffix(".json"), path.with_suffix(".csv")) as (about, table):
        about.write_text(json.dumps(provenance(cuda, sizes), indent=2) + "\n")
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for name, size in sizes.items():
                try:
                    sources = forms.of(name, size)
                    carveouts = options.carveouts or forms.carveouts
                    writer.writerows(measure(cuda, name, sources, carveouts, options.samples))
                    file.flush()
                except Exception:
                    failed = True
                    traceback.print_exc()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
