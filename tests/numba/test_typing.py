"""`typing="numba"`: types and values of expressions against Numba's own compiler, which types kernels as it does these
functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.errors import ConfigError
from smmux.kernel import from_source

numba = pytest.importorskip("numba")

THREADS = 32
UNARY = (
    "-a", "+a", "abs(a)", "a + 1", "a * 3", "a / 2", "a // 3", "a % 5", "a * 0.1", "max(a, 1)", "min(a, 0.5)",
    "a ** 2", "a if a > 1 else 7", "(a + 1) / 3", "(a * 5) / 3", "math.sqrt(abs(a))",
)  # fmt: skip
INTEGER = ("a << 3", "a >> 1", "a & 255", "~a")
BINARY = (
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a // b",
    "a % b",
    "max(a, b)",
    "a if a < b else b",
    "(a + b) / 3",
    "(a * b) / 7",
)
BITS = ("a & b", "a ^ b", "a << (b & 15)", "a >> (b & 15)")
TYPES = ("uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64")
PAIRS = (
    ("int32", "int32"), ("int32", "uint32"), ("uint32", "uint32"), ("int64", "uint64"), ("int32", "float32"),
    ("uint8", "uint32"), ("uint8", "int16"), ("int16", "float32"), ("float32", "float32"), ("float32", "float64"),
    ("uint64", "int32"), ("uint32", "int64"), ("int64", "float32"),
)  # fmt: skip


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Numbers of a type, none of them 0 or next to its limits; half of them small."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return (rng.standard_normal(THREADS) * 10.0 ** rng.integers(-2, 3, THREADS)).astype(dtype)
    limits = np.iinfo(dtype)
    values = rng.integers(max(limits.min + 1, -(2**62)), min(limits.max, 2**62), THREADS, dtype=dtype)
    values[: THREADS // 2] = values[: THREADS // 2] % 90 + 1
    return np.where(values == 0, 1, values).astype(dtype)


def compare(expressions: tuple[str, ...], **arrays: np.ndarray) -> None:
    """Demand Numba's values of expressions, stored as Numba's types."""
    names = ", ".join(arrays)
    space: dict[str, Any] = {"math": math}
    exec(f"def function({names}):\n    return {', '.join(expressions)}\n", space)
    function = numba.njit(space["function"])
    rows = [function(*row) for row in zip(*arrays.values(), strict=True)]
    types = [str(t) for t in function.nopython_signatures[0].return_type]
    wanted = [np.array(column, t) for column, t in zip(zip(*rows, strict=True), types, strict=True)]
    found = [np.zeros(THREADS, t) for t in types]
    outs = [f"out{n}" for n in range(len(types))]
    lines = ["i = cuda.threadIdx.x", *(f"{name} = all_{name}[i]" for name in arrays)]
    lines += [f"{out}[i] = {expression}" for out, expression in zip(outs, expressions, strict=True)]
    parameters = ", ".join([*outs, *(f"all_{name}" for name in arrays)])
    text = f"def kernel({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    kernel = from_source(text, {"cuda": cuda, "math": math})
    kernel.simulate(1, THREADS, (*found, *arrays.values()), gpu="GTX285", typing="numba")
    for expression, got, want in zip(expressions, found, wanted, strict=True):
        np.testing.assert_array_equal(got, want, f"{expression}: {want.dtype}")


@pytest.mark.quick(3)
@pytest.mark.parametrize("dtype", TYPES)
def test_one_number(dtype):
    compare(UNARY + (() if dtype.startswith("float") else INTEGER), a=numbers(dtype, 1))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_least_number_has_no_size(dtype):
    least = np.full(THREADS, np.iinfo(dtype).min, dtype)
    compare(("abs(a)", "abs(a) * 2", "abs(a) * b", "-a"), a=least, b=np.ones(THREADS, np.float32))


@pytest.mark.quick(7)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_numbers(first, second):
    integers = not (first + second).count("float")
    compare(BINARY + (BITS if integers else ()), a=numbers(first, 1), b=numbers(second, 2))


@pytest.mark.quick(3)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "int64", "uint64"])
def test_divmod(dtype):
    calls = ("divmod(a, b)", "divmod(b, a)", "divmod(a > 5, b)", "divmod(b, a != 0)", "divmod(7, b)")
    divided = tuple(f"{call}[{part}]" for call in calls for part in (0, 1))
    compare(divided, a=numbers(dtype, 1), b=numbers("uint64", 2))


def run(body: str, out: np.ndarray, *arrays: Any) -> np.ndarray:
    """Run statements under Numba's rules."""
    lines = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *body.split("\n")])
    text = f"def kernel({', '.join(['out', *'abc'[: len(arrays)]])}):\n{lines}"
    from_source(text, {"cuda": cuda}).simulate(1, THREADS, (out, *arrays), gpu="GTX285", typing="numba")
    return out


