"""Statements and functions of Python inside kernels, against the same text run as Python on NumPy arrays."""

import math
import operator
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda, int32
from smmux.kernel import from_source
from tests.compiler.front import run

TABLE = np.array([3, 1, 4, 1, 5], np.int32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def difference(x, y):
    return x - 10 * y


def increased(x, y=1):
    return x + y


def total(first, *others):
    result = first
    for other in others:
        result = 3 * result + other
    return result


def scaled(x, *, by=2):
    return x * by


def bounded(x, *pair, low=0, high=9):
    return min(max(x, low), high) + len(pair)


FUNCTIONS = (difference, increased, total, scaled, bounded)
SHARED = "s = cuda.shared.array(4, int32)\nfor i in range(4):\n    s[i] = 3 * i\n"
TEXTS = [
    "for x in a:\n    b[0] += x",
    SHARED + "for x in s:\n    b[0] += x",
    "for row in m:\n    for x in row:\n        b[0] += int32(x)",
    "for i, x in enumerate(a):\n    b[0] += i * x",
    "for i, x in enumerate(a, 1):\n    b[0] += i * x",
    "for i, x in enumerate((a[1], a[2]), n):\n    b[0] += i * x",
    "for x, y in zip(a, b):\n    b[1] += x * (y + 1)",
    "for x, y in zip(a, (5, 6, 7)):\n    b[1] += x * y",
    "for x in reversed(a):\n    b[0] = b[0] * 2 + x",
    "for i in reversed(range(5)):\n    b[0] = b[0] * 3 + i",
    "for i in reversed(range(2, n + 20, 3)):\n    b[0] = b[0] * 3 + i",
    "for i, j in enumerate(range(n, 9)):\n    b[0] += i * j",
    "for i, j in enumerate(range(n, -9, -2)):\n    b[0] += i * j",
    "for i, j in zip(range(n), range(5, 9)):\n    b[0] += i * j",
    "for i, x in zip(range(n), a):\n    b[0] += i * x",
    "for i, (x, y) in enumerate(zip(a, reversed(a))):\n    b[0] += i * x * y",
    "for x in range(3, n):\n    b[0] += x",
    "for x in a:\n    a[4] += 1\n    b[0] += x",
    "for i, x in enumerate(a):\n    if x > 2:\n        break\n    b[i] = x\nelse:\n    b[4] = 9",
    "for i in range(n):\n    for x in a:\n        if x == i:\n            continue\n        b[i] += x",
    "b[0] = len(range(n)) + len(range(1, 10, 3)) + len(range(5, n))",
    "x, *y, z = (1, 2, 3, 4)\nb[0] = x + z * 10 + y[0] * 100 + len(y)",
    "*y, z = (a[1], a[2])\nb[0] = z * 10 + y[0] + len(y)",
    "x, *y = (a[3],)\nb[0] = x * 10 + len(y)",
    "(x, *y), z = ((1, 2, 3), a[4])\nb[0] = x + y[1] * 10 + z * 100",
    "t = (a[1], a[2])\nb[0] = difference(*t) + increased(*t)",
    "b[0] = difference(y=a[1], x=3)",
    "b[0] = increased(a[1]) + increased(a[1], 5) + increased(y=4, x=a[2])",
    "b[0] = total(a[1], a[2], a[3], 4) + total(a[4])",
    "b[0] = scaled(a[1]) + scaled(a[2], by=5)",
    "b[0] = bounded(a[4]) + bounded(77, 1, 2, high=a[4])",
    "b[0] = operator.add(a[1], operator.mul(a[2], 3)) + operator.lt(a[0], 3) + operator.neg(a[3])",
    "b[0] = operator.floordiv(-7, a[2]) + operator.mod(-7, a[3]) + operator.xor(a[3], 6) + operator.inv(a[1])",
    "b[0] = operator.lshift(a[3], 2)\nb[1] = operator.not_(a[0])\nb[2] = operator.truth(a[1])",
    "q, r = divmod(a[3], 2)\nb[0] = q * 10 + r",
    "i = 0\nwhile i < n:\n    i += 1\nelse:\n    b[0] = i",
    "for i in range(n):\n    if i == 99:\n        break\nelse:\n    b[0] = 7",
    "assert n == n, 'always'\nb[0] = 1",
    "x, y = range(3, 5)\nb[0] = 10 * x + y",
    "x, (i, y) = enumerate(range(7, 9))\nb[0] = 10 * x[1] + i + y",
    "pass",
    "...",
    "b[0] = TABLE[2] + len(TABLE) + TABLE.shape[0] + TABLE[n - 2]",
    "b[0] = int32(MATRIX[1, 2] + MATRIX[n - 3, 1])",
    "for x in TABLE:\n    b[0] = b[0] * 2 + x",
    "for x, y in zip(TABLE, a):\n    b[0] += x * y",
    "b[0] = sum((1, a[2], 3)) + sum((a[1], a[2]), 10)",
    "b[0] = any((a[0] > 1, a[2] > 1)) + 2 * all((a[0] > 1, a[2] > 1)) + 4 * all(())",
    "t = (1, a[2]) * 2 + 2 * (5,)\nb[0] = t[3] + t[4] + len(t)",
    "if (k := a[3]) > 2:\n    b[0] = k",
    "x = y = a[2]\nb[0] = x + y",
]


def arguments() -> tuple[Any, ...]:
    return np.arange(5, dtype=np.int32), np.zeros(5, np.int32), MATRIX.copy(), 3


@pytest.mark.parametrize("text", TEXTS)
def test_as_python(text: str) -> None:
    body = "def kernel(a, b, m, n):\n" + "".join(f"    {line}\n" for line in text.split("\n"))
    common = {"TABLE": TABLE, "MATRIX": MATRIX, "operator": operator, "math": math}

    class Shared:
        class shared:
            array = staticmethod(np.zeros)

    expected = arguments()
    names = {**common, "int32": np.int32, "cuda": Shared, **{f.__name__: f for f in FUNCTIONS}}
    exec(body, names)
    names["kernel"](*expected)  # type: ignore[operator]
    found = arguments()
    device = {f.__name__: cuda.jit(f, device=True) for f in FUNCTIONS}
    run(from_source(body, {**common, "int32": int32, "cuda": cuda, **device}), 1, 1, *found)
    for x, y in zip(found[:3], expected[:3], strict=True):
        assert x.tolist() == y.tolist()


def test_long_arrays_stay_loops() -> None:
    kernel = from_source("def kernel(a, b):\n    for i, x in enumerate(a):\n        b[0] += i * x", {})
    a, b = np.arange(3000, dtype=np.int32) % 7, np.zeros(1, np.int32)
    assert len(kernel.compile((a, b), unroll_limit=16)) < 40
    run(kernel, 1, 1, a, b)
    assert b[0] == (np.arange(3000) * a).sum()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for x in n:\n    pass", "runs over range"),
        ("for i, x in enumerate(n):\n    pass", "an array, a tuple or range"),
        ("x, y, *z = (1,)", "3 targets for a tuple of 1"),
        ("b[0] = sum(a)", "sum takes a tuple"),
        ("t = (1,) * n", "constant number of times"),
        ("t = (1,) * 10**9", "more than 10000 items"),
        ("b[0] = f(1)", "no \\*\\*kwargs"),
        ("TABLE[0] = 1", "cannot be stored to"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    @cuda.jit(device=True)
    def f(x, **others):
        return x

    body = "def kernel(a, b, m, n):\n" + "".join(f"    {line}\n" for line in text.split("\n"))
    with pytest.raises(smmux.CompileError, match=message):
        from_source(body, {"f": f, "TABLE": TABLE}).ir(*arguments())


def test_a_captured_array_is_read_when_the_kernel_is_compiled() -> None:
    table = np.array([5, 6], np.int32)
    kernel = from_source("def kernel(out):\n    out[0] = table[1]", {"table": table})
    out = np.zeros(1, np.int32)
    kernel.simulate(1, 1, (out,))
    table[1] = 9
    kernel.simulate(1, 1, (out,))
    assert out[0] == 9
