"""Definition of PTX programs with structure on the lanes of a warp: statements, run on lists of lanes that go together.

Registers are `%r3` and the like, a word of bits for each lane; the letter tells the width. Each lane has a small region
of its own in global, shared and local memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.reference.ptx import carried, evaluate, signed, width_of
from tests.reference.ptx_floats import FORMATS, is_nan

__all__ = [
    "REGION",
    "WIDTHS",
    "Access",
    "Break",
    "Chain",
    "If",
    "Lanes",
    "Loop",
    "Op",
    "Statement",
    "Switch",
    "Together",
]

WIDTHS = {"h": 16, "e": 16, "r": 32, "f": 32, "x": 32, "q": 64, "d": 64, "p": 1}
"""Bits of a register by its letter."""
LIMITS: dict[str, Callable[[int], int]] = {
    **dict.fromkeys("NMH", lambda value: value | 1),
    "b": lambda value: value & 0xFF,
    "w": lambda value: value & 0x3FF,
}
"""By letters of sources, what is made of their value first, since not all values have a meaning there."""
REGION = 64
"""Bytes of a lane in each space."""
Source = str | int
Lane = int


@dataclass(frozen=True)
class Op:
    """An instruction on registers. letters: of the sources (see `tests.sass.ptx_operations`). guard: a predicate, and
    whether it must not hold."""

    name: str
    target: str
    sources: tuple[Source, ...]
    letters: str
    guard: tuple[str, bool] | None = None


@dataclass(frozen=True)
class Chain:
    """Instructions one behind the other, with a carry between them."""

    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Access:
    """what: ld, st, or an atomic operation, as atom.add. registers: of a vector; of an atomic its target and sources.
    index: a register whose lowest bits count elements from offset 0 on; without one the offset stands in the code."""

    what: str
    space: str
    kind: str
    registers: tuple[str, ...]
    offset: int
    index: str = ""
    generic: bool = False
    guard: tuple[str, bool] | None = None

    @property
    def stride(self) -> int:
        """Bytes from an element or vector to the next."""
        return width_of(self.kind) // 8 * (1 if self.what.startswith("atom") else len(self.registers))


@dataclass(frozen=True)
class Together:
    """An instruction of all lanes of the warp: a shuffle, a vote, an exchange through shared memory."""

    name: str
    targets: tuple[str, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class If:
    guard: tuple[str, bool]
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]


@dataclass(frozen=True)
class Switch:
    """Cases by the lowest two bits of a register."""

    by: str
    cases: tuple[tuple[Statement, ...], ...]


@dataclass(frozen=True)
class Loop:
    """A body that runs once more than the lowest bits of `bound` say, at most `most` times; `counter`: a register that
    holds the pass at its start."""

    bound: str
    most: int
    counter: str
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Break:
    guard: tuple[str, bool]


Statement = Op | Chain | Access | Together | If | Switch | Loop | Break


@dataclass
class Lanes:
    """registers: of each the bits by lane. memory: of each space the regions of the lanes."""

    registers: dict[str, list[int]]
    memory: dict[str, list[bytearray]]
    steps: int = field(default=0)

    def run(self, statements: Sequence[Statement], lanes: list[Lane]) -> list[Lane]:
        """Run them on those lanes; gives the lanes that come to the end, and have not left a loop before."""
        for statement in statements:
            if not lanes:
                break
            self.steps += 1
            lanes = self._one(statement, lanes)
        return lanes

    def _one(self, statement: Statement, lanes: list[Lane]) -> list[Lane]:
        match statement:
            case Op() | Chain():
                ops = (statement,) if isinstance(statement, Op) else statement.ops
                for lane in lanes:
                    self._ops(ops, lane)
            case Access():
                for lane in self._where(statement.guard, lanes):
                    self._access(statement, lane)
            case Together():
                self._together(statement, lanes)
            case If():
                there = self._where(statement.guard, lanes)
                others = [lane for lane in lanes if lane not in there]
                return sorted(self.run(statement.then, there) + self.run(statement.other, others))
            case Switch():
                groups = [[lane for lane in lanes if self.value(statement.by, lane) & 3 == n] for n in range(4)]
                left: list[Lane] = []
                for case, group in zip(statement.cases, groups, strict=True):
                    left += self.run(case, group)
                return sorted(left)
            case Loop():
                self._loop(statement, lanes)
            case Break():
                gone = self._where(statement.guard, lanes)
                return [lane for lane in lanes if lane not in gone]
        return lanes

    def value(self, source: Source, lane: Lane) -> int:
        return source if isinstance(source, int) else self.registers[source][lane]

    def _where(self, guard: tuple[str, bool] | None, lanes: list[Lane]) -> list[Lane]:
        if guard is None:
            return lanes
        return [lane for lane in lanes if bool(self.value(guard[0], lane)) != guard[1]]

    def _ops(self, ops: Sequence[Op], lane: Lane) -> None:
        carry = 0
        for op in ops:
            given = [self.value(source, lane) for source in op.sources]
            given = [LIMITS.get(letter, int)(v) for v, letter in zip(given, op.letters, strict=True)]
            if not self._where(op.guard, [lane]):
                continue
            if len(ops) > 1:
                result, carry = carried(op.name, carry, *given)
            else:
                result = evaluate(op.name, *given)
            if op.name.startswith("cvt"):
                result = widened(op.name.split(".")[-2], result, op.target)
            self.registers[op.target][lane] = result

    def _loop(self, loop: Loop, lanes: list[Lane]) -> None:
        passes = {lane: self.value(loop.bound, lane) % loop.most + 1 for lane in lanes}
        number = 0
        while lanes:
            for lane in lanes:
                self.registers[loop.counter][lane] = number
            lanes = self.run(loop.body, lanes)
            number += 1
            lanes = [lane for lane in lanes if passes[lane] > number]

    def _access(self, access: Access, lane: Lane) -> None:
        region, size = self.memory[access.space][lane], width_of(access.kind) // 8
        at = access.offset
        if access.index:
            at = access.stride * (self.value(access.index, lane) & 3)
        if access.what.startswith("atom"):
            old = int.from_bytes(region[at : at + size], "little")
            target, *sources = access.registers
            new = atomic(access.what.split(".")[1], access.kind, old, *[self.value(s, lane) for s in sources])
            region[at : at + size] = new.to_bytes(size, "little")
            self.registers[target][lane] = old
            return
        for register in access.registers:
            if access.what == "ld":
                value = int.from_bytes(region[at : at + size], "little")
                self.registers[register][lane] = widened(access.kind, value, register)
            else:
                value = stored(access.kind, self.value(register, lane) & (1 << 8 * size) - 1)
                region[at : at + size] = value.to_bytes(size, "little")
            at += size

    def _together(self, one: Together, lanes: list[Lane]) -> None:
        given = [[self.value(source, lane) for lane in lanes] for source in one.sources]
        words = one.name.split(".")
        results = TOGETHER[words[0]](words, *given)
        for target, values in zip(one.targets, results, strict=False):
            self.registers[target][:] = values


def stored(kind: str, value: int) -> int:
    """What goes to memory: of a NaN not its bits, but those of the one NaN."""
    form = FORMATS[kind] if kind[0] == "f" else None
    return form.nan if form and is_nan(form, value) else value


def widened(kind: str, value: int, register: str) -> int:
    """What a wider register holds of a value: signed ones keep their sign."""
    wide = (1 << WIDTHS[register[1]]) - 1
    return signed(value, width_of(kind)) & wide if kind[0] == "s" else value


def atomic(name: str, kind: str, old: int, a: int, b: int = 0) -> int:
    """What is in memory afterwards."""
    cut = (1 << width_of(kind)) - 1
    a &= cut
    if name in ("add", "min", "max", "and", "or", "xor"):
        return evaluate(f"{name}.{kind}", old, a)
    return {
        "exch": a,
        "cas": b & cut if old == a else old,
        "inc": 0 if old >= a else old + 1,
        "dec": a if old == 0 or old > a else old - 1,
    }[name]


def shuffled(words: list[str], a: list[int], b: list[int], c: list[int]) -> tuple[list[int], list[int]]:
    """shfl: the other lanes' values, and whether there is such a lane."""
    values, found = [], []
    for lane in range(32):
        count, clamp, segments = b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31
        first = lane & segments
        last = first | clamp & ~segments
        at, inside = {
            "up": (lane - count, lane - count >= last),
            "down": (lane + count, lane + count <= last),
            "bfly": (lane ^ count, lane ^ count <= last),
            "idx": (first | count & ~segments, (first | count & ~segments) <= last),
        }[words[2]]
        values.append(a[at if inside else lane])
        found.append(int(inside))
    return values, found


