"""What single instructions made on a card: the recorded vectors, and the instructions that they belong to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from tests.sass.single import Words, run_lanes

FOLDER = Path(__file__).parents[2] / "experiments" / "hardware" / "hopper"
SIGNED = {"-a": ("R8", "-R8"), "|a|": ("R8", "|R8|")}
COMBINED = ("ISETP", "FSETP", "DSETP", "HSETP2")
"""Forms that were measured with both results, combined with P0."""
NO_RESULT = ("ISETP", "FSETP", "DSETP", "HSETP2", "FCHK")


@cache
def card(file: str) -> dict[str, Words]:
    """All arrays of a file of vectors, by name (see instruction_vectors.py and integer_vectors.py)."""
    with np.load(FOLDER / "vectors" / f"{file}.npz") as arrays:
        return dict(arrays)


def sources(inputs: Words, before: tuple[int, int] = (0, 0)) -> dict[int, Words]:
    """The registers of inputs (cases, 3 sources, 2 words): R8, R12, R16 and those behind them; and what is in R24 and
    R25 before."""
    registers = {8 + 4 * source + part: inputs[:, source, part] for source in range(3) for part in range(2)}
    return registers | {24 + part: np.full(len(inputs), value, np.uint32) for part, value in enumerate(before)}


def flags_of(predicates: Words) -> dict[int, Words]:
    """P0 and P1 of bits (cases)."""
    return {0: predicates & 1, 1: predicates >> 1 & 1}


def check(
    file: str, name: str, code: Sequence[str], registers: Mapping[int, Words], predicates: Mapping[int, Words]
) -> None:
    """Run instructions on the cases of the card, a lane each, and fail if R24 and those behind it, as far as they were
    recorded, or the predicates are not what they were on the card; predicates that were not recorded stay."""
    cases = len(next(iter(registers.values())))
    expected = card(file).get(name, np.zeros(0, np.uint32)).reshape(cases, -1)
    before = sum(np.asarray(bits, np.uint32) << number for number, bits in predicates.items())
    after = card(file).get(f"{name} predicates", before).reshape(cases)
    found, bits = run_lanes(code, registers, [24 + part for part in range(expected.shape[1])], predicates)
    wrong = np.flatnonzero(np.any(found.T != expected, axis=1) | (bits != after))
    told = [
        f"{ {number: hex(values[i]) for number, values in registers.items()} } gives {found[:, i]}, not {expected[i]}; "
        f"predicates {bits[i]}, not {after[i]}, before {before[i]}"
        for i in wrong[:3]
    ]
    assert not told, f"{'; '.join(code)}: {len(wrong)} of {cases} cases: {told}"


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


def matrix_differences(name: str) -> int:
    """In how many words the core's product of matrices is not the card's."""
    words = card("vectors_matrix")[name]
    rows = words.transpose(1, 0, 2).reshape(words.shape[1], -1)
    text = json.loads((FOLDER / "words.json").read_text())[name]["text"]
    opcode, _, operands = text.partition(" ")
    numbers = [24, 8, 12, 16]
    operands = re.sub(r"\bR\d+", lambda _: f"R{numbers.pop(0)}", operands)
    registers = {8 + i: row for i, row in enumerate(rows[:12])}
    results = [24 + i for i in range(len(rows) - 12)]
    found, _ = run_lanes([f"{opcode} {operands}"], registers, results)
    return int(np.count_nonzero(found != rows[12:]))
