"""A launch before it runs: its machine and sizes as they were given, its arguments in a row."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from smmux.base.dimensions import dim3
from smmux.compiler.launch_facts import Facts
from smmux.errors import LaunchError
from smmux.gpus import Gpu
from smmux.language.placement import flatten

__all__ = ["Prepared", "facts_of"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a launch, its compiler and its core all ask for, found once.

    values: the arguments, those in tuples too, in order. facts: what is known of the integers in the kernel.
    """

    machine: Gpu
    grid: int | Sequence[int]
    block: int | Sequence[int]
    values: tuple[Any, ...]
    facts: Facts

    @classmethod
    def of(cls, machine: Gpu, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence[Any]) -> Prepared:
        """A launch of arguments that the kernel's parameters can take."""
        values = tuple(flatten(args))
        return cls(machine, grid, block, values, facts_of(values, grid, block))


def facts_of(values: Sequence[Any], grid: Any = None, block: Any = None) -> Facts:
    """What a launch tells of the integers in a kernel; nothing of sizes that no machine takes, which it will say."""
    with suppress(LaunchError):
        size = {what: dim3(what, value) for what, value in (("grid", grid), ("block", block)) if value is not None}
        return Facts.of_launch(values, **size)
    return Facts()
