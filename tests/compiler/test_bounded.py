"""Long kernels compile in time that grows with their length; what no machine can hold is refused at once."""

import cProfile
import pstats
import time

import numpy as np
import pytest

import smmux
from smmux import cuda, int32, multiplex, preload
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.compiler.driver.compiling import clear_cache
from smmux.kernel import from_source

NAMES = {"cuda": cuda, "int32": int32}
SECOND = 1.0


def lines(pattern: str, n: int) -> str:
    return "".join(f"    {pattern}\n".replace("J3", str(j * 3 % n)).replace("J7", str(j * 7 % n)).replace("J", str(j))
                   for j in range(n))  # fmt: skip


def joined(word: str, pattern: str, n: int) -> str:
    return word.join(pattern.replace("J", str(j)) for j in range(n))


SHAPES = {
    "elements": lambda n: lines("a[J] = a[J7] * m + a[J3]", n),
    "variables": lambda n: lines("vJ = a[J]", n) + f"    a[0] = {joined(' + ', 'vJ', n)}\n",
    "branches": lambda n: lines("if a[J] > m:\n        a[J] = m", n),
    "and": lambda n: f"    if {joined(' and ', 'a[J] > m', n)}:\n        a[0] = 1\n",
    "or": lambda n: f"    if {joined(' or ', 'a[J] > m', n)}:\n        a[0] = 1\n",
    "elif": lambda n: "    if m > 999:\n        a[0] = 0\n" + lines("elif m == J:\n        a[J] = 1", n),
    "choices": lambda n: f"    a[0] = {joined(' ', 'J if m == J else', n)} 7\n",
    "sum": lambda n: f"    a[0] = {joined(' + ', 'a[J] * m', n)}\n",
    "loops": lambda n: lines("while m < a[J]:\n        m += 2", n) + "    a[0] = m\n",
    "shared": lambda n: lines("sJ = cuda.shared.array(4, int32)\n    sJ[m] = a[J]", n) + lines("a[J] = sJ[0]", n),
    "barriers": lambda n: lines("a[J] = a[J7]\n    cuda.syncthreads()", n),
}


def calls(body: str) -> int:
    """The calls of Python functions that compiling takes, which do not depend on the host."""
    clear_cache()
    profile = cProfile.Profile()
    kernel = from_source(f"def k(a, m):\n{body}", NAMES)
    profile.runcall(kernel.compile, (np.zeros(4096, np.int32), 3))
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_as_long_takes_twice_as_long(shape):
    short, long = (calls(SHAPES[shape](n)) for n in (60, 120))
    assert long < 2.4 * short


@pytest.mark.parametrize("schedule", ["source", "list"])
def test_accesses_are_compared_with_few_others(monkeypatch, schedule):
    asked = []
    matters = WarpOrder.matters
    monkeypatch.setattr(WarpOrder, "matters", lambda self, a, b: asked.append(0) or matters(self, a, b))
    kernel = from_source("def k(a, m):\n" + lines("a[J] = a[J7 + 2000] * m", 500), NAMES)
    kernel.compile((np.zeros(4096, np.int32), 3), schedule=schedule)
    assert len(asked) < 500 * (4 * 64 + 32)


def doubling(depth: int, body: str = "    return f{0}(x) + f{0}(x * 3)\n"):
    """A kernel whose device functions call each other twice at each level."""
    names = dict(NAMES)
    for level in range(depth):
        text = body.format(level - 1) if level else "    return x + 1\n"
        names[f"f{level}"] = from_source(f"def f{level}(x):\n{text}", dict(names), device=True)
    return from_source(
        "def k(a):\n    t = cuda.threadIdx.x\n    s = cuda.shared.array(32, int32)\n"
        f"    s[t] = f{depth - 1}(a[t])\n    cuda.syncthreads()\n    a[t] = s[31 - t]\n",
        names,
    )


