"""CO-HW as a pass: three benchmarks, two blocks where one fitted, and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import benchmarks, multiplex
from tests.multiplex.kernels import body, kernel

DECLARED: dict[str, dict[str, Any]] = {
    "MC": {"array": "vertices", "private": 16},
    "STO": {"array": "block", "private": 14, "shape": 2048, "interleaved": (16, 32)},
    "HG": {"array": "counters", "private": 112 * 64, "threads": 64},
}
BYTES = {"MC": (6144, 3072), "STO": (7168, 1024), "HG": (7168, 1024)}  # private and public; together Table 1's arrays


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize("extra_blocks", [0, 1])
@pytest.mark.parametrize("name", DECLARED)
def test_outputs_bytes_and_blocks(name: str, extra_blocks: int, schedule: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    arguments = problem.arguments()
    made = multiplex.co_hw(benchmark.kernel(), **DECLARED[name])
    result = made.simulate(
        problem.grid, problem.block, arguments, gpu="GTX285-1100", management="dynamic", extra_blocks=extra_blocks,
        schedule=schedule,
    )  # fmt: skip
    problem.check(arguments)
    assert (result.program.shared_bytes, result.program.dynamic_bytes) == BYTES[name]
    assert result.program.local_bytes == 0  # what waits, waits in registers
    assert result.static_residency == 1
    assert result.residency == 1 + extra_blocks or result.limiter == "registers"
    assert result.counters["allocations"] == problem.blocks


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", DECLARED)
def test_static_management_runs_them_too(name: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    arguments = problem.arguments()
    multiplex.co_hw(benchmark.kernel(), **DECLARED[name]).simulate(problem.grid, problem.block, arguments)
    problem.check(arguments)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", DECLARED)
def test_nothing_depends_on_the_width_of_numbers(name: str) -> None:
    benchmark = benchmarks.get(name)
    arguments = benchmark.problem("tiny").arguments()
    assert not multiplex.co_hw(benchmark.kernel(), **DECLARED[name]).portability(*arguments)


def test_values_wait_in_registers_until_the_allocation() -> None:
    text = body(multiplex.co_hw(benchmarks.get("MC").kernel(), **DECLARED["MC"]))
    marks = [
        "waiting = cuda.local.array((8, 3), float32)", "waiting[edge - 4, axis] =", "smm.alloc()",
        "vertices_public[public_row, t, axis] = waiting[public_row, axis]", "if row < 16 else",
        "smm.release()",
    ]  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


SMALL = """
def f(a, out):
    tile = cuda.shared.array((8, 32), float32)
    t = cuda.threadIdx.x
    for r in range(8):
        tile[r, t] = a[r * 32 + t]
    cuda.syncthreads()
    for r in range(8):
        out[r * 32 + t] = tile[r, 31 - t]
"""

SMALL_DIVIDED = """\
tile = cuda.shared.array((6, 32), float32)
tile_public = smm.array((2, 32), float32)
waiting = cuda.local.array(2, float32)
t = cuda.threadIdx.x
for r in range(6):
    tile[r, t] = a[r * 32 + t]
for r in range(6, 8):
    waiting[r - 6] = a[r * 32 + t]
smm.alloc()
for row in range(2):
    tile_public[row, t] = waiting[row]
cuda.syncthreads()
for r in range(8):
    out[r * 32 + t] = tile[r, 31 - t] if r < 6 else tile_public[r - 6, 31 - t]
