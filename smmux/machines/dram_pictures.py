"""The picture of the rows that a DRAM channel has open, from the commands of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from smmux.drawing.svg import Svg

if TYPE_CHECKING:
    from smmux.machines.models_memory import DramReplay

__all__ = ["OpenRow", "dram_rows", "open_rows"]


class OpenRow(NamedTuple):
    """A row of a DRAM bank that was open from one clock to another, with the clocks of its column commands."""

    bank: int
    row: int
    opened: int
    closed: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def open_rows(replay: DramReplay) -> list[OpenRow]:
    """The rows that were open in the banks of a channel, in the order in which they were opened.

    A row still open at the end counts to the last data beat or command. Raises ValueError for a replay without a log.
    """
    from smmux.machines.models_memory import COMMAND_KINDS

    if replay.log is None:
        raise ValueError("the commands were not recorded; use replay(..., log=True)")
    end = max(replay.clocks, int(replay.log["clock"].max(initial=0)))
    opened: dict[int, tuple[int, int, tuple[list[int], list[int]]]] = {}
    found: list[OpenRow] = []

    def close(banks: Sequence[int], clock: int) -> None:
        for bank in banks:
            if bank in opened:
                row, since, (reads, writes) = opened.pop(bank)
                found.append(OpenRow(bank, row, since, clock, tuple(reads), tuple(writes)))

    for clock, row, kind, bank in replay.log.tolist():
        name = COMMAND_KINDS[kind]
        if name == "activate":
            opened[bank] = (row, clock, ([], []))
        elif name.startswith(("read", "write")):
            opened[bank][2][name.startswith("write")].append(clock)
        if name in ("precharge", "refresh of a bank") or name.endswith("auto-precharge"):
            close([bank], clock)
        elif name == "precharge all":
            close(list(opened), clock)
    close(list(opened), end)
    return sorted(found, key=lambda each: (each.opened, each.bank))


def dram_rows(replay: DramReplay) -> str:
    """The rows open in each bank over time, with a tick for each read (below) and write (above)."""
    rows = open_rows(replay)
    end = max((each.closed for each in rows), default=0) or 1
    banks = sorted({each.bank for each in rows})
    left, width, height = 60, 760, 26
    svg = Svg(left + width + 10, 22 + height * len(banks) + 40, f"open rows of DRAM banks on {replay.gpu.name}")

    def at(clock: float) -> float:
        return left + width * clock / end

    svg.text(left, 12, "open row of each bank; ticks: reads (from below), writes (from above)")
    for n, bank in enumerate(banks):
        svg.text(left - 6, 20 + height * n + 16, f"bank {bank}", "end")
        svg.line(left, 20 + height * (n + 1) - 4, left + width, 20 + height * (n + 1) - 4, "1 3")
    for each in rows:
        top, wide = 20 + height * banks.index(each.bank), at(each.closed) - at(each.opened)
        served = f"{len(each.reads)} reads, {len(each.writes)} writes"
        tip = f"bank {each.bank}, row {each.row}: clk {each.opened} to {each.closed}, {served}"
        svg.rect(at(each.opened), top, wide, height - 4, each.row % 2, tip, 0.3)
        for clocks, y in ((each.reads, top + height - 10), (each.writes, top)):
            for clock in _apart([at(clock) for clock in clocks]):
                svg.line(clock, y, clock, y + 6)
        label = str(each.row)
        if wide > 6 * len(label) + 4:
            svg.text((at(each.opened) + at(each.closed)) / 2, top + 13, label, "middle", 10)
    bottom = 20 + height * len(banks)
    for share in (0, 0.25, 0.5, 0.75, 1):
        svg.line(at(end * share), bottom, at(end * share), bottom + 4)
        svg.text(at(end * share), bottom + 16, f"{end * share:.0f}", "middle", 10)
    svg.text(left + width / 2, bottom + 32, "command clocks", "middle")
    return str(svg)


def _apart(places: Sequence[float], distance: float = 1.0) -> Iterator[float]:
    """Those of ascending places that lie visibly apart."""
    last = -distance
    for place in places:
        if place - last >= distance:
            last = place
            yield place
