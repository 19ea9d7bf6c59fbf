"""Statements whose names hold arrays, tuples or other types, against Python."""

import numpy as np
import pytest

from smmux import cuda, int32
from smmux.kernel import from_source
from tests.compiler.front import outputs, run
from tests.compiler.test_front_control import A

STATEMENTS = {
    "register array in a loop with break": """
x = cuda.local.array(3, int32)
for j in range(3):
    x[j] = j
for n in range(a):
    if n == 4:
        break
    x[n % 1] += n
    x[2] = x[0]
r = x[0] + x[2]""",
    "register array under a condition": """
x = cuda.local.array(2, int32)
x[0] = 1
x[1] = 2
if a > 3:
    x[0] = 10
else:
    x[1] = 20
r = x[0] + x[1]""",
    "nested while": """
r = 0
n = a
while n > 0:
    m = n
    while m > 0:
        r += m & 1
        m >>= 1
    n -= 1""",
    "named expression": """
r = 0
if (n := a) > 3:
    r = n""",
    "tuple joined": """
p = (a, 15)
if a > 2:
    p = (7, 25)
r = p[0] * 100 + p[1]""",
    "while with break and else": """
n = abs(a)
while n < 100:
    n = n * 3 + 1
    if n == 22:
        break
else:
    n = -n
r = n""",
    "chained assignment": """
x = y = a
x += 1
r = x * 10 + y""",
    "bool joined with int": """
r = 0
if a > 2:
    r = a > 4""",
    "tuples walked": """
r = 0
for n, (x, y) in enumerate(zip((a, 2), reversed((3, 4)))):
    r = r * 10 + n + x * y""",
    "loop in an unrolled loop": """
r = 0
for j in range(5):
    for m in range(a, 6):
        if m * j == 12:
            break
        r += m
    else:
        r += 100""",
    "arrays swapped by unrolling": """
p, q = cuda.local.array(4, int32), cuda.local.array(4, int32)
for j in range(4):
    p[j] = a + j
for j in range(3):
    for k in range(4):
        q[k] = p[(k + 1) % 4] * 2
    p, q = q, p
r = p[0]""",
}


class PythonCuda:
    """`cuda.local.array` in plain Python."""

    class local:
        array = staticmethod(lambda shape, dtype: [0] * shape)


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name):
    lines = STATEMENTS[name].strip().splitlines()
    body = "".join(f"    {line}\n" for line in lines)
    kernel = from_source(
        f"def kernel(out, a_):\n    i = cuda.threadIdx.x\n    a = a_[i]\n{body}    out[i] = r\n",
        {"cuda": cuda, "int32": int32},
    )
    expected = []
    for a in A:
        names = {"cuda": PythonCuda, "int32": int, "a": int(a)}
        exec("\n".join(lines), names)
        expected.append(int(names["r"]))
    np.testing.assert_array_equal(outputs(kernel, A), expected)


def test_arrays_may_swap_names_where_that_is_known():
    @cuda.jit
    def kernel(out, a, b):
        t = cuda.threadIdx.x
        p, q = cuda.shared.array(8, int32), cuda.shared.array(8, int32)
        p[t] = t
        source, target = a, b
        for _ in range(3):
            cuda.syncthreads()
            q[t] = p[(t + 1) % 8]
            p, q = q, p
            target[t] = source[t] + 1
            source, target = target, source
        cuda.syncthreads()
        out[t] = p[t] * 100 + source[t]

    a, b, out = (np.zeros(8, np.int32) for _ in range(3))
    run(kernel, 1, 8, out, a, b)
    np.testing.assert_array_equal(out, np.roll(np.arange(8), -3) * 100 + 3)


def test_tuples_of_arrays_live_through_loops():
    @cuda.jit
    def kernel(out, a, n):
        t = cuda.threadIdx.x
        pair = (a, 0)
        for i in range(n):
            pair = (a, pair[1] + i)
        out[t] = pair[0][t] + pair[1]

    a, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    run(kernel, 1, 8, out, a, 5)
    np.testing.assert_array_equal(out, a + 10)


def test_barriers_count_whoever_is_left():
    """Threads that have returned, the first one among them, are not counted."""
    made = from_source(
        "def f(out):\n"
        "    t = cuda.threadIdx.x\n"
        "    if t < 40:\n"
        "        return\n"
        "    out[t] = cuda.syncthreads_count(t % 2)\n"
        "    out[t] += 100 * cuda.syncthreads_count(t > 60)\n",
        {"cuda": cuda},
    )
    out = np.zeros(64, np.int32)
    made.simulate(1, 64, (out,), check="races").raise_for_findings()
    assert (out[40:] == 12 + 300).all()
    assert not out[:40].any()
