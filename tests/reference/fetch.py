"""Definition of how instructions reach the warps: clock by clock, with lists, one warp on each SM.

A cache is a list of sets, a set a list of lines, the most recently used last. In every clock the second levels take the
lines that come; then each SM takes its replies and issues at most one instruction, asking for lines as it goes; then
the second levels look at what was asked of them in this clock, in the order of the SMs, and the third at what they ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from smmux.gpus import Gpu

CODE = 0xFF000000
"""Device address of the program."""


class Tags:
    """The lines that a cache holds."""

    def __init__(self, size: int, line: int, ways: int) -> None:
        self.sets: list[list[int]] = [[] for _ in range(size // line // ways)]
        self.ways = ways

    def touch(self, line: int) -> bool:
        """Is the line there? Then it is the most recently used one."""
        lines = self.sets[line % len(self.sets)]
        if line not in lines:
            return False
        lines.remove(line)
        lines.append(line)
        return True

    def holds(self, line: int) -> bool:
        return line in self.sets[line % len(self.sets)]

    def put(self, line: int) -> None:
        lines = self.sets[line % len(self.sets)]
        del lines[: max(len(lines) - self.ways + 1, 0)]
        lines.append(line)


@dataclass
class Fill:
    """A line on its way to a second level, or waiting for its turn."""

    line: int
    waiting: list[tuple[int, int, int]] = field(default_factory=list)  # SM, line there, when asked
    done: int | None = None
    started: bool = False


class Memory:
    """A fixed latency behind one pipe (csrc/memory/memflat.c)."""

    def __init__(self, gpu: Gpu) -> None:
        self.rate, self.latency, self.free = gpu.flat_bytes_per_kclk, gpu.flat_latency, 0

    def read(self, t: int, size: int) -> int:
        start = max(t * self.rate, self.free)
        self.free = start + size * 1000
        return -(-start // self.rate) + self.latency


class Warp:
    """One warp alone on its SM; `trace` are the instructions that it issues."""

    def __init__(self, gpu: Gpu, trace: Sequence[int], branches: frozenset[int], start: int, pieces: int) -> None:
        self.gpu, self.trace, self.branches = gpu, trace, branches
        self.tags = Tags(gpu.icache_bytes, gpu.icache_line, gpu.icache_ways)
        self.pending: set[int] = set()
        self.replies: list[tuple[int, int]] = []  # when, line
        self.asked: list[int] = []  # in this clock
        self.at: int | None = None
        self.next, self.floor = 0, start
        self.slot, self.buffer, self.start, self.pieces, self.end = 0, -1, start, pieces, 0

    def piece(self) -> int:
        g = self.gpu
        return self.trace[self.next] // ((g.fetch_bytes - g.fetch_control) // g.insn_bytes)

    def line(self, piece: int) -> int:
        return (CODE + piece * self.gpu.fetch_bytes) // self.gpu.icache_line

    def ask(self, line: int, kind: str, count: Counter[str]) -> None:
        if not self.tags.holds(line) and line not in self.pending:
            self.pending.add(line)
            self.asked.append(line)
            count[kind] += 1

    def look_up(self, piece: int, count: Counter[str]) -> bool:
        line = self.line(piece)
        found = self.tags.touch(line)
        if not found:
            self.ask(line, "icache_misses", count)
        if self.gpu.icache_prefetch and line < self.line(self.pieces - 1):
            self.ask(line + 1, "icache_prefetches", count)
        return found

    def fetch(self, t: int, count: Counter[str]) -> None:
        """Find the next instruction; `at` says from when on it can issue, None that its line is to come."""
        piece = self.piece()
        if piece != self.buffer:
            if not self.look_up(piece, count):
                self.at = None
                return
            self.buffer = piece
            if piece + 1 < self.pieces:
                self.look_up(piece + 1, count)
        self.at = max(self.floor, t)

    def clock(self, t: int, count: Counter[str]) -> None:
        for reply in sorted(r for r in self.replies if r[0] == t):
            self.replies.remove(reply)
            self.pending.discard(reply[1])
            self.tags.put(reply[1])
            if self.at is None and t > self.start and not self.end and self.line(self.piece()) == reply[1]:
                self.fetch(t, count)
        if t == self.start:
            self.fetch(t, count)
        if self.end or self.at is None or t < max(self.at, self.slot):
            return
        self.slot = t + max(self.gpu.issue_interval, self.gpu.warp_interval)
        pc = self.trace[self.next]
        self.next += 1
        self.floor = t + (self.gpu.lat_bra if pc in self.branches else 0)
        if self.next == len(self.trace):
            self.end, self.at = t, None
        else:
            self.fetch(t, count)


class Second:
    """A second level and the SMs that share it."""

    def __init__(self, gpu: Gpu, sms: dict[int, Warp], last: int) -> None:
        self.gpu, self.sms = gpu, sms
        self.tags = Tags(gpu.icache2_bytes, gpu.icache2_line, gpu.icache2_ways)
        self.fills: list[Fill] = []
        self.last = last * gpu.fetch_bytes + CODE
        first, line = CODE // gpu.icache2_line, gpu.icache2_line
        for n in range(first, min(first + gpu.icache2_launch // line, self.last // line + 1)):
            self.tags.put(n)
        self.starts: list[Fill] = []

    def start(self) -> None:
        for fill in self.fills[: self.gpu.icache2_fills]:
            if not fill.started:
                fill.started = True
                self.starts.append(fill)

    def reply(self, sm: int, line: int, asked: int, at: int) -> None:
        self.sms[sm].replies.append((max(at, asked + self.gpu.lat_icache2), line))

    def complete(self, t: int) -> None:
        for fill in [f for f in self.fills if f.done == t]:
            self.fills.remove(fill)
            self.tags.put(fill.line)
        self.start()

    def arrive(self, fill: Fill, done: int) -> None:
        fill.done = done
        for sm, line, asked in fill.waiting:
            self.reply(sm, line, asked, done)

    def look(self, t: int, count: Counter[str]) -> None:
        for sm, warp in self.sms.items():
            for first in warp.asked:
                self.look_up(sm, first, t, count)
            warp.asked.clear()

    def look_up(self, sm: int, first: int, t: int, count: Counter[str]) -> None:
        address = first * self.gpu.icache_line
        line = address // self.gpu.icache2_line
        fill = next((f for f in self.fills if f.line == line), None)
        if self.tags.touch(line):
            count["icache2_hits"] += 1
            self.reply(sm, first, t, 0)
        elif fill and fill.done is not None:
            count["icache2_merges"] += 1
            self.reply(sm, first, t, fill.done)
        else:
            count["icache2_merges" if fill else "icache2_misses"] += 1
            if not fill:
                self.fills.append(fill := Fill(line))
            fill.waiting.append((sm, first, t))
        self.start()
        ahead = self.gpu.icache2_prefetch and address % self.gpu.icache2_line == 0
        known = self.tags.holds(line + 1) or any(f.line == line + 1 for f in self.fills)
        if ahead and line < self.last // self.gpu.icache2_line and not known:
            if len(self.fills) <= self.gpu.icache2_fills:
                count["icache2_prefetches"] += 1
                self.fills.append(Fill(line + 1))
        self.start()


class Third:
    """The third level, which knows when each of its lines comes."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.ready = gpu, dict[int, int]()
        self.tags = Tags(gpu.icache3_bytes, gpu.icache3_line, gpu.icache3_ways)

    def read(self, part: int, t: int, count: Counter[str]) -> int:
        """When a line of the second level comes that is asked for now."""
        line = part * self.gpu.icache2_line // self.gpu.icache3_line
        if not self.tags.touch(line):
            count["icache3_misses"] += 1
            self.tags.put(line)
            self.ready[line] = t + self.gpu.icache3_miss
            return self.ready[line]
        hit = t + self.gpu.lat_icache3
        count["icache3_merges" if self.ready[line] > hit else "icache3_hits"] += 1
        return max(hit, self.ready[line])


