"""Random PTX programs through ptxas, with and without optimisation: both leave what the definition says.

    python -m tests.sass.random_ptx --count 2000 --seed 1 [--arch 80] [--each 200] [--option=-O3]

Programs of a file are assembled together. A program that differs is named by seed and architecture, with the first
registers that are wrong, and with what is known of the assembler there (`ptx_known`); `--show` prints its PTX.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from smmux.modules.module import load
from tests.reference import ptx_floats as floats
from tests.reference.ptx_lanes import (
    REGION,
    WIDTHS,
    Access,
    Break,
    Chain,
    If,
    Lanes,
    Loop,
    Op,
    Statement,
    Switch,
    Together,
)
from tests.sass.ptx_known import known
from tests.sass.ptx_operations import CHAINS, Template, templates
from tests.sass.ptx_text import COUNTS, LANES, SLOTS, UNIFORM, Program, module_text

ARCHITECTURES = (75, 80, 86, 89, 90)
OPTIONS = ("-O0", "-O3")
FORMAT = {"e": "f16", "f": "f32", "d": "f64"}
SPECIAL = {"s": "r", "b": "r", "w": "r", "N": "r", "M": "q", "H": "h", "k": "f"}
"""The letter of the register that a special source may be."""
VECTORS = {1: ("u8", "s8", "u16", "s16", "u32", "s32", "b32", "u64", "s64", "b64", "f32", "f64"),
           2: ("u8", "u16", "s32", "b64", "f32", "f64"), 4: ("u8", "s16", "u32", "f32")}  # fmt: skip
ATOMICS = {"add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
           "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"),
           "cas": ("b32", "b64"), "inc": ("u32",), "dec": ("u32",)}  # fmt: skip


@cache
def choices(arch: int) -> tuple[list[Template], list[float]]:
    found = templates(arch)
    return found, [template.weight for template in found]


class Maker:
    """Makes the statements of a program."""

    def __init__(self, seed: int, arch: int) -> None:
        self.rng, self.arch = random.Random(f"{seed} {arch}"), arch

    def register(self, letter: str) -> str:
        return f"%{letter}{self.rng.randrange(COUNTS[letter])}"

    def distinct(self, letter: str, count: int) -> tuple[str, ...]:
        return tuple(f"%{letter}{n}" for n in self.rng.sample(range(COUNTS[letter]), count))

    def guard(self) -> tuple[str, bool]:
        return self.register("p"), self.rng.random() < 0.5

    def maybe_guard(self) -> tuple[str, bool] | None:
        return self.guard() if self.rng.random() < 0.1 else None

    def source(self, letter: str) -> str | int:
        rng = self.rng
        if letter == "L":
            return rng.randrange(256)
        if letter == "k":
            return number_of(rng, "f", nan=False)
        if letter in "NMH" and rng.random() < 0.3:
            return number_of(rng, SPECIAL[letter]) | 1
        if letter in "sbw" and rng.random() < 0.6:
            return rng.randrange(40 if letter == "b" else 72)
        own = SPECIAL.get(letter, letter)
        if own in "hrqfd" and letter == own and rng.random() < 0.15:
            return number_of(rng, own)
        return self.register(own)

    def op(self, template: Template | None = None) -> Op:
        if template is None:
            found, weights = choices(self.arch)
            template = self.rng.choices(found, weights)[0]
        sources = [self.source(letter) for letter in template.sources]
        if all(isinstance(source, int) for source in sources):  # the assembler refuses some of these
            at = next(at for at, letter in enumerate(template.sources) if letter != "k")  # a register may be a NaN
            letter = SPECIAL.get(template.sources[at], template.sources[at])
            sources[at] = self.register(letter)
        target = self.register(template.target)
        lost = template.name.startswith(("testp.", "set."))  # ptxas forgets or misplaces their guards
        guard = None if lost else self.maybe_guard()
        return Op(template.name, target, tuple(sources), template.sources, guard)

    def chain(self) -> Chain:
        letter, kind, names = self.rng.choice(CHAINS)
        middle = [names[1]] * self.rng.randrange(1, 3)
        ops = []
        for name in (names[0], *middle, *names[2:]):
            count = 3 if name.startswith("mad") else 2
            sources = tuple(self.register(letter) for _ in range(count))
            ops.append(Op(f"{name}.{kind}", self.register(letter), sources, letter * count))
        return Chain(tuple(ops))

    def access(self) -> Access:
        rng = self.rng
        space = rng.choice(("global", "shared", "local"))
        count = rng.choice((1, 1, 2, 4))
        kind = rng.choice(VECTORS[count])
        size = int(kind[1:]) // 8 * count
        letter = kind[0] if kind[0] == "f" else "q" if kind.endswith("64") else "r"
        letter = "d" if kind == "f64" else rng.choice("hr") if kind[1:] == "16" else letter
        index = self.register("r") if rng.random() < 0.4 and size <= 16 else ""
        offset = size * rng.randrange(REGION // size)
        what = rng.choice(("ld", "st"))
        registers = self.distinct(letter, count)
        return Access(what, space, kind, registers, offset, index, rng.random() < 0.3, self.maybe_guard())

    def atomic(self) -> Access:
        rng = self.rng
        name = rng.choice(list(ATOMICS))
        kind = rng.choice(ATOMICS[name])
        letter, size = ("q" if kind.endswith("64") else "r"), int(kind[1:]) // 8
        registers = tuple(self.register(letter) for _ in range(3 if name == "cas" else 2))
        index = self.register("r") if rng.random() < 0.3 else ""
        space, generic = rng.choice(("global", "shared")), rng.random() < 0.3
        offset = size * rng.randrange(REGION // size)
        return Access(f"atom.{name}", space, kind, registers, offset, index, generic, self.maybe_guard())

    def together(self) -> Together:
        rng, r, p = self.rng, self.register("r"), self.register("p")
        kind = rng.choice(("shfl", "shfl", "vote", "match", "exchange") + ("redux",) * (self.arch >= 80))
        if kind == "shfl":
            how = rng.choice(("up", "down", "bfly", "idx"))
            last: str | int = 0 if how == "up" else 31
            last = last | rng.choice((0, 0, 0x1000, 0x1800, 0x1E00)) if rng.random() < 0.8 else self.register("r")
            by = rng.randrange(32) if rng.random() < 0.6 else self.register("r")
            return Together(f"shfl.sync.{how}.b32", (r, p), (self.register("r"), by, last))
        if kind == "vote":
            how = rng.choice(("all.pred", "any.pred", "uni.pred", "ballot.b32"))
            return Together(f"vote.sync.{how}", (r if how == "ballot.b32" else p,), (self.register("p"),))
        if kind == "match":
            letter = rng.choice("rq")
            name, targets = rng.choice((("all", (r, p)), ("any", (r,))))
            return Together(f"match.{name}.sync.b{WIDTHS[letter]}", targets, (self.register(letter),))
        if kind == "redux":
            how = rng.choice(("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32"))
            return Together(f"redux.sync.{how}", (r,), (self.register("r"),))
        letter = rng.choice("rq")
        place = Together(f"exchange.b{WIDTHS[letter]}", (self.register(letter),), (self.register(letter), r))
        return place

    def some(self, depth: int, loops: int, most: int) -> tuple[Statement, ...]:
        return tuple(self.statement(depth, loops) for _ in range(self.rng.randint(1, most)))

    def statement(self, depth: int, loops: int) -> Statement:
        rng = self.rng
        drawn = rng.random()
        if drawn < 0.04:
            return self.chain()
        if drawn < 0.14:
            return self.access()
        if drawn < 0.17:
            return self.atomic()
        if depth < 3 and drawn < 0.24:
            return If(self.guard(), self.some(depth + 1, loops, 5), self.some(depth + 1, loops, 4))
        if depth < 3 and loops < 2 and drawn < 0.28:
            bound, counter = self.register("r"), self.register("r")
            return Loop(bound, rng.randint(1, 4), counter, self.some(depth + 1, loops + 1, 6))
        if depth < 2 and drawn < 0.295:
            return Switch(self.register("r"), tuple(self.some(depth + 1, loops, 2) for _ in range(4)))
        if loops and drawn < 0.31:
            return Break(self.guard())
        if depth == 0 and drawn < 0.37:
            return self.together()
        return self.op()


def program(seed: int, arch: int) -> Program:
    maker = Maker(seed, arch)
    length = maker.rng.randint(10, 45)
    return Program(f"k{seed}", arch, tuple(maker.statement(0, 0) for _ in range(length)))


def alone(arch: int) -> list[Program]:
    """A program for each instruction: it three times, on values of its own."""
    found = []
    for number, template in enumerate(templates(arch)):
        maker = Maker(number, arch)
        ops = tuple(replace(maker.op(template), target=f"%{template.target}{n}", guard=None) for n in range(3))
        found.append(Program(f"k{number}", arch, ops))
    return found


def number_of(rng: random.Random, letter: str, nan: bool = True) -> int:
    """Bits of a register: any, small ones, edges; of floats numbers of like size, subnormals, infinities, the NaN."""
    bits = WIDTHS[letter]
    if letter == "x":
        return number_of(rng, "e") | number_of(rng, "e") << 16
    if letter in FORMAT:
        form = floats.FORMATS[FORMAT[letter]]
        way = rng.random()
        if way < 0.25:
            found = rng.getrandbits(bits)
        elif way < 0.5:
            found = floats.from_integer(form, rng.randint(-300, 300), "n")
        elif way < 0.8:  # of like size
            found = floats.divide(form, floats.from_integer(form, rng.randint(-(1 << 24), 1 << 24), "n"),
                                  floats.from_integer(form, 1 << rng.randrange(16), "n"), "n")  # fmt: skip
        elif way < 0.9:
            found = rng.getrandbits(form.precision) | rng.getrandbits(1) << bits - 1
        else:
            edges = (0, form.infinity, form.one, form.infinity - 1, 1 << form.precision - 1, 1, form.nan)
            found = rng.choice(edges) | rng.getrandbits(1) << bits - 1
        if floats.is_nan(form, found):
            return form.nan if nan else form.one
        return found
    way = rng.random()
    if way < 0.4:
        return rng.getrandbits(bits)
    if way < 0.7:
        return rng.randint(-40, 40) & (1 << bits) - 1
    edge = 1 << rng.choice((8, 15, 16, 31, 32, 63, bits)) & (1 << bits) - 1
    return edge + rng.randint(-1, 1) & (1 << bits) - 1


def given(one: Program) -> dict[str, list[int]]:
    """What the registers of the lanes begin with."""
    rng = random.Random(f"{one.name} {one.arch} values")
    found = {}
    for name in SLOTS:
        values = [number_of(rng, name[1]) for _ in range(LANES)]
        found[name] = [values[0]] * LANES if name in UNIFORM else values
    return found


def plain(name: str, value: int) -> int:
    """Every NaN as one."""
    if name[1] == "x":
        return plain("%e", value & 0xFFFF) | plain("%e", value >> 16) << 16
    form = floats.FORMATS[FORMAT[name[1]]] if name[1] in FORMAT else None
    return form.nan if form and floats.is_nan(form, value) else value


def defined(one: Program, start: dict[str, list[int]]) -> Lanes:
    """What the definition makes."""
    filled = [b"".join(start[name][lane].to_bytes(8, "little") for name in list(SLOTS)[:2]) for lane in range(LANES)]
    memory = {space: [bytearray(piece * (REGION // 16)) for piece in filled] for space in ("global", "shared", "local")}
    lanes = Lanes({name: list(values) for name, values in start.items()}, memory)
    lanes.run(one.statements, list(range(LANES)))
    return lanes


def differences(one: Program, module: object, start: dict[str, list[int]], right: Lanes) -> list[str]:
    """Run it; what is not as defined."""
    block = LANES * 8
    regions = 2 * len(SLOTS) * block
    buffer = np.zeros(regions + 3 * LANES * REGION, np.uint8)
    slots = buffer[:regions].view(np.uint64).reshape(2, len(SLOTS), LANES)
    for name, slot in SLOTS.items():
        slots[0, slot] = start[name]
    args = [np.uint64(start[name][0]) if name[1] == "q" else np.uint32(start[name][0]) for name in UNIFORM]
    module[one.name].simulate(1, LANES, (buffer, *args))  # type: ignore[index]
    told = []
    for name in one.registers:
        slot = SLOTS[name]
        for lane in range(LANES):
            found, wanted = plain(name, int(slots[1, slot, lane])), plain(name, right.registers[name][lane])
            if found != wanted:
                told.append(f"{name} of lane {lane}: {found:#x}, not {wanted:#x}")
                break
    rooms = buffer[regions:].reshape(3, LANES, REGION)
    for space, room in zip(("global", "shared", "local"), rooms, strict=True):
        if space not in one.spaces:
            continue
        wanted = np.array([list(region) for region in right.memory[space]], np.uint8)
        for lane, at in np.argwhere(room != wanted)[:1]:
            told.append(f"byte {at} of {space} of lane {lane}: {room[lane, at]:#x}, not {wanted[lane, at]:#x}")
    return told


def check(programs: Sequence[Program], options: Sequence[str] = OPTIONS) -> list[str]:
    """Differences of programs for one architecture."""
    arch = programs[0].arch
    text, told = module_text(programs), []
    starts = [given(one) for one in programs]
    rights = [defined(one, start) for one, start in zip(programs, starts, strict=True)]
    for option in options:
        module = load(text, f"sm_{arch}", [option], language="ptx")
        for one, start, right in zip(programs, starts, rights, strict=True):
            try:
                wrong = differences(one, module, start, right)
            except Exception as error:
                wrong = [f"{type(error).__name__}: {error}"]
            if wrong:
                told.append(f"{one.name} sm_{arch} {option}: {'; '.join(wrong[:3])}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--arch", type=int, choices=ARCHITECTURES)
    parser.add_argument("--option", action="append", choices=OPTIONS, help="one of them alone")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if args.show:
        sys.stdout.write(module_text([program(args.seed, args.arch or 90)]))
        return
    wrong, explained = set(), set()
    for number, first in enumerate(range(args.seed, args.seed + args.count, args.each)):
        seeds = range(first, min(first + args.each, args.seed + args.count))
        arch = args.arch or ARCHITECTURES[number % len(ARCHITECTURES)]
        told = []
        for line in check([program(seed, arch) for seed in seeds], args.option or OPTIONS):
            name, _, option = line.split()[:3]
            reason = known(int(name[1:]), arch, option.rstrip(":"))
            (explained if reason else wrong).add(name)
            told.append(f"{line} (of ptxas: {reason})" if reason else line)
        sys.stdout.write("\n  ".join([f"{seeds[0]}..{seeds[-1]} sm_{arch}: {len(told)} differ", *told]) + "\n")
        sys.stdout.flush()
    own = len(explained - wrong)
    sys.stdout.write(f"{args.count} programs, {len(wrong)} differ, {own} only by what ptxas is known for\n")


if __name__ == "__main__":
    main()
