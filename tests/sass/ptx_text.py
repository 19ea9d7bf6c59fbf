"""Random programs as PTX: each statement of `tests.reference.ptx_lanes` as text, and the frame of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from tests.reference.ptx import width_of
from tests.reference.ptx_lanes import REGION, Access, Break, Chain, If, Loop, Op, Statement, Switch, Together

__all__ = ["COUNTS", "LANES", "SLOTS", "Program", "kernel_text", "module_text"]

LANES = 32
COUNTS = {"h": 4, "e": 3, "r": 8, "q": 5, "f": 5, "d": 4, "x": 3, "p": 4}
"""Registers of each letter that programs work on."""
SLOTS = {f"%{letter}{n}": slot for slot, (letter, n) in enumerate((k, n) for k, m in COUNTS.items() for n in range(m))}
"""Where they stand at the start and at the end: 8 bytes of each lane."""
UNIFORM = {"%r6": "a", "%r7": "b", "%q4": "c"}
"""Registers that begin with a parameter, alike in all lanes."""
TYPES = {"h": "b16", "e": "b16", "r": "b32", "q": "b64", "f": "f32", "d": "f64", "x": "b32", "p": "pred"}
STORED = {"h": "b16", "e": "b16", "r": "b32", "q": "b64", "f": "f32", "d": "f64", "x": "b32", "p": "u8"}
LIMITED = {
    "N": ("or", "b32", "%tr", 1),
    "M": ("or", "b64", "%tq", 1),
    "H": ("or", "b16", "%th", 1),
    "b": ("and", "b32", "%tr", 255),
    "w": ("and", "b32", "%tr", 1023),
}
"""By letters of sources, what the code does with their value first (see LIMITS of the definition)."""
BASES = {"global": "%own", "shared": "%near", "local": "%stack"}


@dataclass(frozen=True)
class Program:
    name: str
    arch: int
    statements: tuple[Statement, ...]

    @cached_property
    def registers(self) -> list[str]:
        """Those that it names, in the order of their slots."""
        named = set(re.findall(r"%\w\d", repr(self.statements)))
        return [name for name in SLOTS if name in named]

    @cached_property
    def spaces(self) -> list[str]:
        """The spaces of memory that it names."""
        named = repr(self.statements)
        return [space for space in BASES if f"space='{space}'" in named]


def literal(value: int, letter: str) -> str:
    if letter in "fk":
        return f"0f{value:08X}"
    if letter == "d":
        return f"0d{value:016X}"
    return f"{value:#x}"


class Writer:
    """Writes statements; labels and scratch registers are numbered through."""

    def __init__(self) -> None:
        self.numbers = count()
        self.ends: list[str] = []

    def all(self, statements: Sequence[Statement]) -> Iterator[str]:
        for statement in statements:
            yield from self.one(statement)

    def one(self, statement: Statement) -> Iterator[str]:
        match statement:
            case Op():
                yield from self.op(statement)
            case Chain():
                for op in statement.ops:
                    yield from self.op(op)
            case Access():
                yield from self.access(statement)
            case Together():
                yield from self.together(statement)
            case If():
                yield from self.branch(statement)
            case Switch():
                yield from self.switch(statement)
            case Loop():
                yield from self.loop(statement)
            case Break():
                yield f"{guard_text(statement.guard)}bra {self.ends[-1]};"

    def op(self, op: Op) -> Iterator[str]:
        words = [s if isinstance(s, str) else literal(s, c) for s, c in zip(op.sources, op.letters, strict=True)]
        for at, letter in enumerate(op.letters):
            if letter in LIMITED and op.sources[at] == words[at]:
                how, kind, kept, limit = LIMITED[letter]
                yield f"{how}.{kind} {kept}{at}, {words[at]}, {limit};"
                words[at] = f"{kept}{at}"
        yield f"{guard_text(op.guard)}{op.name} {op.target}, {', '.join(words)};"

    def access(self, access: Access) -> Iterator[str]:
        base, offset, space = BASES[access.space], access.offset, access.space
        wide = space != "shared" or access.generic
        if access.generic:
            base, space = base + "g", ""
        if access.index:
            yield f"and.b32 %tr1, {access.index}, 3;"
            if wide:
                yield f"mad.wide.u32 %tq1, %tr1, {access.stride}, {base};"
            else:
                yield f"mad.lo.u32 %tr1, %tr1, {access.stride}, {base};"
            base, offset = "%tq1" if wide else "%tr1", 0
        space = f".{space}" if space else ""
        names = list(access.registers)
        guard, place = guard_text(access.guard), f"[{base}+{offset}]"
        if access.what.startswith("atom"):
            _, op = access.what.split(".")
            yield f"{guard}atom{space}.{op}.{access.kind} {names[0]}, {place}, {', '.join(names[1:])};"
            return
        vector = f".v{len(names)}" if len(names) > 1 else ""
        if access.what == "st" and access.kind[0] == "f":  # of a NaN not its bits
            for n, name in enumerate(names):
                yield from clean(name, access.kind, f"%t{name[1]}{n}")
                names[n] = f"%t{name[1]}{n}"
        data = "{" + ", ".join(names) + "}" if vector else names[0]
        pair = f"{data}, {place}" if access.what == "ld" else f"{place}, {data}"
        yield f"{guard}{access.what}{space}{vector}.{access.kind} {pair};"

    def together(self, one: Together) -> Iterator[str]:
        words = [str(s) for s in one.sources]
        if one.name.startswith("exchange"):
            kind = one.name.split(".")[1]
            yield f"st.shared.{kind} [%place], {words[0]};"
            yield f"add.u32 %tr1, %lane, {words[1]}; and.b32 %tr1, %tr1, 31; mad.lo.u32 %tr1, %tr1, 8, %board;"
            yield f"bar.sync 0; ld.shared.{kind} {one.targets[0]}, [%tr1]; bar.sync 0;"
            return
        yield f"{one.name} {'|'.join(one.targets)}, {', '.join(words)}, 0xffffffff;"

    def branch(self, one: If) -> Iterator[str]:
        name, negated = one.guard
        other, end = self.label(), self.label()
        yield f"{guard_text((name, not negated))}bra {other};"
        yield from self.all(one.then)
        yield f"bra {end};"
        yield f"{other}:"
        yield from self.all(one.other)
        yield f"{end}:"

    def switch(self, one: Switch) -> Iterator[str]:
        cases, end, table = [self.label() for _ in one.cases], self.label(), self.label()
        yield f"{{ .reg .u32 %by; and.b32 %by, {one.by}, 3; {table}: .branchtargets {', '.join(cases)};"
        yield f"brx.idx %by, {table}; }}"
        for label, case in zip(cases, one.cases, strict=True):
            yield f"{label}:"
            yield from self.all(case)
            yield f"bra {end};"
        yield f"{end}:"

    def loop(self, one: Loop) -> Iterator[str]:
        start, end, number = self.label(), self.label(), next(self.numbers)
        yield f"rem.u32 %bound{number}, {one.bound}, {one.most}; mov.u32 %pass{number}, 0;"
        yield f"{start}: mov.u32 {one.counter}, %pass{number};"
        self.ends.append(end)
        yield from self.all(one.body)
        self.ends.pop()
        yield f"add.u32 %pass{number}, %pass{number}, 1; setp.le.u32 %tp0, %pass{number}, %bound{number};"
        yield f"@%tp0 bra {start};"
        yield f"{end}:"

    def label(self) -> str:
        return f"L{next(self.numbers)}"


def guard_text(guard: tuple[str, bool] | None) -> str:
    return f"@{'!' * guard[1]}{guard[0]} " if guard else ""


def clean(name: str, kind: str, target: str) -> Iterator[str]:
    """A copy in which a NaN is the one NaN."""
    nan = literal((1 << width_of(kind) - 1) - 1, name[1])
    yield f"setp.nan.{kind} %tp1, {name}, {name}; selp.{kind} {target}, {nan}, {name}, %tp1;"


def kernel_text(program: Program) -> str:
    """An entry: `in` holds what registers begin with, then room for what they end with, then the lanes' regions."""
    writer = Writer()
    body = list(writer.all(program.statements))
    numbers = max(next(writer.numbers), 1)
    name, block = program.name, LANES * 8
    lines = [f".visible .entry {name}(.param .u64 in, .param .u32 a, .param .u32 b, .param .u64 c)", "{"]
    lines += [f".reg .{TYPES[letter]} %{letter}<{most}>;" for letter, most in COUNTS.items()]
    lines += [f".reg .{TYPES[letter]} %t{letter}<4>;" for letter in "hrqfdp"]
    lines += [f".reg .b32 %pass<{numbers}>; .reg .b32 %bound<{numbers}>; .reg .b32 %lane, %near, %place, %board;"]
    lines += [".reg .b64 %base, %in, %own, %owng, %near64, %nearg, %stack, %stackg;"]
    lines += [f".shared .align 16 .b8 room[{REGION * LANES + block}]; .local .align 16 .b8 depot[{REGION}];"]
    lines += ["mov.u32 %lane, %tid.x; ld.param.u64 %base, [in]; cvta.to.global.u64 %base, %base;"]
    lines += ["mad.wide.u32 %in, %lane, 8, %base;"]
    lines += [f"add.u64 %own, %base, {2 * len(SLOTS) * block}; mad.wide.u32 %own, %lane, {REGION}, %own;"]
    lines += ["cvta.global.u64 %owng, %own; mov.u32 %near, room;"]
    lines += [f"add.u32 %board, %near, {REGION * LANES}; mad.lo.u32 %place, %lane, 8, %board;"]
    lines += [f"mad.lo.u32 %near, %lane, {REGION}, %near; cvt.u64.u32 %near64, %near; cvta.shared.u64 %nearg, %near64;"]
    lines += ["mov.u64 %stack, depot; cvta.local.u64 %stackg, %stack;"]
    lines += [line for slot in program.registers for line in started(slot, block)]
    for space in program.spaces:
        lines += ["ld.global.u64 %tq0, [%in]; ld.global.u64 %tq1, [%in+256];"]
        lines += [f"st.{space}.v2.u64 [{BASES[space]}+{at}], {{%tq0, %tq1}};" for at in range(0, REGION, 16)]
    lines += body
    lines += [line for slot in program.registers for line in ended(slot, block)]
    for number, space in enumerate(BASES):  # what is there in the end goes behind the lanes' regions
        for at in range(0, REGION if number and space in program.spaces else 0, 16):
            lines += [f"ld.{space}.v2.u64 {{%tq0, %tq1}}, [{BASES[space]}+{at}];"]
            lines += [f"st.global.v2.u64 [%own+{number * LANES * REGION + at}], {{%tq0, %tq1}};"]
    return "\n".join([*lines, "ret;", "}\n"])


def started(name: str, block: int) -> Iterator[str]:
    place = f"[%in+{SLOTS[name] * block}]"
    if name in UNIFORM:
        yield f"ld.param.{TYPES[name[1]]} {name}, [{UNIFORM[name]}];"
    elif name[1] == "p":
        yield f"ld.global.u8 %tr0, {place}; setp.ne.u32 {name}, %tr0, 0;"
    else:
        yield f"ld.global.{STORED[name[1]]} {name}, {place};"


def ended(name: str, block: int) -> Iterator[str]:
    place = f"[%in+{(len(SLOTS) + SLOTS[name]) * block}]"
    if name[1] == "p":
        yield f"selp.u32 %tr0, 1, 0, {name}; st.global.u32 {place}, %tr0;"
    else:
        yield f"st.global.{STORED[name[1]]} {place}, {name};"


def module_text(programs: Sequence[Program]) -> str:
    arch = programs[0].arch
    head = f".version 7.8\n.target sm_{arch}\n.address_size 64\n"
    return head + "".join(kernel_text(program) for program in programs)
