"""VTB_pipe: right outputs, the text of the paper's Figure 5, annotations, loop peeling."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import smmux
from smmux import benchmarks, multiplex
from tests.multiplex.kernels import kernel
from tests.multiplex.test_vtb import BUILDS, MACHINES, body_of, check_outputs


@pytest.mark.long
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_outputs(name: str, build: str) -> None:
    benchmark = benchmarks.get(name)
    gpu = MACHINES[(BUILDS.index((name, build)) + 1) % 3]
    check_outputs(multiplex.vtb_pipe(benchmark.kernel("baseline", build)), benchmark.problem("tiny", build), gpu)


FIGURE_5 = """
if v_tb_id == 0: FFT4
if v_tb_id == 0: saveToSM
__syncthreads
if v_tb_id == 0: loadFromSM else: FFT4
__syncthreads
if v_tb_id == 1: saveToSM
__syncthreads
if v_tb_id == 1: loadFromSM else: FFT4
__syncthreads
if v_tb_id == 0: saveToSM
__syncthreads
if v_tb_id == 0: loadFromSM else: FFT4
"""
PAPER = {
    "butterflies": "FFT4",
    "twiddle_points": "",
    "twiddle_legs": "",
    "scatter": "saveToSM",
    "gather": "loadFromSM",
    "cuda.syncthreads": "__syncthreads",
}


def test_fft_is_figure_5() -> None:
    lines = body_of(multiplex.vtb_pipe(benchmarks.get("FFT").kernel(), block=64).source)
    names = [re.sub(r"\(.*", "", line.strip()) for line in lines]
    names = names[names.index("if v_tb_id == 0:") :]
    text = "\n".join(filter(None, (PAPER.get(name, name) for name in names)))
    text = text.replace(":\n", ": ").replace("\nelse", " else")
    assert text.startswith(FIGURE_5.strip())


ANNOTATED = """
def f(a, b, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x = a[i]
    with smmux.overlap():
        for k in range(4):
            x = x * b[k]
    y = x + float32(1)
    tile[t] = y
    cuda.syncthreads()
    out[i] = tile[63 - t] + x
"""


def test_annotations_say_what_overlaps() -> None:
    baseline = kernel(ANNOTATED, smmux=smmux)
    made = multiplex.vtb_pipe(baseline, block=64)
    assert "smmux" not in made.source
    assert "\n".join(body_of(made.source)[6:]) == textwrap.dedent("""\
        x = a[i]
        if v_tb_id == 0:
            for k in range(4):
                x = x * b[k]
            y = x + float32(1)
        if v_tb_id == 0:
            tile[t] = y
        cuda.syncthreads()
        if v_tb_id == 0:
            out[i] = tile[63 - t] + x
        else:
            for k in range(4):
                x = x * b[k]
            y = x + float32(1)
        cuda.syncthreads()
        if v_tb_id == 1:
            tile[t] = y
        cuda.syncthreads()
        if v_tb_id == 1:
            out[i] = tile[63 - t] + x""")
    a, b = np.arange(256, dtype=np.float32), np.array([1, 2, 3, 0.5], np.float32)
    out = [np.zeros(256, np.float32) for _ in range(4)]
    baseline.simulate(4, 64, (a, b, out[0]))
    made.simulate(2, 128, (a, b, out[1]))
    multiplex.vtb(baseline).simulate(2, 128, (a, b, out[2]))
    multiplex.hw(baseline).simulate(4, 64, (a, b, out[3]), management="dynamic")
    assert all((o == out[0]).all() for o in out)
    assert out[0].any()
    assert multiplex.regions(baseline)[0].first == 11


def test_annotations_cannot_hold_uses_of_shared_memory() -> None:
    text = ANNOTATED.replace("x = x * b[k]", "x = x * tile[k]")
    with pytest.raises(multiplex.MultiplexError, match="accesses a shared array") as caught:
        multiplex.vtb_pipe(kernel(text, smmux=smmux))
    assert caught.value.lineno == 8


def test_first_loads_of_a_region_are_peeled() -> None:
    text = "\n".join(body_of(multiplex.vtb_pipe(benchmarks.get("HG").kernel("baseline", "as_sdk"), block=64).source))
    assert text.count("peeled[i] = data[block_id * VALUES + i * THREADS + t]") == 2
    assert text.count("count(counters, peeled[i], own)") == text.count("for i in range(16, 128):") == 2


TREE = """
def f(a, out):
    sums = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    own = cuda.local.array(4, float32)
    with smmux.overlap():
        for k in range(4):
            own[k] = a[cuda.blockIdx.x, t + 32 * k] * 2
    for k in range(4):
        sums[t + 32 * k] = own[k]
    for level in range(3):
        cuda.syncthreads()
        for i in range(t, 64 >> level, 32):
            sums[i] += sums[i + (64 >> level)]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for i in range(16):
            total += sums[i]
        out[cuda.blockIdx.x] = total
"""


def test_an_annotated_loop_goes_on_beside_a_tree() -> None:
    made = multiplex.vtb_pipe(kernel(TREE, smmux=smmux))
    assert "for k in range(2 * level, min(2 * level + 2, 4)):" in made.source
    a, out = np.arange(6 * 128, dtype=np.float32).reshape(6, 128), np.zeros(6, np.float32)
    made.simulate(*made.geometry(6, 32), (a, out), check="races").raise_for_findings()
    assert (out == 2 * a.sum(1)).all()


def test_a_task_sees_its_own_values() -> None:
    """What virtual block 0 assigns for all threads in its turn must not reach the work of the other one."""
    text = """
    def f(a, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        x = a[cuda.grid(1)]
        step = 3
        for _ in range(step):
            x = x * 2
        tile[t] = x
        step = 32
        cuda.syncthreads()
        y = tile[t ^ 1]
        while step > 0:
            cuda.syncthreads()
            if t < step:
                tile[t] += tile[t + step]
            step //= 2
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[0] + y
    """
    made = multiplex.vtb_pipe(kernel(text))
    a, out = np.arange(384, dtype=np.float32), np.zeros(384, np.float32)
    made.simulate(*made.geometry(6, 64), (a, out), check="races").raise_for_findings()
    assert (out == 8 * (a.reshape(6, 64).sum(1).repeat(64) + a.reshape(-1, 2)[:, ::-1].ravel())).all()