def run(
    gpu: Gpu, traces: Sequence[Sequence[int]], branches: frozenset[int], starts: Sequence[int], length: int
) -> tuple[int, Counter[str]]:
    """Cycle of the last exit, and counters, of one warp per SM that issues these instructions of `length`."""
    count: Counter[str] = Counter()
    pieces = (length - 1) // ((gpu.fetch_bytes - gpu.fetch_control) // gpu.insn_bytes) + 1
    warps = [Warp(gpu, *of_sm, pieces) for of_sm in zip(traces, [branches] * len(traces), starts, strict=True)]
    groups = [
        Second(gpu, dict(list(enumerate(warps))[i : i + gpu.icache2_sms]), pieces - 1)
        for i in range(0, len(warps), gpu.icache2_sms)
    ]
    memory, third = Memory(gpu), Third(gpu) if gpu.icache3_bytes else None
    t = 0
    while any(not w.end for w in warps) or any(g.fills for g in groups):
        for group in groups:
            group.complete(t)
        for warp in warps:
            warp.clock(t, count)
        for group in groups:
            group.look(t, count)
            for fill in group.starts:
                if third:
                    done = third.read(fill.line, t, count)
                else:
                    sizes = [min(gpu.icache2_line, 128)] * max(gpu.icache2_line // 128, 1)
                    done = max(memory.read(t + gpu.lat_global, size) for size in sizes)
                group.arrive(fill, done)
            group.starts.clear()
        t += 1
    return max(w.end for w in warps), count
