"""Records, named tuples and vectors in kernels, against the same bytes in NumPy."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from smmux import CompileError, OutOfBoundsError, cuda, float32
from smmux.types import from_dtype

FIELDS = [
    ("a", "i1"), ("x", "f8"), ("v", "f4", (3,)), ("h", "f2"), ("i", "i2"), ("c", "c16"), ("d", "c8"), ("b", "?"),
    ("u", "u4"), ("w", "u8"), ("k", "u2"),
]  # fmt: skip
ALIGNED, PACKED = np.dtype(FIELDS, align=True), np.dtype(FIELDS)
ODD = np.dtype({"names": ["s", "t"], "formats": ["i4", "f8"], "offsets": [2, 8], "itemsize": 18})
NESTED = np.dtype([("p", ALIGNED), ("q", [("r", "i8"), ("s", "i2", (2, 2))]), ("o", ODD, (2,)), ("z", "f4")])
Point = namedtuple("Point", "x y")
TABLE = np.array([(1, 2.5), (3, 4.5)], dtype=[("i", "i4"), ("f", "f8")])


def records(dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """Records of random bits, without those that are no numbers or no booleans."""
    rng = np.random.default_rng(7)
    values = np.zeros(count, dtype)
    for name, (field, *_) in (dtype.fields or {}).items():
        shape = values[name].shape
        if field.names is None:
            values[name] = (
                (rng.normal(size=shape) * 40).astype(field.base) if field.base != "?" else rng.random(shape) < 0.5
            )
    return values


@cuda.jit
def each_field(a, out):
    i = cuda.grid(1)
    if i < a.size:
        r = a[i]
        out[i, 0] = r.a
        out[i, 1] = r["x"]
        out[i, 2] = a[i].v[1]
        out[i, 3] = a["h"][i]
        out[i, 4] = a.i[i]
        out[i, 5] = r.c.imag
        out[i, 6] = r.d.real
        out[i, 7] = r.b
        out[i, 8] = r.u
        out[i, 9] = r.w
        out[i, 10] = r.k


@cuda.jit
def set_fields(a):
    i = cuda.grid(1)
    if i < a.size:
        r = a[i]
        r.a = -i
        r["x"] = i + 0.25
        a[i].v[2] = 7
        a["h"][i] += 1
        r.i -= 3
        r.c = 1 + i * 2j
        r.d *= 2
        a[i]["b"] = i % 2
        r.u = r.u ^ 255
        r.w += 1
        r.k = i


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K", "K20c"])
@pytest.mark.parametrize("dtype", [ALIGNED, PACKED], ids=["aligned", "packed"])
def test_every_type_of_field(dtype, gpu):
    a = records(dtype, 70)
    out = np.zeros((70, 11))
    each_field.simulate(3, 32, (a, out), gpu=gpu)
    columns = [a["a"], a["x"], a["v"][:, 1], a["h"], a["i"], a["c"].imag, a["d"].real, a["b"], a["u"], a["w"], a["k"]]
    assert np.array_equal(out, np.stack([column.astype(float) for column in columns], axis=1))
    wanted, i = a.copy(), np.arange(70)
    wanted["a"], wanted["x"], wanted["i"] = -i, i + 0.25, a["i"] - 3
    wanted["v"][:, 2] = 7
    wanted["h"] += np.float16(1)
    wanted["c"], wanted["d"], wanted["b"] = 1 + i * 2j, a["d"] * 2, i % 2
    wanted["u"], wanted["w"], wanted["k"] = a["u"] ^ 255, a["w"] + 1, i
    set_fields.simulate(3, 32, (a,), gpu=gpu)
    for name in a.dtype.names:
        assert np.array_equal(a[name], wanted[name]), name


@cuda.jit
def in_every_memory(a, one, out, point):
    s = cuda.shared.array(32, NESTED)
    own = cuda.local.array(2, PACKED, alignment=16)
    table = cuda.const.array_like(TABLE)
    t = cuda.threadIdx.x
    s[t] = a[t]
    s[t].q.s[1, 0] = t
    s[t].o[1].s = t * 100
    own[t & 1].c = 1 + 2j
    own[t & 1].x = 0.5
    own[t & 1].i = -t
    cuda.syncthreads()
    other = s[31 - t]
    out[t] = other.p.x + other.q.r + other.q.s[1, 0] + other.o[1].s + other.o[0].t + point.y + one.z
    out[t] += own[t & 1].c.imag + own[t & 1].x + own[t & 1].i + table[t & 1].f + table[1].i
    if t == 0:
        one.z = 5


def test_records_in_every_memory():
    a, t = np.zeros(32, NESTED), np.arange(32)
    a["p"]["x"], a["q"]["r"], a["o"]["t"][:, 0] = t * 0.25, t * 10**10, t
    pair = np.zeros(2, NESTED)
    pair[1]["z"] = 3
    out = np.zeros(32)
    in_every_memory[1, 32](a, pair[1], out, Point(1, 2.5))
    back = 31 - t
    wanted = back * 0.25 + back * 10**10 + back + back * 100 + back + 2.5 + 3 + 2 + 0.5 - t + TABLE["f"][t & 1] + 3
    assert np.array_equal(out, wanted)
    assert pair[1]["z"] == 5


def test_a_record_chosen_by_a_branch():
    @cuda.jit
    def chosen(a, out):
        i = cuda.grid(1)
        best = a[0]
        for j in range(1, a.size):
            if a[j].x > best.x and j != i:
                best = a[j]
        out[i] = best.x

    a = records(PACKED, 9)
    out = np.zeros(9)
    chosen[1, 9](a, out)
    assert np.array_equal(out, [max(a["x"][[j for j in range(9) if j != i or j == 0]]) for i in range(9)])


def test_named_tuples_and_vectors():
    @cuda.jit
    def swapped(out):
        v = cuda.float32x4(1.5, cuda.int32x2(2, 3), 4)
        q = Point(float32(cuda.threadIdx.x), y=v.w)
        for _ in range(3):
            q = Point(q.y, q.x)
        out[cuda.threadIdx.x] = v.x + v.z + q.x * 10 + q.y + cuda.uchar2(257, 0).x

    out = np.zeros(4, np.float32)
    swapped[1, 4](out)
    assert np.array_equal(out, 1.5 + 3 + 40 + np.arange(4) + 1)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("a[0].nothing = 1", "no field 'nothing'"),
        ("a[0].xx = 1", "did you mean 'x'"),
        ("a[0] = 1", "takes a record"),
        ("out[0] = a[0]", "record"),
        ("out[0] = a[0] + 1", "record"),
        ("cuda.atomic.add(a.x, 0, 1.0)", "multiples of their size"),
        ("out[0] = cuda.float32x2(1, 2, 3).x", "2 components, 3 given"),
        ("out[0] = cuda.float32x2(1, 2).z", "no field 'z'"),
        ("out[0] = Point(1).x", "takes x, y"),
        ("cuda.shared.array(4, PACKED, alignment=3)", "power of two"),
        ("a.view(float32)", "records"),
    ],
)
def test_refusals(statement, message):
    from smmux.kernel import from_source

    names = {"cuda": cuda, "Point": Point, "PACKED": PACKED, "float32": float32}
    kernel = from_source(f"def k(a, out):\n    {statement}\n", names)
    with pytest.raises(CompileError, match=message):
        kernel.compile((records(PACKED, 4), np.zeros(4)))


def test_types_of_records():
    assert from_dtype(np.float32) == float32
    assert from_dtype(PACKED).dtype == PACKED
    assert repr(from_dtype(np.dtype([("x", "f4"), ("y", "f4")]))) == "record(x, y)"


@pytest.mark.parametrize("dtype", [ALIGNED, PACKED], ids=["aligned", "packed"])
def test_indices_of_records(dtype):
    """Negative ones count from the end, and none comes round 2**32."""

    @cuda.jit
    def picked(a, at, out):
        out[0] = a[at[0]].x
        out[1] = a[-1].v[at[1]]

    a, out = records(dtype, 9), np.zeros(2)
    picked[1, 1](a, np.array([-2, -1]), out)
    assert np.array_equal(out, [a[-2]["x"], a[-1]["v"][-1]])
    for far in (9, 1 << 25, 1 << 26, 1 << 27, (1 << 32) // a.itemsize + 1, (1 << 32) + 1):
        with pytest.raises(OutOfBoundsError):
            picked.simulate(1, 1, (a, np.array([far, 0]), out))
