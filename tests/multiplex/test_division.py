"""The division of an array: random kernels leave the same bits, and what a division must keep in order."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import multiplex
from tests.multiplex.divided_kernels import Case, generate
from tests.multiplex.kernels import body, device, kernel
from tests.numba import simulator, sources

REFUSED = "one region is supported"  # the private part is defined, then the public one alone


def expected(case: Case, filename: str) -> list[np.ndarray]:
    """What Numba's simulator leaves."""
    found: list[np.ndarray] = simulator.shared().launch(case.text, filename, case.grid, case.block, case.arguments())
    return found


def same(found: list[Any], wanted: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("first", range(30, 60, 10))
def test_random_kernels_with_allocation(first: int) -> None:
    refused = 0
    for seed in range(first, first + 10):
        case, filename = generate(Random(seed)), f"<divided kernel {seed % 4}>"
        plain = sources.load(case.text, filename, "smmux").kernel
        try:
            made = multiplex.co_hw(plain, **case.declaration)
        except multiplex.MultiplexError as error:
            assert REFUSED in str(error.msg)
            refused += 1
            continue
        found = case.arguments()
        made.simulate(case.grid, case.block, found, gpu="GTX480-16K", management="dynamic")
        assert same(found, expected(case, filename)), f"seed {seed}\n{case.text}\n{made.source}"
    assert refused <= 2


HEAD = """
def f(a, out):
    tile = cuda.shared.array((8, 32), int32)
    t = cuda.threadIdx.x
    x = a[t]
"""


def run(made: Any) -> np.ndarray:
    a, out = np.arange(256, dtype=np.int32), np.zeros((8, 32), np.int32)
    made.simulate(1, 32, (a, out), management="dynamic", gpu="GTX480-16K")
    return out


CASES = {
    "a value from before the region is needed twice": """
    for r in range(8):
        tile[r, t] = a[r * 7 + x]
    if x < 9:
        for r in range(8):
            tile[r, t] += x
    x = x * 3 + 1
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, 31 - t] + x
""",
    "what an index selects is handed on": """
    for r in range(8):
        tile[r, t] = a[r * 7 + x]
    cuda.syncthreads()
    x = int32(tile[t & 7, 31 - t])
    y = int32(tile[x & 7, t])
    cuda.syncthreads()
    tile[y & 7, t] += x
    for r in range(8):
        out[r, t] = tile[r, t] + x + y
""",
    "a loop that is left": """
    for r in range(8):
        if r * 9 > x:
            break
        tile[r, t] = a[r + x]
    for r in range(8):
        if r * 9 > x:
            break
        out[r, t] = tile[r, t]
""",
    "a define that not all threads make": """
    for r in range(8):
        tile[r, t] = 5
    cuda.syncthreads()
    if t < 8:
        tile[6, 4 * t] = x
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, t]
""",
    "a column that changes": """
    c = int32(t)
    for r in range(8):
        tile[r, c] = x + r
    c = int32(31 - t)
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, c]
""",
    "sums over both parts": """
    s = int32(0)
    for r in range(8):
        tile[r, t] = a[r + x]
    cuda.syncthreads()
    for r in range(8):
        s = s * 3 + tile[r, 31 - t]
    cuda.syncthreads()
    for r in range(8):
        tile[r, t] += s
    for r in range(8):
        out[r, t] = tile[r, t]
""",
    "a condition on the array": """
    for r in range(8):
        tile[r, t] = a[r + x]
    cuda.syncthreads()
    for r in range(8):
        if tile[r, 31 - t] & 1:
            out[r, t] = tile[7 - r, t]
        elif tile[2, t] > 20:
            out[r, t] = 3
""",
    "heads that ask for the grid": """
    for r in range(8):
        tile[r, t] = x
    cuda.syncthreads()
    for k in range(cuda.blockIdx.x, 24, cuda.gridDim.x):
        tile[a[k] & 7, t] += k
    k = 0
    while k * cuda.gridDim.x < 24:
        tile[a[k] & 7, t] += a[k * cuda.gridDim.x + cuda.blockIdx.x]
        k += 1
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        for r in range(8):
            tile[r, t] += 1000
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, 31 - t]
""",
    "else of a loop": """
    last = int32(0)
    for r in range(8):
        tile[r, t] = a[r] + x
        last = tile[r, t] + r
    y = int32(0)
    for r in range(2):
        if a[t] > 20:
            break
        y += r
    else:
        y = last
    cuda.syncthreads()
    z = y
    for r in range(8):
        out[r, t] = tile[r, 31 - t] + z
""",
    "loops left where the array says so": """
    for r in range(8):
        tile[r, t] = (a[r] + x) * (r + 1) % 50
    for r in range(8):
        if tile[r, t] > 40:
            tile[r, t] = -1
            break
    for r in range(8):
        if tile[r, t] % 2:
            continue
        tile[7 - r, t] += 100
    for r in range(8):
        for k in range(2):
            if tile[r, t] % 3 == k:
                break
        else:
            break
        tile[r, t] += 1000
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, 31 - t]
""",
    "a define shortened in some threads": """
    for r in range(8):
        if t % 2:
            continue
        tile[r, t // 2] = x + r
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, t // 2]
""",
    "an index out of the same part": """
    for r in range(8):
        tile[r, t] = (t * 5 + r) % 32
    cuda.syncthreads()
    y = tile[6, tile[7, t]] + 100 * tile[0, tile[1, t]]
    z = tile[2, tile[6, t]]
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, 31 - t] + y + 10000 * z + x
""",
    "a row copied to another": """
    for r in range(8):
        tile[r, t] = a[r + x]
    for r in range(7):
        tile[r, t] = tile[r + 1, t] + r
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r, 31 - t]
""",
    "registers that collect": """
    mine = cuda.local.array(8, int32)
    last = cuda.local.array(1, int32)
    for r in range(8):
        tile[r, t] = a[r + x]
    cuda.syncthreads()
    for r in range(8):
        mine[r] = tile[r, 31 - t]
    for r in range(8):
        last[0] = tile[7 - r, t]
    for r in range(8):
        out[r, t] = mine[r] + last[0]
""",
    "chains of indices and atomics": """
    for r in range(8):
        tile[r][t] = 0
    cuda.syncthreads()
    for i in range(6):
        cuda.atomic.add(tile, (a[8 * i + t] & 7, t & 3), 1)
        x = x + cuda.atomic.max(tile, (i, 16 + (t & 1)), i)
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = tile[r][31 - t]
""",
    "its extents": """
    for r in range(len(tile)):
        tile[r, t] = a[r + x] + tile.size
    cuda.syncthreads()
    for r in range(tile.shape[0]):
        out[r, t] = tile[r, tile.shape[1] - 1 - t] + tile.ndim
""",
    "rows and other names": """
    row = tile[5]
    other = tile
    third = other[x & 7]
    for r in range(8):
        tile[r, t] = a[r + x]
    for r in range(7):
        line = tile[r]
        line[t] += row[t]
    cuda.syncthreads()
    for r in range(8):
        out[r, t] = other[r, 31 - t] + third[t] + tile[r][t ^ 1]
""",
    "two loops with one variable": """
    for half in range(2):
        for r in range(4):
            tile[r, t] = a[r + x]
        for r in range(4, 8):
            tile[r, t] = a[2 * r + x] + half
        cuda.syncthreads()
        for r in range(8):
            out[r, t] += tile[r, 31 - t]
        cuda.syncthreads()
""",
}


@pytest.mark.quick
@pytest.mark.parametrize("private", [1, 3, 6, 7])
@pytest.mark.parametrize("text", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_what_must_be_kept(text: str, private: int) -> None:
    plain = kernel(HEAD + text)
    a, wanted = np.arange(256, dtype=np.int32), np.zeros((8, 32), np.int32)
    plain.simulate(1, 32, (a, wanted), gpu="GTX480-16K")
    assert (run(multiplex.co_hw(plain, "tile", private)) == wanted).all()


TWICE = """
def f(a, out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    x = tile[31 - t]
    cuda.syncthreads()
    tile[t] = x + 1
    cuda.syncthreads()
    out[0, t] = tile[t ^ 1]
"""
ON_EACH_WAY = """
    for r in range(8):
        tile[r, t] = a[r] + x
    cuda.syncthreads()
    if cuda.blockIdx.x % 2:
        for r in range(8):
            out[r, t] = tile[r, 31 - t]
    else:
        out[0, t] = tile[5, t ^ 1]
"""


def test_a_second_region_is_refused_where_it_begins() -> None:
    with pytest.raises(multiplex.MultiplexError, match="behind the one from line 5: one region is supported") as caught:
        multiplex.co_hw(kernel(TWICE), "tile", 4)
    assert caught.value.lineno == 9


def test_a_region_may_end_on_each_way_through_a_condition() -> None:
    plain = kernel(HEAD + ON_EACH_WAY)
    assert (run(plain) == run(multiplex.co_hw(plain, "tile", 4))).all()


def test_a_saved_register() -> None:
    text = body(multiplex.co_hw(kernel(HEAD + CASES["a value from before the region is needed twice"]), "tile", 6))
    lines = [line.strip() for line in text.splitlines()]
    assert lines.index("x_before = x") < lines.index("x = x_before") < lines.index("smm.alloc()")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("part = tile[3, 2:5]", "by its elements alone"),
        ("row = tile[3, ...]", "by its elements alone"),
        ("other = tile if x else tile", "by its elements alone"),
        ("n = tile.dtype", "by its elements alone"),
        ("x = twice(tile) if x else 1", "has to be a statement"),
    ],
)
def test_refused_uses(statement: str, why: str) -> None:
    twice = device("def twice(array):\n    return array[2, 3] * 2")
    text = HEAD + f"    for r in range(8):\n        tile[r, t] = x\n    {statement}\n    out[0, t] = tile[0, t]\n"
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.co_hw(kernel(text, twice=twice), "tile", 4)
    assert (caught.value.filename, caught.value.lineno) == ("user.py", 8)


