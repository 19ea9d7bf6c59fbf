"""Programs that use what the language has."""

from __future__ import annotations

import math

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, divided, whole


@program(1, 32)
def recursion(rng: Random) -> Case:
    m, n = rng.integers(0, 3, 32).astype(np.int32), np.arange(32) % 3
    return Case([m, np.zeros(32, np.int32)], {1: np.select([m == 0, m == 1], [n + 1, n + 2], 2 * n + 3)})


@program(1, 16)
def recursive_sort(rng: Random) -> Case:
    values = rng.integers(0, 50, (16, 20)).astype(np.int32)
    return Case([values.copy(), 20], {0: np.sort(values, 1)})


MATRIX = np.dtype(
    {
        "names": ["m", "tag", "shift"],
        "formats": [("f8", (3, 3)), "i2", ("f4", 3)],
        "offsets": [0, 72, 76],
        "itemsize": 88,
    }
)


@program(1, 64)
def structures(rng: Random) -> Case:
    all_ = np.zeros(41, MATRIX)
    for name, shape in {"m": (41, 3, 3), "tag": 41, "shift": (41, 3)}.items():
        all_[name] = whole(rng, shape)
    a, others = all_[40], all_[:40].copy()
    offset = a["shift"][:, None] - others["shift"][:, None, :] + (a["tag"] * others["tag"])[:, None, None]
    return Case([a, others, np.zeros((40, 3, 3)), 40], {2: a["m"] @ others["m"] + offset})


@program(1, 32)
def virtual_calls(rng: Random) -> Case:
    kinds, x = rng.integers(0, 2, (32, 4)).astype(np.int32), whole(rng, 32).astype(np.float32)
    out = x.copy()
    for k in range(4):
        out = np.where(kinds[:, k], out + 2, out * 3)
    return Case([kinds, x, np.zeros(32, np.float32)], {2: out})


@program(1, 64)
def pointers_to_functions(rng: Random) -> Case:
    which, a, b = (rng.integers(*span, 64).astype(np.int32) for span in ((0, 4), (-99, 99), (1, 9)))
    out = np.select([which == 0, which == 1, which == 2], [a + b, a - b, a * b], divided(a, b)[0].astype(int))
    return Case([which, a, b, np.zeros(64, np.int32)], {3: out})


@program(1, 32)
def lambdas(rng: Random) -> Case:
    s = whole(rng, 32).astype(np.float32)
    middle = (np.arange(64) + 0.5) / 64
    return Case([s, np.zeros(32, np.float32)], {1: s * np.mean(middle**2) + 2 - 2 * s}, 1e-5, 1e-5)


@program(1, 32)
def templates(rng: Random) -> Case:
    i = np.arange(32)
    seventh = (i * 7).astype(np.int8).astype(int)
    # The fold goes from the left, so that all is a float at the end.
    exact = (math.factorial(15) + 2 * i + seventh).astype(np.float32) + np.float32(1.5)
    return Case([np.zeros(32, np.int64)], {0: exact.astype(np.int64) + 120 * i})


@program(1, 32)
def variables(rng: Random) -> Case:
    return Case([np.zeros(32, np.int32)], {0: 100 + np.tile([3, 1, 4, 1], 8) + np.arange(32)[::-1]})


@program(2, 64)
def jump_table(rng: Random) -> Case:
    codes, i = rng.integers(-1, 12, 120).astype(np.int32), np.arange(120)
    bits = np.array([int(v).bit_count() for v in i])
    ways = [i + 5, i * 3, (i - 100) ^ 0x5A, i ^ 0x5A, i // 3, i % 5, -i, i << 3, bits, np.where(i > 30, 1, 2)]
    return Case([codes, np.zeros(120, np.int32), 120], {1: np.select([codes == k for k in range(10)], ways, -1)})


def looped(limit: int) -> int:
    """What `divergent_loops` counts."""

    def loops() -> int:
        count = 0
        for a in range(limit):
            if a % 7 == 3:
                continue
            b = 0
            while b * a <= limit:
                if (b ^ a) % 5 == 4:
                    count += 2
                elif count > 150:
                    return count
                else:
                    count += 1
                b += 1
            if a > 20:
                break
        return count

    count = loops() - 1
    while math.fmod(count, 4):
        count -= 1
    return count


@program(1, 64)
def divergent_loops(rng: Random) -> Case:
    limits = rng.integers(-3, 40, 64).astype(np.int32)
    return Case([limits, np.zeros(64, np.int32)], {1: [looped(int(n)) for n in limits]})


@program(2, 32)
def collatz(rng: Random) -> Case:
    counts = []
    for v in range(1, 65):
        count = 0
        while v != 1:
            v, count = 3 * v + 1 if v % 2 else v // 2, count + 1
        counts.append(count)
    return Case([np.zeros(64, np.int32)], {0: counts})


@program(2, 32)
def early_exits(rng: Random) -> Case:
    out = [3 if i % 3 == 0 else math.isqrt(i) if math.isqrt(i) ** 2 == i and i > 1 else -1 for i in range(50)]
    return Case([np.zeros(50, np.int32), 50], {0: out})


@program(1, 6)
def queens(rng: Random) -> Case:
    return Case([np.zeros(1, np.int32), 6], {0: 4})


@program(1, 64)
def bit_fields(rng: Random) -> Case:
    x = rng.integers(0, 1 << 32, 64, np.uint32)
    a, b, c, d = x & 7, x >> 3 & 0x7FF, x >> 14 & 0x7F, x >> 21
    word = (a + 5 & 7) | (b ^ d) << 3 | (-c & 0x7F) << 14 | d << 21
    out = word.astype(np.uint32) ^ np.uint32(0xF0) << (8 * (np.arange(64, dtype=np.uint32) & 3))
    return Case([x, np.zeros(64, np.uint32)], {1: out})


@program(1, 32)
def prints(rng: Random) -> Case:
    return Case([np.arange(32, dtype=np.float32) / 4], {})


@program(1, 32)
def assertion_holds(rng: Random) -> Case:
    return Case([np.arange(32, dtype=np.int32)], {0: np.arange(1, 33)})


@program(1, 32, fails="KernelAssertionError")
def assertion_fails(rng: Random) -> Case:
    return Case([np.arange(32, dtype=np.int32)], {})


@program(1, 32, fails="KernelError")
def trapped(rng: Random) -> Case:
    return Case([np.arange(32, dtype=np.int32)], {})


@program(1, 32)
def heap(rng: Random) -> Case:
    out = [sum((15 - k) * i ^ k for k in range(16)) for i in range(32)]
    return Case([np.zeros(32, np.int32)], {0: out})


@program(1, 64)
def generic_pointers(rng: Random) -> Case:
    data, i, which = np.arange(64, dtype=np.int32) * 5, np.arange(64), 1
    ways = [data + 2000, 2 * (i ^ 1) + 1000, np.full(64, 8 + 3000)]
    return Case([data, np.zeros(64, np.int32), which], {1: np.choose((i + which) % 3, ways)})
