"""Where the schedulers' time goes, and what warps wait for: the same breakdown for every figure (`--stalls`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from experiments.common import harness
from smmux import _core
from smmux.sweep import Record

__all__ = ["REASONS", "at_barriers", "for_memory", "shares", "table"]

REASONS = ("issue", *(counter.removeprefix("idle_") for _, counter, _ in _core.WAITS))
WARP = 32


def shares(record: Record) -> dict[str, float]:
    """Shares of scheduler time by reason; they add up to 1."""
    total = record["scheduler_cycles"] or 1
    return {reason: record["issue_cycles" if reason == "issue" else f"idle_{reason}"] / total for reason in REASONS}


def at_barriers(record: Record) -> float:
    """Share of the warps' lives spent at barriers until the last warp of the block arrives.

    A scheduler is hardly ever idle for a barrier alone: the warp that others wait for waits for something itself.
    """
    return float(record["barrier_wait_cycles"] / (record["block_cycles"] * record["threads"] / WARP or 1))


def for_memory(record: Record) -> float:
    """Share of the warps' lives spent waiting for a grant of shared memory."""
    return float(record["allocation_wait_cycles"] / (record["block_cycles"] or 1))


def table(records: Iterable[Record], labels: Callable[[Record], tuple[Any, ...]], header: tuple[str, ...]) -> str:
    """A row per record, shares in percent, of scheduler time and of the lives of warps.

    labels: the first cells of a record's row; header: their titles.
    """
    rows = []
    for record in records:
        found = shares(record)
        values = [*(found[reason] for reason in REASONS), at_barriers(record), for_memory(record)]
        rows.append((*labels(record), *(f"{100 * value:.1f}" for value in values)))
    return "scheduler time in percent; last, time of warps\n" + harness.table(
        (*header, *REASONS, "warps at barriers", "for memory"), rows
    )
