"""Processes that run the tasks of an executor, each one those of a kind as long as the others have enough to do.

Tasks of a kind share what a process keeps: compiled kernels, inputs, results. Processes that took tasks in turn would
each make all of it.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

__all__ = ["Workers"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Task:
    kind: Hashable
    call: tuple[Any, ...]
    future: Future[Any]


class Workers(Executor):
    """An executor of `count` processes.

    The kind of a task is the first value of the mapping that it has as its last argument: of the point of a sweep, so
    that points with the same first value are of one kind. A process takes tasks of its own kinds first, then those of
    a kind that no process has, and else helps the process that has most left. Tasks of a kind start in the order in
    which they were submitted, but for those taken over, which are the last ones.
    """

    def __init__(self, count: int) -> None:
        self._tasks: list[_Task] = []
        self._owners: dict[Hashable, int] = {}
        self._open = True
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._serve, args=(i,), name=f"worker {i}", daemon=True) for i in range(count)
        ]
        atexit.register(self.shutdown)  # a program that leaves that out would wait for threads that wait for tasks
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The future of `fn(*args, **kwargs)`, which are pickled on their way. Raises RuntimeError after `shutdown`."""
        future: Future[T] = Future()
        with self._changed:
            if not self._open:
                raise RuntimeError("the workers have been shut down")
            self._tasks.append(_Task(_kind(args), (fn, args, kwargs), future))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when the tasks are done, or those that run if the others are cancelled."""
        with self._changed:
            self._open = False
            if cancel_futures:
                for task in self._tasks:
                    task.future.cancel()
            self._changed.notify_all()
        atexit.unregister(self.shutdown)
        if wait:
            for thread in self._threads:
                thread.join()

    def _serve(self, worker: int) -> None:
        """Pass tasks on to one process, one at a time."""
        _mask("SIG_BLOCK")  # which the process inherits, so that Ctrl-C does not meet its imports
        spawn = multiprocessing.get_context("spawn")  # other threads may hold locks, which a fork would copy
        with ProcessPoolExecutor(1, mp_context=spawn, initializer=_start) as process:
            while task := self._next(worker):
                if not task.future.set_running_or_notify_cancel():
                    continue
                try:
                    result = process.submit(_run, *task.call).result()
                except BaseException as error:
                    task.future.set_exception(error)
                else:
                    task.future.set_result(result)

    def _next(self, worker: int) -> _Task | None:
        """The task that a worker is to do next, when there is one; None after `shutdown`."""
        with self._changed:
            while not self._tasks:
                if not self._open:
                    return None
                self._changed.wait()
            return self._tasks.pop(self._chosen(worker))

    def _chosen(self, worker: int) -> int:
        """The place of that task among those that wait."""
        owners = [self._owners.get(task.kind) for task in self._tasks]
        for wanted in (worker, None):
            if wanted in owners:
                place = owners.index(wanted)
                self._owners[self._tasks[place].kind] = worker
                return place
        (busiest, _), *_ = Counter(owners).most_common(1)
        return len(owners) - 1 - owners[::-1].index(busiest)


def _kind(args: tuple[Any, ...]) -> Hashable:
    """The kind of a call with these arguments."""
    last = args[-1] if args else None
    return str(next(iter(last.values()), "")) if isinstance(last, Mapping) else ""


def _start() -> None:
    """Prepare a process: while it waits, Ctrl-C is the business of the process that it works for, and it ends with that
    one, even if that is killed.

    Programs stay once they are compiled: looking for garbage less often makes compiling faster.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mask("SIG_UNBLOCK")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(100_000)


def _mask(how: str) -> None:
    """Block or unblock Ctrl-C in this thread, where the system knows such."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT})


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(function: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> T:
    """Run a task, which Ctrl-C interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return function(*args, **kwargs)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
