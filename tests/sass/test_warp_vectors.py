"""Operations across a warp make what a card made, with some lanes inactive."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sass.vectors import card, check

# Those of instruction_vectors.py: sources R8, R12, R16, result R24, guard P2.
FORMS = {
    "SHFL.IDX": "SHFL.IDX P0, R24, R8, R12, 0x1f",
    "SHFL.UP": "SHFL.UP P0, R24, R8, R12, R16",
    "SHFL.DOWN": "SHFL.DOWN P0, R24, R8, R12, R16",
    "SHFL.BFLY": "SHFL.BFLY P0, R24, R8, 0x1, 0x1f",
    "VOTE.ANY": "VOTE.ANY R24, PT, P0",
    "VOTE.ALL": "VOTE.ALL P0, P0",
    "MATCH.ANY": "MATCH.ANY R24, R8",
    "MATCH.ALL": "MATCH.ALL PT, R24, R8",
    "R2UR": "R2UR UR8, R8",
    "REDUX.SUM": "REDUX.SUM UR8, R8",
    "REDUX.MAX": "REDUX.MAX.S32 UR8, R8",
    "REDUX.XOR": "REDUX.XOR UR8, R8",
}


@pytest.mark.parametrize("name", FORMS)
def test_an_operation_makes_what_the_card_made(name: str) -> None:
    inputs, lanes = card("vectors_warp")["inputs"], card("vectors_warp")["lanes"].reshape(-1)
    registers = {r: inputs[:, i].reshape(-1) for i, r in enumerate((8, 12, 16))}
    registers |= {24: np.zeros(lanes.size, np.uint32)}
    code = ["ISETP.LT.AND P0, PT, R8, R12, PT", f"@P2 {FORMS[name]}"]
    code += ["MOV R24, UR8"] if "UR8" in FORMS[name] else []
    check("vectors_warp", name, code, registers, {2: lanes})
