"""Groups the recorded accesses of a run by instruction and by array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.language.placement import extent, flatten, place
from smmux.results.result import Result, line_counters

__all__ = ["LANES", "Site", "busy_share", "by_array", "lanes_of", "sites_of", "total", "waits_for_memory"]

LANES = np.arange(32)
"""The numbers of a warp's lanes."""

REGULAR = 0.85
"""Call the distance between lanes regular if this share of neighbours has it. Two short rows pass, random places do
not."""

STALLED = 0.2
"""Report accesses to global memory only if they take this share of the time: see `waits_for_memory`."""


@dataclass(frozen=True, eq=False)
class Site:
    """One instruction that accesses memory, with its recorded accesses and its counters in the whole run.

    op: the operation's name. space: "global", "shared", "const" or "tex". array: the name of the array, empty if it
    has none. index: the number of the array argument, or of the array's declaration in the kernel. start: the address
    of the array's first element. width: bytes per lane. records: rows of `smmux.results.recorded.ACCESS`, SM by SM in
    the order of time. run: the run that they are of. argument: the array argument, None for an array of the kernel.
    """

    pc: int
    op: str
    space: str
    array: str
    index: int
    start: int
    width: int
    line: int
    records: NDArray[np.void]
    run: Result
    argument: NDArray[Any] | None = None

    @property
    def stores(self) -> bool:
        """Whether it changes memory."""
        return not self.op.startswith(("ld", "tex"))

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """For each record and lane, whether it takes part."""
        return lanes_of(self.records)

    @cached_property
    def stride(self) -> int:
        """Bytes between neighbouring lanes; 0 if too few of them are equally far apart."""
        both = self.active[:, 1:] & self.active[:, :-1]
        steps = np.diff(self.records["address"].astype(np.int64), axis=1)[both]
        if not steps.size:
            return 0
        values, counts = np.unique(steps, return_counts=True)
        return int(abs(values[counts.argmax()])) if counts.max() >= REGULAR * steps.size else 0

    def counter(self, name: str) -> int:
        """A counter of the instruction in the whole run."""
        assert self.run.profile is not None
        return int(self.run.profile[self.pc, list(line_counters()).index(name)])

    def sample(self, count: int) -> Iterator[tuple[NDArray[np.int64], int]]:
        """Yield addresses and mask of at most `count` records, evenly spread over all."""
        rows = np.unique(np.linspace(0, len(self.records) - 1, count).astype(int))
        for row in self.records[rows]:
            yield row["address"].astype(np.int64), int(row["active"])


def lanes_of(records: NDArray[np.void]) -> NDArray[np.bool_]:
    """For each record and lane, whether it takes part."""
    return (records["active"][:, None] >> LANES & 1).astype(bool)


def sites_of(run: Result, args: Sequence[Any]) -> tuple[Site, ...]:
    """Return the instructions whose accesses a run recorded. run: with a profile. args: the arguments of its launch."""
    program = run.program
    names = [word.name for word in program.params if word.type in ("ptr", "tex")]
    arrays = [value for value in flatten(args) if isinstance(value, np.ndarray)]
    starts = [low + a.ctypes.data - extent(a)[0] for low, a in zip(place(arrays), arrays, strict=True)]
    sites = []
    for pc in np.unique(run.accesses["pc"]).tolist():
        op, records = program.ops[pc], run.accesses[run.accesses["pc"] == pc]
        space = "tex" if op == "tex" else op.split(".")[1]
        index, name, start, argument = int(program.code["aux"][pc]), "", 0, None
        if op.startswith("bar"):
            continue
        if space in ("global", "tex"):
            name, start, argument = names[index], starts[index], arrays[index]
        elif held := program.element(pc, 0):
            name, start = held[0].name, held[0].offset
        width, line = int(program.code["width"][pc]), int(program.code["line"][pc])
        sites.append(Site(pc, op, space, name, index, start, width, line, records, run, argument))
    return tuple(sites)


def by_array(sites: Iterable[Site]) -> list[list[Site]]:
    """Group the sites that access the same array."""
    groups: dict[tuple[str, int, str], list[Site]] = {}
    for site in sites:
        groups.setdefault((site.space, site.index, site.array), []).append(site)
    return list(groups.values())


def total(sites: Sequence[Site], counter: str) -> int:
    """Add up a counter over several instructions."""
    return sum(site.counter(counter) for site in sites)


def waits_for_memory(sites: Sequence[Site]) -> bool:
    """Tell whether global memory matters to a kernel's time.

    It does if these three shares of the time add up to STALLED or more: schedulers wait for memory, they wait to issue
    these accesses, and DRAM is busy.
    """
    run, gpu = sites[0].run, sites[0].run.gpu
    clocks = run["transaction_bytes"] / gpu.dram_burst_bytes * gpu.dram_burst_clk * gpu.shader_khz / gpu.dram_khz
    busy = clocks / gpu.partitions / run.cycles
    issuing = total(sites, "idle") / (run["scheduler_cycles"] or 1)
    return busy + issuing + run.stalls["global"] + run.stalls["credits"] >= STALLED


def busy_share(run: Result, clocks: float) -> float:
    """Divide clocks, added up over a unit of each SM, by the time of all SMs that have blocks."""
    return clocks / (run.cycles * min(run.gpu.sm_count, run["blocks"]))
