"""Complex numbers: elements, literals, arguments, arithmetic, parts and functions."""

import cmath
import math

import numpy as np
from numba import complex64, complex128, cuda

VALUES = np.array([0.5 + 1j, -2 + 0.25j, 3j, -1.5, 4 - 4j, 1e-3 + 1e3j])


@cuda.jit
def arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = -a[i]
        out[4, i] = a[i].conjugate()
        out[5, i] = a[i] * 2 + 1
        out[6, i] = a[i] + 2j
        out[7, i] = 0.5 * a[i]


def run_arithmetic():
    out = np.zeros((8, 6), dtype=complex)
    arithmetic[1, 8](VALUES, np.roll(VALUES, 2), out)
    return out


@cuda.jit
def parts(a, out, equal):
    i = cuda.grid(1)
    if i < a.size:
        z = a[i]
        out[0, i] = z.real
        out[1, i] = z.imag
        out[2, i] = z.real * z.real + z.imag * z.imag
        equal[i] = z == a[0] or z != a[1]


def run_parts():
    out, equal = np.zeros((3, 6)), np.zeros(6, dtype=np.bool_)
    parts[1, 8](VALUES, out, equal)
    return out, equal


@cuda.jit
def made(x, y, out):
    i = cuda.grid(1)
    out[i] = complex(x[i], y[i]) + complex128(1) * 1j


def run_made():
    out = np.zeros(4, dtype=complex)
    made[1, 4](np.arange(4.0), np.arange(4) / 2, out)
    return out


@cuda.jit
def single(a, c, out):
    i = cuda.grid(1)
    z = complex64(0)
    for _ in range(4):
        z = z * z + a[i]
    out[i] = z + c


def run_single_precision():
    a = (VALUES[:2] / 8).astype(np.complex64)
    out = np.zeros(2, dtype=np.complex64)
    single[1, 2](a, np.complex64(1 + 2j), out)
    return out


@cuda.jit
def functions(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] / (1 + 2j)
        out[1, i] = abs(a[i])
        out[2, i] = cmath.exp(a[i] / 1000)
        out[3, i] = cmath.sqrt(a[i])
        out[4, i] = cmath.phase(a[i])
        out[5, i] = cmath.log(a[i] + 5) * math.pi


def run_functions():
    out = np.zeros((6, 6), dtype=complex)
    functions[1, 8](VALUES, out)
    return out


@cuda.jit
def memories(a, out):
    shared = cuda.shared.array(8, complex128)
    own = cuda.local.array(2, complex64)
    t = cuda.threadIdx.x
    shared[t] = a[t] * 1j
    own[0] = 1
    own[1] = 2j
    cuda.syncthreads()
    out[t] = shared[7 - t] * own[t % 2]


def run_memories():
    a, out = np.arange(8) + 0.5j, np.zeros(8, dtype=complex)
    memories[1, 8](a, out)
    return out


@cuda.jit
def weak(out, close):
    """Numbers that no array or argument types, computed at run time."""
    i = cuda.grid(1)
    z = 2j * i
    out[0, i] = z / (1 + 1j)
    out[1, i] = (1 + 1j) * i / (i + 2j)
    out[2, i] = -2j * math.pi * i / 4
    close[i] = math.isclose(i * 0.75, 0.75)


def run_weak():
    out, close = np.zeros((3, 4), dtype=complex), np.zeros(4, dtype=np.bool_)
    weak[1, 4](out, close)
    return out, close


TOLERANCE = {"run_weak": 1e-15, "run_functions": 1e-14}
