"""Indices: negative ones count from the end, no byte offset comes round, and both are free where ranges are known."""

import random
import re
import warnings

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, int8, int32, int64, uint8, uint32
from smmux.kernel import from_source
from smmux.kernels.overloads import AxisWarning
from tests.compiler.front import run

NAMES = {
    "cuda": cuda, "int32": int32, "uint32": uint32, "float32": float32, "int8": int8, "uint8": uint8, "np": np,
    "int64": int64, "TABLE": np.arange(4, dtype=np.int32),
}  # fmt: skip


def kernel_of(body, parameters="out, a, n"):
    lines = "\n    ".join(body.splitlines())
    return from_source(f"def kernel({parameters}):\n    {lines}\n", NAMES)


SPACES = {
    "global": "s = a",
    "shared": "s = cuda.shared.array(4, int32)\nfor k in range(4):\n    s[k] = a[k]",
    "local": "s = cuda.local.array(4, int32)\nfor k in range(4):\n    s[k] = a[k]",
    "const": "s = cuda.const.array_like(TABLE)",
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("index", ["n", "-1 - (3 - n % 4)", "int32(n)", "np.int8(n)"])
def test_negative_indices_count_from_the_end(space, index):
    kernel = kernel_of(f"{SPACES[space]}\nout[0] = s[{index}]\nout[1] = s[-1]\nout[2] = s[n - n - 3]")
    for n in (-4, -1, -3):
        out = np.zeros(3, np.int32)
        run(kernel, 1, 1, out, np.arange(4, dtype=np.int32), n)
        assert list(out) == [4 + n if "%" not in index else n % 4, 3, 1]


def test_negative_indices_of_stores_atomics_rows_and_axes():
    kernel = kernel_of(
        "a[n, -2] = 5\na[0, n] += 7\ncuda.atomic.add(a, (n, n), 2)\nrow = a[n]\nrow[n + 1] = 1\n"
        "last = a[-1]\nlast[0] = 9"
    )
    a = np.zeros((4, 3), np.int32)
    run(kernel, 1, 1, np.zeros(1, np.int32), a, -3)
    expected = np.zeros((4, 3), np.int32)
    expected[-3, -2], expected[0, -3], expected[-1, 0] = 5, 7, 9
    expected[-3, -3] += 2
    expected[-3, -2] = 1
    np.testing.assert_array_equal(a, expected)


@pytest.mark.quick
@pytest.mark.parametrize(
    "index",
    [
        "n",
        "n + 1",
        "uint32(n)",
        "uint32(-n)",
        "-n - 1",
        "1 << 30",
        "-(1 << 30)",
        "1 << 33",
        "-5",
        "4",
        "uint32(-1)",
        "(1 << 30) + 1",
    ],
)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("use", ["out[0] = s[{0}]", "s[{0}] = 1", "s[{0}] += 1", "cuda.atomic.add(s, {0}, 1)"])
def test_no_offset_comes_round(index, space, use):
    if (space == "const" and "out" not in use) or (space == "local" and "atomic" in use):
        return
    kernel = kernel_of(SPACES[space] + "\n" + use.format(index))
    for n in (1 << 30, 1 << 29, (1 << 31) - 1):
        a = np.arange(4, dtype=np.int32)
        with pytest.raises((smmux.OutOfBoundsError, smmux.CompileError)):
            kernel.simulate(1, 1, (np.zeros(1, np.int32), a, n))
        np.testing.assert_array_equal(a, np.arange(4))


@pytest.mark.parametrize("index", ["65536, 1", "n, 1", "n + 65536, 1", "n * 2, n", "-65535, 1", "n, n"])
def test_no_offset_of_two_axes_comes_round(index):
    kernel = kernel_of(f"out[0] = a[{index}]")
    row = kernel_of("row = a[{}]\nout[0] = row[{}]".format(*index.split(", ")))
    a = np.broadcast_to(np.zeros(1, np.int32), (4, 65536)).copy()
    for n in (65536, 32768, 1 << 24):
        for found in (kernel, row):
            if "n" in index or n == 65536:
                with pytest.raises(smmux.OutOfBoundsError):
                    found.simulate(1, 1, (np.zeros(1, np.int32), a, n))


LONG = {
    "load": "out[0] = a[n]",
    "store": "a[n] = 1",
    "wide": "a[int64(n)] = 1",
    "constant": "out[0] = a[2147483648]",
    "slice": "out[0] = a[n:][1]",
    "fill": "a[5:] = 1",
    "view": "out[0] = a.view(int32).view(int8)[n]",
    "row": "out[0] = a.reshape(1, 2147483648)[0][n]",
}


@pytest.mark.parametrize("body", LONG)
def test_an_axis_that_an_index_cannot_count_is_refused(body):
    """Its elements from 2**31 on have no int32: a 64-bit index would mean the element before them."""
    with pytest.raises(smmux.CompileError, match="2147483648 elements; an index is an int32"):
        kernel_of(LONG[body]).simulate(1, 1, (np.zeros(1, np.int32), np.zeros(1 << 31, np.int8), 5), gpu="K20c")


@pytest.mark.parametrize(
    ("bounds", "error", "cure"),
    [
        ("len(a)", "int64(len(a))", "int64(len(a))"),
        ("5, a.size", "int64(a.size)", "5, int64(a.size)"),
        ("n, a.shape[0], 7", "int64(a.shape[0])", "n, int64(a.shape[0]), 7"),
    ],
)
def test_a_range_over_such_an_axis_counts_in_an_int64(bounds, error, cure):
    """A kernel without 64-bit data counts in an int32: the error has what the range may say instead."""
    a = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (3 << 31,), (0,))
    body = "for i in range({}):\n    out[0] = i\n    if i > 9:\n        break"
    with pytest.raises(smmux.CompileError, match=re.escape(f"in which this range counts: write {error}")):
        kernel_of(body.format(bounds)).simulate(1, 1, (np.zeros(1, np.int32), a, 5))
    out = np.zeros(1, np.int32)
    kernel_of(body.format(cure)).simulate(1, 1, (out, a, 5))
    assert out[0] >= 10


