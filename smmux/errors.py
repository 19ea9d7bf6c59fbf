"""Every exception that smmux raises: one tree, with the place in the user's source where there is one.

The codes that the C core returns are the rows of `smmux._core.ERRORS`; `from_fault` turns one into an instance.
"""

from __future__ import annotations

import builtins
import difflib
import dis
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = [
    "AllocationError",
    "BarrierError",
    "CompileError",
    "ConfigError",
    "CycleLimitError",
    "DeadlockError",
    "Error",
    "KernelAssertionError",
    "KernelError",
    "KernelRaisedError",
    "KernelUnboundLocalError",
    "KernelZeroDivisionError",
    "LaunchError",
    "ManagementError",
    "OutOfBoundsError",
    "RaceError",
    "boolean",
    "did_you_mean",
    "from_fault",
    "integer",
    "no_attribute",
]


class Error(Exception):
    """Base of all exceptions of smmux."""

    @property
    def in_a_line(self) -> str:
        """The message in one line."""
        return " ".join(str(self).split())


class CompileError(Error, SyntaxError):
    """A kernel that uses something outside the language, or does not fit the machine.

    filename, lineno, col (1-based) and text name the place in the user's source. An uncaught one is printed by Python
    like any SyntaxError, with a caret under the column; `str` gives the same in one message.
    """

    def __init__(
        self,
        message: str,
        filename: str | None = None,
        lineno: int | None = None,
        col: int | None = None,
        text: str = "",
    ) -> None:
        super().__init__(message, (filename, lineno, col, text or None))

    @property
    def in_a_line(self) -> str:
        """The place, the message, and the text of the user's line."""
        return f"{self._placed}: `{self.text.strip()}`" if self.text else super().in_a_line

    @property
    def _placed(self) -> str:
        """The message behind its place, if it has one."""
        place = (self.filename, self.lineno, self.offset) if self.filename is not None else ()
        return f"{':'.join(str(part) for part in place if part is not None)}: {self.msg}" if place else str(self.msg)

    @property
    def col(self) -> int | None:
        """1-based column."""
        return self.offset

    def __str__(self) -> str:
        lines = [self._placed]
        if self.text and self.filename is not None:
            code = self.text.rstrip("\n")
            stripped = code.lstrip()
            lines.append("    " + stripped)
            if self.offset is not None and 0 <= (caret := self.offset - 1 - (len(code) - len(stripped))) <= len(
                stripped
            ):
                lines.append("    " + " " * caret + "^")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.filename, self.lineno, self.offset, self.text or "")


class ConfigError(Error, ValueError):
    """A machine parameter, or an option of a launch, that has no meaning or is out of range."""


class KernelError(Error):
    """The failure of a launch or of a running kernel, with its place.

    Attributes, each None where it does not apply: kernel, filename and line; array, the name, address, a byte offset in
    the array or segment, and element, the same in words; block and thread as (x, y, z); sm, warp (slot), lane, pc and
    cycle. findings: the findings of the run's `check` up to the failure (see `Result.findings`), None if the run
    checked nothing; an SM that ran on while another one failed may have added some. printed: what the kernel had
    printed.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.kernel: str | None = None
        self.filename: str | None = None
        self.line: int | None = None
        self.array: str | None = None
        self.array_index: int | None = None
        self.address: int | None = None
        self.element: str | None = None
        self.block: tuple[int, int, int] | None = None
        self.thread: tuple[int, int, int] | None = None
        self.sm: int | None = None
        self.warp: int | None = None
        self.lane: int | None = None
        self.pc: int | None = None
        self.cycle: int | None = None
        self.findings: tuple[Any, ...] | None = None
        self.printed: Any = ""

    def __str__(self) -> str:
        text = self.message
        if self.array is not None:
            text += f", array {self.array!r}"
        if self.element is not None:
            text += f", {self.element}"
        if self.block is not None:
            text += f", block {self.block}"
        if self.thread is not None:
            text += f", thread {self.thread}"
        if self.filename is not None and self.line is not None:
            text += f", at {self.filename}:{self.line}"
        elif self.line is not None:
            text += f", at line {self.line}"
        if self.kernel is not None:
            text += f", in kernel {self.kernel!r}"
        if self.cycle is not None:
            text += f", cycle {self.cycle}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), self.__dict__


class LaunchError(KernelError):
    """A launch whose geometry, arguments or resources do not fit the kernel or the machine."""


class OutOfBoundsError(KernelError, IndexError):
    """An access that is outside its array or misaligned, or a store to a read-only array."""


class BarrierError(KernelError):
    """A barrier under a divergent mask, or barriers of different kinds in one block."""


class AllocationError(KernelError):
    """Shared memory allocated twice, released without allocation, never released, or too large for the machine."""


class ManagementError(KernelError):
    """A management of shared memory that is written in Python raised an exception, which is the cause of this one, or
    answered what cannot be. The place is that of the block that waits: its barrier, or the kernel's first instruction
    before the block has started."""


class CycleLimitError(KernelError):
    """A run that passed its `max_cycles`.

    The message says how many warps were at which lines; line, block and thread are those of a warp at the line with the
    most warps.
    """


class DeadlockError(CycleLimitError):
    """Blocks that wait for one another, so that none goes on.

    It is raised when nothing can happen any more, or at the cycle limit if a block has waited for shared memory more
    than half of the time. The message says which block waits for what; line, block and thread are those of a block
    that holds shared memory and does not release it.
    """


class KernelZeroDivisionError(KernelError, ZeroDivisionError):
    """Integer division or remainder by zero in a kernel."""


class KernelUnboundLocalError(KernelError, UnboundLocalError):
    """A variable that a thread reads in a kernel without having assigned it on the path that it took."""


class KernelAssertionError(KernelError, AssertionError):
    """An `assert` of a kernel that does not hold in some thread, found under `check="bounds"`."""


class KernelRaisedError(KernelError):
    """A `raise` of a kernel that some thread has reached; the message begins with the name of the exception.

    Where that is one of Python's own, `except` finds it under its own name too: it is a ValueError for `ValueError`.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return raised, (self.message,), self.__dict__


