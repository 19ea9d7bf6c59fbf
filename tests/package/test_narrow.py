"""Arguments of 64 bits with 32 on the machine: on the way in and out, with one warning."""

import warnings

import numpy as np
import pytest

import smmux
from smmux import CompileError, LaunchError, cuda, gpus
from smmux.running.narrowing import NarrowWarning


@cuda.jit
def scale(a, factor):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * factor


def test_the_values_are_those_of_32_bits():
    a = np.linspace(0, 1, 40)
    expected = np.float64(a.astype(np.float32) * np.float32(1 / 3))
    with pytest.warns(NarrowWarning, match=r"^a \(float64\), factor \(float64\): 64-bit arguments") as caught:
        scale.simulate(2, 32, (a, np.float64(1 / 3)), narrow=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (a == expected).all()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers(dtype):
    a = np.arange(40, dtype=dtype)
    with pytest.warns(NarrowWarning):
        scale.simulate(2, 32, (a, dtype(3)), narrow=True)
    assert (a == 3 * np.arange(40)).all()
    a[3] = 2**32 + 1
    with pytest.raises(LaunchError, match="argument 'a' holds 4294967297, which does not fit"):
        scale.simulate(2, 32, (a, 3), narrow=True)
    with pytest.raises(LaunchError, match="holds 1e\\+300"):
        scale.simulate(2, 32, (np.full(4, 1e300), 3), narrow=True)


def test_complex_numbers():
    a = np.full(40, 1 / 3 + 1j)
    with pytest.warns(NarrowWarning, match="complex128"):
        scale.simulate(2, 32, (a, np.complex128(3j)), narrow=True)
    assert (a == np.complex64(1 / 3 + 1j) * np.complex64(3j)).all()


def test_what_the_kernel_leaves_alone_keeps_all_digits():
    a = np.full(40, 0.1)
    with pytest.warns(NarrowWarning):
        scale.simulate(1, 32, (a, 1.0), narrow=True)
    with pytest.warns(NarrowWarning):
        scale.simulate(1, 8, (a, 2.0), narrow=True)
    assert (a[8:] == 0.1).all()
    assert (a[:8] == np.float64(np.float32(0.1) * 2)).all()


def test_views_of_one_buffer_stay_so():
    @cuda.jit
    def shift(to, source):
        to[cuda.threadIdx.x] = source[cuda.threadIdx.x] + 1
        cuda.syncthreads()
        to[cuda.threadIdx.x] += source[0]

    memory = np.arange(40.0)
    with pytest.warns(NarrowWarning):
        shift.simulate(1, 8, (memory[1:17:2], memory.reshape(20, 2)[:, 1]), narrow=True)
    assert memory[:6].tolist() == [0, 2 + 2, 2, 4 + 2, 4, 6 + 2]


def test_context_and_current_machine():
    a = np.ones(4)
    with gpus.set_current("GTX480-48K"), smmux.narrow(), pytest.warns(NarrowWarning):
        scale[1, 32](a, 2)
    assert a.tolist() == [2] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scale.simulate(1, 32, (np.ones(4, np.float32), 2), narrow=True)


def test_declared_types_are_narrowed_too():
    narrowed = cuda.jit("void(float64[:], float64)")(scale.py_func)
    a = np.ones(4)
    with pytest.warns(NarrowWarning):
        narrowed.simulate(1, 32, (a, 1 / 3), narrow=True)
    assert a[0] == np.float32(1 / 3)
    with pytest.raises(CompileError, match="declared as float32.*is an array of int32"), smmux.narrow():
        narrowed.simulate(1, 32, (np.ones(4, np.int32), 1))
