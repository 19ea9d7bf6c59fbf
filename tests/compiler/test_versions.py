"""Names that change their type: what each definition is, where definitions meet, and the forms of such kernels."""

from __future__ import annotations

import ast
import math
import textwrap
from typing import Any

import numpy as np
import pytest

from smmux import cuda, multiplex
from smmux.compiler.python.versions import apart, spelled_out
from smmux.errors import CompileError
from smmux.kernel import from_source
from smmux.source.function_source import from_text
from smmux.types import float32, int32

GLOBALS = {"cuda": cuda, "math": math, "float32": float32, "int32": int32, "np": np}
COUNTS = np.array([7, 3, 2**24 + 1, 5], np.int32)


def run(body: str, out: np.ndarray, *arrays: Any, **options: Any) -> list[Any]:
    """What statements store to `o`, from the arrays or numbers `c` and `d`."""
    names = ", ".join(["o", *"cd"[: len(arrays)]])
    text = f"def kernel({names}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    from_source(text, GLOBALS).simulate(1, 1, (out, *arrays), **options)
    return out.tolist()


STRAIGHT = (
    ("v = c[0]\nv = v * 0.5\no[0] = v", [3.5]),
    ("v = c[0]\no[1] = v << 2\nv *= 0.5\no[0] = v\nv = int32(v)\no[2] = v >> 1", [3.5, 28, 1]),
    ("for i in range(3):\n    o[i] = i << 1\n    i = i * 0.5\n    o[3] = i\no[4] = i", [0, 2, 4, 1, 1]),
    ("c = c[0]\no[0] = c // 2", [3]),
    ("v = c\nv = cuda.local.array(3, float32)\nv[1] = 2.5\no[0] = v[1]", [2.5]),
    ("v = (c[0], 2)\nv = v[0] * 0.5\no[0] = v", [3.5]),
    ("f = math.sqrt\no[0] = f(4.0)\nf = math.floor\no[1] = f(2.5)", [2, 2]),
    ("v = c[0] > 3\nif v:\n    v = 1.5\n    o[0] = v", [1.5]),
    ("v = c[2]\nw = v * 3 // 3\nv = 0.5\no[0] = w - 16777216", [1]),  # not as floats on the way
)


@pytest.mark.parametrize(("body", "values"), STRAIGHT, ids=[body.replace("\n", "; ")[:50] for body, _ in STRAIGHT])
def test_each_definition_has_its_own_type(body: str, values: list[float]) -> None:
    assert run(body, np.zeros(5, np.float32), COUNTS)[: len(values)] == values


MEETING = (
    ("v = c[0]\nw = v << 1\nif c[1] > 2:\n    v = v * 0.5\no[0] = v\no[1] = w", [3.5, 14]),
    ("v = c[0]\nif c[1] > 4:\n    v = 1.5\no[0] = v / 2", [3.5]),
    ("v = c[0]\nwhile v > 2:\n    v = v * 0.5\no[0] = v", [1.75]),
    ("v = 1\nfor k in range(c[1]):\n    if k == 2:\n        v = 2.5\n        break\no[0] = v", [2.5]),
    (
        "v = 1\nfor k in (0, 1, 2):\n  o[k] = v\n  if k == 1:\n    v = 4.5\n    continue\n  v += 1\no[3] = v",
        [1, 2, 4.5, 5.5],
    ),
    ("for k in range(4):\n    if c[k] == 5:\n        k = k * 0.5\n        break\nelse:\n    k = 9\no[0] = k", [1.5]),
    ("v = c[1]\nfor k in range(2):\n    v = v * 0.5\n    o[k] = v", [1.5, 0.75]),
    ("v = c[0]\nv = c[1] if c[1] > v else v * 0.5\no[0] = v", [3.5]),
    ("v = c[0]\nif v > 100:\n    v = c\nelse:\n    v = 0.5\n    o[0] = v\no[1] = 2", [0.5, 2]),
)


@pytest.mark.parametrize(("body", "values"), MEETING, ids=[body.replace("\n", "; ")[:50] for body, _ in MEETING])
@pytest.mark.parametrize("options", [{}, {"typing": "numba"}, {"unroll_limit": 1}], ids=str)
def test_where_definitions_meet(body: str, values: list[float], options: dict[str, Any]) -> None:
    assert run(body, np.zeros(5, np.float32), COUNTS, **options)[: len(values)] == values


def test_literals_do_not_hide_integers() -> None:
    """With 64-bit data a name that is an int32 before it is a float64 wraps as NumPy's does."""
    found = run(
        "v = c[0]\nw = v * v\nv = d[0]\no[0] = w + v", np.zeros(1), np.array([2**20], np.int32), np.array([0.5])
    )
    assert found == [0.5]


def test_a_parameter_is_its_own_first_version() -> None:
    assert run("c = c * 0.5\no[0] = c\nc = o\nc[1] = 4", np.zeros(2, np.float32), 7) == [3.5, 4]


