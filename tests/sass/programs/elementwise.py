"""Programs of one thread per element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.sass.programs import Case, program

Random = np.random.Generator
N = 200


def whole(rng: Random, shape: Any, most: int = 4) -> Any:
    """Small whole numbers: sums and products of them are exact in every order."""
    return rng.integers(-most, most + 1, shape)


def axpy(kind: Any) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        x, y, a = whole(rng, N).astype(kind), whole(rng, N).astype(kind), np.array([3]).astype(kind)[0]
        return Case([a, x, y, N], {2: (a * x + y).astype(kind)})

    return make


for name, kind in {
    "float": "f4", "double": "f8", "int": "i4", "long": "i8", "short": "i2", "half": "f2",
}.items():  # fmt: skip
    made = axpy(kind)
    made.__name__, made.__module__ = f"axpy_{name}", __name__
    program(4, 64)(made)


def bfloat(values: Any) -> Any:
    """The upper halves of floats that bfloat16 holds exactly."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


@program(4, 64)
def axpy_bfloat(rng: Random) -> Case:
    x, y = whole(rng, N), whole(rng, N)
    return Case([bfloat(3), bfloat(x), bfloat(y), N], {2: bfloat(3 * x + y)})


@program(2, 64)
def axpy_half2(rng: Random) -> Case:
    x, y = (rng.standard_normal((N, 2)).astype(np.float16) for _ in range(2))
    a = np.array([1.5, -0.3], np.float16)
    exact = a.astype(float) * x.astype(float) + y.astype(float)
    return Case([a.tobytes(), x, y, N], {2: exact.astype(np.float16)})


