"""A large grid by a sample of its blocks, as `simulate(..., sample=0.01)` asks for.

Simulated are both ends of the grid and clusters of blocks between them, spread evenly, one after the other in one run:
the machine stays full, as in a run of the whole. A wave is as many blocks as all multiprocessors hold. The first wave
of a cluster brings the caches and rows of DRAM into the state of that place; the others tell how long a block takes
there, by the cycles at which their successors were handed out. The estimate is the time of the run, in which each
cluster stands for its part of the grid.

The clusters are a systematic sample, one in each part of the grid, so that the variance is estimated from successive
differences (Wolter, Introduction to Variance Estimation, 2nd ed., section 8.2.1, v2). To the interval is added what
could be a bias: what the rate still changes within clusters, and what it changed in time before the first one, as far
as either is beyond its noise. Where the interval is wider than asked for, more clusters are simulated behind a longer
beginning, and the whole grid where half of it would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.errors import ConfigError, KernelError
from smmux.gpus import Gpu
from smmux.results.sampled import Sampled
from smmux.running.arguments import Buffer
from smmux.running.snapshots import Snapshot

__all__ = ["Cluster", "Estimate", "estimate", "functional", "plan", "refuse", "scaled", "simulate"]

Outcome = dict[str, Any]
Blocks = NDArray[np.uint32]
Run = Callable[[Gpu, Blocks | None, bool], Outcome]
"""Runs some blocks of a grid on a machine, or all, and with True for their values alone."""

BEGIN, END = 4, 2
"""Waves at the ends of the grid that are simulated as they are: BEGIN for each cluster, END and one that is not full.
At first all multiprocessors do the same at the same time: the rate is steady when they have drifted apart, which takes
hundreds of waves where blocks are alike."""
MEASURED = 2
"""Waves of a cluster that are measured, behind one that is not."""
CLUSTERS = 8
"""In how many places a grid is looked at first."""
LAST = 1 - math.sqrt(0.05)
"""How much of a block's time two grids differ in at their ends, at most at 95 % confidence: the last block may end
anywhere in the time of one, since multiprocessors drift apart, and in the sample elsewhere than in the grid."""
NORMAL = 1.959963984540054
"""Quantile of the normal distribution at 95 % confidence, both sides."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Blocks that are simulated for a part of the grid.

    first: the first of them. blocks: how many the part has. place: where they begin among those that are simulated.
    """

    first: int
    blocks: int
    place: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles of the whole grid, and half of the interval at 95 % confidence."""

    cycles: float
    half: float


def refuse(options: Mapping[str, Any]) -> None:
    """Raise ConfigError for what needs a run of all blocks of a grid, once."""
    asked = "sample" if options["sample"] is not None else "warm"
    for name in ("check", "preload", "trace"):
        if options[name]:
            raise ConfigError(f"{name} needs the grid whole and once: leave out {asked}")
    if callable(options["management"]):
        raise ConfigError(f"a management in Python sees the grid whole and once: leave out {asked}")
    if options["warm"] and options["sample"] is not None:
        raise ConfigError("a grid is either sampled or run behind another one: leave out sample or warm")


def plan(total: int, wave: int, clusters: int) -> tuple[Blocks, list[Cluster]] | None:
    """The blocks to simulate of a grid, in order, and the clusters among them; None: rather the whole grid.

    The simulated blocks leave as many over in the last wave as the grid's do.
    """
    length = (1 + MEASURED) * wave
    tail = END * wave + total % wave
    begin, end = BEGIN * clusters * wave, total - tail
    if 2 * (begin + tail + clusters * length) > total:
        return None
    edges = [begin + round(part * (end - begin) / wave / clusters) * wave for part in range(clusters + 1)]
    found, parts, place = [], [np.arange(begin)], begin
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        first = low + (high - low - length) // 2
        found.append(Cluster(first, high - low, place))
        parts.append(np.arange(first, first + length))
        place += length
    parts.append(np.arange(end, total))
    return np.concatenate(parts).astype(np.uint32), found


def estimate(starts: NDArray[np.uint64], cycles: int, clusters: Sequence[Cluster], wave: int) -> Estimate:
    """How long the whole grid takes, by when the simulated blocks were handed out and how long they took."""
    at = starts.astype(np.float64)
    begins = np.array([c.place for c in clusters])
    sizes = np.array([c.blocks for c in clusters], np.float64)
    # Cycles a block, of each wave of each cluster; the last start is that of what follows the cluster.
    steps = np.diff([at[begins + i * wave] for i in range(2 + MEASURED)], axis=0) / wave
    rates = steps[1:].mean(axis=0)
    total = cycles + float(np.sum(sizes * rates) - wave * np.sum(steps))
    variance = float(np.sum(np.diff(rates) ** 2)) / (2 * (len(clusters) - 1))
    unseen = 1 - (1 + MEASURED) * wave / float(sizes.mean())
    sampling = _student(len(clusters) - 1) * math.sqrt(float(np.sum(sizes**2)) * variance * max(unseen, 0.0))
    last = LAST * wave * float(np.mean(rates))
    bias = (_inside(steps) + _in_time(at[: clusters[0].place + 1 : wave] / wave)) * float(np.sum(sizes))
    return Estimate(total, math.hypot(sampling, last) + bias)


