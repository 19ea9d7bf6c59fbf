"""Measure baselines and their VTB and VTB_pipe forms on a real card, under small and large shared memory.

    python -m experiments.hardware.measure --out experiments/hardware

This needs Numba with CUDA and a card on which the split between L1 cache and shared memory can be chosen (compute
capability 7.0 and above). The carve-out, the size of shared memory that is asked for, is a preference
(`cuFuncSetAttribute`): the driver takes the next larger size that the card has, and a larger one for a kernel that
needs more. A block costs 1 kB beside its arrays (CUDA programming guide).

Every output is checked against the benchmark's reference. The baseline is compiled twice: with the range of its thread
index stated, as it is in the other sources, and as written; the faster one counts. The time of a launch is taken
between two events around several launches that wait in the queue behind another kernel, so that it holds no time of the
host.

The results are NAME.csv, with a row per benchmark, variant and carve-out, and NAME.json, which says where and how they
were measured. Continuous integration does not run this script.
"""

from __future__ import annotations

import argparse
import csv
import json
import linecache
import platform
import statistics
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from experiments.common.speedups import LIMITED
from smmux import benchmarks
from smmux.benchmarks import Benchmark
from smmux.multiplex import FORMS
from smmux.multiplex.syntax.listing import listing

BASELINES = ("baseline", "as_written")
MULTIPLEXED = tuple(form for form in FORMS.values() if form.virtual and not form.declaration)
"""The forms that are measured: VTB and VTB_pipe, which any card can run and any kernel can have."""
CARVEOUTS_KB = (16, 48, 228)
BLOCK_EXTRA_BYTES = 1024  # of each block, reserved by the system on compute capability 8.0 and above
SAMPLES = 31
LAUNCHES = 8  # between two events
COLUMNS = (
    "benchmark", "variant", "carveout_kb", "median_us", "low_us", "high_us", "speedup", "blocks", "threads",
    "shared_bytes", "registers", "resident", "samples", "gpu",
)  # fmt: skip

Size = tuple[int, ...]


def variants(benchmark: Benchmark, grid: Size, block: Size) -> Iterator[tuple[str, str, str, Size, Size]]:
    """The sources to measure: variant, complete source, name of the kernel, grid and block."""
    kernel = benchmark.kernel()
    source = listing(kernel.definition)
    yield "baseline", ranged(source, block), kernel.__name__, grid, block
    yield "as_written", source, kernel.__name__, grid, block
    for form in MULTIPLEXED:
        virtual: Any = form.function(kernel)
        fitted = virtual.fitted(grid, block)
        yield form.name, fitted.source, fitted.__name__, *fitted.geometry(grid, block)


def ranged(source: str, block: Size) -> str:
    """A source in which the thread index is masked, as it is in the transformed ones.

    Numba tests every index that may be negative, and its compiler does not know that threadIdx.x never is, but knows it
    of `threadIdx.x & 63`. The tests cost more instructions than FFT has otherwise. If one kernel had them and the other
    had not, their comparison would not be one of multiplexing.
    """
    return source.replace("cuda.threadIdx.x", f"(cuda.threadIdx.x & {block[0] - 1})")


def load(source: str, name: str) -> Any:
    """The kernel of that name in a source text, compiled by Numba."""
    module = types.ModuleType(f"{name}_numba")
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec"), vars(module))
    return getattr(module, name)


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


def measure(names: Sequence[str], carveouts: Sequence[int], samples: int, size: str) -> list[dict[str, Any]]:
    """Measure all rows; raises `WrongOutputError` where a kernel's output is not the reference."""
    from numba import cuda

    device = cuda.get_current_device()
    gpu = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    hold = holder(cuda)
    largest = device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR // 1024
    rows = []
    for name in names:
        benchmark = benchmarks.get(name)
        problem = benchmark.problem(size)
        for variant, source, kernel_name, grid, block in variants(benchmark, problem.grid, problem.block):
            kernel = load(source, kernel_name)
            host = problem.arguments()
            arguments = tuple(on_device(cuda, value) for value in host)
            launch = kernel[grid, block]
            launch(*arguments)
            problem.check(tuple(on_host(value) for value in arguments))
            compiled, handle = function(kernel)
            for carveout in carveouts:
                wanted = min(carveout, largest)
                handle.set_shared_memory_carveout(100 * wanted // largest)
                times = sorted(time_us(cuda, hold, partial(launch, *arguments), samples))
                median = statistics.median(times)
                held = compiled.shared_mem_per_block + BLOCK_EXTRA_BYTES
                row = {
                    "benchmark": name,
                    "variant": variant,
                    "carveout_kb": wanted,
                    "median_us": round(median, 3),
                    "low_us": round(times[len(times) // 4], 3),
                    "high_us": round(times[-1 - len(times) // 4], 3),
                    "blocks": int(np.prod(grid)),
                    "threads": int(np.prod(block)),
                    "shared_bytes": compiled.shared_mem_per_block,
                    "registers": compiled.regs_per_thread,
                    "resident": wanted * 1024 // held,
                    "samples": samples,
                    "gpu": gpu,
                }
                rows.append(row)
                print(*row.values(), flush=True)
            again = problem.arguments()
            final = tuple(on_device(cuda, value) for value in again)
            launch(*final)
            problem.check(tuple(on_host(value) for value in final))
    return with_speedups(rows)


def with_speedups(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their speedups over the faster of the two baselines under the same carve-out."""
    best: dict[tuple[str, int], float] = {}
    for row in rows:
        if row["variant"] in BASELINES:
            key = row["benchmark"], row["carveout_kb"]
            best[key] = min(best.get(key, row["median_us"]), row["median_us"])
    return [{**row, "speedup": round(best[row["benchmark"], row["carveout_kb"]] / row["median_us"], 4)} for row in rows]


def provenance(size: str, names: Sequence[str]) -> dict[str, Any]:
    """Where and how the rows were measured: card, versions, sizes and method."""
    import numba
    from numba import cuda

    device = cuda.get_current_device()
    return {
        "smmux": smmux.__version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "compute_capability": list(device.compute_capability),
        "multiprocessors": device.MULTIPROCESSOR_COUNT,
        "launches_per_sample": LAUNCHES,
        "problem_sizes": {name: dict(benchmarks.get(name).sizes[size]) for name in names},
        "method": "median of samples; a sample is the time between two events around launches queued behind a kernel",
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows and write the files."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.hardware.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="folder for the files (%(default)s)"
    )
    parser.add_argument("--name", default="h100", help="name of the files (%(default)s)")
    parser.add_argument(
        "--benchmarks",
        nargs="+",
        default=LIMITED,
        choices=benchmarks.names(),
        metavar="NAME",
        help=f"benchmarks to measure ({' '.join(LIMITED)})",
    )
    sizes = " ".join(map(str, CARVEOUTS_KB))
    parser.add_argument(
        "--carveouts", nargs="+", type=int, default=CARVEOUTS_KB, metavar="KB", help=f"shared memory in kB ({sizes})"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="samples of which medians are taken (%(default)s)")
    parser.add_argument("--size", default="default", help="size of the problems: default, quick or tiny (%(default)s)")
    options = parser.parse_args(argv)
    rows = measure(options.benchmarks, options.carveouts, options.samples, options.size)
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / f"{options.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    where = options.out / f"{options.name}.json"
    where.write_text(json.dumps(provenance(options.size, options.benchmarks), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
