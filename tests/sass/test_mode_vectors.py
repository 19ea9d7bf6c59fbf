"""Floating-point operations in some 600 modes and with signs and halves of their operands, as an H100 made them.

`vectors_modes.npz` has for each text the word of the instruction (`words`, in the order of `texts`), and of 512 cases
R24, R25 (7 and 9 before) and the predicates; sources R8, R12 and R16, predicates P0 and P1, as in
`instruction_vectors.py`. The words are those of its forms with one or two bits turned, as far as the vendor's
disassembler, the core and the card take them.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.sass.single import instruction, run_lanes
from tests.sass.vectors import card, flags_of, sources

FAMILIES = ("FADD", "FMUL", "FFMA", "FMNMX", "FSEL", "FSETP", "F2I", "F2F", "FRND", "F2FP", "I2F", "I2FP", "DADD",
            "DMUL", "DFMA", "DSETP", "HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSET2", "HSETP2", "MUFU")  # fmt: skip
OTHERWISE = ("MUFU.TANH", "DSETP.MAX", "F2FP.E4M3.F32.PACK_AB_MERGE_C", "F2FP.E5M2.F32.PACK_AB_MERGE_C")
"""TANH has an error; of the others compilers use none: a maximum's predicates, bytes that do not stay finite."""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mode_makes_what_the_card_made(family: str) -> None:
    arrays = card("vectors_modes")
    told, tried = [], 0
    for text, word, kind in zip(arrays["texts"], arrays["words"], arrays["kinds"], strict=True):
        if text.partition(" ")[0].split(".")[0] != family or text.startswith(OTHERWISE):
            continue
        tried += 1
        given, expected = sources(arrays[f"inputs_{kind}"], (7, 9)), arrays[str(text)]
        found, bits = run_lanes(
            [instruction(str(text), int(word, 16))], given, [24, 25], flags_of(arrays["predicates"])
        )
        wrong = np.flatnonzero(np.any(found.T != expected[:, :2], axis=1) | (bits != expected[:, 2]))
        told += [f"{text}: {len(wrong)} of {len(bits)}, first case {case}" for case in wrong[:1]]
    assert tried
    assert not told
