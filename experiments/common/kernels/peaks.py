"""Peak rates of arithmetic, and rates at which instructions are fetched by the size of the code."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from experiments.common.kernels.probe import Probe, agrees, gigabytes, on_card, wave
from smmux import cuda, float32
from smmux.gpus import Gpu
from smmux.kernel import Kernel

__all__ = ["PROBES"]

THREADS = 128
STEPS = 160
"""Steps of all chains in the loop's body, as in SHOC's MaxFlops [SHOC]."""
CHAINS = (1, 2, 4, 8)
KEEP, TAKE = 1.001, -0.001
"""Factors with which the chains neither overflow nor settle."""
INDEPENDENT = 8
"""Accumulators in turn: enough that no multiply-add waits for the one before."""
ENOUGH_TO_UNROLL = 1 << 17


@cache
def flops(chains: int, with_multiply: bool) -> Kernel:
    """Chains of multiply-adds, or of multiply-adds and multiplies in turn, side by side in each thread."""

    @cuda.jit
    def compute(values, keep, take, rounds):
        s = cuda.local.array(chains, float32)
        for k in range(chains):
            s[k] = values[cuda.grid(1)] - float32(0.01) * float32(k)
        for _ in range(rounds):
            for _ in range(STEPS // chains):
                for k in range(chains):
                    if with_multiply:
                        s[k] = (s[k] * take + keep) * s[k]
                    else:
                        s[k] = s[k] * take + keep
        total = s[0]
        for k in range(1, chains):
            total += s[k]
        values[cuda.grid(1)] = total

    kernel: Kernel = compute
    return kernel


def computed(values: np.ndarray, chains: int, with_multiply: bool, rounds: int) -> np.ndarray:
    """What `flops` computes, by NumPy in float64."""
    s = values.astype(np.float64) - 0.01 * np.arange(chains)[:, None]
    for _ in range(rounds * STEPS // chains):
        s = (s * TAKE + KEEP) * (s if with_multiply else 1.0)
    total: np.ndarray = s.sum(axis=0)
    return total


def rate(chains: int, with_multiply: bool, gpu: Gpu, quick: bool) -> float:
    """GFLOPS of a kernel whose blocks fill the SMs."""
    blocks = wave(gpu, THREADS)

    def clocks(rounds: int) -> int:
        values = np.linspace(0.5, 1.5, blocks * THREADS, dtype=np.float32)
        expected = computed(values, chains, with_multiply, rounds)
        args = (values, np.float32(KEEP), np.float32(TAKE), np.int32(rounds))
        result = on_card(flops(chains, with_multiply), blocks, THREADS, args, gpu)
        agrees("flops", values, expected, 1e-4)
        return result.cycles

    rounds = 1 if quick else 2
    work = (3 if with_multiply else 2) * STEPS * rounds * blocks * THREADS
    return gigabytes(gpu, work, clocks(1 + rounds) - clocks(1))


def max_flops(gpu: Gpu, quick: bool) -> float:
    """GFLOPS of the fastest of the kernels, as SHOC reports it."""
    kinds = [(n, both) for n in (CHAINS[1:3] if quick else CHAINS) for both in (False, True)]
    return max(rate(chains, both, gpu, quick) for chains, both in kinds)


@cache
def code(operations: int) -> Kernel:
    """A loop of so many multiply-adds, none of which needs the one before."""

    @cuda.jit
    def run(values, a, b, rounds):
        s = cuda.local.array(INDEPENDENT, float32)
        for k in range(INDEPENDENT):
            s[k] = values[k, cuda.threadIdx.x]
        for _ in range(rounds):
            for i in range(operations):
                s[i % INDEPENDENT] = s[i % INDEPENDENT] * a + b
        for k in range(INDEPENDENT):
            values[k, cuda.threadIdx.x] = s[k]

    kernel: Kernel = run
    return kernel


def clocks_of_code(operations: int, rounds: int, gpu: Gpu) -> int:
    """Clocks of one thread in such a loop."""
    values = np.linspace(0.0, 1.0, INDEPENDENT, dtype=np.float32).reshape(INDEPENDENT, 1)
    expected = values.astype(np.float64)
    for _ in range(operations // INDEPENDENT * rounds):
        expected = expected * 0.999 + 0.001
    args = (values, np.float32(0.999), np.float32(0.001), np.int32(rounds))
    result = on_card(code(operations), 1, 1, args, gpu, schedule="source", unroll_limit=ENOUGH_TO_UNROLL)
    agrees("code", values, expected, 1e-4)
    return result.cycles


def fetched(operations: int, gpu: Gpu, quick: bool) -> float:
    """Clocks per instruction of a loop that long, once the caches that are large enough hold it."""
    return (clocks_of_code(operations, 4, gpu) - clocks_of_code(operations, 2, gpu)) / (2 * operations)


def fetched_once(operations: int, gpu: Gpu, quick: bool) -> float:
    """Clocks per instruction of code that runs once, and that nobody has fetched before."""
    return (clocks_of_code(2 * operations, 1, gpu) - clocks_of_code(operations, 1, gpu)) / operations


def _fetch(name: str, operations: int) -> Probe:
    text = f"multiply-adds of one thread, none dependent, loop of {operations}"
    return Probe(f"fetch {name}", text, "clk/instruction", partial(fetched, operations))


PROBES = (
    Probe("max flops", "multiply-adds and multiplies, one to eight chains a thread", "GFLOPS", max_flops),
    _fetch("3 kB", 384),
    _fetch("20 kB", 2560),
    _fetch("47 kB", 5120),
    Probe(
        "fetch cold", "multiply-adds of one thread, none dependent, code that runs once", "clk/instruction",
        partial(fetched_once, 1280),
    ),
)  # fmt: skip
