"""Kernels with several shared arrays of which one is divided: the others are public as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import benchmarks, multiplex
from tests.multiplex.kernels import body, kernel

STREAMS = """
def f(a, o):
    s = cuda.shared.array(32, float32)
    r = cuda.shared.array((4, 32), float32)
    words = r.view(uint32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    x = a[g]
    for k in range(4):
        r[k, t] = x + k
    s[t] = x * 2
    x = x + 1
    s[t] += x
    cuda.syncthreads()
    y = s[31 - t] + r[t % 4, t]
    cuda.syncthreads()
    s[t] = y
    cuda.syncthreads()
    o[g] = s[(t + 3) % 32] + x + words[1, t]
"""


@pytest.mark.quick
@pytest.mark.parametrize(("array", "private"), [("tile_a", 1), ("tile_a", 15), ("tile_b", 8)])
@pytest.mark.parametrize("form", ["co_hw", "co_vtb"])
def test_a_matrix_product(form: str, array: str, private: int) -> None:
    benchmark = benchmarks.get("MM")
    problem = benchmark.problem("tiny")
    plain, grid, block = benchmark.launch(problem, "baseline")
    made: Any = getattr(multiplex, form)(plain, array, private)
    options: dict[str, Any] = {"management": "dynamic", "extra_blocks": 1}
    if isinstance(made, multiplex.VirtualKernel):
        made = made.fitted(grid, block)
        (grid, block), options = made.geometry(grid, block), {}
    arguments = problem.arguments()
    made.simulate(grid, block, arguments, check="races", **options).raise_for_findings()
    problem.check(arguments)


@pytest.mark.parametrize(("array", "private"), [("s", 9), ("s", 31), ("r", 1), ("r", 3)])
def test_both_streams(array: str, private: int) -> None:
    plain = kernel(STREAMS)
    a, expected, hardware, software = (np.arange(192, dtype=np.float32) % 37 for _ in range(4))
    plain.simulate(6, 32, (a, expected))
    multiplex.co_hw(plain, array, private).simulate(6, 32, (a, hardware), management="dynamic", extra_blocks=1)
    made = multiplex.co_vtb(plain, array, private)
    made.simulate(*made.geometry(6, 32), (a, software), check="races").raise_for_findings()
    np.testing.assert_array_equal(hardware, expected)
    np.testing.assert_array_equal(software, expected)


def test_the_others_are_held_no_longer_than_the_public_part() -> None:
    text = body(multiplex.co_hw(kernel(STREAMS), "s", 9))
    assert "r = smm.array((4, 32), float32)" in text
    assert text.index("s[t] += x") < text.index("smm.alloc()") < text.index("r[k, t] = x + k")
