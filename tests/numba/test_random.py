"""`cuda.random`: the states of numba.cuda.random."""

import numpy as np
import pytest

from smmux.cuda import random
from tests.numba import simulator

HEADER = """
from numba import cuda
from numba.cuda.random import (
    create_xoroshiro128p_states,
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
