"""Parameter sweeps: a cross product of points, run side by side, tidy records out."""

from __future__ import annotations

import contextlib
import itertools
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

from tqdm import tqdm

from smmux.base import settings
from smmux.base.jobs import at_a_time
from smmux.errors import ConfigError, boolean, did_you_mean
from smmux.sweep.cache import Cache, CacheWarning
from smmux.sweep.lookup import Lookup
from smmux.sweep.program_state import Witness, before, process, witness
from smmux.sweep.record_list import Record, Records
from smmux.sweep.workers import Workers

__all__ = ["Cache", "CacheWarning", "Record", "Records", "executing", "product", "sweep", "sweeping"]


T = TypeVar("T")


def product(**axes: Iterable[Any]) -> list[Record]:
    """All combinations of the axes' values, the last axis varying fastest.

    Raises ConfigError for an axis that is one value.
    """
    for name, values in axes.items():
        if not isinstance(values, Iterable):
            raise ConfigError(f"{name}={values!r} is one value, not the values of an axis; write {name}=[{values!r}]")
    names = list(axes)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]


@dataclass(frozen=True, slots=True)
class _Setting:
    """What sweeps use that are not given their own."""

    cache: Cache | None = None
    executor: Executor | None = None


_NONE = _Setting()
PLAIN: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}
"""What the value of a subclass is without it, as a file of records would give it back."""
_SETTING: ContextVar[_Setting] = ContextVar("sweeping", default=_NONE)


@contextlib.contextmanager
def sweeping(*, cache: Cache | None = None, executor: Executor | None = None) -> Iterator[None]:
    """Inside this context, the cache and the executor of every `sweep` of this thread that is not given its own. Of two
    contexts the inner one counts, and the outer one for what the inner one is not given."""
    outer = _SETTING.get()
    token = _SETTING.set(_Setting(outer.cache if cache is None else cache, executor or outer.executor))
    try:
        yield
    finally:
        _SETTING.reset(token)


def sweep(
    run: Callable[..., Mapping[str, Any]],
    points: Iterable[Mapping[str, Any]],
    *,
    jobs: int | None = None,
    description: str = "",
    progress: bool | None = None,
    cache: Cache | None = None,
    executor: Executor | None = None,
    version: str | int | None = None,
) -> Records:
    """Call `run(**point)` for every point; a record is the point and what `run` returned, in the points' order.

    jobs: how many run at a time (default: one per processor), on threads. progress: whether to show a bar (default: on
    a terminal). executor: what runs the points instead of threads, such as a `ProcessPoolExecutor` or, for a Dask
    cluster, `distributed.Client.get_executor()`; `run` and the points are pickled on their way. Points run under the
    settings of the caller, such as `gpus.set_current` and `narrow`. cache: where records are looked for and kept, by
    the point, the files of all modules of the program, and what is installed; a record is on disk as soon as its point
    has ended. version: what records are kept for in place of the program: whoever names one says when it changes.
    A value that is neither number nor text becomes text in the record, its name if it has one, as machines and classes
    have. The first exception ends the sweep, with a note that says which point it was. Raises ConfigError for fewer
    than one job, and for a point, or what `run` returned, that is no mapping.
    """
    points = [_mapping("a point must be", point) for point in points]
    jobs = at_a_time(jobs)
    hidden = None if progress is None else not boolean("progress", progress)
    setting = _SETTING.get()
    cache = setting.cache if cache is None else cache
    executor = executor or setting.executor
    lookup = Lookup(cache, run, points, version) if cache is not None else None
    known = lookup.known() if lookup else {}
    asking = process() if lookup and lookup.watched else None
    values = settings.current()
    bar = tqdm(total=len(points), desc=description, disable=hidden, leave=False)
    pool = executor or ThreadPoolExecutor(jobs, thread_name_prefix="sweep")
    with bar, pool if executor is None else contextlib.nullcontext():
        bar.update(len(known))
        missing = [i for i in range(len(points)) if i not in known]
        futures = {_submit(pool, _run, run, values, asking, points[i]): i for i in missing}
        try:
            for future in as_completed(futures):
                number = futures[future]
                known[number], seen = future.result()
                if lookup:
                    lookup.keep(number, known[number], seen)
                bar.update()
        finally:
            for future in futures:
                future.cancel()
    return Records(known[i] for i in range(len(points)))


@contextlib.contextmanager
def executing(name: str, jobs: int | None = None) -> Iterator[Executor | None]:
    """The executor of a name of the command line, until the context ends: "threads" (None, as `sweep` has its own),
    "processes" (`smmux.sweep.workers`), or "dask:ADDRESS", a scheduler of `distributed`.

    Raises ConfigError for other names, and where `distributed` or the scheduler are missing.
    """
    kind, _, address = name.partition(":")
    if name == "threads":
        yield None
    elif name == "processes":
        with Workers(at_a_time(jobs)) as pool:
            yield pool
    elif kind == "dask" and address:
        with _dask(address) as client:
            yield client.get_executor()
    else:
        hint = did_you_mean(name, ("threads", "processes"))
        raise ConfigError(f"no executor {name!r}{hint}; there are threads, processes and dask:ADDRESS")


def _dask(address: str) -> Any:
    """A client of a Dask cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise ConfigError("dask:ADDRESS needs the package distributed (pip install 'smmux[dask]')") from None
    try:
        connect: Callable[..., Any] = Client
        return connect(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address!r}: {error}") from None


def _submit(pool: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Submit a call; a thread gets all context variables, as the caller has them."""
    if isinstance(pool, ThreadPoolExecutor):
        return pool.submit(copy_context().run, function, *arguments)
    return pool.submit(function, *arguments)


def _run(
    run: Callable[..., Mapping[str, Any]], values: Mapping[str, Any], asking: str | None, point: Mapping[str, Any]
) -> tuple[Record, Witness | None]:
    """The record of a point under settings; and what this process is, for a process that asks."""
    if asking:
        before(asking)
    token = _SETTING.set(_NONE)  # an executor that waits for points of its own points would wait for ever
    try:
        with settings.under(values):
            name = getattr(run, "__name__", repr(run))
            record = {**point, **_mapping(f"{name} must return", run(**point))}
    except Exception as error:
        error.add_note("at " + ", ".join(f"{name}={_plain(value)!r}" for name, value in point.items()))
        raise
    finally:
        _SETTING.reset(token)
    return {name: _plain(value) for name, value in record.items()}, witness(asking) if asking else None


def _mapping(must: str, value: T) -> T:
    """The value. Raises ConfigError unless `**` takes it; must: how the message begins."""
    if not hasattr(value, "keys"):
        raise ConfigError(f"{must} a mapping, such as a dictionary, not {reprlib.repr(value)}")
    return value


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    for kind, plain in PLAIN.items():
        if isinstance(value, kind):
            return plain(value)
    return str(getattr(value, "name", getattr(value, "__name__", value)))
