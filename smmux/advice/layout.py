"""Finds accesses to global memory whose lanes lie far apart: arrays of structures, blocked assignment, strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smmux.advice.improvement import WORTH, Improvement
from smmux.advice.sites import LANES, Site, lanes_of, total, waits_for_memory
from smmux.machines import models

__all__ = ["layouts"]

SAMPLE = 48
"""Look at this many records of an instruction: enough for a mean, which the counters of the whole run then scale."""

GAIN = 1.4
"""Report an access that moves at least this many times the sectors of a dense one; a misaligned start costs less."""

PAGE = 1 << 12
"""Put rows this many bytes apart when each is packed on its own, so that no two share a transaction."""

RECORD = 128
"""Take lanes up to this many bytes apart for fields of neighbouring records: a structure of 32 words."""


def layouts(sites: Sequence[Site]) -> Iterator[Improvement]:
    """Yield, line by line, what it would save if neighbouring threads accessed neighbouring elements."""
    loose = [site for site in sites if site.op in ("ld.global", "st.global")]
    if not loose or not waits_for_memory(loose):
        return
    moved = total([site for site in sites if site.space in ("global", "tex")], "moved")
    groups: dict[tuple[int, int, str], list[Site]] = {}
    for site in loose:
        groups.setdefault((site.line, site.index, site.op), []).append(site)
    for group in groups.values():
        dense = {site: _dense(site) for site in group}
        apart = [site for site, share in dense.items() if share * GAIN <= 1]
        before = total(apart, "moved") / 32
        after = sum(site.counter("moved") / 32 * dense[site] for site in apart)
        if apart and before - after >= WORTH * moved / 32:
            yield _improvement(apart, before, after, 32 * (before - after) / moved)


def _dense(site: Site) -> float:
    """Divide the bytes that would move if lanes lay side by side by those that do move.

    The result is 1.0 where lanes already lie side by side, and where they have no common distance.
    """
    if site.counter("moved") <= GAIN * site.counter("bytes") or site.stride <= site.width:
        return 1.0
    now = then = 0
    for address, mask in site.sample(SAMPLE):
        lines = (address, _beside(address, site))
        moved = [models.coalesce(line, site.width, site.run.gpu, store=site.stores, mask=mask).bytes for line in lines]
        now, then = now + moved[0], then + moved[1]
    return then / now


def _beside(address: NDArray[np.int64], site: Site) -> NDArray[np.int64]:
    """Move a warp's lanes together: those that are one stride apart form a row, and each row is packed."""
    ends = abs(np.diff(address)) != site.stride
    row = np.r_[0, np.cumsum(ends)]
    first = np.r_[0, np.flatnonzero(ends) + 1][row]
    places: NDArray[np.int64] = row * PAGE + (LANES - first) * site.width
    return places


def _improvement(sites: Sequence[Site], before: float, after: float, share: float) -> Improvement:
    """Say what to do about the instructions of one line."""
    first, issued = sites[0], total(sites, "issued") or 1
    stride = first.stride
    used = total(sites, "bytes") / total(sites, "moved")
    each = f"{before / issued:.3g} sectors of 32 bytes {after / issued:.3g}"
    what = f"{before:,.0f} sectors in all would be {after:,.0f}"
    threads = f"threads of a warp {'store to' if first.stores else 'load'} `{first.array}` {stride} bytes apart"
    if _walks(sites, stride):
        kind = "assignment"
        why = f"blocked assignment, {threads}, and each walks through elements of its own"
        remedy = f"interleaved (thread t takes t, t + threads, ...) would make {each} per access of a warp; {what}"
    elif stride <= RECORD:
        kind = "layout"
        why = f"{100 * (1 - used):.0f} % of the bytes that move are unused, since {threads} (array of structures)"
        remedy = f"structure of arrays would make {each} per access of a warp; {what}"
    else:
        kind = "stride"
        why = f"{threads}, so that {100 * (1 - used):.0f} % of the bytes that move are unused"
        remedy = f"swapped axes, or a tile in shared memory, would make {each} per access of a warp; {what}"
    return Improvement(
        kind, first.run.program.filename, first.line, first.array, "sectors", before, after, share, why, remedy
    )


def _walks(sites: Sequence[Site], stride: int) -> bool:
    """Tell whether each thread walks, in a loop, through the elements between its first one and its neighbour's.

    If the line has more instructions than places that name the array, they are copies made by unrolling that loop.
    """
    named = sites[0].run.source(sites[0].line).count(f"{sites[0].array}[")
    if len(sites) > max(named, 1):
        steps = _steps(np.concatenate([site.records for site in sites]))
    else:
        steps = np.concatenate([_steps(site.records) for site in sites])
    return bool(steps.size) and bool(0 < np.median(steps) < stride)


def _steps(records: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the bytes from each access of a warp to its next one."""
    records = records[np.lexsort((records["cycle"], records["warp"], records["block"]))]
    same = np.logical_and.reduce([records[name][1:] == records[name][:-1] for name in ("block", "warp", "active")])
    first = records["address"][np.arange(len(records)), lanes_of(records).argmax(axis=1)]
    steps: NDArray[np.int64] = abs(np.diff(first.astype(np.int64)))[same]
    return steps
