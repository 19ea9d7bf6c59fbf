"""NumPy's functions of whole arrays in kernels, *args of kernels, fields of records that are records or arrays."""

from __future__ import annotations

import cmath
import textwrap
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.errors import CompileError, OutOfBoundsError
from smmux.kernel import from_source

RNG = np.random.default_rng(1)
VECTOR = RNG.uniform(0.1, 0.9, 6).astype(np.float32)
MATRIX = RNG.uniform(0.1, 0.9, (4, 6))


def run(body: str, *arrays: Any, parameters: str = "abcdef", threads: int = 1) -> None:
    """Run statements on arrays called a, b, c, ..."""
    names = ", ".join(parameters[: len(arrays)]) if "*" not in parameters else parameters
    text = f"def kernel({names}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    kernel = from_source(text, {"cuda": cuda, "np": np, "cmath": cmath})
    kernel.simulate(1, threads, arrays, gpu="K20c")


ABSENT = "bitwise_count float_power isnat logaddexp2 matmul matvec spacing vecdot vecmat".split()
UFUNCS = [
    function
    for name, function in vars(np).items()
    if isinstance(function, np.ufunc) and function.nout == 1 and name == function.__name__ and name not in ABSENT
]
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "invert", "lcm", "left_shift", "right_shift")


@pytest.mark.quick(16)
@pytest.mark.parametrize("function", UFUNCS, ids=lambda function: function.__name__)
def test_functions_of_arrays(function: np.ufunc) -> None:
    """Into a vector, and of a matrix, a vector and a number into a matrix."""
    whole = function.__name__ in WHOLE
    vector = np.arange(1, 7, dtype=np.int32) if whole else VECTOR
    matrix = np.arange(24, dtype=np.int64).reshape(4, 6) if whole else MATRIX
    if function.__name__ == "ldexp":
        operands: tuple[Any, ...] = vector, np.arange(6, dtype=np.int32)
    else:
        operands = (
            vector + np.float32(1) if "acosh" in function.__name__ or function is np.arccosh else vector,
        ) * function.nin
    wanted = function(*operands)
    found = np.zeros_like(wanted)
    names = "abc"[: function.nin]
    run(f"np.{function.__name__}({', '.join(names)}, {'abc'[function.nin]})", *operands, found)
    np.testing.assert_allclose(found, wanted, rtol=3e-6)
    if function.nin == 2 and function is not np.ldexp:
        wanted = function(matrix, vector)
        found = np.zeros_like(wanted)
        run(f"np.{function.__name__}(a, b, out=c)", matrix, vector, found)
        np.testing.assert_allclose(found, wanted, rtol=3e-6)


def test_operands_of_other_shapes() -> None:
    out, cube = np.zeros((2, 4, 6)), np.zeros((2, 4, 6), np.float32)
    run("np.multiply(a, 2, c)\nnp.add(b, c, d)\nnp.negative(d[1, :, ::2], d[0, :, 1::2])", MATRIX, VECTOR, out, cube)
    wanted = np.broadcast_to((VECTOR + MATRIX * 2).astype(np.float32), (2, 4, 6)).copy()
    wanted[0, :, 1::2] = -wanted[1, :, ::2]
    np.testing.assert_array_equal(cube, wanted)


def test_extents_known_at_run_time() -> None:
    n, a, out = np.array([5]), np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    run("np.add(b[1 : a[0]], b[: a[0] - 1], c[1 : a[0]])", n, a, out)
    assert out.tolist() == [0, 1, 3, 5, 7, 0, 0, 0]


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(CompileError, match=r"an array of shape \(6,\) does not fit one of shape \(4,\)"):
        run("np.sqrt(a, b)", VECTOR, np.zeros(4))
    with pytest.raises(CompileError, match="at most 3 axes"):
        run("np.sqrt(a, a)", np.zeros((2, 2, 2, 2)))


@pytest.mark.parametrize("digits", [None, 2, -1])
def test_rounding(digits: int | None) -> None:
    x, out = np.array([1.235, -2.5, 25.0, 1234.5678]), np.zeros(4)
    run(f"i = cuda.threadIdx.x\nb[i] = np.round(a[i]{'' if digits is None else f', {digits}'})", x, out, threads=4)
    np.testing.assert_array_equal(out, np.round(x, digits or 0))


