"""Runs of a kernel and of its forms on copies of the arguments, several at a time, with a bar that names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from smmux.advice.copies import copied
from smmux.advice.measures import blocks_held, difference
from smmux.advice.schemes import Launch, Trial
from smmux.base.jobs import at_a_time
from smmux.errors import Error, boolean
from smmux.gpus import Gpu
from smmux.language.placement import flatten
from smmux.multiplex import VirtualKernel
from smmux.results.result import Result

__all__ = ["Outcome", "Runs"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a trial.

    launch: its kernel, grid and block; None if it could not be made. max_registers: the limit of registers that it was
    compiled with. held: how much of the kernel's work an SM holds with it, in blocks of the baseline. result: of its
    run, and arrays: the array arguments after the run; None and empty if it has not run. spared: why it was not worth
    a run. error: what stopped it.
    """

    trial: Trial
    launch: Launch | None = None
    max_registers: int | None = None
    held: int = 0
    result: Result | None = None
    arrays: tuple[NDArray[Any], ...] = ()
    spared: str = ""
    error: Error | None = None

    @property
    def virtual(self) -> bool:
        """Whether a thread block does the work of several of the baseline's."""
        return self.launch is not None and isinstance(self.launch[0], VirtualKernel)

    def difference(self, other: Outcome) -> float | None:
        """By how much the arrays differ from another outcome's: 0 for equal bits; None if this trial did not run."""
        if self.result is None:
            return None
        pairs = zip(self.arrays, other.arrays, strict=True)
        return max((difference(a, b) or 0.0 for a, b in pairs), default=0.0)

    def no_worse(self, other: Outcome) -> bool:
        """Whether every kind of finding of this run's check is one of the other run's too."""
        kinds = [{f.kind for f in run.result.findings or ()} if run.result else set[str]() for run in (self, other)]
        return kinds[0] <= kinds[1]


class Runs:
    """Compiles and simulates trials. It is a context, in which a bar shows the progress.

    args: the kernel's arguments, which stay as they are. options: for every launch. jobs: how many simulations run at a
    time. progress: whether to show the bar; None for only on a terminal.
    """

    def __init__(
        self, gpu: Gpu, args: Sequence[Any], options: Mapping[str, Any], jobs: int | None, progress: bool | None
    ) -> None:
        self.gpu, self.args, self.options, self.jobs = gpu, args, options, at_a_time(jobs)
        hidden = None if progress is None else not boolean("progress", progress)
        self.bar = tqdm(desc="advise", unit="run", leave=False, disable=hidden)
        self.lock, self.going_on = Lock(), list[str]()

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.bar.close()

    def one(self, trial: Trial, **options: Any) -> Outcome:
        """Compile and simulate a trial at once. options: for its launch, beside those of all launches and its own."""
        self.expect(1)
        return self.simulated(self.compiled(trial), **options)

    def expect(self, runs: int) -> None:
        """Make the bar longer by so many runs, or shorter if the number is negative."""
        with self.lock:
            self.bar.total = (self.bar.total or 0) + runs
            self.bar.refresh()

    def each(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """Call a function with each item, several at a time; return the answers in the order of items."""
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="advise") as pool:
            return list(pool.map(function, items))

    def compiled(self, trial: Trial) -> Outcome:
        """Compile a trial, and find out how much of it an SM would hold."""
        options = {**self.options, **trial.options}
        try:
            launch = kernel, grid, block = trial.make()
            most = options["max_registers"] = self._limit(trial, launch)
            program = kernel.compile(self.args, self.gpu, grid=grid, block=block, **options)
        except Error as error:
            return Outcome(trial, error=error)
        virtual = kernel.n if isinstance(kernel, VirtualKernel) else 1
        return Outcome(trial, launch, most, virtual * blocks_held(program, math.prod(block), self.gpu))

    def simulated(self, before: Outcome, **options: Any) -> Outcome:
        """Run what has been compiled, on copies of the arguments."""
        name, mine = before.trial.name, copied(self.args)
        if before.launch is None:
            self._tell(done=1)
            return before
        kernel, grid, block = before.launch
        told = {**self.options, **before.trial.options, "max_registers": before.max_registers, **options}
        self._tell(begun=name)
        try:
            result = kernel.simulate(grid, block, mine, self.gpu, **told)
        except Error as error:
            return replace(before, error=error)
        finally:
            self._tell(ended=name, done=1)
        arrays = tuple(value for value in flatten(mine) if isinstance(value, np.ndarray))
        return replace(before, result=result, arrays=arrays, error=None)

    def _limit(self, trial: Trial, launch: Launch) -> int | None:
        """Return the limit of registers for a trial: its budget if it would take more, else what `advise` was told."""
        told: int | None = self.options["max_registers"]
        if trial.budget is None:
            return told
        kernel, grid, block = launch
        same = {name: self.options[name] for name in ("schedule", "dynshared")}
        free = kernel.compile(self.args, self.gpu, grid=grid, block=block, **{**same, **trial.options})
        return trial.budget if free.nregs > trial.budget else told

    def _tell(self, begun: str = "", ended: str = "", done: int = 0) -> None:
        with self.lock:
            self.going_on += [begun] if begun else []
            if ended:
                self.going_on.remove(ended)
            self.bar.set_postfix_str(", ".join(self.going_on), refresh=False)
            self.bar.update(done)
            self.bar.refresh()
