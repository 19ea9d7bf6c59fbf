"""Finds partition camping, where accesses of one time hit few partitions of memory, and a pitch that spreads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smmux.advice.improvement import Improvement
from smmux.advice.sites import Site, by_array, lanes_of, total, waits_for_memory
from smmux.machines import models

__all__ = ["busy_partitions", "camping"]

WINDOW = 64
"""Take this many accesses of warps to be under way at one time: about as many as all SMs of a card have."""

WINDOWS = 32
"""Look at this many such windows, evenly spread over the recording."""

CAMPED = 0.45
"""Leave arrays alone that keep more than this share of the partitions busy: random places keep as many busy."""

GAIN = 1.5
"""Suggest another pitch if it keeps at least this many times as many partitions busy; less is not worth its memory."""

STEP = 64
"""Bytes of the smallest pad of a row: rows stay aligned to it, so that accesses stay coalesced."""

LIMITED = 0.4
"""Report an array only if its busy partitions work for at least this share of the kernel's time to serve it."""


def camping(sites: Sequence[Site]) -> Iterator[Improvement]:
    """Yield each array whose rows fall into the same partitions, with the pitch that spreads them."""
    loose = [site for site in sites if site.space == "global"]
    if not loose or not waits_for_memory(loose):
        return
    for group in by_array(loose):
        traffic = _Traffic(group)
        before = traffic.busy()
        if before > CAMPED * traffic.gpu.partitions or _limits(group, before) < LIMITED:
            continue
        pitch = _pitch(group)
        after, pad = max(((traffic.busy(pitch, pad), -pad) for pad in _pads(group, pitch)), default=(before, 0))
        pad = next((p for p in _pads(group, pitch) if traffic.busy(pitch, p) >= 0.9 * after), 0)
        if pad and (after := traffic.busy(pitch, pad)) >= GAIN * before:
            share = total(group, "moved") / total(loose, "moved")
            yield _improvement(group, before, after, share, pitch, pad)


def busy_partitions(sites: Sequence[Site]) -> float:
    """Return how many partitions the accesses to one array keep busy at a time, on average."""
    return _Traffic(sites).busy()


def _limits(sites: Sequence[Site], partitions: float) -> float:
    """Return the share of a run's time for which `partitions` of them serve some accesses, but for hits in an L2."""
    run, gpu = sites[0].run, sites[0].run.gpu
    bursts = (run["dram_reads"] + run["dram_writes"]) * gpu.dram_burst_bytes
    moved = total(sites, "moved") * min(1, bursts / run["transaction_bytes"])
    clocks = moved / gpu.dram_burst_bytes * gpu.dram_burst_clk * gpu.shader_khz / gpu.dram_khz
    return clocks / partitions / run.cycles


class _Traffic:
    """The sectors that accesses to one array ask for, in the order of time, and the partitions that they fall into."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self.gpu, self.start = sites[0].run.gpu, sites[0].start
        records = np.concatenate([site.records for site in sites])
        records = records[np.argsort(records["cycle"], kind="stable")]
        windows = np.unique(np.linspace(0, len(records) // WINDOW, WINDOWS).astype(int))
        records = records[np.isin(np.arange(len(records)) // WINDOW, windows)]
        row, lane = np.nonzero(lanes_of(records))
        asked = np.unique(np.stack([row, records["address"][row, lane].astype(np.int64) // 32]), axis=1)
        self.window, self.offset = asked[0] // WINDOW, asked[1] * 32 - self.start

    def busy(self, pitch: int = 1, pad: int = 0) -> float:
        """Count the partitions that are busy at a time, on average, with `pad` bytes more behind each `pitch` bytes."""
        address = self.start + self.offset + self.offset // pitch * pad
        count = self.gpu.partitions
        load = np.bincount(self.window * count + self._partitions(address), minlength=count * (self.window[-1] + 1))
        load = load.reshape(-1, count)
        return float(load.sum() / load.max(axis=1).sum())

    def _partitions(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """The partition of each address."""
        unit = self.gpu.partition_bytes
        blocks, where = np.unique(address // unit, return_inverse=True)
        dram = models.Dram(self.gpu)
        return np.array([dram.locate(block * unit).partition for block in blocks.tolist()])[where]


def _pitch(sites: Sequence[Site]) -> int:
    """Return the bytes from row to row, 0 if there are no rows to pad.

    An array of several axes tells them by its strides. An array of one axis may be used as rows: then the first
    accesses of the warps are mostly one row apart, so the commonest distance is taken. Distances shorter than a cycle
    of the partitions need no pad.
    """
    array, gpu = sites[0].argument, sites[0].run.gpu
    if array is not None and array.ndim > 1:
        return int(abs(array.strides[-2]))
    steps: Counter[int] = Counter()
    for site in sites:
        _, first = np.unique(site.records[["block", "warp"]], return_index=True)
        rows = np.unique(site.records["address"][first].astype(np.int64)[site.active[first]] // gpu.partition_bytes)
        steps.update((np.diff(rows) * gpu.partition_bytes).tolist())
    cycle = gpu.partitions * gpu.partition_bytes
    return max((step for step in steps if step >= cycle), key=lambda step: (steps[step], -step), default=0)


def _pads(sites: Sequence[Site], pitch: int) -> list[int]:
    """List the pads to try behind each row, in bytes, the smallest first."""
    gpu = sites[0].run.gpu
    return [pad for pad in range(STEP, 2 * gpu.partition_bytes + 1, STEP) if pitch >= gpu.partition_bytes]


def _improvement(sites: Sequence[Site], before: float, after: float, share: float, pitch: int, pad: int) -> Improvement:
    """Say what to do about an array, at the line that moves most of it."""
    worst = max(sites, key=lambda site: site.counter("moved"))
    count = worst.run.gpu.partitions
    why = f"partition camping, accesses to `{worst.array}` keep {before:.2g} of {count} partitions busy at a time"
    remedy = f"a pitch of {pitch + pad} bytes instead of {pitch} ({pad} bytes behind each row) would keep {after:.2g}"
    name = worst.run.program.filename
    facts = name, worst.line, worst.array, "partitions", before, after, share
    return Improvement("partitions", *facts, why, remedy, {"pitch": pitch, "pad": pad})
