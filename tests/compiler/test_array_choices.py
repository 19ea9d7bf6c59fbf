"""Variables that stand for one array or another, chosen while the kernel runs: against the same text run by Python over
NumPy's arrays."""

import types

import numpy as np
import pytest

import smmux
from smmux import CompileError, cuda, float32, int32
from smmux.kernel import from_source

NAMES = {"cuda": cuda, "int32": int32, "float32": float32}
DECLARED = {
    "global": "p, q = a, b",
    "shared": "p, q = cuda.shared.array(6, int32), cuda.shared.array(6, int32)",
    "local": "p, q = cuda.local.array(6, int32), cuda.local.array(6, int32)",
    "mixed": "p, q = cuda.shared.array(6, int32), a",
}
FILLED = "for i in range(6):\n    p[i] = 10 + i\n    q[i] = 100 + 10 * i"
RESULT = "for i in range(len(p)):\n    out[i] = p[i]\nfor i in range(len(q)):\n    out[i + 6] = q[i]\nout[12] = len(p)"

BODIES = {
    "exchanged": "for _ in range(n):\n    p[1] += q[2]\n    p, q = q, p",
    "in a while": "while n > 0:\n    n -= 1\n    p, q = q, p\n    p[n] += 1",
    "break": "for k in range(n):\n    if k > 2:\n        p = q\n        break\n    p[k] = -1",
    "if": "if n > 3:\n    p = q\np[0] = 1",
    "if, else": "if n % 2:\n    r = p\n    s = q\nelse:\n    r = q\n    s = p\nr[1] = s[2] + 3",
    "nested loops": "for j in range(n):\n    for k in range(j):\n        p[k] += j\n        p, q = q, p\n    q[0] += 1",
    "shorter and shorter": "for k in range(n):\n    p[0] += len(p)\n    p = p[1:]",
    "from both ends": "for k in range(n // 2):\n    p[0] = -p[-1]\n    p = p[1:-1]",
    "slices": "if n > 2:\n    p = p[1:]\nelse:\n    p = p[2:5]\np[-1] += 5",
    "slices of two": "if n > 2:\n    p = p[1:4]\nelse:\n    p = q[2:]\np[0] += 5",
    "rows": "m = p.reshape((2, 3))\nrow = m[0]\nfor k in range(n):\n    row[1] += k\n    row = m[k % 2]\np = row",
    "backwards": "m = p.reshape((2, 3))\nfor k in range(n):\n    if k % 2 == 0:\n"
    "        row = m[k // 2 % 2, ::-1]\n    row[0] += k + 1",
    "conditional": "r = p if n > 2 else q\nr[3] = 8",
    "in a tuple": "pair = (p, q)\nfor k in range(n):\n    r = pair[0] if k % 2 == 0 else pair[1]\n    r[k] += 2",
    "function": "r = picked(p, q, n)\nr[2] = 77\nchanged(r, 3)",
    "slice stored": "for k in range(n):\n    p, q = q, p\np[1:3] = 4",
}
HELPERS = """
@cuda.jit(device=True)
def picked(p, q, n):
    if n > 2:
        return p
    return q

@cuda.jit(device=True)
def changed(r, k):
    r[k] -= 9
"""


def namespace():
    """The kernel's names as plain Python has them."""
    array = types.SimpleNamespace(array=lambda n, dtype: np.zeros(n, np.int32))
    shim = types.SimpleNamespace(shared=array, local=array, jit=lambda device: lambda function: function)
    return {"cuda": shim, "int32": None}


def text_of(space, body):
    lines = "\n".join((DECLARED[space], FILLED, body, RESULT)).splitlines()
    return "def kernel(out, a, b, n):\n" + "".join(f"    {line}\n" for line in lines)


def helpers(names):
    exec(HELPERS, names)
    return names


@pytest.mark.quick
@pytest.mark.parametrize("space", DECLARED)
@pytest.mark.parametrize("name", BODIES)
def test_a_name_stands_for_the_array_that_python_says(name, space):
    text = text_of(space, BODIES[name])
    made = {key: from_source(HELPERS, {"cuda": cuda}, name=key, device=True) for key in ("picked", "changed")}
    kernel = from_source(text, {**NAMES, **made})
    scope = helpers(namespace())
    exec(text, scope)
    for n in (0, 1, 2, 3, 4):
        arrays = [np.zeros(size, np.int32) for size in (13, 6, 6)]
        expected = [array.copy() for array in arrays]
        scope["kernel"](*expected, n)
        for schedule in ("source", "list"):
            found = [array.copy() for array in arrays]
            kernel.simulate(1, 1, (*found, n), schedule=schedule)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x, y)


def test_threads_of_a_warp_choose_different_arrays():
    kernel = from_source(
        "def kernel(out, a, b, n):\n    t = cuda.threadIdx.x\n    p = a\n    for k in range(t % 4 + n):\n"
        "        p = b if p[0] < 50 else a\n    out[t] = p[t]\n    cuda.atomic.add(p, 0, 0)\n    p[t] = -t\n",
        NAMES,
    )
    a, b, out = np.arange(32, dtype=np.int32), np.arange(32, dtype=np.int32) + 100, np.zeros(32, np.int32)
    t = np.arange(32)
    odd = t % 4 % 2 == 1
    expected = np.where(odd, b, a), np.where(odd, a, -t), np.where(odd, -t, b)
    kernel.simulate(1, 32, (out, a, b, 0))
    for found, wanted in zip((out, a, b), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_access_outside_names_the_array_that_was_chosen():
    """The arrays lie side by side, so that an element behind the one would be an element of the other."""
    kernel = from_source("def kernel(a, b, n):\n    if n > 64:\n        a = b\n    a[n] = 1\n", NAMES)
    for n, array in ((64, "a"), (128, "b")):
        a, b = np.zeros(64, np.int32), np.zeros(128, np.int32)
        with pytest.raises(smmux.OutOfBoundsError) as caught:
            kernel.simulate(1, 1, (a, b, n))
        assert (caught.value.array, caught.value.line) == (array, 4)
        assert not a.any()
        assert not b.any()


REFUSED = {
    "if n > 0:\n    a = b": "'a' stands for one array .* give both one element type",
    "if n > 0:\n    a = m": "'a' stands for one array .* give both one element type",
    "for k in range(n):\n    a = a[::2]": "'a' stands for one array .* strides",
    "v = a if n else o\nx = v.view(float32)": "'a' stands for several arrays",
}


@pytest.mark.parametrize("body", REFUSED)
def test_arrays_of_another_kind_are_refused(body):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    kernel = from_source(f"def kernel(a, b, m, n, o):\n{lines}    a[0] = 1\n", NAMES)
    a, b, m = np.zeros(8, np.int32), np.zeros(8, np.float32), np.zeros((4, 4), np.int32)
    with pytest.raises(CompileError, match=REFUSED[body]):
        kernel.compile((a, b, m, 1, a))
