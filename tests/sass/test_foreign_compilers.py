"""Kernels as Numba and Triton compile them."""

from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import smmux
from tests.sass.conftest import needed

numba = pytest.importorskip("numba")


def wave(n, a, x, y):  # type: ignore[no-untyped-def]
    i = numba.cuda.grid(1)
    if i < n:
        y[i] = a * math.sin(x[i]) + y[i]


SIGNATURE = "void(int32, float32, float32[:], float32[:])"


TWICE = """
import math, numba.cuda, smmux
def sines(x):
    x[0] = math.sin(x[0])
def cosines(x):
    x[0] = math.cos(x[0])
print(*(smmux.from_numba(f, "void(float64[:])").name for f in (sines, cosines)))
"""


def test_numba_finds_its_library_again_and_again_without_a_toolkit(tmp_path: Path) -> None:
    """In a process of its own, since Numba remembers where its library lay."""
    needed("ptxas")
    (tmp_path / "twice.py").write_text(TWICE)
    alone = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    run = subprocess.run([sys.executable, tmp_path / "twice.py"], env=alone, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.split()) == 2


def test_numba_keeps_the_lines_of_python() -> None:
    needed("ptxas", "nvdisasm")
    pytest.importorskip("numba.cuda")
    kernel = smmux.from_numba(wave, SIGNATURE, "sm_80")
    assert (kernel.name, kernel.arch) == ("wave", "sm_80")
    assert kernel.signature.startswith("wave(int32")
    sizes = [parameter.size for parameter in kernel.parameters]
    assert sizes == [4, 4, *[8] * 14]  # an array of one dimension is seven words of 64 bits
    first = inspect.getsourcelines(wave)[1]
    places = {(Path(one.file).name, one.line) for one in kernel.instructions if one.file}
    assert {line for _, line in places} <= set(range(first, first + 5))
    assert {name for name, _ in places} == {Path(__file__).name}
    assert (Path(__file__).name, first + 3) in places


def viewed(x, y):  # type: ignore[no-untyped-def]
    words = numba.cuda.shared.array(64, numba.uint8).view(numba.uint32)
    i = numba.cuda.threadIdx.x & 15
    words[i] = x[i]
    y[i] = words[i]


def test_a_view_does_not_make_code_for_a_debugger() -> None:
    """Numba's own function behind it asks for that; code that is not optimized moves registers to themselves."""
    needed("ptxas", "nvdisasm")
    kernel = smmux.from_numba(viewed, "void(uint32[:], uint32[:])", "sm_90")
    assert not re.search(r"\bMOV (R\d+), \1\b", kernel.listing())


def nearest(x, y):  # type: ignore[no-untyped-def]
    i = numba.cuda.grid(1)
    y[i] = min(max(x[i], x[i + 1]), x[i + 2], 5)


def test_the_least_and_the_largest_of_several() -> None:
    needed("ptxas", "nvdisasm")
    x = np.random.default_rng(0).integers(0, 9, 66, np.int64)
    y = np.zeros(64, np.int64)
    smmux.from_numba(nearest, "void(int64[:], int64[:])", "sm_90").simulate(2, 32, (x, y))
    np.testing.assert_array_equal(y, np.minimum(np.minimum(np.maximum(x[:64], x[1:65]), x[2:]), 5))


def test_threads_compile_at_the_same_time() -> None:
    needed("ptxas", "nvdisasm")
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(smmux.from_numba, nearest, f"void({t}[:], {t}[:])") for t in ("int32", "float32") * 4]
    assert [job.result().registers > 0 for job in jobs] == [True] * 8


def test_numba_refuses_by_file_and_line() -> None:
    needed("ptxas")

    def wrong(x):  # type: ignore[no-untyped-def]
        x.nothing()

    with pytest.raises(smmux.CompileError, match="nothing") as caught:
        smmux.from_numba(wrong, "void(float32[:])")
    assert (caught.value.filename, caught.value.lineno) == (__file__, inspect.getsourcelines(wrong)[1])
    with pytest.raises(smmux.ConfigError, match="is no architecture"):
        smmux.from_numba(wave, SIGNATURE, "90")


