"""STO: hashes of a sliding window over a buffer, one window of 52 bytes per thread, windows 4 bytes apart.

A window and its padding are one 64-byte block of the hash. Word k of a lane lies 32 k words after word 0 of the same
lane, so that a warp's accesses never conflict; threads share nothing. Of the 4064 words that the kernel declares, 2048
are used. Only the first four bytes of each digest are kept.

Builds: `hash_from_regs` (default; SHA-1) fills and byte-swaps the block in shared memory and reads it into registers,
where all rounds work: a short region. `sha1_ring` keeps the message schedule in shared memory for all 80 rounds, as
the published kernel does. `md5` fills the block and reads one word per round.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from smmux import cuda, int32, uint8, uint32
from smmux.benchmarks.base import Benchmark, Problem, Table1, equal, frozen, multiples, poisoned

__all__ = ["BENCHMARK"]

THREADS = 128
CHUNK = 52  # bytes of a window
OFFSET = 4  # bytes between windows
CHUNK_WORDS = CHUNK // 4
BLOCK_WORDS = 16  # of both hashes
WORDS = 4096 - 32
WORDS_USED = BLOCK_WORDS * THREADS

MD5_SHIFTS = (7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)
MD5_SINES = tuple(int(2**32 * abs(math.sin(i + 1))) for i in range(64))


@cuda.jit(device=True)
def first_word(t):
    """Where the thread's message block starts: a warp owns 512 words, a lane every 32nd of them."""
    return 512 * (t >> 5) + (t & 31)


@cuda.jit(device=True)
def load_window(data, window, offset, message):
    """The thread's 13 words of the buffer, to registers."""
    for k in range(CHUNK_WORDS):
        message[k] = data[(int32(window * offset) >> 2) + k]


@cuda.jit(device=True)
def fill(block, first, message, length):
    """The padded message: window, bit 1, zeros, length in bits as two words in the hash's byte order."""
    for k in range(CHUNK_WORDS):
        block[first + 32 * k] = message[k]
    block[first + 32 * CHUNK_WORDS] = uint32(0x80)
    block[first + 32 * 14] = length[0]
    block[first + 32 * 15] = length[1]


@cuda.jit(device=True)
def swap_bytes(block, octets, first):
    """Turn each word's bytes around: four byte loads, one word store."""
    for k in range(BLOCK_WORDS):
        w = first + 32 * k
        b0, b1 = uint32(octets[4 * w]), uint32(octets[4 * w + 1])
        b2, b3 = uint32(octets[4 * w + 2]), uint32(octets[4 * w + 3])
        block[w] = uint32((b0 << 24) | (b1 << 16) | (b2 << 8) | b3)


@cuda.jit(device=True)
def rotate_left(x, n):
    """Rotation by a constant 0 < n < 32."""
    return uint32((x << n) | (x >> (32 - n)))


@cuda.jit(device=True)
def sha1_round(i, w, a, b, c, d, e):
    """Round i with schedule word w: the new values of a..e."""
    if i < 20:
        f, k = uint32(d ^ (b & (c ^ d))), uint32(0x5A827999)
    elif i < 40:
        f, k = uint32(b ^ c ^ d), uint32(0x6ED9EBA1)
    elif i < 60:
        f, k = uint32((b & c) | (d & (b | c))), uint32(0x8F1BBCDC)
    else:
        f, k = uint32(b ^ c ^ d), uint32(0xCA62C1D6)
    return uint32(rotate_left(a, 5) + f + e + k + w), a, rotate_left(b, 30), c, d


@cuda.jit(device=True)
def store_big_endian(digests, window, word):
    """The digest's first word, most significant byte first."""
    for k in range(4):
        digests[4 * window + k] = uint8((word >> (24 - 8 * k)) & 0xFF)


@cuda.jit(device=True)
def store_little_endian(digests, window, word):
    """The digest's first word, least significant byte first."""
    for k in range(4):
        digests[4 * window + k] = uint8((word >> (8 * k)) & 0xFF)


@cuda.jit
def sha1_from_registers(data, chunk, offset, windows, padding, digests):
    """Shared memory turns the message into words of the hash; the rounds work in registers."""
    block = cuda.shared.array(WORDS, uint32)
    octets = block.view(np.uint8)
    message = cuda.local.array(BLOCK_WORDS, uint32)
    window = cuda.grid(1)
    if window >= windows:
        return
    first = first_word(cuda.threadIdx.x)
    load_window(data, window, offset, message)
    bits = uint32(8 * chunk)
    fill(block, first, message, (uint32(0), uint32(((bits & 0xFF) << 24) | ((bits & 0xFF00) << 8))))
    swap_bytes(block, octets, first)
    for k in range(BLOCK_WORDS):
        message[k] = block[first + 32 * k]

    a, b, c, d, e = uint32(0x67452301), uint32(0xEFCDAB89), uint32(0x98BADCFE), uint32(0x10325476), uint32(0xC3D2E1F0)
    for i in range(80):
        if i >= 16:
            message[i & 15] = rotate_left(
                message[(i - 3) & 15] ^ message[(i - 8) & 15] ^ message[(i - 14) & 15] ^ message[i & 15], 1
            )
        a, b, c, d, e = sha1_round(i, message[i & 15], a, b, c, d, e)
    store_big_endian(digests, window, uint32(a + 0x67452301))


