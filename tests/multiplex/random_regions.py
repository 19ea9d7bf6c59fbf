"""Random kernels with regions of every shape, for tests of the passes: outputs must be those of the baseline.

`generate(rng)` writes a kernel without races whose regions lie in straight code, in uniform loops, in loops over work
that blocks share, under conditions on the block, and in device functions; in one to three dimensions.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

WORDS = 4  # of output per thread
INPUTS = 64
HEADER = """\
import numpy as np
from numba import cuda, int32, uint8, uint32

import smmux

THREADS = {threads}
HALF = {half}


@cuda.jit(device=True)
def mix(a, b):
    return (a * 5 + b * 3 + 1) & 0xFFFF


@cuda.jit(device=True)
def neighbour(tile, t, x, distance):
    tile[t] = x
    cuda.syncthreads()
    found = tile[(t + distance) % THREADS]
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def block_of(item):
    return (item + cuda.blockIdx.x * 7 + cuda.gridDim.x) & 0xFF


@cuda.jit
def kernel(src, out, n):
"""
BLOCKS = ((32,), (64,), (33,), (48,), (16,), (8, 4), (16, 2), (4, 3), (4, 4, 2), (2, 3, 3))
GRIDS = ((1,), (2,), (3,), (4,), (5,), (2, 2), (3, 2), (1, 3))
BARRIER = "cuda.syncthreads()"


@dataclass(frozen=True)
class Case:
    """A kernel file and how to launch it."""

    text: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    n: int
    fit: bool  # transform for this launch alone
    seed: int

    def arguments(self) -> list[Any]:
        """New arguments, always the same."""
        threads = int(np.prod(self.grid) * np.prod(self.block))
        src = np.random.default_rng(1).integers(0, 1 << 15, INPUTS).astype(np.int32)
        return [src, np.zeros(threads * WORDS, np.int32), self.n]


class Writer:
    """Writes phases: lists of lines that keep the block's threads together."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.count = rng, 0

    def pick(self, *options: str) -> str:
        """One of the options."""
        return self.rng.choice(options)

    def new(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def compute(self) -> list[str]:
        """Work without shared memory."""
        v, w, c = self.pick("x", "y", "z"), self.pick("x", "y", "z"), self.rng.randrange(9)
        lines = [
            [f"{v} = mix({v}, src[(t * 3 + {c}) & 63])"],
            [f"for i in range({c % 3 + 1}):", f"    {v} = mix({v}, {w} + i)"],
            [f"if {w} & 4:", f"    {v} = mix({w}, {c})", "else:", f"    {v} ^= {c}"],
            [f"{v} = ({w} + block_of({c})) & 0xFFFF"],
            [f"out[4 * g + 1] = {v}", f"{w} = ({w} + out[4 * g + 1]) & 0xFFFF"],
        ][self.rng.randrange(5)]
        if self.rng.randrange(4) == 0:
            return ["with smmux.overlap():", *indented(lines)]
        return lines

    def exchange(self) -> list[str]:
        """Store, barrier, load of a neighbour's word, perhaps with guards or work between."""
        v, w, a = self.pick("x", "y", "z"), self.pick("x", "y", "z"), self.pick("sa", "sb")
        c = self.rng.randrange(40)
        define = [
            [f"{a}[t] = {v}"],
            [f"{a}[t] = src[(t + {c}) & 63] + {v}"],
            ["if t < HALF:", f"    {a}[t] = {v}", "else:", f"    {a}[t] = {w} + 1"],
            [f"for i in range(t, THREADS, {c % 7 + 3}):", "    pass", f"{a}[t] = {v}"],
        ][self.rng.randrange(4)]
        use = [
            [f"{v} = ({v} + {a}[(t + {c}) % THREADS]) & 0xFFFF"],
            [f"for i in range({c % 3 + 1}):", f"    {w} = ({w} + {a}[(t * 3 + i) % THREADS]) & 0xFFFF"],
            [f"if {w} & 1:", f"    {v} = mix({a}[THREADS - 1 - t], {w})"],
            [f"out[4 * g + 2] = {a}[(t ^ 1) % THREADS]", f"{w} = ({w} + 1) & 0xFFFF"],
        ][self.rng.randrange(4)]
        return [*define, BARRIER, *use, BARRIER]

    def both(self) -> list[str]:
        """Two arrays whose lifetimes overlap, one of them redefined."""
        return [
            "sa[t] = x", BARRIER, "sb[t] = sa[THREADS - 1 - t] + y", BARRIER,
            *self.rng.choice([[], ["sa[t] = z", BARRIER]]), "z = (z + sb[(t + 1) % THREADS] + sa[t]) & 0xFFFF", BARRIER,
        ]  # fmt: skip

    def reduce(self) -> list[str]:
        """A tree with a barrier in each step; how many is computed in a variable."""
        s, first = self.new("s"), self.rng.randrange(3)
        init = [f"{s} = HALF"]
        loop = [
            f"while {s} > 0:", f"    if t < {s} and t + {s} < THREADS:",
            f"        sa[t] = (sa[t] + sa[t + {s}]) & 0xFFFF", f"    {BARRIER}", f"    {s} //= 2",
        ]  # fmt: skip
        store = ["sa[t] = x", BARRIER]
        return [*(init + store if first else store + init), *loop, f"{self.pick('x', 'y')} = sa[0]", BARRIER]

    def count_up(self) -> list[str]:
        """Shared atomics; commuting, so that their order does not matter."""
        return [
            "if t < 4:", "    sc[t] = 0", BARRIER, "cuda.atomic.add(sc, x & 3, 1)", BARRIER,
            "y = (y + sc[t & 3]) & 0xFFFF", BARRIER,
        ]  # fmt: skip

    def octets(self) -> list[str]:
        """Bytes of a shared array."""
        return ["sb[t] = x", BARRIER, "y = (y + int32(so[4 * ((t + 2) % THREADS)])) & 0xFFFF", BARRIER]

    def called(self) -> list[str]:
        """A device function with barriers."""
        v, c = self.pick("x", "y"), self.rng.randrange(1, 9)
        return [self.pick(f"{v} = neighbour(sa, t, {v}, {c})", f"{v} = (1 + neighbour(sb, t, z, {c})) & 0xFFFF")]

    def through_global(self) -> list[str]:
        """Threads of a block talk through global memory: the barriers have to stay."""
        return [
            "out[4 * g + 3] = x", BARRIER, "y = (y + out[4 * (first + (t + 1) % THREADS) + 3]) & 0xFFFF", BARRIER
        ]  # fmt: skip

    def looped(self, depth: int) -> list[str]:
        """A phase in a loop or under a condition that all threads of a block agree on."""
        inner = self.phases(depth - 1)
        k = self.new("k")
        form = self.rng.randrange(8)
        if form == 0:
            return [f"for {k} in range({self.pick('2', 'n', '1, n')}):", *indented([f"x = mix(x, {k})", *inner])]
        if form == 1:
            return [f"{k} = n", f"while {k} > 0:", *indented([*inner, f"{k} -= 1"])]
        if form == 2:
            head = f"for {k} in range(cuda.blockIdx.x, {self.rng.randrange(1, 6)}, cuda.gridDim.x):"
            return [head, *indented([f"x = mix(x, {k})", *inner])]
        if form == 3:
            more = [f"{k} = cuda.blockIdx.x", f"while {k} < {self.rng.randrange(1, 6)}:"]
            return [*more, *indented([*inner, f"x = mix(x, {k})", f"{k} += cuda.gridDim.x"])]
        if form == 4:
            return [f"if n {self.pick('<', '>', '==')} 2:", *indented(inner)]
        if form == 5:
            other = ["else:", *indented(self.phases(0))] if self.rng.randrange(2) else []
            return [f"if {self.pick('cuda.blockIdx.x % 2 == 0', 'b < n', 'b != 1')}:", *indented(inner), *other]
        if form == 6:
            return ["for i in range(2):", *indented([*inner, "x = mix(x, i)"])]
        return [f"{k} = 0", "while True:", *indented([*inner, f"{k} += 1", f"if {k} >= n:", "    break"])]

    def phases(self, depth: int) -> list[str]:
        """One to three phases."""
        lines: list[str] = []
        for _ in range(self.rng.randrange(1, 4)):
            if depth and self.rng.randrange(3) == 0:
                lines += self.looped(depth)
                continue
            forms = [self.compute, self.compute, self.exchange, self.exchange, self.exchange]
            rare = [self.both, self.reduce, self.count_up, self.octets, self.called, self.through_global]
            lines += self.rng.choice(forms + rare)()
        return lines


def indented(lines: list[str]) -> list[str]:
    """Lines one level deeper."""
    return ["    " + line for line in lines]


def generate(rng: Random, depth: int = 2) -> Case:
    """A random kernel."""
    grid, block = rng.choice(GRIDS), rng.choice(BLOCKS)
    threads = int(np.prod(block))
    position = {
        1: ["t = cuda.threadIdx.x", "b = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y"],
        2: ["tx, ty = cuda.threadIdx.x, cuda.threadIdx.y", "t = tx + cuda.blockDim.x * ty",
            "b = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y"],
        3: ["t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)",
            "b = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y"],
    }[len(block)]  # fmt: skip
    lines = [
        "sa = cuda.shared.array(THREADS, int32)", "sb = cuda.shared.array(THREADS, int32)", "so = sb.view(np.uint8)",
        "sc = cuda.shared.array(4, int32)", *position, "first = b * THREADS", "g = first + t",
        "x, y, z = src[g & 63], g & 0xFF, t",
        *(["if b == 2:", "    return"] if rng.randrange(6) == 0 else []),
    ]  # fmt: skip
    lines += Writer(rng).phases(depth)
    lines += ["sa[t] = x", BARRIER, "x = (x + sa[THREADS - 1 - t]) & 0xFFFF"] if rng.randrange(3) else []
    lines += ["out[4 * g] = x + y + z"]
    text = HEADER.format(threads=threads, half=max(1, threads // 2)) + textwrap.indent("\n".join(lines), "    ") + "\n"
    n, fit = rng.randrange(1, 5), len(block) > 1 or rng.randrange(2) == 0
    return Case(text, grid, block, n, fit, rng.randrange(2**31))
