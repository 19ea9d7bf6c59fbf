"""Vectors of integer operations, predicates and warp operations in all their modes, beside `instruction_vectors`.

The forms stand in `integer_words.json`, by their text: sources R8, R12, R16, result R24 (UR8 is moved there),
predicates P0 and P1. Arrays: `inputs` (cases, 3 sources, 2 words), `predicates` (cases: bit 0 is P0, bit 1 is P1),
`active` (cases): P2, the guard of warp operations, whose text lacks it. By text: the result and the register behind it
(cases, 2), which hold 7 and 9 before; and `TEXT predicates`: P0-P6 as bits after it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .assembler import RZ, field, ins, nops, program
from .bench import Bench, register
from .instruction_vectors import operands

CASES = 1024


def integer_forms(bench: Bench) -> dict[str, np.ndarray]:
    """All forms of integer_words.json on all cases."""
    rng = np.random.default_rng(17)
    sources = operands("integer", rng)[:CASES]
    predicates = rng.integers(0, 4, CASES, np.uint32)
    active = (rng.random(CASES) < np.repeat([1, 0.7, 0.3, 0.1], CASES // 4)).astype(np.uint32)
    active[5::32] = 1
    arrays = {"inputs": sources, "predicates": predicates.astype(np.uint8), "active": active.astype(np.uint8)}
    warps = CASES // 32
    values = bench.values(warps)
    for i in range(3):
        for part in range(2):
            values[:, register(8 + 4 * i) + part] = sources[:, i, part].reshape(warps, 32)
    for number, bits in ((20, predicates & 1), (21, predicates >> 1), (22, active)):
        values[:, register(number)] = bits.reshape(warps, 32)
    values[:, register(24)], values[:, register(25)], values[:, register(29)] = 7, 9, 0
    for text, word in json.loads(Path(__file__).with_name("integer_words.json").read_text()).items():
        body = [ins("R2P", a=29, stall=15)]  # all predicates false
        body += [field(ins("ISETP", a=20 + i, b=RZ, pd=i, stall=15), 76, 3, 5) for i in range(3)]
        body += [*nops(30), int(word, 16), *nops(60, wait=63)]
        body += [ins("MOV.UR", b=8, d=24, stall=15), *nops(15)] if "UR8" in text else []
        body += [ins("P2R", d=28, stall=15)]
        after = bench.run(program(body, repeats=1), values, blocks=warps)
        low, high, bits = (after[:, register(r)].reshape(-1) for r in (24, 25, 28))
        arrays[f"{text} predicates"] = bits.astype(np.uint8)
        arrays[text] = np.stack([low, high], axis=1)
    return arrays


ARRAYS = {"vectors_integer": integer_forms}
