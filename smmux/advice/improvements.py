"""All improvements of a kernel's accesses that its recorded run shows, and of its barriers, which are tried."""

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
"""Accesses that are kept of a block of each SM: those of a block of 256 threads that accesses memory 500 times."""

TRIED = 4
"""Barriers of a kernel that are tried without, at most: each takes a run."""

LEAST = 1.01
"""Times faster that a changed kernel has to be where it is tried; what costs nothing is not worth saying."""


def improvements(
    run: Result, kernel: Kernel, args: Sequence[Any], trial: Callable[[Kernel], Result | None]
) -> tuple[Improvement, ...]:
    """What the accesses and the barriers of a kernel show, in the order of lines.

    run: of the kernel with those arguments, with a profile and `RECORDED` accesses. trial: runs another kernel in its
    place; gives the result, None unless its outputs and the findings of its check are the kernel's own.
    """
    sites = sites_of(run, args)
    banks = filter(None, (_tried(each, run, kernel, trial) for each in conflicts(sites, kernel)))
    found = [*layouts(sites), *banks, *camping(sites), *tables(sites), *_superfluous(run, kernel, trial)]
    return tuple(sorted(found, key=lambda each: (each.line, each.kind)))


def _tried(
    found: Improvement, run: Result, kernel: Kernel, trial: Callable[[Kernel], Result | None]
) -> Improvement | None:
    """A pad with what it gains, if it does; as it is where it takes more than a longer row to try it."""
    array = next(array for array in run.program.shared_arrays if array.name == found.array)
    other = padded(kernel, array, found.change["pad"])
    result = trial(other) if other is not None else None
    if other is None:
        return found
    if result is None or result.cycles * LEAST > run.cycles:
        return None
    return replace(found, remedy=f"{found.remedy}; tried, {result.cycles:,} cycles instead of {run.cycles:,}")


def _superfluous(run: Result, kernel: Kernel, trial: Callable[[Kernel], Result | None]) -> Iterator[Improvement]:
    """The barriers without which the kernel gives the same, and faster."""
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
