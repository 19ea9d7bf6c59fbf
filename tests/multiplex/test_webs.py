"""One name for several variables: kernels that are refused because of it are taken with the variables apart."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import multiplex
from smmux.kernel import Kernel
from smmux.multiplex.analysis.renaming import separated
from smmux.source.function_source import from_text
from tests.multiplex.kernels import device, kernel
from tests.numba import simulator

GRID, BLOCK, SIZE = 6, 64, 1000
Scheme = Callable[[Kernel], Kernel]
MERGED: tuple[Scheme, ...] = (multiplex.vtb, lambda plain: multiplex.vtb(plain, 3), multiplex.vtb_pipe)

TREE = """
k = N // 2
while k > 0:
    if t < k:
        s[t] += s[t + k]
    cuda.syncthreads()
    k //= 2
"""
REUSED = {
    "a grid-stride loop and a tree": """
        acc = float32(0)
        k = cuda.grid(1)
        while k < a.size:
            acc += a[k] * a[k]
            k += cuda.gridsize(1)
        s[t] = acc
        cuda.syncthreads()
        k = cuda.blockDim.x // 2
        while k != 0:
            if t < k:
                s[t] += s[t + k]
            cuda.syncthreads()
            k //= 2
        if t == 0:
            o[cuda.blockIdx.x] = s[0]
    """,
    "places of a thread, then a tree": f"""
        for k in range(t, 64, cuda.blockDim.x):
            s[k] = a[i]
        cuda.syncthreads()
        {TREE}
        o[i] = s[0]
    """,
    "a tree, then what one thread does": f"""
        s[t] = a[i]
        cuda.syncthreads()
        {TREE}
        if t == 0:
            for k in range(3):
                o[3 * cuda.blockIdx.x + k] = s[k]
    """,
    "several places, then a tree": f"""
        for k in range(4):
            s[k * N + t] = a[i] * (k + 1)
        cuda.syncthreads()
        {TREE}
        o[i] = s[0] + s[N + t] + s[2 * N + (t ^ 1)] + s[3 * N + (t ^ 2)]
    """,
    "a tree in a function": """
        s[t] = a[i]
        o[i] = total(s, t)
    """,
    "three variables in each trip of a loop": """
        for j in range(3):
            k = t
            while k < N:
                s[k] = a[i] + j + k
                k += N
            cuda.syncthreads()
            k = N // 2
            while True:
                if t < k:
                    s[t] += s[t + k]
                cuda.syncthreads()
                k //= 2
                if k == 0:
                    break
            k = t
            if n > 3 and k < 7:
                o[i] += s[0] + k
            cuda.syncthreads()
    """,
    "a number, then a counter in its type": """
        k = a[i]
        s[t] = k
        cuda.syncthreads()
        k = 0
        while k < 3:
            x = s[t ^ 1] + k / 2
            cuda.syncthreads()
            s[t] = x
            cuda.syncthreads()
            k += 1
        k = 16777217
        o[i] = s[t] + (k - 16777216) * (k % 3)
    """,
}  # fmt: skip
TOTAL = f"""
def total(s, t):
    for k in range(t, N, cuda.blockDim.x):
        s[k] *= 2
    cuda.syncthreads()
{textwrap.indent(TREE, "    ")}
    return s[0]
