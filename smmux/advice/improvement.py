"""One suggested change of a kernel, with what it would save."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

__all__ = ["KINDS", "WORTH", "Improvement"]

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "layout": "neighbouring threads take a field each of records that lie side by side (array of structures)",
        "assignment": "each thread walks through neighbours of its own, so that those of a warp lie far apart",
        "stride": "the threads of a warp lie far apart, and their next accesses do not lie between them",
        "banks": "lanes of one access to shared memory want different words of one bank",
        "partitions": "accesses of one time fall into few of the partitions of memory",
        "table": "lanes read different places of constant memory, which serves one of them at a time",
        "barrier": "a barrier orders no accesses of different threads",
    }
)
"""Describe the waste that each kind of improvement removes."""

WORTH: Final = 0.05
"""Leave out improvements that save less than this share of what the whole kernel takes."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """A change of a kernel that would make it ask less of the machine.

    kind: a name of `KINDS`. filename, line: the source line whose accesses, or barrier, it concerns. array: the array
    that they access, empty for a barrier. unit: what before and after count: "sectors" of 32 bytes that the line's
    transactions move in a run, "passes" of shared or constant memory that the array's accesses take in a run,
    "partitions" busy at a time, or "cycles" of the run. share: what it saves of the kernel's sectors, of the time of
    the SMs (passes), or of the cycles; for partitions the share of the kernel's sectors that the array has. why: what
    the kernel does, remedy: what to do instead, in words with numbers. change: these numbers by name: the "row" and its
    "pad" in words of shared memory; the "pitch" and its "pad" in bytes of memory.
    """

    kind: str
    filename: str
    line: int
    array: str
    unit: str
    before: float
    after: float
    share: float
    why: str
    remedy: str
    change: Mapping[str, int] = field(default_factory=dict)

    @property
    def factor(self) -> float:
        """How many times better `after` is than `before`."""
        pair = (self.after, self.before) if self.unit == "partitions" else (self.before, self.after)
        return pair[0] / pair[1] if pair[1] else float("inf")

    @property
    def source(self) -> str:
        """The text of the line; empty where the file cannot be read."""
        return linecache.getline(self.filename, self.line).strip()

    @property
    def place(self) -> str:
        """File and line, as editors take them."""
        return f"{Path(self.filename).name}:{self.line}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "factor": self.factor}

    def __str__(self) -> str:
        return f"{self.place}: {self.why}: {self.remedy}"
