"""Integer functions of CUDA C++, compiled for five architectures with and without optimisation, against Python's exact
integers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from smmux.modules.module import load
from tests.sass.conftest import ARCHITECTURES, needed

WORD, LONG = 2**32 - 1, 2**64 - 1
SPECIAL = (0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFFFF, 0x10000, 2**31 - 1, 2**31, 2**31 + 1, WORD, WORD - 1, 0x55555555)
THREADS = 256


def signed(value: int, bits: int = 32) -> int:
    """The number that so many bits mean in two's complement."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def parts(value: int, bits: int) -> list[int]:
    """The fields of a word, the lowest first."""
    return [value >> i & (1 << bits) - 1 for i in range(0, 32, bits)]


def joined(values: Sequence[int], bits: int) -> int:
    return sum((value & (1 << bits) - 1) << bits * i for i, value in enumerate(values))


def each(bits: int, function: Callable[..., int], *words: int) -> int:
    """A function of the fields of words, field by field."""
    return joined([function(*fields) for fields in zip(*(parts(word, bits) for word in words), strict=True)], bits)


def clamped(value: int, least: int, most: int) -> int:
    return min(max(value, least), most)


def quotient(a: int, b: int) -> int:
    """C's division, which rounds to zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def permuted(x: int, y: int, s: int) -> int:
    data = (y << 32 | x).to_bytes(8, "little")
    return joined([data[digit & 7] for digit in parts(s, 4)[:4]], 8)


def s16(value: int) -> int:
    return signed(value, 16)


def differences(x: int, y: int) -> list[int]:
    """Of signed bytes, without sign."""
    return [abs(signed(a, 8) - signed(b, 8)) for a, b in zip(parts(x, 8), parts(y, 8), strict=True)]


# Of x, y, z as unsigned words, or as long long numbers; x y z are int in the source, u v w unsigned.
WORDS: dict[str, Callable[[int, int, int], int]] = {
    "x + y - z": lambda x, y, z: x + y - z,
    "x * y + z": lambda x, y, z: x * y + z,
    "abs(x)": lambda x, y, z: abs(signed(x)),
    "min(x, y)": lambda x, y, z: min(signed(x), signed(y)),
    "max(u, v)": lambda x, y, z: max(x, y),
    "__popc(x)": lambda x, y, z: x.bit_count(),
    "__clz(x)": lambda x, y, z: 32 - x.bit_length(),
    "__ffs(x)": lambda x, y, z: (x & -x).bit_length(),
    "__brev(u)": lambda x, y, z: int(f"{x:032b}"[::-1], 2),
    "__mulhi(x, y)": lambda x, y, z: signed(x) * signed(y) >> 32,
    "__umulhi(u, v)": lambda x, y, z: x * y >> 32,
    "__byte_perm(u, v, w)": permuted,
    "__funnelshift_l(u, v, w)": lambda x, y, z: ((y << 32 | x) << (z & 31)) >> 32,
    "__funnelshift_rc(u, v, w)": lambda x, y, z: (y << 32 | x) >> min(z, 32),
    "y ? x / y : 7": lambda x, y, z: quotient(signed(x), signed(y)) if y else 7,
    "v ? u % v : 7": lambda x, y, z: x % y if y else 7,
    "__sad(x, y, w)": lambda x, y, z: abs(signed(x) - signed(y)) + z,
    "__usad(u, v, w)": lambda x, y, z: abs(x - y) + z,
    "x >> (z & 31)": lambda x, y, z: signed(x) >> (z & 31),
    "u << (w & 31)": lambda x, y, z: x << (z & 31),
    "(short)x": lambda x, y, z: s16(x),
    "(signed char)x": lambda x, y, z: signed(x, 8),
    "(unsigned char)(x >> 8)": lambda x, y, z: x >> 8 & 0xFF,
    "(x ^ y) | (~z & x)": lambda x, y, z: (x ^ y) | (~z & x),
    "x < y ? y : z > 3 ? z : x": lambda x, y, z: y if signed(x) < signed(y) else z if signed(z) > 3 else x,
    "(u >= v) + 2 * (x != z) + 4 * (x <= y && u > w)": lambda x, y, z: (
        (x >= y) + 2 * (x != z) + 4 * (signed(x) <= signed(y) and x > z)
    ),
    "__vadd2(u, v)": lambda x, y, z: each(16, lambda a, b: a + b, x, y),
    "__vsub2(u, v)": lambda x, y, z: each(16, lambda a, b: a - b, x, y),
    "__vsub4(u, v)": lambda x, y, z: each(8, lambda a, b: a - b, x, y),
    "__vmins2(u, v)": lambda x, y, z: each(16, lambda a, b: min(s16(a), s16(b)), x, y),
    "__vmaxu2(u, v)": lambda x, y, z: each(16, max, x, y),
    "__vmaxs4(u, v)": lambda x, y, z: each(8, lambda a, b: max(signed(a, 8), signed(b, 8)), x, y),
    "__vaddss2(u, v)": lambda x, y, z: each(16, lambda a, b: clamped(s16(a) + s16(b), -(2**15), 2**15 - 1), x, y),
    "__vabsdiffu4(u, v)": lambda x, y, z: each(8, lambda a, b: abs(a - b), x, y),
    "__vsadu4(u, v)": lambda x, y, z: sum(abs(a - b) for a, b in zip(parts(x, 8), parts(y, 8), strict=True)),
    "__vcmpgts2(u, v)": lambda x, y, z: each(16, lambda a, b: -(s16(a) > s16(b)), x, y),
    "__viaddmin_s32(x, y, z)": lambda x, y, z: min(signed(x + y), signed(z)),
    "__viaddmax_s16x2_relu(u, v, w)": lambda x, y, z: each(16, lambda a, b, c: max(s16(a + b), s16(c), 0), x, y, z),
    "__vimax3_s32_relu(x, y, z)": lambda x, y, z: max(signed(x), signed(y), signed(z), 0),
    "__vimin3_u16x2(u, v, w)": lambda x, y, z: each(16, min, x, y, z),
    "halves(u, v)": lambda x, y, z: (
        sum((s16(x >> i) >= s16(y >> i)) << k for k, i in ((0, 0), (1, 16)))
        | each(16, lambda a, b: max(s16(a), s16(b)), x, y) & WORD - 3
    ),
}
DOT: dict[str, Callable[[int, int, int], int]] = {
    "__dp4a(x, y, z)": lambda x, y, z: (
        z + sum(signed(a, 8) * signed(b, 8) for a, b in zip(parts(x, 8), parts(y, 8), strict=True))
    ),
    "__dp2a_hi(u, v, w)": lambda x, y, z: z + sum(a * b for a, b in zip(parts(x, 16), parts(y, 8)[2:], strict=True)),
}
PTX: dict[str, Callable[[int, int, int], int]] = {
    "vabsdiff4.s32.s32.s32.add %0, %1, %2, %3;": lambda x, y, z: z + sum(differences(x, y)),
    "vabsdiff4.u32.s32.s32 %0, %1, %2, %3;": lambda x, y, z: joined(differences(x, y), 8),
    "add.sat.s32 %0, %1, %2;": lambda x, y, z: clamped(signed(x) + signed(y), -(2**31), 2**31 - 1),
    "sub.sat.s32 %0, %1, %2;": lambda x, y, z: clamped(signed(x) - signed(y), -(2**31), 2**31 - 1),
    "mad.hi.s32 %0, %1, %2, %3;": lambda x, y, z: (signed(x) * signed(y) >> 32) + z,
    "cvt.sat.s8.s32 %0, %1;": lambda x, y, z: clamped(signed(x), -128, 127),
    "cvt.sat.u16.s32 %0, %1;": lambda x, y, z: clamped(signed(x), 0, 0xFFFF),
    "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; cvt.rzi.u8.f32 %0, f; }": lambda x, y, z: clamped(signed(x), 0, 255),
    "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; cvt.rzi.s8.f32 %0, f; }": lambda x, y, z: clamped(signed(x), -128, 127),
    "{ .reg .b32 r; cvt.pack.sat.u8.s32.b32 r, %1, %2, %3; mov.b32 %0, r; }": lambda x, y, z: (
        z << 16 | clamped(signed(x), 0, 255) << 8 | clamped(signed(y), 0, 255)
    ),
    "bfe.s32 %0, %1, 5, 9;": lambda x, y, z: signed(x >> 5, 9),
    "bfi.b32 %0, %1, %2, 4, 12;": lambda x, y, z: y & ~0xFFF0 | (x & 0xFFF) << 4,
    "lop3.b32 %0, %1, %2, %3, 0x1b;": lambda x, y, z: lut(x, y, z, 0x1B),
    "prmt.b32 %0, %1, %2, 0xba98;": lambda x, y, z: joined([-(byte >> 7) for byte in parts(x, 8)], 8),
    "bfind.shiftamt.u32 %0, %1;": lambda x, y, z: 32 - x.bit_length() if x else WORD,
    "szext.wrap.s32 %0, %1, %2;": lambda x, y, z: signed(x, y & 31) if y & 31 else 0,
    "bmsk.clamp.b32 %0, %1, %2;": lambda x, y, z: (1 << min(y, 32)) - 1 << min(x, 32),
}
LONGS: dict[str, Callable[[int, int], int]] = {
    "a + b": lambda a, b: a + b,
    "a - 3 * b": lambda a, b: a - 3 * b,
    "a * b": lambda a, b: a * b,
    "__mul64hi(a, b)": lambda a, b: a * b >> 64,
    "__umul64hi(a, b)": lambda a, b: (a & LONG) * (b & LONG) >> 64,
    "b ? a / b : 7": lambda a, b: quotient(a, b) if b else 7,
    "b ? (unsigned long long)a % (unsigned long long)b : 7": lambda a, b: (a & LONG) % (b & LONG) if b else 7,
    "min(a, b)": min,
    "a >> (b & 63)": lambda a, b: a >> (b & 63),
    "(unsigned long long)a >> (b & 63)": lambda a, b: (a & LONG) >> (b & 63),
    "a << (b & 63)": lambda a, b: a << (b & 63),
    "__popcll(a)": lambda a, b: (a & LONG).bit_count(),
    "__clzll(a)": lambda a, b: 64 - (a & LONG).bit_length(),
    "a < b ? a : -b": lambda a, b: a if a < b else -b,
    "(a == b) + 2 * (a >= b)": lambda a, b: (a == b) + 2 * (a >= b),
}


def lut(x: int, y: int, z: int, table: int) -> int:
    """Any function of three words, bit by bit."""
    return joined(
        [table >> (a << 2 | b << 1 | c) & 1 for a, b, c in zip(*(parts(v, 1) for v in (x, y, z)), strict=True)], 1
    )


def source(words: Sequence[str], asm: Sequence[str], longs: Sequence[str]) -> str:
    """A kernel that stores the value of each expression, of three words or of two long numbers."""
    lines = [f"o[{i} * {THREADS} + t] = {text};" for i, text in enumerate(words)]
    for i, text in enumerate(asm, len(words)):
        lines += [f'asm("{text}" : "=r"(r) : "r"(x), "r"(y), "r"(z)); o[{i} * {THREADS} + t] = r;']
    wide = [f"p[{i} * {THREADS} + t] = {text};" for i, text in enumerate(longs)]
    return "\n".join(
        (
            "__device__ unsigned halves(unsigned u, unsigned v) { bool high, low;",
            "unsigned r = __vibmax_s16x2(u, v, &high, &low); return (r & ~3u) | high << 1 | low; }",
            'extern "C" __global__ void words(unsigned *o, const int *in) {',
            f"int t = threadIdx.x, x = in[t], y = in[t + {THREADS}], z = in[t + {2 * THREADS}];",
            "unsigned u = x, v = y, w = z, r;",
            *lines,
            "}",
            'extern "C" __global__ void longs(long long *p, const long long *in) {',
            f"int t = threadIdx.x; long long a = in[t], b = in[t + {THREADS}];",
            *wide,
            "}",
        )
    )


@pytest.mark.quick(2)
@pytest.mark.parametrize("options", [(), ("-Xptxas", "-O0"), ("-O0", "-G")], ids=["optimised", "plain", "debugged"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_integer_functions_give_exact_results(tmp_path: Path, arch: str, options: tuple[str, ...]) -> None:
    needed("nvcc", "nvdisasm")
    words = WORDS if "-G" in options else {**WORDS, **DOT}  # which the compiler does not take with -G
    file = tmp_path / "integers.cu"
    file.write_text(source(list(words), list(PTX), list(LONGS)))
    module = load(file, arch, options)
    rng = random.Random(3)
    numbers = [
        [rng.choice((rng.choice(SPECIAL), rng.getrandbits(32), rng.getrandbits(6))) for _ in range(THREADS)]
        for _ in range(3)
    ]
    given = np.array(numbers, np.uint32)
    found = np.zeros((len(words) + len(PTX), THREADS), np.uint32)
    module["words"].simulate(1, THREADS, (found, given.view(np.int32)))
    check(
        [*words, *PTX],
        found,
        [[f(*case) & WORD for case in zip(*numbers, strict=True)] for f in (*words.values(), *PTX.values())],
    )
    pairs = [
        [
            signed(rng.choice((rng.choice(SPECIAL), rng.getrandbits(64), -rng.getrandbits(7))), 64)
            for _ in range(THREADS)
        ]
        for _ in range(2)
    ]
    wide = np.zeros((len(LONGS), THREADS), np.int64)
    module["longs"].simulate(1, THREADS, (wide, np.array(pairs, np.int64)))
    check(
        list(LONGS),
        wide.view(np.uint64),
        [[f(*case) & LONG for case in zip(*pairs, strict=True)] for f in LONGS.values()],
    )


def check(names: Sequence[str], found: NDArray[np.generic], expected: Sequence[Sequence[int]]) -> None:
    """Compare rows; the message names the expressions that differ."""
    wrong = [name for name, row, values in zip(names, found.tolist(), expected, strict=True) if row != list(values)]
    assert not wrong
