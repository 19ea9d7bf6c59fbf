"""Loops over ranges near the ends of their types: they make the trips of Python's, and end."""

from itertools import islice

import numpy as np
import pytest

import smmux
from smmux import cuda, int32, uint32
from smmux.kernel import from_source
from tests.compiler.front import run

MOST, LEAST = 2**31 - 1, -(2**31)
SIGNED = [
    (MOST - 1, MOST, 1),
    (MOST - 3, MOST, 2),
    (0, MOST, 2**30),
    (0, MOST, 2**30 - 1),
    (MOST - 5, MOST - 1, 3),
    (MOST, MOST, 1),
    (LEAST, LEAST + 3, 2),
    (LEAST + 1, LEAST, -1),
    (LEAST + 4, LEAST, -3),
    (0, LEAST, -(2**30)),
    (MOST, LEAST, LEAST),
    (LEAST, MOST, MOST),
    (5, 3, 2),
    (5, 6, MOST),
    (-3, 2**30, 2**30),
]
UNSIGNED = [
    (0, 2**32 - 1, 2**31),
    (2**32 - 4, 2**32 - 1, 2),
    (3, 2**32 - 1, 2**32 - 2),
    (7, 7, 5),
    (2**31 - 1, 2**31 + 3, 3),
]
HALF = 2**63
BEYOND_INT64 = [
    (3, HALF + 4, 1),
    (-3, HALF + 4, 1),
    (-5, 2**64 - 1, 2**60),
    (HALF - 2, HALF + 2, 1),
    (HALF + 1, HALF + 9, 3),
    (2**64 - 9, 2**64 - 1, 4),
    (0, 2**64 - 1, 2**62),
    (HALF, 3, 1),
    (HALF + 5, HALF - 4, -3),
    (HALF + 5, -3, -(2**62)),
    (2**64 - 1, 0, 1 - HALF),
]


@cuda.jit
def counts(out, start, stop, step):
    for i in range(start, stop, step):
        out[0] += 1
        out[1] = i


def expected(*bounds: int) -> list[int]:
    values = range(*bounds)
    return [len(values), values[-1] if values else 0]


@pytest.mark.parametrize("bounds", SIGNED)
def test_ends_of_int32(bounds: tuple[int, int, int]) -> None:
    out = np.zeros(2, np.int32)
    run(counts, 1, 1, out, *bounds, max_cycles=10**6)
    assert out.tolist() == expected(*bounds)


@pytest.mark.parametrize("bounds", UNSIGNED)
def test_ends_of_uint32(bounds: tuple[int, int, int]) -> None:
    out = np.zeros(2, np.uint32)
    run(counts, 1, 1, out, *map(np.uint32, bounds), max_cycles=10**6)
    assert out.tolist() == expected(*bounds)


@pytest.mark.parametrize(("kind", "bounds"), [*((int32, b) for b in SIGNED), *((uint32, b) for b in UNSIGNED)])
def test_constants(kind: object, bounds: tuple[int, int, int]) -> None:
    start, stop, step = bounds
    names = {"kind": kind, "START": start, "STOP": stop, "STEP": step}
    text = "def k(out):\n    for i in range(kind(START), STOP, STEP):\n        out[0] += 1\n        out[1] = i"
    out = np.zeros(2, np.int32 if kind is int32 else np.uint32)
    run(from_source(text, names), 1, 1, out, max_cycles=10**6)
    assert out.tolist() == expected(*bounds)


def test_a_step_from_memory() -> None:
    @cuda.jit
    def kernel(out, bounds):
        t = cuda.threadIdx.x
        for i in range(bounds[t, 0], bounds[t, 1], bounds[t, 2]):
            out[t, 0] += 1
            out[t, 1] = i

    out = np.zeros((len(SIGNED), 2), np.int32)
    run(kernel, 1, len(SIGNED), out, np.array(SIGNED, np.int32), max_cycles=10**6)
    assert out.tolist() == [expected(*bounds) for bounds in SIGNED]


def test_a_loop_whose_end_is_small_costs_nothing_more() -> None:
    @cuda.jit
    def kernel(out, n, stop):
        for i in range(0, n, 16):
            out[i] = stop[0]

    @cuda.jit
    def loaded(out, n, stop):
        for i in range(0, stop[0], 16):
            out[i] = n

    out, stop = np.zeros(64, np.int32), np.zeros(1, np.int32)
    assert ".sat" not in kernel.ir(out, 64, stop)
    assert ".sat" in kernel.ir(out, MOST, stop)
    assert ".sat" in loaded.ir(out, 64, stop)


def test_int32_with_uint32() -> None:
    @cuda.jit
    def kernel(out, stop):
        t = cuda.threadIdx.x
        for i in range(t, stop):
            out[t] += i

    out = np.zeros(8, np.int32)
    run(kernel, 1, 8, out, np.uint32(5))
    assert out.tolist() == [sum(range(t, 5)) for t in range(8)]


def test_what_may_be_negative_with_uint32() -> None:
    @cuda.jit
    def kernel(out, start, stop):
        for i in range(start, stop):
            out[0] += i

    out = np.zeros(2, np.int64)
    try:
        kernel.simulate(1, 1, (out, np.int32(-3), np.uint32(2)))
    except smmux.CompileError as refusal:
        assert "int32" in str(refusal)
    else:
        assert out.tolist() == [-5, 0]


@pytest.mark.parametrize(
    "form", ["range({}, {}, s[2])", "range({}, {}, {})", "enumerate(range({}, {}, {}))", "constants"]
)
@pytest.mark.parametrize("bounds", BEYOND_INT64)
def test_bounds_that_no_int64_holds(bounds: tuple[int, int, int], form: str) -> None:
    """The first six numbers, of which a uint64 has the bits."""
    places = [f"{'us'[n < 0]}[{i}]" for i, n in enumerate(bounds[:2])]
    if form == "constants":
        form, places = "range({}, {}, {})", [f"{'int64' if n < 0 else 'uint64'}({n})" for n in bounds[:2]]
    target = "_, i" if "enumerate" in form else "i"
    text = (
        f"def k(out, u, s):\n    n = 0\n    for {target} in {form.format(*places, bounds[2])}:\n"
        "        out[n] = uint64(i)\n        n += 1\n        if n == 6:\n            break\n    out[6] = n\n"
    )
    out, bits = np.zeros(7, np.uint64), np.array([n % 2**64 for n in bounds], np.uint64)
    kernel = from_source(text, {name: getattr(smmux, name) for name in ("int64", "uint64")})
    kernel.simulate(1, 1, (out, bits, bits.view(np.int64)), max_cycles=10**6)
    numbers = [n % 2**64 for n in islice(range(*bounds), 6)]
    assert out.tolist() == [*numbers, *[0] * (6 - len(numbers)), len(numbers)]
