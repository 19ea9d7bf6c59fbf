"""Kernels with one thing wrong: each is right with the lines that begin with "+", and wrong with those that begin
with "-" in their place.

t is the thread, T threads a block, g the block, G blocks, i the thread of the grid, n = G * T. The arrays a and b have
2 * n elements of any type, c has as many of int32, which are 0.
"""

from __future__ import annotations

from typing import NamedTuple

EVERY = ("GTX285", "GTX480-16K", "K20c")
UNCACHED = ("GTX285", "K20c")
"""Machines whose loads see what other SMs have stored, so that a loop that waits for it ends."""
WORDS = ("int32", "float32", "uint32")
DOUBLES = ("int64", "float64")
ANY = (*WORDS, *DOUBLES, "int16", "uint8")


class Planted(NamedTuple):
    """A kernel; what is raced for; the types of a and b, the machines, and the (grid, block) sizes that it takes."""

    body: str
    array: str = "a"
    dtypes: tuple[str, ...] = WORDS
    gpus: tuple[str, ...] = EVERY
    sizes: tuple[tuple[int, int], ...] = ((4, 64), (7, 128), (3, 96))


FEW = ((4, 64), (6, 128))
"""Sizes of which all blocks are resident, so that they may wait for each other."""


def text_of(planted: Planted, right: bool) -> str:
    """The kernel's text."""
    head = [
        "t, T, g, G = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x",
        "i, n = g * T + t, G * T",
    ]
    lines = []
    for line in planted.body.splitlines():
        text = line.removeprefix(" " * 8)
        if text.startswith(("+", "-")):
            lines += [text[1:]] if (text[0] == "+") == right else []
        else:
            lines.append(text)
    return "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in head + lines)
