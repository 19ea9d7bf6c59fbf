"""Source text that no file holds: functions typed at the prompt, made by `exec`, or given to `python -c`.

A text found somewhere is believed only if compiling it gives the function's own instructions, so that it does not
matter where it came from. `exec` and `compile` announce their text to audit hooks; `watch` sets one that remembers it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import linecache
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

__all__ = ["find", "watch"]

COMPARED: Final = "smmux compares"
"""File name of texts that this module itself compiles."""

LONGEST: Final = 1 << 18
"""Bytes of the longest text that is remembered or read [EST]: kernels have some thousand."""

_future: Any = importlib.import_module("__future__")
FUTURES: Final[int] = sum({getattr(_future, name).compiler_flag for name in _future.all_feature_names})
"""The flags of code that depend on `from __future__ import ...`."""

GENERATED: Final = ("def __create_fn__(", "lambda _cls,")
"""How texts begin that Python itself executes for each dataclass and named tuple: they would crowd out all others."""

_remembered: deque[bytes | str] = deque(maxlen=200)  # newest last


def watch() -> None:
    """Remember from now on the texts that Python compiles, where no file of that name exists; once is enough."""
    if _hook not in _hooks:
        _hooks.append(_hook)
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile":
        text, filename = arguments[0], arguments[1]
        if isinstance(text, bytes | str) and len(text) <= LONGEST and filename != COMPARED and _has_function(text):
            name = os.fsdecode(filename) if isinstance(filename, bytes | str) else "<>"
            if name.startswith("<") or not os.path.exists(name):
                _remembered.append(text)


_hooks: list[Any] = []


def _has_function(text: bytes | str) -> bool:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return ("def " in words or "lambda" in words) and not words.startswith(GENERATED)


def find(code: CodeType) -> tuple[str, str, CodeType] | None:
    """A file name under which `linecache` has the text of a function, the text, and the function's code in it.

    None if nobody has the text any more.
    """
    text = "".join(linecache.getlines(code.co_filename))
    if inner := _within(text, code):
        return code.co_filename, text, inner
    for text in _candidates(code):
        if inner := _within(text, code):
            return _registered(code.co_filename, text), text, inner
    return None


def _candidates(code: CodeType) -> Iterator[str]:
    """Texts that may hold a function, the likeliest first."""
    for text in reversed(_remembered):
        yield text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    yield from _of_frames()
    words = sys.orig_argv
    if "-c" in words[:-1]:
        yield words[words.index("-c") + 1]
    yield from _of_standard_input()
    yield from _of_prompt(code.co_name)


def _of_frames() -> Iterator[str]:
    """Strings of the functions that wait for this one: one of them may have called `exec`."""
    frame = sys._getframe(1)
    while frame is not None:
        values = *frame.f_locals.values(), *frame.f_code.co_consts
        yield from (value for value in values if isinstance(value, str) and _has_function(value))
        frame = frame.f_back  # type: ignore[assignment]


def _of_standard_input() -> Iterator[str]:
    """The script of `python < script.py`."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = sys.__stdin__.fileno()  # type: ignore[union-attr]
        if stat.S_ISREG(os.fstat(number).st_mode):
            yield os.pread(number, LONGEST, 0).decode("utf-8", "replace")


def _of_prompt(name: str) -> Iterator[str]:
    """The newest definition of a name among the lines typed at the prompt, which keeps one of two equal lines."""
    if (readline := sys.modules.get("readline")) is None:
        return
    count = readline.get_current_history_length()
    history = [readline.get_history_item(i + 1) or "" for i in range(count)]
    lines = [line for item in history for line in item.splitlines()]
    starts = [i for i, line in enumerate(lines) if re.match(rf"\s*(async )?def {re.escape(name)}\b|.*\blambda\b", line)]
    for start in reversed(starts):
        body = _definition(lines, start)
        yield "\n".join(body) + "\n"
        for twice in range(1, len(body) + 1):
            yield "\n".join([*body[:twice], *body[twice - 1 :]]) + "\n"


def _definition(lines: list[str], start: int) -> list[str]:
    """The lines of a definition, with its decorators and what stands indented behind it."""
    end = start + 1
    while end < len(lines) and (lines[end][:1] in " \t#)]}" or not lines[end].strip()):
        end += 1
    while start and lines[start - 1].startswith("@"):
        start -= 1
    return lines[start:end]


def _within(text: str, code: CodeType) -> CodeType | None:
    """A function of a text that is the same as another; None unless there is one."""
    if code.co_name not in text and code.co_name != "<lambda>":
        return None
    try:
        whole = compile(text, COMPARED, "exec", flags=code.co_flags & FUTURES, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return next((inner for inner in _functions(whole) if _same(inner, code)), None)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """All functions within code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions(constant)


SAME: Final = (
    "co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
"""What two codes of one text have in common, beside their constants."""


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two functions do the same, whatever lines they stand on."""
    flags = (a.co_flags ^ b.co_flags) & ~inspect.CO_NESTED  # a tool may have put the text into a function
    return not flags and all(getattr(a, name) == getattr(b, name) for name in SAME) and _equal(a.co_consts, b.co_consts)


def _equal(a: Any, b: Any) -> bool:
    """Whether two constants are the same: 0.0 is neither -0.0 nor 0."""
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _same(a, b)
    if isinstance(a, frozenset):
        return bool(a == b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def _registered(filename: str, text: str) -> str:
    """A file name of its own under which `linecache`, and with it every message, finds a text."""
    name = f"<{filename.strip('<>')} {hashlib.sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name
