"""What kernels written for Numba use beside the rest: raise, round to a computed number of digits, parts and powers of
complex numbers, constants of 32 bits beside int32, uint64 beside int64 in an index, rules of typing."""

from __future__ import annotations

import builtins
import enum
import pickle
import textwrap
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda
from smmux.errors import CompileError, ConfigError, KernelRaisedError
from smmux.kernel import from_source

THREADS = 4
LIMIT = 2


def run(body: str, *arrays: Any, **options: Any) -> None:
    """Run statements on arrays called a, b, c and d, one element each thread: i."""
    names = ", ".join("abcd"[: len(arrays)])
    lines = ["i = cuda.threadIdx.x", *textwrap.dedent(body).strip().split("\n")]
    text = f"def kernel({names}):\n" + textwrap.indent("\n".join(lines), "    ")
    kernel = from_source(text, {"cuda": cuda, "np": np, "LIMIT": LIMIT, "Odd": Odd})
    kernel.simulate(1, THREADS, arrays, gpu="K20c", **options)


class Odd(Exception):
    """An exception of the user's."""


RAISED = (
    ("raise ValueError", "ValueError"),
    ("raise ValueError('too large', LIMIT)", "ValueError: too large, 2"),
    ("raise Odd(a[i])", r"Odd: a\[i\]"),
)


@pytest.mark.parametrize(("statement", "message"), RAISED)
def test_raise_ends_the_run(statement: str, message: str) -> None:
    a, b = np.arange(THREADS, dtype=np.int32), np.zeros(THREADS, np.int32)
    with pytest.raises(KernelRaisedError, match=message + r", block \(0, 0, 0\), thread \(3, 0, 0\)") as caught:
        run(f"b[i] = 1\nif a[i] > LIMIT:\n    {statement}\nb[i] = 2", a, b)
    assert caught.value.line == 5


def test_raise_that_no_thread_reaches() -> None:
    a = np.arange(THREADS, dtype=np.int32)
    run("if a[i] > 9:\n    raise ValueError\nelse:\n    v = 0.5\na[i] = v * 6", a)
    assert a.tolist() == [3] * THREADS


def test_raise_in_a_device_function() -> None:
    @cuda.jit(device=True)
    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return x * 2

    a = np.arange(THREADS, dtype=np.int32)
    kernel = from_source(
        "def k(a, by):\n    i = cuda.threadIdx.x\n    a[i] = f(a[i] - by)\n", {"cuda": cuda, "f": checked}
    )
    kernel.simulate(1, THREADS, (a, 0))
    assert a.tolist() == [0, 2, 4, 6]
    with pytest.raises(KernelRaisedError, match="ValueError: negative"):
        kernel.simulate(1, THREADS, (a, 1))


def test_raise_needs_an_exception() -> None:
    with pytest.raises(CompileError, match="raise needs an exception"):
        run("raise a", np.zeros(THREADS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_to_a_computed_number_of_digits(dtype: type) -> None:
    a, n = np.array([1.23456, 2.5, -1234.5, 1e30], dtype), np.array([2, 0, -2, 20], np.int32)
    wanted = [np.round(x, int(d)) for x, d in zip(a[:3], n, strict=False)]
    run("a[i] = round(a[i], b[i])", a, n)
    np.testing.assert_array_equal(a[:3], wanted)
    assert a[3] == dtype(1e30)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts_of_complex_arrays(dtype: type) -> None:
    z, o = (np.arange(8) + 1j * np.arange(8, 16)).astype(dtype).reshape(4, 2), np.zeros(THREADS)
    wanted = z.copy()
    wanted.real += 1
    wanted.imag[:, 1] += 2
    body = """
    z = a.T
    z.real[0, i] += 1
    a.real[i, 1] += 1
    cuda.atomic.add(a[:, 1].imag, i, 2)
    b[i] = a[i].imag[0] + a.real.shape[0]
    """
    run(body, z, o)
    np.testing.assert_array_equal(z, wanted)
    np.testing.assert_array_equal(o, wanted.imag[:, 0] + 4)


def test_parts_of_local_and_real_arrays() -> None:
    a = np.zeros(THREADS, np.float32)
    body = """
    z = cuda.local.array(4, np.complex64)
    for k in range(4):
        z[k] = 2j * k
    z.real[i] = 1
    a.real[i] = z.imag[3] + z[i].real
    """
    run(body, a)
    assert a.tolist() == [7] * THREADS
    with pytest.raises(CompileError, match="the imaginary part of an array of float32 is 0"):
        run("a.imag[i] = 1", a)


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.complex64, 2e-6), (np.complex128, 1e-14)])
def test_powers_of_complex_numbers(dtype: type, tolerance: float) -> None:
    rng = np.random.default_rng(1)
    z, w = ((rng.normal(size=THREADS) + 1j * rng.normal(size=THREADS)).astype(dtype) for _ in range(2))
    w[:2] = 0, -3
    out = [np.zeros(THREADS, dtype) for _ in range(2)]
    run("c[i] = a[i] ** b[i]\nd[i] = pow(a[i], 2.5)\na[i] **= b[i]", z0 := z.copy(), w, *out)
    np.testing.assert_allclose(out[0], z**w, rtol=tolerance)
    np.testing.assert_allclose(out[1], z**2.5, rtol=tolerance)
    np.testing.assert_array_equal(z0, out[0])


