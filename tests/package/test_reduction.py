"""`cuda.reduce`: the values of `functools.reduce`, for sizes around those of warps, blocks and grids."""

import functools

import numpy as np
import pytest

from smmux import cuda


def add(a, b):
    return a + b


total = cuda.reduce(add)
largest = cuda.Reduce(lambda a, b: max(a, b))


@pytest.mark.quick
@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 127, 128, 129, 1000, 8192, 8193, 20000])
@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.complex128])
def test_sums(size, dtype):
    array = np.random.default_rng(size).integers(0, 100, size).astype(dtype)
    got = total(array, init=3)
    assert got == functools.reduce(add, array, dtype(3))
    assert got.dtype == dtype


def test_the_first_elements_and_a_place_for_the_result():
    array = np.arange(-700, 700, dtype=np.int32)
    assert largest(array, size=100, init=-1000) == -601
    place = cuda.device_array(2, np.int32)
    assert largest(cuda.to_device(array), res=place) is None
    assert place.tolist() == [699, 0]


def test_no_elements_give_the_initial_value():
    assert total(np.zeros(0, np.float32), init=2) == 2.0


def test_only_one_axis():
    with pytest.raises(TypeError, match="one-dimensional"):
        total(np.zeros((2, 2), np.float32))


def test_a_device_function():
    @cuda.jit(device=True)
    def both(a, b):
        return a | b

    assert cuda.reduce(both)(np.array([1, 4, 8, 8], np.uint32)) == 13
