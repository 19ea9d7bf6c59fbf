"""Variables that some path does not assign: the kernel is right where Python is, and raises where Python raises."""

from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda
from smmux.kernel import from_source
from tests.compiler.front import run

RAISES = "raises"
TABLE = np.arange(10, 26, dtype=np.int32)


def as_python(text: str, i: int, n: int) -> Any:
    """What the text makes of y in plain Python, where it starts as -7."""
    names = {"i": i, "n": n, "TABLE": TABLE}
    try:
        exec("def f(i, n):\n    y = -7\n" + indented(text) + "    return y\n", names)
        return names["f"](i, n)  # type: ignore[operator]
    except UnboundLocalError:
        return RAISES


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip().split("\n"))


def as_kernel(text: str, threads: int, n: int) -> Any:
    source = f"def k(out, n):\n    i = cuda.grid(1)\n    y = -7\n{indented(text)}    out[i] = y\n"
    out = np.zeros(threads, np.int32)
    try:
        run(from_source(source, {"cuda": cuda, "TABLE": TABLE}), 1, threads, out, n)
    except smmux.KernelUnboundLocalError as error:
        assert "is used before it is assigned" in str(error)
        return RAISES
    return out.tolist()


KERNELS = {
    "if": "if i < n:\n    x = i\ny = x",
    "if and the same if": "if i < n:\n    x = i\nif i < n:\n    y = x",
    "two variables": "if i < n:\n    x = i\nelse:\n    z = i\nif i < n:\n    y = x\nelse:\n    y = z",
    "conditional expression": "c = i < n\nif c:\n    x = i\ny = x if c else 5",
    "and": "c = i < n\nif c:\n    x = i\ny = 1 if c and x > 1 else 2",
    "augmented": "if i < n:\n    x = 1\nx += i\ny = x",
    "loop that may make no trip": "for j in range(n):\n    x = j\ny = x",
    "pair in a loop that may make no trip": "for j in range(n):\n    x = j, i\ny = x[0] + x[1]",
    "pair of the iteration before": "for j in range(n):\n    if j > 0:\n        y += x[1]\n    x = i, j",
    "pair of the iteration before, too early": "for j in range(n):\n    if j >= 0:\n        y += x[1]\n    x = i, j",
    "pair of one turn": "for j in range(n):\n    if i == j:\n        x = i, j\ny = x[1]",
    "complex of one turn": "for j in range(n):\n    if i == j:\n        x = j + 2j\ny = int(x.real + x.imag)",
    "view in a loop that may make no trip": "for j in range(n):\n    x = TABLE[j:]\ny = x[1]",
    "view of the iteration before": "for j in range(n):\n    if j > 0:\n        y += x[1]\n    x = TABLE[j:]",
    "view of the iteration before, too early": "for j in range(n):\n    y += x[1]\n    x = TABLE[j:]",
    "view of one turn": "for j in range(n):\n    if i == j:\n        x = TABLE[j : j + 2]\ny = x[-1]",
    "one view of one turn": "for j in range(n):\n    if i == j:\n        x = TABLE[6:2:-2]\ny = x[1]",
    "counter of such a loop": "for j in range(n):\n    pass\ny = j",
    "trip count per thread": "for j in range(i):\n    x = j\ny = x",
    "the iteration before": "for j in range(n):\n    if j > 0:\n        y += x\n    x = j",
    "the iteration before, too early": "for j in range(n):\n    if j >= 0:\n        y += x\n    x = j",
    "unrolled": "for j in range(3):\n    if i >= 0 and j > 0:\n        y += x\n    x = j",
    "unrolled, too early": "for j in range(3):\n    if i > 1 or j > 0:\n        y += x\n    x = j",
    "while true": "j = 0\nwhile True:\n    x = j\n    j += 1\n    if j > n:\n        break\ny = x",
    "break before": "for j in range(5):\n    if j == n:\n        break\n    x = j\ny = x",
    "loop in loop": "for j in range(n):\n    for l in range(j):\n        x = l\n    y = x if j else 0",
    "else of a loop": "for j in range(5):\n    if j == n:\n        break\nelse:\n    x = 1\ny = x",
    "elif": "if i < 1:\n    x = 1\nelif i < n:\n    x = 2\ny = x",
    "return": "if i < n:\n    x = 1\nelse:\n    return -7\ny = x",
    "tuple": "if i < n:\n    x = (i, 2)\ny = x[0] + x[1]",
    "assigned again": "if i < n:\n    x = 1\nx = 2\ny = x",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [0, 1, 2, 4, 9])
def test_as_python(name: str, n: int) -> None:
    text = KERNELS[name]
    expected: Any = [as_python(text, i, n) for i in range(4)]
    found = as_kernel(text.replace("return -7", "out[i] = y\n    return"), 4, n)
    assert found == (RAISES if RAISES in expected else expected)


@pytest.mark.parametrize("threads", [3, 8])
def test_views_of_a_thread_s_own_array_live_behind_the_loop_that_assigns_them(threads: int) -> None:
    """As virtual blocks have them, which take turns."""

    @cuda.jit
    def kernel(out, turns):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        own = cuda.local.array(4, np.int32)
        for j in range(4):
            own[j] = 10 * i + j
        for turn in range(turns):
            if turn == i:
                part, row = own[1:3], out[:, i]
                part[1] += turn
        for j in range(2):
            row[j] = part[j]

    out = np.zeros((2, threads), np.int32)
    run(kernel, 1, threads, out, threads)
    assert out.tolist() == [[10 * i + 1 for i in range(threads)], [11 * i + 2 for i in range(threads)]]


def test_what_no_path_assigns_is_refused() -> None:
    with pytest.raises(smmux.CompileError, match="'x' is used before it is assigned"):
        as_kernel("y = x\nx = 1", 4, 2)


def test_a_variable_is_checked_once() -> None:
    source = "def k(out, n):\n    if n > 1:\n        x = n\n    out[0] = x + x * 2\n    out[1] = x"
    listing = from_source(source, {}).ir(np.zeros(2, np.int32), 3)
    assert listing.count("trap") == 1


def test_nothing_is_checked_that_need_not_be() -> None:
    source = "def k(out, n):\n    for i in range(n):\n        x = n + i\n        out[i] = x"
    assert "trap" not in from_source(source, {}).ir(np.zeros(2, np.int32), 3)