@pytest.mark.parametrize("items", ["a", "enumerate(a)", "reversed(a)", "zip(a, out)"])
def test_items_of_such_an_axis_are_refused_by_its_name(items):
    a = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (3 << 31,), (0,))
    with pytest.raises(smmux.CompileError, match="'a' has an axis of 6442450944 elements; an index is an int32"):
        kernel_of(f"for item in {items}:\n    out[0] = 1").simulate(1, 1, (np.zeros(1, np.int32), a, 5))


def test_the_longest_axis_that_an_index_counts():
    kernel = kernel_of("out[0] = a.size\na[int64(n)] = 1\na[-2] = 2")
    out, a = np.zeros(1, np.int64), np.zeros((1 << 31) - 1, np.int8)
    kernel.simulate(1, 1, (out, a, (1 << 31) - 2), gpu="K20c")
    assert (out[0], a[-1], a[-2]) == ((1 << 31) - 1, 1, 2)


FREE = {
    "guarded": "i = cuda.grid(1)\nif i < n:\n    out[i] = a[i]",
    "size": "i = cuda.grid(1)\nif i < a.size:\n    out[i] = a[i]",
    "returned": "i = cuda.grid(1)\nif i < 1 or i >= n:\n    return\nout[i] = a[i] + a[i - 1]",
    "stencil": "i = cuda.grid(1)\nif i > 0 and i < n - 1:\n    out[i] = a[i - 1] + a[i] + a[i + 1]",
    "chained": "i = cuda.grid(1)\nif 0 < i < n - 1:\n    out[i] = a[i - 1] + a[i] + a[i + 1]",
    "signed": "i = n - cuda.threadIdx.x\nif 0 <= i < n:\n    out[i] = a[i]",
    "grid-stride": "for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n    out[i] = a[i]",
    "grid-stride-while": "i = cuda.grid(1)\nwhile i < n:\n    out[i] = a[i]\n    i += cuda.gridsize(1)",
    "sum": "s = 0\nfor i in range(n):\n    s += a[i]\nout[0] = s",
    "down": "s = 0\nfor i in range(n - 1, -1, -1):\n    s += a[i]\nout[0] = s",
    "pitch": "x, y = cuda.grid(2)\nif x < n and y < 1:\n    out[y * n + x] = a[y * n + x]",
    "mask": "out[cuda.threadIdx.x & 3] = a[n & 3]",
    "remainder": "out[n % 4] = a[(n + cuda.threadIdx.x) % 4]",
    "clamp": "out[0] = a[min(max(n - 7, 0), 3)]",
    "halving": "s = cuda.shared.array(64, int32)\nt = cuda.threadIdx.x\ns[t] = t\nstep = cuda.blockDim.x // 2\n"
    "while step > 0:\n    cuda.syncthreads()\n    if t < step:\n        s[t] += s[t + step]\n    step //= 2\n"
    "out[0] = s[0]",
    "reversed": "i = cuda.grid(1)\nif i < n:\n    out[n - 1 - i] = a[i]",
    "selected": "i = cuda.grid(1) - 1\nout[0] = a[i if i >= 0 else 0]",
    "bytes": "out[0] = a[int32(uint8(n))]",
    "table": "t = cuda.const.array_like(TABLE)\nout[0] = a[t[n & 3]]",
    "unsigned": "i = uint32(n)\nif i < uint32(4):\n    out[0] = a[i]",
    "two-loops": "s = 0\nfor i in range(n):\n    for j in range(i, n):\n        s += a[j] * a[i]\nout[0] = s",
    "found": "i = 0\nwhile a[i] != 3:\n    i += 1\nout[0] = i",
    "shifts": "i = cuda.grid(1)\nout[i >> 5] = a[(i << 1) >> 6]",
    "asserted": "i = a[0]\nassert 0 <= i < 4\nout[i] = 1",
}


