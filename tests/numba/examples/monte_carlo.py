"""Monte Carlo integration, with a generator of the kernel's own (Numba's xoroshiro states are 64 bits wide)."""

import numpy as np
from numba import cuda, float32, uint32

SAMPLES = 16


@cuda.jit(device=True)
def advance(state):
    return state * uint32(1664525) + uint32(1013904223)


@cuda.jit(device=True)
def uniform(state):
    return float32(state >> uint32(22)) / float32(1024.0)


@cuda.jit
def count_inside(seeds, inside):
    i = cuda.grid(1)
    if i >= inside.size:
        return
    state = seeds[i]
    hits = 0
    for _ in range(SAMPLES):
        state = advance(state)
        x = uniform(state)
        state = advance(state)
        y = uniform(state)
        if x * x + y * y <= 1.0:
            hits += 1
    inside[i] = hits
    seeds[i] = state


@cuda.jit
def integrate(seeds, out, lower, upper):
    i = cuda.grid(1)
    if i < out.size:
        x = uniform(advance(seeds[i])) * (upper - lower) + lower
        out[i] = x * x


def run_pi():
    seeds = np.arange(1, 129, dtype=np.uint32) * np.uint32(2654435761)
    inside = np.zeros(128, np.int32)
    count_inside[2, 64](seeds, inside)
    assert abs(4 * inside.sum() / (128 * SAMPLES) - 3.14159) < 0.1
    return inside, seeds


def run_integral():
    seeds = np.arange(1, 129, dtype=np.uint32) * np.uint32(2654435761)
    out = np.zeros(128, np.float32)
    integrate[4, 32](seeds, out, 1.0, 3.0)
    return out
