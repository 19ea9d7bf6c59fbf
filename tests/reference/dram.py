"""DRAM by definition: a checker that knows only the timing table, and the policies clock by clock."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

NEVER = -(10**9)
READ, WRITE, ACTIVATE, PRECHARGE, PRECHARGE_ALL, REFRESH, READ_CLOSING, WRITE_CLOSING, REFRESH_BANK = range(9)
CLOSING = {READ: READ_CLOSING, WRITE: WRITE_CLOSING}
"""Reads and writes that precharge their bank too, as soon as that is allowed."""


@dataclass(frozen=True)
class Timing:
    """The timing table, in command clocks; names as in the data sheets (wtr: end of write data to read)."""

    rcd: int
    rp: int
    ras: int
    rc: int
    rrd: int
    faw: int
    cl: int
    wl: int
    burst: int
    ccd: int
    ccdl: int
    wtr: int
    wr: int
    rtp: int
    rtpl: int
    refi: int
    rfc: int
    banks: int
    groups: int
    row_slots: int
    single: int
    """Whether the banks are refreshed one by one."""

    @classmethod
    def of(cls, gpu: object) -> Timing:
        """The table of a machine."""
        names = {f: f"t_{f}" for f in cls.__dataclass_fields__}
        names |= {
            "burst": "dram_burst_clk",
            "banks": "dram_banks",
            "groups": "dram_groups",
            "row_slots": "dram_row_slots",
            "single": "dram_refresh_single",
        }
        return cls(**{f: getattr(gpu, name) for f, name in names.items()})

    def group(self, bank: int) -> int:
        """Bank group: the lowest bank bits."""
        return bank % self.groups


@dataclass(frozen=True)
class Request:
    """What arrives at the channel."""

    arrival: int
    bank: int
    row: int
    bursts: int
    write: bool


@dataclass
class Bank:
    """When things last happened to a bank."""

    row: int | None = None
    activated: int = NEVER
    precharged: int = NEVER
    read: int = NEVER
    written: int = NEVER
    refreshed: int = NEVER


@dataclass
class History:
    """What has happened on a channel, and which rules a command would break."""

    t: Timing
    banks: list[Bank] = field(init=False)
    slots: dict[bool, int] = field(default_factory=lambda: {False: NEVER, True: NEVER})
    """Clock of the last read or write, and of the last command of rows (True); those of all banks count as both."""
    read: int = NEVER
    written: int = NEVER
    refreshed: int = NEVER
    activates: deque[int] = field(default_factory=lambda: deque(maxlen=4))
    columns: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: NEVER))  # per group
    reads: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: NEVER))

    def __post_init__(self) -> None:
        self.banks = [Bank() for _ in range(self.t.banks)]

    @property
    def last(self) -> int:
        """Clock of the last command."""
        return max(self.slots.values())

    def broken(self, clock: int, kind: int, bank: int, row: int = -1) -> list[str]:
        """Names of the rules that this command breaks; row: that of a column command's request."""
        t, b = self.t, self.banks[bank]
        if kind == PRECHARGE_ALL:
            each = [self.broken(clock, PRECHARGE, i) for i, one in enumerate(self.banks) if one.row is not None]
            return sorted({rule for rules in each for rule in rules})
        before = self.slots[kind in (ACTIVATE, PRECHARGE)] if t.row_slots and kind != REFRESH else self.last
        rules = {"command bus": clock - before >= 1, "tRFC": clock - max(self.refreshed, b.refreshed) >= t.rfc}
        if kind == REFRESH_BANK:  # with slots of its own, and with the precharge of an open row before it
            rules["command bus"] = True
            rules["tRC"] = clock - b.activated >= t.rc
            rules["tRP"] = clock - b.precharged >= t.rp
            if b.row is not None:
                rules["precharge"] = not set(self.broken(clock - t.rp, PRECHARGE, bank)) - {"command bus", "tRTPL"}
        elif kind == ACTIVATE:
            rules["closed"] = b.row is None
            rules["tRC"] = clock - b.activated >= t.rc
            rules["tRP"] = clock - b.precharged >= t.rp
            rules["tRRD"] = not self.activates or clock - self.activates[-1] >= t.rrd
            rules["tFAW"] = len(self.activates) < 4 or clock - self.activates[0] >= t.faw
        elif kind == PRECHARGE:
            rules["open"] = b.row is not None
            rules["tRAS"] = clock - b.activated >= t.ras
            rules["tRTP"] = clock - b.read >= t.rtp
            rules["tRTPL"] = clock - self.reads[t.group(bank)] >= t.rtpl
            rules["tWR"] = clock - (b.written + t.wl + t.burst) >= t.wr
        elif kind == REFRESH:
            rules["all closed"] = all(one.row is None for one in self.banks)
            rules["tRP"] = all(clock - one.precharged >= t.rp for one in self.banks)
            rules["tRC"] = all(clock - one.activated >= t.rc for one in self.banks)
        else:
            rules["row"] = b.row == row
            rules["tRCD"] = clock - b.activated >= t.rcd
            rules["tCCD"] = clock - max(self.read, self.written) >= t.ccd
            rules["data bus"] = clock - (self.read if kind in (READ, READ_CLOSING) else self.written) >= t.burst
            rules["tCCDL"] = clock - self.columns[t.group(bank)] >= t.ccdl
            if kind in (READ, READ_CLOSING):
                rules["tWTR"] = clock - (self.written + t.wl + t.burst) >= t.wtr
            else:  # write data starts two clocks after the end of read data
                rules["tRTW"] = clock + t.wl >= self.read + t.cl + t.burst + 2
        return [name for name, kept in rules.items() if not kept]

    def apply(self, clock: int, kind: int, bank: int, row: int = -1) -> None:
        """The command is issued."""
        b = self.banks[bank]
        if kind == REFRESH_BANK:
            b.row, b.refreshed = None, clock
            return
        for slot in (False, True) if kind in (PRECHARGE_ALL, REFRESH) else (kind in (ACTIVATE, PRECHARGE),):
            self.slots[slot] = clock
        if kind == ACTIVATE:
            b.row, b.activated = row, clock
            self.activates.append(clock)
        elif kind == PRECHARGE:
            b.row, b.precharged = None, clock
        elif kind == PRECHARGE_ALL:
            for one in self.banks:
                if one.row is not None:
                    one.row, one.precharged = None, clock
        elif kind == REFRESH:
            self.refreshed = clock
        else:
            self.columns[self.t.group(bank)] = clock
            if kind in (READ, READ_CLOSING):
                self.read = b.read = self.reads[self.t.group(bank)] = clock
            else:
                self.written = b.written = clock
            if kind in CLOSING.values():
                while set(self.broken(clock, PRECHARGE, bank)) - {"command bus"}:
                    clock += 1
                b.row, b.precharged = None, clock


