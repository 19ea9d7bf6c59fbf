"""Barriers that some threads may not meet: why that is so, and the words for it, of threads or of virtual blocks."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from typing import Any

from smmux.rewriting.refusals import MultiplexError
from smmux.source.function_source import FunctionSource


class Cause(Enum):
    """Why some threads, or virtual blocks, may not get to a place; {peers} stands for them, {some} for a part."""

    CONDITION = "a condition that can differ between {peers}"
    TRIPS = "a loop whose trip count can differ between {peers}"
    TEST = "a loop whose condition can differ between {peers}"
    CONTINUE = "a loop with trips of which {some} skip the rest"
    BREAK = "a loop that {some} leave before others"
    RETURN = "a function from which {some} have returned"


@dataclass(frozen=True, slots=True)
class Reason:
    """A statement of a function, and why it keeps some threads from what follows or is in it."""

    node: ast.AST
    source: FunctionSource
    cause: Cause


class UnmetBarrierError(MultiplexError):
    """A barrier that some threads of a block, or some of its virtual blocks, may not meet.

    cause: why. decided: the statement that decides, as `line 7: ` and its first line.
    """

    cause: Cause
    decided: str

    @classmethod
    def at(cls, source: FunctionSource, barrier: ast.AST, reason: Reason) -> UnmetBarrierError:
        """The error for a barrier of a function that threads may not meet."""
        head, line = ast.unparse(reason.node).splitlines()[0], getattr(reason.node, "lineno", "?")
        where = f"line {line}" if reason.source.filename == source.filename else f"{reason.source.filename}:{line}"
        decided = f"{where}: `{head}`"
        place = source.error(barrier, "")
        error = cls(
            f"this barrier stands in {reason.cause.value.format(peers='threads of a block', some='some threads')} "
            f"({decided}), so a region cannot include or meet it",
            place.filename,
            place.lineno,
            place.offset,
            place.text or "",
        )
        error.cause, error.decided = reason.cause, decided
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return *super().__reduce__(), self.__dict__

    def of_virtual_blocks(self) -> str:
        """The same of virtual blocks, and of a place where their turns may need a barrier that is not written there."""
        why = self.cause.value.format(peers="virtual blocks", some="some virtual blocks")
        return f"a barrier stands here in {why} ({self.decided}), so a region cannot include or meet it"
