"""Indices that are always outside their axis, but perhaps inside the array, are told when a kernel is compiled."""

import warnings

import numpy as np
import pytest

from smmux import cuda, float32
from smmux.kernel import from_source
from smmux.kernels.overloads import AxisWarning

OUTSIDE = {
    "o[0, 9] = 1": (2, "axis 1 of 'o', whose extent is 8"),
    "o[1, -9] = 1": (2, "axis 1 of 'o'"),
    "t = cuda.threadIdx.x\no[0, t + 8] = 1": (3, "axis 1 of 'o'"),
    "s = cuda.shared.array((4, 8), float32)\ns[1, 8] = 1": (3, "axis 1 of 's'"),
    "s = cuda.local.array((4, 8), float32)\ns[1, n + 8] = 1\no[0, 0] = s[2, n]": (3, "axis 1 of 's'"),
    "r = o[1]\nr[8] = 1": (3, "axis 0 of"),
    "r = o[1, 2:5]\nr[3] = 1": (3, "axis 0 of"),
}
INSIDE = (
    "o[0, 7] = 1",
    "o[1, -8] = 1",
    "t = cuda.threadIdx.x\no[0, t] = 1",
    "t = cuda.threadIdx.x\no[0, t - 1] = 1",
    "for k in range(12):\n    if k < n:\n        o[0, k] = 1",  # unrolled: the last trips are not taken
    "o[0, n] = 1",
)


def made(body):
    text = "def kernel(o, n):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return from_source(text, {"cuda": cuda, "float32": float32}, filename="of_the_user.py")


@pytest.mark.parametrize("body", OUTSIDE)
def test_file_and_line_are_told_once(body):
    kernel, o = made(body.replace("n + 8", "(n & 3) + 8")), np.zeros((4, 8), np.float32)
    line, axis = OUTSIDE[body]
    with pytest.warns(AxisWarning, match=axis) as caught:
        kernel.simulate(1, 4, (o, 2))
    assert [(w.filename, w.lineno) for w in caught] == [("of_the_user.py", line)]
    kernel.simulate(1, 4, (o, 2))
    kernel.simulate(1, 4, (o, 2), schedule="list")


@pytest.mark.parametrize("body", INSIDE)
def test_an_index_that_may_be_inside_is_not_told(body):
    with warnings.catch_warnings(action="error"):
        made(body).simulate(1, 4, (np.zeros((4, 8), np.float32), 2))
