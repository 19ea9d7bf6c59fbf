"""Searches for the scheme that pays: simulates a kernel as it is, and in the forms that may be faster.

A form is not run if an SM would hold no more of the kernel's blocks with it, nor if its number of blocks changes
nothing about a run that was made already. All others run without a check; the one that would be the answer runs again,
checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from smmux import gpus, multiplex, preload
from smmux.advice.answer import Advice, Scheme, fastest
from smmux.advice.improvements import RECORDED, improvements
from smmux.advice.measures import difference, misuses, occupancy_of, region_share
from smmux.advice.schemes import Trial, declared, trials
from smmux.advice.text import reason
from smmux.advice.trial_runs import Outcome, Runs
from smmux.base.dimensions import Dim3, dim3
from smmux.base.jobs import at_a_time
from smmux.base.tracebacks import brief
from smmux.gpus import Gpu
from smmux.kernels.kernel import Kernel, definition_of
from smmux.machines.occupancy import Occupancy, registers_for, static_reserved
from smmux.results.recorded import accesses_of
from smmux.results.result import Result
from smmux.running.launch_options import DEFAULT_MAX_CYCLES

__all__ = ["advise"]

OTHER = {"source": "list", "list": "source"}
"""Each schedule's other one."""

PATIENCE = 100
"""Give the kernel up, under the other schedule or isolated, after this many times the cycles of its own run."""

LOST = 20
"""Give a scheme up after this many times the cycles of the kernel's own run: it has lost, and the rest helps nobody."""

CHECKED = {"check": "races"}


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
    carveout: int | None = None,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Simulate a kernel as it is and under every scheme that may pay, and look at its accesses to memory.

    The arguments are left as they are.

    divided: arguments of `multiplex.co_vtb` and `co_hw` that say which part of shared memory is private ("array",
    "private", ...); without them the collaborative schemes do not apply. schedule: as for `simulate`, by default the
    machine's own. max_registers: the limit of registers per thread in all runs. By default there is none, as when the
    kernel is launched without that option; only a kernel for the paper's hardware gets a limit, if its K + n blocks
    would not find room otherwise, and the advice says so. Speedups are over the kernel as it is. dynshared,
    carveout, max_cycles: as for `simulate`; a scheme is given up when it has taken twenty times as long as the
    kernel itself. jobs: how many simulations run at a time, by default one per processor. progress: whether to show
    a bar with what is running, by default only on a terminal.

    Outputs may be equal by luck. Therefore the kernel's own run, and that of each scheme that would be the best, is
    checked for races; and the kernel runs under the compiler's other schedule too: if its outputs differ there, it
    counts on an order that it does not state. Virtual blocks are not tried if an SM would hold no more of the kernel's
    blocks with them than without, or than with fewer of them.

    The answer's `improvements` say, line by line, what another layout, index, pad or pitch would save, and which
    barriers nothing needs. They are estimates from the counters of the whole run and the addresses of one block of each
    SM; kernels without those barriers are run.

    Raises the errors of the kernel's own run, and ConfigError for fewer than one job or a declaration without meaning.
    A scheme that cannot be applied raises nothing: it is reported with the reason.
    """
    at_a_time(jobs)  # refuse nonsense before the baseline runs
    division = declared(divided)
    machine = (gpus.current() if gpu is None else gpus.get(gpu)).with_carveout(carveout)
    own = dim3("grid", grid), dim3("block", block)
    definition_of(kernel)
    schedule = machine.schedule if schedule is None else schedule
    common = {"schedule": schedule, "max_registers": max_registers, "dynshared": dynshared}
    with Runs(machine, args, common, jobs, progress) as runs:
        baseline = _as_it_is(runs, kernel, own, max_cycles)
        assert baseline.result is not None
        fits = occupancy_of(baseline.result)
        budget = partial(_budget, fits, machine, own[1]) if max_registers is None else None
        room = machine.smem_block - static_reserved(baseline.result.program, machine)
        tile = partial(preload.tile, kernel, *own, args, dynshared=dynshared, shared_bytes=room)
        tried = [*trials(kernel, own, division, budget), Trial("tiles", lambda: (tile(), *own))]
        isolated, other = _looked_into(runs, kernel, own, baseline, max_cycles)
        outcomes = _raced(runs, tried, fits.blocks, _cycles(LOST, baseline, max_cycles))
        schemes = _verified(runs, outcomes, baseline)
        found = improvements(baseline.result, kernel, args, partial(_same, runs, own, baseline))
    return Advice(
        kernel=kernel,
        grid=own[0],
        block=own[1],
        baseline=replace(baseline.result, accesses=accesses_of()),
        improvements=found,
        occupancy=fits,
        region_share=region_share(isolated.result),
        unshared=reason(isolated.error),
        reordered=other.difference(baseline),
        schemes=schemes,
        schedule=schedule,
        max_registers=max_registers,
        dynshared=dynshared,
    )


def _cycles(times: int, baseline: Outcome, most: int | None) -> int:
    """Return the limit of cycles for a run that may take `times` as long as the kernel's own, at most `most`."""
    assert baseline.result is not None
    return min(times * baseline.result.cycles, most or DEFAULT_MAX_CYCLES)


# -- the kernel itself


def _as_it_is(runs: Runs, kernel: Kernel, own: tuple[Dim3, Dim3], max_cycles: int | None) -> Outcome:
    """Run the kernel as it is, checked, and record its accesses. Raises the errors of the run."""
    watched = {"profile": True, "accesses": RECORDED, "max_cycles": max_cycles}
    baseline = runs.one(Trial(kernel.__name__, lambda: (kernel, *own)), **watched, **CHECKED)
    if baseline.error is not None:
        raise baseline.error
    return baseline


