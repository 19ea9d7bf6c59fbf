"""Random kernels whose loads have affine indices, and the elements that a run of each loads.

The array that is read holds the number of each element, so that what a thread loads tells where from. As a script:

    python -m tests.preload.random_affine --count 10000
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from tqdm import tqdm

from smmux import cuda, preload
from smmux.errors import OutOfBoundsError
from smmux.kernel import Kernel, from_source
from tests.numba.random_layouts import laid_out

ROWS, WIDTH = 64, 256
MIDDLE = ROWS * WIDTH // 2
SLOTS = 128

SECOND = 1 << 20
"""What the elements of the second array have in addition to their number."""

REASONS = ("differs from block to block", "may be negative", "may lie outside")
"""Why some of the indices have no range."""

KNOWN = ("cuda.blockDim.x", "cuda.blockDim.y", "cuda.gridDim.x", "p", "q", "(r // 2)", "2", "3", "-1", "-5", "16")
MOVING = tuple(f"cuda.{kind}.{axis}" for kind in ("threadIdx", "blockIdx") for axis in "xyz")


@dataclass
class Case:
    """A kernel with its launch. guarded: whether conditions keep some threads from loading."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Any, ...]
    guarded: bool

    @property
    def source(self) -> Any:
        """The array that is read."""
        return self.args[0]


