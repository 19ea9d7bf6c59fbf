"""What a front end gives the driver."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.signature import Signature
from smmux.errors import CompileError

__all__ = ["Unit"]


class Unit(Protocol):
    """A kernel as a front end holds it. The driver knows no more of a front end than this."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def filename(self) -> str:
        """The file of its source, for messages."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""

    def fingerprint(self) -> Hashable:
        """What its program depends on beside types and options: two units of the same are compiled once."""

    def lasting(self) -> str | None:
        """What `fingerprint` and the places of messages say, as text that holds in any process; None if none does."""

    def line(self, number: int) -> str:
        """A line of its source, empty where there is none."""

    def error(self, place: Any, text: str) -> CompileError:
        """An error at a place of its source, as the front end knows places; None for the kernel as a whole."""

    def lower(self, signature: Signature, options: Options) -> Function:
        """The kernel as IR for types of arguments. Raises CompileError for what the front end cannot say."""
