"""Damaged programs: rows of compiled code with random bits, and texts of instructions with random words, give an error
of ours or a result. Run with a core that has the sanitizers, they show that no bits are out of the core's bounds."""

from __future__ import annotations

import copy
import dataclasses
import random
import re
import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import _core, gpus
from smmux.compiler.instruction import Instruction
from smmux.compiler.program import GUARD_NOT
from smmux.compiler.sass.listing import parse_instruction
from smmux.compiler.sass.lowering.kernel import _lower
from smmux.compiler.sass.lowering.rows import Layout, Refused, Rows
from smmux.running.compiled import program_of
from smmux.running.launch import run
from smmux.running.prepared import Prepared
from tests.sass.programs import PROGRAMS, Program
from tests.sass.single import instruction
from tests.sass.test_programs import built

CYCLES = 4000
OLD = gpus.get("K20c")
"""A small one: most of the time goes into setting a machine up."""
OBEDIENT = gpus.get("H100").replace(
    name="obedient", sm_count=2, sms_per_tpc=1, gpc_tpcs=0, gpc_sides=0, partitions=4, partition_hash=1,
    l2_bytes=1 << 20, l2_ways=16, launch_start=1, dispatch_chip=0,
)  # fmt: skip
"""A small one that obeys control bits, so that these are damaged to some effect too."""
EDGES = (0, 1, 7, 15, 31, 32, 63, 0x7F, 0x7FFE, 0x7FFF, 0x8000, 0xFFFF, -1, 0x7FFFFFFF, -0x80000000)
WORD = re.compile(r"0x[0-9a-f]+|\.[A-Z0-9_]+|U?[RPB]\d+|\d+")


@cache
def plain(program: Program, arch: int) -> Any:
    kernel = built(program.file, arch, "optimised")[program.name]
    return program_of(kernel.cubin, kernel.mangled, program.dynamic, OLD)


@cache
def given(program: Program) -> Any:
    return program.make(np.random.default_rng(30)).args


def attempt(program: Program, code: Any, arch: int, machine: gpus.Gpu = OLD) -> str:
    """Run a program with other code; returns what became of it."""
    made = dataclasses.replace(plain(program, arch), code=code)
    args = copy.deepcopy(given(program))
    options = {"max_cycles": CYCLES, "host_threads": 1}
    try:
        run(made, Prepared.of(machine, program.grid, program.block, args), options)
    except smmux.Error as error:
        return type(error).__name__
    except ValueError:  # the core's word for a program that no compiler of ours makes
        return "rejected"
    return "ran"


def damage_row(code: Any, chance: random.Random) -> None:
    """Change one field of one row, of every fifth program the operation too."""
    row = code[chance.randrange(len(code))]
    for _ in range(chance.choice((1, 1, 2, 6))):
        name = chance.choice(code.dtype.names)
        kind = code.dtype[name]
        info = np.iinfo(kind)
        value = chance.choice(
            (int(row[name]) ^ 1 << chance.randrange(info.bits), chance.choice(EDGES), chance.randrange(64))
        )
        row[name] = np.array(value & (1 << info.bits) - 1, f"u{info.bits // 8}").astype(kind)


def damaged_rows(program: Program, arch: int, chance: random.Random) -> str:
    code = plain(program, arch).code.copy()
    for _ in range(chance.choice((1, 1, 3))):
        damage_row(code, chance)
    return attempt(program, code, arch, chance.choice((OLD, OBEDIENT)))


@cache
def words(program: Program, arch: int) -> Sequence[str]:
    """Words that stand in the instructions of a program."""
    texts = built(program.file, arch, "optimised")[program.name].instructions
    return sorted({word for one in texts for word in WORD.findall(one.text)})


def damaged_text(one: Instruction, choice: Sequence[str], chance: random.Random) -> Instruction:
    """An instruction with another word of its program in it, and other bits in its encoding."""
    spans = [match.span() for match in WORD.finditer(one.text)]
    text = one.text
    if spans:
        start, end = chance.choice(spans)
        text = text[:start] + chance.choice([*choice, ""]) + text[end:]
    encoding = tuple(word ^ 1 << chance.randrange(64) if chance.random() < 0.3 else word for word in one.encoding)
    guard, first, modifiers, operands = parse_instruction(text)
    made = {"guard": guard, "opcode": first, "modifiers": modifiers, "operands": operands, "text": text}
    return dataclasses.replace(one, encoding=encoding, **made)


def damaged_listing(program: Program, arch: int, chance: random.Random) -> str:
    kernel = built(program.file, arch, "optimised")[program.name]
    whole = plain(program, arch)
    layout = Layout(whole.nregs, whole.uniform_regs, dict.fromkeys(range(5), 0), 63)
    at = chance.randrange(len(whole.code))
    rows = Rows(layout)
    try:
        one = damaged_text(kernel.instructions[at], words(program, arch), chance)
    except ValueError:  # which a reader of listings turns into a ConfigError
        return "unread"
    try:
        _lower(rows, one)
    except Refused:
        return "refused"
    if rows.uniforms or len(rows.code) != 1:
        return "lowered"  # constants would have to be those of the whole program
    code = whole.code.copy()
    code[at] = np.array(rows.code, code.dtype)[0]
    return attempt(program, code, arch, chance.choice((OLD, OBEDIENT)))


@cache
def sound() -> Sequence[tuple[Program, int]]:
    """The programs that are damaged, with their architectures. All are built when they are first asked for."""
    found = []
    for program in PROGRAMS.values():
        for arch in (75, 90):
            if program.refused or program.name == "structures" or arch < program.least:
                continue
            try:
                plain(program, arch)
            except smmux.CompileError:
                continue
            found.append((program, arch))
    return found


def campaign(count: int, seed: int) -> dict[str, int]:
    """What became of so many damaged programs."""
    chance = random.Random(seed)
    found: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = 0
        while done < count:
            program, arch = chance.choice(sound())
            for way in (partial(damaged_rows, program, arch), partial(damaged_listing, program, arch)):
                for _ in range(5):
                    became = way(chance)
                    found[became] = found.get(became, 0) + 1
                    done += 1
    return found


def test_a_guard_of_no_predicate_is_rejected() -> None:
    program = PROGRAMS["sha256"]
    code = plain(program, 90).code.copy()
    code["guard"] = GUARD_NOT
    assert attempt(program, code, 90) == "LaunchError"


def test_a_trap_that_the_program_has_not_is_an_error_of_ours() -> None:
    program, became = PROGRAMS["sha256"], set()
    for at in range(4, 30):  # somewhere a predicate holds
        code = plain(program, 90).code.copy()
        for name, value in {"op": _core.OPS["trap"][0], "guard": 0, "a": 0, "imm": 1 << 20}.items():
            code[name][at] = value
        became.add(attempt(program, code, 90))
    assert "KernelUnboundLocalError" in became


@pytest.mark.parametrize("text", ["S2R R0", "BMOV.32.CLEAR RZ", "LEPC", "CALL.REL.NOINC", "RET.REL.NODEC", "ULDC UR4"])
def test_an_operand_that_is_missing_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="too few"):
        _lower(Rows(Layout(8, 63, dict.fromkeys(range(5), 0), 63)), instruction(text))


@pytest.mark.slow
def test_damaged_programs_give_an_error_of_ours_or_a_result() -> None:
    found = campaign(4000, 30)
    assert found["ran"] > 400
    assert sum(found.values()) - found["ran"] > 400
