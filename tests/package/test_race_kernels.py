"""Small kernels as people write them, right and wrong ones, and what the check says of each, in both of its forms."""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple

import numpy as np
import pytest

from smmux import smm
from smmux.kernel import Kernel
from tests.multiplex.kernels import kernel

ARRAYS = {
    "s": "cuda.shared.array(1024, int32)",
    "r": "cuda.shared.array(64, int32)",
    "f": "cuda.shared.array(64, float32)",
    "q": "cuda.shared.array((16, 17), int32)",
    "d": "smm.array(256, int32)",
}
RACE, CONFLICT, STALE = {"race"}, {"conflict"}, {"uninitialised"}
LOCKSTEP = {"lockstep"}
DIVERGENCE, EARLY = {"divergence"}, {"early-exit"}
NOTHING: set[str] = set()


class Case(NamedTuple):
    """A kernel's body (t: the thread, i: in the grid, n = 5), what is found in it, strictly too, and its threads."""

    body: str
    found: set[str]
    strict: set[str]
    threads: int = 64
    gpu: str = "GTX480-16K"


def right(body: str, threads: int = 64, gpu: str = "GTX480-16K") -> Case:
    return Case(body, NOTHING, NOTHING, threads, gpu)


def wrong(body: str, found: set[str], threads: int = 64) -> Case:
    return Case(body, found, found, threads)


def lockstep(body: str, threads: int = 64, gpu: str = "GTX480-16K") -> Case:
    """Right where warps run in lockstep."""
    return Case(body, LOCKSTEP, RACE, threads, gpu)


SUM_BY_ONE = """\
s[t] = t
cuda.syncthreads()
if t == 0:
    a = 0
    for k in range(64):
        a += s[k]
    s[0] = a
"""

