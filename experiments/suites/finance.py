"""Prices of options, random paths."""

from __future__ import annotations

import math

import numpy as np

from experiments.suites import Launch, Random, workload

ERFC = np.vectorize(math.erfc, otypes=[float])


def market(rng: Random, n: int) -> list[np.ndarray]:
    """Spot, strike and years of n options."""
    return [rng.uniform(20, 100, n), rng.uniform(20, 100, n), rng.uniform(0.2, 3, n)]


def prices(spot: np.ndarray, strike: np.ndarray, years: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Calls and puts at a rate of 2 % and a volatility of 30 %."""
    d1 = (np.log(spot / strike) + 0.065 * years) / (0.3 * np.sqrt(years))
    d2, later = d1 - 0.3 * np.sqrt(years), strike * np.exp(-0.02 * years)
    first, second = ERFC(-d1 / math.sqrt(2)) / 2, ERFC(-d2 / math.sqrt(2)) / 2
    return spot * first - later * second, later * (1 - second) - spot * (1 - first)


def stirred(s: np.ndarray) -> np.ndarray:
    """The next random numbers."""
    s = s ^ (s << np.uint32(13))
    s ^= s >> np.uint32(17)
    s ^= s << np.uint32(5)
    return s


def seeds(rng: Random, n: int) -> np.ndarray:
    """What random paths start from."""
    return rng.integers(1, 1 << 32, n, np.uint32)


@workload("arithmetic")
def black_scholes(rng: Random, size: int) -> Launch:
    n = (4_096, 270_000, 800_000)[size]
    given = [value.astype(np.float32) for value in market(rng, n)]
    call, put = prices(*[value.astype(np.float64) for value in given])
    args = [n, *given, 0.02, 0.3, np.zeros(n, np.float32), np.zeros(n, np.float32)]
    return Launch(-(-n // 256), 256, args, {6: call, 7: put}, 1e-3, 1e-2)


@workload("fp64")
def black_scholes_double(rng: Random, size: int) -> Launch:
    n = (2_048, 100_000, 270_000)[size]
    given = market(rng, n)
    args = [n, *given, np.float64(0.02), np.float64(0.3), np.zeros(n)]
    return Launch(-(-n // 128), 128, args, {6: prices(*given)[0]}, 1e-9, 1e-9)


@workload("arithmetic")
def asian_paths(rng: Random, size: int) -> Launch:
    n, steps = ((1_024, 32), (67_584, 32), (200_704, 48))[size]
    first = seeds(rng, n)
    s, price, total = first, np.full(n, 100.0), np.zeros(n)
    for _ in range(steps):
        s = stirred(s)
        u = (s >> np.uint32(8)) / 2**24
        s = stirred(s)
        v = (s >> np.uint32(8)) / 2**24
        price = price * np.exp(0.0001 + 0.01 * np.sqrt(np.maximum(-2 * np.log(u + 1e-7), 0)) * np.cos(2 * np.pi * v))
        total += price
    args = [steps, first, 0.0001, 0.01, np.zeros(n, np.float32)]
    return Launch(n // 256, 256, args, {4: total / steps}, 1e-3)


@workload("divergent")
def barrier_paths(rng: Random, size: int) -> Launch:
    n, steps, barrier = ((1_024, 200, 16), (67_584, 200, 16), (270_336, 200, 16))[size]
    first = seeds(rng, n)
    s, place, k, live = first.copy(), np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool)
    for _ in range(steps):
        s = np.where(live, stirred(s), s)
        move = np.where((s & np.uint32(3)) == 0, 2, -1 + (s >> np.uint32(7) & np.uint32(1)).astype(np.int64))
        place, k = np.where(live, place + move, place), k + live
        live &= np.abs(place) < barrier
    args = [steps, first, barrier, np.zeros(n, np.int32)]
    return Launch(n // 256, 256, args, {3: place * 1024 + k})


@workload("shared")
def binomial(rng: Random, size: int) -> Launch:
    n = (8, 264, 1_056)[size]
    spot, strike = (rng.uniform(20, 100, n).astype(np.float32) for _ in range(2))
    up, share, discount = 0.02, 0.5, 0.9999
    value = np.maximum(spot[:, None] * np.exp2((2 * np.arange(256) - 255) * up) - strike[:, None], 0)
    for _ in range(255):
        value = discount * (share * value[:, 1:] + (1 - share) * value[:, :-1])
    args = [spot, strike, np.zeros(n, np.float32), up, share, discount]
    return Launch(n, 256, args, {2: value[:, 0]}, 1e-3, 1e-3)


@workload("arithmetic")
def dart_board(rng: Random, size: int) -> Launch:
    n, throws = ((1_024, 64), (135_168, 64), (270_336, 96))[size]
    first = seeds(rng, n)
    s, inside = first, 0
    for _ in range(throws):
        s = stirred(s)
        x = (s >> np.uint32(17)).astype(np.int64)
        s = stirred(s)
        y = (s >> np.uint32(17)).astype(np.int64)
        inside += int(np.count_nonzero(x * x + y * y < 1 << 30))
    return Launch(n // 256, 256, [throws, first, np.zeros(1, np.uint32)], {2: [inside]})
