"""What code counts on that knows the lockstep of a warp: one statement loads in all threads before it stores in any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import LaunchError, multiplex
from smmux.kernel import Kernel
from tests.multiplex.kernels import body, kernel

STATEMENTS = {
    "an update from another row": "s[t] += s[(t + 8) % 32]",
    "a copy": "s[t] = s[t ^ 24]",
    "what a condition gives": "s[t] = 7 if s[(t + 9) % 32] > 50 else 0xFFFFFF",
    "a swap": "if t % 2 == 0:\n        s[t], s[31 - t] = s[31 - t], s[t]",
    "a swap with a variable": "s[t], x = s[(t + 16) % 32], s[(t + 8) % 32]",
    "two targets": "s[t] = o[i] = s[(t + 24) % 32]",
    "a loaded index": "s[s[t] & 31] = s[(s[t] + 16) & 31]",
    "indices one after the other": "s[t], s[s[t] & 31] = t, s[(t + 9) % 32] & 31",
    "an atomic operation": "cuda.atomic.add(s, (t + 8) % 32, s[(t + 16) % 32])",
    "what an atomic operation returns": "x = cuda.atomic.max(s, (t + 8) % 32, s[(t + 16) % 32])",
    "an array in global memory": "s[t], o[i - t + (t + 1) % 32] = o[i], s[t] + 1",
    "a condition around": "if s[(t + 8) % 32] > 30:\n        s[t] = s[(t + 16) % 32] + o[i]\n        o[i] = s[t]",
    "a loop": "for k in range(3):\n        s[t] += s[(t + k) % 32]",
    "a scan": "k = 1\n    while k < 32:\n        if t >= k:\n            s[t] += s[t - k]\n        k *= 2",
    "the last warp": "for k in (16, 8, 4, 2, 1):\n        if t < 16:\n            s[t] += s[t + k]",
}  # fmt: skip


def written(statement: str) -> Kernel:
    return kernel(f"""
def f(a, o):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x = int32(0)
    s[t] = a[i]
    cuda.syncthreads()
    {statement}
    cuda.syncthreads()
    o[i] += s[31 - t] + 1000 * x
""")


def left(made: Any, grid: Any = 2, block: Any = 32, **options: Any) -> np.ndarray:
    """What a kernel leaves."""
    a, o = np.arange(64, dtype=np.int32) * 37 % 101, np.arange(64, dtype=np.int32)
    made.simulate(grid, block, (a, o), **options)
    return o


@pytest.mark.long
@pytest.mark.parametrize("private", [5, 16, 30])
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=[name.replace(" ", "-") for name in STATEMENTS])
def test_a_divided_array(statement: str, private: int) -> None:
    plain = written(statement)
    expected = left(plain)
    np.testing.assert_array_equal(left(multiplex.co_hw(plain, "s", private), management="dynamic"), expected)
    made = multiplex.co_vtb(plain, "s", private)
    np.testing.assert_array_equal(left(made, *made.geometry(2, 32)), expected)


@pytest.mark.quick(8)
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=[name.replace(" ", "-") for name in STATEMENTS])
def test_virtual_blocks_that_are_warps(statement: str) -> None:
    plain = written(statement)
    for made in (multiplex.vtb(plain), multiplex.vtb_pipe(plain)):
        np.testing.assert_array_equal(left(made, *made.geometry(2, 32)), left(plain))


def test_what_is_stored_waits_in_a_variable() -> None:
    text = body(multiplex.co_hw(written("s[t] += s[(t + 8) % 32]"), "s", 16))
    assert "    s[t] = value\nelse:\n    s_public[t - 16] = value" in text


def test_numbers_without_a_type_get_that_of_the_array() -> None:
    text = """
    def f(a, o):
        s = cuda.shared.array(32, uint8)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncthreads()
        s[t] = 300 if s[(t + 8) % 32] < 9 else 3
        cuda.syncthreads()
        o[t] = s[31 - t]
    """
    plain = kernel(text)
    made = multiplex.co_hw(plain, "s", 16)
    assert "value = uint8(300 if" in body(made)
    np.testing.assert_array_equal(left(made, 1), left(plain, 1))


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("x = s[t] + cuda.atomic.add(s, (t + 8) % 32, 1)", "assign what an atomic operation returns"),
        ("(s[t], x), s[31 - t] = (s[t ^ 16], 5), 6", "assign one value to each target"),
    ],
)
def test_refused(statement: str, why: str) -> None:
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.co_hw(written(statement), "s", 16)
    assert caught.value.lineno == 9


def test_barriers_are_met_by_all() -> None:
    plain = written("for k in range(3):\n        s[t] += k\n        cuda.syncthreads()")
    text = body(multiplex.co_hw(plain, "s", 16))
    assert text.count("for k in range(3):") == 1
    np.testing.assert_array_equal(left(multiplex.co_hw(plain, "s", 16), management="dynamic"), left(plain))


QUEUE = """
def f(a, o):
    queue = cuda.shared.array(32, int32)
    length = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    length[0] = 0
    queue[t] = 0
    cuda.syncthreads()
    if a[i] > 20:
        {statement}
    cuda.syncthreads()
    o[i] = length[0] + queue[t] - queue[31 - t]
"""


@pytest.mark.parametrize("form", ["co_hw", "co_vtb"])
def test_an_index_that_counts_is_evaluated_once(form: str) -> None:
    plain = kernel(QUEUE.format(statement="queue[cuda.atomic.add(length, 0, 1)] = a[0]"))
    made = getattr(multiplex, form)(plain, "queue", 5)
    grid, block = made.geometry(2, 32) if form == "co_vtb" else (2, 32)
    np.testing.assert_array_equal(left(made, grid, block), left(plain))


def test_an_index_that_counts_within_an_expression_is_refused() -> None:
    with pytest.raises(multiplex.MultiplexError, match="is evaluated several times; assign what this call returns"):
        multiplex.co_hw(kernel(QUEUE.format(statement="queue[cuda.atomic.add(length, 0, 1)] += a[i]")), "queue", 5)


LAST_WARP = """
def f(a, o):
    s = cuda.shared.array(96, int32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    s[t + 48] = 0
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
    {barrier}
    o[cuda.grid(1)] = s[t]
"""


@pytest.mark.parametrize("scheme", [multiplex.vtb, multiplex.vtb_pipe])
def test_warps_that_virtual_blocks_would_tear(scheme: Any) -> None:
    made = scheme(kernel(LAST_WARP.format(barrier="cuda.syncthreads()")))
    with pytest.raises(LaunchError, match=r"counts on the lockstep of a warp \(line 9.*the 48 threads of a block"):
        made.geometry(4, 48)
    assert made.geometry(4, 64) == ((2,), (128,))


def test_a_tree_with_barriers_is_none_that_counts_on_lockstep() -> None:
    made = multiplex.vtb(kernel("""
    def f(a, o):
        s = cuda.shared.array(96, int32)
        t = cuda.threadIdx.x
        s[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        k = 24
        while k > 0:
            if t < k:
                s[t] += s[t + k]
            cuda.syncthreads()
            k //= 2
        if t < 24:
            s[t] += s[t + 24]
        cuda.syncthreads()
        o[cuda.grid(1)] = s[t]
    """))  # fmt: skip
    assert made.geometry(4, 48) == ((2,), (96,))
