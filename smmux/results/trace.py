"""What happened to the blocks and warps of each SM over time, and samples of what SMs and DRAM did."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.drawing.markup import html_table
from smmux.gpus import Gpu

if TYPE_CHECKING:
    import pandas as pd

    from smmux.compiler.program import Program

__all__ = ["EVENT", "KINDS", "SAMPLE", "Allocation", "Residence", "Trace", "Wait"]

KINDS: Final[Mapping[str, str]] = dict(_core.TRACE)
"""The kinds of events, in the order of their numbers, and what each says."""

_TRACED = np.dtype([("low", "u4"), ("high", "u2"), ("kind", "u1"), ("warp", "u1"), ("block", "u4"), ("value", "u4")])
"""struct traced of csrc/sm/trace.h."""

EVENT: Final = np.dtype(
    [("cycle", "u8"), ("sm", "u4"), ("kind", "u1"), ("warp", "u1"), ("block", "u4"), ("value", "u4")]
)
"""An event. cycle: in shader clocks. kind: the number of one of `KINDS`. block, warp: numbers in the grid and in the
block. value: what the kind says."""

SAMPLE: Final = np.dtype(
    [("cycle", "u8"), ("interval", "u4"), ("sm", "u4"), *((name, "u4") for name, _, _ in _core.SAMPLES)]
)
"""struct sample of csrc/sm/trace.h: an interval of an SM, which ends at that cycle. An interval in which nothing
happened has none; idle scheduler time belongs to the interval in which it ended."""

_CHANNEL = ("channel", "shift", "index", "reads", "writes", "row_hits", "row_misses", "row_conflicts")


@dataclass(frozen=True, slots=True)
class Residence:
    """A block's stay on an SM, in shader clocks: it comes, gets its static shared memory (`bytes` from `address` on),
    its warps start, and it ends. slot: a number below the most blocks of the SM at a time, its own while it stays."""

    sm: int
    block: int
    slot: int
    come: int
    place: int
    start: int
    end: int
    address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """Dynamic shared memory of a block: asked for, granted and released at these cycles, `bytes` from `address` on.

    granted_by: the block that made room for it, by a release or by its end; None if it had not to wait.
    """

    sm: int
    block: int
    ask: int
    grant: int
    release: int
    address: int
    bytes: int
    granted_by: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    """A warp's wait at a barrier: from its arrival to that of the block's last warp. kind: the suffix of bar.sync."""

    sm: int
    block: int
    warp: int
    kind: str
    arrive: int
    complete: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """A recorded time line.

    events: records of `EVENT` in the order of (cycle, SM). samples: records of `SAMPLE` in the same order. channels:
    what each DRAM channel did per interval: begin and end in shader clocks, bursts, requests by what they found, and
    `activates`, the rows opened in each bank. lost: events for which there was no room; they are left out in groups:
    blocks, barriers and allocations are there with all their events or with none.
    """

    kernel: str
    gpu: Gpu
    schedule: str
    cycles: int
    events: NDArray[np.void]
    samples: NDArray[np.void]
    channels: NDArray[np.void]
    lost: int
    nbytes: int

    @classmethod
    def from_core(cls, raw: Mapping[str, Any] | None, program: Program, gpu: Gpu, cycles: int) -> Self | None:
        """The time line in the dictionary that `_core.launch` returns; None if there is none."""
        if raw is None:
            return None
        rows = np.frombuffer(raw["events"], _TRACED)
        events = np.zeros(len(rows), EVENT)
        events["cycle"] = rows["low"] + (rows["high"].astype(np.uint64) << np.uint64(32))
        events["sm"] = np.repeat(np.arange(gpu.sm_count), np.frombuffer(raw["counts"], np.uint32))
        for name in ("kind", "warp", "block", "value"):
            events[name] = rows[name]
        samples = np.frombuffer(raw["samples"], SAMPLE)
        return cls(
            kernel=program.name,
            gpu=gpu,
            schedule=program.schedule,
            cycles=cycles,
            events=_by_cycle(events),
            samples=_by_cycle(samples),
            channels=_channels(raw["channels"], raw["channel_words"], gpu),
            lost=raw["lost"],
            nbytes=sum(len(part) for part in raw.values() if isinstance(part, bytes)),
        )

    def kinds(self) -> dict[str, int]:
        """How many events there are of each kind."""
        counts = np.bincount(self.events["kind"], minlength=len(KINDS))
        return dict(zip(KINDS, counts.tolist(), strict=True))

    def of(self, kind: str) -> NDArray[np.void]:
        """The events of a kind of `KINDS`."""
        return self.events[np.flatnonzero(self.events["kind"] == list(KINDS).index(kind))]

    def blocks(self) -> list[Residence]:
        """The blocks whose stay was recorded, in the order in which they ended."""
        found: list[Residence] = []
        open_: dict[int, dict[str, int]] = {}
        taken: dict[int, set[int]] = {}
        for name, row in self._rows("block_come", "block_place", "block_start", "block_end"):
            sm, block, cycle = int(row["sm"]), int(row["block"]), int(row["cycle"])
            if name == "block_come":
                slots = taken.setdefault(sm, set())
                slot = next(n for n in range(len(slots) + 1) if n not in slots)
                slots.add(slot)
                open_[block] = {"slot": slot, "come": cycle, "bytes": int(row["value"])}
            elif name == "block_place":
                open_[block] |= {"place": cycle, "address": int(row["value"])}
            elif name == "block_start":
                open_[block]["start"] = cycle
            else:
                stay = open_.pop(block)
                taken[sm].remove(stay["slot"])
                found.append(Residence(sm=sm, block=block, end=cycle, **stay))
        return found

    def allocations(self) -> list[Allocation]:
        """The allocations that were recorded, in the order of their releases."""
        found: list[Allocation] = []
        open_: dict[int, dict[str, Any]] = {}
        freed: dict[int, tuple[int, int]] = {}  # by SM: cycle and block
        for name, row in self._rows("alloc_ask", "alloc_grant", "alloc_release", "block_end", "tile_close"):
            sm, block, cycle = int(row["sm"]), int(row["block"]), int(row["cycle"])
            if name == "alloc_ask":
                open_[block] = {"ask": cycle, "bytes": int(row["value"]), "granted_by": None}
            elif name == "alloc_grant":
                at, by = freed.get(sm, (-1, 0))
                waited = cycle > open_[block]["ask"] and at == cycle
                open_[block] |= {
                    "grant": cycle, "address": int(row["value"]), "granted_by": by if waited else None,
                }  # fmt: skip
            else:
                freed[sm] = cycle, block
                if name == "alloc_release" and block in open_:
                    found.append(Allocation(sm=sm, block=block, release=cycle, **open_.pop(block)))
        return found

    def waits(self) -> list[Wait]:
        """The waits at barriers that were recorded, in the order in which they ended."""
        found: list[Wait] = []
        arrived: dict[int, dict[int, int]] = {}
        kinds = {number: kind for kind, number in _core.BARRIERS.items()}
        for name, row in self._rows("barrier_arrive", "barrier_complete"):
            sm, block, cycle = int(row["sm"]), int(row["block"]), int(row["cycle"])
            if name == "barrier_arrive":
                arrived.setdefault(block, {})[int(row["warp"])] = cycle
            else:
                kind = kinds[int(row["value"])]
                found += [Wait(sm, block, warp, kind, at, cycle) for warp, at in arrived.pop(block).items()]
        return found

    def shared(self, sm: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Bytes of shared memory that the recorded blocks of an SM hold: cycles, and the bytes from each of them on."""
        steps: list[tuple[int, int]] = []
        asked: dict[int, int] = {}
        came: dict[int, int] = {}
        for name, row in self._rows(*_MEMORY):
            if int(row["sm"]) != sm:
                continue
            block, value = int(row["block"]), int(row["value"])
            if name == "block_come":
                came[block] = value
            elif name == "alloc_ask":
                asked[block] = value
            else:
                sign = _MEMORY[name]
                held = came[block] if name == "block_place" else asked[block] if name == "alloc_grant" else value
                steps.append((int(row["cycle"]), sign * held))
        cycles = np.array([cycle for cycle, _ in steps], np.uint64)
        held_bytes = np.cumsum([change for _, change in steps], dtype=np.int64)
        last = np.append(cycles[1:] != cycles[:-1], True) if len(cycles) else np.zeros(0, bool)
        return cycles[last], held_bytes[last]

    def _rows(self, *kinds: str) -> Iterator[tuple[str, np.void]]:
        """Events of some kinds, each with its kind's name."""
        names = list(KINDS)
        for row in self.events[np.isin(self.events["kind"], [names.index(kind) for kind in kinds])]:
            yield names[row["kind"]], row

    def to_pandas(self) -> pd.DataFrame:
        """The events as a table (needs pandas)."""
        import pandas as pd

        table = pd.DataFrame(self.events)
        table["kind"] = pd.Categorical.from_codes(self.events["kind"].astype(int), list(KINDS))
        return table

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write the time line as a file that ui.perfetto.dev and chrome://tracing open.

        Each SM is a process, with a track per place of a block and one per warp in it, counters, and arrows from the
        release that made room to the allocation that got it. Times are microseconds of the simulated machine.
        """
        from smmux.results import trace_file

        trace_file.write(self, path)

    def __repr__(self) -> str:
        lost = f", {self.lost} more had no room" if self.lost else ""
        return (
            f"<Trace {self.kernel} on {self.gpu.name}: {self.cycles} cycles, {len(self.events)} events{lost}, "
            f"{len(self.samples)} samples, {self.nbytes} bytes>"
        )

    def _repr_html_(self) -> str:
        rows = ((name, f"{count:,}", KINDS[name]) for name, count in self.kinds().items() if count)
        return f"<p>{repr(self)[1:-1]}</p>" + html_table(("event", "number", "meaning"), rows)


_MEMORY: Final[Mapping[str, int]] = {
    "block_come": 0, "alloc_ask": 0, "block_place": 1, "alloc_grant": 1, "tile_open": 1, "block_end": -1,
    "alloc_release": -1, "tile_close": -1,
}  # fmt: skip
"""Events that tell what blocks hold, and whether they get or give it."""


def _by_cycle(records: NDArray[np.void]) -> NDArray[np.void]:
    """Records that are SM by SM in the order of (cycle, SM). `take` moves each as a whole, an index field by field."""
    return records.take(np.argsort(records["cycle"], kind="stable"))


def _channels(raw: bytes, words: int, gpu: Gpu) -> NDArray[np.void]:
    """Rows of the core as records whose times are shader clocks."""
    rows = np.frombuffer(raw, np.uint32).reshape(-1, words)
    columns = [("begin", "f8"), ("end", "f8"), ("channel", "u4"), *((name, "u4") for name in _CHANNEL[3:])]
    found = np.zeros(len(rows), [*columns, ("activates", "u4", (words - len(_CHANNEL),))])
    clock = gpu.shader_khz / gpu.dram_khz
    for name, column in zip(_CHANNEL, rows.T, strict=False):
        if name in (found.dtype.names or ()):
            found[name] = column
    width = np.exp2(rows[:, 1]) * clock
    found["begin"], found["end"] = rows[:, 2] * width, (rows[:, 2] + 1) * width
    found["activates"] = rows[:, len(_CHANNEL) :]
    ordered: NDArray[np.void] = found[np.lexsort((found["channel"], found["begin"]))]
    return ordered
