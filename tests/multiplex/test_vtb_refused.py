"""What VTB and VTB_pipe refuse to combine, and what they say of it."""

from __future__ import annotations

import pytest

from smmux import multiplex
from smmux.errors import LaunchError
from tests.multiplex.kernels import device, kernel
from tests.multiplex.test_vtb_kernels import KERNELS, PASSES, check, text


@pytest.mark.parametrize(
    ("exit", "line", "why"),
    [
        ("for k in range(2):\n        if x < k:\n            return x", 5, "returns within a loop"),
        (
            "if n > 0:\n        if n > 1:\n            return x\n        x += 1",
            5,
            "within `if n > 0:` under a further cond",
        ),
    ],
)
def test_functions_with_exits_that_conditions_cannot_replace(exit: str, line: int, why: str) -> None:
    function = device(f"""
def push(tile, t, x, n):
    {exit}
    tile[t] = x
    cuda.syncthreads()
    return tile[63 - t]
""")
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.vtb(kernel(text("o[i] = push(s, t, a[i], n)"), push=function))
    assert (caught.value.filename, caught.value.lineno) == ("user.py", line)


@pytest.mark.parametrize("limit", [249, 250])
def test_functions_whose_conditions_all_return(limit: int) -> None:
    function = device(
        """
def push(tile, t, x, n):
    if n > LIMIT:
        if t > 5:
            return x
        else:
            return x + 1
    tile[t] = x
    cuda.syncthreads()
    return tile[63 - t]
""",
        LIMIT=limit,
    )
    for scheme in PASSES:
        check(kernel(text("o[i] = push(s, t, a[i], n)"), push=function), scheme, 6, 64)


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        ("o[i] = a[i]", 2, "no access to a shared array"),
        ("for k in range(t):\n    s[t] = k\n    cuda.syncthreads()", 8, "trip count can differ between threads"),
        (("for k in range(cuda.blockIdx.x, n, n):\n    s[t] = a[k]\n    cuda.syncthreads()\n    o[i] = s[t ^ 1]\n"
         "    cuda.syncthreads()"), 6, "in a way that cannot be followed"),
        (("j = 0\nfor j in range(cuda.blockIdx.x, n, cuda.gridDim.x):\n    s[t] = a[i]\n    cuda.syncthreads()\n"
         "    o[i] += s[t ^ 1]\n    cuda.syncthreads()\no[i] += j"), 7, "its counter is used behind it"),
        (("k = cuda.blockIdx.x\nwhile k < 9:\n    s[t] = a[k]\n    cuda.syncthreads()\n    o[i] = s[t ^ 1]\n"
         "    cuda.syncthreads()\n    k += 1\n    if k == n:\n        break"), 14, "cannot be left or shortened"),
        (("while cuda.syncthreads_or(a[i] > 0):\n    s[t] = a[i]\n    cuda.syncthreads()\n    a[i] = s[t ^ 1]\n"
         "    cuda.syncthreads()"), 6, "counts those of all virtual blocks"),
        (("s[t] = a[i]\ncuda.syncthreads()\nx = s[N - 1 - t]\nif a[cuda.blockIdx.x] > 3:\n    return\n"
         "cuda.syncthreads()\ns[t] = x\ncuda.syncthreads()\no[i] = s[t ^ 1]"), 10, "ends some virtual blocks between"),
        (("for k in range(n):\n    s[t] = a[k]\n    cuda.syncthreads()\n    o[i] += s[t ^ 1]\n    cuda.syncthreads()\n"
         "    if k == a[cuda.blockIdx.x]:\n        return"), 12, "ends some virtual blocks between"),
        (("for k in range(n):\n    if a[cuda.blockIdx.x] == k:\n        continue\n    s[t] = a[k]\n"
         "    cuda.syncthreads()\n    o[i] += s[t ^ 1]\n    cuda.syncthreads()"), 9,
         "block: a barrier stands here in a loop with trips of which some virtual blocks skip the rest"),
        (("for k in range(n):\n    if a[cuda.blockIdx.x] == k:\n        break\n    s[t] = a[k]\n"
         "    cuda.syncthreads()\n    o[i] += s[t ^ 1]\n    cuda.syncthreads()"), 9,
         "block: a barrier stands here in a loop that some virtual blocks leave before others"),
        (("k = 2\ns[t] = a[i]\ncuda.syncthreads()\nif a[cuda.blockIdx.x] > 3:\n    cuda.syncthreads()\n    k = n\n"
         "    cuda.syncthreads()\nx = s[t ^ 1]\nfor j in range(k):\n    cuda.syncthreads()\n    o[i] += x"), 9,
         "k decides how often barriers are met, is used later"),
        ("T = (cuda.threadIdx,)\ns[t] = a[i]\ncuda.syncthreads()\no[i] = s[t]", 6, "with its component"),
    ],
)  # fmt: skip
def test_refused(body: str, line: int, why: str) -> None:
    for scheme in PASSES.values():
        with pytest.raises(multiplex.MultiplexError, match=why) as caught:
            scheme(kernel(text(body)))
        assert (caught.value.filename, caught.value.lineno) == ("user.py", line)


def test_warps_do_not_lie_in_two_virtual_blocks() -> None:
    made = kernel(text("s[t] = a[i]\ncuda.syncwarp()\no[i] = s[t ^ 1]"), N=48)
    with pytest.raises(LaunchError, match="48 threads of a block are no multiple of 32"):
        multiplex.vtb(made).geometry(6, 48)
    check(made, "vtb", 6, 32)


def test_numbers_of_virtual_blocks() -> None:
    for n in (1, 0, -2, 2.0, "2", True):
        with pytest.raises(multiplex.MultiplexError, match="is 2 to 1024"):
            multiplex.vtb(kernel(KERNELS["guards"]), n)  # type: ignore[arg-type]
