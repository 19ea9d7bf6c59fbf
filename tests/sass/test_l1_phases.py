"""Loads from the L1 of the H100 against what the card took for each pattern of addresses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_pipe import patterns
from tests.sass.timed import OBEDIENT, bits, clock, clocks, run_timed

SPAN = 16384
"""Bytes whose lines the hash of the tags tells apart."""
TABLE = SPAN
"""The word of the data from which on the lanes' offsets lie."""
GPU = OBEDIENT.replace(mem_model=1, l1_bytes=131_072)
FORMS = {"LDG.W": ("LDG.E R24", 1), "LDG.64": ("LDG.E.64 R24", 2), "LDG.128": ("LDG.E.128 R24", 4)}


@cache
def first_byte() -> int:
    """How far behind the beginning of the data the first multiple of SPAN lies."""
    values, _ = run_timed([bits("NOP", 15)], [158, 158], GPU, data=np.zeros(TABLE + 32, np.uint32))
    return -int(values[0, 0, 0]) % SPAN


@pytest.mark.parametrize("form", FORMS)
def test_latency_of_every_pattern_is_the_cards(form: str) -> None:
    text, words = FORMS[form]
    measured = {row["pattern"]: int(row["latency"]) for row in rows("h100", "l1_phases") if row["form"] == form}
    shift = first_byte()
    for name, pattern in patterns(words).items():
        if (pattern < 0).any():  # some lanes are off
            continue
        data = np.zeros(TABLE + 32, np.uint32)
        data[TABLE:] = shift + 4 * pattern
        load = bits(f"{text}, [R22.64]", 2, wr=0)
        body = [
            bits("IMAD.WIDE R20, R161, 0x1, R158", 15),
            bits(f"LDG.E R20, [R20.64+{4 * TABLE:#x}]", 15, wr=0),
            bits("IMAD.WIDE R22, R20, 0x1, R158", 15, wait=1),
            load, bits("NOP", 15, wait=1), *[bits("NOP", 15)] * 8,
            clock(100), load, clock(101, wait=1), bits("NOP", 15),
        ]  # fmt: skip
        (found,) = clocks(body, 2, GPU, data=data)
        assert found[1] - found[0] == pytest.approx(measured[name], abs=1), name


def test_sub_cores_come_to_the_banks_in_turn() -> None:
    """Loads of shared memory by four sub-cores: one a clock, whichever issued first."""
    body = [bits("MOV R20, R161", 15)]
    body += [clock(100), *[bits(f"LDS R{24 + i % 4}, [R20]", 1, wr=i % 4) for i in range(32)], clock(101, wait=15)]
    alone = np.ptp(clocks(body, 2, OBEDIENT), axis=1)
    together = clocks(body, 2, OBEDIENT, warps=4)
    assert alone[0] == pytest.approx(4 * 32, abs=20)  # a warp alone comes every four clocks
    assert together[:, 1].max() - together[:, 0].min() == pytest.approx(4 * 32, abs=25)
