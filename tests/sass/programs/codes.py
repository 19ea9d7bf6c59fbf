"""Programs of codes, hashes and texts."""

from __future__ import annotations

import base64 as encodings
import hashlib
import math
import struct
import zlib

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random

MASK = (1 << 32) - 1


@program(1, 64)
def sha256(rng: Random) -> Case:
    messages = rng.integers(0, 256, (40, 32), np.uint8)
    digests = b"".join(hashlib.sha256(m.tobytes()).digest() for m in messages)
    return Case([messages, np.zeros((40, 8), np.uint32), 40], {1: np.frombuffer(digests, np.uint32).reshape(40, 8)})


def times(a: int, b: int) -> int:
    """A product in the field of AES."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = a << 1 ^ (0x11B if a & 0x80 else 0), b >> 1
    return product


@program(4, 16)
def aes_round(rng: Random) -> Case:
    box, key = rng.permutation(256).astype(np.uint8), rng.integers(0, 256, 16, np.uint8)
    state = rng.integers(0, 256, (4, 16), np.uint8)
    shifted = np.zeros((4, 4, 4), int)  # block, column, row
    for row in range(4):
        shifted[:, :, row] = np.roll(box[state].reshape(4, 4, 4)[:, :, row], -row, 1)
    out = np.zeros((4, 4, 4), np.uint8)
    for at in np.ndindex(4, 4, 4):
        own, row = shifted[at[:2]], at[2]
        pick = [int(own[(row + k) % 4]) for k in range(4)]
        out[at] = times(pick[0], 2) ^ times(pick[1], 3) ^ pick[2] ^ pick[3]
    return Case([box, state, key, np.zeros((4, 16), np.uint8)], {3: out.reshape(4, 16) ^ key})


@program(1, 40)
def crc32(rng: Random) -> Case:
    data = rng.integers(0, 256, (40, 37), np.uint8)
    return Case([data, np.zeros(40, np.uint32), 37], {1: [zlib.crc32(row.tobytes()) for row in data]})


@program(1, 32)
def md5_like(rng: Random) -> Case:
    texts = [rng.bytes(int(rng.integers(0, 56))) for _ in range(32)]
    blocks = [(t + b"\x80").ljust(56, b"\0") + struct.pack("<Q", 8 * len(t)) for t in texts]
    sines = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], np.uint32)
    shifts = np.array(
        [s for four in ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21)) for s in four * 4]
    )
    given = np.frombuffer(b"".join(blocks), np.uint32).reshape(32, 16).copy()
    digests = np.frombuffer(b"".join(hashlib.md5(t).digest() for t in texts), np.uint32).reshape(32, 4)
    return Case([given, np.zeros((32, 4), np.uint32), sines, shifts.astype(np.uint8)], {1: digests})


@program(1, 32)
def chacha(rng: Random) -> Case:
    key = rng.integers(0, 1 << 32, 12, np.uint32)
    start = np.zeros((32, 16), np.uint32)
    start[:, :4], start[:, 4:] = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], key
    start[:, 12] = np.arange(32)
    s = start.T.copy()
    for _ in range(10):
        for a, b, c, d in (
            (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
        ):  # fmt: skip
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                s[x] += s[y]
                s[z] ^= s[x]
                s[z] = s[z] << np.uint32(turn) | s[z] >> np.uint32(32 - turn)
    return Case([key, np.zeros((32, 16), np.uint32)], {1: s.T + start})


@program(2, 32)
def philox(rng: Random) -> Case:
    out = []
    for block in range(2):
        for thread in range(32):
            c, key = [thread, block, 7, 9], [0x1234, 0xABCDEF01]
            for _ in range(10):
                first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
                c = [second >> 32 ^ c[1] ^ key[0], second & MASK, first >> 32 ^ c[3] ^ key[1], first & MASK]
                key = [key[0] + 0x9E3779B9 & MASK, key[1] + 0xBB67AE85 & MASK]
            out.append(c)
    return Case([np.zeros((64, 4), np.uint32), struct.pack("<II", 0x1234, 0xABCDEF01)], {0: np.array(out)})


@program(2, 64)
def monte_carlo(rng: Random) -> Case:
    state = np.uint64(88172645463325252) + np.uint64(1234567) * np.arange(128, dtype=np.uint64)
    hits = 0
    for _ in range(30):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        scale = np.float32(2.0**-32)
        x, y = (part.astype(np.uint32).astype(np.float32) * scale for part in (state, state >> np.uint64(32)))
        hits += int((x * x + y * y < 1).sum())
    return Case([np.zeros(1, np.uint32), 30], {0: hits})


@program(1, 64)
def base64(rng: Random) -> Case:
    data = rng.integers(0, 256, 150, np.uint8)
    text = np.frombuffer(encodings.b64encode(data.tobytes()), np.int8)
    return Case([data, np.zeros(200, np.int8), 50], {1: text})


def distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
    return row[-1]


@program(1, 32)
def levenshtein(rng: Random) -> Case:
    words = ["".join(rng.choice(list("abc"), int(rng.integers(0, 13)))) for _ in range(32)]
    target = "abcabaccbacb"
    data = np.frombuffer(b"".join(w.encode().ljust(12, b"\0") for w in words), np.int8).copy()
    given = np.frombuffer(target.encode(), np.int8).copy()
    return Case([data, given, np.zeros(32, np.int32), 12, 12], {2: [distance(w, target) for w in words]})


def counted(text: str) -> tuple[int, int, int]:
    """Words, lines and digits, up to a dollar; a number sign begins a comment, which ends no word."""
    words = lines = digits = 0
    inside = False
    skip = False
    for letter in text:
        if letter == "\n":
            skip, inside, lines = False, False, lines + 1
        elif skip or letter == "#":
            skip = True
        elif letter == "$":
            break
        elif letter in " \t":
            inside = False
        else:
            digits += letter.isdigit()
            words, inside = words + (not inside), True
    return words, lines, digits


@program(1, 64)
def count_words(rng: Random) -> Case:
    texts = [
        "".join(rng.choice(list("ab1 \t\n7#$x"), 40, p=[0.2, 0.1, 0.1, 0.2, 0.05, 0.1, 0.1, 0.05, 0.02, 0.08]))
        for _ in range(64)
    ]
    data = np.frombuffer("".join(texts).encode(), np.int8).copy()
    return Case([data, np.zeros((64, 3), np.int32), 40], {1: [counted(t) for t in texts]})


@program(2, 64)
def hash_table(rng: Random) -> Case:
    keys, values = rng.integers(1, 40, 120).astype(np.uint32), rng.integers(0, 1 << 32, 120, np.uint32)
    slots, sums = np.zeros(64, np.uint32), np.zeros(64, np.uint64)

    def check(args: object) -> None:
        assert sorted(slots[slots > 0]) == sorted(set(keys.tolist()))
        for key, total in zip(slots, sums, strict=True):
            assert int(total) == int(values[keys == key].sum(dtype=np.uint64))

    return Case([keys, values, slots, sums, 120, 64], {}, check=check)


@program(1, 32)
def primes(rng: Random) -> Case:
    n = 500
    composite = [k > 3 and any(k % p == 0 for p in range(2, math.isqrt(k) + 1)) for k in range(n)]
    return Case([np.zeros(n, np.uint8), n], {0: composite})


@program(1, 32)
def modular_powers(rng: Random) -> Case:
    bases, modulus = rng.integers(0, 1 << 64, 32, np.uint64), (1 << 61) - 1
    out = [pow(int(b), 65537, modulus) for b in bases]
    return Case([bases, np.zeros(32, np.uint64), 65537, modulus], {1: np.array(out, np.uint64)})


@program(1, 32)
def greatest_divisor(rng: Random) -> Case:
    a, b = (rng.integers(1, 1 << 40, 32) * rng.integers(1, 100, 32) for _ in range(2))
    steps = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        count = 0
        while y:
            x, y, count = y, x % y, count + 1
        steps.append(count)
    return Case([a, b, np.zeros(32, np.int64), np.zeros(32, np.int32)], {2: np.gcd(a, b), 3: steps})