def test_a_grid_of_numba_that_synchronises_is_refused_by_file_and_line() -> None:
    needed("ptxas")

    def meeting(x):  # type: ignore[no-untyped-def]
        numba.cuda.cg.this_grid().sync()
        x[0] = 1

    with pytest.raises(smmux.CompileError, match=r"nothing has cudaCG\w+ of the device runtime.*CUDA C\+\+") as caught:
        smmux.from_numba(meeting, "void(float32[:])")
    assert (caught.value.filename, caught.value.lineno) == (__file__, inspect.getsourcelines(meeting)[1])


def test_a_function_that_no_text_has_is_named() -> None:
    needed("ptxas")
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    text = f"{head}.extern .func away();\n.visible .entry k() {{ call away, (); ret; }}"
    with pytest.raises(smmux.CompileError, match=r"^<text>: nothing has away$"):
        smmux.load(text)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(smmux.ConfigError, match="pip install triton"):
        smmux.from_triton(wave, {})
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    with pytest.raises(smmux.ConfigError, match="pip install numba"):
        smmux.from_numba(wave, SIGNATURE)


def scaled(out, by, times, turned):  # type: ignore[no-untyped-def]
    out[0] = by * times - turned.imag


TYPES = "void(float64[::1], float32, int32, complex64)"


def test_numbers_get_the_types_of_numbas_signature() -> None:
    needed("ptxas", "nvdisasm")
    kernel, out = smmux.from_numba(scaled, TYPES), np.zeros(1)
    for by, turned in ((2, 1 + 0.5j), (2.0, np.complex64(1 + 0.5j))):
        kernel.simulate(1, 1, (out, by, 3, turned))
        assert out[0] == 5.5


@pytest.mark.parametrize(
    "place, value, message",
    [
        (
            0,
            np.zeros(1, np.float32),
            "out is a 1D array of float64 in order C in the kernel, not a 1D array of float32",
        ),
        (0, np.zeros((1, 1)), "out is a 1D array of float64 in order C in the kernel, not a 2D array of float64"),
        (0, np.zeros(8)[::2], "out is a 1D array of float64 in order C"),
        (0, 5, "out is a 1D array of float64 in order C in the kernel, not 5"),
        (1, np.zeros(1), "by is float32 in the kernel, not an array"),
        (1, np.float64(2), "by has 4 bytes, not 8"),
        (2, 3.5, "times is a whole number of 32 bits in the kernel, not 3.5"),
    ],
)
def test_values_of_another_type_than_numbas_signature_says_are_refused(place: int, value: object, message: str) -> None:
    needed("ptxas", "nvdisasm")
    given = [np.zeros(1), 2.0, 3, 1j]
    given[place] = value
    with pytest.raises(smmux.LaunchError, match=re.escape(message)):
        smmux.from_numba(scaled, TYPES).simulate(1, 1, given)


def summed(pair, out):  # type: ignore[no-untyped-def]
    out[0] = pair[0] + pair[1][0]


def test_tuples_have_their_types_too() -> None:
    needed("ptxas", "nvdisasm")
    kernel, out = smmux.from_numba(summed, "void(Tuple((float32, int32[:])), float64[:])"), np.zeros(1)
    kernel.simulate(1, 1, ((2, np.full(1, 3, np.int32)), out))
    assert out[0] == 5
    with pytest.raises(
        smmux.LaunchError, match=r"pair\[1\] is a 1D array of int32 in the kernel, not a 1D array of float64"
    ):
        kernel.simulate(1, 1, ((2, np.zeros(1)), out))
    with pytest.raises(smmux.LaunchError, match="pair is a tuple of 2 in the kernel"):
        kernel.simulate(1, 1, (2, out))
