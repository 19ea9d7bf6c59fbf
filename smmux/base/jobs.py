"""How many things run at a time."""

from __future__ import annotations

import argparse
import operator
import os
from typing import SupportsIndex

from smmux.errors import ConfigError

__all__ = ["at_a_time", "available_processors", "count_of_jobs"]


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def at_a_time(jobs: int | None) -> int:
    """The number of simulations that run at a time, by default one per processor. Raises ConfigError for any value but
    None and an integer from 1 on."""
    if jobs is None:
        return available_processors()
    if not isinstance(jobs, SupportsIndex):
        raise ConfigError(f"jobs must be an integer, not {jobs!r}")
    if (number := operator.index(jobs)) < 1:
        raise ConfigError(f"jobs must be at least 1, not {number}")
    return number


def count_of_jobs(text: str) -> int:
    """A number of simulations at a time, from a word of the command line, for `argparse`."""
    try:
        return at_a_time(int(text))
    except ValueError:  # a ConfigError is one
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on") from None
