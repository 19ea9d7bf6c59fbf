"""Operations on 64 bits give what their definition gives, for edge values and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import _core, errors
from tests.reference.wide import SETP_WIDE, WIDE

from .assembler import TID_X, Assembler

THREADS = 256
FLOATS = [0.0, 1.0, 1.5, 0.1, 2.0**-1074, 2.0**-1022, 2.0**-540, 1e308, np.inf, np.nan, 2.0**52, 2.0**53, 0.5, 2.5]
FLOATS += [2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**31 - 0.5, 2.0**63 - 1024, 65519.99, 65520.0, 2.0**-24, 2.0**-25]
FLOATS += [2.0**-14, 6.1e-5, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**24 + 1, 3.4028235677973366e38, 2.0**-149, 2.0**-150]
WHOLE = [0, 1, 2, 31, 32, 33, 63, 64, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
WHOLE += [2**24 + 1, 2**40 + 2**16, 2**63 + 2**39, 2**63 + 2**10, 2**54 + 2, 0x3C00, 0x7C00, 0x7E00, 0x03FF, 0x8001]


def edges() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Bits that are special as integers, as doubles, or as floats in the low word."""
    floats = np.array(FLOATS)
    with np.errstate(all="ignore"):
        singles = np.concatenate([floats, -floats]).astype(np.float32).view(np.uint32).astype(np.uint64)
    return np.concatenate([np.array(WHOLE, np.uint64), floats.view(np.uint64), (-floats).view(np.uint64), singles])


def operands(rng: np.random.Generator, count: int) -> list[np.ndarray[Any, Any]]:
    """Three vectors: special bits, random bits, doubles of like size, sums that nearly cancel."""
    special = edges()
    a, b, c = (rng.choice(special, count) for _ in range(3))
    noise = rng.integers(0, 2**64, (3, count), dtype=np.uint64)
    near = (rng.standard_normal((2, count)) * 2.0 ** rng.integers(-60, 60, (2, count))).astype(np.float64)
    tiny = near * 2.0 ** rng.choice([-1000.0, -500.0, -480.0, 0.0, 480.0], (2, count))
    kind = rng.integers(0, 4, count)
    with np.errstate(all="ignore"):
        against = -(tiny[0] * tiny[1]) * (1 + rng.integers(-3, 4, count) * 2.0 ** -rng.integers(40, 54, count))
    a = np.choose(kind, [a, noise[0], tiny[0].view(np.uint64), tiny[0].view(np.uint64)])
    b = np.choose(kind, [b, noise[1], tiny[1].view(np.uint64), tiny[1].view(np.uint64)])
    c = np.choose(kind, [c, noise[2], near[0].view(np.uint64), against.view(np.uint64)])
    shift = rng.integers(0, 80, count).astype(np.uint64)
    return [a, np.where(rng.random(count) < 0.1, shift, b), c]


