"""Indices that are always outside their axis, but perhaps inside the array, are told when a kernel is compiled."""

import warnings

import numpy as np
import pytest

from smmux import cuda, float32, int64, multiplex
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
    "t = cuda.threadIdx.x + 1\nif t < 1:\n    o[0, t + 7] = 1\nelse:\n    o[0, t] = 1",
    "t = cuda.threadIdx.x + 1\nif 0 < t:\n    o[0, t] = 1\nelse:\n    o[0, t + 7] = 1",
    "for k in range(n, 8):\n    o[0, k] = o[0, n + k + 8] if k < -1 else 1",
)


def made(body):
    text = "def kernel(o, n):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return from_source(text, {"cuda": cuda, "float32": float32, "int64": int64}, filename="of_the_user.py")


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


@pytest.mark.parametrize("dtype", ["float32", "int64"])  # the latter has comparisons of 64 bits
def test_forms_with_a_private_row_that_no_thread_uses_warn_of_nothing(dtype):
    """Rows from 1 on are the public part, and the code for the private row 0 stands beside every access to them."""
    body = f"s = cuda.shared.array((9, 8), {dtype})\nt = cuda.threadIdx.x + 1\ns[t, n] = t\ncuda.syncthreads()\n"
    kernel = made(body + "o[0, t - 1] = s[9 - t, n]")
    with warnings.catch_warnings(action="error"):
        for form in multiplex.co_hw(kernel, "s", 1), multiplex.co_vtb(kernel, "s", 1).fitted(1, 8):
            o = np.zeros((1, 8), dtype)
            form.simulate(1, 8 * (1 + (form.__name__ != kernel.__name__ + "_co_hw")), (o, 2), gpu="GTX480-16K")
            assert (o == 8 - np.arange(8)).all()
