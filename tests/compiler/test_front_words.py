"""Kernels with 64-bit data against the same text run by Python over NumPy's scalars, and operations on their words."""

from __future__ import annotations

import math
import types
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda
from smmux.kernel import from_source

THREADS = 64
NAMES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "int8", "uint8", "int16", "uint16", "float16")
rng = np.random.default_rng(3)
DATA: dict[str, Any] = {
    "f8": rng.standard_normal(THREADS),
    "f4": rng.standard_normal(THREADS).astype(np.float32),
    "f2": rng.standard_normal(THREADS).astype(np.float16),
    "i8": rng.integers(-(2**62), 2**62, THREADS),
    "u8": rng.integers(0, 2**64, THREADS, dtype=np.uint64),
    "i4": rng.integers(-(2**31), 2**31, THREADS).astype(np.int32),
    "u4": rng.integers(0, 2**32, THREADS).astype(np.uint32),
    "u1": rng.integers(0, 256, THREADS).astype(np.uint8),
    "down": np.arange(THREADS)[::-1].copy(),
    "tenth": 0.1,
    "large": 2**40,
    "typed": np.int64(2**33),
    "unsigned": np.uint64(2**63 + 5),
    "double": np.float64(0.1),
}
TABLE = np.arange(5) * 0.1
BIG_TABLE = np.arange(5) * 2**40


