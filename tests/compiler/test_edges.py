"""Numbers at the edges of their types, and constants without end."""

import functools
import time

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, int32
from smmux.kernel import from_source
from tests.compiler.front import outputs, run

TINY = [2.0**-127, 2.0**-128, 2.0**-149, -(2.0**-140), 2.0**-126, 3 * 2.0**-149]


@pytest.mark.parametrize("divisor", TINY)
def test_division_by_small_constants(divisor: float) -> None:
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        out[i] = a[i] / float32(divisor)

    a = np.array([0.0, -0.0, 0.25, 1.0, 2.0**-126, -(2.0**-149), 3 * 2.0**-130, np.inf], np.float32)
    with np.errstate(all="ignore"):
        expected = a / np.float32(divisor)
    assert outputs(kernel, a).view(np.uint32).tolist() == expected.view(np.uint32).tolist()


def test_absolute_value_of_the_least_integer() -> None:
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        out[i] = abs(a[i]) % 10 + abs(a[i]) // 7 + (abs(a[i]) >> 3)

    a = np.array([-(2**31), -(2**31) + 1, 2**31 - 1, -7, 0], np.int32)
    with np.errstate(all="ignore"):
        expected = np.abs(a) % 10 + np.abs(a) // 7 + (np.abs(a) >> 3)
    assert outputs(kernel, a).tolist() == expected.tolist()


def test_comparisons_in_a_chain_stop_at_the_first_that_is_false() -> None:
    @cuda.jit
    def kernel(out, a, n):
        i = cuda.threadIdx.x
        out[i] = 0 <= i < 4 and 1 < a[i] < n < cuda.atomic.add(a, 7, 1)
        out[i] += 2 * (i < 3 < a[100 * (i >= 3)])

    @cuda.jit
    def outside(out, a):
        i = cuda.threadIdx.x
        out[i] = 8 > i < a[i + 5]

    a = np.array([0, 1, 2, 3, 9, 9, 9, 0], np.int32)
    out = np.zeros(6, np.int32)
    run(kernel, 1, 6, out, a, 100)
    assert a[7] == 2
    assert not out.any()
    with pytest.raises(smmux.OutOfBoundsError):
        outside.simulate(1, 6, (out, a))


def test_a_name_bound_late_in_a_chain() -> None:
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        x = int32(5)
        if 0 <= i < (x := a[i]) < 3:
            out[i] = x
        out[i] += 10 * x

    a = np.array([1, 2, 7, 2, 9], np.int32)
    assert outputs(kernel, a).tolist() == [11, 22, 70, 20, 90]


def test_the_complement_of_a_bool_is_refused() -> None:
    for text in ("~(n < 3)", "~True", "~(not n)"):
        with pytest.raises(smmux.CompileError, match="write `not x`"):
            from_source(f"def k(out, n):\n    out[0] = {text}", {}).ir(np.zeros(1, np.int32), 3)


CONSTANTS = [
    "1 << 10**10",
    "10**10**10",
    "pow(10, 10**9)",
    "'x' * 10**10",
    "float32(10**400)",
    "2.0**10**10",
    "round(1e400)",
    "int(1e400)",
    "1" * 2000,
    "2" * 5000,
    "BIG",
    "1 << (1 << (1 << 40))",
]


@pytest.mark.parametrize("text", CONSTANTS, ids=[text[:20] for text in CONSTANTS])
def test_constants_without_end_are_refused_at_once(text: str) -> None:
    from_source("def k(out):\n    out[0] = 1", {}).ir(np.zeros(1, np.int32))  # what it imports takes its time
    began = time.process_time()
    with pytest.raises(smmux.CompileError, match=":2:[1-9]"):
        from_source(f"def k(out):\n    out[0] = {text}", {"float32": float32, "BIG": 10**400}).ir(np.zeros(1, np.int32))
    assert time.process_time() - began < 0.5


def test_long_constants_on_the_way_to_short_ones() -> None:
    kernel = from_source("def k(out):\n    out[0] = ((1 << 900) >> 890) + 10**300 % 7", {})
    out = np.zeros(1, np.int32)
    run(kernel, 1, 1, out)
    assert out[0] == 1024 + 10**300 % 7


def twice(function):
    @functools.wraps(function)
    def wrapper(out, a):
        i = cuda.threadIdx.x
        out[i] = 2 * a[i]

    return wrapper


def test_a_wrapper_is_the_function() -> None:
    @cuda.jit
    @twice
    def kernel(out, a):
        out[cuda.threadIdx.x] = int32(5)

    assert outputs(kernel, np.arange(3, dtype=np.int32)).tolist() == [0, 2, 4]
