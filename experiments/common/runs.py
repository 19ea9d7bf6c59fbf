"""One simulated point of an experiment: a benchmark's kernel on a machine, its outputs checked."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from smmux import benchmarks, gpus
from smmux.benchmarks import Benchmark, Problem, Workload
from smmux.compiler.program import Program
from smmux.gpus import Gpu
from smmux.machines import occupancy
from smmux.machines.management import Maker
from smmux.sweep import Record, sweep
from smmux.sweep.fingerprint import fingerprint

__all__ = ["by_key", "problem_of", "program", "register_budget", "simulate", "simulate_all", "size", "sizes"]

T = TypeVar("T")

ROOM = {"min_blocks": 1}
"""What a kernel is compiled for unless its registers are budgeted: a block has room, as with `__launch_bounds__`."""


def size(quick: bool) -> str:
    """The name of the problem size of a run."""
    return "quick" if quick else "default"


def sizes(names: Iterable[str], quick: bool = False) -> dict[str, Mapping[str, float]]:
    """The sizes of the benchmarks' problems in a full or a quick run."""
    return {name: benchmarks.get(name).sizes[size(quick)] for name in names}


def program(benchmark: Benchmark, variant: str = "baseline", build: str | None = None) -> Program:
    """A benchmark's kernel in program order, compiled for arguments of its smallest problem."""
    arguments = benchmark.problem("tiny", build).arguments()
    compiled: Program = benchmark.kernel(variant, build).compile(arguments, schedule="source")
    return compiled


def register_budget(benchmark: Benchmark, gpu: Gpu, build: str) -> int:
    """Registers per thread that leave room for K+3 blocks of the baseline: the same for all variants of a build."""
    block = benchmark.problem("tiny", build).block
    return occupancy.register_budget(program(benchmark, build=build), gpu, block)


def simulate(
    *,
    benchmark: str,
    variant: str,
    build: str,
    schedule: str,
    gpu: str | Gpu,
    management: str | Maker = "static",
    extra_blocks: int = 0,
    n: int | None = None,
    size: str | Mapping[str, float] = "default",
    budgeted: bool = False,
    registers_of: str | Gpu | None = None,
    host_threads: int = 1,
) -> Record:
    """Run one kernel, check its outputs, and return a flat record of what it took, with all counters.

    n: blocks that "vtb" combines. size: a name of `Benchmark.sizes`, or what such a name stands for.
    budgeted: whether a thread has at most the registers of `register_budget`, as where the paper simulates, or what its
    kernel needs up to the machine's limit, as nvcc gives them with `__launch_bounds__`: so many that a block has room.
    registers_of: the machine for which they are budgeted, by default the one that runs.
    Raises `smmux.benchmarks.WrongOutputError` when the outputs differ from the reference.
    """
    machine = gpus.get(gpu)
    row = benchmarks.get(benchmark)
    problem = problem_of(row, size, build)
    arguments = problem.arguments()
    kernel, grid, block = row.launch(problem, variant, build, n)
    how = {"management": management, "extra_blocks": extra_blocks}
    limit = {"max_registers": register_budget(row, gpus.get(registers_of or machine), build)} if budgeted else ROOM
    options: Any = {"gpu": machine, "schedule": schedule, **limit, **how}

    def run() -> Record:
        result = kernel.simulate(grid, block, arguments, host_threads=host_threads, **options)
        problem.check(arguments)
        return {
            "threads": math.prod(block),
            "time_us": result.time_us,
            "residency": result.residency,
            "static_residency": result.static_residency,
            "limiter": result.limiter,
            "registers": result.program.nregs,
            "local_bytes": result.program.local_bytes,
            "code": len(result.program),
            **result.counters,
        }

    executed = kernel.compile(arguments, grid=grid, block=block, **options)
    made_of = [
        executed,
        grid,
        block,
        row.name,
        build,
        row.sizes_of(size),
        machine.replace(name="", description="", origin=()),
        how,
    ]
    return dict(RUNS.get(fingerprint(made_of), run))


def simulate_all(points: Sequence[Record], jobs: int | None, description: str) -> list[Record]:
    """Run `simulate` for points that have its keywords; points of one problem should follow each other."""
    return sweep(simulate, points, jobs=jobs, description=description)


def by_key(records: Iterable[Record], *names: str) -> dict[tuple[Any, ...], Record]:
    """Records by the values of some columns."""
    return {tuple(record[name] for name in names): record for record in records}


class Once(Generic[T]):
    """Values by key: each is made once, by the thread that asks first; of more than `kept` the least recently used is
    dropped. What fails is tried again when somebody asks again."""

    def __init__(self, kept: float = math.inf) -> None:
        self._kept = kept
        self._made: OrderedDict[Hashable, Future[T]] = OrderedDict()
        self._lock = threading.Lock()

    def fingerprint(self) -> str:
        """What results depend on: not on which values are kept."""
        return "once"

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key, which `make` makes if there is none."""
        with self._lock:
            future = self._made.get(key)
            mine = future is None
            if future is None:
                future = self._made[key] = Future()
            self._made.move_to_end(key)
            while len(self._made) > self._kept:
                self._made.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                with self._lock:
                    self._made.pop(key, None)
                raise
        return future.result()


PROBLEMS: Once[Problem] = Once(kept=2)
RUNS: Once[Record] = Once()
"""What was simulated by the contents of program, problem and machine: figures repeat runs under other names, as where
the schedules order a kernel alike, or a machine's other registers leave a program as it is."""


def problem_of(benchmark: Workload, size: str | Mapping[str, float], build: str) -> Problem:
    """The problem of a benchmark's build at a size; of those made last it is not made again."""
    sizes = benchmark.sizes_of(size)
    return PROBLEMS.get((benchmark.name, build, *sizes.items()), lambda: benchmark.problem(sizes, build))
