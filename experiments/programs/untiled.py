"""PRODUCT: C = A B, each element by one thread: `tiled` in shared memory, as MM was published, or `untiled`."""

from __future__ import annotations

from smmux import cuda, float32
from smmux.benchmarks import mm
from smmux.benchmarks.base import Problem, Workload

__all__ = ["WORKLOADS"]


@cuda.jit
def matmul_untiled(c, a, b, width_a, width_b):
    """Every factor comes from global memory. Matrices are flat, row after row."""
    column, row = cuda.grid(2)
    total = float32(0)
    for k in range(width_a):
        total += a[row * width_a + k] * b[k * width_b + column]
    c[row * width_b + column] = total


def problem(build: str, order: int) -> Problem:
    """Square matrices of an order that is a multiple of 16."""
    return mm.problem(build, order, order, order)


WORKLOADS = (
    Workload(
        name="PRODUCT",
        title="Product of two matrices",
        kernels={"tiled": mm.BENCHMARK.kernels["as_sdk"], "untiled": matmul_untiled},
        problems=problem,
        sizes={"default": {"order": 256}, "quick": {"order": 96}, "tiny": {"order": 32}},
    ),
)
