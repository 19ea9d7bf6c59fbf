"""Places where compiled Numba, in int64 and float64, can get another value; and that shipped kernels have none."""

import math

import numpy as np
import pytest

from smmux import cuda, float32, int32, uint32
from smmux.kernel import from_source

PORTABLE = [
    "out[i] = k[i] + words[i]",
    "out[i] = k[i] * 1000",  # the low 32 bits are the same, and a store takes those
    "words[i] = w[i] * 3 + w[0]",
    "words[i] = (w[i] * 3) & 0xFF",
    "words[i] = uint32(w[i] + 1) >> 3",
    "a[i] = a[i] * 2.0",  # one operation in float64, rounded once
    "a[i] = a[i] / 3",
    "a[i] = float32(a[i] * 2.0) + a[0]",
    "a[i] = a[i] * float32(0.1) + a[0]",
    "a[i] = math.sqrt(a[i])",
    "total = float32(0)\nfor j in range(4):\n    total += a[j]\na[i] = total",
    "for j in range(i, 100, cuda.gridsize(1)):\n    a[0] = a[j]",
    "if i + 1 < 4:\n    a[i] = a[i + 1]",
    "out[i] = (i // 3) * 2 + i % 5",
    "out[i] = octets[i] * octets[0] // 3",
]
DIFFERENT = [
    ("out[i] = (k[i] + 1) // 2", "// uses a value that Numba holds as int64", 1),
    ("if k[i] * 2 > 5:\n    out[i] = 1", "comparison uses a value that Numba holds as int64: write int32(...)", 1),
    ("words[i] = (w[i] + 1) >> 1", "write uint32(...)", 1),
    ("a[i] = float32(k[i] * 2)", "conversion to float32 uses a value", 1),
    ("a[i] = a[i] * 0.1", "in float64: write float32(...) around literals", 1),
    ("a[i] = a[i] * 2.0 + a[0]", "holds as float64: write float32(...) around it", 1),
    ("a[i] = k[i] / 3", "in float64", 1),
    ("total = 0.0\nfor j in range(4):\n    total += a[j]\na[i] = total", "holds as float64", 3),
    ("a[i] = math.sin(i)", "math.sin of an integer is a float64", 1),
    ("if a[i] > 0.1:\n    out[i] = 1", "Numba compares in float64", 1),
    ("a[i] = s * a[i]", "holds as float64", 1),  # a Python float is a float64 in Numba
]


def kernel(statements):
    lines = "".join(f"    {line}\n" for line in statements.split("\n"))
    text = f"def kernel(out, words, a, k, w, octets, s):\n    i = cuda.grid(1)\n{lines}"
    return from_source(text, {"cuda": cuda, "math": math, "float32": float32, "int32": int32, "uint32": uint32})


ARGUMENTS = (*(np.zeros(4, t) for t in (np.int32, np.uint32, np.float32, np.int32, np.uint32, np.uint8)), 0.5)


@pytest.mark.parametrize("statements", PORTABLE)
def test_portable(statements):
    assert kernel(statements).portability(*ARGUMENTS) == []


@pytest.mark.parametrize(("statements", "message", "line"), DIFFERENT)
def test_different(statements, message, line):
    notes = kernel(statements).portability(*ARGUMENTS)
    assert any(message in note.message and note.loc.line == line + 2 for note in notes), notes


def test_what_is_different_is_noted_once():
    notes = kernel("out[i] = (k[i] + 1) // 2 + (out[i] - 1)\nout[i] = out[i] // 2").portability(*ARGUMENTS)
    assert len(notes) == 1
    assert str(notes[0]).startswith("<kernel>:3:")


def test_wide_elements_show_the_upper_bits():
    wide = (np.zeros(4, np.int64), *ARGUMENTS[1:])
    notes = kernel("out[i] = k[i] * k[i]\nout[i] = out[i] * out[i]\nk[i] = k[i] * 3").portability(*wide)
    assert [(note.loc.line, note.message.split(" uses")[0]) for note in notes] == [(3, "conversion to int64")]
