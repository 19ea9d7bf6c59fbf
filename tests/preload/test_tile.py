"""Tiled forms: outputs equal to the kernel's, readable text that Numba takes, or a refusal with its reason."""

import numpy as np
import pytest

import smmux
from experiments import programs
from experiments.programs import one_pass, stencils
from smmux import cuda, preload
from smmux.advice.copies import copied
from tests.preload import paper_kernels as paper
from tests.preload.random_affine import check_tiled
from tests.preload.test_analyzer import edges

GPU = "GTX480-48K"


def run(kernel, grid, block, args, gpu=GPU, **options):
    result = kernel.simulate(grid, block, args, gpu=gpu, **options)
    return result, [value for value in args if isinstance(value, np.ndarray)]


def compare(kernel, grid, block, args, **options):
    """The tiled form, whose outputs are those of the kernel, without races."""
    tiled = preload.tile(kernel, grid, block, args, **options)
    _, wanted = run(kernel, grid, block, copied(args))
    result, found = run(tiled, grid, block, copied(args), check="races")
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not result.findings.errors
    return tiled


REFUSED = {
    "SRD border": "several definitions",
    "FWL": "a mask",
    "RDC6": "block to block",
    "HIS1": "block to block",
    "HIS2": "differs from thread to thread",
}


@pytest.mark.quick(8)
@pytest.mark.parametrize("case", paper.CASES, ids=lambda case: case.name)
def test_the_kernels_of_the_paper(case):
    args = case.make()
    if case.name in REFUSED:
        with pytest.raises(preload.TileError, match=REFUSED[case.name]) as error:
            preload.tile(case.kernel, case.grid, case.block, args)
        assert error.value.lineno > case.kernel.definition.node.lineno
    else:
        tiled = compare(case.kernel, case.grid, case.block, args)
        assert "_tile[" in tiled.source


@pytest.mark.quick(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernels(seed):
    check_tiled(seed)


TILED = [case.name for case in paper.CASES if case.name in programs.workloads() and case.name not in REFUSED]


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", TILED)
def test_outputs_are_those_of_numpy(name):
    row = programs.workload(name)
    problem = row.problem("tiny", "baseline")
    args = problem.arguments()
    tiled = preload.tile(row.kernels["baseline"], problem.grid, problem.block, args)
    tiled.simulate(problem.grid, problem.block, args, gpu=GPU)
    problem.check(args)


N = 96


@pytest.mark.parametrize("gpu", ["GTX285", "K20c"])
@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (one_pass.mma_columns, lambda: (*(np.arange(N * N, dtype=np.float32) for _ in range(3)), N)),
        (stencils.jacobi, lambda: (*(np.arange(N * N, dtype=np.float32) for _ in range(2)), N, 0.5, 0.3, 0.2)),
    ],
    ids=["MMA by columns", "JAC"],
)
def test_the_form_is_faster_where_the_paper_says(kernel, args, gpu):
    grid, block = (N // 16, N // 16), (16, 16)
    tiled = preload.tile(kernel, grid, block, args())
    slow, _ = run(kernel, grid, block, args(), gpu, schedule="list")
    fast, _ = run(tiled, grid, block, args(), gpu, schedule="list")
    assert fast.speedup(slow) > 1.1


@cuda.jit
def stencil(a, out):
    x, y = cuda.grid(2)
    if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
        total = a[y, x] - a[y, x]
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += a[y + dy, x + dx]
        out[y, x] = total


@cuda.jit
def volume(a, out):
    x, y, z = cuda.grid(3)
    if 0 < z < a.shape[0] - 1 and y < a.shape[1] and x < a.shape[2]:
        out[z, y, x] = a[z - 1, y, x] + a[z + 1, y, x] - 2 * a[z, y, x]


@cuda.jit
def shared_row(a, out):
    x, y = cuda.grid(2)
    out[y, x] = a[3, x] + a[y, 5]


@cuda.jit
def product(a, b, out):
    x, y = cuda.grid(2)
    total = 0
    for k in range(a.shape[1]):
        total += a[y, k] * b[k, x]
    out[y, x] = total


@cuda.jit
def indirect(a, order, out):
    i = cuda.grid(1)
    out[i] = a[order[i]] + a[i]


@cuda.jit
def moved(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + a[cuda.threadIdx.x]


@cuda.jit
def twice(a, out, n):
    t = cuda.threadIdx.x
    last = t
    for k in range(3):
        last += k - k + 2
    for i in range(4):
        out[4 * cuda.grid(1) + i] = a[last + i]


@cuda.jit
def past_the_axis(a, out):
    x, y = cuda.grid(2)
    out[y, x] = a[y, x + 4]


@cuda.jit
def flat_edge(a, out):
    i = cuda.grid(1)
    out[i] = a[max(i - 2, 0)] + a[i]


@cuda.jit
def before_the_axis(a, out):
    x, y = cuda.grid(2)
    out[y, x] = a[y + 1, x - 32]


@cuda.jit(device=True)
def at(a, i):
    return a[i]


@cuda.jit
def by_helper(a, out):
    i = cuda.grid(1)
    out[i] = at(a, i)


@cuda.jit
def no_reads(out):
    out[cuda.grid(1)] = 1


def numbers(*shape, dtype=np.float32):
    return (np.arange(np.prod(shape)) % 50).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8, np.int16])