def test_zero_to_complex_powers() -> None:
    z, w, o = np.zeros(THREADS, complex), np.array([0, 2, 1j, -1]), np.zeros(THREADS, complex)
    run("c[i] = a[i] ** b[i]", z, w, o)
    assert o[:2].tolist() == [1, 0]
    assert np.isnan(o[2:].real).all()


@pytest.mark.parametrize("options", [{}, {"typing": "numba"}], ids=str)
def test_constants_of_32_bits_beside_int32(options: dict[str, Any]) -> None:
    """They are int64, as in Numba; NumPy refuses them."""
    a, o = np.array([1, -5, 2**31 - 1, 7], np.int32), np.zeros(THREADS, np.int64)
    run("h = a[i]\nh = (h ^ 0x9E3779B9) * 3\nh &= 0xFFFFFFFF\nb[i] = h", a, o, **options)
    assert o.tolist() == [((int(x) ^ 0x9E3779B9) * 3) & 0xFFFFFFFF for x in a]


def test_constants_beside_uint32_stay_within_32_bits() -> None:
    kernel = from_source("def k(a):\n    a[0] = (a[0] ^ 0x9E3779B9) & 0xFFFFFFFF\n", {})
    assert "4 ins" in kernel.ir(np.zeros(1, np.uint32))


def test_uint64_beside_int64_in_an_index() -> None:
    a, w, q = np.arange(8) * 10, np.array([1, 2, 3, 4], np.uint64), np.array([1, 2, 3, -4])
    o = np.zeros(THREADS, np.int64)
    run("d[i] = a[b[i] + c[i]]\nj = b[i] - i\na[j * c[i] * 0 + j] = 1", a, w, q, o)
    assert o.tolist() == [20, 40, 60, 0]
    assert a.tolist() == [0, 1, *range(20, 80, 10)]
    with pytest.raises(CompileError, match=r"not a float; write int\(...\) or use //, or typing='numba'"):
        run("d[i] = a[(b[i] + c[i]) * 0.5]", a, w, q, o)


def squared(rules: str = "", **options: Any) -> int:
    """2**20 squared, an int32 by NumPy's rules."""
    c, o = np.array([2**20], np.int32), np.zeros(1, np.int64)
    cuda.jit(typing=rules)(_square).simulate(1, 1, (c, o), **options)
    return int(o[0])


def _square(c: Any, o: Any) -> None:
    o[0] = c[0] * c[0]


def test_rules_of_typing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert squared() == 0
    assert squared("numba") == 2**40
    assert squared("numba", typing="numpy") == 0
    with smmux.typing("numba"):
        assert squared() == 2**40
        assert squared("numpy") == 0
        with smmux.typing("numpy"):
            assert squared() == 0
    assert squared() == 0
    monkeypatch.setenv("SMMUX_TYPING", "numba")
    assert squared() == 2**40
    monkeypatch.setenv("SMMUX_TYPING", "c")
    with pytest.raises(ConfigError, match="SMMUX_TYPING must be one of numpy, numba, not 'c'"):
        squared()


def test_wrong_rules() -> None:
    with pytest.raises(ConfigError, match="typing must be one of"), smmux.typing("c"):
        pass
    with pytest.raises(ConfigError, match="typing must be one of"):
        squared("c")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_number_stays_in_memory(dtype: type) -> None:
    """As in Numba: max and min change nothing where either is NaN, nanmax and nanmin where the new one is."""
    body = """
    cuda.atomic.max(a, 0, b[i])
    cuda.atomic.min(a, 1, b[i])
    cuda.atomic.nanmax(a, 2, b[i])
    cuda.atomic.nanmin(a, 3, b[i])
    s = cuda.shared.array(1, np.float32)
    s[0] = np.nan
    cuda.atomic.max(s, 0, 3)
    c[i] = s[0]
    """
    nan, c = np.nan, np.zeros(THREADS, np.float32)
    for old, new, left in (
        (nan, 3, (nan, nan, 3, 3)),
        (1, 3, (3, 1, 3, 1)),
        (1, nan, (1, 1, 1, 1)),
        (nan, nan, (nan,) * 4),
    ):
        a, b = np.full(4, old, dtype), np.full(THREADS, new, dtype)
        run(body, a, b, c)
        np.testing.assert_array_equal(a, left)
        assert np.isnan(c).all()


@pytest.mark.parametrize("name", ["ValueError", "IndexError", "RuntimeError", "Odd", "OSError"])
def test_raise_is_found_under_its_own_name(name: str) -> None:
    kind = {"Odd": KernelRaisedError, "OSError": KernelRaisedError}.get(name) or getattr(builtins, name)
    with pytest.raises(kind, match=f"{name}: 7") as caught:
        run(f"raise {name}(7)", np.zeros(THREADS))
    assert isinstance(caught.value, KernelRaisedError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.line) == (type(caught.value), str(caught.value), 3)


class Colour(enum.IntEnum):
    RED = 3
    BLUE = 5


def test_members_of_an_enumeration_by_name() -> None:
    @cuda.jit
    def kernel(out):
        out[0] = Colour["BLUE"]
        out[1] = 1 if Colour["RED"] == Colour.RED else 0

    @cuda.jit
    def wrong(out):
        out[0] = Colour["GREEN"]

    out = np.zeros(2, np.int32)
    kernel.simulate(1, 1, (out,))
    assert out.tolist() == [5, 1]
    with pytest.raises(CompileError, match="Colour is named here by one of RED, BLUE"):
        wrong.compile((out,))