def voted(words: list[str], p: list[int]) -> tuple[list[int], ...]:
    result = {
        "all": all(p),
        "any": any(p),
        "uni": len(set(p)) == 1,
        "ballot": sum(bit << lane for lane, bit in enumerate(p)),
    }[words[2]]
    return ([int(result)] * 32,)


def matched(words: list[str], a: list[int]) -> tuple[list[int], ...]:
    if words[1] == "all":
        same = int(len(set(a)) == 1)
        return [0xFFFFFFFF * same] * 32, [same] * 32
    return ([sum(1 << lane for lane, other in enumerate(a) if other == mine) for mine in a],)


def reduced(words: list[str], a: list[int]) -> tuple[list[int], ...]:
    total = a[0]
    for value in a[1:]:
        total = evaluate(f"{words[2]}.{words[3]}", total, value)
    return ([total] * 32,)


def exchanged(words: list[str], a: list[int], k: list[int]) -> tuple[list[int], ...]:
    """Through shared memory: from the lane that is k further."""
    return ([a[lane + k[lane] & 31] for lane in range(32)],)


TOGETHER: dict[str, Callable[..., tuple[list[int], ...]]] = {
    "shfl": shuffled,
    "vote": voted,
    "match": matched,
    "redux": reduced,
    "exchange": exchanged,
}