def test_a_stencil_of_two_axes_with_loops_and_every_type(dtype):
    args = numbers(40, 33, dtype=dtype), np.zeros((40, 33), dtype)
    tiled = compare(stencil, (3, 3), (16, 16), args)
    assert "a_tile[ty + dy + 1, tx + dx + 1]" in tiled.source


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_indices_held_at_the_edge(dtype):
    args = numbers(32, 32, dtype=dtype), np.zeros((32, 32), dtype), 32
    tiled = compare(edges, (2, 2), (16, 16), args)
    assert "a_tile[up - top, tx + 1]" in tiled.source
    flat = compare(flat_edge, 2, 32, (numbers(64), numbers(64)))
    assert "a_tile[max(i - 2, 0) - first]" in flat.source


@pytest.mark.parametrize("block", [(8, 4, 2), (16, 1, 1), (4, 4, 4), (32, 2, 1)])
def test_three_axes_and_blocks_of_every_form(block):
    a = numbers(10, 9, 21)
    grid = tuple(-(-n // b) for n, b in zip((21, 9, 10), block, strict=True))
    compare(volume, grid, block, (a, np.zeros_like(a)))
    compare(stencil, (*grid[:2], 1), (*block[:2], 1), (a[0], np.zeros_like(a[0])))


def test_what_does_not_fit_stays_in_global_memory_and_the_text_says_so():
    a, b = numbers(32, 64), numbers(64, 32)
    args = a, b, np.zeros((32, 32), np.float32)
    one = preload.tile(product, (2, 2), (16, 16), args, shared_bytes=1500)
    assert one.source.count("cuda.shared.array") == 1
    assert "stays in global memory, because of a tile of 4096 bytes" in " ".join(one.source.split())
    with pytest.raises(preload.TileError, match="a tile of 4096 bytes .* for which 100 are free"):
        preload.tile(product, (2, 2), (16, 16), args, shared_bytes=100)


# -- loops that load a tile for some of their iterations


@pytest.mark.parametrize(("block", "inner", "room"), [((16, 16), 48, 4096), ((8, 4), 40, 999), ((5, 3), 7, 190)])
def test_a_product_of_matrices_loads_strips_of_its_sum(block, inner, room):
    grid = -(-48 // block[0]), -(-48 // block[1])
    rows, columns = grid[1] * block[1], grid[0] * block[0]
    a, b = numbers(rows, inner), numbers(inner, columns)
    out = np.zeros((rows, columns), np.float32)
    tiled = compare(product, grid, block, (a, b, out), shared_bytes=room)
    assert "for k_first in range(0, a.shape[1], " in tiled.source
    args = a, b, out
    tiled.simulate(grid, block, args, gpu=GPU)
    np.testing.assert_array_equal(out, a @ b)


@cuda.jit
def planes(a, out, n):
    x = cuda.grid(1)
    index = x
    for _ in range(1, a.size // n - 1):
        index += n
        if 0 < x < n - 1:
            out[index] = a[index - n] + a[index - 1] + a[index] + a[index + 1] + a[index + n]


def test_only_what_is_read_again_gets_a_tile():
    a = numbers(12 * 64)
    args = a, np.zeros_like(a), 64
    assert "shared.array((12, 34), a.dtype)" in compare(planes, 2, 32, args).source
    tiled = compare(planes, 2, 32, args, shared_bytes=1000)
    assert "shared.array(34, a.dtype)" in tiled.source
    assert "a[index - n] + a_tile[tx] + a_tile[tx + 1] + a_tile[tx + 2] + a[index + n]" in tiled.source


@cuda.jit
def sparse(a, out):
    i = cuda.grid(1)
    out[i] = a[17 * i] + a[17 * i + 16]


@cuda.jit
def guarded_product(a, b, out, n):
    x, y = cuda.grid(2)
    if x < n and y < n:
        total = 0
        for k in range(n):
            total += a[y * n + k] * b[k * n + x]
        out[y * n + x] = total


@cuda.jit
def left_early(a, b, out, n):
    x, y = cuda.grid(2)
    total = 0
    for k in range(n):
        if a[y * n + k] < 0:
            break
        total += a[y * n + k] * b[k * n + x]
    out[y * n + x] = total


@cuda.jit
def behind_a_return(a, b, out, n):
    x, y = cuda.grid(2)
    if x >= n:
        return
    total = 0
    for k in range(n):
        total += a[y * n + k] * b[k * n + x]
    out[y * n + x] = total


def test_a_tile_that_costs_more_loads_than_it_spares_is_refused():
    with pytest.raises(preload.TileError, match="a tile of 33 x 2 elements, 66 loads in the place of 64"):
        preload.tile(sparse, 2, 32, (numbers(17 * 64), numbers(64)))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (guarded_product, "which could load parts of it, stands in another statement"),
        (left_early, "may be left before its end"),
        (behind_a_return, "stands behind a return"),
    ],
)
def test_loops_in_which_threads_may_not_wait_are_refused(kernel, reason):
    args = numbers(64 * 64), numbers(64 * 64), numbers(64 * 64), 64
    with pytest.raises(preload.TileError, match=reason):
        preload.tile(kernel, (4, 4), (16, 16), args, shared_bytes=2500)


@pytest.mark.parametrize("stride", [64, 256])
def test_a_mask_of_all_bits_that_there_are(stride):
    args = numbers(1024), np.zeros(1024, np.float32), np.int32(stride)
    found = preload.analyze(one_pass.walsh, 4, 64, args)
    assert {access.kind for access in found.reads} == {"quasi-static" if stride == 256 else "non-precalculable"}
    if stride == 256:
        assert found.reads[1].index == "blockDim.x*bx + tx + stride"
        assert len(found.table.entries) == 4
        compare(one_pass.walsh, 4, 64, args)


def test_arrays_that_cannot_be_tiled_stay_beside_those_that_can():
    order = np.arange(64, dtype=np.int32)[::-1].copy()
    tiled = compare(indirect, 2, 32, (numbers(64), order, np.zeros(64, np.float32)))
    assert "order_tile" in tiled.source
    text = " ".join(tiled.source.split())
    assert "a stays in global memory, because of a value loaded from 'order'" in text


@pytest.mark.parametrize(
    ("kernel", "args", "reason"),
    [
        (moved, (numbers(64), numbers(64)), "move differently from block to block"),
        (twice, (numbers(64), numbers(256), 3), "read behind it"),
        (by_helper, (numbers(64), numbers(64)), "in a device function"),
        (no_reads, (numbers(64),), "reads no array"),
    ],
)
def test_refusals_say_why(kernel, args, reason):
    with pytest.raises(preload.TileError, match=reason):
        preload.tile(kernel, 2, 32, args)


def test_an_index_that_may_pass_its_axis_is_refused():
    with pytest.raises(preload.TileError, match="may pass the ends of its axis"):
        preload.tile(past_the_axis, (2, 2), (8, 8), (numbers(17, 16), numbers(16, 16)))


def test_an_index_before_the_last_of_its_row_is_refused():
    before = preload.analyze(before_the_axis, (2, 2), (8, 8), (numbers(17, 16), numbers(16, 16)))
    assert before.coverage == 1
    with pytest.raises(preload.TileError, match="may pass the ends of its axis"):
        preload.tile(before_the_axis, (2, 2), (8, 8), (numbers(17, 16), numbers(16, 16)))


def test_a_row_and_a_column():
    tiled = compare(shared_row, (2, 2), (8, 8), (numbers(16, 16), numbers(16, 16)))
    assert "shared.array((1, 8), a.dtype)" in tiled.source
    assert "a[y, 5]" in tiled.source


def test_numba_runs_the_text():
    pytest.importorskip("numba")
    from tests.numba import simulator

    a = numbers(40, 33)
    args = [a, np.zeros_like(a)]
    tiled = preload.tile(stencil, (3, 3), (16, 16), args)
    text = f"{tiled.source}\n\nkernel = {tiled.__name__}\n"
    found = simulator.shared().launch(text, "<tiled>", (3, 3), (16, 16), [array.copy() for array in args])
    wanted = sum(a[1 + dy : 39 + dy, 1 + dx : 32 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1))
    np.testing.assert_allclose(found[1][1:-1, 1:-1], wanted)


def test_negative_room_is_refused():
    with pytest.raises(smmux.ConfigError, match="must not be negative"):
        preload.tile(moved, 2, 32, (numbers(64), numbers(64)), shared_bytes=-1)


def test_advice_tries_tiles():
    args = (*(np.arange(64 * 64, dtype=np.float32) for _ in range(2)), 64, 0.5, 0.3, 0.2)
    advice = smmux.advise(stencils.jacobi, (4, 4), (16, 16), args, "GTX285", progress=False)
    (tiles,) = (scheme for scheme in advice.schemes if scheme.name == "tiles")
    assert tiles.software
    assert tiles.equal
    assert "b_tile" in tiles.source


def clamped_behind_a_division(a, out, p, r):
    n = 0
    for _ in range(p, p, 3):
        for j in range(r // 3, 0, -1):
            out[n] = a[min(p * (j + p), 8)]
            n += 1
    out[n] = a[cuda.blockIdx.x]


def test_what_a_clamp_hides_may_be_unknown():
    with pytest.raises(preload.TileError, match="no array of .* can be tiled"):
        preload.tile(cuda.jit(clamped_behind_a_division), 1, 32, (numbers(64), numbers(64), np.int64(3), np.int64(7)))
