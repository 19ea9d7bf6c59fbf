"""The memory models alone: a DRAM channel, a cache, the whole memory side behind the SMs' ports.

These are the functions the simulator itself uses, in C. They are re-exported by `smmux.models`.

>>> from smmux.machines import models
>>> dram = models.Dram("GTX285")
>>> dram.replay(range(0, 4096, 64))
<DramReplay of 64 requests: 62 row hits, 2 misses, 0 conflicts; 291 clk, 88% of peak on GTX285>
>>> dram.locate(0x12345678)
Location(partition=6, slice=0, bank=1, row=2330, address=38177400)
>>> models.Cache(16384, line=128, ways=4).replay([0, 64, 128, 0]).hits
2
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smmux import _core, gpus
from smmux.base import interrupt
from smmux.errors import boolean
from smmux.machines import dram_pictures

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "COMMAND",
    "COMMAND_KINDS",
    "DRAM_REQUEST",
    "PACKET",
    "PACKET_KINDS",
    "Cache",
    "CacheReplay",
    "Dram",
    "DramReplay",
    "Location",
    "Memory",
    "MemoryReplay",
]

# Records that the core reads and writes: structs of csrc/models/replay.h and memory/dram.h.
DRAM_REQUEST = np.dtype([("arrival", "<u8"), ("address", "<u4"), ("bytes", "<u2"), ("write", "u1"), ("unused", "u1")])
COMMAND = np.dtype(
    {
        "names": ["clock", "row", "kind", "bank"],
        "formats": ["<u8", "<u4", "u1", "u1"],
        "offsets": [0, 8, 12, 13],
        "itemsize": 16,
    }
)
PACKET = np.dtype(
    [
        ("cycle", "<u8"),
        ("address", "<u4"),
        ("bytes", "<u4"),
        ("sm", "<u2"),
        ("kind", "u1"),
        ("lanes", "u1"),
        ("unused", "<u4"),
    ]
)

# Kinds of COMMAND (column commands carry the index of their request as row) and of PACKET.
COMMAND_KINDS = (
    "read",
    "write",
    "activate",
    "precharge",
    "precharge all",
    "refresh",
    "read with auto-precharge",
    "write with auto-precharge",
    "refresh of a bank",
)
PACKET_KINDS = ("load", "store", "atomic", "fetch", "texture")


@dataclass(frozen=True, slots=True)
class Location:
    """The place of a device address in DRAM; `address` is the one inside the partition, which `Dram.replay` takes."""

    partition: int
    slice: int
    bank: int
    row: int
    address: int


@dataclass(frozen=True, slots=True, eq=False)
class DramReplay:
    """The service of a list of requests by one channel; times are in command clocks.

    done: the clock of the last data beat of each request. reads, writes: numbers of bursts. row_hits, row_misses,
    row_conflicts: requests whose row was open, whose bank was closed, or whose bank had another row open when the bank
    took them up. busy: clocks in which the data bus carried data. log: all commands as records of COMMAND, None unless
    asked for.
    """

    done: NDArray[np.uint64]
    reads: int
    writes: int
    activates: int
    precharges: int
    refreshes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    busy: int
    gpu: gpus.Gpu
    log: NDArray[np.void] | None = None

    @property
    def clocks(self) -> int:
        """Command clocks up to the last data beat."""
        return int(self.done.max(initial=0))

    @property
    def time_us(self) -> float:
        """Microseconds up to the last data beat."""
        return self.clocks * 1000 / self.gpu.dram_khz

    @property
    def share_of_peak(self) -> float:
        """Share of all clocks in which the data bus carried data."""
        return self.busy / self.clocks if self.clocks else 0.0

    def __repr__(self) -> str:
        return (
            f"<DramReplay of {len(self.done)} requests: {self.row_hits} row hits, {self.row_misses} misses, "
            f"{self.row_conflicts} conflicts; {self.clocks} clk, {self.share_of_peak:.0%} of peak on {self.gpu.name}>"
        )

    def _repr_html_(self) -> str:
        hint = "replay(..., log=True) shows here the rows that were open in each bank"
        picture = f"<p style='font-size:85%'>{hint}</p>" if self.log is None else dram_pictures.dram_rows(self)
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{picture}"


class Dram:
    """One DRAM channel of a machine: banks, rows, command timing, refresh, and the machine's DRAM policies."""

    def __init__(self, gpu: str | gpus.Gpu = "GTX285") -> None:
        self.gpu = gpus.get(gpu)
        self._config = gpus.as_tuple(self.gpu)

    def locate(self, address: int) -> Location:
        """Partition, L2 slice, bank and row of a device address. Raises ValueError for one outside 32 bits."""
        if not 0 <= address < 1 << 32:
            raise ValueError(f"address {address} is outside 32 bits")
        return Location(*_core.dram_map(self._config, address))

    def replay(
        self,
        requests: ArrayLike,
        *,
        write: ArrayLike = False,
        arrival: ArrayLike = 0,
        nbytes: ArrayLike | None = None,
        log: bool = False,
    ) -> DramReplay:
        """Serve requests in the order given.

        requests: a vector of addresses in the channel (see `locate`), or records of DRAM_REQUEST, with which no other
        argument is given. write: which requests are writes. arrival: the command clocks at which they reach the
        channel, not decreasing. nbytes: the size of each, inside one block of `partition_bytes` (default: up to the end
        of its aligned 64 bytes). log: also return all commands. Raises ValueError, which names the first malformed
        request.
        """
        given = np.asarray(requests)
        if given.dtype == DRAM_REQUEST:
            records = np.ascontiguousarray(_vector(given, "requests"))
        else:
            records = np.zeros(_vector(_integers(given, "requests", 32), "requests").shape, DRAM_REQUEST)
            records["address"] = given
            records["write"] = np.asarray(write, bool)
            records["arrival"] = _integers(arrival, "arrival")
            records["bytes"] = 64 - records["address"] % 64 if nbytes is None else _integers(nbytes, "nbytes", 16)
        done = np.zeros(len(records), np.uint64)
        if not boolean("log", log):
            return DramReplay(done, gpu=self.gpu, **_without(self._serve(records, done)))
        commands = np.zeros(16 * len(records) + 64, COMMAND)
        outcome = self._serve(records, done, commands)
        if outcome["commands"] > len(commands):
            commands = np.zeros(outcome["commands"], COMMAND)
            outcome = self._serve(records, done, commands)
        return DramReplay(done, gpu=self.gpu, log=commands[: outcome["commands"]], **_without(outcome))

    def _serve(self, records: NDArray[np.void], done: NDArray[np.uint64], *log: NDArray[np.void]) -> dict[str, int]:
        if log:
            return _core.dram_replay(self._config, records, done, log[0], poll=interrupt.poll)
        return _core.dram_replay(self._config, records, done, poll=interrupt.poll)