class Cast:
    """A type of `smmux.types` in plain Python."""

    def __init__(self, name: str) -> None:
        self.dtype = np.dtype(name)

    def __call__(self, value: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(value).astype(self.dtype)[()]


def in_python(text: str, arrays: dict[str, Any]) -> None:
    """Run the kernel for all threads, one after the other."""
    local = types.SimpleNamespace(array=lambda shape, dtype: np.zeros(shape, dtype))
    const = types.SimpleNamespace(array_like=lambda array: array)
    for thread in range(THREADS):
        fake = types.SimpleNamespace(
            grid=lambda _, i=thread: i, local=local, const=const, selp=lambda c, a, b: a if c else b
        )
        names = {"math": math, "np": np, "cuda": fake, "TABLE": TABLE, "BIG_TABLE": BIG_TABLE}
        names |= {name: Cast(name) for name in NAMES}
        exec(text, names)
        with np.errstate(all="ignore"):
            names["kernel"](**arrays)


BODIES = [
    ("f8", "out[i] = i / 10"),
    ("f8", "out[i] = i ** 3 * 100000"),
    ("i8", "out[i] = i * i * 1000000007 * 3"),
    ("i8", "s = 0\nfor j in range(i):\n    s += j * j * 100000\nout[i] = s"),
    ("i8", "s = 1\nj = 0\nwhile j < i and j < 40:\n    s *= 2\n    j += 1\nout[i] = s"),
    ("f8", "s = 0.0\nfor j in range(i):\n    s += 0.1\nout[i] = s"),
    ("f8", "s = 0.0\nfor j in range(f8.size):\n    s += f8[j] * tenth\nout[i] = s"),
    ("f8", "out[i] = f4[i] * tenth * 2.0"),
    ("f4", "out[i] = f4[i] * (tenth * 2.0)"),
    ("f8", "out[i] = tenth * 3.0 + f8[i]"),
    ("i8", "out[i] = i8[i] * large + 7"),
    ("i8", "out[i] = i8[i] // 7 + i8[i] % 13 + (i8[i] >> 5)"),
    ("i8", "out[i] = i8[i] // i4[i] if i4[i] != 0 else -1"),
    ("u8", ("h = uint64(14695981039346656037)\nfor j in range(8):\n"
           "    h = (h ^ u1[(i + j) % 64]) * uint64(1099511628211)\nout[i] = h")),
    ("i8", "out[i] = max(i8[i], i4[i])"),
    ("i8", "out[i] = min(i4[i], u4[i])"),
    ("i8", "out[i] = i4[i] if i % 2 else u4[i]"),
    ("i8", "out[i] = (i4[i] and u4[i]) + (i4[i] or 5)"),
    ("f8", "t = cuda.local.array(4, 'f8')\nfor j in range(4):\n    t[j] = f8[(i + j) % 64]\nout[i] = t[i % 4] + t[0]"),
    ("i8", "t = cuda.local.array(4, np.int64)\nfor j in range(4):\n    t[j] = i8[(i + j) % 64]\nout[i] = t[3] - t[1]"),
    ("f8", "c = cuda.const.array_like(TABLE)\nout[i] = c[i % 5] + c[2]"),
    ("i8", "c = cuda.const.array_like(BIG_TABLE)\nout[i] = c[i % 5] + c[2]"),
    ("i8", "out[i] = int(f8[i] * 1e6)"),
    ("i8", "out[i] = round(f8[i] * 100)"),
    ("i8", "out[i] = math.floor(f8[i] * 100) + math.ceil(f8[i]) + math.trunc(f8[i] * 7)"),
    ("f8", "out[i] = abs(f8[i]) + float(i) + math.sqrt(abs(f8[i]))"),
    ("i4", "out[i] = i4[i] < i8[i]"),
    ("i4", "out[i] = int(i8[i] < u8[i]) + int(i8[i] == -5) + int(u8[i] > 1e300) + int(u8[i] <= 2**70)"),
    ("f8", "out[i] = f8[i] % 0.7 + f8[i] // 0.3"),
    ("i8", "out[i] = abs(i8[i]) - (-i8[i]) + (~i8[i])"),
    ("i8", "a, b = divmod(i8[i], 1000003)\nout[i] = a * 31 + b"),
    ("i8", ("x = i8[i]\nfor j in range(5):\n    if x % 2 == 0:\n        x = x // 2\n    else:\n        x = 3 * x + 1\n"
           "out[i] = x")),
    ("f8", "x = f8[i]\ny = x\nwhile y < 100.0:\n    y = y * y + 1.5\nout[i] = y"),
    ("f8", "x = 1.5\nif f8[i] > 0:\n    x = f8[i]\nout[i] = x"),
    ("i8", "out[i] = i8[i] ** 3 + i ** 5"),
    ("i8", "out[i] = i8[i] << (i % 70)"),
    ("i8", "out[i] = i8[i] >> down[i]"),
    ("i4", "out[down[i]] = i"),
    ("i8", "out[i] = np.int64(i4[i]) * i4[i]"),
    ("u8", "out[i] = uint64(i4[i]) + uint64(i8[i])"),
    ("f4", "out[i] = f8[i] + i"),
    ("f2", "out[i] = f8[i] * 3"),
    ("f8", "out[i] = f2[i] * f8[i]"),
    ("f2", "out[i] = f2[i] * tenth + 1"),
    ("f2", "s = 0.0\nfor j in range(i):\n    s += f2[j]\nout[i] = s"),
    ("f8", "out[i] = f8[i] * double"),
    ("i8", "out[i] = i4[i] * typed"),
    ("i8", "out[i] = large + i"),
    ("u8", "out[i] = unsigned + np.uint64(i)"),
    ("i8", "x = 5000000000\nfor j in range(i):\n    x += 1\nout[i] = x"),
    ("f8", "s = 0\nfor j in range(i):\n    s += f8[j]\nout[i] = s"),
    ("i8", "p = (i8[i], i)\nq = (p[1], p[0])\nout[i] = q[1] - q[0]"),
    ("i8", "out[i] = not i8[i]"),
    ("i8", "x = i8[i]\nx += 2**40\nx -= i\nx ^= 0xFFFFFFFFFF\nx |= 1\nx &= ~i\nout[i] = x"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body"), BODIES, ids=[body.replace("\n", "; ")[:60] for _, body in BODIES])
def test_as_in_python(kind, body):
    arrays = {name: DATA[name] for name in DATA if name in body}
    found, wanted = np.zeros(THREADS, kind), np.zeros(THREADS, kind)
    lines = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *body.split("\n")])
    text = f"def kernel({', '.join(['out', *arrays])}):\n{lines}"
    names = {"cuda": cuda, "math": math, "np": np, "TABLE": TABLE, "BIG_TABLE": BIG_TABLE}
    names |= {name: getattr(smmux, name) for name in NAMES if hasattr(smmux, name)}
    from_source(text, names).simulate(1, THREADS, (found, *arrays.values()), gpu="GTX480-48K")
    in_python(text, {"out": wanted, **arrays})
    np.testing.assert_array_equal(found, wanted)


def launch(body: str, *arrays: Any, gpu: str = "GTX480-48K", threads: int = THREADS) -> None:
    """Run statements over arrays a, b, c, ..."""
    lines = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *body.split("\n")])
    text = f"def kernel({', '.join('abcdef'[: len(arrays)])}):\n{lines}"
    from_source(text, {"cuda": cuda, "np": np}).simulate(1, threads, arrays, gpu=gpu)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_atomics(dtype):
    values = (rng.integers(-100, 100, THREADS) / 8 if dtype is np.float64 else rng.integers(0, 2**62, THREADS)).astype(
        dtype
    )
    for name, function in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
        wanted = function.reduce(np.concatenate([values[:1], values]))
        for text in (
            f"cuda.atomic.{name}(a, 1, b[i])",
            (
                f"s = cuda.shared.array(2, np.{dtype.__name__})\nif i == 0:\n    s[1] = a[1]\ncuda.syncthreads()\n"
                f"cuda.atomic.{name}(s, 1, b[i])\ncuda.syncthreads()\nif i == 0:\n    a[1] = s[1]"
            ),
        ):
            cell = np.array([0, values[0]], dtype)
            launch(text, cell, values)
            assert cell[1] == wanted, name
    cell, old = np.zeros(1, dtype), np.zeros(THREADS, dtype)
    launch("cuda.atomic.sub(a, 0, b[i])", cell, values)
    assert cell[0] == np.subtract(dtype(0), np.add.reduce(values))
    cells = values.copy()
    launch("c[i] = cuda.atomic.exch(a, i, b[i])", cells, values[::-1].copy(), old)
    np.testing.assert_array_equal((cells, old), (values[::-1], values))
    expect = np.where(np.arange(THREADS) % 2, values, values + dtype(1))
    launch("c[i] = cuda.atomic.cas(a, i, b[i], 5)", cells := values.copy(), expect, old)
    np.testing.assert_array_equal(cells, np.where(np.arange(THREADS) % 2, dtype(5), values))