"""
HEAD = """
def f(a, o, n):
    s = cuda.shared.array(4 * N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
"""


def made(text: str) -> Kernel:
    lines = textwrap.dedent(text.replace(TREE, textwrap.indent(TREE, "        "))).strip("\n")
    return kernel(HEAD + textwrap.indent(lines, "    ") + "\n", total=device(TOTAL))


def arguments() -> tuple[np.ndarray, np.ndarray, int]:
    return np.random.default_rng(3).integers(0, 50, SIZE).astype(np.float32), np.zeros(SIZE, np.float32), 250


def outputs(ready: Kernel, grid: object, block: object, **options: object) -> np.ndarray:
    given = arguments()
    ready.simulate(grid, block, given, gpu="GTX480-16K", check="races", **options).raise_for_findings()  # type: ignore[arg-type]
    return given[1]


def refused_as_written(scheme: Any, plain: Kernel) -> bool:
    try:
        inspect.unwrap(scheme)(plain)
    except multiplex.MultiplexError:
        return True
    return False


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", REUSED)
def test_outputs_are_those_of_the_plain_kernel(name: str) -> None:
    plain = made(REUSED[name])
    assert any(refused_as_written(scheme, plain) for scheme in (multiplex.regions, multiplex.vtb))
    assert multiplex.regions(plain)
    expected = outputs(plain, GRID, BLOCK)
    for scheme in MERGED:
        ready = scheme(plain)
        assert np.array_equal(outputs(ready, *ready.geometry(GRID, BLOCK)), expected)  # type: ignore[attr-defined]
    assert np.array_equal(outputs(multiplex.hw(plain), GRID, BLOCK, management="dynamic", extra_blocks=3), expected)


@pytest.mark.parametrize("name", ["a grid-stride loop and a tree", "a tree in a function"])
def test_the_text_runs_under_numba(name: str) -> None:
    pytest.importorskip("numba")
    plain = made(REUSED[name])
    ready = multiplex.vtb(plain)
    text = f"{ready.source}\n\nkernel = {ready.__name__}\n"
    run = simulator.shared().launch(text, f"<{name}>", *ready.geometry(GRID, BLOCK), list(arguments()))
    assert np.array_equal(run[1], outputs(plain, GRID, BLOCK))


def test_regions_show_the_loops_as_written() -> None:
    text = """
        for k in range(t, N, N):
            o[k] = k
        k = 0
        while k < 3:
            s[t] = a[i] + k
            cuda.syncthreads()
            o[i] += s[t ^ 1]
            cuda.syncthreads()
            k += 1
    """
    plain = made(text)
    assert refused_as_written(multiplex.regions, plain)
    (region,) = multiplex.regions(plain)
    assert (region.first, region.last, region.loops) == (10, 12, ("while k < 3",))


def test_what_is_refused_either_way_is_refused_as_written() -> None:
    plain = made(
        "for k in range(3):\n    o[i] = k\nk = t\nwhile k > 0:\n    s[t] = a[i]\n    cuda.syncthreads()\n    k -= 1"
    )
    for scheme in (multiplex.regions, multiplex.hw, multiplex.vtb, multiplex.vtb_pipe):
        with pytest.raises(multiplex.MultiplexError, match=r"whose condition can differ .*: `while k > 0:`") as caught:
            scheme(plain)
        assert (caught.value.filename, caught.value.lineno) == ("user.py", 11)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = p\ny = x\nx = 2\ny = x", "x = p\ny = x\nx_2 = 2\ny_2 = x_2"),
        ("p = p + 1\nout(p)", "p_2 = p + 1\nout(p_2)"),
        ("p += 1\nout(p)\np = 3", "p += 1\nout(p)\np_2 = 3"),
        ("for x in p:\n    out(x)\nfor x in p:\n    out(x)", "for x in p:\n    out(x)\nfor x_2 in p:\n    out(x_2)"),
        ("x = 0\nfor x in p:\n    pass\nout(x)", None),
        ("x = 0\nwhile p:\n    out(x)\n    x = 1", None),
        ("x = 0\nwhile p:\n    out(x)\n    x = 1\n    if p:\n        continue\n    x = 2", None),
        ("x = 0\nif p:\n    x = 1\nout(x)", None),
        ("x = 0\nwhile p:\n    x = 1\n    break\nelse:\n    out(x)",
         "x = 0\nwhile p:\n    x_2 = 1\n    break\nelse:\n    out(x)"),
        ("x = 0\np and (x := 1)\nout(x)", None),
        ("x = 0\nout((x := 1) and x)", "x = 0\nout((x_2 := 1) and x_2)"),
        ("x = 1\nout(x)\nx = 2\nout(x, lambda: x)", None),
    ],
)  # fmt: skip
def test_names(before: str, after: str | None) -> None:
    source = from_text("def f(p):\n" + textwrap.indent(before, "    "), {})
    made = separated(source)
    assert made.text == from_text("def f(p):\n" + textwrap.indent(after or before, "    "), {}).text
    assert (made is source) == (after is None)
    places = [[(n.lineno, n.col_offset) for n in ast.walk(x.node) if isinstance(n, ast.expr)] for x in (source, made)]
    assert places[0] == places[1]


# -- random programs

VARIABLE = st.sampled_from("pxy")
PAIR = st.sampled_from([", ".join(pair) for pair in itertools.permutations("pxy", 2)])
"""Of two variables: Python 3.11.2 itself leaves the first value in one that stands there twice."""


def expressions() -> st.SearchStrategy[str]:
    plain = VARIABLE | st.integers(0, 3).map(str)
    return plain | st.one_of(
        st.builds("({} + {})".format, plain, plain),
        st.builds("({} := {})".format, VARIABLE, plain),
        st.builds("({} and ({} := {}))".format, plain, VARIABLE, plain),
        st.builds("(({} := {}) if {} % 2 else {})".format, VARIABLE, plain, plain, plain),
        st.builds("({} < ({} := {}) < ({} := {}))".format, plain, VARIABLE, plain, VARIABLE, plain),
    )


def blocks(statements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(statements, min_size=1, max_size=4).map(lambda made: textwrap.indent("\n".join(made), "    "))


def statements(depth: int, loop: bool) -> st.SearchStrategy[str]:
    value = expressions()
    found = [
        st.builds("{} = {}".format, VARIABLE, value),
        st.builds("{} += {}".format, VARIABLE, value),
        st.builds("{}: int = {}".format, VARIABLE, value),
        st.builds("{} = {}, {}".format, PAIR, value, value),
        st.builds("e[{} % 4] += {}".format, value, value),
        st.builds("out({})".format, value),
    ]
    if loop:
        found += [st.builds("if {} % 2:\n    {}".format, value, st.sampled_from(("break", "continue", "return x")))]
        found += [st.sampled_from(("break", "continue"))]
    if depth:
        inner, looped = blocks(statements(depth - 1, loop)), blocks(statements(depth - 1, True))
        found += [
            st.builds("if {} % 2:\n{}\nelse:\n{}".format, value, inner, inner),
            st.builds("for {} in range({} % 3):\n{}".format, VARIABLE, value, looped),
            st.builds("for {} in range({} % 3):\n{}\nelse:\n{}".format, VARIABLE, value, looped, inner),
            st.builds("while more() and {} % 3:\n{}\nelse:\n{}".format, value, looped, inner),
        ]
    return st.one_of(found)


def observed(text: str, p: int) -> tuple[list[int], list[int], object]:
    """What a program does: what it writes, its elements, its result, which may be that a variable has no value."""
    written, elements, left = list[int](), [0] * 4, iter(range(20))
    known: dict[str, Any] = {"out": written.append, "e": elements, "more": lambda: next(left, None) is not None}
    exec(text, known)
    try:
        return written, elements, known["f"](p)
    except NameError:
        return written, elements, NameError


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(blocks(statements(2, False)), st.integers(0, 3))
def test_programs_do_the_same(body: str, p: int) -> None:
    source = from_text(f"def f(p):\n    x = 1\n{body}\n    out(x + y)", {"out": None, "e": None, "more": None})
    assert observed(separated(source).text, p) == observed(source.text, p)
