"""Views in random kernels: parts of arrays, parts of parts, with bounds and indices known only at run time."""

from __future__ import annotations

import re
from random import Random

from tests.numba.kernel_types import DTYPES, is_whole

INPUTS = 64  # elements of each input array, a power of two
ROWS = (4, 2, 8)  # the shape of each input array with three axes
OUTPUTS = 4  # words per thread of each output array
PARTS_OF_INPUTS = (
    *(("[2:34]", 32), ("[::2]", 32), ("[60:28:-1]", 32), ("[-16:]", 16), ("[::-1]", 64), ("[40:8:-2]", 16)),
    *(("[U8:40 + U8]", 32), ("[U8:40 + U8:2]", 16), ("[40 + U8:U8:-1]", 32), ("[56 + U8:U8:-2]", 16)),
    *(("[::-1][U8:]", 32), ("[N8 - 8:][::-1]", 8), ("[8:][U8:][::-1]", 32), ("[:N8]", 32), ("[U8:][::-1][U8:]", 32)),
)
PARTS_OF_ROWS = (
    *(("[I4, I2]", (8,)), ("[I4][I2]", (8,)), ("[I4]", (2, 8)), ("[:, I2]", (4, 8)), ("[:, I2, ::-1]", (4, 8))),
    *(("[::-1, I2, 1::2]", (4, 4)), ("[I4, :, I8]", (2,)), ("[::-1][I4, ::-1]", (2, 8)), ("[1:][1:, I2]", (2, 8))),
    *(("[U2:, ::-1]", (2, 2, 8)), ("[::-1, :, U4:]", (4, 2, 4)), ("[I4][::-1][I2][::-1]", (8,)), ("[1]", (2, 8))),
)
PARTS_OF_LOCALS = (("[::-1]", 4), ("[1:3]", 2), ("[::2]", 2), ("[-2:]", 2), ("[::-1][U2 :]", 2))
"""Parts of arrays, with the extents that may be counted on. In is an index of n elements, which may count from the end;
Un is none of those that do, Nn one of them."""

Place = tuple[str, int | tuple[int, ...]]
"""An element, with places for its indices, and the number of elements along each axis."""


def run_time(rng: Random, part: str, kinds: str, inputs: int = INPUTS) -> str:
    """A part of an array with its indices written out: numbers of all types, of which a remainder is taken."""

    def index(match: re.Match[str]) -> str:
        kind, n = rng.choice([kind for kind in kinds if is_whole(kind)]), match[2]
        own = rng.choice(["g", "t", ""])
        value = own or f"a{kind}[(g + {rng.randrange(8)}) & {inputs - 1}]"
        signed = bool(own) or DTYPES[kind].kind == "i"
        if match[1] == "U" or (match[1] == "I" and not signed):
            return f"{value} % {n}"
        negative = [f"({value} % {n} - {n})", f"~({value} % {n})"] if signed else [f"(int32({value} % {n}) - {n})"]
        return rng.choice([*negative, f"{value} % {n}"] if match[1] == "I" else negative)

    return re.sub(r"\b([IUN])(\d)", index, part)


def views(
    rng: Random, kinds: str, places: dict[str, str]
) -> tuple[dict[str, list[Place]], dict[str, Place], list[str]]:
    """Parts of input arrays and of the thread's own under names of their own: what to read, what to write, and the
    lines that make them. places: how the output array of each type lies."""
    reads: dict[str, list[Place]] = {}
    writes: dict[str, Place] = {}
    lines = []
    for kind in kinds:
        (part, length), (rows, extents) = rng.choice(PARTS_OF_INPUTS), rng.choice(PARTS_OF_ROWS)
        lines += [f"v{kind} = a{kind}{run_time(rng, part, kinds)}", f"x{kind} = m{kind}{run_time(rng, rows, kinds)}"]
        several = ", ".join("{}" for _ in extents)
        reads[kind] = [
            (f"v{kind}[{{}}]", length),
            (f"x{kind}[{several}]", extents),
            (f"m{kind}[{{}}, {{}}, {{}}]", ROWS),
        ]
        part, length = rng.choice(PARTS_OF_LOCALS)
        if places[kind] == "flat" or rng.randrange(2):
            lines.append(f"w{kind} = l{kind}{run_time(rng, part, kinds)}")
        else:
            length = OUTPUTS
            lines.append(f"w{kind} = o{kind}{'[:, g]' if places[kind] == 'columns' else '[g]'}")
        writes[kind] = (f"w{kind}[{{}}]", length)
    return reads, writes, lines
