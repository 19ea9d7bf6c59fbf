"""Complex numbers against NumPy's scalars, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.errors import CompileError
from smmux.kernel import from_source

THREADS = 64
rng = np.random.default_rng(3)
FIRST, SECOND = (rng.standard_normal(THREADS) + 1j * rng.standard_normal(THREADS) for _ in range(2))
REAL = rng.standard_normal(THREADS)
EXPRESSIONS = (
    "a + b", "a - b", "a * b", "a / b", "a * 2j + 1", "a ** 2", "a ** 3", "a ** 5", "-a", "a.conjugate()", "a * b + a",
    "complex(a.real, b.imag)", "a if i % 2 else b", "a / 3", "1 / a", "a * 0.5", "a - 1.5", "a ** 0", "a * x",
    "a * (1.5 + 0.25j)", "a.real + a.imag", "(a == b) * 1", "(a != a) * 1", "x + 1j",
    "a if i % 2 else x", "2.5 if i % 2 else b", "a or x", "x and a", "a * (i % 2) and x", "a * (i % 2) or b",
    "a and 2.0",
)  # fmt: skip


def launch(body: str, out: np.ndarray, **arrays: Any) -> np.ndarray:
    """Run statements for 64 threads on a machine that rounds products, as NumPy does."""
    lines = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *body.split("\n")])
    text = f"def kernel({', '.join(['out', *arrays])}):\n{lines}"
    from_source(text, {"cuda": cuda, "np": np}).simulate(1, THREADS, (out, *arrays.values()), gpu="GTX285")
    return out


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(dtype, expression):
    arrays = {"a": FIRST.astype(dtype), "b": SECOND.astype(dtype), "x": REAL.astype(dtype(0).real.dtype)}
    wanted = [eval(expression, {"i": i, **{k: v[i] for k, v in arrays.items()}}) for i in range(THREADS)]
    text = expression.replace("a", "a[i]").replace("b", "b[i]").replace("x", "x[i]")
    for name in ("real", "imag", "conjugate", "complex", "and"):
        broken = name.replace("a", "a[i]").replace("x", "x[i]")
        text = text.replace(broken, name)
    found = launch(f"out[i] = {text}", np.zeros(THREADS, dtype), **arrays)
    np.testing.assert_array_equal(found, np.array(wanted, dtype))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "body",
    [
        "z = 0j\nfor j in range(i):\n    z = z * z + a[j]\n    if abs(z.real) > 2:\n        break\nout[i] = z",
        "z = 0\nfor j in range(i):\n    z += a[j] * a[i]\nout[i] = z",
        "s = local(3, a.dtype)\nfor j in range(3):\n    s[j] = a[(i + j) % 64]\nout[i] = s[i % 3] + s[0]",
        "s = local(3, a.dtype)\nfor j in range(3):\n    s[j] = a[(i + j) % 64]\nout[i] = s[2] + s[0]",
        "out[i] = a[i] * (TABLE[i % 3] + TABLE[1])",
    ],
)
def test_variables_and_arrays(dtype, body):
    a, wanted = FIRST.astype(dtype), np.zeros(THREADS, dtype)
    with np.errstate(all="ignore"):
        for thread in range(THREADS):
            exec(body, {"i": thread, "a": a, "out": wanted, "local": np.zeros, "TABLE": FIRST[:3].astype(dtype)})
    text = body.replace("local", "cuda.local.array")
    if "TABLE" in text:
        text = "TABLE = cuda.const.array_like(a0)\n" + text
    lines = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *text.split("\n")])
    kernel = from_source(f"def kernel(out, a):\n{lines}", {"cuda": cuda, "a0": FIRST[:3].astype(dtype)})
    found = np.zeros(THREADS, dtype)
    kernel.simulate(1, THREADS, (found, a), gpu="GTX285")
    np.testing.assert_array_equal(found, wanted)


def test_arguments_and_types():
    found = launch("out[i] = a[i] * p + q", np.zeros(THREADS, complex), a=FIRST, p=0.1 + 0.25j, q=np.complex64(0.1j))
    np.testing.assert_array_equal(found, [x * (0.1 + 0.25j) + np.complex64(0.1j) for x in FIRST])
    small = FIRST.astype(np.complex64)
    found = launch("out[i] = a[i] * p", np.zeros(THREADS, np.complex64), a=small, p=0.1 + 0.25j)
    np.testing.assert_array_equal(found, [x * (0.1 + 0.25j) for x in small])
    found = launch("out[i] = a[i] * b[i]", np.zeros(THREADS, complex), a=small, b=REAL)
    np.testing.assert_array_equal(found, [x * y for x, y in zip(small, REAL, strict=True)])
    sizes = launch("out[i] = abs(a[i])", np.zeros(THREADS), a=FIRST)
    np.testing.assert_allclose(sizes, np.abs(FIRST), rtol=2.3e-16)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("out[i] = a[i] < 1", "complex numbers have no order"),
        ("out[i] = a[i] // 2", r"complex numbers have \+ - \* /"),
        ("out[i] = int(a[i])", "a real number is needed here, not complex128; take .real"),
        ("x = a[a[i]]", "a real number is needed"),
        ("out[i] = a[i].angle", "there are real and imag"),
        ("cuda.atomic.add(a, 0, 1)", "atomics work on elements of"),
    ],
)
def test_refusals(body, message):
    with pytest.raises(CompileError, match=message):
        launch(body, np.zeros(THREADS), a=FIRST)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_arrays_aligned_as_their_parts(dtype):
    parts = np.arange(2 * THREADS + 1).astype(dtype(0).real.dtype)
    arrays = parts[1:].view(dtype)
    np.testing.assert_array_equal(launch("out[i] = a[i] * 2", np.zeros(THREADS, dtype), a=arrays), arrays * 2)
    body = "p = cuda.shared.array(1, np.int8)\np[0] = 1\ns = cuda.shared.array(64, a.dtype)\ns[i] = a[i]\nout[i] = s[i]"
    np.testing.assert_array_equal(launch(body, np.zeros(THREADS, dtype), a=arrays), arrays)