def check(
    t: Timing, requests: Sequence[Request], log: Iterable[tuple[int, int, int, int]], done: Sequence[int]
) -> None:
    """Raise AssertionError unless the commands (clock, kind, bank, row or request) serve the requests by the rules.

    Data bursts do not overlap; every request gets its bursts, of its kind, from its row, after its arrival, and is done
    with the last of them; refresh comes no later than one interval and one row cycle after it is due. That of a bank is
    looked for where the bank is used: no row stays open beyond the next interval.
    """
    history, left = History(t), [request.bursts for request in requests]
    bus_free, refreshes = NEVER, 0
    for clock, kind, bank, what in log:
        if kind in (*CLOSING, *CLOSING.values()):
            request = requests[what]
            assert (bank, kind in (WRITE, WRITE_CLOSING)) == (request.bank, request.write)
            assert clock >= request.arrival
            broken = history.broken(clock, kind, bank, request.row)
            start = clock + (t.wl if request.write else t.cl)
            assert start >= bus_free, f"data bursts overlap at {clock}"
            bus_free = start + t.burst
            left[what] -= 1
            if not left[what]:
                assert done[what] == bus_free
        else:
            broken = history.broken(clock, kind, bank)
            if kind == REFRESH:
                refreshes += 1
                assert clock >= refreshes * t.refi
            elif kind == ACTIVATE and t.single:
                last = history.banks[bank].refreshed
                assert clock - max(last, 0) <= t.refi + t.rfc + t.rc + t.rp, (
                    f"refresh of bank {bank} missing at {clock}"
                )
        assert not broken, f"command {kind} of bank {bank} at {clock} breaks {broken}"
        if t.refi and not t.single:
            assert clock <= (refreshes + 1) * t.refi + t.rc + t.rp + t.wl + t.burst + t.wr, (
                f"refresh missing at {clock}"
            )
        history.apply(clock, kind, bank, what)
    assert not any(left)


@dataclass
class Schedule:
    """What the reference scheduler did: commands as (clock, kind, bank), and row-buffer outcomes of the requests."""

    log: list[tuple[int, int, int]] = field(default_factory=list)
    hits: int = 0
    misses: int = 0
    conflicts: int = 0


def first_hit(mine: list[Request], row: int | None, clock: int, cap: int) -> Request:
    """First ready, first come first served: the oldest request to the open row, else the oldest."""
    return next((request for request in mine if request.row == row), mine[0])


def first_come(mine: list[Request], row: int | None, clock: int, cap: int) -> Request:
    """The oldest request."""
    return mine[0]


def capped_hit(mine: list[Request], row: int | None, clock: int, cap: int) -> Request:
    """The oldest request if it has waited for more than the cap, else as `first_hit`."""
    return mine[0] if clock - mine[0].arrival > cap else first_hit(mine, row, clock, cap)


