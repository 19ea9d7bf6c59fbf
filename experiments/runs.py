"""One simulated point of an experiment: a benchmark's kernel on a machine, its outputs checked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from smmux import benchmarks, compiler, gpus, models
from smmux.benchmarks import Benchmark, Problem
from smmux.compiler import signature
from smmux.compiler.options import Options
from smmux.compiler.program import Program
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

__all__ = ["SCHEDULES", "program", "register_budget", "residency", "simulate", "simulate_all"]

SCHEDULES = ("source", "list")
"""The compiler's schedules: program order, as the paper's simulator runs PTX, and critical path, as on a card."""

LARGEST_EXTRA = 3
"""Registers are budgeted so that K + 3 blocks can reside (the paper's Figure 15 goes up to there)."""


def program(benchmark: Benchmark, variant: str = "baseline", build: str | None = None) -> Program:
    """A benchmark's kernel, compiled for arguments of its smallest problem."""
    arguments = benchmark.problem("tiny", build).arguments()
    return compiler.compile(benchmark.kernel(variant, build), signature.classify(arguments), Options())


def residency(benchmark: Benchmark, gpu: Gpu, build: str | None = None) -> int:
    """The paper's K: blocks of the baseline on an SM with static management, registers left aside."""
    threads = benchmark.problem("tiny", build).threads
    compiled = program(benchmark, build=build)
    found = models.occupancy(threads, 0, compiled.shared_bytes, gpu, compiled.param_bytes(gpu.pointer_bytes))
    return found.blocks


def register_budget(gpu: Gpu, threads: int, blocks: int) -> int:
    """The most registers per thread with which that many blocks reside, or as many as other resources allow."""
    others = models.occupancy(threads, 0, 0, gpu).blocks
    target = min(blocks, others)
    for registers in range(gpu.max_regs_thread, 0, -1):
        allowed = models.occupancy(threads, registers, 0, gpu).limits["registers"]
        if allowed is None or allowed >= target:
            return registers
    raise ValueError(f"{gpu.name} cannot hold {blocks} blocks of {threads} threads")


def simulate(
    *,
    benchmark: str,
    variant: str,
    build: str,
    schedule: str,
    gpu: str | Gpu,
    management: str = "static",
    extra_blocks: int = 0,
    size: str = "default",
    host_threads: int = 1,
) -> Record:
    """Run one kernel and check its outputs; what was found, as a flat record with all counters.

    Raises `smmux.benchmarks.WrongOutputError` when the outputs differ from the reference.
    """
    machine = gpus.get(gpu)
    found = benchmarks.get(benchmark)
    problem = PROBLEMS.get(found, size, build)
    budget = register_budget(machine, problem.threads, residency(found, machine, build) + LARGEST_EXTRA)
    arguments = problem.arguments()
    result = found.kernel(variant, build).simulate(
        problem.grid,
        problem.block,
        arguments,
        gpu=machine,
        schedule=schedule,
        management=management,
        extra_blocks=extra_blocks,
        max_registers=budget,
        host_threads=host_threads,
    )
    problem.check(arguments)
    return {
        "time_us": result.time_us,
        "residency": result.residency,
        "static_residency": result.static_residency,
        "limiter": result.limiter,
        "registers": result.program.nregs,
        "local_bytes": result.program.local_bytes,
        "code": len(result.program),
        **result.counters,
    }


def simulate_all(points: Sequence[Record], jobs: int | None, description: str) -> list[Record]:
    """Records of `simulate` for points that have its keywords; points of one problem should follow each other."""
    return sweep(simulate, points, jobs=jobs, description=description)


def by_key(records: Iterable[Record], *names: str) -> dict[tuple[Any, ...], Record]:
    """Records by the values of some columns."""
    return {tuple(record[name] for name in names): record for record in records}


class Problems:
    """The problems in use: made once, by whoever asks first, and forgotten when others have been asked for since."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._made: OrderedDict[tuple[str, str, str], Future[Problem]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, benchmark: Benchmark, size: str, build: str) -> Problem:
        """The problem of a benchmark's build at a named size."""
        return self._get((benchmark.name, size, build), lambda: benchmark.problem(size, build))

    def _get(self, key: tuple[str, str, str], make: Callable[[], Problem]) -> Problem:
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
                raise
        return future.result()


PROBLEMS = Problems(kept=2)