CASES = {
    # ---- neighbours
    "a neighbour in another warp": wrong("s[t] = t\nout[i] = s[(t + 32) % 64]", RACE),
    "a neighbour in the warp": lockstep("s[t] = t\nout[i] = s[t ^ 1]"),
    "a barrier between": right("s[t] = t\ncuda.syncthreads()\nout[i] = s[63 - t]"),
    "overwritten while others load": wrong("s[t] = t\ncuda.syncthreads()\na = s[63 - t]\ns[t] = a\nout[i] = a", RACE),
    "one thread's value for all": right("if t == 0:\n    s[0] = n\ncuda.syncthreads()\nout[i] = s[0]"),
    "without the barrier": wrong("if t == 0:\n    s[0] = n\nout[i] = s[0]", RACE),
    "without it in a warp": lockstep("if t == 0:\n    s[0] = n\nout[i] = s[0]", threads=32),
    "a sum by one thread": right(SUM_BY_ONE + "cuda.syncthreads()\nout[i] = s[0]"),
    "a sum that others do not await": wrong(SUM_BY_ONE + "out[i] = s[0]", RACE),
    # ---- loops
    "a loop with one barrier": wrong(
        "for k in range(n):\n    s[t] = k\n    cuda.syncthreads()\n    out[i] = s[63 - t]", RACE
    ),
    "a loop with two": right(
        "for k in range(n):\n    s[t] = k\n    cuda.syncthreads()\n    out[i] = s[63 - t]\n    cuda.syncthreads()"
    ),
    "two buffers": right(
        "for k in range(n):\n    s[t + 64 * (k % 2)] = k\n    cuda.syncthreads()\n    out[i] = s[63 - t + 64 * (k % 2)]"
    ),
    "two buffers, unrolled": right(
        "for k in range(4):\n    s[t + 64 * (k % 2)] = k\n    cuda.syncthreads()\n    out[i] = s[63 - t + 64 * (k % 2)]"
    ),
    "while, as often for all": right("""
        k = 0
        while k < n:
            s[t] = k + t
            cuda.syncthreads()
            out[i] += s[63 - t]
            cuda.syncthreads()
            k += 1
    """),
    # ---- reductions
    "a tree": right("""
        s[t] = t
        cuda.syncthreads()
        h = 32
        while h > 0:
            if t < h:
                s[t] += s[t + h]
            cuda.syncthreads()
            h //= 2
        out[i] = s[0]
    """),
    "a tree of one interval": wrong(
        """
        s[t] = t
        cuda.syncthreads()
        h = 64
        while h > 0:
            if t < h:
                s[t] += s[t + h]
            h //= 2
        cuda.syncthreads()
        out[i] = s[0]
        """,
        RACE,
        threads=128,
    ),
    "the last warp in lockstep": lockstep("""
        s[t] = t
        cuda.syncthreads()
        if t < 32:
            s[t] += s[t + 32]
            s[t] += s[t + 16]
            s[t] += s[t + 8]
        cuda.syncthreads()
        out[i] = s[0]
    """),
    "the last warp with syncwarps": right("""
        s[t] = t
        cuda.syncthreads()
        if t < 32:
            a = s[t] + s[t + 32]
            cuda.syncwarp()
            s[t] = a
            cuda.syncwarp()
            a += s[t ^ 16]
            cuda.syncwarp()
            s[t] = a
            cuda.syncwarp()
            out[i] = a + s[t ^ 8]
    """),
    "a scan": right("""
        s[t] = t
        cuda.syncthreads()
        h = 1
        while h < 64:
            a = s[t - h] if t >= h else 0
            cuda.syncthreads()
            s[t] += a
            cuda.syncthreads()
            h *= 2
        out[i] = s[t]
    """),
    "a scan in place": wrong(
        """
        s[t] = t
        cuda.syncthreads()
        h = 1
        while h < 64:
            if t >= h:
                s[t] += s[t - h]
            cuda.syncthreads()
            h *= 2
        out[i] = s[t]
        """,
        RACE,
    ),
    "a shuffle is no order": lockstep(
        "s[t] = t\na = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1)\nout[i] = s[t ^ 1] + a", gpu="K20c"
    ),
    "a vote is no order": lockstep("s[t] = t\na = cuda.any_sync(0xFFFFFFFF, t > 3)\nout[i] = s[t ^ 1] + a"),
    "a fence is no order": wrong("s[t] = t\ncuda.threadfence_block()\nout[i] = s[63 - t]", RACE),
    "counting barriers": right(
        "s[t] = t\nc = cuda.syncthreads_count(t < 5)\nout[i] = c + s[63 - t]\nout[i] += cuda.syncthreads_or(t < c)"
    ),
    # ---- several writers
    "one value by all": right("s[0] = 7\ncuda.syncthreads()\nout[i] = s[0]"),
    "a value of each": wrong("s[0] = t\ncuda.syncthreads()\nout[i] = s[0]", CONFLICT),
    "a value of each in a loop": wrong(
        "for k in range(n):\n    s[0] = t + k\ncuda.syncthreads()\nout[i] = s[0]", CONFLICT
    ),
    "a value of each in an unrolled loop": wrong(
        "for k in range(2):\n    if out[i] < 1:\n        s[0] = t + k\ncuda.syncthreads()\nout[i] = s[0]", CONFLICT
    ),
    "two lines": wrong("if t < 32:\n    s[0] = 1\nelse:\n    s[0] = 2\ncuda.syncthreads()\nout[i] = s[0]", RACE),
    "two lines, the lowest thread with the other's value": wrong(
        "if t < 32:\n    s[0] = 5\nelse:\n    s[0] = 5 + t // 33\ncuda.syncthreads()\nout[i] = s[0]", RACE | CONFLICT
    ),
    "counts without atomics": wrong(
        "s[t] = 0\ncuda.syncthreads()\ns[(t * t + t // 32) % 7] += t\ncuda.syncthreads()\nout[i] = s[t]",
        RACE | CONFLICT,
    ),
    "counts of each thread": right("""
        for k in range(4):
            s[t * 4 + k] = 0
        for k in range(n):
            s[t * 4 + (t + k) % 4] += 1
        cuda.syncthreads()
        out[i] = s[(63 - t) * 4]
    """),
    # ---- atomics
    "atomics": right(
        "if t == 0:\n    s[0] = 0\ncuda.syncthreads()\ncuda.atomic.add(s, 0, 1)\ncuda.syncthreads()\nout[i] = s[0]"
    ),
    "atomics on what is being cleared": wrong(
        "if t == 0:\n    s[0] = 0\ncuda.atomic.add(s, 0, 1)\ncuda.syncthreads()\nout[i] = s[0]", RACE
    ),
    "a load among atomics": wrong(
        "if t == 0:\n    s[0] = 0\ncuda.syncthreads()\ncuda.atomic.add(s, 0, 1)\nout[i] = s[0]", RACE
    ),
    "atomics on what nobody cleared": wrong("cuda.atomic.add(s, 0, 1)\ncuda.syncthreads()\nout[i] = s[0]", STALE),
    "an exchange for a store": right("cuda.atomic.exch(s, t, t)\ncuda.syncthreads()\nout[i] = s[63 - t]"),
    "an exchange that is looked at": wrong("out[i] = cuda.atomic.exch(s, t, t)", STALE),
    # ---- what nobody has written
    "half of the array": wrong("if t < 32:\n    s[t] = t\ncuda.syncthreads()\nout[i] = s[t]", STALE),
    "and is lazy": right("if t < 32:\n    s[t] = t\ncuda.syncthreads()\nif t < 32 and s[31 - t] > 3:\n    out[i] = 1"),
    "or is lazy": right("if t < 32:\n    s[t] = t\ncuda.syncthreads()\nif t >= 32 or s[31 - t] > 3:\n    out[i] = 1"),
    "a conditional expression is lazy": right(
        "if t < 32:\n    s[t] = t\ncuda.syncthreads()\nout[i] = s[31 - t] if t < 32 else 0"
    ),
    "while is lazy": right(
        "if t < 8:\n    s[t] = t\ncuda.syncthreads()\nk = 0\nwhile k < 8 and s[k] < t:\n    k += 1\nout[i] = k"
    ),
    "a neighbour that is not joined": right("""
        s[2 * t] = t
        if n < 0:
            s[2 * t + 1] = 4
        cuda.syncthreads()
        a = s[2 * t]
        if n < 0:
            a += s[2 * t + 1]
        out[i] = a
    """),
    # ---- widths, arrays
    "pairs": right("s[2 * t] = t\ns[2 * t + 1] = -t\ncuda.syncthreads()\nk = 63 - t\nout[i] = s[2 * k] + s[2 * k + 1]"),
    "half of another's pair": wrong("s[2 * t] = t\ns[2 * t + 1] = -t\nk = 63 - t\nout[i] = s[2 * k + 1]", RACE),
    "the next thread's quad": wrong(
        "for k in range(4):\n    s[4 * t + k] = t\nif t < 63:\n    out[i] = s[4 * t + 4]", RACE
    ),
    "the own quad": right("for k in range(4):\n    s[4 * t + k] = t\nout[i] = s[4 * t + 2]"),
    "bytes of a word": right("b = s.view(uint8)\nb[t] = t\ncuda.syncthreads()\nout[i] = s[t // 4]"),
    "a word of others' bytes": lockstep("b = s.view(uint8)\nb[t] = t\nout[i] = s[t // 4]", threads=32),
    "rows and columns": right("q[t // 16, t % 16] = t\ncuda.syncthreads()\nout[i] = q[t % 4, t // 4]"),
    "two arrays": right("s[t] = t\nr[t] = t + 1\ncuda.syncthreads()\nout[i] = s[63 - t] + r[63 - t]"),
    "one of two arrays": wrong("s[t] = t\nr[t] = 0\ncuda.syncthreads()\nr[t] = s[63 - t]\nout[i] = r[63 - t]", RACE),
    "floats": right("f[t] = t * 0.5\ncuda.syncthreads()\nout[i] = int32(f[63 - t])"),
    # ---- barriers
    "return in front of the barrier": wrong(
        "if t >= 40:\n    return\ns[t] = t\ncuda.syncthreads()\nout[i] = s[39 - t]", EARLY
    ),
    "return between barriers": wrong(
        "s[t] = t\ncuda.syncthreads()\nif t >= 32:\n    return\ns[t] += 1\ncuda.syncthreads()\nout[i] = s[31 - t]",
        DIVERGENCE,
    ),
    "return behind the last": right("s[t] = t\ncuda.syncthreads()\nif t >= 40:\n    return\nout[i] = s[63 - t]"),
    "a barrier of one warp": wrong("s[t] = t\nif t < 32:\n    cuda.syncthreads()\nout[i] = s[t]", DIVERGENCE),
    "a barrier in each arm": wrong(
        """
        s[t] = t
        if t < 32:
            cuda.syncthreads()
            out[i] = s[t]
        else:
            cuda.syncthreads()
            out[i] = s[t] * 2
        """,
        DIVERGENCE,
    ),
    "as often as the warp's number": wrong(
        "s[t] = t\nfor k in range(1 + t // 32):\n    cuda.syncthreads()\nout[i] = s[t]", DIVERGENCE
    ),
    "an arm that all threads take": right("s[t] = t\nif n > 2:\n    cuda.syncthreads()\n    out[i] = s[63 - t]"),
    # ---- memory that comes and goes
    "allocated": right("smm.alloc()\nd[t] = t\ncuda.syncthreads()\nout[i] = d[63 - t]\nsmm.release()"),
    "a race in what is allocated": wrong("smm.alloc()\nd[t] = t\nout[i] = d[t ^ 32]\nsmm.release()", RACE),
    "a release is a barrier": right(
        "s[t] = t\nsmm.alloc()\nd[t] = s[63 - t]\nsmm.release()\ns[t] = 1\nsmm.alloc()\nd[t] = s[t]\nsmm.release()"
    ),
    "left by oneself": wrong("smm.alloc()\nd[t] = t\nsmm.release()\nsmm.alloc()\nout[i] = d[t]\nsmm.release()", STALE),
    "allocated again and again": right("""
        for k in range(n):
            smm.alloc()
            d[t] = t + k
            cuda.syncthreads()
            out[i] = d[63 - t]
            smm.release()
    """),
    "static memory beside it": wrong(
        """
        s[t] = t
        smm.alloc()
        d[t] = s[63 - t]
        s[t] = 1
        cuda.syncthreads()
        out[i] = d[63 - t]
        smm.release()
        out[i] += s[t]
        """,
        RACE,
    ),
}


