"""Structured arrays: fields of every type, nested ones, arrays in records, records as values."""

import numpy as np
from numba import cuda

PARTICLE = np.dtype(
    [("x", np.float64), ("y", np.float64), ("mass", np.float32), ("charge", np.int16), ("id", np.int64)]
)
PACKED = np.dtype([("flag", np.uint8), ("value", np.float64), ("count", np.int32)])
ALIGNED = np.dtype([("flag", np.uint8), ("value", np.float64), ("count", np.int32)], align=True)
NESTED = np.dtype([("at", [("x", np.float64), ("y", np.float64)]), ("kind", np.int32)])
WITH_ARRAY = np.dtype([("matrix", np.float32, (2, 3)), ("tail", np.int32, 4)])


def particles(n=8):
    made = np.zeros(n, dtype=PARTICLE)
    for k, name in enumerate(PARTICLE.names):
        made[name] = np.arange(n) * (k + 1) - 3
    return made


@cuda.jit
def move(p, dt):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x += dt * p[i].mass
        p[i]["y"] = p[i].y - dt * p[i].charge
        p[i].id = p[i].id * 2**33


def run_fields():
    p = particles()
    move[1, 8](p, 0.5)
    return tuple(p[name].copy() for name in PARTICLE.names)


@cuda.jit
def columns(p, out):
    i = cuda.grid(1)
    out[i] = p.x[i] + p["charge"][i]


def run_columns():
    p, out = particles(), np.zeros(8)
    columns[1, 8](p, out)
    return out


@cuda.jit
def as_value(p, out):
    i = cuda.grid(1)
    one = p[i]
    other = p[7 - i]
    out[i] = one.x * other.y + one.mass


def run_as_value():
    p, out = particles(), np.zeros(8)
    as_value[1, 8](p, out)
    return out


@cuda.jit(device=True)
def energy(p):
    return 0.5 * p.mass * (p.x * p.x + p.y * p.y)


@cuda.jit
def energies(p, out):
    i = cuda.grid(1)
    out[i] = energy(p[i])


def run_in_functions():
    p, out = particles(), np.zeros(8)
    energies[1, 8](p, out)
    return out


@cuda.jit
def fill(a):
    i = cuda.grid(1)
    a[i].flag = 200 + i
    a[i].value = i / 3
    a[i].count = -i


def run_layouts():
    found = []
    for dtype in (PACKED, ALIGNED):
        a = np.zeros(6, dtype=dtype)
        fill[1, 6](a)
        found += [a[name].copy() for name in dtype.names]
    return tuple(found)


@cuda.jit
def inner(a, out):
    i = cuda.grid(1)
    a[i].at.x = i
    a[i].at.y = a[i].at.x * 2 + 1
    out[i] = a[i].at.y * 10 + a[i].kind


def run_nested():
    a, out = np.ones(5, dtype=NESTED), np.zeros(5)
    inner[1, 5](a, out)
    return a["at"]["x"].copy(), a["at"]["y"].copy(), out


@cuda.jit
def arrays_inside(a, out):
    i = cuda.grid(1)
    for k in range(4):
        a[i].tail[k] = i * k
    a[i].matrix[1, 2] = a[i].matrix[0, 1] * 2
    out[i] = a[i].matrix[1, 2] + a[i].tail[3]


def run_arrays_inside():
    a, out = np.zeros(4, dtype=WITH_ARRAY), np.zeros(4, dtype=np.float32)
    a["matrix"] = np.arange(24).reshape(4, 2, 3)
    arrays_inside[1, 4](a, out)
    return a["tail"].copy(), a["matrix"].copy(), out


@cuda.jit
def one_record(r, out):
    out[0] = r.x + r.id


def run_record_argument():
    p, out = particles(), np.zeros(1)
    one_record[1, 1](p[3], out)
    return out
