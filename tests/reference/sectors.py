"""An L1 whose lines come in sectors, by definition: one warp that loads and stores without waiting for what it loads.

Memory answers each transaction after a fixed time, in the order in which they were sent. A line is in the cache with
those of its sectors that have come. What a load misses of a line is asked for unless it has been already, each run of
neighbouring sectors as one transaction. A store drops the sectors that it changes, and what is on its way of their
lines comes too late for the cache: only those who wait for it already get it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.reference.cache import set_index


@dataclass(frozen=True)
class Machine:
    """Sizes in bytes, times in clocks: `interval` of the load/store unit for a line and of the port for a packet."""

    size: int
    line: int
    sector: int
    ways: int
    hashed: bool
    mshrs: int
    slot: int
    interval: int
    to_port: int
    answer: int


@dataclass(eq=False)
class Pending:
    """A line on its way: sectors asked for and come, whether the cache takes it, and which lanes of loads wait."""

    line: int
    asked: set[int] = field(default_factory=set)
    come: set[int] = field(default_factory=set)
    open: bool = True
    waiting: list[tuple[Load, int]] = field(default_factory=list)


@dataclass(eq=False)
class Load:
    """What every lane gets: None until it has come."""

    addresses: Sequence[int]
    values: list[int | None]


@dataclass(frozen=True)
class Answer:
    """When it comes; with a line's sectors if it is that of a load, each as its words by address."""

    time: int
    pending: Pending | None = None
    sectors: dict[int, dict[int, int]] = field(default_factory=dict)