smm.release()"""


def test_work_with_the_private_part_alone_does_not_hold_the_public_one() -> None:
    made = kernel("""
    def f(a, out, n):
        words = cuda.shared.array((2, 64), float32)
        i = cuda.threadIdx.x
        words[0, i] = a[cuda.grid(1)]
        cuda.syncthreads()
        total = float32(0.0)
        for k in range(n):
            total += words[0, (i + k) % 64]
        words[1, i] = total
        cuda.syncthreads()
        out[cuda.grid(1)] = words[1, 63 - i]
    """)
    divided = multiplex.co_hw(made, "words", 1)
    text = body(divided)
    assert (
        text.index("total += words[0, (i + k) % 64]") < text.index("smm.alloc()") < text.index("words_public[0, i] =")
    )
    a, expected, found = np.arange(256, dtype=np.float32), np.zeros(256, np.float32), np.zeros(256, np.float32)
    made.simulate(4, 64, (a, expected, 7))
    result = divided.simulate(4, 64, (a, found, 7), management="dynamic", extra_blocks=1, check="races")
    assert (found == expected).all()
    assert not result.findings


def test_loops_are_divided() -> None:
    made = multiplex.co_hw(kernel(SMALL), "tile", private=6)
    assert body(made) == SMALL_DIVIDED
    a, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    made.simulate(1, 32, (a, out), management="dynamic")
    assert (out.reshape(8, 32) == a.reshape(8, 32)[:, ::-1]).all()


@pytest.mark.parametrize("private", range(1, 8))
def test_any_division_gives_the_same(private: int) -> None:
    a, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    multiplex.co_hw(kernel(SMALL), "tile", private=private).simulate(1, 32, (a, out), management="dynamic")
    assert (out.reshape(8, 32) == a.reshape(8, 32)[:, ::-1]).all()


CHANGING = """
def f(a, out):
    tile = cuda.shared.array((8, 32), float32)
    t = cuda.threadIdx.x
    x = a[t]
    for r in range(8):
        tile[r, t] = x
    cuda.syncthreads()
    x = a[32 + t]
    for r in range(8):
        tile[r, t] += x
    cuda.syncthreads()
    x = a[64 + t]
    for r in range(8):
        tile[r, t] = tile[r, t] * float32(2) + x
    cuda.syncthreads()
    for r in range(8):
        tile[r, t] *= float32(r)
    cuda.syncthreads()
    for r in range(8):
        out[r * 32 + t] = tile[r, 31 - t]
