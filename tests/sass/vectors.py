"""What single instructions made on a card: the recorded vectors, and the instructions that they belong to."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.sass.single import run_lanes

FOLDER = Path(__file__).parents[2] / "experiments" / "hardware" / "hopper"
SIGNED = {"-a": ("R8", "-R8"), "|a|": ("R8", "|R8|")}
COMBINED = ("ISETP", "FSETP", "DSETP", "HSETP2")
"""Forms that were measured with both results, combined with P0."""
NO_RESULT = ("ISETP", "FSETP", "DSETP", "HSETP2", "FCHK")


@cache
def card() -> dict[str, NDArray[np.generic]]:
    """All arrays, by name (see instruction_vectors.py)."""
    with np.load(FOLDER / "vectors" / "vectors.npz") as file:
        return dict(file)


@cache
def text_of(name: str, slots: str) -> str:
    """The instruction of a form: sources R8, R12, R16 of the slots a, b, c; result R24; predicates P0, P1."""
    base = next((name.removesuffix(mark) for mark in SIGNED if name.endswith(mark)), name)
    text = json.loads((FOLDER / "words.json").read_text())[base]["text"]
    opcode, _, operands = text.partition(" ")
    numbers = [24] if not opcode.startswith(NO_RESULT) else []
    numbers += [8 + 4 * "abc".index(slot) for slot in slots]
    operands = re.sub(r"\bR\d+", lambda _: f"R{numbers.pop(0)}", operands)
    if name in COMBINED:
        operands = re.sub("PT(.*)PT", r"P1\1P0", operands)
    for mark, (plain, signed) in SIGNED.items():
        operands = operands.replace(plain, signed) if name.endswith(mark) else operands
    return f"{opcode} {operands}"


def differences(kind: str, name: str, slots: str) -> list[str]:
    """The cases in which the core does not make what the card made, told in words."""
    inputs, flags = card()[f"inputs_{kind}"], card()["predicates"]
    registers = {8 + 4 * s + part: inputs[:, s, part] for s in range(3) for part in range(2)}
    expected = card().get(name, np.zeros((len(flags), 0), np.uint32))
    results = [24 + part for part in range(expected.shape[1])]
    registers |= {24: np.zeros(len(flags), np.uint32), 25: np.zeros(len(flags), np.uint32)}
    text = text_of(name, slots)
    found, bits = run_lanes([text], registers, results, {0: flags & 1, 1: flags >> 1 & 1})
    wrong = np.any(found.T != expected, axis=1) | (bits != card().get(f"{name} predicates", flags))
    return [
        f"{text}: {inputs[i, :, 1]} {inputs[i, :, 0]} gives {found[:, i]}, not {expected[i]}; predicates {bits[i]}, "
        f"before {flags[i]}"
        for i in np.flatnonzero(wrong)
    ]


def matrix_differences(name: str) -> int:
    """In how many words the core's product of matrices is not the card's."""
    with np.load(FOLDER / "vectors" / "vectors_matrix.npz") as file:
        rows = file[name].transpose(1, 0, 2).reshape(file[name].shape[1], -1)
    text = json.loads((FOLDER / "words.json").read_text())[name]["text"]
    opcode, _, operands = text.partition(" ")
    numbers = [24, 8, 12, 16]
    operands = re.sub(r"\bR\d+", lambda _: f"R{numbers.pop(0)}", operands)
    registers = {8 + i: row for i, row in enumerate(rows[:12])}
    results = [24 + i for i in range(len(rows) - 12)]
    found, _ = run_lanes([f"{opcode} {operands}"], registers, results)
    return int(np.count_nonzero(found != rows[12:]))
