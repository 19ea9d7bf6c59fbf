"""Ctrl-C and runs in threads that are not the main one.

Python delivers SIGINT to the main thread alone. A run in another thread asks now and then what became of that: while
the main thread deals with a KeyboardInterrupt, waiting in `with ThreadPoolExecutor(...)` for instance, or has ended
with one, the run ends with a KeyboardInterrupt too.
"""

from __future__ import annotations

import sys
import threading

__all__ = ["poll"]


def poll() -> None:
    """Raise KeyboardInterrupt if Ctrl-C is stopping the main thread, and this is another one.

    In the main thread Python raises it by itself. So does any exception that `PyThreadState_SetAsyncExc` has set for
    this thread: that this function runs at all is what lets it through.
    """
    main = threading.main_thread()
    if threading.current_thread() is main:
        return
    error = _handled_by(main.ident) if main.is_alive() else getattr(sys, "last_value", None)
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt("the main thread was interrupted")
        error = error.__context__


def _handled_by(thread: int | None) -> BaseException | None:
    """The exception that the thread is dealing with."""
    exception = sys._current_exceptions().get(thread or 0)
    return exception[1] if isinstance(exception, tuple) else exception  # a triple before Python 3.12
