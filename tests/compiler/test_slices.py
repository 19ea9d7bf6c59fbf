"""Slices and views, against NumPy's: values read through them, values stored through them, and extents."""

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, int32
from smmux.kernel import from_source
from tests.compiler.front import run

TABLE = np.arange(12, dtype=np.int32).reshape(3, 4)
NAMES = {"cuda": cuda, "int32": int32, "float32": float32, "TABLE": TABLE, "np": np}

PROBE = """
def kernel(out, a, n, m):
    s = {array}
    v = s[{index}]
    out[0] = v.shape[0]
    out[1] = v.size
    total = 0
    k = 3
    for i in range(v.shape[0]):
        total += (i + 1) * v[i]
        if k < 40:
            out[k] = v[i]
            k += 1
    out[2] = total
    if v.shape[0] > 0:
        out[40] = v[-1]
        out[41] = v[n - n - 1]
"""
SPACES = {
    "global": "a",
    "local": "cuda.local.array(9, int32)\n    for j in range(9):\n        s[j] = a[j]",
    "shared": "cuda.shared.array(9, int32)\n    for j in range(9):\n        s[j] = a[j]",
}


def expected_of(index, a, n, m):
    v = eval(f"a[{index}]", {"a": a, "n": n, "m": m, "np": np})
    out = np.zeros(42, np.int32)
    out[0], out[1], out[2] = len(v), v.size, (v * np.arange(1, len(v) + 1)).sum()
    out[3 : 3 + len(v)] = v
    if len(v):
        out[40] = out[41] = v[-1]
    return out


INDICES = [
    "1:4", ":", "n:", ":n", "n:m", "m:n", "::-1", "n::-1", ":n:-1", "m:n:-1", "n:m:2", "m::-2", "-3:", ":-2", "n:-1",
    "::3", "-100:100", "100:", "n:m:3", "8:n:-3", "None:n", "-n:", ":-m", "n::4",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("index", INDICES)
def test_a_vector(index, space):
    kernel = from_source(PROBE.format(array=SPACES[space], index=index), NAMES)
    a = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5], np.int32)
    for n, m in ((0, 1), (2, 5), (8, 1), (-4, -1), (20, 5), (-20, 1)):
        out = np.zeros(42, np.int32)
        kernel.simulate(1, 1, (out, a, np.int32(n), np.int32(m)))
        np.testing.assert_array_equal(out, expected_of(index, a, n, m), f"{index} {n} {m}")


@pytest.mark.parametrize(
    "index",
    [
        "1, :", ":, 2", "n, 1:3", "1:, n", "::-1, ::2", "..., n", "n, ...", "...", "None, n", "n, None", "-1, ::-1",
        ":, n:", "n:m", "n:m, 1:n + 2",
    ],
)  # fmt: skip
def test_a_matrix(index):
    shape = eval(f"TABLE[{index}]", {"TABLE": TABLE, "n": 1, "m": 3}).ndim
    loops = "".join(f"{'    ' * (k + 1)}for i{k} in range(v.shape[{k}]):\n" for k in range(shape))
    names = ", ".join(f"i{k}" for k in range(shape))
    text = f"""
def kernel(out, a, n, m):
    v = a[{index}]
    k = 0
{loops}{"    " * (shape + 1)}out[k] = v[{names}]
{"    " * (shape + 1)}k += 1
    out[20] = k
    out[21] = v.size
"""
    kernel = from_source(text, NAMES)
    for a in (TABLE, np.asfortranarray(TABLE), np.repeat(TABLE, 2, 1)[:, ::2], TABLE[::-1, ::-1], TABLE[:, ::-1]):
        v = eval(f"a[{index}]", {"a": a, "n": 1, "m": 3})
        out = np.zeros(22, np.int32)
        kernel.simulate(1, 1, (out, a, np.int32(1), np.int32(3)))
        np.testing.assert_array_equal(out[: v.size], v.ravel())
        assert list(out[20:]) == [v.size, v.size]


def put(a, place, value):
    a[place] = value