def test_variables_unify():
    values = numbers("float32", 3)
    found = run("s = 0\nfor j in range(32):\n    s += a[j]\nout[i] = s", np.zeros(THREADS), values)
    total = 0.0
    for value in values:
        total += np.float64(value)
    assert found[0] == total
    big = np.full(THREADS, 2**31 - 1, np.int32)
    found = run("x = a[i]\nfor j in range(3):\n    x = x * 2\nout[i] = x", np.zeros(THREADS, np.int64), big)
    assert found[0] == (2**31 - 1) * 8


def test_arguments_and_indices():
    n = np.int32(2**30)
    np.testing.assert_array_equal(
        run("out[i] = i * a * b", np.zeros(THREADS, np.int64), n, 8), [i * 2**33 for i in range(THREADS)]
    )
    found = run("out[i] = a[i] * b", np.zeros(THREADS), np.full(THREADS, 3, np.float32), 0.1)
    np.testing.assert_array_equal(found, 3.0 * 0.1)


@pytest.mark.quick(2)
@pytest.mark.parametrize("part", ["float32", "float64", "uint16", "int8", "int32", "uint8"])
def test_complex_numbers(part):
    first = numbers("float64", 7) + 1j * numbers("float64", 9)
    second = (numbers("float32", 8) + 1j * numbers("float32", 10)).astype(np.complex64)
    compare(
        ("a / b", "b / a", "a / c", "b / c", "c / a", "c / b", "b + c", "c * b"), a=first, b=second, c=numbers(part, 11)
    )


STATEMENTS = (
    ("f8", "x = 0\nfor j in range(i):\n    x += f4[j]\nout[i] = x"),
    ("f8", "x = 0.0\nfor j in range(i):\n    x += f4[j] * p\nout[i] = x"),
    ("i8", "x = i4[i]\nfor j in range(4):\n    x = x * 3 + j\nout[i] = x"),
    ("f4", "out[i] = f4[i] * 2.0 + i4[i]"),
    ("i8", "h = 5381\nfor j in range(i):\n    h = h * 33 + u1[j]\nout[i] = h"),
    ("i8", "h = u4[i]\nh ^= h << 13\nh ^= h >> 17\nh ^= h << 5\nout[i] = h"),
    ("i8", "out[i] = u1[i] - u1[31 - i]"),
    ("i8", "out[i] = max(i4[i], i8[i]) - min(u4[i], i4[i])"),
    ("f8", "y = f4[i]\nif y > 0:\n    y = y * 0.5\nout[i] = y"),
    ("f8", "a, b = 1.0, f4[i]\nfor j in range(5):\n    a, b = b, a + b\nout[i] = a"),
    ("f8", "out[i] = f4[i] if i % 2 else f8[i]"),
)


@pytest.mark.parametrize(("kind", "body"), STATEMENTS)
def test_statements(kind, body):
    data = {
        **{name: numbers(dtype, 5) for name, dtype in (("f4", "float32"), ("f8", "float64"), ("i4", "int32"))},
        **{name: numbers(dtype, 6) for name, dtype in (("i8", "int64"), ("u4", "uint32"), ("u1", "uint8"))},
        "p": 0.1,
    }
    names = {name: value for name, value in data.items() if name in body}
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    space: dict[str, Any] = {}
    exec(f"def function(i, out, {', '.join(names)}):\n{lines}", space)
    function = numba.njit(space["function"])
    found, wanted = np.zeros(THREADS, kind), np.zeros(THREADS, kind)
    for thread in range(THREADS):
        function(thread, wanted, *names.values())
    text = f"def kernel(out, {', '.join(names)}):\n    i = cuda.grid(1)\n{lines}"
    from_source(text, {"cuda": cuda}).simulate(1, THREADS, (found, *names.values()), gpu="GTX285", typing="numba")
    np.testing.assert_array_equal(found, wanted)


def test_unknown_rules():
    with pytest.raises(ConfigError, match="typing must be one of numpy, numba"):
        from_source("def kernel(a):\n    pass\n", {}).simulate(1, 1, (np.zeros(1),), typing="c")