def raised(message: str) -> KernelRaisedError:
    """The error of a `raise`, from its message."""
    kind = getattr(builtins, message.partition(":")[0], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception) and kind.__basicsize__ == Exception.__basicsize__):
        return KernelRaisedError(message)
    if kind not in _raised:
        _raised[kind] = type("KernelRaisedError", (KernelRaisedError, kind), {"__module__": __name__})
    return _raised[kind](message)


_raised: dict[type, type[KernelRaisedError]] = {}


class RaceError(KernelError):
    """Findings of `check="races"` as an exception, which `Result.raise_for_findings` raises.

    findings: all findings; message, line, block and thread are those of the first one.
    """

    @classmethod
    def from_findings(cls, kernel: str, findings: tuple[Any, ...]) -> RaceError:
        """The exception for at least one finding."""
        first = findings[0]
        error = cls(f"{len(findings)} findings, the first: {first}" if len(findings) > 1 else str(first))
        error.findings = findings
        error.kernel = kernel
        error.line, error.cycle, error.pc = first.second.line, first.cycle, first.second.pc
        error.array, error.address = first.array, first.address
        error.block, error.thread = first.block, first.second.thread
        return error

    def __str__(self) -> str:
        return f"{self.message}, in kernel {self.kernel!r}" if self.findings else super().__str__()


def integer(name: str, value: Any, low: int, high: int, unit: str = "", meaning: str = "") -> int:
    """The value of an option or parameter as an int; ConfigError unless it is an integer from low to high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name} must be an integer, not {value!r}") from None
    if not low <= number <= high:
        remark = f" ({meaning})" * bool(meaning)
        raise ConfigError(f"{name} = {' '.join(filter(None, (str(number), unit)))} is outside {low}..{high}{remark}")
    return number


def boolean(name: str, value: Any) -> bool:
    """The value of an option that is on or off; ConfigError for all but True and False, as a text "no" is true, too."""
    numpy = sys.modules.get("numpy")  # without which there is no truth of NumPy's; to import it takes a while
    if not isinstance(value, bool) and not (numpy and isinstance(value, numpy.bool_)):
        raise ConfigError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def did_you_mean(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """The end of a message about an unknown name: the known one that is nearest, if any is near.

    least: how alike both have to be, 1 being the same. Names that are short and all alike need more.

    >>> did_you_mean("cycle", ("cycles", "blocks"))
    "; did you mean 'cycles'?"
    >>> did_you_mean("H100", ("C1060", "GTX285"), least=0.67)  # another name, not a slip of the fingers
    ''
    """
    names = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=least)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


class _NoAttribute(AttributeError):
    """The lack of a name, which makes its message when somebody reads it: to look for similar names takes a while, and
    hasattr asks for nothing but the exception."""

    def __init__(self, message: Callable[[], str]) -> None:
        super().__init__()
        self._message = message

    def __str__(self) -> str:
        return self._message()

    def __repr__(self) -> str:
        return f"AttributeError({str(self)!r})"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return AttributeError, (str(self),)


_NoAttribute.__module__, _NoAttribute.__qualname__ = "builtins", "AttributeError"  # as a traceback shows it


def no_attribute(message: Callable[[], str]) -> AttributeError | ImportError:
    """The exception for a name that a module lacks, to be raised in its `__getattr__`.

    `from module import name` replaces an AttributeError by an ImportError that says nothing; it gets one with the
    message at once. hasattr and getattr get the AttributeError that they count on.
    """
    frame = sys._getframe(2)
    importing = frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"] if frame.f_lasti >= 0 else False
    return ImportError(message()) if importing else _NoAttribute(message)


def from_fault(name: str, fault: Mapping[str, Any]) -> BaseException:
    """The exception for row `name` of the error table, with the details of the core's fault record.

    Rows may name builtins (MemoryError, KeyboardInterrupt); those carry the message only.
    """
    from smmux import _core

    rows = {row: (exception, text) for row, exception, text in _core.ERRORS}
    exception, message = rows.get(name, ("LaunchError", f"unknown error {name}"))
    if detail := str(fault.get("text", "") or ""):
        message = f"{message}: {detail}"
    cls: type[BaseException] = globals().get(exception) or getattr(builtins, exception)
    if not issubclass(cls, KernelError):
        return cls(message)
    error = cls(message)
    for key in _PLACE if fault.get("line") or fault.get("placed") else ("cycle",):
        setattr(error, key, fault.get(key))
    if cls is ManagementError:
        error.thread = error.warp = error.lane = None  # the block waits as a whole
    index = fault.get("array", -1)
    error.array_index = index if isinstance(index, int) and index >= 0 else None
    error.cycle = error.cycle or None
    error.findings = fault.get("findings", b""), fault.get("findings_lost", 0)  # the launch knows what they mean
    error.printed = fault.get("printed", b"")
    return error


# Keys of the core's fault record that become attributes; without a line there was no instruction to speak of.
_PLACE = ("line", "address", "block", "thread", "sm", "warp", "lane", "pc", "cycle")
