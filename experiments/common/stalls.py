"""Where the schedulers' time goes, and how long warps and blocks wait: the same table for every figure (`--stalls`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from experiments.common import tables
from smmux import _core
from smmux.sweep import Record

__all__ = ["REASONS", "at_barriers", "for_memory", "shares", "table"]

IDLE = "idle_"
WAITS = [counter.removeprefix(IDLE) for _, counter, _ in _core.WAITS]
"""Reasons to wait: each has a counter of the clocks in which a scheduler was idle for it."""
REASONS = ("issue", *WAITS)
"""What a scheduler does with its time: it issues, or it is idle for a reason."""
WARP = 32
"""Threads of a warp."""


def shares(record: Record) -> dict[str, float]:
    """Shares of the schedulers' time by reason; they add up to 1."""
    clocks = {"issue": record["issue_cycles"], **{reason: record[f"{IDLE}{reason}"] for reason in WAITS}}
    total = record["scheduler_cycles"] or 1
    return {reason: count / total for reason, count in clocks.items()}


def at_barriers(record: Record) -> float:
    """Share of the warps' lives spent at barriers until the last warp of the block arrives.

    A scheduler is hardly ever idle for a barrier alone: the warp that others wait for waits for something itself.
    """
    return float(record["barrier_wait_cycles"] / (record["block_cycles"] * record["threads"] / WARP or 1))


def for_memory(record: Record) -> float:
    """Share of the blocks' lives spent waiting for a grant of shared memory."""
    return float(record["allocation_wait_cycles"] / (record["block_cycles"] or 1))


def table(records: Iterable[Record], labels: Callable[[Record], tuple[Any, ...]], header: tuple[str, ...]) -> str:
    """A table with a row per record, in percent of the schedulers' time, of the warps' lives and of the blocks'.

    labels: the first cells of a record's row; header: their titles.
    """
    rows = []
    for record in records:
        values = [*shares(record).values(), at_barriers(record), for_memory(record)]
        rows.append((*labels(record), *(f"{100 * value:.1f}" for value in values)))
    return "percent of the schedulers' time by reason; then of the warps' lives, and of the blocks'\n" + tables.table(
        (*header, *REASONS, "warps at barriers", "blocks for memory"), rows
    )