class L1:
    """The cache with its memory, a list of words from address 0 on."""

    def __init__(self, machine: Machine, words: Sequence[int]) -> None:
        self.machine, self.words = machine, list(words)
        # Per set its lines, the most recently used one last: number, and words by sector and address.
        self.sets: list[list[tuple[int, dict[int, dict[int, int]]]]] = [
            [] for _ in range(machine.size // machine.line // machine.ways)
        ]
        self.pending: list[Pending] = []
        self.flying: list[Answer] = []
        self.counters: Counter[str] = Counter()
        self.clock = self.port_free = self.end = 0

    def place(self, address: int) -> tuple[int, int]:
        """The number of its line, and which sector of that it is in."""
        return address // self.machine.line, address % self.machine.line // self.machine.sector

    def find(self, line: int, touch: bool = False) -> dict[int, dict[int, int]]:
        """What the cache holds of a line, by sector."""
        ways = self.sets[set_index(line, len(self.sets), self.machine.hashed)]
        for entry in ways:
            if entry[0] == line:
                if touch:
                    ways.remove(entry)
                    ways.append(entry)
                return entry[1]
        return {}

    def on_its_way(self, line: int) -> Pending | None:
        """The line that others may join."""
        return next((p for p in self.pending if p.line == line and p.open), None)

    # ---- memory

    def send(self, at: int, pending: Pending | None, sectors: Iterable[int] = ()) -> None:
        """A packet leaves, and is served before any that leaves later."""
        sent = max(at, self.port_free)
        self.port_free = sent + self.machine.interval
        content: dict[int, dict[int, int]] = {}
        for sector in sectors if pending else ():
            assert pending
            first = pending.line * self.machine.line + sector * self.machine.sector
            content[sector] = {a: self.words[a // 4] for a in range(first, first + self.machine.sector, 4)}
        self.flying.append(Answer(sent + self.machine.answer, pending, content))
        self.counters["transactions"] += 1
        self.counters["transaction_bytes"] += self.machine.sector * len(content)

    def take(self, answer: Answer) -> None:
        """Something has come: into the cache, and to those who wait for it."""
        self.end = max(self.end, answer.time)
        pending = answer.pending
        if pending is None:
            return
        if pending.open:
            ways = self.sets[set_index(pending.line, len(self.sets), self.machine.hashed)]
            if all(line != pending.line for line, _ in ways):
                if len(ways) == self.machine.ways:
                    ways.pop(0)
                ways.append((pending.line, {}))
            self.find(pending.line).update(answer.sectors)
        pending.come |= set(answer.sectors)
        for load, lane in pending.waiting:
            address = load.addresses[lane]
            if load.values[lane] is None and self.place(address)[1] in answer.sectors:
                load.values[lane] = answer.sectors[self.place(address)[1]][address]
        if pending.come == pending.asked:
            self.pending.remove(pending)

    def until(self, time: int) -> None:
        """Take all that comes up to a time."""
        while self.flying and self.flying[0].time <= time:
            self.take(self.flying.pop(0))

    # ---- instructions

    def load(self, addresses: Sequence[int]) -> Load:
        """Every lane loads a word; issued once there are entries for the lines that are to be asked for."""
        lines = list(dict.fromkeys(self.place(a)[0] for a in addresses))
        self.until(self.clock)
        while not self.has_entries(lines, addresses):
            self.clock = max(self.clock, self.flying[0].time)
            self.until(self.clock)
        load = Load(addresses, [None] * len(addresses))
        for i, line in enumerate(lines):
            self.load_line(load, line, self.clock + self.machine.to_port + i * self.machine.interval)
        self.issued(len(lines))
        return load

    def has_entries(self, lines: list[int], addresses: Sequence[int]) -> bool:
        """Whether the lines fit that nothing is on its way of; alone, an access always does."""
        fresh = 0
        for line in lines:
            wanted = {self.place(a)[1] for a in addresses if self.place(a)[0] == line}
            fresh += not wanted <= set(self.find(line)) and self.on_its_way(line) is None
        return not fresh or not self.pending or len(self.pending) + fresh <= self.machine.mshrs

    def load_line(self, load: Load, line: int, at: int) -> None:
        """The lanes that want words of a line."""
        there = self.find(line, touch=True)
        missing: set[int] = set()
        late: list[int] = []
        for lane, address in enumerate(load.addresses):
            number, sector = self.place(address)
            if number != line:
                continue
            if sector in there:
                load.values[lane] = there[sector][address]
            else:
                missing.add(sector)
                late.append(lane)
        if not missing:
            self.counters["l1_hits"] += 1
            return
        pending = self.on_its_way(line)
        if pending is None:
            pending = Pending(line)
            self.pending.append(pending)
        fresh = sorted(missing - (pending.asked - pending.come))  # what has come may have been replaced since
        self.counters["l1_misses" if fresh else "l1_merges"] += 1
        pending.asked |= set(fresh)
        pending.come -= set(fresh)
        pending.waiting += [(load, lane) for lane in late]
        for i, sector in enumerate(fresh):
            if not i or fresh[i - 1] != sector - 1:
                run = [s for s in fresh[i:] if s - sector == fresh.index(s) - i]
                self.send(at, pending, run)

    def store(self, addresses: Sequence[int], values: Sequence[int], segment: int = 32) -> None:
        """Every lane stores a word, the last one wins; each segment of memory is a transaction."""
        self.until(self.clock)
        segments = list(dict.fromkeys(a // segment for a in addresses))
        for address, value in zip(addresses, values, strict=True):
            self.words[address // 4] = value
        for i, number in enumerate(segments):
            line, _ = self.place(number * segment)
            for address in range(number * segment, (number + 1) * segment, 4):
                self.find(line).pop(self.place(address)[1], None)
            self.forget(line)
            self.send(self.clock + self.machine.to_port + i * self.machine.interval, None)
            self.counters["transaction_bytes"] += segment
        self.issued(len(segments))

    def issued(self, count: int) -> None:
        """The next instruction issues a slot later, and one like it when the unit is free."""
        self.end = max(self.end, self.clock + self.machine.slot)
        self.clock += max(self.machine.slot, count * self.machine.interval)

    def forget(self, line: int) -> None:
        """The line is gone with its last sector, and nobody joins what is on its way of it."""
        ways = self.sets[set_index(line, len(self.sets), self.machine.hashed)]
        ways[:] = [entry for entry in ways if entry[0] != line or entry[1]]
        pending = self.on_its_way(line)
        if pending:
            pending.open = False

    def finish(self) -> int:
        """When the last answer has come, and the warp has exited."""
        self.until(max([answer.time for answer in self.flying], default=0))
        return self.end
