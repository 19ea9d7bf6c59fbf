"""VTB and VTB_pipe on kernels that people write: guards, early returns, shared work, counts; and what is refused."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux import multiplex
from smmux.multiplex import VirtualKernel
from tests.multiplex.kernels import device, kernel

PASSES: dict[str, Callable[..., VirtualKernel]] = {
    "vtb": multiplex.vtb,
    "vtb 3": lambda k, **sizes: multiplex.vtb(k, 3, **sizes),
    "vtb_pipe": multiplex.vtb_pipe,
}
HEAD = """
def f(a, o, n):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
"""


def text(body: str) -> str:
    """A kernel of a body."""
    return HEAD + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())


KERNELS = {
    "bits in a start": text("""
for j in range(cuda.blockIdx.x + (n & 1), 15, cuda.gridDim.x):
    s[t] = a[i] + j
    cuda.syncthreads()
    o[i] += s[N - 1 - t] * (j + 1)
    cuda.syncthreads()
"""),
    "a shift in a start": text("""
for j in range(cuda.blockIdx.x + (n >> 6), 15, cuda.gridDim.x):
    s[t] = a[i] + j
    cuda.syncthreads()
    o[i] += s[N - 1 - t] * (j + 1)
    cuda.syncthreads()
"""),
    **{
        f"loads of a loop with {jump}": text(f"""
s[t] = t
cuda.syncthreads()
total = float32(0)
for k in range(24):
    if i + k >= len(a):
        {jump}
    total += a[i + k] * s[(t + k) % N]
o[i] = total
""")
        for jump in ("break", "continue")
    },
    "else of a loop": text("""
k = n
x = 0
s[t] = a[i]
cuda.syncthreads()
for j in range(3):
    if s[N - 1 - t] == j:
        break
else:
    x = k
k = N // 2
cuda.syncthreads()
while k > 0:
    if t < k:
        s[t] += s[t + k]
    cuda.syncthreads()
    k //= 2
o[i] = s[0] + x
"""),
    "assignments in heads": text("""
k = N
m = n
s[t] = a[i]
while (k := k >> 1) > 0:
    cuda.syncthreads()
    if t < k:
        s[t] += s[t + k]
