"""The search for the scheme that pays: simulations of a kernel as it is and in every form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from smmux import gpus, multiplex, preload
from smmux.advice.answer import Advice, Scheme
from smmux.advice.copies import copied
from smmux.advice.improvements import RECORDED, improvements
from smmux.advice.measures import difference, misuses, occupancy_of, region_share
from smmux.advice.schemes import Launch, Trial, declared, trials
from smmux.advice.text import reason
from smmux.dimensions import Dim3, dim3
from smmux.errors import Error
from smmux.gpus import Gpu
from smmux.kernel import Kernel, definition_of
from smmux.launch_options import DEFAULT_MAX_CYCLES
from smmux.occupancy import Occupancy, registers_for, static_reserved
from smmux.placement import flatten
from smmux.recorded import accesses_of
from smmux.result import Result
from smmux.sweep import at_a_time
from smmux.tracebacks import brief

__all__ = ["advise"]

OTHER = {"source": "list", "list": "source"}
"""The other schedule than each."""

PATIENCE = 100
"""Times the cycles of the kernel itself, after which a scheme is given up."""


@brief
def advise(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    gpu: str | Gpu | None = None,
    *,
    divided: Mapping[str, Any] | None = None,
    schedule: str | None = None,
    max_registers: int | None = None,
    dynshared: int = 0,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Simulate a kernel as it is and under every scheme that applies, and look at its accesses to memory.

    The arguments are left as they are.

    divided: arguments of `multiplex.co_vtb` and `co_hw` that say which part of shared memory is private ("array",
    "private", ...); without them the collaborative schemes do not apply. schedule: as for `simulate`, the machine's own
    by default. max_registers: registers per thread in all runs; by default each kernel has as many as it
    takes, as when it is launched without that option. Then only the kernels for the paper's hardware get fewer, where
    K + n blocks of them would not find room otherwise, and the advice says so; speedups refer to the kernel as it is.
    dynshared, max_cycles: as for `simulate`; a scheme that takes a hundred times as long as the kernel itself is given
    up. jobs: simulations at a time (default: one per processor). progress: whether to show a bar (default: on a
    terminal).

    All runs are checked for races, so that outputs that are equal by luck are told from those that have to be. The
    kernel itself runs under the other schedule too: if its outputs differ there, it counts on an order that it does not
    state. `improvements` of the answer say, line by line, what other layouts, indices, pads or pitches would save, and
    which barriers nothing needs: estimates from the counters of the whole run and the addresses of one block of each
    SM; kernels without such barriers are run.

    Raises the errors of the kernel's own run, and ConfigError for fewer than one job or a declaration without meaning;
    a scheme that cannot be applied is reported with its reason instead.
    """
    at_a_time(jobs)  # refuse nonsense before the baseline runs
    division = declared(divided)
    machine = gpus.current() if gpu is None else gpus.get(gpu)
    own = dim3("grid", grid), dim3("block", block)
    definition_of(kernel)
    common = {"gpu": machine, "schedule": schedule, "max_registers": max_registers, "dynshared": dynshared}
    common |= {"check": "races"}
    watched = {"profile": True, "accesses": RECORDED, "max_cycles": max_cycles}
    baseline = _simulated(Trial("baseline", lambda: (kernel, *own)), args, {**common, **watched})
    if baseline.error is not None:
        raise baseline.error
    assert baseline.result is not None
    patient = {
        **common,
        "max_cycles": min(PATIENCE * baseline.result.cycles, max_cycles or DEFAULT_MAX_CYCLES),
    }
    fits = occupancy_of(baseline.result)
    budget = partial(_budget, fits, machine, own[1]) if max_registers is None else None
    timed = Trial("isolated", lambda: (multiplex.isolate(kernel), *own))
    reordered = Trial("reordered", lambda: (kernel, *own), options={"schedule": OTHER[baseline.result.schedule]})
    room = machine.smem_bytes - static_reserved(baseline.result.program, machine)
    tiled = Trial("tiles", lambda: (preload.tile(kernel, *own, args, dynshared=dynshared, shared_bytes=room), *own))
    tried = [timed, reordered, *trials(kernel, own, division, budget), tiled]
    simulated = partial(_simulated, args=args, options=patient)
    isolated, other, *others = _run(tried, simulated, jobs, progress)

    def same(changed: Kernel) -> Result | None:
        outcome = simulated(Trial("changed", lambda: (changed, *own)))
        return outcome.result if _difference(outcome, baseline) == 0 and _no_worse(outcome, baseline) else None

    return Advice(
        kernel=kernel,
        grid=own[0],
        block=own[1],
        baseline=replace(baseline.result, accesses=accesses_of()),
        improvements=improvements(baseline.result, kernel, args, same),
        occupancy=fits,
        region_share=region_share(isolated.result),
        unshared=reason(isolated.error),
        reordered=_difference(other, baseline),
        schemes=tuple(_scheme(outcome, baseline) for outcome in others),
        schedule=baseline.result.schedule,
        max_registers=max_registers,
        dynshared=dynshared,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a trial: a result and the arrays behind it, or an error."""

    trial: Trial
    launch: Launch | None = None
    result: Result | None = None
    arrays: tuple[NDArray[Any], ...] = ()
    max_registers: int | None = None
    error: Error | None = None


def _run(
    tried: Sequence[Trial], run: Callable[[Trial], _Outcome], jobs: int | None, progress: bool | None
) -> list[_Outcome]:
    """The outcomes of all trials, on threads, in order."""
    hidden = None if progress is None else not progress
    with ThreadPoolExecutor(at_a_time(jobs), thread_name_prefix="advise") as pool:
        return list(tqdm(pool.map(run, tried), "advise", len(tried), leave=False, disable=hidden))


def _simulated(trial: Trial, args: Sequence[Any], options: Mapping[str, Any]) -> _Outcome:
    """The outcome of a trial on copies of the arguments."""
    mine = copied(args)
    try:
        launch = trial.make()
        most = _limit(trial, launch, mine, options)
        result = launch[0].simulate(launch[1], launch[2], mine, **{**options, **trial.options, "max_registers": most})
    except Error as error:
        return _Outcome(trial, error=error)
    arrays = tuple(value for value in flatten(mine) if isinstance(value, np.ndarray))
    return _Outcome(trial, launch, result, arrays, most)


def _budget(fits: Occupancy, gpu: Gpu, block: Dim3, extra: int) -> int:
    """The most registers per thread with which K + extra blocks reside, or what warps, threads and slots allow."""
    others = [blocks for name, blocks in fits.limits.items() if name in ("warps", "threads", "blocks") and blocks]
    return registers_for(gpu, block, min(fits.blocks + extra, *others))


def _limit(trial: Trial, launch: Launch, args: Sequence[Any], options: Mapping[str, Any]) -> int | None:
    """The limit of registers for a trial: its budget if it would take more, else what `advise` was told."""
    told: int | None = options["max_registers"]
    if trial.budget is None:
        return told
    kernel, grid, block = launch
    same = {name: options[name] for name in ("gpu", "schedule", "dynshared")}
    taken = kernel.compile(args, grid=grid, block=block, **same).nregs
    return trial.budget if taken > trial.budget else told


def _difference(outcome: _Outcome, baseline: _Outcome) -> float | None:
    """The largest difference of an array from the baseline's, 0 if none holds other bits; None if one did not run."""
    if outcome.error is not None:
        return None
    return max((difference(a, b) or 0.0 for a, b in zip(outcome.arrays, baseline.arrays, strict=True)), default=0.0)


def _no_worse(outcome: _Outcome, baseline: _Outcome) -> bool:
    """Whether the check of a run found nothing of a kind that it did not find in the baseline."""
    kinds = [{f.kind for f in run.result.findings or ()} if run.result else set[str]() for run in (outcome, baseline)]
    return kinds[0] <= kinds[1]


def _scheme(outcome: _Outcome, baseline: _Outcome) -> Scheme:
    """The scheme that an outcome speaks of, beside the baseline."""
    name, software = outcome.trial.name, outcome.trial.software
    if outcome.launch is None or outcome.result is None or baseline.result is None:
        return Scheme(name, software, refused=reason(outcome.error))
    differences = [difference(a, b) for a, b in zip(outcome.arrays, baseline.arrays, strict=True)]
    equal = all(d is None for d in differences)
    largest = max((d or 0.0 for d in differences), default=0.0)
    speedup = outcome.result.speedup(baseline.result)
    known = {error.kind for error in misuses(baseline.result)}
    errors = tuple(error for error in misuses(outcome.result) if error.kind not in known)
    facts = (*outcome.launch, outcome.result, speedup, equal, largest, errors)
    return Scheme(name, software, *facts, max_registers=outcome.max_registers)
