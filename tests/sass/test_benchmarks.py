"""The ten benchmarks of Table 1, compiled by Numba and run as SASS: the outputs are those of the Python kernels."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import benchmarks
from smmux.language.textures import Texture
from tests.sass.conftest import needed

numba = pytest.importorskip("numba")


def for_numba(name: str) -> types.ModuleType:
    """The module of a benchmark with its kernels in Numba's hands."""
    path = Path(benchmarks.__file__).parent / f"{name.lower()}.py"
    text = re.sub(r"^from smmux import", "from numba import", path.read_text(), flags=re.MULTILINE)
    module = types.ModuleType(f"numba_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def plain(value: Any) -> Any:
    """Tables are arrays for Numba."""
    return np.array(value) if isinstance(value, Texture) else value


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
@pytest.mark.parametrize("name, build", [(n, build) for n in benchmarks.names() for build in benchmarks.get(n).builds])
def test_outputs_are_those_of_the_python_kernel(name: str, build: str, arch: str) -> None:
    needed("ptxas", "nvdisasm")
    compare(name, build, arch)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["FFT", "MC"])
def test_two_of_them(name: str) -> None:
    needed("ptxas", "nvdisasm")
    compare(name, benchmarks.get(name).builds[0], "sm_90")


def compare(name: str, build: str, arch: str) -> None:
    """Run both, and hold both to the benchmark's own reference."""
    problem = benchmarks.get(name).problem("tiny", build)
    function = for_numba(name).BENCHMARK.kernels[build].py_func
    args = tuple(map(plain, problem.arguments()))
    signature = tuple(numba.typeof(arg) for arg in args)
    kernel = smmux.from_numba(function, signature, arch)
    result = kernel.simulate(problem.grid, problem.block, args)
    problem.check(args)
    assert result.kernel == function.__name__
    expected = problem.arguments()
    benchmarks.get(name).kernels[build].simulate(problem.grid, problem.block, expected)
    for mine, its in zip(args, expected, strict=True):
        if isinstance(mine, np.ndarray) and not isinstance(its, Texture):
            np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-4)
