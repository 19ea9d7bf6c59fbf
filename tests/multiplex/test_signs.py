"""Leading indices of a divided array that count from its end, and those that are seen not to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import multiplex
from smmux.kernel import Kernel
from tests.multiplex.kernels import body, kernel

INDICES = ["-1", "t - 5", "~t", "-t - 1", "t - 32", "k - 1", "(t - 7) % 32", "31 - t", "abs(t - 20)", "row"]


def written(index: str) -> Kernel:
    return kernel(f"""
    def f(a, o):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        row = t - 9
        s[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        x = int32(0)
        for k in range(3):
            x = x * 3 + s[{index}]
        cuda.syncthreads()
        if t < 1:
            s[{index.replace("k", "t")}] = 7
        cuda.syncthreads()
        o[cuda.grid(1)] = x + s[t]
    """)


def left(made: Any, **options: Any) -> np.ndarray:
    """What two blocks leave."""
    a, o = np.arange(64, dtype=np.int32) * 37 % 101, np.zeros(64, np.int32)
    grid, block = made.geometry(2, 32) if isinstance(made, multiplex.VirtualKernel) else (2, 32)
    made.simulate(grid, block, (a, o), **options)
    return o


@pytest.mark.quick(7)
@pytest.mark.parametrize("private", [3, 29])
@pytest.mark.parametrize("index", INDICES)
def test_from_the_end(index: str, private: int) -> None:
    plain = written(index)
    np.testing.assert_array_equal(left(multiplex.co_hw(plain, "s", private), management="dynamic"), left(plain))
    np.testing.assert_array_equal(left(multiplex.co_vtb(plain, "s", private)), left(plain))


@pytest.mark.parametrize(
    "index",
    [
        "t", "t + k", "(t - 7) % 32", "(t - 7) & 31", "2 - k", "a[t]", "3 + a[t]", "uint32(t - 3)", "abs(t - 3)",
        "max(t - 1, 0)", "half",
    ],
)  # fmt: skip
def test_what_is_not_negative_stays_as_it_is(index: str) -> None:
    plain = kernel(f"""
    def f(a, o):
        s = cuda.shared.array((40, 32), int32)
        t = cuda.threadIdx.x
        half = 16
        while half > 1:
            half //= 2
        for k in range(3):
            s[{index}, t] = a[t]
        cuda.syncthreads()
        o[t] = s[3, 31 - t]
    """)
    assert "< 0" not in body(multiplex.co_hw(plain, "s", 20))
