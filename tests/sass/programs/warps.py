"""Programs of warps and of the memory system."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, whole


def bits(flags: Any) -> int:
    """Lanes as a mask."""
    return sum(1 << k for k, flag in enumerate(flags) if flag)


@program(1, 32)
def votes(rng: Random) -> Case:
    x, i = whole(rng, 32).astype(np.int32), np.arange(32)
    rows = np.zeros((32, 8), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2] = bits(x > 0), 1, 0
    rows[:, 3] = [bits(x == v) for v in x]
    rows[:, 4], rows[:, 5] = 0xFFFFFFFF, 1
    rows[:, 6] = np.where(i % 2, bits((i % 2 == 1) & (x & 1 == 1)), bits((i % 2 == 0) & (x & 2 > 0)))
    rows[:, 7] = 0xAAAAAAAA
    return Case([x, np.zeros((32, 8), np.uint32)], {1: rows})


@program(1, 32)
def shuffles(rng: Random) -> Case:
    x, i = rng.integers(-(1 << 62), 1 << 62, 32), np.arange(32)
    low, short = x.astype(np.int32), x.astype(np.int16)
    out = [
        x[i * 7 % 32], x[np.where(i < 3, i, i - 3)], x[np.where(i > 26, i, i + 5)], x[i ^ 9], x[i // 8 * 8 + 2],
        low[np.where(i % 4 < 1, i, i - 1)], short[np.where(i % 16 > 13, i, i + 2)], x[i ^ 1],
    ]  # fmt: skip
    return Case([x, np.zeros((32, 8), np.int64)], {1: np.stack(out, 1)})


@program(1, 32, least=80)
def warp_reductions(rng: Random) -> Case:
    x = rng.integers(-(1 << 24), 1 << 24, 32).astype(np.int32)
    out = np.zeros((32, 8), np.int64)
    for k, one in enumerate((np.bitwise_and, np.bitwise_or, np.bitwise_xor), 3):
        out[:, k] = one.reduce(x)
    out[:, 0], out[:, 1], out[:, 2] = x.sum(), x.min(), x.view(np.uint32).max().view(np.int32)
    out[:10, 6], out[10:, 7] = x[:10].sum(), x[10:].max()
    return Case([x, np.zeros((32, 8), np.int32)], {1: out})


@program(1, 32, least=80)
def matrix_doubles(rng: Random) -> Case:
    a, b = whole(rng, (8, 16)).astype(float), whole(rng, (16, 8)).astype(float)
    return Case([a, b.T.copy(), np.zeros((8, 8))], {2: a @ b})


@program(1, 64, least=80)
def copies_ahead(rng: Random) -> Case:
    x = rng.standard_normal(256).astype(np.float32)
    return Case([x, np.zeros(256, np.float32), 256], {1: 2 * x.reshape(4, 64)[:, ::-1].ravel()})


@program(1, 32)
def matrix_halves(rng: Random) -> Case:
    a, b = whole(rng, (16, 48)).astype(np.float16), whole(rng, (48, 16)).astype(np.float16)
    return Case([a, b, np.zeros((16, 16), np.float32), 48], {2: (a.astype(float) @ b.astype(float) + 1).T})


@program(1, 32)
def matrix_bytes(rng: Random) -> Case:
    a, b = (rng.integers(-128, 128, (16, 16)).astype(np.int8) for _ in range(2))
    return Case([a, b, np.zeros((16, 16), np.int32)], {2: a.astype(int) @ b.T.astype(int) + 5})


@program(1, 32)
def matrix_by_hand(rng: Random) -> Case:
    a, b = whole(rng, (16, 8)).astype(np.float16), whole(rng, (8, 8)).astype(np.float16)
    return Case([a, b, np.zeros((16, 8), np.float32)], {2: a.astype(float) @ b.T.astype(float)})


@program(2, 64)
def ticket_lock(rng: Random) -> Case:
    one = [np.zeros(1, kind) for kind in ("u4", "u4", "i4")]
    return Case([*one, np.zeros(16, np.int32)], {0: 16, 1: 16, 2: 16, 3: np.arange(16)})


@program(2, 32)
def lane_locks(rng: Random) -> Case:
    return Case(
        [np.zeros(1, np.int32), np.zeros(1, np.int32)], {1: reduce(lambda v, _: v * 3 % 1000003 + 1, range(64), 0)}
    )


@program(1, 64)
def named_barriers(rng: Random) -> Case:
    x = whole(rng, (5, 32)).astype(np.int32)
    return Case([x, np.zeros((5, 32), np.int32), 5], {1: 2 * x[:, ::-1]})


@program(1, 96)
def barrier_votes(rng: Random) -> Case:
    x = whole(rng, 96).astype(np.int32)
    return Case([x, np.zeros((96, 3), np.int32)], {1: np.tile([(x > 0).sum(), 1, 1], (96, 1))})


@program(1, 64)
def all_atomics(rng: Random) -> Case:
    i = range(64)
    s = [64 * 63 // 2 - 192, 5 - 63, 63 * 63, -64 * 63 // 2, 42]
    down, count = 6, 0
    for _ in i:
        count = 0 if count >= 9 else count + 1
        down = 6 if down == 0 or down > 6 else down - 1
    u = [0, (1 << 31) - 1, reduce(lambda a, b: a ^ b, i), count, down]
    w = [sum(1 << k % 40 for k in i), 63 << 33, 7, (1 << 64) - 1]
    inc = 0
    for _ in i:
        inc = 0 if inc >= 5 else inc + 1
    own = [2016, 0, 65535, 63, 2, reduce(lambda a, b: a ^ b, (3 * k for k in i)), inc, 11, 12]
    half_bits = int(np.float32(32).view(np.int32))
    given = [np.zeros(15, "i4"), np.array([-1 % (1 << 32), 0, 0, 0, 6], "u4"), np.zeros(4, "u8")]
    given += [np.zeros(1, "f4"), np.zeros(1), np.zeros(2, "f2")]
    results = {0: [*s, *own, half_bits], 1: u, 2: np.array(w, np.uint64), 3: 1008, 4: 504, 5: [64, 32]}
    return Case(given, results)


@program(1, 32)
def clocks(rng: Random) -> Case:
    x = whole(rng, 32).astype(np.float32)
    y = x.copy()
    for _ in range(10):
        y = y / 2 + 1

    def check(args: Any) -> None:
        assert np.all((args[0] > 20) & (args[0] < 100_000))

    return Case([np.zeros(32, np.int64), x, np.zeros(32, np.float32)], {2: y}, check=check)


@program(1, 64)
def cached_reads(rng: Random) -> Case:
    x, i = whole(rng, 64).astype(np.int32), np.arange(64)
    first = x + x[::-1]
    return Case([x, np.zeros((3, 64), np.int32), 64], {1: [first, x[i // 2] + x[i % 3], 2 * first]})
