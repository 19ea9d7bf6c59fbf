"""Special registers: the place of a thread in its block and of a block in the grid, and their sizes."""

from __future__ import annotations

from smmux.compiler import ir
from smmux.compiler.frontend.convert import result
from smmux.compiler.frontend.typed_values import Kind, Value

SPECIAL_BOUNDS = {"tid": (0, 1023), "ctaid": (0, 2**21 - 2), "ntid": (1, 1024), "nctaid": (1, 2**21 - 1)}
"""Bounds of the special registers: blocks of at most 1024 threads, fewer than 2**21 blocks along an axis, so that
blockIdx.x * blockDim.x + threadIdx.x is known to fit an int32."""


def special(register: str, axis: str) -> Value:
    """A component of threadIdx, blockIdx, blockDim or gridDim."""
    return result(Kind.INT32, ir.Special(ir.SpecialName(f"{register}.{axis}")), *SPECIAL_BOUNDS[register])