def words(values: list[np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """The words by operand field."""
    low = {name: (v & np.uint64(0xFFFFFFFF)).astype(np.uint32) for name, v in zip("abc", values, strict=True)}
    return low | {f"{n}h": (v >> np.uint64(32)).astype(np.uint32) for n, v in zip("abc", values, strict=True)}


def execute(op: str, given: dict[str, np.ndarray[Any, Any]], gpu: str = "GTX285") -> tuple[np.ndarray[Any, Any], ...]:
    """Both result registers, for each thread, of an operation that half of the lanes skip in the last warp."""
    fields = _core.OPS[op][3].split(",")
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    sources = [field for field in fields if field[0] in "abc"]
    buffers = [given[field] for field in sources]
    outs = [np.zeros(THREADS, np.uint32) for _ in range(2)]
    for i in range(len(sources)):
        a("ld.global", d=2 + i, a=0, imm=0x1000 + 4 * THREADS * i, width=4, aux=i)
    registers = {field: 2 + i for i, field in enumerate(sources)}
    if op in SETP_WIDE:
        a(op, d=0, **registers)
        a("selp.b32", d=10, a=a.imm(1), b=a.imm(0), q=0)
        a("mov.b32", d=11, a=a.imm(0))
    else:
        a("mov.b32", d=11, a=a.imm(0))
        a(op, d=10, **({"dh": 11} if "dh" in fields else {}), **registers)
    for i in range(2):
        at = len(sources) + i
        a("st.global", d=10 + i, a=0, imm=0x1000 + 4 * THREADS * at, width=4, aux=at)
    a("exit")
    a.run(gpu, block=(THREADS, 1, 1), buffers=(*buffers, *outs))
    return tuple(outs)


@pytest.mark.parametrize("op", [*WIDE, *SETP_WIDE])
def test_values(op: str) -> None:
    rng = np.random.default_rng(sum(map(ord, op)))
    for _ in range(8):
        given = words(operands(rng, THREADS))
        if op.startswith(("div.s", "div.u", "rem")):
            given["b"] |= np.uint32(given["bh"] == 0)
        sources = [given[field] for field in _core.OPS[op][3].split(",") if field[0] in "abc"]
        found = execute(op, given)
        wanted = WIDE[op](*sources) if op in WIDE else (SETP_WIDE[op](*sources).astype(np.uint32),)
        for got, expected in zip(found, wanted, strict=False):
            wrong = np.flatnonzero(got != expected)
            assert not len(wrong), [hex(int(s[wrong[0]])) for s in sources] + [
                hex(got[wrong[0]]),
                hex(expected[wrong[0]]),
            ]


def test_the_table_and_the_definitions_name_the_same_operations() -> None:
    wide = {op for op, row in _core.OPS.items() if "h" in row[3] and "atom" not in row[1]} | {
        "cvt.rn.f16.f32",
        "cvt.f32.f16",
    }
    assert wide == {*WIDE, *SETP_WIDE}


@pytest.mark.parametrize("op", ["div.s64", "div.u64", "rem.s64", "rem.u64"])
def test_division_by_zero_needs_both_words_to_be_zero(op: str) -> None:
    given = {name: np.ones(THREADS, np.uint32) for name in ("a", "ah", "bh")} | {"b": np.zeros(THREADS, np.uint32)}
    execute(op, given)
    a = Assembler()
    a("mov.b32", d=0, a=a.imm(0))
    a(op, d=1, dh=2, a=0, ah=0, b=0, bh=0)
    a("exit")
    with pytest.raises(errors.KernelZeroDivisionError):
        a.run(block=(32, 1, 1))


def test_lanes_that_a_guard_stops_keep_both_words() -> None:
    a = Assembler()
    out = np.zeros(64, np.uint32)
    a("setp.lt.s32", d=0, a=TID_X, b=a.imm(7))
    a("mov.b32", d=1, a=a.imm(5))
    a("mov.b32", d=2, a=a.imm(6))
    a("cvt.rn.f64.s32", d=1, dh=2, a=TID_X, guard=0)
    a("shl.b32", d=0, a=TID_X, b=a.imm(3))
    a("st.global", d=1, b=2, a=0, imm=0x1000, width=8, aux=0)
    a("exit")
    a.run(block=(32, 1, 1), buffers=(out,))
    assert out.view(np.float64)[:7].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert set(map(tuple, out.reshape(32, 2)[7:].tolist())) == {(5, 6)}


def test_both_words_of_a_result_need_registers_of_their_own() -> None:
    a = Assembler()
    a("add.f64", d=1, dh=1, a=0, ah=0, b=0, bh=0)
    a("exit")
    with pytest.raises(errors.LaunchError, match="both words"):
        a.run(block=(32, 1, 1))


def test_a_guard_stands_beside_eight_registers() -> None:
    a = Assembler()
    a("fma.rn.f64", d=1, dh=2, a=3, ah=4, b=5, bh=6, c=7, ch=8)
    a("fma.rn.f64", d=1, dh=2, a=3, ah=4, b=5, bh=6, c=1, ch=2, guard=0)
    a("exit")
    a.run(block=(32, 1, 1))
    a.rows[1] |= {"c": 7, "ch": 8}
    a.run(block=(32, 1, 1))


def test_a_reader_of_the_high_word_waits() -> None:
    def cycles(reader: int) -> int:
        a = Assembler()
        for _ in range(16):
            a("add.f64", d=0, dh=1, a=2, ah=3, b=2, bh=3)
            a("mov.b32", d=4, a=reader)
        a("exit")
        return int(a.run()["counters"]["cycles"])

    assert cycles(1) == cycles(0) > cycles(5)
