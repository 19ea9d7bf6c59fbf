"""An operation of the uniform datapath makes of a warp's numbers what its twin makes of a lane's, which a card made."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.sass.single import run_lanes
from tests.sass.test_integer_modes import FILE, forms
from tests.sass.vectors import card

TWINS = ("IADD3", "IMAD", "LEA", "LOP3", "SHF", "ISETP", "SEL", "PRMT", "SGXT", "BMSK", "POPC", "BREV", "FLO", "PLOP3")
CASES = 64
NUMBERS = (8, 9, 12, 13, 16, 17, 20, 21)


def uniform(text: str) -> str:
    """The text of the twin."""
    opcode, _, operands = text.partition(" ")
    return f"U{opcode} " + re.sub(r"\b([RP])(?=\d|Z|T)", r"U\1", operands)


def twins() -> list[str]:
    """The measured operations that have twins; not those on the signs of registers."""
    return [text for text in forms() if text.split(".")[0].split()[0] in TWINS and "SIGN" not in text]


@pytest.mark.parametrize("text", twins())
def test_a_uniform_operation_makes_what_its_twin_makes(text: str) -> None:
    cases = np.linspace(0, len(card(FILE)["inputs"]) - 1, CASES).astype(int)
    inputs, flags = card(FILE)["inputs"][cases], card(FILE)["predicates"][cases]
    given = {8 + 4 * s + part: inputs[:, s, part] for s in range(3) for part in range(2)}
    given |= {20: flags & 1, 21: flags >> 1 & 1}
    code = [f"R2UR UR{number}, R{number}" for number in NUMBERS]
    code += [f"UISETP.NE.AND UP{i}, UPT, UR{20 + i}, URZ, UPT" for i in range(2)]
    code += ["UMOV UR24, 0x7", "UMOV UR25, 0x9", uniform(text), "MOV R24, UR24", "MOV R25, UR25"]
    code += [f"PLOP3.LUT P{i}, PT, PT, PT, UP{i}, 0x80, 0x0" for i in range(2)]
    registers = {number: np.repeat(values.astype(np.uint32), 32) for number, values in given.items()}
    found, bits = run_lanes(code, registers, [24, 25])
    expected = np.repeat(card(FILE)[text][cases], 32, axis=0)
    np.testing.assert_array_equal(found.T, expected)
    np.testing.assert_array_equal(bits & 3, np.repeat(card(FILE)[f"{text} predicates"][cases] & 3, 32))


def test_uniform_predicates_are_saved_and_restored_as_a_byte() -> None:
    numbers = np.repeat(np.arange(0, 128, dtype=np.uint32), 32)
    code = ["R2UR UR8, R8", "UR2UP UPR, UR8, 0x7f", "UMOV UR9, 0xffffffff", "UP2UR UR9, UPR, UR9, 0x3f"]
    code += ["UR2UP UPR, URZ, 0x7f", "UP2UR.B1 UR10, UPR, URZ, 0x7f", "MOV R24, UR9", "MOV R25, UR10"]
    found, bits = run_lanes(code, {8: numbers}, [24, 25])
    np.testing.assert_array_equal(found[0], numbers & 0x3F | 0xFFFFFFC0)
    np.testing.assert_array_equal(found[1], 0)
    np.testing.assert_array_equal(bits, 0)


def test_a_uniform_operation_acts_when_only_some_lanes_are_active() -> None:
    lanes = np.arange(64, dtype=np.uint32)
    code = ["R2UR UR4, R8", "@P0 R2UR UR5, R8", "UIADD3 UR6, UR4, UR5, URZ", "MOV R24, UR6"]
    found, _ = run_lanes(code, {8: lanes * 10}, [24], {0: lanes % 32 >= 7})
    np.testing.assert_array_equal(found[0], np.where(lanes < 32, 70, 320 + 390))


def test_pairs_of_uniform_registers_are_added() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2**64, (2, 32), np.uint64)
    a[:2], b[:2] = 2**64 - 1, (1, 2**32 - 1)
    words = {8: a, 9: a >> np.uint64(32), 10: b, 11: b >> np.uint64(32)}
    registers = {k: np.repeat((v & np.uint64(0xFFFFFFFF)).astype(np.uint32), 32) for k, v in words.items()}
    code = [f"R2UR UR{number}, R{number}" for number in words]
    code += ["UIADD3.64 UR12, UR8, UR10, URZ", "MOV R24, UR12", "MOV R25, UR13"]
    found, _ = run_lanes(code, registers, [24, 25])
    total = np.repeat(a + b, 32)
    np.testing.assert_array_equal(found[0] | found[1].astype(np.uint64) << np.uint64(32), total)
