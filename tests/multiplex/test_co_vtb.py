"""CO-VTB as a pass: three benchmarks on three machines and under Numba, random kernels, and refusals."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import LaunchError, benchmarks, cuda, multiplex
from tests.multiplex.divided_kernels import generate
from tests.multiplex.kernels import body, device, kernel
from tests.multiplex.test_division import CASES, HEAD, REFUSED, expected, same
from tests.numba import simulator, sources

NAMES = ("MC", "STO", "HG")  # the paper's three
MACHINES = ("GTX285", "GTX480-16K", "GTX480-48K")


def made(name: str, **options: Any) -> multiplex.VirtualKernel:
    benchmark = benchmarks.get(name)
    return multiplex.co_vtb(benchmark.kernel(), **{**benchmark.divided, **options})


def raw(args: tuple[Any, ...]) -> list[np.ndarray]:
    """Arrays among arguments, as integers."""
    return [a.view(f"u{a.dtype.itemsize}") for a in args if isinstance(a, np.ndarray)]


@pytest.mark.long
@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("name", NAMES)
def test_the_baselines_bits_in_the_papers_bytes(name: str, gpu: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    wanted, found = problem.arguments(), problem.arguments()
    benchmark.kernel().simulate(problem.grid, problem.block, wanted, gpu=gpu)
    fitted = made(name).fitted(problem.grid, problem.block)
    grid, block = fitted.geometry(problem.grid, problem.block)
    result = fitted.simulate(grid, block, found, gpu=gpu, check="races")
    problem.check(found)
    assert same(raw(found), raw(wanted))
    assert int(np.prod(block)) == 2 * problem.threads
    assert result.program.shared_bytes == 15360  # two private parts and a public one: claim P26
    assert result.findings is not None
    assert not result.findings.of("race", "uninitialised")


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_source_runs_under_numba(name: str) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    wanted = problem.arguments()
    benchmark.kernel().simulate(problem.grid, problem.block, wanted)
    fitted = made(name).fitted(problem.grid, problem.block)
    plain = [np.array(a) if isinstance(a, np.ndarray) else a for a in problem.arguments()]  # no textures there
    found = simulator.shared().launch(
        f"{fitted.source}\nkernel = {fitted.__name__}\n",
        f"<co_vtb {name}>",
        *fitted.geometry(problem.grid, problem.block),
        plain,
    )
    mine = [a for a, b in zip(found, problem.arguments(), strict=True) if isinstance(b, np.ndarray)]
    assert same([a.view(f"u{a.dtype.itemsize}") for a in mine], raw(wanted))


def test_marching_cubes_has_the_shape_of_figure_6() -> None:
    text = body(made("MC")).replace(" ", "").replace("\n", "")
    marks = [
        "vertices=cuda.shared.array((2,16,THREADS,3),float32)",  # vertlist[2][16][NTHREADS]
        "vertices_public=cuda.shared.array((8,THREADS,3),float32)",  # vertlist2[8][NTHREADS]
        "waiting=cuda.local.array((8,3),float32)",  # reg[8]
        "vertices[v_tb_id,edge,t,axis]=",
        "waiting[edge-4,axis]=",
        "ifv_tb_id==0:forpublic_rowinrange(8):",
        "vertices_public[public_row,t,axis]=waiting[public_row,axis]",
        "vertices[v_tb_id,row,t,axis]ifrow<16elsevertices_public[row-16,t,axis]",
        "cuda.syncthreads()ifv_tb_id==1:",
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "smm" not in text


MIRROR = """
def f(a, out):
    tile = cuda.shared.array((8, 32), int32)
    t = cuda.threadIdx.x
    for r in range(8):
        tile[r, t] = a[r * 32 + t]
    cuda.syncthreads()
    for r in range(8):
        tile[r, 31 - t] += r
    cuda.syncthreads()
    for r in range(8):
        out[8 * cuda.blockIdx.x + r, t] = tile[r, (t + 1) % 32]
