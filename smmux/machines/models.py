"""Each hardware model callable alone: shared-memory banks and table, coalescing, occupancy, caches, DRAM, memory."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from smmux import _core, gpus
from smmux.drawing.markup import html_table
from smmux.errors import boolean
from smmux.machines.access_pictures import bank_map, coalescing_map, lane_ranges
from smmux.machines.models_memory import Cache, CacheReplay, Dram, DramReplay, Location, Memory, MemoryReplay
from smmux.machines.occupancy import Occupancy, checked_size, occupancy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "BankAccess",
    "BankStep",
    "Cache",
    "CacheReplay",
    "Dram",
    "DramReplay",
    "Entry",
    "Location",
    "Memory",
    "MemoryReplay",
    "Occupancy",
    "Segment",
    "SharedMemoryTable",
    "Transactions",
    "bank_passes",
    "coalesce",
    "occupancy",
]

_LANES = 32
_WIDTHS = (1, 2, 4, 8, 16)
_FULL = (1 << _LANES) - 1


class BankStep(NamedTuple):
    """Lanes that the banks serve together, and the passes that this takes: one, or more for lanes wider than a bank."""

    passes: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BankAccess:
    """The cost of one access of a warp to shared memory.

    passes: times that the banks are used, summed over the requests (half-warps on compute capability 1.x). ideal: the
    passes of a conflict-free access of the same width and lanes. clk: shader clocks during which the banks are busy.
    """

    passes: int
    ideal: int
    clk: int
    addresses: tuple[int | None, ...]  # per lane, None for lanes that do not take part
    banks: tuple[int | None, ...]  # bank of the first byte of each lane
    width: int
    machine: gpus.Gpu  # with the bank mode of the access

    @property
    def gpu(self) -> str:
        """Name of the machine."""
        return self.machine.name

    @property
    def conflicts(self) -> int:
        """Passes beyond the conflict-free ones."""
        return self.passes - self.ideal

    @property
    def steps(self) -> tuple[BankStep, ...]:
        """A schedule of the access: each step takes, from the lowest lane on, all lanes that cost no further pass."""
        config = gpus.as_tuple(self.machine)
        addresses = [address or 0 for address in self.addresses]
        waiting = [lane for lane, address in enumerate(self.addresses) if address is not None]
        steps, served, passes = [], 0, 0
        while waiting:
            lanes, before = waiting[:1], passes
            served |= 1 << lanes[0]
            passes = _core.bank_passes(config, addresses, self.width, served)[0]
            for lane in waiting[1:]:
                if _core.bank_passes(config, addresses, self.width, served | 1 << lane)[0] == passes:
                    lanes.append(lane)
                    served |= 1 << lane
            steps.append(BankStep(passes - before, tuple(lanes)))
            waiting = [lane for lane in waiting if lane not in lanes]
        return tuple(steps)

    def banks_of(self, lane: int) -> tuple[int, ...]:
        """The banks in which the bytes of a lane lie; none for a lane that does not take part."""
        address = self.addresses[lane]
        if address is None:
            return ()
        first, last = (byte // _bank_bytes(self.machine) for byte in (address, address + self.width - 1))
        return tuple(bank % self.machine.smem_banks for bank in range(first, last + 1))

    def __repr__(self) -> str:
        return f"<BankAccess {self.passes} passes, {self.conflicts} from conflicts, {self.clk} clk on {self.gpu}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{bank_map(self)}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One memory transaction: `bytes` from `address` on, for the lanes listed."""

    address: int
    bytes: int
    lanes: tuple[int, ...]

    def __repr__(self) -> str:
        return f"{self.bytes}@{self.address}"


