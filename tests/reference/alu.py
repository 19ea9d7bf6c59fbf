"""Definition of the operations of `csrc/tables/ops.def` on vectors of 32-bit words, in NumPy.

`ALU[name](a, b, c)` maps words to words, `SETP[name](a, b)` words to booleans, `atomic(name, old, a, b)` one word,
`wide_atomic` 64 bits. Other operations on 64 bits stand in `wide.py`.
Special functions are the exact ones rounded to float32; the machine's polynomials may differ in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.wide import WIDE

Words = NDArray[np.uint32]


def s(a: Words) -> NDArray[np.int32]:
    return a.view(np.int32)


def f(a: Words) -> NDArray[np.float32]:
    return a.view(np.float32)


def bits(value: Any) -> Words:
    return np.ascontiguousarray(value).view(np.uint32)


def wide(a: Words) -> NDArray[np.int64]:
    """The signed values in 64 bits."""
    return s(a).astype(np.int64)


def low(value: NDArray[Any]) -> Words:
    """The low 32 bits."""
    return (value & 0xFFFFFFFF).astype(np.uint32)


def divide(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Quotient and remainder of truncating division; both 0 for a divisor of 0."""
    safe = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe)
    quotient = np.where(b == 0, 0, quotient)
    return quotient, np.where(b == 0, 0, a - quotient * b)


def shift(a: Words, b: Words, left: bool) -> Words:
    count = np.minimum(b, 32).astype(np.uint64)
    value = a.astype(np.uint64)
    return low(value << count if left else value >> count)


def minimum(a: Words, b: Words) -> Words:
    """The number if one is NaN; -0 below +0."""
    return np.where(f(a) == f(b), a | b, np.where((f(a) < f(b)) | np.isnan(f(b)), a, b))


def maximum(a: Words, b: Words) -> Words:
    return np.where(f(a) == f(b), a & b, np.where((f(a) > f(b)) | np.isnan(f(b)), a, b))


def fma(a: Words, b: Words, c: Words) -> Words:
    """a * b + c rounded once: the sum in float64, rounded to odd, keeps what the rounding to float32 needs."""
    product = f(a).astype(np.float64) * f(b).astype(np.float64)  # exact
    addend = f(c).astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.uint64) & 1) == 0
    adjust = np.isfinite(total) & (error != 0) & even
    towards = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where(adjust, total.view(np.int64) + towards, total.view(np.int64)).view(np.float64)
    return bits(odd.astype(np.float32))


def to_int(a: Words, lowest: int, highest: int) -> Words:
    value = np.nan_to_num(f(a).astype(np.float64), nan=0.0, posinf=2.0**40, neginf=-(2.0**40))
    return low(np.clip(np.trunc(value), lowest, highest).astype(np.int64))


def exactly(function: Callable[..., Any]) -> Callable[..., Words]:
    """Evaluated in float64, rounded once."""
    return lambda a, b, c: bits(function(f(a).astype(np.float64)).astype(np.float32))


def count_bits(a: Words) -> Words:
    return np.array([int(x).bit_count() for x in a], np.uint32)


Function = Callable[[Words, Words, Words], Words]