@pytest.mark.parametrize("body", FREE.values(), ids=FREE)
def test_it_costs_nothing_where_the_range_is_known(body):
    kernel = kernel_of(body)
    a = np.arange(4, dtype=np.int32)
    assert not kernel.compile((a.copy(), a, 4)).guarded


COSTS = {
    "data": "out[0] = a[a[0]]",
    "parameter": "out[0] = a[n - 5]",
    "before": "i = cuda.grid(1)\nout[i] = a[i - 1]",
}


@pytest.mark.parametrize("body", COSTS.values(), ids=COSTS)
def test_the_operations_stand_where_they_are_needed(body):
    a = np.arange(4, dtype=np.int32)
    assert kernel_of(body).compile((a.copy(), a, 4)).guarded


TERMS = ("t", "n", "m", "d", "u", "i", "3", "7", "-2", "1000000007")


def index_text(rng, depth=0):
    if depth > 2 or rng.random() < 0.25:
        return rng.choice(TERMS)
    a, b = (index_text(rng, depth + 1) for _ in range(2))
    return rng.choice(
        [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} % 5)",
            f"({a} // 3)",
            f"({a} & 15)", f"({a} >> 2)", f"({a} if {b} > 2 else {b})", f"(-{a})", f"abs({a})", f"({a} | 1)", f"(~{a})",
        ]
    )  # fmt: skip


def random_kernel(rng):
    first, second = index_text(rng), index_text(rng)
    condition = rng.choice(
        ["j < 12", "j >= 0", "-3 < j < 9", "j != 0", "j < n or j > m", "not (j < 0)", "j * 2 < 11", "n > 2"]
    )
    loop = rng.choice(
        ["range(n)", "range(m, n)", "range(n, m, -1)", "range(0, 9, 2)", "range(t, 12, 5)", "range(n - 1, -1, -1)"]
    )
    return f"""
t = cuda.threadIdx.x
d = data[t]
u = int32(data[t] & 7)
i = 2
for i in {loop}:
    i = int32(i)
    j = int32({first})
    if {condition}:
        seen[t] = j
        out[t] += a[j]
j = int32({second})
seen[t] = j
out[t] += a[j]
"""


