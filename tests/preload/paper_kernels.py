"""The kernels that TELEPORT's authors ran their analyzer on: the benchmarks, and three more of which only the indices
are here.

Arrays are flat and sizes are arguments, as in the CUDA sources. Each case has the class of every load of global memory
as a reader of the source gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments import programs
from smmux import cuda

N = 64
"""Rows and columns of the small launches here; blocks have 16 x 16 threads."""


@dataclass(frozen=True)
class Case:
    """A launch of a kernel. classes: of each load in the order of the source. reasons: part of the reason why there is
    no range, by class entry. entries: of the table."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    make: Callable[[], tuple[Any, ...]]
    classes: str
    reasons: tuple[str, ...] = ()
    entries: int = 0


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


def integers(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32) % 64


@cuda.jit
def srad_border(image, out, columns):
    x, y = cuda.grid(2)
    i = y * columns + x
    above = i - columns
    if y == 0:
        above = i
    out[i] = image[above]


@cuda.jit
def breadth_first(nodes, edges, visited, cost, frontier, n):
    i = cuda.grid(1)
    if i < n and frontier[i] != 0:
        for k in range(nodes[i], nodes[i + 1]):
            other = edges[k]
            if visited[other] == 0:
                cost[other] = 1


@cuda.jit
def tree(roots, keys, children, out):
    bx, tx = cuda.blockIdx.x, cuda.threadIdx.x
    node = roots[bx]
    if keys[node * 16 + tx] > tx:
        out[bx * 16 + tx] = children[node * 16 + tx]


TILE = (16, 16)
SQUARE = (N // 16, N // 16)
Q, S, X = "quasi-static", "static", "non-precalculable"


def image() -> np.ndarray:
    return floats(N * N)


def of(name: str, classes: str, reasons: tuple[str, ...] = (), entries: int = 0) -> Case:
    """The smallest launch of a benchmark's Baseline."""
    row = programs.workload(name)
    problem = row.problem("tiny", "baseline")
    kernel = row.kernels["baseline"]
    return Case(name, kernel, problem.grid, problem.block, problem.arguments, classes, reasons, entries)


CASES = (
    of("MMA", "QQ", entries=32),
    of("MMAC", "QQ", entries=32),
    of("JAC", "Q" * 9, entries=18),
    of("EDS", "Q" * 6, entries=18),
    of("HSP", "Q" * 6, entries=34),
    of("SRD1", "Q" * 5, entries=18),
    of("SRD2", "Q" * 8, entries=97),
    Case("SRD border", srad_border, SQUARE, TILE, lambda: (image(), image(), N), "X", ("several definitions",)),
    of("BKP1", "SQ", entries=2),
    of("BKP2", "SSQQ", entries=4),
    of("FWL", "XXXX", ("a mask",) * 4),
    of("NN", "SSS", entries=2),
    of("NNC", "QQ", entries=2),
    of("LPS", "Q" * 6, entries=20),
    of("RDC5", "QQ", entries=1),
    of("RDC6", "XX", ("block to block",) * 2),
    of("HIS1", "X", ("block to block",)),
    of("HIS2", "Q", entries=64),
    Case(
        "BFS",
        breadth_first,
        (2,),
        (32,),
        lambda: (integers(65) // 8, integers(64), integers(64), integers(64), integers(64), 64),
        "QQQXX",
        ("loaded from 'nodes'", "loaded from 'edges'"),
        entries=2,
    ),
    Case(
        "BPT",
        tree,
        (4,),
        (16,),
        lambda: (integers(4), integers(64), integers(64), integers(64)),
        "SXX",
        ("loaded from 'roots'",) * 2,
        entries=1,
    ),
)
