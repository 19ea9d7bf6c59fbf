"""Values of expressions in each thread: those that a simulated block computes, or none."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from smmux.multiplex.analysis.threads import THREADS, UnknownError, per_thread
from smmux.multiplex.analysis.uniformity import analysed
from smmux.rewriting.draft import Draft
from tests.multiplex.kernels import device, kernel

SWIZZLED = device("""
    def swizzled(lane, width):
        row = lane // width
        return row * width + (lane ^ row) % width
""")
CHOSEN = device("""
    def chosen(lane):
        if lane > 3:
            return lane
        return 0
""")
TEXT = """
    def f(o):
        t = cuda.threadIdx.x
        u = 3 * t
        changing = 0
        changing += 1
        o[t] = {}
"""


def value_in(text: str) -> tuple[ast.expr, Draft, object]:
    """An expression as the value of a store, the draft of its kernel, and the kernel."""
    made = kernel(TEXT.format(text), swizzled=SWIZZLED, chosen=CHOSEN)
    draft = Draft(made.definition)
    store = draft.tree.body[-1]
    assert isinstance(store, ast.Assign)
    return store.value, draft, made


@pytest.mark.parametrize(
    "text",
    ["7", "N", "t", "-t", "u - 2 * t", "t % 32 + (t // 32) * 512", "t << 3 ^ t >> 2", "swizzled(u, 8)", "int32(t + 1)"],
)
def test_values_are_those_that_threads_compute(text: str) -> None:
    node, draft, made = value_in(text)
    out = np.zeros(THREADS, np.int32)
    made.simulate(1, THREADS, (out,), gpu="GTX480-48K")  # type: ignore[attr-defined]
    assert np.array_equal(per_thread(analysed(draft), node), out)


@pytest.mark.parametrize(
    "text", ["cuda.threadIdx.y", "cuda.blockIdx.x", "o[t]", "changing", "chosen(t)", "t % (t - 1)"]
)
def test_what_the_kernel_does_not_decide_is_unknown(text: str) -> None:
    node, draft, _ = value_in(text)
    with pytest.raises(UnknownError):
        per_thread(analysed(draft), node)
