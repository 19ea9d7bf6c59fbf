"""A launch behind the same one, as `simulate(..., warm=True)` asks for: what a loop of launches on a card measures.

A grid is run twice in one go, and once by itself. Up to the end of the first launch both are the same, so that what the
pair has more is the second launch. Between the two the L1s forget their data, as on cards; the L2, DRAM's open rows and
the caches of instructions stay as the first one left them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smmux.gpus import Gpu
from smmux.running.arguments import Buffer
from smmux.running.snapshots import Snapshot

__all__ = ["LEAST", "simulate"]

Outcome = dict[str, Any]

LEAST = 512
"""Clocks after the end of a launch before which no block of the next one starts in the core: RELAUNCH_LEAST of
dispatch.h."""


def simulate(run: Callable[..., Outcome], gpu: Gpu, buffers: Sequence[Buffer], total: int) -> Outcome:
    """The outcome of a launch of `total` blocks behind the same one. The arrays hold what one launch makes of them."""
    before = Snapshot(buffers)
    twice = run(gpu, np.tile(np.arange(total, dtype=np.uint32), 2), again=total)
    before.restore()
    once = run(gpu)
    counters = {name: value - once["counters"][name] for name, value in twice["counters"].items()}
    later = max(gpu.launch_behind, LEAST) - gpu.launch_behind
    counters["cycles"] -= later
    for name in ("scheduler_cycles", "idle_no_block"):
        counters[name] -= later * gpu.schedulers * gpu.sm_count
    changed = {**once, "counters": counters}
    if len(once["per_pc"]):
        both = (np.frombuffer(outcome["per_pc"], np.uint64) for outcome in (twice, once))
        changed["per_pc"] = np.subtract(*both).tobytes()
    return changed
