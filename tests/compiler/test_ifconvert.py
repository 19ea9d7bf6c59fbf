"""What leaves the loop around an arm of a condition does not keep the arm from being predicated."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import benchmarks, cuda
from smmux.kernel import from_source
from tests.compiler.front import run

ARM = "(((i ^ k) & (n + 9)) + ((i | n) ^ (k + 3)))"  # seven operations that no trip of the loop changes


def branches(listing: str) -> int:
    return sum("bra " in line for line in listing.splitlines())


def test_operations_that_leave_the_loop_are_not_counted() -> None:
    text = f"""
def kernel(a, o, n, k, trips):
    i = cuda.grid(1)
    total = 0
    for j in range(trips):
        if a[j] > i:
            total += {ARM} * a[j]
    o[i] = total
"""
    made = from_source(text, {"cuda": cuda})
    a, o, n, k = np.arange(100, dtype=np.int32) % 37, np.zeros(64, np.int32), 6, 5
    result = run(made, 2, 32, a, o, n, k, a.size)
    i = np.arange(64)
    value = ((i ^ k) & (n + 9)) + ((i | n) ^ (k + 3))
    assert o.tolist() == [int(v * a[a > t].sum()) for t, v in enumerate(value)]
    assert result["divergent_branches"] == 0


def test_operations_that_change_in_the_loop_are_counted() -> None:
    text = """
def kernel(a, o, n, k, trips):
    i = cuda.grid(1)
    total = 0
    for j in range(trips):
        if a[j] > i:
            total += (((j ^ k) & n) + ((j | n) ^ k)) * ((j & i) | (a[j] ^ i))
    o[i] = total
"""
    made = from_source(text, {"cuda": cuda})
    result = run(made, 2, 32, np.arange(100, dtype=np.int32), np.zeros(64, np.int32), 6, 5, 100)
    assert result["divergent_branches"] > 0


@pytest.mark.long
def test_the_guard_of_virtual_blocks_leaves_the_tests_of_indices_predicated() -> None:
    """MC's CO-VTB for an odd number of blocks, the last of which the grid lacks, branches as that for an even one."""
    benchmark = benchmarks.get("MC")
    problem = benchmark.problem("tiny")
    counts = []
    for blocks in (problem.grid[0], problem.grid[0] + 1):
        fitted = benchmark.kernel("co_vtb").fitted((blocks,), problem.block)
        program = fitted.compile(problem.arguments(), gpu="GTX480-16K", grid=(blocks + 1) // 2, block=64)
        counts.append(branches(program.listing()))
    assert problem.grid[0] % 2
    assert counts[0] <= counts[1] + 1