"""


def test_a_missing_barrier_is_found() -> None:
    virtual = multiplex.co_vtb(kernel(MIRROR), "tile", 6)
    grid, block = virtual.geometry(2, 32)
    lines = virtual.source.splitlines()
    barriers = [i for i, line in enumerate(lines) if line.strip() == "cuda.syncthreads()"]
    assert len(barriers) == 6  # within the private part's stream one, in each turn two, between the turns one
    for missing in (None, *barriers):
        text = "\n".join(line for i, line in enumerate(lines) if i != missing)
        broken = sources.load(text, "<a barrier less>", "smmux").f_co_vtb
        arguments = np.arange(256, dtype=np.int32), np.zeros((16, 32), np.int32)
        result = broken.simulate(grid, block, arguments, check="races-strict")
        assert bool(result.races) == (missing is not None), f"line {missing}"


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_kernels(first: int) -> None:
    """Two or three virtual blocks, sizes known or not: here without races, and under Numba's simulator."""
    refused = 0
    for seed in range(first, first + 10):
        case, filename = generate(Random(seed)), f"<divided kernel {seed % 4}>"
        plain, n = sources.load(case.text, filename, "smmux").kernel, 2 + (seed % 3 == 0)
        try:
            virtual = multiplex.co_vtb(plain, **case.declaration, n=n)
        except multiplex.MultiplexError as error:
            assert REFUSED in str(error.msg)
            refused += 1
            continue
        if seed % 2 or case.grid[0] % n:
            virtual = virtual.fitted(case.grid, case.block)
        grid, block = virtual.geometry(case.grid, case.block)
        assert int(np.prod(block)) == n * int(np.prod(case.block))
        wanted, found = expected(case, filename), case.arguments()
        gpu = "GTX480-16K" if len(grid) == 3 or seed % 2 else "GTX285"
        result = virtual.simulate(grid, block, found, gpu=gpu, check="races-strict")
        assert same(found, wanted), f"seed {seed}\n{case.text}\n{virtual.source}"
        assert result.findings is not None
        assert not result.findings.of("race", "uninitialised"), f"seed {seed}: {result.findings}\n{virtual.source}"
        text = f"{virtual.source}\nkernel = {virtual.__name__}\n"
        theirs = simulator.shared().launch(text, f"<virtual kernel {seed % 4}>", grid, block, case.arguments())
        assert same(theirs, wanted), f"seed {seed}\n{case.text}\n{virtual.source}"
    assert refused <= 2


