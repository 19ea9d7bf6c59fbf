"""Finds tables in constant memory of which the lanes of a warp read different places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from smmux.advice.improvement import WORTH, Improvement
from smmux.advice.sites import Site, busy_share, by_array, total

__all__ = ["tables"]

GAIN = 2
"""Suggest a texture if constant memory takes at least this many times its passes."""


def tables(sites: Sequence[Site]) -> Iterator[Improvement]:
    """Yield, for each table in constant memory whose lanes read different places, what a texture would save."""
    for group in by_array(site for site in sites if site.space == "const"):
        run = group[0].run
        before, after = (sum(_passes(site, unit) for site in group) for unit in (1, run.gpu.tex_line))
        faster = _clocks(group, after, run.gpu.lat_tex) < _clocks(group, before, run.gpu.lat_const)
        share = busy_share(run, (before - after) * run.gpu.const_clk_per_way)
        if run.gpu.tex_bytes and before >= GAIN * after and share >= WORTH and faster:
            yield _improvement(group, before, after, share)


def _passes(site: Site, unit: int) -> float:
    """Count the passes of an instruction in the whole run: the different units of `unit` bytes in each access."""
    places = np.sort(np.where(site.active, site.records["address"] // unit, np.uint32(0xFFFFFFFF)), axis=1)
    different = 1 + (np.diff(places, axis=1) != 0).sum(axis=1) - ~site.active.all(axis=1)
    return float(different.mean()) * site.counter("issued")


def _clocks(sites: Sequence[Site], passes: float, latency: int) -> float:
    """Estimate the clocks from one read to the next on an SM.

    latency: of a read. passes: of all reads together. The longest of three times counts: issuing the instructions
    between two reads; the passes; the latency of a read and of those instructions, divided by the resident warps.
    """
    run, gpu, reads = sites[0].run, sites[0].run.gpu, total(sites, "issued")
    between = run["instructions"] / reads
    warps = run["block_cycles"] / run.cycles / min(gpu.sm_count, run["blocks"]) * -(-run.threads // 32)
    taken = passes / reads * gpu.const_clk_per_way
    return max(between * gpu.issue_interval / gpu.schedulers, taken, (latency + taken + between * gpu.lat_alu) / warps)


def _improvement(sites: Sequence[Site], before: float, after: float, share: float) -> Improvement:
    """Say what to do about a table, at the line that reads it most."""
    worst, issued = max(sites, key=lambda site: _passes(site, 1)), total(sites, "issued")
    why = f"`{worst.array}` in constant memory is read at different places, in {before / issued:.3g} passes per access"
    remedy = f"a texture would take {after / issued:.3g}; {before:,.0f} passes in all would be {after:,.0f}"
    name = worst.run.program.filename
    return Improvement("table", name, worst.line, worst.array, "passes", before, after, share, why, remedy)