"""


@pytest.mark.parametrize("private", [1, 5, 7])
def test_order_of_changes_is_kept(private: int) -> None:
    a, out = np.arange(96, dtype=np.float32), np.zeros(256, np.float32)
    made = multiplex.co_hw(kernel(CHANGING), "tile", private=private)
    made.simulate(1, 32, (a, out), management="dynamic")
    column = 2 * (a[:32] + a[32:64]) + a[64:]
    assert (out.reshape(8, 32) == np.arange(8)[:, None] * column[::-1]).all()


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("MC", {"array": "vertices", "private": 24}, "private has to be 1 to 23"),
        ("MC", {"array": "edges", "private": 4}, "no shared array 'edges'"),
        ("STO", {"array": "block", "private": 14, "interleaved": (16, 32)}, "give its shape"),
        ("STO", {"array": "block", "private": 14, "shape": 2048, "interleaved": (32, 16)}, "not in row 0"),
        ("FFT", {"array": "planes", "private": 1088}, "one region is supported"),
        ("MC", {"array": "vertices", "private": 4, "shape": (24,)}, r"shape=\(24,\) is no part of the declared"),
        ("STO", {"array": "block", "private": 14, "shape": 1 << 16}, "shape=65536 is no part of the declared"),
    ],
)
def test_refused(name: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.co_hw(benchmarks.get(name).kernel(), **options)
    assert caught.value.lineno


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"threads": "x"}, "threads must be an integer from 1 on, not 'x'"),
        ({"threads": 0}, "threads must be an integer from 1 on, not 0"),
        ({"shape": "x"}, "shape must be an integer or a tuple of them, not 'x'"),
        ({"interleaved": 3}, "interleaved must be two integers, not 3"),
        ({"private": 1.5}, "private must be an integer, not 1.5"),
    ],
)
@pytest.mark.parametrize("form", [multiplex.co_hw, multiplex.co_vtb])
def test_arguments_of_another_type_are_refused(form: Any, given: dict[str, Any], why: str) -> None:
    with pytest.raises(smmux.ConfigError, match=f"^{re.escape(why)}$"):
        form(benchmarks.get("MC").kernel(), **{"array": "vertices", "private": 4, **given})


HALVES = """
def f(a, out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    out[cuda.blockIdx.x * cuda.blockDim.x + t] = tile[cuda.blockDim.x - 1 - t]
"""


def test_blocks_longer_than_a_form_was_made_for_are_refused() -> None:
    """Its tests of indices count on the number: with 64 threads a tile would not be turned round."""
    plain, a = kernel(HALVES), np.arange(64, dtype=np.int32)
    hardware, virtual = (form(plain, "tile", 32, threads=32) for form in (multiplex.co_hw, multiplex.co_vtb))
    for block in (16, 32):
        out = np.zeros(2 * block, np.int32)
        hardware.simulate(2, block, (a, out), management="dynamic")
        assert out.tolist() == 2 * list(reversed(range(block)))
        out[:] = 0
        virtual.simulate(*virtual.geometry(2, block), (a, out))
        assert out.tolist() == 2 * list(reversed(range(block)))
    out = np.zeros(128, np.int32)
    why = "at most 32 threads along x (threads=32), not of 64"
    with pytest.raises(smmux.LaunchError, match=re.escape(why)):
        hardware.simulate(2, 64, (a, out), management="dynamic")
    with pytest.raises(smmux.LaunchError, match=re.escape(why)):
        hardware[2, (64, 1)](a, out)
    with pytest.raises(smmux.LaunchError, match=re.escape(why)):
        virtual.geometry(2, 64)
    with pytest.raises(smmux.LaunchError, match=re.escape(why)):
        virtual.simulate(1, 128, (a, out))


def test_rows_whose_beginning_is_not_known_are_refused() -> None:
    text = """
    def f(a, out):
        tile = cuda.shared.array(1024, int32)
        t = cuda.threadIdx.x
        first = int32(cuda.threadIdx.x + cuda.blockIdx.x)
        for k in range(16):
            tile[first + 32 * k] = a[t]
        cuda.syncthreads()
        out[t] = tile[first]
    """
    with pytest.raises(multiplex.MultiplexError, match=r"'first' cannot be computed from threadIdx\.x alone"):
        multiplex.co_hw(kernel(text), "tile", private=14, interleaved=(16, 32))


INTERLEAVED = """
def f(a, out):
    s = cuda.shared.array(512, int32)
    t = cuda.threadIdx.x
    first = {first}
    for k in range(8):
        s[first + 16 * k] = a[t] * (k + 1)
    {uses}
"""
FIRST = (
    "int32(128 * (t >> 4) + (t & 15))",
    "128 * (t >> 4) + (t & 15)",
    "t // 16 * 128 + t % 16",
    "8 * (t - t % 16) + t % 16",
)
ROWS = (
    "for k in range(8):\n        out[t] += s[first + 16 * k] * k",
    "for k in range(7, -1, -1):\n        w = first + 16 * k\n        s[w] += k\n        out[t] += s[w]",
    "for k in range(1, 5):\n        w = first + 16 * (2 * k - 1)\n        w = w - 16\n        out[t] += s[w] * k",
    "w = first + 48\n    v = w\n    out[t] = s[v] - s[v + 16]\n    w = t",
    "for k in range(4):\n        for i in range(2):\n            out[t] += s[first + 16 * (2 * k + i)] * (k - i)",
)  # fmt: skip
STALE = "for k in range(8):\n        {}"


@pytest.mark.parametrize("uses", ROWS)
@pytest.mark.parametrize("first", FIRST)
def test_rows_of_a_flat_array(first: str, uses: str) -> None:
    whole = kernel(INTERLEAVED.format(first=first, uses=uses))
    a = np.arange(3, 67, dtype=np.int32)
    expected, out = np.zeros((2, 64), np.int32)
    whole.simulate(1, 64, (a, expected))
    multiplex.co_hw(whole, "s", 3, interleaved=(8, 16)).simulate(1, 64, (a, out), management="dynamic", check="races")
    assert expected.all()
    assert (out == expected).all()


@pytest.mark.parametrize(
    ("uses", "why"),
    [
        ("if t < 48:\n        out[t] += s[first + 128]", "row 8 is used here, and there are rows 0 to 7"),
        ("if t >= 16:\n        out[t] += s[first - 16]", "row -1 is used here"),
        ("if t < 48:\n        for k in range(9):\n            out[t] += s[first + 16 * k]", "row 8 is used here"),
        ("first += 1 - 2 * (t & 1)\n    out[t] = s[first]", "'first', where rows begin, has a second definition here"),
        ("k = (t & 7) + 1\n    if t < 48:\n        out[t] = s[first + 16 * k]", "no row can be told"),
        ("w = first\n    " + STALE.format("out[t] += s[w]\n        w = first + 16 * k"), "elsewhere and at 'w' here"),
        (STALE.format("w = first + 16 * k\n    for k in range(8):\n        out[t] += s[w] * k"), "and at 'w' here"),
    ],
)  # fmt: skip
def test_an_index_that_is_no_row_of_its_thread_is_refused(uses: str, why: str) -> None:
    """The row after a thread's last one is the first one of another thread."""
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.co_hw(kernel(INTERLEAVED.format(first=FIRST[0], uses=uses)), "s", 3, interleaved=(8, 16))
    assert caught.value.lineno