@dataclass(frozen=True, slots=True, eq=False)
class CacheReplay:
    """The accesses of a replay: for each, whether it hit a valid sector, and how many dirty lines they evicted."""

    hit: NDArray[np.bool_]
    evicted: int

    @property
    def hits(self) -> int:
        """Accesses that hit."""
        return int(np.count_nonzero(self.hit))

    @property
    def misses(self) -> int:
        """Accesses that missed."""
        return len(self.hit) - self.hits

    def __repr__(self) -> str:
        return f"<CacheReplay of {len(self.hit)} accesses: {self.hits} hits, {self.misses} misses>"


@dataclass(frozen=True, slots=True)
class Cache:
    """A set-associative cache with least-recently-used replacement (csrc/memory/cache.h); sizes in bytes.

    sector: what a miss brings in of a line (default: all of it); hashed: upper line bits are folded into the set index.
    """

    size: int
    line: int = 128
    ways: int = 4
    sector: int | None = None
    hashed: bool = False

    @classmethod
    def of(cls, level: str, gpu: str | gpus.Gpu = "GTX285") -> Cache:
        """A cache of a machine: "l1", "texture", "instruction", "constant" (of an SM) or "l2" (one slice, which takes
        addresses as `Dram.locate` gives them). Its sector is what a miss brings in. Raises ValueError where the
        machine has none, and for an L1 whose sets share its lines (`l1_shared`), which no such cache is.
        """
        g = gpus.get(gpu)
        slices = g.partitions * g.l2_slices
        shapes = {
            "l1": (g.l1_bytes, g.l1_line, g.l1_ways, g.l1_sector or None, bool(g.l1_hashed)),
            "texture": (g.tex_bytes, g.tex_line, g.tex_ways, g.tex_sector or None, bool(g.tex_hashed)),
            "instruction": (g.icache_bytes, g.icache_line, g.icache_ways, None, bool(g.icache_hashed)),
            "constant": (g.const_bytes, g.const_line, g.const_ways, None, bool(g.const_hashed)),
            "l2": (g.l2_bytes // slices, g.l2_line, g.l2_ways, max(g.l2_sector, g.l2_fetch), bool(g.l2_hashed)),
        }
        if level not in shapes:
            raise ValueError(f"{level!r} is none of {', '.join(shapes)}")
        if not shapes[level][0]:
            raise ValueError(f"{g.name} has no {level} cache")
        if level == "l1" and g.l1_shared:
            raise ValueError(f"the sets of the L1 of {g.name} share its lines (l1_shared): only a run has that cache")
        return cls(*shapes[level])

    def replay(self, addresses: ArrayLike, write: ArrayLike | None = None) -> CacheReplay:
        """Look up byte addresses in order; a miss brings in the sector. write: which accesses are stores.

        Raises ValueError for addresses outside 32 bits and for a shape that no cache has.
        """
        given = np.ascontiguousarray(_vector(_integers(addresses, "addresses", 32), "addresses"), np.uint32)
        hit = np.zeros(len(given), np.bool_)
        sizes = (self.size, self.line, self.ways, self.line if self.sector is None else self.sector)
        if not all(0 < size < 1 << 32 for size in sizes):
            raise ValueError(f"no cache has that shape: {self}")
        shape = (*sizes, boolean("hashed", self.hashed))
        if write is None:
            return CacheReplay(hit, _core.cache_replay(*shape, given, hit, poll=interrupt.poll))
        stores = np.ascontiguousarray(np.broadcast_to(np.asarray(write, bool), given.shape))
        return CacheReplay(hit, _core.cache_replay(*shape, given, hit, stores, poll=interrupt.poll))


@dataclass(frozen=True, slots=True, eq=False)
class MemoryReplay:
    """The service of a list of packets by the memory side; times are in shader clocks.

    sent: when each packet left its SM. replied: when its reply or acknowledgement was back. counters: the counters of
    the memory system, by name.
    """

    sent: NDArray[np.uint64]
    replied: NDArray[np.uint64]
    counters: dict[str, int]
    bytes: int
    gpu: gpus.Gpu

    @property
    def latency(self) -> NDArray[np.uint64]:
        """The time of each packet from port to port."""
        return self.replied - self.sent

    @property
    def cycles(self) -> int:
        """Shader clocks up to the last reply."""
        return int(self.replied.max(initial=0))

    @property
    def share_of_peak(self) -> float:
        """Bytes of all packets over what the DRAM data buses could move in the time."""
        peak = self.gpu.partitions * self.gpu.dram_burst_bytes / self.gpu.dram_burst_clk * self.gpu.dram_khz
        return self.bytes * self.gpu.shader_khz / (peak * self.cycles) if self.cycles else 0.0

    def __repr__(self) -> str:
        return (
            f"<MemoryReplay of {len(self.sent)} packets, {self.bytes} bytes: {self.cycles} clk, "
            f"{self.share_of_peak:.0%} of DRAM peak on {self.gpu.name}>"
        )


class Memory:
    """Interconnect, L2 and DRAM of a machine, fed by SMs that only send (csrc/memory/memdetail.h, models/replay.h)."""

    def __init__(self, gpu: str | gpus.Gpu = "GTX285") -> None:
        self.gpu = gpus.get(gpu)
        self._config = gpus.as_tuple(self.gpu)

    def replay(
        self, packets: NDArray[np.void], *, credits: int | None = None, interval: int | None = None, window: int = 0
    ) -> MemoryReplay:
        """Send packets: each SM its own, in their order, as early as `cycle`, credits and interval allow.

        packets: records of PACKET: earliest cycle, device address (a multiple of bytes), bytes (a power of two, 4 to
        256), SM, kind (index in PACKET_KINDS), lanes on that address (atomics). credits: outstanding packets per SM
        (default: the machine's); interval: shader clocks between packets of an SM (default: issue_global); window: how
        far SMs run ahead of the memory (0: as far as they can); it changes nothing. Raises ValueError for malformed
        packets and ConfigError for a machine that contradicts itself.
        """
        records = np.ascontiguousarray(_vector(np.asarray(packets, PACKET), "packets"))
        sent, replied = np.zeros((2, len(records)), np.uint64)
        counters = _core.memory_replay(
            self._config,
            records,
            sent,
            replied,
            self.gpu.credits if credits is None else credits,
            self.gpu.issue_global if interval is None else interval,
            window,
            poll=interrupt.poll,
        )
        return MemoryReplay(sent, replied, counters, int(records["bytes"].sum(dtype=np.uint64)), self.gpu)


def _integers(values: ArrayLike, name: str, bits: int = 63) -> NDArray[Any]:
    """Integers that are not negative and have no more bits than that."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, not {array.dtype}")
    if array.size and array.min() < 0:
        raise ValueError(f"{name} must not be negative")
    if array.size and int(array.max()) >= 1 << bits:
        raise ValueError(f"{name} must be below 2**{bits}, not {array.max()}")
    return array


def _vector(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector, not of shape {array.shape}")
    return array


def _without(counters: dict[str, int]) -> dict[str, Any]:
    return {name: value for name, value in counters.items() if name != "commands"}
