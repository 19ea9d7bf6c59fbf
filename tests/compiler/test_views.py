"""Views of views whose axes run backwards, with indices of all widths known only at run time: what NumPy reads."""

from types import SimpleNamespace

import numpy as np
import pytest

from smmux import cuda, int32
from smmux.kernel import from_source
from tests.compiler.front import run

READS = (
    "w{0} = m[1, I % 3]\nout[t, {0}] = w{0}[t % 5 - 5]",
    "w{0} = m[J % 4 - 4]\nout[t, {0}] = w{0}[I % 3, 4 - t % 5]",
    "w{0} = m[I % 4][I % 3]\nout[t, {0}] = w{0}[I % 5]",
    "w{0} = m[:, I % 3][::-1]\nout[t, {0}] = w{0}[I % 4, t % 5]",
    "w{0} = m[I % 4, ::-1][1:]\nout[t, {0}] = w{0}[-1 - t % 2, I % 5]",
    "w{0} = m[::-1][I % 4][::-1, ::-1]\nout[t, {0}] = w{0}[I % 3, I % 5]",
    "w{0} = m[I % 2:, ::-1]\nout[t, {0}] = w{0}[I % 2][I % 3][~(J % 5)]",
    "w{0} = m[::-1, :2 + I % 2, I % 3:]\nout[t, {0}] = w{0}[I % 4, ~(J % 2), I % 2]",
    "w{0} = m[3 - I % 2::-1, ::-2]\nout[t, {0}] = w{0}[~(J % 3), I % 2][-1 - t % 5]",
    "w{0} = m[0]\nfor k in range(int32(I % 4)):\n    w{0} = m[k + 1]\nout[t, {0}] = w{0}[I % 3, ~(J % 5)]",
    "w{0} = m[I % 4] if t % 2 else m[J % 3 - 3]\nout[t, {0}] = w{0}[I % 3, I % 5]",
    """\
for k in range(int32(I % 4), 4):
    row = m[k]
    for j in range(3):
        out[t, {0}] += row[j][J % 5 - 5] * (k + j)""",
    """\
s{0} = cuda.shared.array((4, 5), m.dtype)
if t == 0:
    for k in range(4):
        for j in range(5):
            s{0}[::-1, ::-1][k][j] = m[k, 1, j]
cuda.syncthreads()
w{0} = s{0}[::-1, ::-1][I % 4]
out[t, {0}] = w{0}[J % 5 - 5]
cuda.syncthreads()""",
)
THREADS = 12


class Cuda:
    """What the reads name of `cuda`, for one thread in Python."""

    shared = SimpleNamespace(array=np.zeros)

    @staticmethod
    def syncthreads() -> None:
        """Nobody to wait for."""


SIGNS = ((1, 1, 1), (1, -1, 1), (-1, 1, -1), (-1, -1, -1))


def lines_of(place: int, index: str, unsigned: bool) -> list[str]:
    """One way to read, with names of its own. I: an index; J: one that may be negative, since Python's own may."""
    signed = f"int32({index} & 0xFFFFFF)" if unsigned else index
    return READS[place].format(place).replace("I", index).replace("J", signed).splitlines()


def text_of(name: str, parameters: str, index: str, unsigned: bool) -> str:
    body = [line for place in range(len(READS)) for line in lines_of(place, index, unsigned)]
    return f"def {name}({parameters}):\n    " + "\n    ".join(["t = cuda.grid(1)", *body]) + "\n"


def expected(m, values, unsigned):
    """What Python reads, thread by thread."""
    out = np.zeros((THREADS, len(READS)), np.int32)
    for t, value in enumerate(map(int, values)):
        names = {"m": m, "out": out, "t": t, "value": value}
        for place in range(len(READS)):
            text = "\n".join(lines_of(place, "value", unsigned)).replace("if t == 0", "if True")
            exec(text, {**names, "cuda": Cuda, "int32": int})
    return out


@pytest.mark.quick
@pytest.mark.parametrize("signs", SIGNS, ids=lambda s: "".join("-+"[sign > 0] for sign in s))
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64"])
def test_elements_of_views(dtype, signs):
    whole = np.arange(4 * 3 * 10, dtype=np.int32).reshape(4, 3, 10)
    m = whole[:, :, ::2][tuple(slice(None, None, sign) for sign in signs)]
    numbers = np.arange(THREADS) * 0x123456789ABCDEF
    if dtype[0] == "i":
        numbers = numbers * (-1) ** np.arange(THREADS)
    values, unsigned = numbers.astype(dtype), dtype[0] == "u"
    out = np.zeros((THREADS, len(READS)), np.int32)
    kernel = from_source(text_of("kernel", "out, m, v", "v[t]", unsigned), {"cuda": cuda, "int32": int32})
    run(kernel, 1, THREADS, out, m, values)
    np.testing.assert_array_equal(out, expected(m, values, unsigned))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_stores_to_rows_that_run_backwards(dtype):
    kernel = from_source(
        "def kernel(a, v):\n    t = cuda.grid(1)\n    row = a[1, v[t] % 3]\n    row[t % 5 - 5] = t\n"
        "    cuda.atomic.add(row, v[t] % 5, 100)\n",
        {"cuda": cuda},
    )
    a, b = (np.zeros((4, 3, 10), np.int32)[:, ::-1, ::2] for _ in range(2))
    run(kernel, 1, 15, a, np.arange(15).astype(dtype))
    for t in range(15):
        b[1, t % 3, t % 5 - 5] = t
        b[1, t % 3, t % 5] += 100
    np.testing.assert_array_equal(a, b)