def elements():
    return (np.arange(64, dtype=np.int32),)


WAYS = {
    "simulate": lambda k: k.simulate(2, 32, elements()),
    "list": lambda k: k.simulate(2, 32, elements(), schedule="list"),
    "portability": lambda k: k.portability(*elements()),
    "hw": multiplex.hw,
    "isolate": multiplex.isolate,
    "vtb": lambda k: multiplex.vtb(k).source,
    "vtb_pipe": lambda k: multiplex.vtb_pipe(k).source,
    "co_hw": lambda k: multiplex.co_hw(k, array="s", private=2),
    "co_vtb": lambda k: multiplex.co_vtb(k, array="s", private=2).source,
    "analyze": lambda k: preload.analyze(k, 2, 32, elements()),
    "tile": lambda k: preload.tile(k, 2, 32, elements()),
    "advise": lambda k: smmux.advise(k, 2, 32, elements(), gpu="GTX480-16K"),
}


def refused_at_once(make, way, match):
    began = time.process_time()
    with pytest.raises(smmux.CompileError, match=match):
        WAYS[way](make())
    assert time.process_time() - began < SECOND


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("depth", [14, 60])
def test_functions_that_double_are_refused(way, depth):
    refused_at_once(lambda: doubling(depth), way, "calls of device functions .* 4096 is the most")


def test_few_levels_run():
    kernel = doubling(6)
    a = elements()[0]
    kernel.simulate(2, 32, (a,))
    assert len(set(a[:32].tolist())) == 32


def test_the_fingerprint_of_functions_that_call_each_other_is_short():
    names: dict = {}
    for level in range(60):
        new = {}
        for name, other in ("fg", "gf"):
            body = f"{name}{level - 1}(x) + {other}{level - 1}(x)" if level else "x"
            new[f"{name}{level}"] = from_source(f"def {name}{level}(x):\n    return {body}\n", dict(names), device=True)
        names |= new
    began = time.process_time()
    assert hash(names["f59"].definition.fingerprint()) != hash(names["g59"].definition.fingerprint())
    assert time.process_time() - began < SECOND


SHAPE = (
    "def k(a):\n    t = cuda.threadIdx.x\n    s = cuda.shared.array({}, int32)\n    s[t] = a[t]\n    a[t] = s[31 - t]\n"
)
LONG = ["9**9**7", "N**N**N**N", "1 << 10**9", "N << (N << 30)", "9**9**7 % 64", "(9**9**7, 2)", "-(9**9**7)"]
LONG += ["9" * 5000, "0x" + "F" * 5000, "1" + "0" * 400]


@pytest.mark.quick
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", LONG, ids=[text[:14] for text in LONG])
def test_long_integers_are_refused(way, shape):
    make = lambda: from_source(SHAPE.format(shape), {**NAMES, "N": 32})  # noqa: E731
    refused_at_once(make, way, "an integer of more than 1000 bits")


@pytest.mark.parametrize("way", ["co_hw", "co_vtb", "simulate", "advise"])
def test_large_arrays_are_refused(way):
    refused_at_once(
        lambda: from_source(SHAPE.format("10**10"), NAMES), way, "no memory of a card holds arrays of 10000"
    )


def test_long_literals_are_refused_wherever_they_stand():
    for text in ("a[0] = 0 * {}", "a[{} % 7] = 1", "if False:\n        a[0] = {}", "x = ({}, 1)", "a[0] = 1.{}"):
        for digits in ("7" * 5000, "0x" + "7" * 5000):
            body = text.format(digits)
            if "1.0x" in body:
                continue
            began = time.process_time()
            try:
                from_source(f"def k(a):\n    {body}\n", {}).compile(elements())
            except smmux.CompileError as error:
                assert "more than 1000 bits" in str(error.msg)
                assert error.lineno in (2, 3)
            else:
                assert "1.7" in body
            assert time.process_time() - began < SECOND
