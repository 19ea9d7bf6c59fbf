"""Pictures for notebooks: banks of an access, transactions of a warp, occupancy over block size, DRAM rows, stalls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from smmux.svg import CHARACTER, Svg, grid, swatches

if TYPE_CHECKING:
    from smmux.models import BankAccess, Transactions
    from smmux.models_memory import DramReplay
    from smmux.occupancy import Occupancy
    from smmux.trace import Trace

__all__ = [
    "OpenRow",
    "bank_map",
    "coalescing_map",
    "dram_rows",
    "lane_ranges",
    "occupancy_chart",
    "open_rows",
    "stall_bars",
]

LIMITERS = {"shared memory": "S", "registers": "R", "warps": "W", "threads": "T", "blocks": "B", "counter": "C"}
"""Letters of the resources that limit occupancy, in the order of their looks."""


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


def occupancy_chart(found: Occupancy) -> str:
    """Resident warps over the block size, a letter for what limits them, and the blocks; the given size is framed."""
    sizes = found.over_block_sizes()
    step, high, left, top = (30 if len(sizes) <= 20 else 24), 120, 44, 22
    svg = Svg(max(420, left + step * len(sizes) + 8), top + high + 66, f"occupancy over block size on {found.gpu}")
    svg.text(2, 12, "resident warps")
    for share in (0, 0.5, 1):
        y = top + high * (1 - share)
        svg.line(left, y, left + step * len(sizes), y, "" if share == 0 else "2 3")
        svg.text(left - 5, y + 4, f"{share * found.max_warps:g}", "end", 10)
    looks = list(LIMITERS)
    for n, each in enumerate(sizes):
        x, y = left + step * n, top + high * (1 - each.occupancy)
        own = each.threads_per_block == found.threads_per_block
        tip = f"{each.threads_per_block} threads: {each.blocks} blocks, {each.warps} warps, limited by {each.limiter}"
        svg.rect(x + 2, y, step - 4, high * each.occupancy, looks.index(each.limiter), tip)
        svg.text(x + step / 2, y - 3, LIMITERS[each.limiter], "middle", 10, own)
        svg.text(x + step / 2, top + high + 12, str(each.threads_per_block), "middle", 9, own)
        svg.text(x + step / 2, top + high + 24, str(each.blocks), "middle", 9, own)
        if own:
            svg.rect(x, top - 12, step, high + 40, None)
    svg.text(left - 5, top + high + 12, "threads", "end", 9)
    svg.text(left - 5, top + high + 24, "blocks", "end", 9)
    used = [(look, f"{LIMITERS[name]} {name}") for look, name in enumerate(looks) if name in {e.limiter for e in sizes}]
    swatches(svg, left, top + high + 42, used)
    return str(svg)


def stall_bars(bars: Sequence[tuple[str, Mapping[str, float], float]]) -> str:
    """Bars of the schedulers' time with a legend below: what it was spent on, as shares.

    bars: a label, the shares by reason, and the length of each, 1 for all the width. Reasons look the same in all bars.
    """
    left, width, height = (CHARACTER * 11 * max(len(label) for label, _, _ in bars) + 8, 700, 22)
    reasons = list(dict.fromkeys(reason for _, shares, _ in bars for reason in shares))
    used = [reason for reason in reasons if any(shares.get(reason) for _, shares, _ in bars)]
    svg = Svg(left + width + 4, 0, "what the schedulers' time was spent on")
    for n, (label, shares, length) in enumerate(bars):
        x, top = left, (height + 6) * n
        svg.text(left - 6, top + 15, label, "end")
        for look, reason in enumerate(reasons):
            wide = width * length * shares.get(reason, 0)
            text = f"{reason.replace('_', ' ')} {shares.get(reason, 0):.1%}"
            if wide:
                svg.rect(x, top, wide, height, look, text)
                fitting = (each for each in (text, text.split()[-1]) if CHARACTER * 10 * len(each) + 4 < wide)
                svg.text(x + wide / 2, top + 15, next(fitting, ""), "middle", 10)
            x += wide
    legend = [(look, reason) for look, reason in enumerate(reasons) if reason in used]
    if len(bars) == 1:
        shares = bars[0][1]
        labels = [(look, f"{reason.replace('_', ' ')} {shares[reason]:.1%}") for look, reason in legend]
    else:
        labels = [(look, reason.replace("_", " ")) for look, reason in legend]
    svg.height = swatches(svg, left, (height + 6) * len(bars) + 2, labels)
    return str(svg)


def held_curve(trace: Trace, sm: int) -> str:
    """The bytes of shared memory that the recorded blocks of an SM hold over time, below its capacity.

    The caption says so if the record lacks blocks: then the curve is the least that was held. Where several steps fall
    into one pixel, it covers all between the least and the most.
    """
    cycles, held = (values.tolist() for values in trace.shared(sm))
    left, top, width, high = 60, 20, 700, 70
    capacity, end = trace.gpu.smem_bytes, trace.cycles or 1
    svg = Svg(left + width + 30, top + high + 38, f"shared memory held on SM {sm}")

    def down(size: int) -> str:
        return f"V{top + high * (1 - size / capacity):.2f}"

    path, now = [f"M{left} {top + high}"], 0
    for _, group in groupby(range(len(cycles)), key=lambda n: int(width * cycles[n] / end)):
        steps = list(group)
        sizes = [held[n] for n in steps]
        path.append(f"H{left + width * cycles[steps[0]] / end:.2f}")
        if len(steps) > 1:
            path += [down(max(now, *sizes)), down(min(now, *sizes))]
        now = sizes[-1]
        path.append(down(now))
    most = max(held, default=0)
    tip = f"SM {sm}: at most {most} of {capacity} bytes"
    svg.area("".join([*path, f"H{left + width}", down(0), "Z"]), tip)
    svg.line(left, top, left + width, top, "2 3")
    lost = f"; not of all blocks, {trace.lost:,} events had no room in the trace" if trace.lost else ""
    svg.text(left, 12, f"shared memory held on SM {sm}: at most {most:,} of {capacity:,} bytes{lost}")
    for size in (0, capacity):
        svg.text(left - 5, top + high * (1 - size / capacity) + 4, f"{size:,}", "end", 10)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + width * share
        svg.line(x, top + high, x, top + high + 4)
        svg.text(x, top + high + 16, f"{trace.cycles * share:,.0f}", "middle", 10)
    svg.text(left + width / 2, top + high + 31, "cycles", "middle")
    return str(svg)


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
    from smmux.models_memory import COMMAND_KINDS

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
        if name == "precharge" or name.endswith("auto-precharge"):
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
