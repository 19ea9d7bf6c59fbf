"""Folding gives the bits of the definition; simplification never changes a bit."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from smmux.compiler.analysis.fold import _COMPARE, _FLOAT, _INTEGER, evaluate, simplify
from smmux.compiler.ir import Imm, Operand, Reg, Type
from tests.reference.alu import ALU, SETP, fma

SPECIAL = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    255,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x3F800000,
    0xBF800000,
    0x7F800000,
    0x40000000,
]
WORDS = st.one_of(st.sampled_from(SPECIAL), st.integers(0, 0xFFFFFFFF))
OPERANDS = 3


def definition(op: str, values: tuple[int, ...]) -> int:
    a, b, c = (np.array([v], np.uint32) for v in (*values, 0, 0, 0)[:OPERANDS])
    with np.errstate(all="ignore"):
        return int((ALU[op](a, b, c) if op in ALU else SETP[op](a, b))[0])


def arity(op: str) -> int:
    from smmux import _core

    return _core.OPS[op][3].count(",")


@given(WORDS, WORDS, WORDS)
def test_the_definition_of_fma_rounds_once(a: int, b: int, c: int) -> None:
    """Against exact fractions, which a float64 near the sum and NumPy's conversion bracket."""
    x, y, z = (np.array([v], np.uint32).view(np.float32) for v in (a, b, c))
    if not (np.isfinite(x) & np.isfinite(y) & np.isfinite(z)).all():
        return
    exact = Fraction(float(x[0])) * Fraction(float(y[0])) + Fraction(float(z[0]))
    with np.errstate(all="ignore"):
        got = fma(x.view(np.uint32), y.view(np.uint32), z.view(np.uint32)).view(np.float32)[0]
        near = [np.nextafter(got, np.float32(side) * np.float32(np.inf)) for side in (-1, 1)]
    if not np.isfinite([got, *near]).all():
        return
    assert all(abs(exact - Fraction(float(got))) <= abs(exact - Fraction(float(other))) for other in near)


FOLDED = [*_INTEGER, *_FLOAT, *SETP]


EXAMPLES = 100


def word(rng: Random) -> int:
    """Like `WORDS`: an operation's hundred examples take less than twenty of hypothesis."""
    return rng.choice(SPECIAL) if rng.random() < 0.5 else rng.getrandbits(32)


@pytest.mark.parametrize("op", FOLDED)
def test_folded_constants(op: str) -> None:
    rng = Random(op)
    for _ in range(EXAMPLES):
        used = tuple(word(rng) for _ in range(arity(op)))
        result = evaluate(op, used)
        if result is None:
            zero = op.startswith(("div", "rem")) and used[1] == 0
            assert zero or np.isnan(np.uint32(definition(op, used)).view(np.float32)), used
        else:
            assert result == definition(op, used), used


def test_every_comparison_is_folded() -> None:
    assert {op.split(".")[1] for op in SETP} == set(_COMPARE)


PURE = [op for op in ALU if not op.startswith(("sin", "cos", "ex2", "lg2", "rsqrt"))]


@pytest.mark.parametrize("op", [*PURE, *SETP])
def test_simplified_operations(op: str) -> None:
    """One source is a constant or both are one register: what comes back computes the same."""
    rng = Random(op)
    for _ in range(EXAMPLES):
        check_simplified(op, word(rng), word(rng), rng.choice((None, 0, 1)), rng.random() < 0.5)


def check_simplified(op: str, x: int, y: int, constant: int | None, same: bool) -> None:
    n = arity(op)
    regs: list[Operand] = [Reg(i, Type.S32) for i in range(OPERANDS)]
    values = [x, x if same else y, y]
    srcs = [regs[0], regs[0] if same else regs[1], regs[2]][:n]
    if constant is not None and constant < n:
        srcs[constant] = Imm(values[constant], Type.S32)
    table = dict(zip(regs, [x, values[1] if not same else x, y], strict=True))
    found = simplify(op, tuple(srcs), Type.S32, {})
    if found is None:
        return
    if op.startswith(("div", "rem")) and op.endswith("32") and "f32" not in op and values[1] == 0:
        return

    def read(operand: Operand) -> int:
        return operand.bits if isinstance(operand, Imm) else table[operand]

    wanted = definition(op, tuple(read(src) for src in srcs))
    got = definition(found[0], tuple(map(read, found[1]))) if isinstance(found, tuple) else read(found)
    if op.endswith("f32") and np.isnan(np.uint32(wanted).view(np.float32)):
        assert np.isnan(np.uint32(got).view(np.float32)), (x, y, constant, same)
    else:
        assert got == wanted, (x, y, constant, same)