def made(body: str) -> Kernel:
    body = textwrap.dedent(body).strip()
    used = [f"{name} = {array}" for name, array in ARRAYS.items() if re.search(rf"\b{name}(\[|\.|,)", body)]
    lines = ["t = cuda.threadIdx.x", "i = cuda.grid(1)", *used, *body.splitlines()]
    return kernel("def f(out, n):\n" + textwrap.indent("\n".join(lines), "    "), smm=smm)


@pytest.mark.parametrize("name", CASES)
def test_what_is_found(name: str) -> None:
    """Whatever the schedule and the management; several blocks follow one another in an SM's memory."""
    case = CASES[name]
    compiled = made(case.body)
    dynamic = {"management": "dynamic", "extra_blocks": 2}
    for options in ({}, dynamic) if "smm" in case.body else ({},):
        for check, expected in (("races", case.found), ("races-strict", case.strict)):
            for schedule in ("source", "list"):
                out = np.zeros(20 * case.threads, np.int32)
                result = compiled.simulate(
                    20, case.threads, (out, 5), gpu=case.gpu, check=check, schedule=schedule, **options
                )
                kinds = {finding.kind for finding in result.findings}
                # A load that comes before the store it races with finds what nobody has written.
                assert kinds - (STALE if RACE <= expected else NOTHING) == expected, result.findings
