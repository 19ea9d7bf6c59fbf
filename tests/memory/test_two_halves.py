"""An L2 in two halves: a thread block reads what it has written; capacity, distance and sharing as they were measured.

Loads go to the slice beside their GPC, stores and atomics to the one to which their address belongs, so that they may
overtake each other on their ways; what a block sees must not show that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import cuda, gpus, int32
from smmux.results.result import Result

GPU = gpus.get("H100")
LINES = 128


@cuda.jit
def handed_on(y: Any, z: Any, rounds: Any) -> None:
    """Blocks add what a neighbour in the block has just written, again and again, without a fence between blocks."""
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    j = cuda.blockIdx.x * cuda.blockDim.x + (t + 33) % cuda.blockDim.x
    for _ in range(rounds):
        old = y[j]
        cuda.syncthreads()
        y[i] = old + 1
        cuda.syncthreads()
    z[i] = y[j]


@pytest.mark.parametrize("changes", [{}, {"l1_bytes": 0}, {"side_latency": 2000}, {"coalesce_l1": 0}])
@pytest.mark.parametrize("options", [{}, {"host_threads": 2}, {"window": 11}])
def test_a_block_reads_what_it_has_written(changes: dict[str, int], options: dict[str, int]) -> None:
    threads, blocks, rounds = 256, 40, 7
    y = np.arange(threads * blocks, dtype=np.int32)
    z = np.zeros_like(y)
    handed_on.simulate(blocks, threads, (y, z, rounds), gpu=GPU.replace(**changes), **options)
    expected = np.arange(threads * blocks).reshape(blocks, threads)
    for _ in range(rounds):
        expected = np.roll(expected, -33, axis=1) + 1
    np.testing.assert_array_equal(y.reshape(blocks, threads), expected)
    np.testing.assert_array_equal(z.reshape(blocks, threads), np.roll(expected, -33, axis=1))


@cuda.jit
def follow(links: Any, out: Any, hops: Any) -> None:
    """One thread follows a chain through lines."""
    at = 0
    for _ in range(hops):
        at = links[at]
    out[0] = at


def chain(lines: int) -> np.ndarray:
    order = np.random.default_rng(1).permutation(np.arange(1, lines))
    links = np.zeros(lines * LINES // 4, np.int32)
    links[np.array([0, *order]) * LINES // 4] = np.array([*order, 0]) * LINES // 4
    return links


def clocks(lines: int, **changes: int) -> float:
    """Clocks per link, behind three rounds."""
    links, out, gpu = chain(lines), np.zeros(1, np.int32), GPU.replace(l1_bytes=0, **changes)
    three, five = (follow.simulate(1, 1, (links, out, n * lines), gpu=gpu).cycles for n in (3, 5))
    return (five - three) / (2 * lines)


SMALL = {"l2_bytes": 40 * 2 * 4 * 4 * 128}
"""Four sets of four lines in each slice: 1,280 lines in all."""


@pytest.mark.long
def test_one_multiprocessor_sees_one_half_near_and_the_other_one_far() -> None:
    near, far, beyond = (clocks(lines, **SMALL, l2_ways=4) for lines in (200, 900, 6000))
    assert near < far < beyond
    assert far - near == pytest.approx(2 * GPU.side_latency * GPU.shader_khz / GPU.icnt_khz, rel=0.35)


def test_both_halves_together_ask_dram_once() -> None:
    """All multiprocessors read the same: each line comes from DRAM once, to whichever half asks first."""

    @cuda.jit
    def sums(x: Any, y: Any) -> None:
        total = 0
        for k in range(64):
            total += x[(k * 32 + cuda.threadIdx.x) % x.size]
        y[cuda.grid(1)] = total

    x, y = np.arange(2048, dtype=np.int32), np.zeros(132 * 32, np.int32)
    result: Result = sums.simulate(132, 32, (x, y), gpu=GPU.replace(icache_bytes=0))
    np.testing.assert_array_equal(y.reshape(132, 32), np.tile(x.reshape(64, 32).sum(axis=0), (132, 1)))
    assert result["dram_reads"] * GPU.dram_burst_bytes <= 1.1 * x.nbytes


@cuda.jit
def levels(edges: Any, level: Any, n: Any, rounds: Any) -> None:
    """All blocks load from a few lines and store into them, in both halves."""
    i = cuda.grid(1)
    for k in range(rounds):
        found = int32(0)
        for j in range(4):
            found += level[edges[(4 * i + j + 7 * k) % n] % n]
        level[(i * 33 + k) % n] = found & 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(4))
def test_requests_wait_only_for_what_is_on_its_way(seed: int) -> None:
    """A line that one half writes may have a fetch under way in the other one, on whose sectors requests count."""
    edges = np.random.default_rng(seed).integers(0, 4096, 4096).astype(np.int32)
    result: Result = levels.simulate(264, 256, (edges, np.zeros_like(edges), 4096, 4), gpu=GPU)
    assert result["global_stores"] == 264 * 8 * 4