STORES = {
    "a[1:3] = 7": lambda a, n: a.__setitem__(slice(1, 3), 7),
    "a[:] = n": lambda a, n: a.__setitem__(slice(None), n),
    "a[n:, 1] = 5": lambda a, n: a.__setitem__((slice(n, None), 1), 5),
    "a[::-1, 0] = b": lambda a, n: a.__setitem__((slice(None, None, -1), 0), [10, 11, 12]),
    "a[1] = a[0, 0]": None,
    "v = a[1:, 1:]\nv[0, 0] = 9\nv[n, -1] += 4": lambda a, n: (
        a.__setitem__((1, 1), 9),
        a.__setitem__((2, 3), a[2, 3] + 4),
    ),
    "v = a[n]\nv[1:3] = n": lambda a, n: a.__setitem__((1, slice(1, 3)), n),
    "for r in range(n + 2):\n    row = a[r, :]\n    row[r] = 50 + r": lambda a, n: [
        a.__setitem__((r, r), 50 + r) for r in range(3)
    ],
    "v = a[0:n]\nif n > 0:\n    v = a[n:3]\nv[0, 0] = 1": lambda a, n: a.__setitem__((1, 0), 1),
    "f = a.ravel()\nf[5] = -1\ng = a.reshape(2, -1)\ng[1, 5] = -2": lambda a, n: (
        a.__setitem__((1, 1), -1),
        a.__setitem__((2, 3), -2),
    ),
    "a[n] = TABLE[2]": lambda a, n: a.__setitem__(1, TABLE[2]),
    "a[0, 0] = len(TABLE) + TABLE[n, -1] + TABLE.shape[1]": lambda a, n: a.__setitem__((0, 0), 3 + 7 + 4),
}


@pytest.mark.parametrize("text", STORES)
def test_stores(text):
    lines = "\n    ".join(text.splitlines())
    kernel = from_source(f"def kernel(a, b, n):\n    {lines}\n", NAMES)
    a, b = TABLE.copy(), np.array([10, 11, 12], np.int32)
    if STORES[text] is None or "a[n] = TABLE" in text:
        with pytest.raises(smmux.CompileError):
            kernel.simulate(1, 1, (a, b, np.int32(1)))
        return
    expected = TABLE.copy()
    STORES[text](expected, 1)
    kernel.simulate(1, 1, (a, b, np.int32(1)))
    np.testing.assert_array_equal(a, expected)


def test_views_are_arguments_and_results_of_device_functions():
    @cuda.jit(device=True)
    def total(v):
        s = 0
        for i in range(len(v)):
            s += v[i]
        return s

    @cuda.jit(device=True)
    def tail(v, n):
        return v[n:]

    @cuda.jit
    def kernel(out, a, n):
        i = cuda.threadIdx.x
        out[i] = total(a[i, :]) + 100 * total(a[:, i]) + 10000 * total(tail(a[i], n))

    out = np.zeros(3, np.int32)
    run(kernel, 1, 3, out, TABLE.copy(), np.int32(2))
    np.testing.assert_array_equal(out, TABLE.sum(1) + 100 * TABLE.sum(0)[:3] + 10000 * TABLE[:, 2:].sum(1))


def test_loops_over_views():
    @cuda.jit
    def kernel(out, a, n):
        for row in a[n:]:
            for x in row[::-1]:
                out[0] = out[0] * 3 + x
        for i, x in enumerate(a[0, n:]):
            out[1] += (i + 1) * x

    out = np.zeros(2, np.int32)
    run(kernel, 1, 1, out, TABLE.copy(), np.int32(1))
    expected = 0
    for x in TABLE[1:, ::-1].ravel():
        expected = expected * 3 + int(x)
    assert list(out) == [expected, 1 * 1 + 2 * 2 + 3 * 3]


def test_arrays_are_unpacked_and_looped_over_in_tuples():
    @cuda.jit
    def kernel(out, points, arrays):
        i = cuda.threadIdx.x
        x, y = points[i]
        first, *rest = points[i, ::-1]
        for a in arrays:
            x += a[i]
        out[i] = x + 10 * y + 100 * first + 1000 * rest[0]

    points = np.array([[3, 4], [5, 6]], np.int32)
    out = np.zeros(2, np.int32)
    run(kernel, 1, 2, out, points, (np.array([1, 2], np.int32), np.array([3, 4, 5], np.int32)))
    np.testing.assert_array_equal(out, points[:, 0] + [4, 6] + 110 * points[:, 1] + 1000 * points[:, 0])
