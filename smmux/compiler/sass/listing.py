"""The instructions of a kernel of a cubin."""

from __future__ import annotations

from smmux.compiler.sass.cubin import Cubin
from smmux.compiler.sass.instruction import PT, RZ, Control, Guard, Instruction, Kind, Operand, Place

__all__ = ["PT", "RZ", "Control", "Guard", "Instruction", "Kind", "Operand", "Place", "read_kernel"]


def read_kernel(cubin: Cubin, name: str) -> tuple[Instruction, ...]:
    """The instructions of a kernel, in the order of their addresses; instruction i lies at 16 i."""
    raise NotImplementedError
