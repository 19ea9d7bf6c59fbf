"""What the analyzer makes of arrays, sizes and kernels beside the plain ones."""

import json

import numpy as np
import pytest

import smmux
from smmux import cuda, preload
from smmux.__main__ import main
from smmux.preload import MAX_ENTRIES, Entry
from tests.preload import recorded


@cuda.jit
def shifted(a, out, by):
    i = cuda.grid(1)
    out[i] = a[i + by]


@cuda.jit
def guarded(a, out, by):
    i = cuda.grid(1)
    if i + by >= 0:
        out[i] = a[i + by]


@cuda.jit
def doubled(a, out):
    i = cuda.grid(1)
    out[i] = a[i]
    a[i] = 2 * out[i]


@cuda.jit
def matrix(a, b, c):
    x, y = cuda.grid(2)
    total = 0
    for k in range(a.shape[1]):
        total += a[y, k] * b[k, x]
    c[y, x] = total


@cuda.jit
def fixed(a, out):
    for k in range(8):
        out[cuda.threadIdx.x + k] = a[16 * cuda.blockIdx.x + k]


@cuda.jit
def rows(a, out):
    row = a[cuda.blockIdx.x]
    out[cuda.grid(1)] = row[cuda.threadIdx.x] + row[-1]


@cuda.jit
def field(records, out):
    i = cuda.grid(1)
    out[i] = records[i].weight


@cuda.jit
def swapped(a, b, out, n):
    i = cuda.grid(1)
    for _ in range(n):
        out[i] = a[i]
        a, b = b, a


@cuda.jit
def clamped_to_tile(a, out):
    tile = cuda.shared.array(32, smmux.float32)
    t = cuda.threadIdx.x
    for i in range(t, 50, cuda.blockDim.x):
        tile[t] = a[40 * cuda.blockIdx.x + i]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[31 - t]


@cuda.jit
def edges(a, out, n):
    x, y = cuda.grid(2)
    up, down = max(y - 1, 0), min(y + 1, n - 1)
    left = x - 1 if x > 0 else 0
    out[y, x] = a[up, x] + a[down, x] + a[y, left] + a[y, min(x + 1, n - 1)] - 4 * a[y, x]


@cuda.jit
def corner(a, out):
    x = cuda.grid(1)
    out[x] = a[max(x, 40)]


@cuda.jit
def along(a, out):
    x = cuda.grid(1)
    out[x] = a[max(x - 1, 0) + 2 * x]


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def only(found):
    (read,) = found.reads
    return read


def test_an_index_that_may_be_negative_has_no_range_unless_a_condition_keeps_it_from_that():
    unsure = preload.analyze(shifted, 4, 32, (floats(128), floats(128), -2))
    assert "counts from the end" in only(unsure).reason
    sure = preload.analyze(guarded, 4, 32, (floats(128), floats(128), -2))
    assert only(sure).kind == "quasi-static"
    assert sure.table.entries == (Entry(0, 4, (32, 0, 0, -2), (32, 0, 0, 29)),)
    assert sure.table.spans((0, 0, 0)) == ((sure.table.bases[0], sure.table.bases[0] + 120),)


def test_ranges_end_with_the_array():
    found = preload.analyze(shifted, 4, 32, (floats(100), floats(128), 10))
    last = found.table.spans((3, 0, 0))
    assert [end - found.table.bases[0] for _, end in found.table.spans((2, 0, 0))] == [400]
    assert last == ()


def test_an_array_from_its_end():
    found = preload.analyze(shifted, 4, 32, (floats(128)[::-1], floats(128), 0))
    assert found.table.entries == (Entry(0, 4, (-32, 0, 0, -31), (-32, 0, 0, 0)),)
    first = found.table.bases[0]
    assert found.table.spans((3, 0, 0)) == ((first - 4 * 127, first - 4 * 95),)


def test_arrays_that_are_written_are_no_candidates():
    a = floats(128)
    found = preload.analyze(doubled, 4, 32, (a, floats(128)))
    assert found.left == {"a": "its own stores", "out": "its own stores"}
    assert found.table.entries == ()
    both = preload.analyze(shifted, 4, 32, (a, a[64:], 0))
    assert both.left == {"a": "'out' in the same memory, whose stores"}
    apart = preload.analyze(shifted, 2, 32, (a[:64], a[64:], 0))
    assert len(apart.table.entries) == 1


def test_empty_arrays_have_no_entries():
    found = preload.analyze(shifted, 1, 1, (floats(0), floats(0), 0))
    assert found.table.spans((0, 0, 0)) == ()
    assert found.table.lines((0, 0, 0), 128) == []


def test_overflow_is_told_and_the_table_keeps_its_size():
    n = 512
    found = preload.analyze(matrix, (2, 2), (16, 16), (floats(32, n), floats(n, 128), floats(32, 32)))
    assert len(found.table.entries) == MAX_ENTRIES
    assert found.table.dropped == 1 + n - MAX_ENTRIES  # the rows of `a` are one range
    assert f"{found.table.dropped} more ranges have no room" in str(found)


def test_what_a_loop_counts_by_the_shape_is_not_static():
    counted = preload.analyze(matrix, (2, 2), (16, 16), (floats(32, 8), floats(8, 32), floats(32, 32)))
    assert {read.kind for read in counted.reads} == {"quasi-static"}
    always = preload.analyze(fixed, 4, 8, (floats(128), floats(64)))
    assert only(always).kind == "static"


