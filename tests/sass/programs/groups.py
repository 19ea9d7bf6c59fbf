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
