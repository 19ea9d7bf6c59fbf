"""Ctrl-C and runs in threads that are not the main one.

Python delivers SIGINT to the main thread alone. A run in another thread asks now and then what became of that: while
the main thread deals with a KeyboardInterrupt, waiting in `with ThreadPoolExecutor(...)` for instance, or has ended
with one, the run ends with a KeyboardInterrupt too.

While a command starts, which takes a second of imports, there is nothing to finish: Ctrl-C ends it with one line.
"""

from __future__ import annotations

import os
import sys
from types import FrameType, TracebackType

__all__ = ["end_of_start", "poll", "start"]

COMMANDS = ("smmux", "experiments")
"""Packages that are commands: `python -m smmux`, `python -m experiments.NAME`, and `smmux`."""


def _is_command() -> bool:
    """Whether this process is one of our commands that is just starting."""
    word, words = os.path.basename([*sys.argv, ""][0]), sys.orig_argv
    module = words[words.index("-m") + 1] if word == "-m" and "-m" in words[:-1] else word
    return module.partition(".")[0] in COMMANDS


def _in_one_line(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
    else:
        sys.__excepthook__(kind, error, place)


if _is_command():
    sys.excepthook = _in_one_line  # for the imports that follow

import signal  # noqa: E402
import threading  # noqa: E402

_usual = signal.default_int_handler


def start() -> None:
    """Let Ctrl-C end the process with one line until `end_of_start`, if this is a command that starts."""
    alone = threading.current_thread() is threading.main_thread()
    if _is_command() and alone and signal.getsignal(signal.SIGINT) is _usual:
        signal.signal(signal.SIGINT, _leave)


def end_of_start() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again, which the caller now catches."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _usual)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)


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