def _looked_into(
    runs: Runs, kernel: Kernel, own: tuple[Dim3, Dim3], baseline: Outcome, max_cycles: int | None
) -> list[Outcome]:
    """Run the kernel twice more: with barriers around its regions, and under the other schedule."""
    schedule = OTHER[runs.options["schedule"]]
    timed = Trial("isolated", lambda: (multiplex.isolate(kernel), *own))
    reordered = Trial(f"schedule {schedule}", lambda: (kernel, *own), options={"schedule": schedule})
    return runs.each(partial(runs.one, max_cycles=_cycles(PATIENCE, baseline, max_cycles)), [timed, reordered])


def _same(runs: Runs, own: tuple[Dim3, Dim3], baseline: Outcome, changed: Kernel) -> Result | None:
    """Run a changed kernel; None unless it is faster, gives the same, and its check finds nothing new."""
    trial = Trial("changed line", lambda: (changed, *own))
    assert baseline.result is not None
    outcome = runs.one(trial, max_cycles=baseline.result.cycles)
    if outcome.difference(baseline) == 0:
        outcome = runs.one(trial, **CHECKED)
    return outcome.result if outcome.difference(baseline) == 0 and outcome.no_worse(baseline) else None


# -- schemes


def _raced(runs: Runs, tried: Sequence[Trial], blocks: int, max_cycles: int) -> list[Outcome]:
    """Run the trials that may win, and return the outcomes of all. blocks: how many of the kernel's an SM holds."""
    families: dict[str, list[Trial]] = {}
    for trial in tried:
        families.setdefault(trial.family or trial.name, []).append(trial)
    runs.expect(len(tried))
    race = partial(_family, runs, blocks, max_cycles)
    outcomes = {each.trial.name: each for family in runs.each(race, list(families.values())) for each in family}
    return [outcomes[trial.name] for trial in tried]


def _family(runs: Runs, blocks: int, max_cycles: int, family: Sequence[Trial]) -> list[Outcome]:
    """Run one scheme with more and more blocks, until an SM holds no more of them; return the outcomes of all."""
    done: list[Outcome] = []
    most, whose, spared = blocks, "as they are", ""
    for trial in family:
        if spared:
            done.append(Outcome(trial, spared=spared))
            runs.expect(-1)
            continue
        ready = runs.compiled(trial)
        if ready.virtual and 0 < ready.held <= most:
            spared = f"{trial.name} lets an SM hold no more of the kernel's blocks ({ready.held}) than {whose} ({most})"
            done.append(replace(ready, spared=spared))
            runs.expect(-1)
        elif done and (same := _again(done[-1], ready)) is not None:
            done.append(same)
            runs.expect(-1)
        else:
            done.append(runs.simulated(ready, max_cycles=max_cycles))
            if ready.held > most:
                most, whose = ready.held, f"with {trial.name}"
    return done


def _again(before: Outcome, ready: Outcome) -> Outcome | None:
    """Return the run before as this one's if it is the same: something else limits the blocks, not how many may be."""
    run, extra = before.result, ready.trial.options.get("extra_blocks")
    if run is None or extra is None or run.limiter == "counter" or before.max_registers != ready.max_registers:
        return None
    return replace(ready, result=replace(run, extra_blocks=extra), arrays=before.arrays)


def _budget(fits: Occupancy, gpu: Gpu, block: Dim3, extra: int) -> int:
    """Return the most registers per thread that leave room for K + extra blocks.

    If warps, threads or slots allow fewer blocks, it is the room for these.
    """
    others = [blocks for name, blocks in fits.limits.items() if name in ("warps", "threads", "blocks") and blocks]
    return registers_for(gpu, block, min(fits.blocks + extra, *others))


def _verified(runs: Runs, outcomes: Sequence[Outcome], baseline: Outcome) -> tuple[Scheme, ...]:
    """Turn outcomes into schemes, and check the fastest one for cards that exist and the fastest one for new hardware.

    One that the check refuses gives way to the next.
    """
    schemes = {each.trial.name: _scheme(each, baseline) for each in outcomes}
    for software in (True, False):
        unchecked = {each.trial.name: each for each in outcomes if each.trial.software is software}
        names = tuple(unchecked)
        while (best := fastest([schemes[name] for name in names])) is not None and best.name in unchecked:
            runs.expect(1)
            schemes[best.name] = _scheme(runs.simulated(unchecked.pop(best.name), **CHECKED), baseline)
    return tuple(schemes.values())


def _scheme(outcome: Outcome, baseline: Outcome) -> Scheme:
    """Turn an outcome into a scheme: its run compared with the baseline's."""
    name, software = outcome.trial.name, outcome.trial.software
    if outcome.launch is None or outcome.result is None or baseline.result is None:
        return Scheme(name, software, refused=outcome.spared or reason(outcome.error))
    differences = [difference(a, b) for a, b in zip(outcome.arrays, baseline.arrays, strict=True)]
    equal = all(d is None for d in differences)
    largest = max((d or 0.0 for d in differences), default=0.0)
    speedup = outcome.result.speedup(baseline.result)
    known = {error.kind for error in misuses(baseline.result)}
    errors = tuple(error for error in misuses(outcome.result) if error.kind not in known)
    facts = (*outcome.launch, outcome.result, speedup, equal, largest, errors)
    return Scheme(name, software, *facts, max_registers=outcome.max_registers)