@dataclass(frozen=True, slots=True)
class Transactions:
    """The memory transactions of one access of a warp, in the order in which they leave."""

    segments: tuple[Segment, ...]
    addresses: tuple[int, ...]  # per lane; of lanes that do not take part, 0
    width: int
    gpu: str

    @property
    def bytes(self) -> int:
        """Bytes that are moved."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def requested_bytes(self) -> int:
        """Bytes that the lanes ask for, each lane counted."""
        return self.width * sum(len(segment.lanes) for segment in self.segments)

    @property
    def used_bytes(self) -> tuple[int, ...]:
        """Different bytes that lanes ask for, of each transaction."""
        return tuple(
            len({self.addresses[lane] + byte for lane in segment.lanes for byte in range(self.width)})
            for segment in self.segments
        )

    @property
    def efficiency(self) -> float:
        """Requested bytes per byte moved; above 1 where lanes share a word, 0 for an access without lanes."""
        return self.requested_bytes / self.bytes if self.segments else 0.0

    def __len__(self) -> int:
        return len(self.segments)

    def __repr__(self) -> str:
        listed = ", ".join(repr(segment) for segment in self.segments)
        return f"<Transactions {len(self)}: {listed or 'none'}; {self.bytes} bytes on {self.gpu}>"

    def _repr_html_(self) -> str:
        rows = [[str(s.address), str(s.bytes), lane_ranges(s.lanes)] for s in self.segments]
        note = f"{len(self)} transactions, {self.bytes} bytes, efficiency {self.efficiency:.0%} on {self.gpu}"
        table = f"<details><summary>as a table</summary>{html_table(('address', 'bytes', 'lanes'), rows)}</details>"
        return f"<p>{html.escape(note)}</p>{coalescing_map(self)}{table}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A valid row of the shared-memory management table; size and start in bytes."""

    block: int
    size: int
    start: int
    dynamic: bool


