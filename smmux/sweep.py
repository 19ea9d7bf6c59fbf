"""Parameter sweeps: a cross product of points, run on threads, tidy records out.

The core releases the GIL while it simulates, so threads use all processors and share the inputs.

>>> points = product(n=(1, 2), square=(False, True))
>>> sweep(lambda n, square: {"value": n * n if square else n}, points, jobs=2)[3]
{'n': 2, 'square': True, 'value': 4}
"""

from __future__ import annotations

import argparse
import itertools
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, SupportsIndex

from tqdm import tqdm

from smmux.errors import ConfigError

__all__ = ["Record", "product", "sweep"]

Record = dict[str, Any]


def product(**axes: Iterable[Any]) -> list[Record]:
    """All combinations of the axes' values, the last axis varying fastest."""
    names = list(axes)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]


def sweep(
    run: Callable[..., Mapping[str, Any]],
    points: Iterable[Mapping[str, Any]],
    *,
    jobs: int | None = None,
    description: str = "",
    progress: bool | None = None,
) -> list[Record]:
    """Call `run(**point)` for every point; a record is the point and what `run` returned, in the points' order.

    jobs: how many run at a time (default: one per processor). progress: whether to show a bar (default: on a terminal).
    A value that is neither number nor text becomes text in the record, its name if it has one, as machines and classes
    have. The first exception ends the sweep, with a note that says which point it was. Raises ConfigError for fewer
    than one job.
    """
    points = list(points)
    jobs = at_a_time(jobs)
    bar = tqdm(total=len(points), desc=description, disable=None if progress is None else not progress, leave=False)
    with bar, ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as pool:
        futures = [pool.submit(_run, run, point) for point in points]
        for future in futures:
            future.add_done_callback(lambda _: bar.update())
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


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


def _run(run: Callable[..., Mapping[str, Any]], point: Mapping[str, Any]) -> Record:
    try:
        record = {**point, **run(**point)}
    except Exception as error:
        error.add_note("at " + ", ".join(f"{name}={_plain(value)!r}" for name, value in point.items()))
        raise
    return {name: _plain(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return str(getattr(value, "name", getattr(value, "__name__", value)))