def test_counting_atomics_of_64_bits():
    cell = np.array([5], np.uint64)
    launch("cuda.atomic.inc(a, 0, 40)", cell)
    assert cell[0] == 28
    launch("cuda.atomic.dec(a, 0, 40)", cell)
    assert cell[0] == 5


def test_bits_of_64():
    values = rng.integers(-(2**62), 2**62, THREADS)
    values[:5] = 0, 1, -1, 2**40, 2**31
    found = [np.zeros(THREADS, np.int64) for _ in range(4)]
    launch(
        "b[i] = cuda.popc(a[i])\nc[i] = cuda.clz(a[i])\nd[i] = cuda.ffs(a[i])\ne[i] = cuda.brev(a[i])", values, *found
    )
    patterns = [int(v) for v in values.astype(np.uint64)]
    assert list(found[0]) == [p.bit_count() for p in patterns]
    assert list(found[1]) == [64 - p.bit_length() for p in patterns]
    assert list(found[2]) == [(p & -p).bit_length() for p in patterns]
    assert list(found[3].astype(np.uint64)) == [int(f"{p:064b}"[::-1], 2) for p in patterns]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_shuffles_of_two_words(dtype):
    values, found = DATA["i8"][:32].astype(dtype), np.zeros(32, dtype)
    launch("b[i] = cuda.shfl_down_sync(-1, a[i], 3)", values, found, gpu="K20c", threads=32)
    np.testing.assert_array_equal(found[:29], values[3:])


def test_fma_rounds_once():
    values, found = DATA["f8"], np.zeros(THREADS)
    launch("b[i] = cuda.fma(a[i], a[i], -1.0)", values, found)
    assert list(found) == [float(Fraction(float(x)) ** 2 - 1) for x in values]


def test_the_larger_of_a_typed_and_a_plain_constant_has_the_type_of_both():
    @cuda.jit
    def kernel(signed, unsigned, a):
        signed[0] = max(smmux.int64(7) >> 4, 2147483648) - a[0]
        signed[1] = min(smmux.int64(7), -2147483649) + a[0]
        unsigned[0] = max(smmux.uint64(3), 18446744073709551615) - smmux.uint32(1)

    signed, unsigned, five = np.zeros(2, np.int64), np.zeros(1, np.uint64), np.array([5], np.int32)
    kernel.simulate(1, 1, (signed, unsigned, five))
    assert signed.tolist() == [np.maximum(np.int64(0), 2**31) - 5, np.minimum(np.int64(7), -(2**31) - 1) + 5]
    assert unsigned.tolist() == [np.maximum(np.uint64(3), 2**64 - 1) - np.uint64(1)]
