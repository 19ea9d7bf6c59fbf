"""Stores that replace less than all of an array, in all the guises that look as if they replaced it."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from smmux import multiplex
from smmux.kernel import Kernel
from tests.multiplex.kernels import device, kernel

GRID, BLOCK, SIZE = 6, 64, 384

KEPT = {
    "two halves": """
        s[t] = a[i]
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        s[t + N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "one half or the other": """
        k = n & 1
        s[t] = a[i]
        s[t + N] = a[i] + 1
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        if k == 0:
            s[t] = x
        else:
            s[t + N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "fewer trips": """
        for k in range(2):
            s[t + k * N] = a[i] + k
        cuda.syncthreads()
        x = s[t ^ 1]
        cuda.syncthreads()
        for k in range(1, 2):
            s[t + k * N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 2] + s[N + (t ^ 3)]
    """,
    "shared-out trips": """
        for j in range(t, 2 * N, N):
            s[j] = a[i] + j
        cuda.syncthreads()
        x = s[t ^ 1]
        cuda.syncthreads()
        for j in range(t, N, N):
            s[j] = x
        cuda.syncthreads()
        o[i] = s[t ^ 2] + s[N + (t ^ 3)]
    """,
    "a variable assigned again": """
        k = 0
        s[t + k] = a[i]
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        k = N
        s[t + k] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "an argument assigned again": """
        j = t
        put(s, j, a[i])
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        j = t + N
        put(s, j, x)
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "two buffers in turn": """
        s[t] = a[i]
        s[t + N] = a[i]
        cuda.syncthreads()
        for p in range(3):
            s[(p % 2) * N + t] = a[i] * (p + 1)
            cuda.syncthreads()
            o[i] += s[((p + 1) % 2) * N + N - 1 - t]
            cuda.syncthreads()
    """,
    "buffers that change places": """
        p = 0
        q = N
        s[t] = a[i]
        s[t + N] = a[i] + 1
        cuda.syncthreads()
        for k in range(3):
            x = s[q + N - 1 - t]
            cuda.syncthreads()
            s[p + t] = x + k
            cuda.syncthreads()
            o[i] += s[p + (t ^ 1)]
            p, q = q, p
    """,
    "a condition that may not hold": """
        s[t] = a[i]
        s[t + N] = a[i] + 1
        cuda.syncthreads()
        x = s[N - 1 - t] + s[2 * N - 1 - t]
        cuda.syncthreads()
        s[t] = x
        if n < 0:
            s[t + N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "a condition that changes": """
        flag = n > 0
        s[t] = a[i]
        if flag:
            s[t + N] = a[i] + 1
        cuda.syncthreads()
        x = s[N - 1 - t] + s[2 * N - 1 - t]
        cuda.syncthreads()
        flag = n < 0
        s[t] = x
        if flag:
            s[t + N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
    "a loop that may make no trip": """
        s[t] = a[i]
        s[t + N] = a[i] + 1
        cuda.syncthreads()
        x = s[N - 1 - t] + s[2 * N - 1 - t]
        cuda.syncthreads()
        for k in range(n - 249, 1):
            s[t] = x
            s[t + N] = x
        cuda.syncthreads()
        o[i] = s[t ^ 1] + s[N + (t ^ 1)]
    """,
}

BOTH = "s[t] = a[i]\ns[t + N] = a[i] + 1"
TWICE = {
    "a loop that is left": ("for k in range(2):\n    s[t + k * N] = a[i] + k",
                            "for k in range(2):\n    s[t + k * N] = x\n    if n > 0:\n        break"),
    "a trip left out": (BOTH, "s[t] = x\nfor k in range(2):\n    if n > 0:\n        continue\n    s[t + N] = x"),
    "the else of a loop": (BOTH, "s[t] = x\nfor k in range(2):\n    if n > 0:\n        break\nelse:\n    s[t + N] = x"),
    "a range that changes": ("m = 2\nfor k in range(m):\n    s[t + k * N] = a[i] + k",
                             "m = 1\nfor k in range(m):\n    s[t + k * N] = x"),
    "a counter assigned": ("for k in range(2):\n    s[t + k * N] = a[i] + k",
                           "for k in range(2):\n    k = 0\n    s[t + k * N] = x"),
    "a counter left over": (BOTH, "for k in range(2):\n    j = t + k * N\nfor k in range(2):\n    s[j] = x"),
    "an index that is loaded": ("w[i] = 0\ns[t + int32(w[i]) * N] = a[i]\nw[i] = 1\ns[t + int32(w[i]) * N] = a[i] + 1",
                                "w[i] = 0\ns[t + int32(w[i]) * N] = x"),
    "a walrus": (BOTH, "j = 0\ny = (j := N)\ns[t + j] = x"),
    "another condition": (BOTH, "if n > 5:\n    s[t] = x\nelse:\n    s[t] = x + 1\nif n < 0:\n    s[t + N] = x"),
    "a loop with barriers without trips": (BOTH, ("s[t] = x\nfor k in range(n - 250):\n    s[t + N] = x\n"
                                                 "    cuda.syncthreads()")),
    "a function that returns early": (BOTH, "once(s, t, x)"),
    "a call that may not be": (BOTH, "s[t] = x\ny = push(s, t + N, x) if n < 0 else float32(0)"),
    "an operand that may not be": (BOTH, "s[t] = x\ny = n < 0 and push(s, t + N, x) > 0"),
    "a view": (BOTH, "v = s.view(int32)\ns[t] = x\nv[t] = 3"),
    "a store behind a load": ("s[t] = a[i]\ncuda.syncthreads()\ny = s[N - 1 - t]\ns[t + N] = y", "s[t] = x"),
    "a store nobody knows where behind a load": ((
        "s[t] = a[i]\nw[i] = t + N\ncuda.syncthreads()\ny = s[N - 1 - t]\ns[int32(w[i])] = y"), "s[t] = x"),
    "an atomic behind a load": (("s[t] = a[i]\ns[t + N] = 0\ncuda.syncthreads()\ny = s[N - 1 - t]\n"
                                "cuda.atomic.add(s, t + N, y)"), "s[t] = x"),
}  # fmt: skip
KEPT |= {
    name: f"{first}\ncuda.syncthreads()\nx = s[N - 1 - t]\ncuda.syncthreads()\n{second}\ncuda.syncthreads()\n"
    "o[i] = s[t ^ 1] + s[N + (t ^ 1)]"
    for name, (first, second) in TWICE.items()
}
"""A second define that keeps something of the first."""

REPLACED = {
    "a permutation": """
        s[t] = a[i]
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        s[t ^ 5] = x
        cuda.syncthreads()
        o[i] = s[(t + 3) & 63]
    """,
    "a transposition": """
        r = t >> 3
        c = t & 7
        s[t] = a[i]
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        s[c * 8 + r] = x
        cuda.syncthreads()
        o[i] = s[(t + 3) & 63]
    """,
    "other places for two each": """
        for k in range(2):
            s[t + k * N] = a[i] + k
        cuda.syncthreads()
        x = s[t ^ 1] + s[N + (t ^ 1)]
        cuda.syncthreads()
        for k in range(2):
            s[2 * t + k] = x + k
        cuda.syncthreads()
        o[i] = s[t ^ 2] + s[N + (t ^ 3)]
    """,
    "by functions": """
        spread(s, t, 1, a[i])
        cuda.syncthreads()
        x = s[N - 1 - t]
        cuda.syncthreads()
        spread(s, 2 * t, N - 1, x)
        cuda.syncthreads()
        o[i] = s[N - 1 - t]
    """,
}


def made(text: str) -> Kernel:
    head = """
def f(a, o, n, w):
    s = cuda.shared.array(2 * N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
"""
    put = device("def put(p, j, x):\n    p[j] = x")
    spread = device(
        "def spread(p, first, step, x):\n    for k in range(2):\n        p[(first + k * N * step) % 128] = x + k"
    )
    push = device("def push(p, j, x):\n    p[j] = x\n    return x")
    once = device("def once(p, t, x):\n    for k in range(2):\n        p[t + k * 64] = x\n        return")
    return kernel(
        head + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n",
        put=put,
        spread=spread,
        push=push,
        once=once,
    )


def outputs(ready: Kernel, grid: object, block: object, **options: object) -> np.ndarray:
    a = np.random.default_rng(3).integers(0, 50, SIZE).astype(np.float32)
    o = np.zeros(SIZE, np.float32)
    ready.simulate(
        grid, block, (a, o, 250, np.zeros(SIZE, np.float32)), gpu="GTX480-16K", check="races", **options
    ).raise_for_findings()
    return o


@pytest.mark.long
@pytest.mark.parametrize("name", [*KEPT, *REPLACED])
def test_outputs_are_those_of_the_plain_kernel(name: str) -> None:
    plain = made({**KEPT, **REPLACED}[name])
    expected = outputs(plain, GRID, BLOCK)
    for scheme in (multiplex.vtb(plain), multiplex.vtb(plain, 3), multiplex.vtb_pipe(plain)):
        grid, block = scheme.geometry(GRID, BLOCK)
        assert np.array_equal(outputs(scheme, grid, block), expected)
    assert np.array_equal(outputs(multiplex.hw(plain), GRID, BLOCK, management="dynamic", extra_blocks=3), expected)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_stays_in_use(name: str) -> None:
    assert len(multiplex.regions(made(KEPT[name]))) == 1


def test_what_is_replaced_is_not_in_use_before() -> None:
    """Other places than before, but all that is loaded afterwards: computed thread by thread."""
    assert len(multiplex.regions(made(REPLACED["a transposition"]))) == 2


@pytest.mark.parametrize("name", ["a permutation", "other places for two each"])
def test_a_smaller_block_may_keep_what_a_larger_one_replaces(name: str) -> None:
    """With 60 or 32 threads the second define would leave elements of the first, and nobody says that there are 64."""
    assert len(multiplex.regions(made(REPLACED[name]))) == 1
