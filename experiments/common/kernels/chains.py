"""Latencies: chains of operations that each wait for the one before, in one thread or one warp.

A chain stands in a loop, once long and once short; loop and launch fall out of the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smmux
from experiments.common.kernels.probe import Probe, agrees, on_card
from smmux import cuda, uint32
from smmux.gpus import Gpu
from smmux.kernel import Kernel

__all__ = ["PROBES"]

SHORT, LONG = 16, 48
"""Operations in the loop's body; the longer body fits into every card's instruction cache."""
ROUNDS = 16
COLD_STRIDE = 512
WORD = 4

Step = Callable[[Any, Any, Any], Any]


@cuda.jit(device=True)
def multiply_add(x, a, b):
    return x * a + b


@cuda.jit(device=True)
def add_and_xor(x, a, b):
    return (x + a) ^ b


@cuda.jit(device=True)
def multiply(x, a, b):
    return x * a


@cuda.jit(device=True)
def divide(x, a, b):
    return a / x


@cache
def chained(step: Kernel, length: int) -> Kernel:
    """A loop of `length` steps, each of which needs the result of the one before."""

    @cuda.jit
    def chain(values, a, b, rounds):
        x = values[cuda.threadIdx.x]
        for _ in range(rounds):
            for _ in range(length):
                x = step(x, a, b)
        values[cuda.threadIdx.x] = x

    kernel: Kernel = chain
    return kernel


def per_step(clocks: Callable[[int, int], int]) -> float:
    """Clocks of one step, from the clocks of (steps in the body, rounds)."""
    long, short = (clocks(n, 2 * ROUNDS) - clocks(n, ROUNDS) for n in (LONG, SHORT))
    return (long - short) / ((LONG - SHORT) * ROUNDS)


def chain_of(step: Kernel, a: Any, b: Any, operations: int, gpu: Gpu, quick: bool = True) -> float:
    """Clocks between an operation and the next, which needs its result."""

    def clocks(length: int, rounds: int) -> int:
        values = np.arange(1, 33, dtype=np.result_type(a))
        expected = values.copy()
        for _ in range(length * rounds):
            expected = python_step(step, expected, a, b)
        result = on_card(chained(step, length), 1, 32, (values, a, b, np.int32(rounds)), gpu)
        agrees(step.__name__, values, expected, 1e-5 if values.dtype.kind == "f" else 0)
        return result.cycles

    return per_step(clocks) / operations


def python_step(step: Kernel, x: Any, a: Any, b: Any) -> Any:
    """What a step computes, by NumPy."""
    with np.errstate(over="ignore"):
        return step.py_func(x, a, b)


@cache
def following(length: int) -> Kernel:
    """A device function: a loop of `length` loads, each from where the one before says."""

    @cuda.jit(device=True)
    def follow(links, i, rounds):
        for _ in range(rounds):
            for _ in range(length):
                i = links[i]
        return i

    function: Kernel = follow
    return function


@cache
def chasing(length: int) -> Kernel:
    """A chain of loads from global memory, or through texture."""
    follow = following(length)

    @cuda.jit
    def chase(links, start, last, rounds):
        last[0] = follow(links, start[0], rounds)

    kernel: Kernel = chase
    return kernel


@cache
def shared_chasing(length: int) -> Kernel:
    """As `chasing`, through shared memory."""
    follow = following(length)

    @cuda.jit
    def chase(links, start, last, rounds):
        ring = cuda.shared.array(256, uint32)
        for k in range(cuda.threadIdx.x, links.size):
            ring[k] = links[k]
        last[0] = follow(ring, start[0], rounds)

    kernel: Kernel = chase
    return kernel


def constant_chasing(table: NDArray[np.uint32]) -> Callable[[int], Kernel]:
    """As `chasing`, through constant memory; the array of links is not read."""

    def chasing_constants(length: int) -> Kernel:
        follow = following(length)

        @cuda.jit
        def chase(links, start, last, rounds):
            last[0] = follow(cuda.const.array_like(table), start[0], rounds)

        kernel: Kernel = chase
        return kernel

    return chasing_constants


def ring(size: int, stride: int) -> NDArray[np.uint32]:
    """Of words over so many bytes, those that lie `stride` bytes apart: each holds the index of the next."""
    links = np.zeros(size // WORD, np.uint32)
    hops = np.arange(0, size // WORD, stride // WORD)
    links[hops] = np.roll(hops, -1)
    return links


def loads(size: int, stride: int, kernels: Callable[[int], Kernel], gpu: Gpu, texture: bool = False) -> float:
    """Clocks of a load from such a ring without those of its address, which takes some instructions of the ALU."""
    links, hops = ring(size, stride), size // stride
    array = smmux.texture(links) if texture else links
    instructions = {}

    def clocks(length: int, rounds: int) -> int:
        last = np.zeros(1, np.uint32)
        args = (array, np.zeros(1, np.uint32), last, np.int32(rounds))
        result = on_card(kernels(length), 1, 1, args, gpu)
        agrees("chase", last, length * rounds % hops * (stride // WORD))
        instructions[length] = len(result.program)
        return result.cycles

    step = per_step(clocks)
    beside = (instructions[LONG] - instructions[SHORT]) / (LONG - SHORT) - 1
    return step - beside * chain_of(add_and_xor, I(3), I(5), 2, gpu)


def load(size: int, stride: int, gpu: Gpu, quick: bool) -> float:
    """Clocks of a load from as many bytes of global memory as a cache holds."""
    return loads(size, stride, chasing, gpu)


def cold_load(gpu: Gpu, quick: bool) -> float:
    """Clocks of a load from lines that no cache has seen."""
    return loads(2 * COLD_STRIDE * ROUNDS * LONG, COLD_STRIDE, chasing, gpu)


def texture_load(gpu: Gpu, quick: bool) -> float:
    """Clocks of a load from the texture cache."""
    return loads(1024, 32, chasing, gpu, texture=True)


def shared_load(gpu: Gpu, quick: bool) -> float:
    """Clocks of a load from shared memory."""
    return loads(1024, 4, shared_chasing, gpu)


def constant_load(size: int, gpu: Gpu, quick: bool) -> float:
    """Clocks of a load from so many bytes of constants."""
    return loads(size, 256, cache(constant_chasing(ring(size, 256))), gpu)


@cache
def barriers(length: int) -> Kernel:
    """A loop of so many barriers."""

    @cuda.jit
    def wait(done, rounds):
        for _ in range(rounds):
            for _ in range(length):
                cuda.syncthreads()
        done[cuda.threadIdx.x] = rounds

    kernel: Kernel = wait
    return kernel


def barrier(warps: int, gpu: Gpu, quick: bool) -> float:
    """Clocks of a barrier of so many warps, from one to the next."""

    def clocks(length: int, rounds: int) -> int:
        done = np.zeros(32 * warps, np.int32)
        result = on_card(barriers(length), 1, 32 * warps, (done, np.int32(rounds)), gpu)
        agrees("barriers", done, np.full_like(done, rounds))
        return result.cycles

    return per_step(clocks)


def has_l1(gpu: Gpu) -> bool:
    """Whether global loads go through a cache in the SM."""
    return bool(gpu.coalesce_l1 and gpu.l1_bytes)


def has_l2(gpu: Gpu) -> bool:
    """Whether global loads go through a cache at the partitions."""
    return bool(gpu.l2_bytes) and not gpu.l2_texture_only


def _chain(name: str, text: str, step: Kernel, a: Any, b: Any, operations: int = 1) -> Probe:
    return Probe(name, f"{text}, dependent", "clk", partial(chain_of, step, a, b, operations))


F, I = np.float32, np.int32  # noqa: E741
PROBES = (
    _chain("mad", "float32 multiply-add", multiply_add, F(0.5), F(1.0)),
    _chain("iadd", "int32 add or xor", add_and_xor, I(3), I(5), operations=2),
    _chain("imul", "int32 multiply", multiply, I(3), I(0)),
    _chain("fdiv", "float32 division", divide, F(2.0), F(0.0)),
    Probe("shared load", "load from shared memory, dependent", "clk", shared_load),
    Probe("L1 load", "load from 4 kB of global memory, dependent", "clk", partial(load, 4096, 128), has_l1),
    Probe("L2 load", "load from 96 kB of global memory, dependent", "clk", partial(load, 98304, 512), has_l2),
    Probe("DRAM load", "load from global memory that no cache holds, dependent", "clk", cold_load),
    Probe("texture load", "load from 1 kB of texture memory, dependent", "clk", texture_load),
    *(
        Probe(f"constant {kb} kB", f"load from {kb} kB of constants", "clk", partial(constant_load, 1024 * kb))
        for kb in (1, 6, 24, 60)
    ),
    Probe("barrier, 1 warp", "barrier of one warp", "clk", partial(barrier, 1)),
    Probe("barrier, 16 warps", "barrier of sixteen warps", "clk", partial(barrier, 16)),
)  # fmt: skip