ALU: dict[str, Function] = {
    "mov.b32": lambda a, b, c: a.copy(),
    "add.s32": lambda a, b, c: a + b,
    "add.sat.s32": lambda a, b, c: low(np.clip(wide(a) + wide(b), -(2**31), 2**31 - 1)),
    "sub.s32": lambda a, b, c: a - b,
    "neg.s32": lambda a, b, c: np.uint32(0) - a,
    "abs.s32": lambda a, b, c: low(np.abs(wide(a))),
    "min.s32": lambda a, b, c: bits(np.minimum(s(a), s(b))),
    "min.u32": lambda a, b, c: np.minimum(a, b),
    "max.s32": lambda a, b, c: bits(np.maximum(s(a), s(b))),
    "max.u32": lambda a, b, c: np.maximum(a, b),
    "mul.lo.s32": lambda a, b, c: a * b,
    "mul.hi.s32": lambda a, b, c: low((wide(a) * wide(b)) >> 32),
    "mul.hi.u32": lambda a, b, c: low((a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(32)),
    "mad.lo.s32": lambda a, b, c: a * b + c,
    "div.s32": lambda a, b, c: low(divide(wide(a), wide(b))[0]),
    "div.u32": lambda a, b, c: low(divide(a.astype(np.int64), b.astype(np.int64))[0]),
    "rem.s32": lambda a, b, c: low(divide(wide(a), wide(b))[1]),
    "rem.u32": lambda a, b, c: low(divide(a.astype(np.int64), b.astype(np.int64))[1]),
    "and.b32": lambda a, b, c: a & b,
    "or.b32": lambda a, b, c: a | b,
    "xor.b32": lambda a, b, c: a ^ b,
    "not.b32": lambda a, b, c: ~a,
    "shl.b32": lambda a, b, c: shift(a, b, left=True),
    "shr.u32": lambda a, b, c: shift(a, b, left=False),
    "shr.s32": lambda a, b, c: low(wide(a) >> np.minimum(b, 31).astype(np.int64)),
    "popc.b32": lambda a, b, c: count_bits(a),
    "clz.b32": lambda a, b, c: np.array([32 - int(x).bit_length() for x in a], np.uint32),
    "brev.b32": lambda a, b, c: np.array([int(f"{int(x):032b}"[::-1], 2) for x in a], np.uint32),
    "add.f32": lambda a, b, c: bits(f(a) + f(b)),
    "sub.f32": lambda a, b, c: bits(f(a) - f(b)),
    "mul.f32": lambda a, b, c: bits(f(a) * f(b)),
    "mad.f32": lambda a, b, c: bits(f(a) * f(b) + f(c)),
    "fma.rn.f32": lambda a, b, c: fma(a, b, c),
    "neg.f32": lambda a, b, c: a ^ np.uint32(0x80000000),
    "abs.f32": lambda a, b, c: a & np.uint32(0x7FFFFFFF),
    "min.f32": lambda a, b, c: minimum(a, b),
    "max.f32": lambda a, b, c: maximum(a, b),
    "div.rn.f32": lambda a, b, c: bits(f(a) / f(b)),
    "sqrt.rn.f32": lambda a, b, c: bits(np.sqrt(f(a))),
    "rcp.approx.f32": lambda a, b, c: bits(np.float32(1) / f(a)),
    "rsqrt.approx.f32": exactly(lambda x: 1.0 / np.sqrt(x)),
    "sqrt.approx.f32": lambda a, b, c: bits(np.sqrt(f(a))),
    "sin.approx.f32": exactly(np.sin),
    "cos.approx.f32": exactly(np.cos),
    "ex2.approx.f32": exactly(np.exp2),
    "lg2.approx.f32": exactly(np.log2),
    "cvt.rn.f32.s32": lambda a, b, c: bits(s(a).astype(np.float32)),
    "cvt.rn.f32.u32": lambda a, b, c: bits(a.astype(np.float32)),
    "cvt.rzi.s32.f32": lambda a, b, c: to_int(a, -(1 << 31), (1 << 31) - 1),
    "cvt.rzi.u32.f32": lambda a, b, c: to_int(a, 0, (1 << 32) - 1),
    "cvt.rmi.f32.f32": lambda a, b, c: bits(np.floor(f(a))),
    "cvt.rpi.f32.f32": lambda a, b, c: bits(np.ceil(f(a))),
    "cvt.rzi.f32.f32": lambda a, b, c: bits(np.trunc(f(a))),
    "cvt.rni.f32.f32": lambda a, b, c: bits(np.rint(f(a))),
    "cvt.s32.s8": lambda a, b, c: low(a.astype(np.uint8).view(np.int8).astype(np.int64)),
    "cvt.u32.u8": lambda a, b, c: a & np.uint32(0xFF),
    "cvt.s32.s16": lambda a, b, c: low(a.astype(np.uint16).view(np.int16).astype(np.int64)),
    "cvt.u32.u16": lambda a, b, c: a & np.uint32(0xFFFF),
}

SETP: dict[str, Callable[[Words, Words], NDArray[np.bool_]]] = {
    "setp.eq.s32": lambda a, b: a == b,
    "setp.ne.s32": lambda a, b: a != b,
    "setp.lt.s32": lambda a, b: s(a) < s(b),
    "setp.le.s32": lambda a, b: s(a) <= s(b),
    "setp.gt.s32": lambda a, b: s(a) > s(b),
    "setp.ge.s32": lambda a, b: s(a) >= s(b),
    "setp.lt.u32": lambda a, b: a < b,
    "setp.le.u32": lambda a, b: a <= b,
    "setp.gt.u32": lambda a, b: a > b,
    "setp.ge.u32": lambda a, b: a >= b,
    "setp.eq.f32": lambda a, b: f(a) == f(b),
    "setp.neu.f32": lambda a, b: f(a) != f(b),
    "setp.lt.f32": lambda a, b: f(a) < f(b),
    "setp.le.f32": lambda a, b: f(a) <= f(b),
    "setp.gt.f32": lambda a, b: f(a) > f(b),
    "setp.ge.f32": lambda a, b: f(a) >= f(b),
}


def flushed(bits: Words) -> Words:
    """Subnormals as zeros of their sign."""
    return np.where(bits & np.uint32(0x7F800000), bits, bits & np.uint32(0x80000000))


def bfloat_sum(x: Words, y: Words) -> Words:
    """Sums of the halves as bfloat16, rounded to nearest even; of numbers whose sums are numbers."""
    parts = []
    for shift in (16, 0):
        a, b = (((v << np.uint32(16 - shift)) & np.uint32(0xFFFF0000)).view(np.float32) for v in (x, y))
        bits = (a + b).view(np.uint32)
        parts.append(
            ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)) << np.uint32(shift)
        )
    return parts[0] | parts[1]


