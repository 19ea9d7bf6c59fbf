"""A simulated card in the place of a real one: the probes of this folder run on it as they are.

What it answers is compared with the cards' answers by `beside.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from smmux import gpus
from smmux.base import whole_files
from smmux.compiler.sass import tools
from smmux.modules.module import CompiledKernel, Module

from .bench import BUILDS, FOLDER, Bench

PAGE = 1 << 20
"""Between two addresses that the card gives out."""

SHORTER = {**BUILDS, "long": ("machine.cu", "-DBODY=24576")}
"""Builds of the kernels: a program here has at most 131,072 instructions."""


class SimulatedFunction:
    """A kernel of a simulated card."""

    def __init__(self, card: SimulatedCard, kernel: CompiledKernel) -> None:
        self.card, self.kernel = card, kernel

    def set(self, attribute: int, value: int) -> SimulatedFunction:
        """Attributes of a function are limits that a driver keeps; here there are none."""
        return self

    def __call__(self, grid: int, block: int, *arguments: Any, shared: int = 0) -> None:
        """Launch so many blocks of so many threads; an address of the card is passed as the array behind it."""
        values = [self.card.memory.get(a, np.uint64(a)) if isinstance(a, int) else a for a in arguments]
        self.card.last = self.kernel.simulate(grid, block, values, gpu=self.card.gpu, dynamic_shared=shared)


class SimulatedModule:
    """A module of a simulated card."""

    def __init__(self, card: SimulatedCard, module: Module) -> None:
        self.card, self.module = card, module

    def __getitem__(self, name: str) -> SimulatedFunction:
        return SimulatedFunction(self.card, self.module[name])

    def address(self, name: str) -> int:
        """A place for what a launch would find in a variable, which here has what the module says."""
        return self.card.alloc(PAGE)

    def unload(self) -> None:
        """Forget the module."""


class SimulatedCard:
    """What the probes ask of a card (cuda_driver.Card). gpu: the machine. last: the result of the last launch."""

    def __init__(self, gpu: gpus.Gpu) -> None:
        self.gpu, self.multiprocessors = gpu, gpu.sm_count
        self.memory: dict[int, np.ndarray] = {}
        self.last: Any = None
        self._next = PAGE

    def load(self, cubin: bytes) -> SimulatedModule:
        """A module from the bytes of a cubin."""
        return SimulatedModule(self, smmux.load(cubin))

    def alloc(self, count: int) -> int:
        """The address of so many fresh bytes, which are zero."""
        address, self._next = self._next, self._next + PAGE
        self.memory[address] = np.zeros(count, np.uint8)
        return address

    def free(self, address: int) -> None:
        """Give memory back."""
        del self.memory[address]

    def put(self, address: int, values: np.ndarray) -> None:
        """Copy an array to the card."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.memory[address][: len(data)] = data

    def get(self, address: int, count: int, dtype: Any) -> np.ndarray:
        """Copy `count` elements from the card."""
        found: np.ndarray = self.memory[address][: count * np.dtype(dtype).itemsize].view(dtype).copy()
        return found

    def sync(self) -> None:
        """Launches have ended when they return."""

    def time_us(self, run: Callable[[], object], stream: object = None) -> float:
        """Simulated microseconds of what `run` launches, a launch."""
        run()
        return float(self.last.time_us)


class SimulatedBench(Bench):
    """The bench with a simulated card. cubins: where compiled kernels are kept."""

    def __init__(self, cubins: Path, gpu: gpus.Gpu) -> None:
        super().__init__(cubins, SimulatedCard(gpu))

    def cubin(self, name: str) -> bytes:
        """The cubin of NAME.cu, compiled by the tools that are found on this machine."""
        path = self.cubins / f"{name}.cubin"
        if not path.exists():
            self.cubins.mkdir(parents=True, exist_ok=True)
            source, *options = SHORTER.get(name, (f"{name}.cu",))
            with whole_files.replacing(path) as (draft,):
                draft.write_bytes(tools.compile_cuda(FOLDER / source, "sm_90", options)[0])
        return path.read_bytes()
