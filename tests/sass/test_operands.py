"""Texts of instructions as data, without any tool: fields by hand, and all forms of a corpus written back."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from smmux.compiler.instruction import Guard, Instruction, Operand
from smmux.compiler.sass.listing import control_of, parse_instruction
from smmux.compiler.sass.operands import parse_operand, split_operands
from tests.sass.written import instruction_text

FORMS = (Path(__file__).parent / "forms.txt").read_text().splitlines()
"""A text of each form and shape of operands that the kernels of this folder have on sm_75 to sm_90."""


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("R12", {"kind": "R", "number": 12}),
        ("RZ", {"kind": "R", "number": 255}),
        ("-R4.reuse", {"kind": "R", "number": 4, "negated": True, "reuse": True}),
        ("|R10|.reuse", {"kind": "R", "number": 10, "absolute": True, "reuse": True}),
        ("-|R10|", {"kind": "R", "number": 10, "absolute": True, "negated": True}),
        ("~R3", {"kind": "R", "number": 3, "inverted": True}),
        ("R4.H0_H0", {"kind": "R", "number": 4, "select": "H0_H0"}),
        ("-R4.H1_H1.reuse", {"kind": "R", "number": 4, "select": "H1_H1", "reuse": True, "negated": True}),
        ("R6.ROW", {"kind": "R", "number": 6, "select": "ROW"}),
        ("URZ", {"kind": "UR", "number": 63}),
        ("UR36", {"kind": "UR", "number": 36}),
        ("!PT", {"kind": "P", "number": 7, "inverted": True}),
        ("UPT", {"kind": "UP", "number": 7}),
        ("P5", {"kind": "P", "number": 5}),
        ("B6", {"kind": "B", "number": 6}),
        ("SB0", {"kind": "SB", "number": 0}),
        ("gsb0", {"kind": "SB", "number": 0}),
        ("{4,3,1}", {"kind": "SB", "value": 0b11010}),
        ("PR", {"kind": "pr"}),
        ("SR_TID.X", {"kind": "special"}),
        ("SRZ", {"kind": "special"}),
        ("ARRAY_2D", {"kind": "special"}),
        ("0xffffffd0", {"kind": "imm", "value": 0xFFFFFFD0}),
        ("-0x5a0", {"kind": "imm", "value": -0x5A0}),
        ("1", {"kind": "imm", "value": 1.0}),
        ("-1.5e-05", {"kind": "imm", "value": -1.5e-05}),
        ("+INF", {"kind": "imm", "value": math.inf}),
        ("-INF", {"kind": "imm", "value": -math.inf}),
        ("c[0x0][0x28]", {"kind": "const", "bank": 0, "offset": 0x28}),
        ("-c[0x3][R0.X4+0x18]", {"kind": "const", "bank": 3, "register": 0, "offset": 0x18, "negated": True}),
        ("c[0x0][UR4+0x210]", {"kind": "const", "uniform": 4, "offset": 0x210}),
        ("|c[0x0][0x160]|", {"kind": "const", "offset": 0x160, "absolute": True}),
        ("c[0x0][RZ]", {"kind": "const", "register": 255, "offset": 0}),
        ("cx[UR5][0x10]", {"kind": "cx", "descriptor": 5, "offset": 0x10}),
        ("[R2]", {"kind": "address", "base": 2, "offset": 0}),
        ("[R2+-0x10]", {"kind": "address", "base": 2, "offset": -0x10}),
        ("[R2.64+0x8]", {"kind": "address", "base": 2, "select": "64", "offset": 8}),
        ("[R2.X4+UR6+0x8]", {"kind": "address", "base": 2, "select": "X4", "uniform": 6, "offset": 8}),
        ("[R2.U32+UR6]", {"kind": "address", "base": 2, "select": "U32", "uniform": 6}),
        ("[UR4+0x20]", {"kind": "address", "base": None, "uniform": 4, "offset": 0x20}),
        ("[0x40]", {"kind": "address", "base": None, "offset": 0x40}),
        ("desc[UR36][R2.64+0x28]", {"kind": "address", "descriptor": 36, "base": 2, "select": "64", "offset": 40}),
        ("gdesc[UR8]", {"kind": "gdesc", "number": 8}),
    ],
)
def test_fields(text: str, fields: dict[str, object]) -> None:
    operand = parse_operand(text)
    assert {name: getattr(operand, name) for name in fields} == fields
    assert operand.text == text


def test_what_is_not_a_number_is_one() -> None:
    assert math.isnan(float(parse_operand("+QNAN").value or 0))
    assert math.copysign(1, float(parse_operand("-QNAN").value or 0)) == -1


def test_the_uniform_register_that_is_zero_has_another_number_from_sm_100_on() -> None:
    assert parse_operand("URZ", 255).number == 255
    assert parse_operand("desc[URZ][R2.64]", 255).descriptor == 255


@pytest.mark.parametrize(
    "text",
    ["R256", "UR64x", "P8", "B16", "", "R2+R4", "[R2+R4]", "[R2+UR4+UR5]", "[R2", "[]", "c[0x0]", "c[0x0][]", "c[0][0]",
     "LDG.???0", "[R2-0x10]", "?", "R2 R4", "desc[R2][R4.64]", "|", "-", "R", "0x", "{1", "SR", "R2..reuse",
     "`(.L_x_1)"],
)  # fmt: skip
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_operand(text)
    assert caught.value.args[0] in text


def test_operands_of_a_text() -> None:
    assert split_operands("R2, desc[UR4][R2.64+0x8], P0") == ["R2", "desc[UR4][R2.64+0x8]", "P0"]
    assert split_operands("SB0, 0x1, {4,3}") == ["SB0", "0x1", "{4,3}"]
    assert split_operands("R2 -0x5a0") == ["R2", "-0x5a0"]
    assert split_operands("R0, c[0x0] [0x170], R7") == ["R0", "c[0x0][0x170]", "R7"]
    assert split_operands("") == []


def test_an_instruction() -> None:
    guard, opcode, modifiers, operands = parse_instruction("@!P2 IMAD.WIDE.U32 R4, P1, R2, 0x4, R6")
    assert guard == Guard(Operand("P", "P2", number=2), negated=True)
    assert (opcode, modifiers) == ("IMAD", ("WIDE", "U32"))
    assert [operand.kind for operand in operands] == ["R", "P", "R", "imm", "R"]
    assert parse_instruction("@UP1 UMOV UR4, UR5")[0] == Guard(Operand("UP", "UP1", number=1), negated=False)
    assert parse_instruction("EXIT") == (None, "EXIT", (), ())


def test_labels_are_addresses_of_the_kernel() -> None:
    functions = {0x20: "callee"}
    for text, target, symbol in (
        ("BRA 0x130", 0x30, ""),
        ("@P0 BRA P2, 0x120", 0x20, "callee"),
        ("BSSY B0, 0x120", 0x20, "callee"),
        ("CALL.REL.NOINC 0x120", 0x20, "callee"),
        ("RET.REL.NODEC R4 0x100", 0, ""),
        ("CALL.ABS.NOINC R2 0x120", 0x120, ""),
        ("WARPSYNC.COLLECTIVE R5, 0x140", 0x40, ""),
    ):
        last = parse_instruction(text, base=0x100, functions=functions)[3][-1]
        assert (last.kind, last.target, last.symbol) == ("label", target, symbol), text
    assert parse_instruction("BRX R2 -0x5a0", base=0x100)[3][-1].value == -0x5A0
    assert parse_instruction("WARPSYNC 0xffffffff")[3][-1].value == 0xFFFFFFFF


@pytest.mark.parametrize(
    "text", ["LDG.???0 R0, [R2.64]", "MEMBAR.???2", "@P9 EXIT", "@R0 EXIT", "exit", "F2I.F64.? R0, R2"]
)
def test_an_instruction_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_instruction(text)
    assert caught.value.args[0] in text


def test_every_form_says_all_that_its_text_says() -> None:
    """The text written anew from the fields alone is the text."""
    for text in FORMS:
        guard, opcode, modifiers, operands = parse_instruction(text)
        assert instruction_text(Instruction(0, guard, opcode, modifiers, operands, control_of(0), "")) == text


def test_control_bits() -> None:
    """STG.E of a listing with its encoding: waits for nothing, read counter 1 drops, stall count 2."""
    control = control_of(0x0003E4000C101924)
    assert (control.stall, control.yields, control.write_barrier, control.read_barrier) == (2, True, None, 1)
    assert (control.wait, control.reuse) == (0, 0)
    control = control_of(0x004FE4000F8E00FF | 3 << 58)
    assert (control.wait, control.reuse) == (0b000100, 3)
