"""A kernel that is given as text of the IR, as the driver takes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.signature import Signature
from smmux.compiler.text.reader import read
from smmux.errors import CompileError

__all__ = ["TextUnit"]


@dataclass(frozen=True)
class TextUnit:
    """A kernel written as IR, a `Unit`; the types of its arguments stand in the text. Raises CompileError for another
    text when it is first asked for anything."""

    text: str
    filename: str = "<ir>"

    @cached_property
    def _function(self) -> Function:
        return read(self.text, self.filename)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._function.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameter words."""
        return tuple(param.name for param in self._function.params)

    def fingerprint(self) -> str:
        """The text itself."""
        return self.text

    def lasting(self) -> str | None:
        """None: text that is compiled by itself is made to be looked at."""
        return None

    def line(self, number: int) -> str:
        """A line of the text."""
        lines = self.text.splitlines()
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def error(self, place: int | None, text: str) -> CompileError:
        """An error at a line of the text."""
        return CompileError(text, self.filename, place or 1, 1, self.line(place or 1))

    def lower(self, signature: Signature, options: Options) -> Function:
        """The function, which the driver may change."""
        return self._function.copy()