def _inside(steps: NDArray[np.float64]) -> float:
    """How far clusters may be off for having come out of nowhere: what the rate changes from the first wave that is
    measured to the last; or, where what a jump changes halves with each wave, what is left of it in those, by how much
    the wave in front of them differs."""
    left = float(np.mean(0.5 ** np.arange(1, len(steps))))
    changes = steps[-1] - steps[1], (steps[0] - steps[1:].mean(axis=0)) * left / (1 - left)
    return max(_beyond(float(change.mean()), (change,)) for change in changes)


def _in_time(starts: NDArray[np.float64]) -> float:
    """How far clusters may be off for having come too soon: where what is left of the start decays as 1 / time, the
    second half of the waves before the clusters is off by as much as it differs from the quarter in front of it."""
    steps = np.diff(starts)
    half = len(steps) // 2
    octaves = steps[half // 2 : half], steps[half:]
    return _beyond(float(octaves[1].mean() - octaves[0].mean()), octaves)


def _beyond(mean: float, samples: Sequence[NDArray[np.float64]]) -> float:
    """A difference of means, as far as it is beyond the noise of what was averaged."""
    noise = sum(float(np.var(sample, ddof=1)) / len(sample) for sample in samples)
    return math.sqrt(max(mean**2 - noise, 0.0))


def _student(freedom: int) -> float:
    """Quantile of Student's distribution at 95 % confidence, both sides (Cornish and Fisher's series; Abramowitz and
    Stegun 26.7.5: within 0.1 % from five degrees of freedom on)."""
    z, n = NORMAL, freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def functional(gpu: Gpu) -> Gpu:
    """A machine that gives the same values, and takes little to simulate: nothing is fetched, and blocks follow each
    other in windows as long as they may be."""
    return gpu.replace(
        mem_model=0,
        flat_latency=512,
        flat_bytes_per_kclk=100_000_000,
        block_start=512,
        icache_bytes=0,
        icache2_bytes=0,
        icache3_bytes=0,
    )


def simulate(
    run: Run,
    gpu: Gpu,
    buffers: Sequence[Buffer],
    total: int,
    wave: int,
    relative_error: float,
    outputs: bool,
) -> tuple[Outcome, Sampled | None]:
    """Simulate as many blocks as it takes; returns the outcome, scaled, and how sure it is: None if it is of all.

    buffers: the arrays of the launch. total: the blocks of the grid. wave: the blocks that all multiprocessors hold.
    relative_error: half of the interval over the estimate, at most. outputs: whether the other blocks run too, for
    their values alone; else the arrays stay as they were. Raises KernelError for a failure of the whole grid.
    """
    before = Snapshot(buffers)
    clusters = CLUSTERS
    while chosen := plan(total, wave, clusters):
        blocks, places = chosen
        try:
            outcome = run(gpu, blocks, False)
        except KernelError:
            before.restore()  # blocks may wait for others, which are not there: the whole grid shows whether it is that
            break
        found = estimate(np.frombuffer(outcome["starts"], np.uint64), outcome["counters"]["cycles"], places, wave)
        if found.half <= relative_error * found.cycles:
            if outputs:
                others = np.setdiff1d(np.arange(total, dtype=np.uint32), blocks, assume_unique=True)
                run(functional(gpu), others, True)
            else:
                before.restore()
            sampled = Sampled(len(blocks), total, clusters, *_ends(found))
            return scaled(outcome, total / len(blocks), round(found.cycles)), sampled
        before.restore()
        clusters *= max(2, min(8, math.ceil((found.half / (relative_error * found.cycles)) ** 2)))
    return run(gpu, None, False), None


def _ends(found: Estimate) -> tuple[int, int]:
    return math.floor(found.cycles - found.half), math.ceil(found.cycles + found.half)


def scaled(outcome: Outcome, factor: float, cycles: int) -> Outcome:
    """An outcome of some blocks as that of the grid: counters in proportion to the blocks, and the estimated cycles."""
    counters = {name: round(value * factor) for name, value in outcome["counters"].items()}
    changed = {**outcome, "counters": {**counters, "cycles": cycles}}
    if len(outcome["per_pc"]):
        changed["per_pc"] = np.rint(np.frombuffer(outcome["per_pc"], np.uint64) * factor).astype(np.uint64).tobytes()
    return changed
