"""Monte Carlo with the generators of `cuda.random`, as in the documentation of Numba."""

from __future__ import annotations

import numpy as np

from smmux import cuda
from smmux.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float64, xoroshiro128p_uniform_float32


@cuda.jit
def compute_pi(rng_states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for _ in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


def test_pi() -> None:
    states = create_xoroshiro128p_states(64, seed=1)
    out = np.zeros(64, dtype=np.float32)
    compute_pi[2, 32](states, 100, out)
    assert abs(out.mean() - np.pi) < 0.05
    assert len(set(out.tolist())) > 5


@cuda.jit
def normals(states, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_normal_float64(states, i)


def test_normal_numbers() -> None:
    states = create_xoroshiro128p_states(64, seed=7)
    out = np.zeros((64, 20))
    normals[2, 32](states, out)
    assert abs(out.mean()) < 0.1
    assert abs(out.std() - 1) < 0.1
