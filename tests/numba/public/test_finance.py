"""Prices and random walks as people write them."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64, uint64

A1, A2, A3, A4, A5 = 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429


@cuda.jit(device=True)
def cnd(d):
    """The cumulative normal distribution of the well-known sample."""
    K = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    ret_val = 0.39894228040143267 * math.exp(-0.5 * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))))
    if d > 0:
        ret_val = 1.0 - ret_val
    return ret_val


@cuda.jit
def black_scholes(call_result, put_result, S, X, T, R, V):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i >= S.shape[0]:
        return
    sqrtT = math.sqrt(T[i])
    d1 = (math.log(S[i] / X[i]) + (R + 0.5 * V * V) * T[i]) / (V * sqrtT)
    d2 = d1 - V * sqrtT
    cndd1 = cnd(d1)
    cndd2 = cnd(d2)
    expRT = math.exp((-1.0 * R) * T[i])
    call_result[i] = S[i] * cndd1 - X[i] * expRT * cndd2
    put_result[i] = X[i] * expRT * (1.0 - cndd2) - S[i] * (1.0 - cndd1)


def test_black_scholes() -> None:
    rng = np.random.default_rng(0)
    s, x, t = rng.uniform(5, 30, 100), rng.uniform(1, 100, 100), rng.uniform(0.25, 10, 100)
    call, put = np.zeros(100), np.zeros(100)
    black_scholes[4, 32](call, put, s, x, t, 0.02, 0.3)
    d1 = (np.log(s / x) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    exact = s * normal(d1) - x * np.exp(-0.02 * t) * normal(d1 - 0.3 * np.sqrt(t))
    np.testing.assert_allclose(call, exact, atol=2e-5)
    np.testing.assert_allclose(call - put, s - x * np.exp(-0.02 * t), atol=1e-10)


@cuda.jit
def binomial_american_put(S, K, r, sigma, T, price):
    """A tree per thread, in local memory."""
    i = cuda.grid(1)
    if i >= S.size:
        return
    n = 32
    values = cuda.local.array(33, float64)
    dt = T / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    discount = math.exp(-r * dt)
    for k in range(n + 1):
        values[k] = max(K - S[i] * u**k * d ** (n - k), 0.0)
    for step in range(n - 1, -1, -1):
        for k in range(step + 1):
            hold = discount * (p * values[k + 1] + (1 - p) * values[k])
            values[k] = max(hold, K - S[i] * u**k * d ** (step - k))
    price[i] = values[0]


def test_option_tree() -> None:
    spots = np.linspace(80, 120, 5)
    price = np.zeros(5)
    binomial_american_put[1, 32](spots, 100.0, 0.05, 0.2, 1.0, price)
    dt = 1 / 32
    u = math.exp(0.2 * math.sqrt(dt))
    p, discount = (math.exp(0.05 * dt) - 1 / u) / (u - 1 / u), math.exp(-0.05 * dt)
    for spot, found in zip(spots, price, strict=True):
        k = np.arange(33)
        values = np.maximum(100 - spot * u ** (2.0 * k - 32), 0)
        for step in range(31, -1, -1):
            k = np.arange(step + 1)
            held = discount * (p * values[1:] + (1 - p) * values[:-1])
            values = np.maximum(held, 100 - spot * u ** (2.0 * k - step))
        np.testing.assert_allclose(found, values[0], rtol=1e-10)


@cuda.jit(device=True)
def xorshift(state):
    """A step of xorshift64*."""
    state ^= state >> uint64(12)
    state ^= state << uint64(25)
    state ^= state >> uint64(27)
    return state


@cuda.jit
def walks(seeds, positions, steps):
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        x = 0
        y = 0
        for _ in range(steps):
            state = xorshift(state)
            direction = (state * uint64(2685821657736338717)) >> uint64(62)
            if direction == 0:
                x += 1
            elif direction == 1:
                x -= 1
            elif direction == 2:
                y += 1
            else:
                y -= 1
        positions[i, 0] = x
        positions[i, 1] = y


def test_random_walks() -> None:
    seeds = np.arange(1, 41, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    positions = np.zeros((40, 2), dtype=np.int64)
    walks[2, 32](seeds, positions, 25)
    mask = 2**64 - 1
    for seed, found in zip(seeds.tolist(), positions.tolist(), strict=True):
        x = y = 0
        for _ in range(25):
            seed ^= seed >> 12
            seed ^= seed << 25 & mask
            seed ^= seed >> 27
            step = (seed * 2685821657736338717 & mask) >> 62
            x += (step == 0) - (step == 1)
            y += (step == 2) - (step == 3)
        assert [x, y] == found


@cuda.jit
def euler_maruyama(noise, paths, mu, sigma, dt):
    i = cuda.grid(1)
    if i < paths.shape[0]:
        for t in range(paths.shape[1] - 1):
            s = paths[i, t]
            paths[i, t + 1] = s + mu * s * dt + sigma * s * math.sqrt(dt) * noise[i, t]


def test_geometric_brownian_motion() -> None:
    noise = np.random.default_rng(1).standard_normal((40, 10))
    paths = np.ones((40, 11))
    euler_maruyama[2, 32](noise, paths, 0.05, 0.2, 0.01)
    expected = np.cumprod(1 + 0.05 * 0.01 + 0.2 * 0.1 * noise, axis=1)
    np.testing.assert_allclose(paths[:, 1:], expected, rtol=1e-12)