def divided(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient and rest as C has them, in Python's integers."""
    a, b = a.astype(object), b.astype(object)
    quotient = abs(a) // abs(b) * np.where((a < 0) != (b < 0), -1, 1)
    return quotient, a - quotient * b


def integers(kind: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        info = np.iinfo(kind)
        a = rng.integers(info.min, info.max, N, kind, endpoint=True)
        b = rng.integers(info.min, info.max, N, kind, endpoint=True)
        b = b >> rng.integers(0, info.bits, N).astype(kind)
        b[(b == 0) | (b == (-1 if info.min else 0))] = 3
        a[:6] = [info.min, info.max, 0, 1, info.min + 1, info.max - 1]
        quotient, rest = divided(a, b)
        with np.errstate(over="ignore"):
            shift = b.astype(object) & 7
            x, y = a.astype(object), b.astype(object)
            rows = [quotient, rest, x * y, x - y, x >> shift, x << shift, np.minimum(x, y), (x ^ y) | ~(x & y)]
        out = np.array([[int(v) % (1 << info.bits) for v in row] for row in rows], f"u{info.bits // 8}").T.copy()
        return Case([a, b, np.zeros((N, 8), kind), N], {2: out.view(kind)})

    return make


for kind in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
    made = integers(f"{kind[0].replace('s', 'i')}{int(kind[1:]) // 8}")
    made.__name__, made.__module__ = f"integers_{kind}", __name__
    program(4, 64)(made)


def words(values: Any) -> Any:
    """Numbers of 128 bits as pairs of 64."""
    return np.array([[v & (1 << 64) - 1, v >> 64 & (1 << 64) - 1] for v in values], np.uint64)


@program(1, 64)
def wide_integers(rng: Random) -> Case:
    def number() -> int:
        return int.from_bytes(rng.bytes(16), "little") >> int(rng.integers(0, 127)) | 1

    x, y = [number() for _ in range(50)], [number() for _ in range(50)]
    rows = [[a * b, a + b, a // b, a % b] for a, b in zip(x, y, strict=True)]
    return Case([words(x), words(y), np.zeros((50, 8), np.uint64), 50], {2: words(sum(rows, [])).reshape(50, 8)})


@program(4, 64)
def bit_tricks(rng: Random) -> Case:
    x = rng.integers(0, 1 << 32, N, np.uint32) >> rng.integers(0, 32, N).astype(np.uint32)
    x[0] = 0
    rows = []
    for v, w in zip(x.tolist(), np.roll(x, -1).tolist(), strict=True):
        wide, pool = v << 32 | w, v.to_bytes(4, "little") + w.to_bytes(4, "little")
        chosen = bytes(pool[n] for n in (3, 5, 1, 6))
        rows.append([
            v.bit_count(), 32 - v.bit_length(), int(f"{v:032b}"[::-1], 2), (v & -v).bit_length(), wide.bit_count(),
            64 - wide.bit_length(), v * w >> 32, int.from_bytes(chosen, "little"),
            (w << 32 | v) >> (v & 31) & 0xFFFFFFFF,
            (abs(v - w) + 7 + (v & 0xFFFFFF) * (w & 0xFFFFFF)) & 0xFFFFFFFF,
        ])  # fmt: skip
    return Case([x, np.zeros((N, 10), np.uint32), N], {1: np.array(rows, np.uint32)})


@program(4, 64)
def convert_float(rng: Random) -> Case:
    x = (rng.standard_normal(N) * 10.0 ** rng.integers(-3, 4, N)).astype(np.float32)
    x[:4] = [0.5, 1.5, -2.5, 300.0]
    s32, u32 = np.trunc(x).astype(np.int32), np.trunc(abs(x)).astype(np.uint32)
    with np.errstate(over="ignore"):
        f16 = x.astype(np.float16)
    f32 = np.float32
    back = s32.astype(f32) + u32.astype(f32) + s32.astype(np.int8).astype(f32) + u32.astype(np.uint16).astype(f32)
    back = back + np.rint(x) + np.floor(x) + np.ceil(x) + np.trunc(x)
    s64 = np.trunc(x.astype(np.float64) * 1e6).astype(np.int64)
    zeros = [np.zeros(N, kind) for kind in ("i4", "u4", "i8", "f8", "f2", "f4")]
    return Case([x, *zeros, N], {1: s32, 2: u32, 3: s64, 4: x.astype(np.float64), 5: f16, 6: back})


@program(4, 64)
def convert_double(rng: Random) -> Case:
    x = rng.standard_normal(N) * 10.0 ** rng.integers(-3, 4, N)
    s32, u64 = np.trunc(x).astype(np.int32), np.trunc(abs(x * 1e9)).astype(np.uint64)
    back = s32.astype(np.float64) + u64.astype(np.float64) + np.rint(x) + np.floor(x) + np.ceil(x)
    zeros = [np.zeros(N, kind) for kind in ("i4", "u8", "f4", "f8")]
    return Case([x, *zeros, N], {1: s32, 2: u64, 3: x.astype(np.float32), 4: back}, 1e-15)


def functions(x: Any) -> list[Any]:
    """What the functions of both kernels have in common."""
    return [
        np.sin(x), np.cos(x), np.exp(x), np.log(x), np.sqrt(x), 1 / np.sqrt(x),
        np.tanh(x), x**2.5, np.arctan(x), special.erf(x), np.cbrt(x), 1 / x,
    ]  # fmt: skip


@program(4, 64)
def float_functions(rng: Random) -> Case:
    x = rng.uniform(0.05, 3, N).astype(np.float32)
    v = x.astype(np.float64)
    out = [*functions(v), np.fmod(v, float(np.float32(0.3))), np.exp2(v), np.log2(v), np.hypot(v, 2)]
    return Case([x, np.zeros((N, 16), np.float32), N], {1: np.array(out, np.float32).T}, 1e-6, 3e-7, 1e-5)


@program(4, 64)
def double_functions(rng: Random) -> Case:
    x = rng.uniform(0.05, 3, N)
    out = [*functions(x), np.fmod(x, 0.3), special.gamma(x), np.log1p(x), np.hypot(x, 2)]
    return Case([x, np.zeros((N, 16)), N], {1: np.array(out).T}, 3e-15, 1e-15)


@program(4, 64)
def large_angles(rng: Random) -> Case:
    x = (rng.standard_normal(N) * 10.0 ** rng.integers(0, 9, N)).astype(np.float32)

    def check(args: Any) -> None:
        assert np.all(np.abs(args[1]) <= 1.001)

    return Case(
        [x, np.zeros(N, np.float32), N], {1: np.sin(x.astype(np.float64)).astype(np.float32)}, 0, 3e-7, 1e9, check
    )


@program(4, 64)
def black_scholes(rng: Random) -> Case:
    price, strike, years = (rng.uniform(*r, N).astype(np.float32) for r in ((5, 30), (1, 100), (0.25, 10)))
    s, k, t, rate, volatility = price.astype(float), strike.astype(float), years.astype(float), 0.02, 0.3
    d1 = (np.log(s / k) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    call = s * special.ndtr(d1) - k * np.exp(-rate * t) * special.ndtr(d2)
    put = k * np.exp(-rate * t) * special.ndtr(-d2) - s * special.ndtr(-d1)
    zeros = [np.zeros(N, np.float32) for _ in range(2)]
    return Case([price, strike, years, *zeros, 0.02, 0.3, N], {3: call, 4: put}, 1e-5, 2e-5, 1e-4)


@program((3, 3), (16, 8))
def mandelbrot(rng: Random) -> Case:
    width, height, limit = 40, 24, 60
    column, row = np.meshgrid(np.arange(width), np.arange(height))
    cx, cy = -2.0 + 3.0 * column / width, -1.5 + 3.0 * row / height
    zx, zy, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    inside = np.ones(cx.shape, bool)
    for _ in range(limit):
        with np.errstate(over="ignore", invalid="ignore"):
            inside &= zx * zx + zy * zy <= 4
            counts[inside] += 1
            zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
    return Case([np.zeros((height, width), np.int32), width, height, limit], {0: counts})


@program(4, 64)
def gray(rng: Random) -> Case:
    pixels = rng.integers(0, 256, (N, 4), np.uint8)
    out = (pixels[:, :3].astype(int) @ [77, 150, 29] >> 8).astype(np.uint8)
    return Case([pixels, np.zeros(N, np.uint8), N], {1: out})


@program(4, 64)
def unaligned_copy(rng: Random) -> Case:
    kind = np.dtype([("head", "u1"), ("word", "<u4"), ("wide", "<u8")])
    data = rng.integers(0, 256, 3 + kind.itemsize * N, np.uint8)
    made = data[3:].copy().view(kind)
    made["head"] ^= 0x55
    made["word"] += np.arange(N, dtype=np.uint32)
    made["wide"] *= np.uint64(3)
    out = np.concatenate([np.zeros(3, np.uint8), made.view(np.uint8)])
    return Case([data, np.zeros_like(data), 3, N], {1: out})


@program(4, 64)
def vectors(rng: Random) -> Case:
    x, y, s = whole(rng, (N, 4)).astype(np.float32), whole(rng, (N, 2)).astype(float), whole(rng, (N, 4)).astype("i2")
    c = np.stack([s[:, 0], s[:, 1] + s[:, 2], s[:, 3]], 1).astype(np.int8)
    out = np.stack([x[:, 3] + s[:, 0], x[:, 2] * s[:, 1], x[:, 1] - s[:, 2], x[:, 0] + y[:, 0] * y[:, 1]], 1)
    return Case([x, y, s, np.zeros((N, 3), np.int8), np.zeros((N, 4), np.float32), N], {3: c, 4: out})


@program(4, 64)
def complex_powers(rng: Random) -> Case:
    z = np.exp(2j * np.pi * rng.uniform(0, 1, N)).astype(np.complex64)
    return Case([z, np.zeros_like(z), 13, N], {1: z.astype(complex) ** 13}, 1e-5, 1e-5)


@program(4, 64)
def directed_rounding(rng: Random) -> Case:
    x, y = (rng.standard_normal(N).astype(np.float32) for _ in range(2))
    a, b = x.astype(np.float64), y.astype(np.float64)
    # In double all of these are exact or so near that the direction is right.
    exact = [a + b, a + b, a * b, a * b + 1, a / b, np.sqrt(abs(a)), np.clip(a, 0, 1), 1 / b]
    ways = ["up", "down", "zero", "up", "down", "up", "near", "zero"]
    out = np.stack([rounded(v, way) for v, way in zip(exact, ways, strict=True)], 1)
    return Case([x, y, np.zeros((N, 8), np.float32), N], {2: out})


def rounded(exact: Any, way: str) -> Any:
    """Doubles rounded to floats in a direction."""
    near = exact.astype(np.float32)
    up = np.where(near < exact, np.nextafter(near, np.float32(np.inf)), near)
    down = np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near)
    return {"near": near, "up": up, "down": down, "zero": np.where(exact < 0, up, down)}[way]
