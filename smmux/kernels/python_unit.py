"""A Python kernel as the driver takes it."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass

from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.signature import Signature
from smmux.errors import CompileError
from smmux.source.function_source import FunctionSource
from smmux.source.lasting import lasting

__all__ = ["PythonUnit"]


@dataclass(frozen=True, slots=True)
class PythonUnit:
    """A kernel written in Python, a `Unit`."""

    source: FunctionSource

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.source.name

    @property
    def filename(self) -> str:
        """The file of its source."""
        return self.source.filename

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return self.source.parameters

    def fingerprint(self) -> Hashable:
        """Text, captured values and what is called."""
        return self.source.fingerprint()

    def lasting(self) -> str | None:
        """Text with its places, captured values and what is called."""
        return lasting(self.source)

    def line(self, number: int) -> str:
        """A line of its file."""
        return self.source.line(number)

    def error(self, place: ast.AST | None, text: str) -> CompileError:
        """An error at a node of the syntax tree."""
        return self.source.error(place, text)

    def lower(self, signature: Signature, options: Options) -> Function:
        """The kernel as IR."""
        from smmux.compiler import python as frontend

        return frontend.lower(self.source, signature, options)
