"""Collects what a kernel's accesses waste, from its recorded run, and which barriers it can do without, by trying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from smmux.advice.banks import conflicts, padded
from smmux.advice.barriers import unneeded, without
from smmux.advice.constant_tables import tables
from smmux.advice.improvement import Improvement
from smmux.advice.layout import layouts
from smmux.advice.partitions import camping
from smmux.advice.sites import sites_of
from smmux.kernels.kernel import Kernel
from smmux.results.result import Result

__all__ = ["RECORDED", "improvements"]

RECORDED = 4096
"""Record this many accesses of one block of each SM: a block of 256 threads that accesses memory 500 times fits."""

TRIED = 4
"""Try to leave out at most this many barriers of a kernel: each takes a run."""

LEAST = 1.01
"""Report a change that was tried only if the kernel is at least this many times as fast with it."""


def improvements(
    run: Result, kernel: Kernel, args: Sequence[Any], trial: Callable[[Kernel], Result | None]
) -> tuple[Improvement, ...]:
    """Return the improvements of a kernel's accesses and barriers, in the order of lines.

    run: the kernel's run with those arguments, with a profile and `RECORDED` accesses. trial: runs a changed kernel in
    its place, and gives the result, or None if outputs differ or the check finds something new.
    """
    sites = sites_of(run, args)
    banks = filter(None, (_tried(each, run, kernel, trial) for each in conflicts(sites, kernel)))
    found = [*layouts(sites), *banks, *camping(sites), *tables(sites), *_superfluous(run, kernel, trial)]
    return tuple(sorted(found, key=lambda each: (each.line, each.kind)))


def _tried(
    found: Improvement, run: Result, kernel: Kernel, trial: Callable[[Kernel], Result | None]
) -> Improvement | None:
    """Try a pad: return it with what it gains, or None if it gains nothing.

    It is returned untried if the array has no rows that could be made longer.
    """
    array = next(array for array in run.program.shared_arrays if array.name == found.array)
    other = padded(kernel, array, found.change["pad"])
    result = trial(other) if other is not None else None
    if other is None:
        return found
    if result is None or result.cycles * LEAST > run.cycles:
        return None
    return replace(found, remedy=f"{found.remedy}; tried, {result.cycles:,} cycles instead of {run.cycles:,}")


def _superfluous(run: Result, kernel: Kernel, trial: Callable[[Kernel], Result | None]) -> Iterator[Improvement]:
    """Yield the barriers without which the kernel gives the same outputs, faster."""
    gone: list[int] = []
    before = run.cycles
    for line in unneeded(run, kernel)[:TRIED]:
        other = trial(without(kernel, [*gone, line]))
        if other is None or other.cycles * LEAST > before:
            continue
        gone.append(line)
        facts = kernel.definition.filename, line, "", "cycles", before, other.cycles, 1 - other.cycles / before
        why = "no access needs this barrier, since no two threads access one word right before and behind it"
        yield Improvement("barrier", *facts, why, f"tried without it, {other.cycles:,} cycles instead of {before:,}")
        before = other.cycles
