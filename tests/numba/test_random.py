"""`cuda.random`: the states and the numbers of numba.cuda.random."""

import numpy as np
import pytest

from smmux.cuda import random
from tests.numba import simulator, sources

HEADER = """
from numba import cuda
from numba.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_dtype,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
import numpy as np
"""
STATES = """
@cuda.jit
def kernel(out, n, seed, start):
    states = create_xoroshiro128p_states(n, seed, start).copy_to_host()
    for i in range(n):
        out[i, 0] = states[i]["s0"]
        out[i, 1] = states[i]["s1"]
"""


@pytest.mark.parametrize(("count", "seed", "start"), [(1, 1, 0), (5, 2**63 + 7, 0), (37, 12345, 3), (4, 0, 9)])
def test_states(count, seed, start):
    out = np.zeros((count, 2), np.uint64)
    args = [out, count, seed, start]
    expected = simulator.shared().launch(HEADER + STATES, "random_states.py", 1, 1, args)[0]
    states = random.create_xoroshiro128p_states(count, seed, start)
    assert states.dtype == random.xoroshiro128p_dtype
    np.testing.assert_array_equal(np.stack([states["s0"], states["s1"]], axis=1), expected)
    other = np.zeros(count, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states(other, seed, subsequence_start=start)
    assert (other == states).all()


DRAWS = """
@cuda.jit
def kernel(states, out):
    i = cuda.grid(1)
    for k in range(3):
        out[i, k] = xoroshiro128p_NAME(states, i)
"""


@pytest.mark.parametrize("name", ["uniform_float32", "uniform_float64", "normal_float32", "normal_float64"])
def test_numbers(name):
    """Uniform numbers to the bit; normal ones but for the last bits of the logarithm and the cosine."""
    states = np.array(random.create_xoroshiro128p_states(40, seed=5))
    text = HEADER + DRAWS.replace("NAME", name)
    expected = [states.copy(), np.zeros((40, 3), name[-7:])]
    got = [states.copy(), np.zeros((40, 3), name[-7:])]
    expected = simulator.shared().launch(text, f"random_{name}.py", 2, 20, expected)
    sources.launch(sources.load(text, f"random_{name}.py", "smmux"), 2, 20, got)
    assert (got[0] == expected[0]).all()
    if name.startswith("uniform"):
        np.testing.assert_array_equal(got[1], expected[1])
    else:
        np.testing.assert_array_max_ulp(got[1], expected[1], 3)
    assert (got[1] != 0).all()