def atomic(name: str, old: int, a: int, b: int) -> int:
    """The word that an atomic leaves where `old` was."""
    x, y, z = (np.array([v], np.uint32) for v in (old, a, b))
    with np.errstate(all="ignore"):
        table: dict[str, Callable[[], Words]] = {
            "ADD": lambda: x + y,
            "SUB": lambda: x - y,
            "ADD_F32": lambda: ALU["add.f32"](x, y, z),
            "MIN_S32": lambda: ALU["min.s32"](x, y, z),
            "MIN_U32": lambda: ALU["min.u32"](x, y, z),
            "MAX_S32": lambda: ALU["max.s32"](x, y, z),
            "MAX_U32": lambda: ALU["max.u32"](x, y, z),
            "MIN_F32": lambda: minimum(x, y),
            "MAX_F32": lambda: maximum(x, y),
            "AND": lambda: x & y,
            "OR": lambda: x | y,
            "XOR": lambda: x ^ y,
            "EXCH": lambda: y,
            "CAS": lambda: np.where(x == y, z, x),
            "INC": lambda: np.where(x >= y, np.uint32(0), x + np.uint32(1)),
            "DEC": lambda: np.where((x == 0) | (x > y), y, x - np.uint32(1)),
            "MIN_NAN_F32": lambda: np.where(f(y) < f(x), y, x),
            "MAX_NAN_F32": lambda: np.where(f(y) > f(x), y, x),
            "ADD_FTZ_F32": lambda: flushed(ALU["add.f32"](flushed(x), flushed(y), z)),
            "ADD_F16X2": lambda: (x.view(np.float16) + y.view(np.float16)).view(np.uint32),
            "ADD_BF16X2": lambda: bfloat_sum(x, y),
            "CAST": lambda: np.where(x == y, z, x),
            "ADD_F32X2": lambda: ALU["add.f32"](x, y, z),  # each of the two words
            "EXCH128": lambda: y,
            "CAS128": lambda: np.where(x == y, z, x),  # of four words that are alike
        }
        vectors = {"ADD_F16X": "ADD_F16X2", "ADD_BF16X": "ADD_BF16X2", "ADD_F32X4": "ADD_FTZ_F32"}
        word = next((of for head, of in vectors.items() if name.startswith(head)), name)
        return int(table[word]()[0])


def wide_atomic(name: str, old: int, a: int, b: int) -> int:
    """The 64 bits that an atomic on 64 bits leaves where `old` was."""
    name = name.removesuffix("64")
    if name.endswith("_NAN_F"):
        first, second = (np.uint64(v).view(np.float64) for v in (old, a))
        return a if (second < first if name.startswith("MIN") else second > first) else old
    if name.endswith("_F"):
        x, y = (np.array([v & 0xFFFFFFFF, v >> 32], np.uint32).reshape(2, 1) for v in (old, a))
        op = {"ADD_F": "add.f64", "MIN_F": "min.f64", "MAX_F": "max.f64"}[name]
        low, high = WIDE[op](*x, *y)
        return int(low[0]) | int(high[0]) << 32

    def signed(v: int) -> int:
        return v - (1 << 64) if v >> 63 else v

    table: dict[str, Callable[[], int]] = {
        "ADD": lambda: old + a,
        "SUB": lambda: old - a,
        "MIN_S": lambda: min(old, a, key=signed),
        "MIN_U": lambda: min(old, a),
        "MAX_S": lambda: max(old, a, key=signed),
        "MAX_U": lambda: max(old, a),
        "AND": lambda: old & a,
        "OR": lambda: old | a,
        "XOR": lambda: old ^ a,
        "EXCH": lambda: a,
        "CAS": lambda: b if old == a else old,
        "CAST": lambda: b if old == a else old,
        "INC": lambda: 0 if old >= a else old + 1,
        "DEC": lambda: a if old == 0 or old > a else old - 1,
    }
    return table[name]() & ((1 << 64) - 1)
