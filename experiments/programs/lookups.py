"""LOOKUP: values read from a table in global, texture or constant memory, at one place of it for a warp or at several.

Each thread starts at a place of its own and reads one value after the other; `places` is in how many different places
the threads of a warp read at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, int32, texture
from smmux.benchmarks.base import Problem, Workload, eighths, equal, frozen, multiples, poisoned

__all__ = ["READS", "WORKLOADS"]

THREADS, LANES = 128, 32
WORDS, READS = 256, 64
TABLE = eighths(np.random.default_rng(12), WORDS)


@cuda.jit
def look_up(out, table, start):
    """The sum of values of a table that is an argument: in global memory, or a texture."""
    i = cuda.grid(1)
    place = start[i]
    total = float32(0)
    for k in range(READS):
        total += table[int32(place + k) % WORDS]
    out[i] = total


@cuda.jit
def look_up_constant(out, start):
    """The same from constant memory."""
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    place = start[i]
    total = float32(0)
    for k in range(READS):
        total += table[int32(place + k) % WORDS]
    out[i] = total


def starts(threads: int, places: int) -> NDArray[np.int32]:
    """Where each thread starts: `places` of them in each warp, in turn, the same distance apart."""
    return frozen((np.arange(threads) % LANES % places * (WORDS // places)).astype(np.int32))


def problem(build: str, threads: int, places: int) -> Problem:
    """So many threads, whose warps read in `places` places at a time, a divisor of 32."""
    multiples(THREADS, threads=threads)
    if not 1 <= places <= LANES or LANES % places:
        raise ValueError(f"places must be a divisor of {LANES}, not {places}")
    start = starts(threads, places)
    sums = np.convolve(np.concatenate([TABLE, TABLE]), np.ones(READS), "valid")
    expected = frozen(sums[start].astype(np.float32))
    tables = {"global": (TABLE,), "texture": (texture(TABLE),), "constant": ()}[build]
    return Problem(
        grid=(threads // THREADS,),
        block=(THREADS,),
        arguments=lambda: (poisoned(threads, np.float32), *tables, start),
        check=lambda args: equal(f"LOOKUP: out, build {build}", args[0], expected),
    )


WORKLOADS = (
    Workload(
        name="LOOKUP",
        title="Values of a table",
        kernels={"global": look_up, "texture": look_up, "constant": look_up_constant},
        problems=problem,
        sizes={
            "default": {"threads": 1 << 16, "places": 1},
            "quick": {"threads": 1 << 13, "places": 1},
            "tiny": {"threads": 1 << 8, "places": 4},
        },
    ),
)