@pytest.mark.quick(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_indices_are_those_of_python_or_outside(seed):
    """The value of NumPy's element, or an error: against the same text executed by Python with numbers of 32 bits."""
    rng = random.Random(seed)
    text = random_kernel(rng)
    kernel = kernel_of(text, "out, a, data, seen, n, m")
    a = np.arange(100, 112, dtype=np.int32)
    for n, m in ((3, 8), (0, 12), (-4, 3)):
        data = np.array([0, 5, -7, 2**31 - 1], np.int32)
        for lane in range(4):
            one = data[lane : lane + 1]
            expected = np.zeros(1, np.int32)
            try:
                emulate(text, a, one, expected, n, m)
            except IndexError:
                expected = None
            except ZeroDivisionError:
                continue
            out = np.zeros(1, np.int32)
            arguments = (out, a, one, np.zeros(1, np.int32), np.int32(n), np.int32(m))
            if expected is None:
                with pytest.raises(smmux.OutOfBoundsError):
                    kernel.simulate(1, 1, arguments)
            else:
                kernel.simulate(1, 1, arguments)
                assert out[0] == expected[0], text


def emulate(text, a, data, out, n, m):
    class Cuda:
        class threadIdx:
            x = np.int32(0)

    names = {
        "cuda": Cuda, "a": a, "data": data, "seen": np.zeros(1, np.int32), "out": out,
        "n": np.int32(n), "m": np.int32(m),
        "int32": lambda v: np.array(int(v) & 0xFFFFFFFF, np.uint32).view(np.int32)[()],
        "range": lambda *bounds: (np.int32(k) for k in range(*map(int, bounds))),
    }  # fmt: skip
    with np.errstate(all="ignore"):
        exec(text, names)


OUTSIDE = {
    "out[0] = a[0, 5]": "axis 1 of 'a', whose extent is 4",
    "out[0] = a[0, n]": "axis 1 of 'a', whose extent is 4",
    "out[0] = a[n - 8, -5]": "axis 1 of 'a', whose extent is 4",
    "row = a[0]\nout[0] = row[n]": "axis 0 of 'a', whose extent is 4",
    "v = a[0, 1:n - 3]\nout[0] = v[n - 4]": "axis 0 of 'a', whose extent is known only at run time",
    "s = cuda.shared.array((2, 2), int32)\ns[0, n - 4] = 1": "axis 1 of 's', whose extent is 2",
    "cuda.atomic.add(a, (0, n), 1)": "axis 1 of 'a', whose extent is 4",
}


@pytest.mark.parametrize("body", OUTSIDE)
def test_an_index_outside_its_axis_is_found_under_a_check(body):
    kernel = kernel_of(f"{body}\nout[0] += 1")
    a = np.zeros((3, 4), np.int32)
    with warnings.catch_warnings(action="ignore", category=AxisWarning):
        kernel.simulate(1, 1, (np.zeros(1, np.int32), a.copy(), 6))
    with pytest.raises(smmux.OutOfBoundsError, match=OUTSIDE[body]) as caught:
        kernel.simulate(1, 1, (np.zeros(1, np.int32), a, 6), check="bounds")
    assert caught.value.line == 1 + len(body.splitlines())
    assert caught.value.thread == (0, 0, 0)


def test_a_check_of_bounds_changes_neither_values_nor_cycles():
    kernel = kernel_of("i = cuda.grid(1)\nif i < n:\n    out[i] += a[i - n] + a[-1]")
    found = []
    for check in (None, "bounds"):
        out, a = np.ones(8, np.int32), np.arange(8, dtype=np.int32)
        result = kernel.simulate(1, 32, (out, a, 8), check=check)
        np.testing.assert_array_equal(out, 1 + a + 7)
        found.append(result.cycles)
    assert found[0] == found[1]


PROMISES = {
    "assert n < 7": None,
    "assert n < 5": "assert n < 5 does not hold",
    "assert n > 6, 'so many'": "assert n > 6 does not hold",
    "assert False": "assert False does not hold",
    "assert a[0, 1] == 2": "assert a\\[0, 1\\] == 2 does not hold",
    "assert 10 // (n - 6) > 0": "by zero",
    "if n > 7:\n    assert n == 8": None,
    "assert print(n)": None,
}


@pytest.mark.parametrize("body", PROMISES)
def test_an_assert_that_does_not_hold_is_found_under_a_check(body):
    """What Python does at the assert, where it calls nothing."""
    kernel = kernel_of(f"{body}\nout[0] += 1")
    told = PROMISES[body]
    a = np.ones((3, 4), np.int32)
    out = np.zeros(1, np.int32)
    kernel.simulate(1, 1, (out, a, 6))
    assert out[0] == 1
    failed = None
    try:
        exec(compile(body, "", "exec"), {"n": 6, "a": a})
    except (AssertionError, ZeroDivisionError) as error:
        failed = type(error)
    if "print" in body or failed is None:
        kernel.simulate(1, 1, (out, a, 6), check="bounds")
        assert out[0] == 2
        return
    with pytest.raises(failed, match=told) as caught:
        kernel.simulate(1, 1, (out, a, 6), check="bounds")
    assert caught.value.line == 2
    assert out[0] == 1
