"""Rows, parts and other names of shared arrays, and arrays as a whole: what is an access, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import multiplex
from smmux.kernel import Kernel
from tests.multiplex.kernels import device, kernel

HEAD = """
def f(a, o):
    s = cuda.shared.array((4, 32), float32)
    v = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
"""


def lines(text: str) -> list[tuple[int, int]]:
    """First and last line of each region."""
    plain: Kernel = kernel(HEAD + text)
    return [(region.first, region.last) for region in multiplex.regions(plain)]


@pytest.mark.parametrize("taken", ["row = s[1]", "row = s[1, :]", "row = v[8:16]", "row = s", "row = s.view(int32)[1]"])
def test_to_take_a_row_or_a_part_is_no_access(taken: str) -> None:
    assert lines(f"    {taken}\n    s[1, t] = a[t]\n    v[t] = 1\n    o[t] = s[1, t]\n") == [(7, 9)]


@pytest.mark.parametrize(
    "used", ["o[t] = row[3]", "row[t] += 2", "x, y = row", "for x in row: o[t] += x", "o[t] = sum(row)"]
)
def test_what_is_done_with_it_is_one(used: str) -> None:
    assert lines(f"    row = s[1]\n    s[1, t] = a[t]\n    o[0] = 1\n    {used}\n") == [(7, 9)]


@pytest.mark.parametrize("index", ["i, j", "pair", "cuda.grid(2)", "(t, 1)"])
def test_an_element_is_one(index: str) -> None:
    assert lines(f"    i, j = pair = cuda.grid(2)\n    s[1, t] = a[t]\n    o[t] = s[{index}]\n") == [(7, 8)]


@pytest.mark.parametrize(
    "loop",
    [
        "for x in v", "for k, x in enumerate(v)", "for x, y in zip(v, a)", "for k, (x, y) in enumerate(zip(v, s))",
        "for x in reversed(v)", "for k in range(int32(v[0]))",
    ],
)  # fmt: skip
def test_loops_over_arrays_load_them(loop: str) -> None:
    assert lines(f"    v[t] = a[t]\n    {loop}:\n        o[t] += 1\n    o[t] += 1\n") == [(6, 8)]


@pytest.mark.parametrize("call", ["changed(v)", "v.fill(1)", "np.copyto(v, a)"])
def test_what_is_not_known_may_store_and_load(call: str) -> None:
    assert lines(f"    v[t] = a[t]\n    o[t] = 1\n    {call}\n    o[t] += 1\n") == [(6, 8)]


@pytest.mark.parametrize("call", ["o[t] = len(v)", "o[t] = v.shape[0]", "for k in range(v.size):\n        o[t] += k"])
def test_extents_are_no_access(call: str) -> None:
    assert lines(f"    v[t] = a[t]\n    o[t] += v[0]\n    {call}\n") == [(6, 7)]


RECORD = np.dtype([("x", np.float32), ("y", np.int32)])
RECORDS = {
    "fields": """
    s[t].x = a[i].x
    s[t].y = a[i].y
    cuda.syncthreads()
    o[i] = s[31 - t].x
    cuda.syncthreads()
    s[t].x = 3
    cuda.syncthreads()
    o[i] += s[31 - t].x + s[t].y
""",
    "records": """
    r = s[t]
    r.x = a[i].x
    r.y = 5
    cuda.syncthreads()
    q = s[31 - t]
    o[i] = q.x + q.y
    cuda.syncthreads()
    r.x = 2
    cuda.syncthreads()
    o[i] += q.x + q.y
""",
    "copies": "    s[t] = a[i]\n    cuda.syncthreads()\n    o[i] = s[31 - t].x + s[t]['y']\n",
    "arrays of a field": """
    s['x'][t] = a['x'][i]
    s.y[t] = a.y[i]
    cuda.syncthreads()
    o[i] = s['x'][31 - t] + s.y[t]
""",
}


@pytest.mark.parametrize("text", RECORDS.values(), ids=[name.replace(" ", "-") for name in RECORDS])
def test_records(text: str) -> None:
    head = "def f(a, o):\n    s = cuda.shared.array(32, RECORD)\n    t = cuda.threadIdx.x\n    i = cuda.grid(1)\n"
    plain = kernel(head + text.strip("\n") + "\n", RECORD=RECORD)
    a = np.array([(k % 7, 90 - k) for k in range(96)], RECORD)
    expected = np.zeros(96, np.float32)
    plain.simulate(3, 32, (a, expected))
    held = np.zeros(96, np.float32)
    multiplex.hw(plain).simulate(3, 32, (a, held), management="dynamic", extra_blocks=1)
    np.testing.assert_array_equal(held, expected)
    for made in (multiplex.vtb(plain, 3), multiplex.vtb_pipe(plain).fitted(3, 32)):
        found = np.zeros(96, np.float32)
        made.simulate(*made.geometry(3, 32), (a, found))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(multiplex.MultiplexError, match="an array of records is not divided"):
        multiplex.co_hw(plain, "s", 9)


def test_a_type_that_is_not_known_is_not_divided() -> None:
    plain = kernel(HEAD.replace("32, float32)", "32, a.dtype)") + "    v[t] = a[t]\n    o[t] = v[31 - t]\n")
    with pytest.raises(multiplex.MultiplexError, match="has to be a constant, such as float32"):
        multiplex.co_vtb(plain, "v", 5)


ARGUMENTS = {
    "put(*pair, x)": "def put(p, t, x):\n    p[t] = x",
    "put(s, t, x)": "def put(p, *rest):\n    p[rest[0]] = rest[1]",
    "put(s, t, x=x)": "def put(p, t, *, x):\n    p[t] = x\n    cuda.syncthreads()",
}


@pytest.mark.parametrize("call", ARGUMENTS)
def test_arrays_behind_stars_and_keywords(call: str) -> None:
    plain = kernel(
        f"def f(a, o):\n    s = cuda.shared.array(32, float32)\n    t = cuda.threadIdx.x\n    x = a[cuda.grid(1)]\n"
        f"    pair = (s, t)\n    {call}\n    cuda.syncthreads()\n    o[cuda.grid(1)] = s[31 - t]\n",
        put=device(ARGUMENTS[call]),
    )
    assert [(region.first, region.last) for region in multiplex.regions(plain)] == [(6, 8)]
    a, expected, found = np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    plain.simulate(2, 32, (a, expected))
    made = multiplex.vtb(plain)
    made.simulate(*made.geometry(2, 32), (a, found))
    np.testing.assert_array_equal(found, expected)


def test_names_that_are_exchanged_are_not_so_for_one_virtual_block() -> None:
    text = (
        HEAD
        + "    now = s[0]\n    then = s[1]\n    now[t] = a[t]\n    for k in range(3):\n        cuda.syncthreads()\n"
    )
    plain = kernel(f"{text}        then[t] = now[31 - t]\n        now, then = then, now\n    o[t] = now[t]\n")
    with pytest.raises(multiplex.MultiplexError, match="is one array now and then another") as caught:
        multiplex.vtb(plain)
    assert caught.value.lineno == 12
    assert multiplex.hw(plain).source
