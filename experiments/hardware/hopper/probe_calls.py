"""How long calls take, jumps by a table, and branches, by how many targets the lanes of a warp have; and what it takes
lanes to meet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .bench import Bench, Row

KERNELS = {
    "nothing": (0, 1), "by_name": (0, 1), "by_name_nested": (0, 1), "sides": (0, 2), "by_table": (0, 8),
    "by_pointer": (0, 32), "by_pointer_nested": (32, 32),
}  # fmt: skip
"""The first target, and how many there are."""


def calls(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of a loop: of the slowest of so many warps, on one multiprocessor."""
    out, which, clocks = (bench.card.alloc(size) for size in (4 * 1024, 128, 128))
    for kernel, (first, most) in KERNELS.items():
        for warps in (1, 8, 16, 32):
            for targets in (n for n in (1, 2, 3, 4, 8, 16, 32) if n <= most):
                bench.card.put(which, (first + np.arange(32) % targets).astype(np.int32))
                times = []
                for rounds in (16, 80):
                    for _ in range(2):  # the first time loads the code
                        name = kernel.removesuffix("_nested") if "pointer" in kernel else kernel
                        bench.module("calls")[name](1, 32 * warps, clocks, out, which, np.int32(rounds))
                    times.append(int(bench.card.get(clocks, warps, np.uint32).max()))
                yield {"kernel": kernel, "warps": warps, "targets": targets, "clocks": (times[1] - times[0]) / 64}
    for room in (out, which, clocks):
        bench.card.free(room)


LANES = np.arange(32)
PARTS = {1: 0 * LANES, 2: LANES // 16, 4: LANES // 8, 32: LANES}
MASKS = {parts: np.array([sum(1 << other for other in LANES if of[other] == of[lane]) for lane in LANES], np.uint32)
         for parts, of in PARTS.items()}  # fmt: skip
MEETS = {
    "alone": MASKS, "synced": MASKS, "shuffled": MASKS, "balloted": MASKS, "matched": MASKS, "active": {1: MASKS[1]},
    "tile_shuffled": {4: MASKS[1]}, "tile_balloted": {4: MASKS[1]}, "parts": {2: (LANES < 8).astype(np.uint32)},
    "coalesced": {1: MASKS[1], 2: (LANES % 2).astype(np.uint32)},
    "labeled": {parts: of.astype(np.uint32) for parts, of in PARTS.items()},
}  # fmt: skip
"""By the number of groups: what each lane names, or which group it is in."""


def meets(bench: Bench) -> Iterator[Row]:
    """Clocks of a round of a loop in which lanes meet in groups: of the slowest of so many warps."""
    out, which, clocks = (bench.card.alloc(size) for size in (4 * 1024, 128, 128))
    for kernel, groups in MEETS.items():
        for warps in (1, 8, 16, 32):
            for count, values in groups.items():
                bench.card.put(which, values)
                times = []
                for rounds in (16, 80):
                    for _ in range(2):
                        bench.module("meets")[kernel](1, 32 * warps, clocks, out, which, np.int32(rounds))
                    times.append(int(bench.card.get(clocks, warps, np.uint32).max()))
                yield {"kernel": kernel, "warps": warps, "groups": count, "clocks": (times[1] - times[0]) / 64}
    for room in (out, which, clocks):
        bench.card.free(room)


PROBES = {"calls": calls, "meets": meets}
