"""Pictures of one access of a warp: the banks of shared memory it meets, and its transactions to global memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from smmux.drawing.svg import grid

if TYPE_CHECKING:
    from smmux.machines.models import BankAccess, Transactions

__all__ = ["bank_map", "coalescing_map", "lane_ranges"]


def lane_ranges(lanes: Sequence[int]) -> str:
    """Lanes as text.

    >>> lane_ranges([0, 1, 2, 3, 7])
    '0-3, 7'
    """
    parts: list[list[int]] = []
    for lane in lanes:
        if parts and lane == parts[-1][1] + 1:
            parts[-1][1] = lane
        else:
            parts.append([lane, lane])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def bank_map(access: BankAccess) -> str:
    """The lanes that each bank serves, a row per pass; lanes that share a cell are served at once."""
    rows, cells, notes, done = [], {}, [], 0
    for row, (passes, lanes) in enumerate(access.steps):
        rows.append(str(done + 1) if passes == 1 else f"{done + 1}-{done + passes}")
        notes.append(f"lane{'s' * (len(lanes) > 1)} {lane_ranges(lanes)}")
        done += passes
        served: dict[int, list[int]] = {}
        for lane in lanes:
            for bank in access.banks_of(lane):
                served.setdefault(bank, []).append(lane)
        for bank, sharers in served.items():
            text = lane_ranges(sharers)
            short = text.replace(", ", ",")
            if len(short) > 5:
                short = f"\N{MULTIPLICATION SIGN}{len(sharers)}"
            tip = f"bank {bank}: lane {text}, byte address {access.addresses[sharers[0]]}"
            cells[row, bank] = (short, int(len(sharers) > 1), tip)
    title = f"lanes by bank and pass: {access.passes} passes, {access.conflicts} from conflicts"
    columns = [str(bank) for bank in range(access.machine.smem_banks)]
    return grid(title, columns, rows, cells, "pass \\ bank", notes)


def coalescing_map(found: Transactions) -> str:
    """The lanes that each transaction serves; in a cell stands the lane's byte offset in the transaction."""
    cells = {}
    for row, segment in enumerate(found.segments):
        for lane in segment.lanes:
            offset = found.addresses[lane] - segment.address
            cells[row, lane] = (f"+{offset}", row % 2, f"lane {lane}: byte address {found.addresses[lane]}")
    notes = [f"{used} of {s.bytes} bytes used" for s, used in zip(found.segments, found.used_bytes, strict=True)]
    rows = [str(segment.address) for segment in found.segments]
    return grid("lanes by transaction", [str(lane) for lane in range(32)], rows, cells, "address \\ lane", notes)
