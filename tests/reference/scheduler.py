"""Warp schedulers by definition: an SM clock by clock, without caches, on a memory that answers after a fixed time.

Warps run straight-line programs; a step may need results of earlier ones. Each scheduler issues at most one step per
issue interval, that of the warp which its policy puts first among those that can issue. Units of a kind are dealt out
to the schedulers in turn: of fewer units than schedulers several share one, of more a scheduler has several, any of
which will do. Of several schedulers that share a unit the one behind that which had it last comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """An instruction: the unit that it holds for so long, when its result is there, and whose results it needs."""

    unit: str
    busy: int
    latency: int
    needs: tuple[int, ...] = ()
    memory: bool = False
    """Nobody can date the result before it is there; it also keeps its block from ending."""


@dataclass(eq=False)
class Warp:
    """A warp in its slot; `age` is the number of blocks that have started before its own."""

    program: Sequence[Step]
    block: int
    index: int
    slot: int
    age: int
    next: int = 0
    issued: int = 0
    results: dict[int, int] = field(default_factory=dict)

    def ready(self, clock: int) -> bool:
        """Whether all that its next step needs is there."""
        return all(self.results[i] <= clock for i in self.program[self.next].needs)

    def asleep(self, clock: int) -> bool:
        """Whether it has ended or waits for memory: nobody can tell until when."""
        if self.next == len(self.program):
            return True
        return any(self.program[i].memory and self.results[i] > clock for i in self.program[self.next].needs)


class LooseRoundRobin:
    """Everybody in turn, in the order of slots."""

    def __init__(self, schedulers: int, group: int) -> None:
        self.last = -1

    def choose(self, able: list[Warp]) -> Warp:
        """The next one behind the last."""
        return min(able, key=lambda w: (w.slot <= self.last, w.slot))

    def note(self, chosen: Warp, warps: list[Warp], clock: int) -> None:
        """Remember who issued."""
        self.last = chosen.slot


class OldestFirst:
    """The block that started first, and there the lowest slot."""

    def __init__(self, schedulers: int, group: int) -> None:
        pass

    def choose(self, able: list[Warp]) -> Warp:
        """The oldest one."""
        return min(able, key=lambda w: (w.age, w.slot))

    def note(self, chosen: Warp, warps: list[Warp], clock: int) -> None:
        """Nothing to remember."""


class GreedyThenOldest(OldestFirst):
    """The same warp as long as it can issue."""

    last = -1

    def choose(self, able: list[Warp]) -> Warp:
        """The last one, else the oldest one."""
        return next((w for w in able if w.slot == self.last), super().choose(able))

    def note(self, chosen: Warp, warps: list[Warp], clock: int) -> None:
        """Remember who issued."""
        self.last = chosen.slot


class GreedyThenYoungest(GreedyThenOldest):
    """The same warp as long as it can issue, else the last one of the block that started last."""

    def choose(self, able: list[Warp]) -> Warp:
        """The last one, else the youngest one."""
        youngest = max(able, key=lambda w: (w.age, w.slot))
        return next((w for w in able if w.slot == self.last), youngest)


class TwoLevel:
    """Groups of warps take turns: one is ahead until all its warps are asleep; within a group, round-robin."""

    def __init__(self, schedulers: int, group: int) -> None:
        self.schedulers, self.size = schedulers, group
        self.groups = -(-64 // (schedulers * group))
        self.ahead = 0
        self.last = [-1] * self.groups

    def place(self, warp: Warp) -> tuple[int, int]:
        """Its group, and where it stands there."""
        return divmod(warp.slot // self.schedulers, self.size)

    def choose(self, able: list[Warp]) -> Warp:
        """The next one in turn of the first group, counted from the one ahead, that has any."""

        def key(warp: Warp) -> tuple[int, bool, int]:
            group, place = self.place(warp)
            return (group - self.ahead) % self.groups, place <= self.last[group], place

        return min(able, key=key)

    def note(self, chosen: Warp, warps: list[Warp], clock: int) -> None:
        """Who had its turn; the next group that is awake gets ahead."""
        group, self.last[group] = self.place(chosen)[0], self.place(chosen)[1]
        awake = {self.place(w)[0] for w in warps if not w.asleep(clock)}
        if awake:
            self.ahead = min(awake, key=lambda g: (g - self.ahead) % self.groups)


Policy = LooseRoundRobin | OldestFirst | TwoLevel
POLICIES: dict[str, Callable[[int, int], Policy]] = {
    "lrr": LooseRoundRobin,
    "gto": GreedyThenOldest,
    "two_level": TwoLevel,
    "oldest": OldestFirst,
    "gty": GreedyThenYoungest,
}


@dataclass(frozen=True)
class Machine:
    """One SM: its schedulers, how blocks come and go, how many of its units there are."""

    policy: str
    schedulers: int
    interval: int
    group: int
    resident: int
    slots: int
    dispatch_interval: int
    block_start: int
    units: dict[str, int]


class Sm:
    """The SM of one launch; `log` has the issues as (clock, block, warp of the block, step)."""

    def __init__(self, machine: Machine, blocks: Sequence[Sequence[Sequence[Step]]]) -> None:
        self.machine, self.blocks = machine, blocks
        self.log: list[tuple[int, int, int, int]] = []
        self.policies = [POLICIES[machine.policy](machine.schedulers, machine.group) for _ in range(machine.schedulers)]
        self.slot_free = [0] * machine.schedulers
        self.turn = 0
        self.unit_free: dict[tuple[str, int], int] = {}
        first = range(min(machine.resident, len(blocks)))
        self.coming = [(i * machine.dispatch_interval, i) for i in first]
        self.warps: list[Warp] = []
        self.started = self.end = 0

    def run(self) -> Sm:
        """Clock by clock, until the last block has ended."""
        clock = 0
        while self.coming or self.warps:
            self.retire(clock)
            self.start(clock)
            left = set(range(self.machine.schedulers))
            while left:
                scheduler = min(left, key=lambda s: (s - self.turn) % self.machine.schedulers)
                self.issue(scheduler, clock)
                left.remove(scheduler)
            clock += 1
        return self

    def retire(self, clock: int) -> None:
        """A block ends with its last issue, or when its last access is answered; the next one comes a while later."""
        for block in sorted({w.block for w in self.warps}):
            mine = [w for w in self.warps if w.block == block]
            answers = [w.results[i] for w in mine for i in w.results if w.program[i].memory]
            last = max([w.issued for w in mine] + answers)
            if any(w.next < len(w.program) for w in mine) or last > clock:
                continue
            self.end = max(self.end, last)
            self.warps = [w for w in self.warps if w.block != block]
            following = self.started + len(self.coming)
            if following < len(self.blocks):
                self.coming.append((last + self.machine.block_start, following))

    def start(self, clock: int) -> None:
        """Blocks whose time has come take the lowest free slots."""
        for start, block in sorted(self.coming):
            if start > clock:
                continue
            taken = {w.slot for w in self.warps}
            free = (slot for slot in range(self.machine.slots) if slot not in taken)
            for index, program in enumerate(self.blocks[block]):
                self.warps.append(Warp(program, block, index, next(free), self.started))
            self.coming.remove((start, block))
            self.started += 1

    def issue(self, scheduler: int, clock: int) -> None:
        """The scheduler's slot goes to the warp that its policy chooses, if one can issue."""
        if self.slot_free[scheduler] > clock:
            return
        mine = [w for w in self.warps if w.slot % self.machine.schedulers == scheduler]
        able = [
            w
            for w in mine
            if w.next < len(w.program) and w.ready(clock) and self.free(scheduler, w.program[w.next]) <= clock
        ]
        if not able:
            return
        warp = self.policies[scheduler].choose(able)
        step = warp.program[warp.next]
        self.log.append((clock, warp.block, warp.index, warp.next))
        self.unit_free[min(self.units(scheduler, step), key=self.when)] = clock + step.busy
        self.slot_free[scheduler] = clock + self.machine.interval
        warp.results[warp.next] = clock + step.latency
        warp.issued = clock
        warp.next += 1
        self.policies[scheduler].note(warp, mine, clock)
        others = [self.units(s, step) for s in range(self.machine.schedulers) if s != scheduler]
        if self.units(scheduler, step) in others:
            self.turn = (scheduler + 1) % self.machine.schedulers

    def units(self, scheduler: int, step: Step) -> list[tuple[str, int]]:
        """The units of a kind that a scheduler uses."""
        count, schedulers = self.machine.units[step.unit], self.machine.schedulers
        if count <= schedulers:
            return [(step.unit, scheduler % count)]
        return [(step.unit, number) for number in range(count) if number % schedulers == scheduler]

    def when(self, unit: tuple[str, int]) -> int:
        """When a unit is free."""
        return self.unit_free.get(unit, 0)

    def free(self, scheduler: int, step: Step) -> int:
        """When the first of the units that a step may take is free."""
        return min(map(self.when, self.units(scheduler, step)))
