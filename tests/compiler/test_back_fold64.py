"""Folding of operations on 64 bits gives the bits of the definition; simplification never changes a bit."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from smmux import _core
from smmux.compiler.analysis.fold import simplify
from smmux.compiler.analysis.fold64 import RESULT, TABLE, evaluate_wide, simplify_wide
from smmux.compiler.ir import Imm, Instr, Operand, Reg, Type
from tests.reference.alu import ALU, SETP
from tests.reference.wide import SETP_WIDE, WIDE

SPECIAL = [0, 1, 2, 31, 32, 33, 63, 64, 100, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 64) - 1, 1 << 63, 3, 10, 1 << 40]
SPECIAL += [int(np.float64(x).view(np.uint64)) for x in (1.0, -0.0, 0.5, -2.0, 0.1, 1e308, np.inf, np.nan, 5e-324)]
EXTENSIONS = ("none", "sign", "zero")
CONSTANT = ("", "a", "b", "al", "bl", "bh")


def value(rng: Random) -> int:
    """Hypothesis takes longer for twenty examples of an operation than these take for hundreds."""
    return rng.choice((rng.choice(SPECIAL), rng.getrandbits(64), rng.randint(-9, 9) % 2**64))


def definition(op: str, words: list[int]) -> tuple[int, ...]:
    sources = [np.array([word], np.uint32) for word in words]
    with np.errstate(all="ignore"):
        if op in WIDE:
            return tuple(int(word[0]) for word in WIDE[op](*sources))
        if op in SETP_WIDE:
            return (int(SETP_WIDE[op](*sources)[0]),)
        sources += [np.zeros(1, np.uint32)] * (3 - len(sources))
        return (int((ALU[op](*sources) if op in ALU else SETP[op](*sources[:2]))[0]),)


def fields(op: str) -> list[str]:
    return [field for field in _core.OPS[op][3].split(",") if field[0] in "abc"]


def divides_by_zero(op: str, words: list[int]) -> bool:
    return op.startswith(("div.s", "div.u", "rem.")) and not any(words[2:])


def is_nan(op: str, words: tuple[int, ...]) -> bool:
    bits = sum(word << 32 * i for i, word in enumerate(words))
    kind = op.split(".")[-2] if op.startswith("cvt") else op.split(".")[-1]
    types = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}
    return kind in types and not op.startswith("setp") and bool(np.isnan(types[kind][0](bits).view(types[kind][1])))


def source_words(op: str, values: tuple[int, int]) -> list[int]:
    return [values["ab".index(f[0])] >> (32 * (len(f) - 1)) & 0xFFFFFFFF for f in fields(op)]


FOLDED = sorted(TABLE)


def test_what_is_not_folded() -> None:
    """Multiply-adds appear behind the last folding; minimum and maximum are rare."""
    assert {*WIDE, *SETP_WIDE} - set(TABLE) == {"fma.rn.f64", "min.f64", "max.f64"}


@pytest.mark.parametrize("op", FOLDED)
def test_folded_constants(op: str) -> None:
    rng = Random(op)
    for _ in range(100):
        words = source_words(op, (value(rng), value(rng)))
        found, wanted = evaluate_wide(op, tuple(words)), definition(op, words)
        if found is None:
            assert divides_by_zero(op, words) or is_nan(op, wanted), words
        else:
            assert found == wanted, words


@pytest.mark.parametrize("op", FOLDED)
def test_simplified_operations(op: str) -> None:
    """Sources are constants in part, extended from 32 bits or one and the same: what comes back computes the same."""
    rng = Random(op)
    for _ in range(150):
        extended = rng.choice(EXTENSIONS), rng.choice(EXTENSIONS)
        check_simplified(op, (value(rng), value(rng)), rng.choice(CONSTANT), extended, rng.random() < 0.5)


def check_simplified(op: str, values: tuple[int, int], constant: str, extended: tuple[str, str], same: bool) -> None:
    case = values, constant, extended, same
    values = (values[0], values[0]) if same else values
    values = tuple(_extend(v, how) for v, how in zip(values, extended, strict=True))  # type: ignore[assignment]
    words, names = source_words(op, values), fields(op)
    table: dict[Reg, int] = {}
    defs: dict[Reg, Instr] = {}
    srcs: list[Operand] = []
    for name, word in zip(names, words, strict=True):
        which, high = name[0], len(name) - 1
        known = constant and constant[0] == which and constant[1:] in ("", "h" if high else "l")
        if known or (high and extended["ab".index(which)] == "zero"):
            srcs.append(Imm(word, Type.U32))
            continue
        reg = Reg(2 * ord("a" if same and extended[0] == extended[1] else which) + high, Type.U32)
        reg = next((r for r in table if r.id == reg.id), reg)
        table[reg] = word
        srcs.append(reg)
        if high and extended["ab".index(which)] == "sign":
            defs[reg] = Instr("shr.s32", (reg,), (srcs[-2], Imm(31, Type.U32)))
    if divides_by_zero(op, words):
        return
    wide = "dh" in _core.OPS[op][3].split(",")
    found = simplify_wide(op, tuple(srcs), defs) if wide else simplify(op, tuple(srcs), Type.U32, defs)
    if found is None:
        return

    def read(operand: Operand) -> int:
        return operand.bits if isinstance(operand, Imm) else table[operand]  # type: ignore[index]

    def computed(part: object) -> tuple[int, ...]:
        return definition(part[0], [read(s) for s in part[1]]) if isinstance(part, tuple) else (read(part),)  # type: ignore[arg-type]

    if wide and isinstance(found, tuple) and not isinstance(found[0], str):
        low = computed(found[0])
        table[RESULT] = low[0]
        got = low + computed(found[1])
    else:
        got = computed(found)
    wanted = definition(op, words)
    assert got == wanted or (is_nan(op, wanted) and is_nan(op, got)), case


def _extend(value: int, how: str) -> int:
    low = value & 0xFFFFFFFF
    return {"none": value, "zero": low, "sign": low | ((1 << 64) - (1 << 32) if low >> 31 else 0)}[how]