POLICIES: dict[str, Callable[[list[Request], int | None, int, int], Request]] = {
    "fr_fcfs": first_hit,
    "fcfs": first_come,
    "fr_fcfs_cap": capped_hit,
}


def serve(
    t: Timing, requests: Sequence[Request], window: int, policy: str = "fr_fcfs", page: str = "open", cap: int = 0
) -> Schedule:
    """Serve the requests clock by clock, as csrc/memory/dram.h and dram_policy.h describe it.

    Under fcfs the window is one request long: it holds up all others until its bank is idle. With page "closed" the
    last access of a request closes the row unless the window has another request to it.
    """
    out, history = Schedule(), History(t)
    window = 1 if policy == "fcfs" else window
    fifo, queue = deque(range(len(requests))), []  # waiting; in the window, oldest first
    serving: dict[int, int] = {}  # bank -> request
    left = [request.bursts for request in requests]
    opened: dict[int, int] = {}  # bank -> row, as the scheduler sees it
    clock, first, due = 0, 0, None if t.single else t.refi or None
    bank_due = {bank: t.refi * bank // t.banks for bank in range(t.banks)} if t.single and t.refi else {}

    def take_up() -> bool:
        moved = False
        while fifo and len(queue) < window and requests[fifo[0]].arrival <= clock:
            queue.append(fifo.popleft())
            moved = True
        for bank in sorted({requests[i].bank for i in queue} - set(serving)):
            mine = [i for i in queue if requests[i].bank == bank]
            row = opened.get(bank)
            best = POLICIES[policy]([requests[i] for i in mine], row, clock, cap)
            chosen = next(i for i in mine if requests[i] is best)
            if row is None:
                out.misses += 1
            elif requests[chosen].row == row:
                out.hits += 1
            else:
                out.conflicts += 1
            serving[bank] = chosen
            queue.remove(chosen)
            moved = True
        return moved

    def issue(kind: int, bank: int, row: int = -1) -> None:
        out.log.append((clock, kind, bank))
        history.apply(clock, kind, bank, row)

    def refresh() -> int:
        """Clock after the refresh; nothing else issues meanwhile, and all rows count as closed from its start."""
        at = max(clock, history.last + 1)
        if opened:
            while history.broken(at, PRECHARGE_ALL, 0):
                at += 1
            out.log.append((at, PRECHARGE_ALL, 0))
            history.apply(at, PRECHARGE_ALL, 0)
            opened.clear()
        while history.broken(at, REFRESH, 0):
            at += 1
        out.log.append((at, REFRESH, 0))
        history.apply(at, REFRESH, 0)
        return at + 1

    def refresh_banks() -> None:
        """Of each bank that is due, unless its row is open for a request; its row is closed then, not before."""
        for bank in bank_due:
            while bank_due[bank] <= clock:
                if bank in serving and opened.get(bank) == requests[serving[bank]].row:
                    break
                at = bank_due[bank] + (t.rp if history.banks[bank].row is not None else 0)
                while history.broken(at, REFRESH_BANK, bank):
                    at += 1
                out.log.append((at, REFRESH_BANK, bank))
                history.apply(at, REFRESH_BANK, bank)
                opened.pop(bank, None)
                bank_due[bank] += t.refi

    quiet = 0  # no command before this clock
    while fifo or queue or serving:
        if not queue and not serving and requests[fifo[0]].arrival > clock and (due is None or due > clock):
            clock = min(requests[fifo[0]].arrival, due or requests[fifo[0]].arrival)
        if due is not None and clock >= due:
            quiet, due = refresh(), due + t.refi
        refresh_banks()
        while take_up():
            pass
        for bank in sorted(serving, key=lambda b: (b - first) % t.banks) if clock >= quiet else ():
            request = requests[serving[bank]]
            if opened.get(bank) == request.row:
                kind = WRITE if request.write else READ
            else:
                kind = ACTIVATE if bank not in opened else PRECHARGE
            if history.broken(clock, kind, bank, request.row):
                continue
            wanted = any((requests[i].bank, requests[i].row) == (bank, request.row) for i in queue)
            if kind in CLOSING and page == "closed" and left[serving[bank]] == 1 and not wanted:
                kind = CLOSING[kind]
            issue(kind, bank, request.row)
            if kind == ACTIVATE:
                opened[bank] = request.row
            elif kind == PRECHARGE:
                del opened[bank]
            else:
                if kind in CLOSING.values():
                    del opened[bank]
                left[serving[bank]] -= 1
                if not left[serving[bank]]:
                    del serving[bank]
            if kind in (ACTIVATE, PRECHARGE):
                first = (bank + 1) % t.banks
            break
        clock += 1
    return out
