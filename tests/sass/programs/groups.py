"""Programs with cooperative groups."""

from __future__ import annotations

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random, whole


@program(2, 64)
def reduce_groups(rng: Random) -> Case:
    x = np.zeros(128, np.int32)
    x[:120] = whole(rng, 120, 1000)
    largest = np.repeat(x.reshape(-1, 8).max(1), 8)
    lines = x.reshape(-1, 32)
    scans = np.cumsum(lines, 1) - lines
    zeros = [np.zeros(n, np.int32) for n in (2, 128, 128)]
    return Case([x, *zeros, 120], {1: [x.sum(), (x > 0).sum()], 2: largest, 3: scans.ravel()})


@program(3, 32)
def grid_rounds(rng: Random) -> Case:
    x = rng.integers(0, 50, 96).astype(np.int32)
    after = x
    for _ in range(3):
        after = (np.roll(after, -1) + np.roll(after, 1)) & 0xFFFF
    return Case([x, np.zeros(96, np.int32), 3], {0: after, 1: np.ones(96)})


@program(6600, 1024, fails="KernelError", options={"max_cycles": 200_000})
def grid_is_too_large(rng: Random) -> Case:
    return Case([np.zeros(1, np.int32)], {})
