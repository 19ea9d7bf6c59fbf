"""Special registers: the place of a thread in its block and of a block in the grid, and their sizes."""

from __future__ import annotations

from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value
from smmux.compiler.python.context import Frame
from smmux.compiler.python.promotion import Typing

SPECIAL_BOUNDS = {"tid": (0, 1023), "ctaid": (0, 2**21 - 2), "ntid": (1, 1024), "nctaid": (1, 2**21 - 1)}
"""Bounds of the special registers: blocks of at most 1024 threads, fewer than 2**21 blocks along an axis, so that
blockIdx.x * blockDim.x + threadIdx.x is known to fit an int32."""


def special(f: Frame, register: str, axis: str) -> Value:
    """A component of threadIdx, blockIdx, blockDim or gridDim."""
    place = ir.Special(ir.SpecialName(f"{register}.{axis}"))
    return Value(index_kind(f), place, None, *SPECIAL_BOUNDS[register])


def index_kind(f: Frame) -> Kind:
    """The type of the place of a thread: Numba's int32, or in kernels with 64-bit data a Python int."""
    return Kind.WEAK_INT if f.typing is Typing.WIDE else Kind.INT32