class _Writer:
    """Writes one kernel."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.text: list[str] = []
        self.moving = list(MOVING)
        self.names = itertools.count()
        self.guarded = False

    def line(self, depth: int, text: str) -> None:
        self.text.append("    " * depth + text)

    def affine(self, most: int = 3, moving: list[str] | None = None) -> str:
        """A sum of products of something that moves and something that is known."""
        terms = []
        for _ in range(self.random.randint(1, most)):
            factor = self.random.choice(self.moving if moving is None else moving)
            scale = self.random.choice((*KNOWN, "1", "1", "1", "1"))
            terms.append(self.random.choice((factor, f"{factor} * {scale}", f"({scale}) * ({factor} + {scale})")))
        return self.random.choice((" + ", " - ")).join(terms)

    def load(self, depth: int) -> None:
        index, two = self.affine(), self.random.random() < 0.4
        where = f"m[{ROWS // 2} + {self.affine(1)}, {WIDTH // 2} + {index}]" if two else f"a[{MIDDLE} + {index}]"
        if self.random.random() < 0.15:
            name = f"x{next(self.names)}"
            self.line(depth, f"{name} = {index}")
            where = f"a[{name} + {MIDDLE}]"
        if self.random.random() < 0.1:
            self.guarded = True
            name = f"x{next(self.names)}"
            self.line(
                depth, f"{name} = {self.random.choice(('min', 'max'))}({self.affine(1)}, {self.random.randint(0, 9)})"
            )
            where = self.random.choice(
                (f"a[{name} + {MIDDLE}]", f"m[{ROWS // 2} + {name}, {WIDTH // 2} + {self.affine(1)}]")
            )
        if self.random.random() < 0.15:
            self.guarded = True
            self.line(depth, f"if {self.affine(1)} < {self.random.randint(-2, 8)}:")
            depth += 1
        self.line(depth, f"out[base + n % {SLOTS}] = {where}")
        self.line(depth, "n += 1")

    def loop(self, depth: int) -> None:
        name, random = f"i{next(self.names)}", self.random
        count = random.choice((str(random.randint(0, 4)), "p", "cuda.blockDim.x // 2", "r // 3"))
        kind = random.choice(("count", "from", "step", "down", "threads", "while", "triangle", "least"))
        running = f"j{next(self.names)}" if random.random() < 0.4 else ""
        if running:
            self.line(depth, f"{running} = {self.affine(2)}")
        if kind == "while":
            self.line(depth, f"{name} = {random.randint(-2, 3)}")
            self.line(depth, f"while {name} {random.choice(('<', '<='))} {count}:")
        else:
            outer = [m for m in self.moving if m.startswith("i")] or ["cuda.threadIdx.y"]
            start = random.choice(("1", "-2", "p"))
            over = {
                "count": count,
                "from": f"{start}, {start} + {count}",
                "step": f"{start}, {start} + 2 * ({count}), {random.choice(('2', '3', 'q + 1'))}",
                "down": f"{count}, {random.choice(('-1', '0', '1'))}, -1",
                "threads": f"cuda.threadIdx.{random.choice('xyz')}, {random.choice(('7', 'p', '9'))}, cuda.blockDim.x",
                "triangle": f"{random.choice(outer)}, 4",
                "least": f"min({count}, {random.choice(('3', 'q'))})",
            }[kind]
            self.line(depth, f"for {name} in range({over}):")
        self.moving += [name] + [running] * bool(running)
        self.body(depth + 1)
        if running:
            self.line(depth + 1, f"{running} += {random.choice(KNOWN)}")
        if kind == "while":
            self.line(depth + 1, f"{name} += {random.choice(('1', '2', 'q + 1'))}")
        for gone in (name, running):
            if gone:
                self.moving.remove(gone)

    def body(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 2)):
            if depth < 3 and self.random.random() < 0.5:
                self.loop(depth)
            else:
                self.load(depth)


def case(seed: int, views: bool = False) -> Case:
    """The kernel of a seed. views: arrays are views of larger ones, some run backwards, and numbers have 64 bits."""
    random = Random(seed)
    writer = _Writer(random)
    writer.line(0, "def kernel(a, m, out, count, p, q, r):")
    thread = "(cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x"
    block = "(cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x"
    writer.line(1, f"thread, block = {thread}, {block}")
    writer.line(1, f"base = (block * cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + thread) * {SLOTS}")
    writer.line(1, "n = 0")
    writer.body(1)
    writer.line(1, f"count[base // {SLOTS}] = n")
    grid = (random.randint(1, 4), random.randint(1, 3), random.randint(1, 2))
    shape = random.choice(((8, 2, 1), (4, 4, 2), (16, 1, 1), (5, 3, 1), (1, 8, 2), (32, 2, 1)))
    threads, blocks = shape[0] * shape[1] * shape[2], grid[0] * grid[1] * grid[2]
    a = np.arange(ROWS * WIDTH, dtype=np.int32)
    out = np.full(threads * blocks * SLOTS, -1, np.int32)
    count = np.zeros(threads * blocks, np.int32)
    args = (
        a,
        a.reshape(ROWS, WIDTH) + np.int32(SECOND),
        out,
        count,
        random.randint(1, 4),
        random.randint(0, 3),
        random.randint(2, 9),
    )
    if views:
        laid = np.random.default_rng(seed)
        args = tuple(laid_out(laid, value, seed % 4 > 0) if isinstance(value, np.ndarray) else value for value in args)
        args = tuple(np.int64(value) if isinstance(value, int) and random.randint(0, 1) else value for value in args)
    kernel = from_source("\n".join(writer.text) + "\n", {"cuda": cuda}, filename=f"<random {seed}>")
    return Case(kernel, grid, shape, args, writer.guarded)


def check(seed: int) -> str:
    """Compare the table of a random kernel with what its run loads; in one word how far it could be compared.

    "tight": the lines are those that are loaded. "inside": some threads load nothing, and the others what the table
    names. "unknown": an index has no range (REASONS), or the table no room. "outside": the kernel leaves
    its arrays. Raises AssertionError for an element that the table does not name, or a line too many.
    """
    made = case(seed)
    analysis = preload.analyze(made.kernel, made.grid, made.block, made.args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of indices outside an axis, inside the array
            made.kernel.simulate(made.grid, made.block, made.args, gpu="GTX480-48K")
    except OutOfBoundsError:
        return "outside"
    reasons = {read.reason for read in analysis.reads if read.kind == "non-precalculable"}
    assert all(any(part in reason for part in REASONS) for reason in reasons), (seed, reasons)
    if reasons or analysis.table.dropped:
        return "unknown"
    complete = not made.guarded and made.args[3].max() <= SLOTS
    loaded = made.args[2].reshape(-1, made.block[0] * made.block[1] * made.block[2] * SLOTS)
    for block in itertools.product(*map(range, made.grid)):
        number = (block[2] * made.grid[1] + block[1]) * made.grid[0] + block[0]
        _compare(analysis.table, block, set(loaded[number].tolist()) - {-1}, complete, seed)
    return "tight" if complete else "inside"


def check_tiled(seed: int) -> str:
    """Compare the outputs of a random kernel with those of its tiled form; "equal", or why there is nothing to compare.

    Raises AssertionError where they differ.
    """
    made, again = (case(seed, views=seed % 3 > 0) for _ in range(2))
    try:
        tiled = preload.tile(made.kernel, made.grid, made.block, made.args)
    except preload.TileError:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made.kernel.simulate(made.grid, made.block, made.args, gpu="GTX480-48K")
        except OutOfBoundsError:
            return "outside"
        tiled.simulate(again.grid, again.block, again.args, gpu="GTX480-48K", check="races")
    for a, b in zip(made.args[:4], again.args[:4], strict=True):
        np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}")
    return "equal"


def _compare(table: preload.Table, block: tuple[int, ...], loaded: set[int], complete: bool, seed: int) -> None:
    addresses = {table.bases[v >= SECOND] + 4 * (v % SECOND) for v in loaded}
    named = {byte for first, end in table.spans(block) for byte in range(first, end, 4)}
    assert addresses <= named, (seed, block, sorted(addresses - named)[:4])
    if complete:
        lines = {address // 32 * 32 for address in addresses}
        assert lines == set(table.lines(block, 32)), (seed, block, sorted(set(table.lines(block, 32)) - lines)[:4])


def main() -> None:
    """Check many kernels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="kernels (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--tiled", action="store_true", help="compare the outputs of the tiled forms instead")
    options = parser.parse_args()
    compare = check_tiled if options.tiled else check
    outcomes = Counter(compare(options.first + i) for i in tqdm(range(options.count), disable=None))
    sys.stdout.write(", ".join(f"{name} {n}" for name, n in sorted(outcomes.items())) + "\n")


if __name__ == "__main__":
    main()
