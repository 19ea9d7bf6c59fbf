"""Loops and conditions with barriers that ask a shared array: all threads agree if nothing is stored meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import multiplex
from tests.multiplex.kernels import kernel

HEAD = """
def f(a, o):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
"""
BODIES = {
    "a loop until it is enough": """
    while s[0] < 0.9:
        cuda.syncthreads()
        s[t] += 0.25
        cuda.syncthreads()
""",
    "a condition with two sides": """
    if s[1] > 0.5:
        x = s[31 - t]
        cuda.syncthreads()
        s[t] = x - 1
        cuda.syncthreads()
    else:
        cuda.syncthreads()
        s[t] += 1
        cuda.syncthreads()
""",
    "a number of trips": """
    m = int32(s[2] * 7)
    cuda.syncthreads()
    for k in range(m):
        x = s[(t + k) % 32]
        cuda.syncthreads()
        s[t] = x + 1
        cuda.syncthreads()
""",
    "a flag that threads raise": """
    going = cuda.shared.array(1, int32)
    going[0] = 1
    cuda.syncthreads()
    while going[0]:
        cuda.syncthreads()
        if t == 0:
            going[0] = 0
        cuda.syncthreads()
        s[t] += 0.125
        if s[t] < 1:
            going[0] = 1
        cuda.syncthreads()
""",
}
FORMS: dict[str, Any] = {
    "hw": multiplex.hw,
    "vtb": multiplex.vtb,
    "vtb 3": lambda plain: multiplex.vtb(plain, 3),
    "vtb_pipe": multiplex.vtb_pipe,
    "co_hw": lambda plain: multiplex.co_hw(plain, "s", 16),
    "co_vtb": lambda plain: multiplex.co_vtb(plain, "s", 16),
}


def left(made: Any, **options: Any) -> np.ndarray:
    """What six blocks leave, without races."""
    a, o = np.arange(192, dtype=np.float32) * 37 % 101 / 100, np.zeros(192, np.float32)
    grid, block = made.geometry(6, 32) if isinstance(made, multiplex.VirtualKernel) else (6, 32)
    made.simulate(grid, block, (a, o), check="races", **options).raise_for_findings()
    return o


@pytest.mark.quick
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", BODIES.values(), ids=[name.replace(" ", "-") for name in BODIES])
def test_every_form(text: str, form: str) -> None:
    plain = kernel(f"{HEAD}{text}    o[cuda.grid(1)] = s[31 - t]\n")
    options = {"management": "dynamic"} if form.endswith("hw") else {}
    np.testing.assert_array_equal(left(FORMS[form](plain), **options), left(plain))


DIFFERING = {
    "a store behind the condition": """
    while s[0] < 1:
        s[t] += 0.5
        cuda.syncthreads()
""",
    "a store on another way": """
    x = float32(0)
    if t < 9:
        x = s[0]
    else:
        s[0] = 1
    if x > 0:
        cuda.syncthreads()
""",
    "elements of their own": """
    while s[t] < 1:
        cuda.syncthreads()
        s[t] += 0.5
        cuda.syncthreads()
""",
    "a store of the trip before": """
    for k in range(5):
        if s[0] > 3:
            break
        cuda.syncthreads()
        s[t] += 1
""",
}


@pytest.mark.parametrize("text", DIFFERING.values(), ids=[name.replace(" ", "-") for name in DIFFERING])
def test_what_may_be_stored_to_meanwhile_can_differ(text: str) -> None:
    with pytest.raises(multiplex.MultiplexError, match="can differ between threads|some threads"):
        multiplex.hw(kernel(f"{HEAD}{text}    o[cuda.grid(1)] = s[31 - t]\n"))
