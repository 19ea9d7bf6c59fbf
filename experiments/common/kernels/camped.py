"""Partition camping: blocks in step that all read from one memory partition, against blocks that spread over all.

GT200 has partitions 256 bytes wide, so that addresses a multiple of all partitions apart lie in the same one [SDK-T].
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from experiments.common.kernels.probe import WORD, Probe, agrees, gigabytes, on_card
from smmux import cuda, float32, uint32
from smmux.gpus import Gpu
from smmux.kernel import Kernel

__all__ = ["PROBES"]

WIDTH = 64
"""Words of a block's row: as wide as a partition."""
ROWS = 16
"""Rows that a block reads."""
TILE, STRIPE = 32, 8
"""Of the transposition [SDK-T]: words along a tile's side, rows of threads of a block."""


@cuda.jit
def read_rows(data, sums, apart, turns):
    """Block b reads rows b, b + grid, ...; row r begins at word r apart + (b & turns) 64.

    An addition from row to row: a stream has to be bound by memory, and multiplications are slow on these machines.
    """
    b = uint32(cuda.blockIdx.x)
    at = b * apart + (b & turns) * WIDTH + cuda.threadIdx.x
    step = uint32(cuda.gridDim.x) * apart
    total = float32(0)
    for _ in range(ROWS):
        total += data[at]
        at += step
    sums[cuda.grid(1)] = total


def rows(apart: int, turns: int, gpu: Gpu, quick: bool) -> float:
    """Clocks in which each of the blocks reads its rows."""
    blocks = gpu.sm_count * gpu.max_blocks_sm

    def clocks(waves: int) -> int:
        count = waves * blocks * ROWS
        data = (np.arange(count * apart + 8 * WIDTH) % 61).astype(np.float32)
        sums = np.zeros(waves * blocks * WIDTH, np.float32)
        result = on_card(read_rows, waves * blocks, WIDTH, (data, sums, np.uint32(apart), np.uint32(turns)), gpu)
        r = np.arange(count).reshape(ROWS, waves * blocks, 1)
        expected = data[r * apart + (r[0] & turns) * WIDTH + np.arange(WIDTH)].sum(axis=0)
        agrees("rows", sums, expected.ravel())
        return result.cycles

    return clocks(2) - clocks(1)


def slowdown(turns: int, gpu: Gpu, quick: bool) -> float:
    """How many times as long rows take that lie 2 kB apart, as rows that follow one another."""
    return rows(8 * WIDTH, turns, gpu, quick) / rows(WIDTH, 0, gpu, quick)


@cache
def transposing(kind: str) -> Kernel:
    """Tiles of a square matrix to another one: copied, transposed, or transposed along diagonals."""
    diagonal, transposed = kind == "diagonal", kind != "copy"

    @cuda.jit
    def move(source, target):
        tile = cuda.shared.array((TILE, TILE + 1), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if diagonal:
            across, down = (cuda.blockIdx.x + cuda.blockIdx.y) % cuda.gridDim.x, cuda.blockIdx.x
        else:
            across, down = cuda.blockIdx.x, cuda.blockIdx.y
        for k in range(0, TILE, STRIPE):
            tile[y + k, x] = source[down * TILE + y + k, across * TILE + x]
        cuda.syncthreads()
        for k in range(0, TILE, STRIPE):
            if transposed:
                target[across * TILE + y + k, down * TILE + x] = tile[x, y + k]
            else:
                target[down * TILE + y + k, across * TILE + x] = tile[y + k, x]

    kernel: Kernel = move
    return kernel


def transposition(kind: str, gpu: Gpu, quick: bool) -> float:
    """GB/s read and written."""
    side = 512 if quick else 1024
    source = np.arange(side * side, dtype=np.float32).reshape(side, side)
    target = np.zeros_like(source)
    tiles = side // TILE
    result = on_card(transposing(kind), (tiles, tiles), (TILE, STRIPE), (source, target), gpu)
    agrees(kind, target, source if kind == "copy" else source.T)
    return gigabytes(gpu, 2 * side * side * WORD, result.cycles)


def unhashed(gpu: Gpu) -> bool:
    """Whether rows 2 kB apart lie in one of eight partitions."""
    return gpu.partitions * gpu.partition_bytes == 8 * WIDTH * WORD and not gpu.partition_hash


PROBES = (
    Probe("camping", "rows in one partition against rows in turn", "times slower", partial(slowdown, 0), unhashed),
    Probe(
        "camping, diagonal", "the same rows shifted by a partition each, against rows in turn", "times slower",
        partial(slowdown, 7), unhashed,
    ),
    *(
        Probe(f"transpose {kind}", text, "GB/s", partial(transposition, kind))
        for kind, text in {
            "copy": "matrix copied by tiles",
            "tiles": "matrix transposed by tiles",
            "diagonal": "matrix transposed by tiles along diagonals",
        }.items()
    ),
)  # fmt: skip
