"""Where the schedulers' time goes: the same breakdown for every figure (`--stalls`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from experiments import harness
from smmux.sweep import Record

__all__ = ["REASONS", "shares", "table"]

REASONS = (
    "issue", "alu", "shared", "global", "unit", "barrier", "allocation", "credits", "fetch", "no_block", "other",
)  # fmt: skip


def shares(record: Record) -> dict[str, float]:
    """Shares of scheduler time by reason; they add up to 1."""
    total = record["scheduler_cycles"] or 1
    return {reason: record["issue_cycles" if reason == "issue" else f"idle_{reason}"] / total for reason in REASONS}


def table(records: Iterable[Record], labels: Callable[[Record], tuple[Any, ...]], header: tuple[str, ...]) -> str:
    """A row per record, shares in percent. labels: the first cells of a record's row; header: their titles."""
    rows = []
    for record in records:
        found = shares(record)
        rows.append((*labels(record), *(f"{100 * found[reason]:.1f}" for reason in REASONS)))
    return "scheduler time in percent\n" + harness.table((*header, *REASONS), rows)