def test_steps_and_sums_of_exponentials() -> None:
    x = np.array([-1, 0, 2, np.nan, 1000, -np.inf])
    out = [np.zeros(6) for _ in range(3)]
    run("np.heaviside(a, 0.5, b)\nnp.logaddexp(a, a[::-1], c)\nnp.float_power(2, a, d)", x, *out)
    with np.errstate(all="ignore"):
        for got, want in zip(out, (np.heaviside(x, 0.5), np.logaddexp(x, x[::-1]), np.float_power(2, x)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-14)


# -- *args


def test_arguments_of_any_number() -> None:
    o, a, b = np.zeros(4), np.arange(4.0), np.ones(4)
    body = "i = cuda.grid(1)\ns = 0\nfor x in rest:\n    s += x[i]\no[i] = s + len(rest) * n"
    for more in ((), (a,), (a, b), (b, a, b)):
        run(body, o, 10, *more, parameters="o, n, *rest", threads=4)
        np.testing.assert_array_equal(o, sum((x for x in more), np.zeros(4)) + 10 * len(more))


def test_arguments_behind_a_default() -> None:
    @cuda.jit
    def kernel(o, n=2, *rest):
        o[0] = n + 10 * len(rest)

    o = np.zeros(1)
    for arguments, value in (((o,), 2), ((o, 5), 5), ((o, 5, 6, 7), 25)):
        kernel[1, 1](*arguments)
        assert o[0] == value


# -- records


INNER = np.dtype([("x", "f4"), ("v", "i4", (3,))], align=True)
OUTER = np.dtype([("n", "i8"), ("p", INNER), ("q", INNER, (2,)), ("m", "f4", (2, 2))], align=True)


def test_records_in_records() -> None:
    records, out = np.zeros(4, OUTER), np.zeros(4, np.float32)
    body = """
    i = cuda.threadIdx.x
    a[i].p.x = 3.5
    a[i]["q"][1].v[2] = 7
    a[i].q[0].x = a[i].p.x + 1
    a[i].p.v = c
    a[i]["m"] = d
    p = a[i].p
    p.x += 1
    b[i] = a[i].q[1].v[2] + a[i].m[1, 0] + a.p.x[i]
    a[i].q[1] = a[i].p
    """
    run(body, records, out, np.arange(3, dtype=np.int32), np.eye(2)[::-1].copy(), threads=4)
    expected = np.zeros(4, OUTER)
    expected["p"]["x"], expected["p"]["v"], expected["q"]["x"][:, 0] = 4.5, [0, 1, 2], 4.5
    expected["m"] = np.eye(2)[::-1]
    expected["q"][:, 1] = expected["p"]
    np.testing.assert_array_equal(records, expected)
    assert out.tolist() == [7 + 1 + 4.5] * 4


# -- others


def test_logarithms_to_a_base() -> None:
    z = np.array([1 + 2j, -3, 0.5j, 2])
    wanted = [cmath.log(v, 2) for v in z]
    run("i = cuda.threadIdx.x\na[i] = cmath.log(a[i], 2)", z, threads=4)
    np.testing.assert_allclose(z, wanted, rtol=1e-14)


def test_lanes_below() -> None:
    out = np.zeros(32, np.uint32)
    run("a[cuda.threadIdx.x] = cuda.lanemask_lt()", out, threads=32)
    assert out.tolist() == [2**lane - 1 for lane in range(32)]


COMPLEX = (
    "add subtract multiply divide power equal not_equal less less_equal greater greater_equal maximum minimum fmax fmin"
)


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", COMPLEX.split())
def test_functions_of_two_complex_numbers(name: str) -> None:
    parts = [0.5, -1, 2, np.nan] if name not in ("power", "divide", "multiply") else [0.5, -1, 2, 3]
    a, b = (
        x.ravel()
        for x in np.meshgrid(
            np.add.outer(parts, np.multiply(1j, parts)).ravel(),
            np.add.outer(parts[:3], np.multiply(1j, parts[1:])).ravel(),
        )
    )
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(a, b)
    found = np.zeros_like(wanted)
    run(f"np.{name}(a, b, c)", a, b, found)
    np.testing.assert_allclose(found.real, wanted.real, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["log2", "square", "reciprocal", "negative", "positive", "conjugate", "exp", "sqrt"])
def test_functions_of_a_complex_number(name: str) -> None:
    z = (RNG.normal(size=8) + 1j * RNG.normal(size=8)).astype(np.complex64)
    wanted = getattr(np, name)(z)
    found = np.zeros_like(wanted)
    run(f"np.{name}(a, b)", z, found)
    np.testing.assert_allclose(found, wanted, rtol=2e-6)


# -- computed indices of tuples


def test_items_of_tuples_by_computed_indices() -> None:
    i, out = np.array([0, 2, -1, -3]), [np.zeros(4) for _ in range(2)]
    body = """
    t = cuda.threadIdx.x
    n = a[t]
    v = (n, 2.5, 7)
    b[t] = (10, 20, 30)[n] + v[n] * 0.5
    s = 0
    for k in range(n & 3):
        s += (1, 2, 4)[k]
    c[t] = s
    """
    run(body, i, *out, threads=4)
    assert out[0].tolist() == [10 + 0, 30 + 3.5, 30 + 3.5, 10 - 1.5]
    assert out[1].tolist() == [0, 3, 7, 1]


@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_an_index_outside_of_a_tuple_ends_the_run(index: int) -> None:
    with pytest.raises(OutOfBoundsError, match="index outside a tuple of 3"):
        run("b[0] = (1, 2, 3)[a[0]]", np.array([index]), np.zeros(1))