@cuda.jit
def sha1_ring(data, chunk, offset, windows, padding, digests):
    """As published: the message schedule is a ring of 16 words in shared memory, rewritten round by round."""
    block = cuda.shared.array(WORDS, uint32)
    octets = block.view(np.uint8)
    message = cuda.local.array(CHUNK_WORDS, uint32)
    window = cuda.grid(1)
    if window >= windows:
        return
    first = first_word(cuda.threadIdx.x)
    load_window(data, window, offset, message)
    bits = uint32(8 * chunk)
    fill(block, first, message, (uint32(0), uint32(((bits & 0xFF) << 24) | ((bits & 0xFF00) << 8))))
    swap_bytes(block, octets, first)

    a, b, c, d, e = uint32(0x67452301), uint32(0xEFCDAB89), uint32(0x98BADCFE), uint32(0x10325476), uint32(0xC3D2E1F0)
    for i in range(80):
        here = first + 32 * (i & 15)
        if i < 16:
            w = block[here]
        else:
            w = rotate_left(
                block[first + 32 * ((i - 3) & 15)]
                ^ block[first + 32 * ((i - 8) & 15)]
                ^ block[first + 32 * ((i - 14) & 15)]
                ^ block[here],
                1,
            )
            block[here] = w
        a, b, c, d, e = sha1_round(i, w, a, b, c, d, e)
    store_big_endian(digests, window, uint32(a + 0x67452301))


@cuda.jit
def md5(data, chunk, offset, windows, padding, digests):
    """The other hash of the published kernel: no byte swap, no schedule, one shared load per round."""
    block = cuda.shared.array(WORDS, uint32)
    message = cuda.local.array(CHUNK_WORDS, uint32)
    window = cuda.grid(1)
    if window >= windows:
        return
    first = first_word(cuda.threadIdx.x)
    load_window(data, window, offset, message)
    fill(block, first, message, (uint32(8 * chunk), uint32(0)))

    a, b, c, d = uint32(0x67452301), uint32(0xEFCDAB89), uint32(0x98BADCFE), uint32(0x10325476)
    for i in range(64):
        if i < 16:
            f, k = uint32(d ^ (b & (c ^ d))), i
        elif i < 32:
            f, k = uint32(c ^ (d & (b ^ c))), (5 * i + 1) & 15
        elif i < 48:
            f, k = uint32(b ^ c ^ d), (3 * i + 5) & 15
        else:
            f, k = uint32(c ^ (b | ~d)), (7 * i) & 15
        mixed = uint32(a + f + MD5_SINES[i] + block[first + 32 * k])
        a, b, c, d = d, uint32(b + rotate_left(mixed, MD5_SHIFTS[4 * (i >> 4) + (i & 3)])), b, c
    store_little_endian(digests, window, uint32(a + 0x67452301))


def problem(build: str, windows: int) -> Problem:
    """`windows` hashes, a multiple of 128, of a buffer whose byte i is i mod 256."""
    multiples(THREADS, windows=windows)
    octets = np.arange(windows * OFFSET + CHUNK - OFFSET, dtype=np.uint32).astype(np.uint8)
    buffer = octets.tobytes()
    digest = hashlib.md5 if build == "md5" else hashlib.sha1
    expected = np.frombuffer(
        b"".join(digest(buffer[i : i + CHUNK]).digest()[:4] for i in range(0, windows * OFFSET, OFFSET)), np.uint8
    )
    data = frozen(octets.view("<u4"))
    return Problem(
        grid=(windows // THREADS,),
        block=(THREADS,),
        arguments=lambda: (
            data,
            np.int32(CHUNK),
            np.int32(OFFSET),
            np.int32(windows),
            np.int32(64 - CHUNK),
            poisoned(4 * windows, np.uint8),
        ),
        check=lambda args: equal("STO: digests", args[5], expected),
    )


BENCHMARK = Benchmark(
    name="STO",
    title="StoreGPU",
    kernels={
        "hash_from_regs": sha1_from_registers,
        "sha1_ring": sha1_ring,
        "md5": md5,
    },
    problems=problem,
    sizes={"default": {"windows": 131072}, "quick": {"windows": 16384}, "tiny": {"windows": 256}},
    table1=Table1(bytes=16304, threads=128, blocks=1),
    used={"block": WORDS_USED},
    divided={
        "array": "block",
        "private": 14,  # of a message's 16 words
        "shape": WORDS_USED,
        "interleaved": (BLOCK_WORDS, 32),
        "threads": THREADS,
    },
)