def test_parts_of_an_array_with_views_hold_whole_elements_of_them() -> None:
    text = """
    def f(a, out):
        raw = cuda.shared.array(64, uint8)
        words = raw.view(uint32)
        t = cuda.threadIdx.x
        words[t] = a[t]
        cuda.syncthreads()
        out[t] = raw[4 * t]
    """
    for split in (multiplex.co_hw, multiplex.co_vtb):
        with pytest.raises(multiplex.MultiplexError, match="multiple of 4: 'words' sees 4 elements as one") as caught:
            split(kernel(text), "raw", 6)
        assert caught.value.lineno == 3


@pytest.mark.parametrize(
    "index", ["t ^ 1", "t >> 1", "(t & 31) << 1", "(t & 62) | 1", "2 * (t ^ 1) % 64", "63 - (t >> 1)"]
)
def test_bits_in_an_index(index: str) -> None:
    plain = kernel(f"""
    def f(a, o):
        s = cuda.shared.array(N, int32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = a[i]
        cuda.syncthreads()
        o[i] = s[{index}] + 2 * s[t]
    """)
    a = np.arange(256, dtype=np.int32) * 7
    wanted, hardware, software = (np.zeros(256, np.int32) for _ in range(3))
    plain.simulate(4, 64, (a, wanted))
    multiplex.co_hw(plain, array="s", private=40).simulate(4, 64, (a, hardware), management="dynamic", extra_blocks=1)
    made = multiplex.co_vtb(plain, array="s", private=40)
    made.simulate(*made.geometry(4, 64), (a, software))
    assert same([hardware, software], [wanted, wanted])
