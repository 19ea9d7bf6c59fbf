"""The three tries of seed 004 at the maximum of a chunk, and its first example."""

from __future__ import annotations

from typing import Any

import numpy as np

import smmux
from smmux import cuda, int32

CHUNK = 256


def chunks(count: int = 2, size: int = 0) -> np.ndarray[Any, Any]:
    """Chunks whose maximum is nowhere special."""
    return np.random.default_rng(4).integers(0, 1000, size or count * CHUNK).astype(np.int32)


def line_of(kernel: Any, text: str) -> int:
    """Line of the kernel's file that holds a text."""
    number = next(i for i, line in enumerate(kernel.source.splitlines()) if text in line)
    return int(kernel.function.__code__.co_firstlineno) + number


@cuda.jit
def first_try(a, out):
    """Seed 004, try 1, its guard put right."""
    tbmax = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    tid = cuda.grid(1)
    if tid >= a.size:
        return
    if t == 0:
        tbmax[0] = a[tid]
    cuda.syncthreads()
    if a[tid] > tbmax[0]:
        tbmax[0] = a[tid]
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = tbmax[0]


@cuda.jit
def second_try(a, out):
    """Seed 004, try 2: every thread decides for itself how often to go round."""
    tbmax = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    tid = cuda.grid(1)
    if t == 0:
        tbmax[0] = a[tid]
    cuda.syncthreads()
    while True:
        mine = tbmax[0]
        cuda.syncthreads()
        if a[tid] > mine:
            tbmax[0] = a[tid]
        cuda.syncthreads()
        if not a[tid] > tbmax[0]:
            break
    if t == 0:
        out[cuda.blockIdx.x] = tbmax[0]


@cuda.jit
def third_try(a, out):
    """Seed 004, try 3: all threads see the same maximum; of those that raise it any may win."""
    tbmax = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    tid = cuda.grid(1)
    if t == 0:
        tbmax[0] = a[tid]
    cuda.syncthreads()
    while True:
        mine = tbmax[0]
        cuda.syncthreads()
        if a[tid] > mine:
            tbmax[0] = a[tid]
        cuda.syncthreads()
        if mine == tbmax[0]:
            break
    if t == 0:
        out[cuda.blockIdx.x] = tbmax[0]


def run(kernel: Any, a: np.ndarray[Any, Any], check: str | None = "races", **options: Any) -> smmux.Result:
    out = np.full(-(-a.size // CHUNK), -1, np.int32)
    result: smmux.Result = kernel.simulate(out.size, CHUNK, (a, out), check=check, **options)
    if kernel is third_try:
        assert out.tolist() == a.reshape(-1, CHUNK).max(1).tolist()
    return result


FIRST_EXAMPLE = """
def say(out):
    x = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        x[0] = 1
    BARRIER
    out[cuda.threadIdx.x] = x[0]
"""