class SharedMemoryTable:
    """The shared-memory management (SMM) table of one SM (paper, Figures 7 and 10), to allocate from.

    Static entries are placed first fit from address 0 up, dynamic ones at the highest free place. `dynamic_bytes` is
    kept free of static entries at the top, so that one dynamic allocation of that size always becomes possible.

    >>> table = SharedMemoryTable("GTX285", dynamic_bytes=2048)
    >>> [table.alloc_static(block, 4096) for block in (0, 1, 2)]
    [0, 4096, 8192]
    >>> table.alloc_dynamic(0, 2048), table.alloc_dynamic(1, 2048), table.alloc_dynamic(2, 2048)
    (14336, 12288, None)
    >>> table.release(14336)
    True
    >>> table
    Valid  TB id    Size  Starting Address
    1          0    4 kB                 0
    1          1    4 kB              4096
    1          2    4 kB              8192
    1          1    2 kB             12288
    """

    def __init__(
        self,
        gpu: str | gpus.Gpu = "GTX285",
        *,
        capacity: int | None = None,
        unit: int | None = None,
        dynamic_bytes: int = 0,
    ) -> None:
        """Capacity and rounding of the machine, in bytes, unless given. Raises ValueError outside their ranges."""
        machine = gpus.get(gpu)
        self.capacity = machine.smem_bytes if capacity is None else capacity
        self.unit = machine.smm_unit if unit is None else unit
        if not 1 <= self.capacity < 1 << 31:
            raise ValueError(f"capacity must be 1 to {(1 << 31) - 1} bytes, not {self.capacity}")
        if not 1 <= self.unit <= self.capacity:
            raise ValueError(f"unit must be 1 to {self.capacity} bytes, not {self.unit}")
        if not 0 <= dynamic_bytes <= self.capacity:
            raise ValueError(f"dynamic_bytes must be 0 to {self.capacity}, not {dynamic_bytes}")
        self._table = _core.Smm(self.capacity, self.unit, dynamic_bytes)

    def alloc_static(self, block: int, size: int) -> int | None:
        """Start address of an allocation made at dispatch, None when there is no place; 0 bytes need no entry."""
        return self._table.alloc_static(_block(block), checked_size(size))

    def alloc_dynamic(self, block: int, size: int) -> int | None:
        """Start address of an allocation made by bar.sync +1, None when there is no place."""
        return self._table.alloc_dynamic(_block(block), checked_size(size))

    def release(self, start: int) -> bool:
        """Release the entry that starts there; False when there is none."""
        return self._table.release(checked_size(start))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The valid entries, in order of the table's rows."""
        return tuple(Entry(*row) for row in self._table.entries())

    @property
    def static_bytes(self) -> int:
        """Bytes held by static entries."""
        return sum(entry.size for entry in self.entries if not entry.dynamic)

    @property
    def free_bytes(self) -> int:
        """Bytes that no entry holds."""
        return self.capacity - sum(entry.size for entry in self.entries)

    def __repr__(self) -> str:
        lines = [f"{'Valid':5}  {'TB id':>5}  {'Size':>6}  {'Starting Address':>16}"]
        lines += [f"{1:<5}  {e.block:>5}  {_bytes(e.size):>6}  {e.start:>16}" for e in self._by_kind()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [["1", str(e.block), _bytes(e.size), str(e.start)] for e in self._by_kind()]
        return html_table(("Valid", "TB id", "Size", "Starting Address"), rows)

    def _by_kind(self) -> list[Entry]:
        """The entries in the order of Figure 10: allocations made at dispatch first, each part by address."""
        return sorted(self.entries, key=lambda entry: (entry.dynamic, entry.start))


def bank_passes(
    addresses: ArrayLike,
    width: int = 4,
    gpu: str | gpus.Gpu = "GTX285",
    mode: int | None = None,
    *,
    mask: ArrayLike | None = None,
) -> BankAccess:
    """Bank passes of one access of a warp to shared memory.

    addresses: byte address of each lane, up to 32. width: bytes per lane, 1 to 16. mode: bank mode of compute
    capability 3.x, 4 or 8 bytes (default: the machine's). mask: the lanes that take part (default: all that have one).
    Rules: CUDA C Programming Guide 5.5, G.3.3, G.4.3, G.5.3. Raises ValueError for malformed arguments.
    """
    machine = gpus.get(gpu).with_banks(mode)
    lanes, bits = _warp(addresses, width, mask)
    passes, ideal = _core.bank_passes(gpus.as_tuple(machine), lanes, width, bits)
    bank_bytes = _bank_bytes(machine)
    shown = tuple(address if bits >> lane & 1 else None for lane, address in enumerate(lanes))
    banks = tuple(None if a is None else a // bank_bytes % machine.smem_banks for a in shown)
    return BankAccess(passes, ideal, passes * machine.smem_clk_per_way, shown, banks, width, machine)


def coalesce(
    addresses: ArrayLike,
    width: int = 4,
    gpu: str | gpus.Gpu = "GTX285",
    *,
    store: bool = False,
    mask: ArrayLike | None = None,
) -> Transactions:
    """Memory transactions of one access of a warp to global memory.

    addresses: byte address of each lane, up to 32. width: bytes per lane, 1 to 16. store: whether it is a store, which
    bypasses L1. mask: the lanes that take part. Rules: CUDA C Programming Guide 5.5, G.3.2, G.4.2, G.5.2. Raises
    ValueError for malformed arguments.
    """
    machine = gpus.get(gpu)
    lanes, bits = _warp(addresses, width, mask)
    rows = _core.coalesce(gpus.as_tuple(machine), lanes, width, bits, boolean("store", store))
    segments = (Segment(address, size, _bits(served)) for address, size, served in rows)
    return Transactions(tuple(segments), tuple(lanes), width, machine.name)


def _bank_bytes(machine: gpus.Gpu) -> int:
    """Bytes after which the next bank begins; only machines of compute capability 3.x have a choice."""
    return machine.smem_bank_bytes if machine.smem_rule == 3 else 4


def _warp(addresses: ArrayLike, width: int, mask: ArrayLike | None) -> tuple[list[int], int]:
    """32 addresses and the bit mask of the lanes that take part, checked."""
    if width not in _WIDTHS:
        raise ValueError(f"width must be 1, 2, 4, 8 or 16 bytes, not {width!r}")
    given = np.asarray(addresses)
    if given.ndim != 1 or given.size > _LANES:
        raise ValueError(f"addresses must be a vector of at most {_LANES}, not of shape {given.shape}")
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"addresses must be integers, not {given.dtype}")
    lanes = [int(address) for address in given]
    bits = (1 << len(lanes)) - 1
    if mask is not None:
        bits &= _mask_bits(mask, len(lanes))
    for lane in _bits(bits):
        if not 0 <= lanes[lane] <= (1 << 32) - width:
            raise ValueError(f"address {lanes[lane]} of lane {lane} is outside 32 bits")
        if lanes[lane] % width:
            raise ValueError(f"address {lanes[lane]} of lane {lane} is not a multiple of the width, {width}")
    used = [address if bits >> lane & 1 else 0 for lane, address in enumerate(lanes)]
    return used + [0] * (_LANES - len(used)), bits


def _mask_bits(mask: ArrayLike, count: int) -> int:
    """A mask given as an integer or as one flag per lane."""
    flags = np.asarray(mask)
    if flags.ndim == 0 and flags.dtype.kind in "iu" and 0 <= int(flags) <= _FULL:
        return int(flags)
    if flags.dtype.kind == "b" and flags.shape == (count,):
        return sum(1 << lane for lane in range(count) if flags[lane])
    raise ValueError(f"mask must be a 32-bit integer or {count} booleans, not {mask!r}")


def _block(value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise ValueError(f"a block number must be 0 to {(1 << 32) - 1}, not {value}")
    return value


def _bits(bits: int) -> tuple[int, ...]:
    return tuple(lane for lane in range(_LANES) if bits >> lane & 1)


def _bytes(size: int) -> str:
    return f"{size // 1024} kB" if size % 1024 == 0 else f"{size} B"
