"""The indices of one access on their way from the front end to machine operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smmux.compiler.ir import Block, Instr, Operand, Space, Storage

WRAP = 1 << 32
"""Bytes that an address can tell apart."""

FAR = 1 << 31
"""Bytes by which an index that is held back lies outside its array: halfway round, so that its rows lie outside too."""

SEGMENT = 1 << 20
"""Bytes that a shared, local or constant segment may have."""


def reach(array: Storage, final: bool) -> tuple[int, int]:
    """The first and the last byte, counted from where the machine begins to look, that an access may aim at and not be
    taken for another one; a row, whose elements add their indices, may use half of that."""
    outer = array.space in (Space.GLOBAL, Space.TEXTURE)
    low = (array.nbytes if outer else SEGMENT) - WRAP
    high = -low - 1 if outer else WRAP - 1  # the first element of an array argument need not be its first byte
    return (low, high) if final else (low // 2, high // 2)


def start(array: Storage) -> int:
    """The byte at which an array begins, counted from where the machine begins to look."""
    return 0 if array.space in (Space.GLOBAL, Space.TEXTURE) else array.offset


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis that a run-time index goes along: the elements from one index to the next, and whether a negative index
    counts from the axis's end."""

    stride: int
    signed: bool


@dataclass(slots=True, eq=False)
class Index(Instr):
    """Indices as written become indices that the machine can turn into a byte address of 32 bits.

    dsts[k] is srcs[k], plus the extent of axis k if that counts from the end, and an index outside the axis if the byte
    address would otherwise wrap around. The sources behind those of the axes are their extents and then, if there is
    one, the first element of the row or view that is indexed; offset is a constant number of elements beside it. The
    access itself follows in the same block if `final`; else the result is a row. size: bytes per element.
    """

    array: Storage | None = None
    axes: tuple[Axis, ...] = ()
    offset: int = 0
    size: int = 4
    final: bool = True

    @property
    def bases(self) -> tuple[Operand, ...]:
        """The first element of what is indexed, if it is not a constant."""
        return self.srcs[2 * len(self.axes) :]

    def extent(self, k: int) -> Operand:
        """The extent of an axis as the passes have rewritten it."""
        return self.srcs[len(self.axes) + k]

    def copy(self, blocks: Mapping[Block | None, Block | None]) -> Index:
        """The same indices in a copy of their function."""
        rest = {"array": self.array, "axes": self.axes, "offset": self.offset, "size": self.size, "final": self.final}
        return Index(self.op, self.dsts, self.srcs, self.loc, **rest)  # type: ignore[arg-type]