def test_versions_of_device_functions() -> None:
    half = cuda.jit(device=True)(_half)
    text = "def kernel(o, c):\n    o[0] = half(c[0])\n    o[1] = half(c[0] * 0.5)\n    o[2] = half(o[0])\n"
    out = np.zeros(3, np.float32)
    from_source(text, {"half": half}).simulate(1, 1, (out, COUNTS))
    assert out.tolist() == [3.5, 1.75, 1.75]


def _half(x: Any) -> Any:
    x = x * 0.5
    return x


UNREAD = (
    ("o = c[0]", r"nothing reads this; write o\[...\] = to store an element", 1),
    (
        "v = c[0]\nif v > 3:\n    v = c\no[0] = v",
        r"variable 'v' is a 1-d array of int32 .* and int32 here, depending",
        1,
    ),
    (
        "for i in range(2):\n    if i:\n        v = o\n    else:\n        v = 2\n    o[i] = v",
        "depending on the path",
        5,
    ),
)


@pytest.mark.parametrize(("body", "message", "line"), UNREAD)
def test_refusals(body: str, message: str, line: int) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        run(body, np.zeros(2, np.float32), COUNTS)
    assert caught.value.lineno == line + 1


def test_unassigned_versions_end_the_run() -> None:
    body = "if c[0] > 100:\n    v = 1.5\nif c[0] > 50:\n    v = c[1]\no[0] = v"
    with pytest.raises(Exception, match="'v'"):
        run(body, np.zeros(1, np.float32), COUNTS)


def test_what_does_not_change_is_shared() -> None:
    source = from_text("def k(o, n):\n    s = f(3)\n    v = n\n    v = v + 0.5\n    o[0] = s\n", {})
    made = apart(source, frozenset({"v"}))
    assert made.node.body[0] is source.node.body[0]
    assert made.node.body[3] is source.node.body[3]
    assert apart(made, frozenset({"v"})) is made
    assert [n.id for n in ast.walk(made.node) if isinstance(n, ast.Name) and "v" in n.id] == ["v", "v.1", "v"]


def test_spelled_out() -> None:
    text = "def k(o, v):\n    while v > 3:\n        if v > 5:\n            v //= 2\n        v = v * 0.5\n    o[0] = v\n"
    made = ast.unparse(spelled_out(from_text(text, {}), frozenset({"v"})).node)
    space: dict[str, Any] = {}
    exec(text.replace("k(", "first("), space)
    exec(made.replace("k(", "second("), space)
    for v in range(30):
        first, second = [0], [0]
        space["first"](first, v)
        space["second"](second, v)
        assert first == second


def test_names_of_functions_with_barriers_keep_their_type() -> None:
    """Virtual blocks would mix what they hold, since the function is written out."""
    text = """
    def exchanged(s, t, x):
        y = x & 15
        s[t] = y
        cuda.syncthreads()
        y = s[63 - t] * 0.5
        cuda.syncthreads()
        return y
    """
    function = from_source(textwrap.dedent(text), GLOBALS, device=True)
    text = """
    def k(o, c):
        s = cuda.shared.array(64, float32)
        g = cuda.grid(1)
        o[g] = exchanged(s, cuda.threadIdx.x, c[g])
    """
    kernel = from_source(textwrap.dedent(text), {**GLOBALS, "exchanged": function})
    numbers, found = np.arange(128, dtype=np.int32), np.zeros(128, np.float32)
    kernel.simulate(2, 64, (found, numbers))
    np.testing.assert_array_equal(found, (numbers.reshape(2, 64)[:, ::-1].ravel() & 15) * 0.5)
    made = multiplex.vtb(kernel)
    with pytest.raises(CompileError, match="changes its type in a device function that has barriers; use two names"):
        made.simulate(*made.geometry(2, 64), (found, numbers))


KERNEL = """
def k(o, c, n):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    g = cuda.grid(1)
    v = c[g]
    s[t] = v & 15
    w = v << 1
    cuda.syncthreads()
    v = v * 0.5 + s[63 - t]
    for i in range(n):
        cuda.syncthreads()
        s[t] = v + w
        cuda.syncthreads()
        w = w * 0.25 + s[(t + 1) % 64]
        i = i * 0.5
        v = v + i
    if t > 3:
        v = 3
    o[g] = v + w
"""


@pytest.mark.parametrize("form", ["hw", "vtb", "vtb_pipe"])
def test_forms(form: str) -> None:
    """Virtual blocks that stand at different places of a kernel do not share a name of two types."""
    kernel = from_source(KERNEL, GLOBALS)
    numbers = np.random.default_rng(1).integers(0, 2**20, 256).astype(np.int32)
    wanted, found = np.zeros(256, np.float32), np.zeros(256, np.float32)
    kernel.simulate(4, 64, (wanted, numbers, 3))
    made = getattr(multiplex, form)(kernel)
    grid, block = made.geometry(4, 64) if form != "hw" else (4, 64)
    made.simulate(grid, block, (found, numbers, 3))
    np.testing.assert_array_equal(found, wanted)
