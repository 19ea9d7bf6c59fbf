"""The search for the scheme that pays: simulations of a kernel as it is and in the forms that may be faster.

Forms of which an SM holds no more of the kernel's blocks, and numbers of blocks that leave a run as it was, are not
run. All others run without a check; those that would be the answer run again, checked.
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
"""The other schedule than each."""

PATIENCE = 100
"""Times the cycles of the kernel itself, after which the kernel is given up under another schedule or isolated."""

LOST = 20
"""Times the cycles of the kernel itself, after which a scheme is given up: by how much more it loses helps nobody."""

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
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Simulate a kernel as it is and under every scheme that may pay, and look at its accesses to memory.

    The arguments are left as they are.

    divided: arguments of `multiplex.co_vtb` and `co_hw` that say which part of shared memory is private ("array",
    "private", ...); without them the collaborative schemes do not apply. schedule: as for `simulate`, the machine's own
    by default. max_registers: registers per thread in all runs; by default each kernel has as many as it
    takes, as when it is launched without that option. Then only the kernels for the paper's hardware get fewer, where
    K + n blocks of them would not find room otherwise, and the advice says so; speedups refer to the kernel as it is.
    dynshared, max_cycles: as for `simulate`; a scheme that takes twenty times as long as the kernel itself is given up.
    jobs: simulations at a time (default: one per processor). progress: whether to show a bar with what is running
    (default: on a terminal).

    The kernel's own run and those of the schemes that would be the best are checked for races, so that outputs that are
    equal by luck are told from those that have to be. Virtual blocks are not tried where an SM would hold no more of
    the kernel's blocks than without them, or than with fewer. The kernel itself runs under the other schedule too: if
    its outputs differ there, it counts on an order that it does not state. `improvements` of the answer say, line by
    line, what other layouts, indices, pads or pitches would save, and which barriers nothing needs: estimates from the
    counters of the whole run and the addresses of one block of each SM; kernels without such barriers are run.

    Raises the errors of the kernel's own run, and ConfigError for fewer than one job or a declaration without meaning;
    a scheme that cannot be applied is reported with its reason instead.
    """
    at_a_time(jobs)  # refuse nonsense before the baseline runs
    division = declared(divided)
    machine = gpus.current() if gpu is None else gpus.get(gpu)
    own = dim3("grid", grid), dim3("block", block)
    definition_of(kernel)
    schedule = machine.schedule if schedule is None else schedule
    common = {"schedule": schedule, "max_registers": max_registers, "dynshared": dynshared}
    with Runs(machine, args, common, jobs, progress) as runs:
        baseline = _as_it_is(runs, kernel, own, max_cycles)
        assert baseline.result is not None
        fits = occupancy_of(baseline.result)
        budget = partial(_budget, fits, machine, own[1]) if max_registers is None else None
        room = machine.smem_bytes - static_reserved(baseline.result.program, machine)
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
    """The limit of a run that may take so many times as long as the kernel itself."""
    assert baseline.result is not None
    return min(times * baseline.result.cycles, most or DEFAULT_MAX_CYCLES)


# -- the kernel itself


def _as_it_is(runs: Runs, kernel: Kernel, own: tuple[Dim3, Dim3], max_cycles: int | None) -> Outcome:
    """The kernel's own run, checked, with all that is recorded of its accesses. Raises its errors."""
    watched = {"profile": True, "accesses": RECORDED, "max_cycles": max_cycles}
    baseline = runs.one(Trial(kernel.__name__, lambda: (kernel, *own)), **watched, **CHECKED)
    if baseline.error is not None:
        raise baseline.error
    return baseline


def _looked_into(
    runs: Runs, kernel: Kernel, own: tuple[Dim3, Dim3], baseline: Outcome, max_cycles: int | None
) -> list[Outcome]:
    """The kernel with barriers around its regions, and under the other schedule."""
    schedule = OTHER[runs.options["schedule"]]
    timed = Trial("isolated", lambda: (multiplex.isolate(kernel), *own))
    reordered = Trial(f"schedule {schedule}", lambda: (kernel, *own), options={"schedule": schedule})
    return runs.each(partial(runs.one, max_cycles=_cycles(PATIENCE, baseline, max_cycles)), [timed, reordered])


def _same(runs: Runs, own: tuple[Dim3, Dim3], baseline: Outcome, changed: Kernel) -> Result | None:
    """The run of a changed kernel, if it gives what the kernel gives, faster, and its check finds nothing new."""
    trial = Trial("changed line", lambda: (changed, *own))
    assert baseline.result is not None
    outcome = runs.one(trial, max_cycles=baseline.result.cycles)
    if outcome.difference(baseline) == 0:
        outcome = runs.one(trial, **CHECKED)
    return outcome.result if outcome.difference(baseline) == 0 and outcome.no_worse(baseline) else None


# -- schemes


def _raced(runs: Runs, tried: Sequence[Trial], blocks: int, max_cycles: int) -> list[Outcome]:
    """The outcomes of all trials, of which those run that may win. blocks: how many an SM holds of the kernel."""
    families: dict[str, list[Trial]] = {}
    for trial in tried:
        families.setdefault(trial.family or trial.name, []).append(trial)
    runs.expect(len(tried))
    race = partial(_family, runs, blocks, max_cycles)
    outcomes = {each.trial.name: each for family in runs.each(race, list(families.values())) for each in family}
    return [outcomes[trial.name] for trial in tried]


def _family(runs: Runs, blocks: int, max_cycles: int, family: Sequence[Trial]) -> list[Outcome]:
    """The outcomes of one scheme with more and more blocks, up to a number with which an SM holds no more of them."""
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
    """The run before, if one with more blocks allowed is the same, since something else allows no more of them."""
    run, extra = before.result, ready.trial.options.get("extra_blocks")
    if run is None or extra is None or run.limiter == "counter" or before.max_registers != ready.max_registers:
        return None
    return replace(ready, result=replace(run, extra_blocks=extra), arrays=before.arrays)


def _budget(fits: Occupancy, gpu: Gpu, block: Dim3, extra: int) -> int:
    """The most registers per thread with which K + extra blocks reside, or what warps, threads and slots allow."""
    others = [blocks for name, blocks in fits.limits.items() if name in ("warps", "threads", "blocks") and blocks]
    return registers_for(gpu, block, min(fits.blocks + extra, *others))


def _verified(runs: Runs, outcomes: Sequence[Outcome], baseline: Outcome) -> tuple[Scheme, ...]:
    """The schemes that the outcomes speak of; the fastest with and without hardware of its own have been checked."""
    schemes = {each.trial.name: _scheme(each, baseline) for each in outcomes}
    for software in (True, False):
        unchecked = {each.trial.name: each for each in outcomes if each.trial.software is software}
        names = tuple(unchecked)
        while (best := fastest([schemes[name] for name in names])) is not None and best.name in unchecked:
            runs.expect(1)
            schemes[best.name] = _scheme(runs.simulated(unchecked.pop(best.name), **CHECKED), baseline)
    return tuple(schemes.values())


def _scheme(outcome: Outcome, baseline: Outcome) -> Scheme:
    """The scheme that an outcome speaks of, beside the baseline."""
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
