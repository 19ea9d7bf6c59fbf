"""NaN results are the canonical NaN of PTX, whatever the operands carried: hosts and compilers would differ."""

from __future__ import annotations

import re

import numpy as np
import pytest

from smmux import _core

from .assembler import TID_X, Assembler

CANONICAL = 0x7FFFFFFF
PAYLOADS = np.array([0x7FC00001, 0xFFC12345, 0x7F800001, 0xFF800000, 0x7F800000, 0x3F800000, 0x80000000, 0], np.uint32)
FLOAT_RESULTS = [
    name
    for name in _core.OPS
    if name.endswith("f32") and _core.OPS[name][3].startswith("d,a") and not re.search("[su](32|64).f32|f16.f32", name)
]
BITWISE = ("neg.f32", "abs.f32", "mov.f32")


@pytest.mark.parametrize("name", [name for name in FLOAT_RESULTS if name not in BITWISE])
def test_nan_is_canonical(name: str) -> None:
    x, y = (part.ravel().astype(np.uint32) for part in np.meshgrid(PAYLOADS, PAYLOADS))
    out = np.zeros(64, np.uint32)
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    a("ld.global", d=1, a=0, imm=0x1000, width=4, aux=0)
    a("ld.global", d=2, a=0, imm=0x1100, width=4, aux=1)
    a(name, d=3, **{kind: 2 if kind == "b" else 1 for kind in _core.OPS[name][3].split(",") if kind in "abc"})
    a("st.global", d=3, a=0, imm=0x1200, width=4, aux=2)
    a("exit")
    a.run("GTX285", block=(64, 1, 1), buffers=(x, y, out))
    assert set(out[np.isnan(out.view(np.float32))]) <= {CANONICAL}


@pytest.mark.parametrize("name", ["ADD_F32", "MIN_F32", "MAX_F32"])
def test_atomics_too(name: str) -> None:
    x = np.full(1, 0xFFC12345, np.uint32)
    a = Assembler()
    a("atom.global", a=a.imm(0x1000), b=a.imm(0x7FC00001), width=4, aux=0, sub=_core.ATOMS[name])
    a("exit")
    a.run("GTX285", block=(1, 1, 1), buffers=(x,))
    assert x[0] == CANONICAL
