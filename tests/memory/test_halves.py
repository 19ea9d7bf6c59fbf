"""Two halves of an L2, of which one drops what is written in the other."""

import numpy as np
import pytest

from smmux import cuda, gpus, int32


@cuda.jit
def levels(edges, level, n, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        found = int32(0)
        for j in range(4):
            found += level[edges[(4 * i + j + 7 * k) % n] % n]
        level[(i * 33 + k) % n] = found & 1


@pytest.mark.parametrize("seed", range(4))
def test_requests_wait_only_for_what_is_on_its_way(seed):
    n = 4096
    edges = np.random.default_rng(seed).integers(0, n, n).astype(np.int32)
    result = levels.simulate(264, 256, (edges, np.zeros(n, np.int32), n, 4), gpu=gpus.get("H100"))
    assert result.counters["global_stores"] == 264 * 8 * 4
