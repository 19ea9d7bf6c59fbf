"""VTB: right outputs on every machine, the text of the paper's Figure 3, launch geometry."""

from __future__ import annotations

import re

import numpy as np
import pytest

from smmux import benchmarks, multiplex
from smmux.errors import LaunchError
from tests.multiplex.kernels import body, kernel

MACHINES = ("GTX285", "GTX480-16K", "GTX480-48K")
BUILDS = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]


def check_outputs(made: multiplex.VirtualKernel, problem: benchmarks.Problem, gpu: str) -> None:
    """Run for the problem; right, and without races."""
    arguments = problem.arguments()
    made = made.fitted(problem.grid, problem.block)
    made.simulate(
        *made.geometry(problem.grid, problem.block), arguments, gpu=gpu, max_registers=32, check="races"
    ).raise_for_findings()
    problem.check(arguments)


@pytest.mark.long
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_outputs(name: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    gpu = MACHINES[BUILDS.index((name, build)) % 3]
    check_outputs(multiplex.vtb(benchmark.kernel("baseline", build)), benchmark.problem("tiny", build), gpu)


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("name", ["MV", "FFT", "MC", "SP", "TP", "RD"])
def test_outputs_of_more_than_two(name: str, n: int) -> None:
    benchmark = benchmarks.get(name)
    check_outputs(multiplex.vtb(benchmark.kernel(), n), benchmark.problem("tiny"), "GTX480-48K")


@pytest.mark.slow
@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_outputs_everywhere(name: str, build: str, n: int, gpu: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny", build)
    if n * problem.threads <= 512:
        check_outputs(multiplex.vtb(benchmark.kernel("baseline", build), n), problem, gpu)


def test_fft_is_figure_3() -> None:
    lines = body_of(multiplex.vtb(benchmarks.get("FFT").kernel(), block=64).source)
    start = next(i for i, line in enumerate(lines) if line.startswith("butterflies"))
    shape = [re.sub(r"\(.*", "", line.strip()) for line in lines[start : start + 11]]
    assert shape == [
        "butterflies", "twiddle_points", "if v_tb_id == 0:", "scatter", "cuda.syncthreads", "if v_tb_id == 0:",
        "gather", "cuda.syncthreads", "if v_tb_id == 1:", "scatter", "cuda.syncthreads",
    ]  # fmt: skip
    assert "v_tb_id = cuda.threadIdx.x // 64" in lines


def body_of(source: str) -> list[str]:
    """Statements of the last function of a file."""
    lines = source[source.rindex("\ndef ") :].splitlines()[3:]
    return [line[4:] for line in lines if line.strip()]


@pytest.mark.long
def test_shared_memory_is_that_of_one_block() -> None:
    for name in ("MV", "SP", "TP"):
        benchmark = benchmarks.get(name)
        arguments = benchmark.problem("tiny").arguments()
        baseline = benchmark.kernel().compile(arguments, gpu="GTX480-48K")
        for n in (2, 4):
            made = multiplex.vtb(benchmark.kernel(), n).compile(arguments, gpu="GTX480-48K")
            assert made.shared_bytes == baseline.shared_bytes


REVERSE = """
def reverse(a):
    tile = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    tile[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    a[cuda.grid(1)] = tile[N - 1 - t]
"""


@pytest.mark.quick(9)
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("blocks", [1, 4, 7])
@pytest.mark.parametrize("size", [32, 48, 64])
def test_grids_that_are_no_multiple(blocks: int, size: int, n: int) -> None:
    made = multiplex.vtb(kernel(REVERSE, N=size), n).fitted(blocks, size)
    a = np.arange(blocks * size + 64, dtype=np.float32)
    expected = a.copy()
    expected[: blocks * size] = a[: blocks * size].reshape(blocks, size)[:, ::-1].ravel()
    made.simulate(*made.geometry(blocks, size), (a,))
    assert (a == expected).all()


def test_geometry() -> None:
    made = multiplex.vtb(kernel(REVERSE), 3)
    assert made.geometry(6, 64) == ((2,), (192,))
    assert made.geometry((6, 2), (32, 2)) == ((2, 2), (96, 2))
    with pytest.raises(LaunchError, match="7 blocks along x is no multiple of 3"):
        made.geometry(7, 64)
    a = np.zeros(7 * 64, np.float32)
    with pytest.raises(LaunchError, match="does not hold 3 virtual blocks"):
        made.simulate(7, 64, (a,))
    fitted = made.fitted(7, 64)
    assert fitted.geometry(7, 64) == ((3,), (192,))
    with pytest.raises(LaunchError, match="made for grid"):
        fitted.geometry(6, 64)
    with pytest.raises(LaunchError, match="made to be launched"):
        fitted.simulate(2, 192, (a,))
    assert "v_turn_id = v_tb_id if block_id < 7 else 3" in fitted.source


@pytest.mark.parametrize(("n", "threads", "what"), [(3, 512, "n = 2 fits"), (2, 1024, "no two of them fit")])
def test_blocks_of_too_many_threads(n: int, threads: int, what: str) -> None:
    made = multiplex.vtb(kernel(REVERSE), n)
    with pytest.raises(LaunchError, match=f"{n} blocks of {threads} threads into one.*: {what}"):
        made.geometry(6, threads)


def test_text_of_the_kernel() -> None:
    assert (
        "\n".join(body_of(multiplex.vtb(kernel(REVERSE), block=64).source))
        == """\
v_tb_id = cuda.threadIdx.x // 64
v_t_id = cuda.threadIdx.x & 63
block_id = 2 * cuda.blockIdx.x + v_tb_id
tile = cuda.shared.array(N, float32)
t = v_t_id
staged = a[block_id * 64 + v_t_id]
if v_tb_id == 0:
    tile[t] = staged
cuda.syncthreads()
if v_tb_id == 0:
    a[block_id * 64 + v_t_id] = tile[N - 1 - t]
cuda.syncthreads()
if v_tb_id == 1:
    tile[t] = staged
cuda.syncthreads()
if v_tb_id == 1:
    a[block_id * 64 + v_t_id] = tile[N - 1 - t]"""
    )
    assert body(multiplex.hw(kernel(REVERSE)))  # the passes share no state


EXITS = {
    "of threads": "if i >= a.size - 30:\n        return",
    "of threads that store": "if i >= a.size - 30:\n        o[i] = -1\n        return",
    "by what a block loads": "if a[cuda.blockIdx.x] > 3:\n        return",
    "of all": "if a.size > 5000:\n        return",
}


@pytest.mark.parametrize("exit_", EXITS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_blocks_too_many_do_not_ask_whether_to_return(exit_: str, n: int) -> None:
    """They have no numbers to ask it of; what those return that the grid has is theirs."""
    made = kernel(f'''
def k(a, o):
    """Text."""
    s = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    {EXITS[exit_]}
    s[t] = a[i]
    cuda.syncthreads()
    o[i] = s[t] + a[i]
''')
    a = np.arange(7 * 64, dtype=np.float32)
    expected, found = np.zeros_like(a), np.zeros_like(a)
    own = made.simulate(7, 64, (a, expected), check="races")
    fitted = multiplex.vtb(made, n).fitted(7, 64)
    result = fitted.simulate(*fitted.geometry(7, 64), (a, found), check="races")
    np.testing.assert_array_equal(found, expected)
    kinds = {finding.kind for finding in result.findings or ()}
    assert kinds == {finding.kind for finding in own.findings or ()} | ({"early-exit"} if "load" in exit_ else set())
    assert '"""Text."""' not in fitted.source


@pytest.mark.parametrize("rows", [7, 5])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_blocks_that_take_no_part_do_not_ask_where_a_loop_begins(rows: int, n: int) -> None:
    """Behind the last row there is no element that says it."""
    made = kernel("""
def k(a, starts, o, rows):
    s = cuda.shared.array(64, float32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    x = float32(0)
    if b < rows:
        row = b
        for i in range(starts[row], starts[row + 1]):
            s[t] = a[i * 64 + t]
            cuda.syncthreads()
            x += s[63 - t]
            cuda.syncthreads()
    o[b * 64 + t] = x
""")
    starts = np.array([0, 2, 2, 5, 6, 9, 12, 13][: rows + 1], np.int32)
    a = np.arange(13 * 64, dtype=np.float32)
    expected, found = np.zeros(7 * 64, np.float32), np.zeros(7 * 64, np.float32)
    made.simulate(7, 64, (a, starts, expected, rows), check="races").raise_for_findings()
    fitted = multiplex.vtb(made, n).fitted(7, 64)
    launch = fitted.geometry(7, 64)
    fitted.simulate(*launch, (a, starts, found, rows), check="races").raise_for_findings()
    np.testing.assert_array_equal(found, expected)
