"""Runs programs of `assembler.py` on a card, and other kernels of this folder; compiles what is not compiled yet."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .assembler import FIRST, VALUES, Machine
from .cuda_driver import MAX_DYNAMIC_SHARED, Card, Module

FOLDER = Path(__file__).parent
SHARED = 0x400  # where a block's shared memory begins
BUILDS = {"machine": ("machine.cu", "-DBODY=2048"), "long": ("machine.cu", "-DBODY=131072")}
Row = dict[str, Any]


class Bench:
    """A card with the compiled kernels. card: one that is not real, where it is not the first real one."""

    def __init__(self, cubins: Path, card: Any = None) -> None:
        self.card, self.cubins = card or Card(), cubins
        self.machine = Machine(self.cubin("machine"))
        self.data = self.card.alloc(4 * 32 * VALUES * 64 * 132)
        self.generator = np.random.default_rng(1)

    def cubin(self, name: str) -> bytes:
        """The cubin of NAME.cu, or of a build that has a name of its own."""
        path = self.cubins / f"{name}.cubin"
        if not path.exists():
            self.cubins.mkdir(parents=True, exist_ok=True)
            source, *options = BUILDS.get(name, (f"{name}.cu",))
            subprocess.run(["nvcc", "-arch=sm_90", "-cubin", *options, FOLDER / source, "-o", path], check=True)
        return path.read_bytes()

    def module(self, name: str) -> Module:
        """The loaded module of NAME.cu."""
        return self.card.load(self.cubin(name))

    def span_ns(self, out: int, blocks: int) -> int:
        """Nanoseconds from the first block's begin to the last one's end, of which each has noted both."""
        seen = self.card.get(out, 2 * blocks, np.uint64).reshape(-1, 2).astype(np.int64)
        return int(seen[:, 1].max() - seen[:, 0].min())

    def values(self, warps: int = 1) -> np.ndarray:
        """Random words for all registers of so many warps: shape (warps, VALUES, 32)."""
        return self.generator.integers(0, 2**32, (warps, VALUES, 32), np.uint32)

    def floats(self, warps: int = 1) -> np.ndarray:
        """Random floats between 1 and 2, as words."""
        return self.generator.uniform(1, 2, (warps, VALUES, 32)).astype(np.float32).view(np.uint32)

    def run(
        self,
        words: Sequence[int],
        values: np.ndarray,
        *,
        blocks: int = 1,
        shared: int = 0,
        machine: Machine | None = None,
    ) -> np.ndarray:
        """The registers R8 and up after a program, as `values` has them before."""
        loaded = self.load(words, shared, machine)
        result = loaded(values, blocks)
        loaded.module.unload()
        return result

    def load(self, words: Sequence[int], shared: int = 0, machine: Machine | None = None) -> Loaded:
        """A program that can be run several times."""
        return Loaded(self, self.card.load((machine or self.machine).cubin_of(words)), shared)


class Loaded:
    """A program on the card."""

    def __init__(self, bench: Bench, module: Module, shared: int) -> None:
        self.bench, self.module, self.shared = bench, module, shared
        self.function = module["machine"]
        if shared > 48 * 1024:
            self.function.set(MAX_DYNAMIC_SHARED, shared)

    def __call__(self, values: np.ndarray, blocks: int = 1) -> np.ndarray:
        """The registers R8 and up after a run of so many blocks, as `values` has them before."""
        card, warps = self.bench.card, len(values)
        card.put(self.bench.data, values)
        self.function(blocks, 32 * warps // blocks, self.bench.data, np.int32(0), shared=self.shared)
        return card.get(self.bench.data, values.size, np.uint32).reshape(values.shape)


def register(number: int) -> int:
    """The row of a register in values."""
    return number - FIRST


def difference(after: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Clocks between two clock readings in registers, per warp (lane 0)."""
    clocks: np.ndarray = (after[:, register(end), 0] - after[:, register(begin), 0]).astype(np.uint32)
    return clocks