@pytest.mark.quick(11)
@pytest.mark.parametrize("private", [1, 6])
@pytest.mark.parametrize("text", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_what_must_be_kept(text: str, private: int) -> None:
    text = re.sub(r"out\[(\w+), ", r"out[8 * cuda.blockIdx.x + \1, ", HEAD + text).replace(
        "a[t]", "a[t] + cuda.blockIdx.x"
    )
    plain = kernel(text)
    a, wanted, found = np.arange(256, dtype=np.int32), np.zeros((32, 32), np.int32), np.zeros((32, 32), np.int32)
    plain.simulate(4, 32, (a, wanted), gpu="GTX480-16K")
    virtual = multiplex.co_vtb(plain, "tile", private)
    virtual.simulate(*virtual.geometry(4, 32), (a, found), gpu="GTX480-16K", check="races").raise_for_findings()
    assert (found == wanted).all()


def test_atomics_find_the_part_of_their_virtual_block() -> None:
    plain = kernel("""
    def f(a, out):
        bins = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        bins[t] = 0
        bins[t + 32] = 0
        cuda.syncthreads()
        for i in range(8):
            cuda.atomic.add(bins, a[cuda.blockIdx.x, i * 32 + t] & 63, 1)
        cuda.syncthreads()
        out[cuda.blockIdx.x, t] = bins[t]
        out[cuda.blockIdx.x, t + 32] = bins[t + 32]
    """)
    virtual = multiplex.co_vtb(plain, "bins", 48, n=4)
    assert "cuda.atomic.add(bins, (v_tb_id, place), 1)" in virtual.source
    a, out = np.random.default_rng(0).integers(0, 64, (4, 256)).astype(np.int32), np.zeros((4, 64), np.int32)
    result = virtual.simulate(*virtual.geometry(4, 32), (a, out), check="races")
    result.raise_for_findings()
    assert result.program.shared_bytes == 4 * (4 * 48 + 16)
    assert (out == [np.bincount(row, minlength=64) for row in a]).all()


ALIASES = """
def f(a, out):
    tile = new((8, 32), int32)
    t = thread.x
    for r in range(8):
        tile[r, t] = 0
    sync()
    for i in range(8):
        add(tile, (a[cuda.blockIdx.x, i * 32 + t] & 7, t), i)
    sync()
    for r in range(8):
        out[cuda.blockIdx.x, r * 32 + t] = tile[r, 31 - t]
"""


def test_other_names_of_the_language() -> None:
    language = {"new": cuda.shared.array, "thread": cuda.threadIdx, "sync": cuda.syncthreads, "add": cuda.atomic.add}
    plain = kernel(ALIASES, **language)
    a = np.random.default_rng(0).integers(0, 64, (4, 256)).astype(np.int32)
    wanted, found = np.zeros((4, 256), np.int32), np.zeros((4, 256), np.int32)
    plain.simulate(4, 32, (a, wanted))
    virtual = multiplex.co_vtb(plain, "tile", 6, threads=32)
    grid, block = virtual.geometry(4, 32)
    virtual.simulate(grid, block, (a, found), check="races").raise_for_findings()
    assert (found == wanted).all()
    text = f"{virtual.source}\nkernel = {virtual.__name__}\n"
    theirs = simulator.shared().launch(text, "<aliases>", grid, block, [a, np.zeros((4, 256), np.int32)])
    assert (theirs[1] == wanted).all()


def test_threads_behind_an_offset_have_other_bounds() -> None:
    plain = kernel("""
    def f(a, out):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        u = 16 + cuda.threadIdx.x
        tile[t] = a[t]
        tile[t + 32] = a[t + 32]
        cuda.syncthreads()
        x = tile[u]
        cuda.syncthreads()
        tile[u] = x + a[t]
        cuda.syncthreads()
        out[cuda.blockIdx.x, t] = tile[t] + tile[t + 32]
    """)
    a, wanted, found = np.arange(64, dtype=np.int32), np.zeros((4, 32), np.int32), np.zeros((4, 32), np.int32)
    plain.simulate(4, 32, (a, wanted))
    virtual = multiplex.co_vtb(plain, "tile", 32, threads=32)
    virtual.simulate(*virtual.geometry(4, 32), (a, found), check="races").raise_for_findings()
    assert (found == wanted).all()


def test_launches_that_do_not_fit() -> None:
    problem = benchmarks.get("MC").problem("tiny")
    virtual = made("MC")
    assert problem.grid[0] % 2 == 1
    with pytest.raises(LaunchError, match="no multiple of 2"):
        virtual.geometry(problem.grid, problem.block)
    with pytest.raises(LaunchError, match="does not hold 2 virtual blocks"):
        virtual.simulate(3, 63, problem.arguments())


DIVERGING = """
def f(a, out):
    tile = cuda.shared.array((8, 32), float32)
    t = cuda.threadIdx.x
    for r in range(8):
        tile[r, t] = a[r]
    if a[t] > 0:
        cuda.syncthreads()
    out[t] = tile[3, t]
"""
UNEVEN = """
def f(a, out):
    tile = cuda.shared.array((8, 32), float32)
    t = cuda.threadIdx.x
    for i in range(0, 9, cuda.blockIdx.x + 1):
        for r in range(8):
            tile[r, t] = a[r]
        cuda.syncthreads()
        out[t] = tile[3, 31 - t]
        cuda.syncthreads()
"""


@pytest.mark.parametrize(
    ("plain", "options", "why"),
    [
        (lambda: benchmarks.get("FFT").kernel(), {"array": "planes", "private": 1088}, "one region is supported"),
        (lambda: benchmarks.get("MC").kernel(), {"array": "vertices", "private": 0}, "private has to be 1 to 23"),
        (lambda: benchmarks.get("MC").kernel(), {"array": "vertices", "private": 16, "n": 1}, "is 2 to 1024"),
        (lambda: device("def d(x):\n    return x"), {"array": "x", "private": 1}, "device function"),
        (lambda: kernel(DIVERGING), {"array": "tile", "private": 4}, "can differ between threads"),
        (lambda: kernel(UNEVEN), {"array": "tile", "private": 4}, "virtual blocks"),
    ],
    ids=["regions", "none-private", "n", "device", "divergent", "trips"],
)
def test_refused(plain: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(multiplex.MultiplexError, match=why) as caught:
        multiplex.co_vtb(plain(), **options)
    assert caught.value.filename
    assert caught.value.lineno
