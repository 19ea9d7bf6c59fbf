"""One measurement of a machine: what it is called, its unit, the kernels that are run for it.

A probe runs real kernels, whose outputs are compared with NumPy's in every run, and gives one number. Times of launches
and cold caches fall out where a probe takes the difference of a longer run and a shorter one, as microbenchmarks do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from experiments.common.schedules import ON_CARDS
from smmux.gpus import Gpu
from smmux.kernel import Kernel
from smmux.results.result import Result

__all__ = ["WARP", "WORD", "Probe", "agrees", "every", "gigabytes", "on_card", "resident", "wave"]

WARP = 32
WORD = 4


def every(gpu: Gpu) -> bool:
    """Whether a machine has what a probe needs: nothing in particular."""
    return True


@dataclass(frozen=True, slots=True)
class Probe:
    """A measurement.

    name: unique, as the table of published values has it. text: what is measured, in a few words. unit: of the number.
    run: measures on a machine; the second argument asks for a smaller problem. applies: whether a machine can run it.
    """

    name: str
    text: str
    unit: str
    run: Callable[[Gpu, bool], float]
    applies: Callable[[Gpu], bool] = every


def on_card(kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence[Any], gpu: Gpu,
            **options: Any) -> Result:  # fmt: skip
    """Run a kernel as the cards run theirs: instructions in the order that the assembler gives them."""
    return kernel.simulate(grid, block, args, gpu=gpu, **{"schedule": ON_CARDS.head, **options})


def agrees(what: str, found: ArrayLike, expected: ArrayLike, tolerance: float = 0.0) -> None:
    """Raises AssertionError if outputs are not the expected ones; tolerance: relative to the largest of them."""
    found, expected = np.asarray(found), np.asarray(expected)
    if np.array_equal(found, expected):
        return
    limit = tolerance * float(np.abs(expected).max())
    wrong = np.flatnonzero(~(np.abs(found - expected) <= limit))
    if wrong.size:
        i = wrong[0]
        raise AssertionError(f"{what}: {wrong.size} wrong outputs, [{i}] is {found.flat[i]} for {expected.flat[i]}")


def resident(gpu: Gpu, threads: int, shared: int = 0) -> int:
    """Blocks of so many threads that an SM holds, if registers do not limit them; shared: bytes of a block."""
    warps = -(-threads // WARP)
    blocks = min(gpu.max_blocks_sm, gpu.max_warps_sm // warps, gpu.max_threads_sm // threads)
    return min(blocks, gpu.smem_bytes // shared) if shared else blocks


def wave(gpu: Gpu, threads: int, shared: int = 0) -> int:
    """Blocks of so many threads that all SMs hold together."""
    return gpu.sm_count * resident(gpu, threads, shared)


def gigabytes(gpu: Gpu, amount: float, cycles: float) -> float:
    """Billions per second, of an amount in so many clocks: GB/s of bytes, GFLOPS of operations."""
    return amount / gpu.time_us(1) / cycles / 1e3