cuda.syncthreads()
x = s[0]
cuda.syncthreads()
s[t] = x + t
cuda.syncthreads()
if (m := m // 2) > 3:
    x = s[N - 1 - t]
    cuda.syncthreads()
    s[t] = x + m
    cuda.syncthreads()
if (m := m + cuda.blockIdx.x) % 2:
    x = s[t ^ 2]
    cuda.syncthreads()
    s[t] = x + m
    cuda.syncthreads()
o[i] = s[t ^ 1] + m
"""),
    "guards": text("""
if i < n:
    s[t] = a[i]
else:
    s[t] = float32(0)
cuda.syncthreads()
if i < n:
    o[i] = s[t] + s[N - 1 - t]
"""),
    "early return": text("""
if i >= n:
    return
s[t] = a[i]
cuda.syncthreads()
o[i] = s[t] + a[i]
"""),
    "tree": text("""
total = float32(0)
for k in range(i, n, cuda.gridsize(1)):
    total += a[k]
step = N // 2
s[t] = total
cuda.syncthreads()
while step > 0:
    if t < step:
        s[t] += s[t + step]
    cuda.syncthreads()
    step //= 2
if t == 0:
    cuda.atomic.add(o, 0, s[0])
"""),
    "shared work": text("""
for first in range(cuda.blockIdx.x * cuda.blockDim.x, a.size - N + 1, cuda.gridDim.x * cuda.blockDim.x):
    s[t] = a[first + t]
    cuda.syncthreads()
    o[first + t] += s[N - 1 - t] + first
    cuda.syncthreads()
"""),
    "work of its own": text("""
for k in range(cuda.blockIdx.x % 3, 4 + cuda.blockIdx.x):
    s[t] = a[i] + k
    cuda.syncthreads()
    o[i] += s[N - 1 - t] * k
    cuda.syncthreads()
"""),
    "while there is work": text("""
item = cuda.blockIdx.x
while item < 13:
    s[t] = a[i] + item
    cuda.syncthreads()
    o[i] += s[N - 1 - t]
    cuda.syncthreads()
    item += cuda.gridDim.x
"""),
    "some blocks": text("""
x = a[i]
if cuda.blockIdx.x % 2:
    s[t] = x
    cuda.syncthreads()
    x = s[N - 1 - t]
else:
    x += 1
o[i] = x
"""),
    "counts": text("""
large = cuda.syncthreads_count(a[i] > 100)
s[t] = a[i]
some = cuda.syncthreads_or(a[i] > 200)
x = s[t ^ 1] + some
every = cuda.syncthreads_and(a[i] > 120)
o[i] = x + large * 1000 + every * 2
"""),
    "a block's threads through global memory": text("""
o[i] = a[i] + 1
cuda.syncthreads()
s[t] = o[i - t + N - 1 - t]
cuda.syncthreads()
x = s[t ^ 1]
cuda.syncthreads()
o[i] = x
"""),
    "a counter that is needed again": text("""
k = t
s[t] = a[i]
cuda.syncthreads()
x = s[N - 1 - k]
for k in range(2):
    cuda.syncthreads()
    s[t] += x
o[i] = s[t] + k
"""),
    "a loop of its own within a region, and a region behind it": text("""
k = a[cuda.blockIdx.x] % 3
s[t] = a[i]
while k > 0:
    cuda.syncthreads()
    x = s[N - 1 - t]
    cuda.syncthreads()
    s[t] = x + 1
    k -= 1
cuda.syncthreads()
y = s[N - 1 - t]
cuda.syncthreads()
s[t] = 2 * y
cuda.syncthreads()
o[i] = s[N - 1 - t]
"""),
    "a loop that is left before its barrier, and a region behind it": text("""
x = a[i]
for k in range(4):
    s[t] = x
    cuda.syncthreads()
    x += s[N - 1 - t]
    o[i] = x
    if k == n - 249:
        break
    cuda.syncthreads()
    x += o[i ^ 1]
s[t] = 2 * x
cuda.syncthreads()
o[i] = s[N - 1 - t]
"""),
    "a loop without trips between regions": text("""
s[t] = a[i]
cuda.syncthreads()
x = s[N - 1 - t]
cuda.syncthreads()
for k in range(n - 250):
    s[t] = x
    cuda.syncthreads()
    x += s[N - 1 - t]
    cuda.syncthreads()
    o[i] = x
    cuda.syncthreads()
    o[i ^ 1] += x
s[t] = 2 * x
cuda.syncthreads()
o[i] = s[N - 1 - t]
"""),
}


@pytest.mark.long
@pytest.mark.parametrize("scheme", PASSES)
@pytest.mark.parametrize("name", KERNELS)
def test_outputs(name: str, scheme: str) -> None:
    check(kernel(KERNELS[name], N=64), scheme, 6, 64)


@pytest.mark.parametrize("scheme", PASSES)
def test_virtual_blocks_within_a_warp(scheme: str) -> None:
    check(kernel(KERNELS["guards"], N=20), scheme, 6, 20)


def check(made: Any, scheme: str, grid: Any, block: Any, size: int = 384, dynshared: int = 0) -> None:
    """Transformed for any launch and for this one, the kernel does what it did, without races."""

    def arguments() -> tuple[Any, ...]:
        return np.arange(size, dtype=np.float32), np.zeros(size, np.float32), 250

    expected = arguments()
    made.simulate(grid, block, expected, gpu="GTX480-16K", dynshared=dynshared)
    assert expected[1].any()
    for sizes in ({}, {"grid": grid, "block": block}):
        found = arguments()
        changed = PASSES[scheme](made, **sizes)
        changed.simulate(
            *changed.geometry(grid, block), found, gpu="GTX480-16K", dynshared=dynshared, check="races"
        ).raise_for_findings()
        assert all((x == y).all() for x, y in zip(found[:2], expected[:2], strict=True))


THREE = """
def f(a, o, n):
    s = cuda.shared.array((4, 4, 8), float32)
    x, y, z = cuda.grid(3)
    w, h = cuda.gridsize(3)[0], cuda.gridsize(3)[1]
    i = x + w * (y + h * z)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[tz, ty, tx] = a[i]
    cuda.syncthreads()
    o[i] = s[cuda.blockDim.z - 1 - tz, 3 - ty, 7 - tx]
"""


@pytest.mark.parametrize("scheme", PASSES)
def test_three_dimensions(scheme: str) -> None:
    check(kernel(THREE), scheme, (6, 2), (8, 4, 4), 12 * 128)


@pytest.mark.parametrize("scheme", PASSES)
def test_arrays_of_the_launch(scheme: str) -> None:
    check(kernel(KERNELS["guards"].replace("array(N", "array(0"), N=64), scheme, 6, 64, dynshared=256)


def test_device_functions_with_barriers_are_written_out() -> None:
    exchange = device("""
    def exchange(tile, t, x):
        tile[t] = x
        cuda.syncthreads()
        y = tile[cuda.blockDim.x - 1 - t]
        cuda.syncthreads()
        return y
    """)
    made = kernel(text("x = 2 * exchange(s, t, a[i]) + 1\no[i] = x + exchange(s, t, x)"), N=64, exchange=exchange)
    with pytest.raises(multiplex.MultiplexError, match="has to be a statement"):
        multiplex.vtb(kernel(text("o[i] = exchange(s, t, a[i]) if n else 0"), N=64, exchange=exchange))
    for scheme in PASSES:
        check(made, scheme, 6, 64)


def test_functions_that_are_only_called_like_barriers() -> None:
    rounds = device("def syncthreads2(n):\n    return n % 3 + 1")
    body = """
m = 1
if cuda.blockIdx.x % 2 == 1:
    m = syncthreads2(n)
for k in range(m):
    s[t] = a[i] + k
    cuda.syncthreads()
    o[i] += s[cuda.blockDim.x - 1 - t]
    cuda.syncthreads()
"""
    for scheme in PASSES:
        check(kernel(text(body), syncthreads2=rounds), scheme, 6, 64)


def test_device_functions_that_share_one_with_indices() -> None:
    own = device("def own(a):\n    return a[cuda.blockIdx.x]")
    once = device("def once(a):\n    return own(a)", own=own)
    twice = device("def twice(a):\n    return 2 * own(a)", own=own)
    body = "s[t] = once(a) + a[i]\ncuda.syncthreads()\no[i] = s[N - 1 - t] + twice(a)"
    for scheme in PASSES:
        check(kernel(text(body), once=once, twice=twice), scheme, 6, 64)


PUSH = """
def push(tile, o, i, t, x):
    tile[t] = x
    cuda.syncthreads()
    o[i] += tile[cuda.blockDim.x - 1 - t]
    cuda.syncthreads()
    return o[i]
"""


def test_what_is_evaluated_before_a_call_stays_before_it() -> None:
    body = """
    o[i] = t
    o[cuda.grid(1)] += push(s, o, i, t, a[i]) * 2
    o[i] -= a[i] + cuda.atomic.add(o, i, 1) + next_to(o, i) - push(s, o, i, t, o[i])
    """
    after = device("def next_to(o, i):\n    return o[i] + 1")
    made = kernel(text(textwrap.dedent(body)), push=device(PUSH), next_to=after)
    for scheme in PASSES:
        check(made, scheme, 6, 64)
    assert "\n    o_value = o[index]\n" in multiplex.vtb(made).fitted(6, 64).source