def test_rows_and_constant_indices_from_the_end():
    found = preload.analyze(rows, 4, 32, (floats(4, 40), floats(128)))
    assert [read.index for read in found.reads] == ["40*bx + tx", "40*bx + 39"]
    assert found.table.entries == (Entry(0, 4, (40, 0, 0, 0), (40, 0, 0, 39)),)


def test_fields_of_records_are_ranges_of_bytes():
    dtype = np.dtype([("weight", np.float32), ("rest", np.float32, 31)])
    found = preload.analyze(field, 2, 4, (np.zeros(8, dtype), floats(8)))
    assert len(found.table.entries) == 4
    assert found.table.spans((1, 0, 0))[0] == (found.table.bases[0] + 512, found.table.bases[0] + 516)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex64, np.complex128, np.uint8, np.int16])
def test_elements_of_every_size(dtype):
    a, out = np.zeros(128, dtype), np.zeros(128, dtype)
    found = preload.analyze(shifted, 4, 32, (a, out, 3))
    assert found.table.spans((1, 0, 0)) == (
        (found.table.bases[0] + 35 * a.itemsize, found.table.bases[0] + 67 * a.itemsize),
    )


def test_arrays_that_are_exchanged_are_both_read():
    found = preload.analyze(swapped, 4, 32, (floats(128), floats(128), floats(128), 3))
    assert {found.table.arrays[entry.array].name for entry in found.table.entries} == {"a", "b"}


def test_loops_in_which_threads_take_turns():
    args = (floats(200), floats(128))
    found = preload.analyze(clamped_to_tile, 4, 32, args)
    assert found.table.entries == (Entry(0, 4, (40, 0, 0, 0), (40, 0, 0, 49)),)
    loads = recorded.loads(clamped_to_tile, (4,), (32,), args)
    assert recorded.touched(loads, 0, (3, 0, 0)) == set(range(4 * 120, 4 * 170))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_indices_held_at_the_edge_read_what_the_tile_has(dtype):
    args = (floats(32, 32).astype(dtype), np.zeros((32, 32), dtype), 32)
    found = preload.analyze(edges, (2, 2), (16, 16), args)
    assert [read.kind for read in found.reads] == ["quasi-static"] * 5
    assert "max(blockDim.y*by + ty - 1, 0)" in found.reads[0].index
    whole = preload.analyze(edges, (3, 2), (16, 16), args)
    assert any("may lie outside of the block's tile" in read.reason for read in whole.reads)


def test_addresses_of_indices_held_at_the_edge():
    args = (floats(32, 32), floats(32, 32), 32)
    found = preload.analyze(edges, (2, 2), (16, 16), args)
    loads = recorded.loads(edges, (2, 2), (16, 16), args)
    for place in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)):
        assert {byte // 32 for byte in recorded.touched(loads, 0, place)} <= recorded.lines(found, 0, place)


@pytest.mark.parametrize("kernel", [corner, along])
def test_an_edge_that_not_every_block_reaches_has_no_range(kernel):
    found = preload.analyze(kernel, 2, 32, (floats(256), floats(64)))
    assert "may lie outside" in only(found).reason


def test_the_analysis_runs_nothing():
    a, out = floats(128), floats(128)
    preload.analyze(shifted, 4, 32, (a, out, 0))
    assert (out == floats(128)).all()


def test_text_and_json_hold_the_same():
    found = preload.analyze(shifted, 4, 32, (floats(128), floats(128), -2))
    text = str(found)
    assert "not preloaded: a, because of an index that may be negative" in text
    told = json.loads(found.to_json())
    assert told["coverage"] == found.coverage == 0
    assert [access["text"] for access in told["accesses"]] == ["out[i]", "a[i + by]"]


KERNEL = """
from smmux import cuda

@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    b[i] = a[i] + a[0]
"""


def test_the_command_line(tmp_path, capsys):
    (tmp_path / "kernels.py").write_text(KERNEL)
    launch = ["--grid", "2", "--block", "32", "float32[64]", "float32[64]"]
    words = ["preload", f"{tmp_path}/kernels.py:add"]
    assert main([*words, *launch]) == 0
    assert "preload table: 2 of 128 entries (a 2)" in capsys.readouterr().out
    assert main([*words, "--json", *launch]) == 0
    assert json.loads(capsys.readouterr().out)["coverage"] == 1
    assert main([*words, "--tile", *launch]) == 1
    assert "move differently from block to block" in capsys.readouterr().err
    assert main([*words, "--tile", "--grid", "1", "--block", "32", "float32[64]", "float32[64]"]) == 0
    assert "a_tile[tx]" in capsys.readouterr().out


@cuda.jit(device=True)
def helper(a):
    return a[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: preload.analyze(len, 4, 32, ()), TypeError, "a kernel made by smmux.cuda.jit"),
        (lambda: preload.analyze(helper, 4, 32, (floats(1),)), smmux.LaunchError, "a device function"),
        (lambda: preload.analyze(shifted, 0, 32, (floats(1), floats(1), 0)), smmux.LaunchError, "below 1"),
        (lambda: preload.analyze(shifted, 1, 2048, (floats(1), floats(1), 0)), smmux.LaunchError, "1024 threads"),
        (lambda: preload.analyze(shifted, 1, 32, (floats(1),)), smmux.CompileError, "3 arguments, 1 given"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
