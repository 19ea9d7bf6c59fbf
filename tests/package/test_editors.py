"""What a type checker, and with it an editor, knows of kernels: also of those without annotations."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
from typing import reveal_type
import math
import numpy as np
import smmux
from smmux import cuda, f4, float32

@cuda.jit
def plain(a, n):
    i = cuda.grid(1)
    x, y = cuda.grid(2)
    tile = cuda.shared.array((4, 32), float32)
    tile[0, cuda.threadIdx.x] = math.sqrt(a[i]) + cuda.laneid * 2 + cuda.warpsize
    cuda.syncthreads()
    a[i] = n + inner(tile[0, 1])

@cuda.jit("float32(float32)", device=True)
def inner(x):
    return x

a = np.zeros(4, np.float32)
reveal_type(plain)  # smmux.kernel.Kernel
reveal_type(inner)  # smmux.kernel.Kernel
reveal_type(plain.simulate(1, 32, (a, 1), gpu="GTX285", check="races", profile=True))  # smmux.results.result.Result
reveal_type(plain.simulate(1, 32, (a, 1)).cycles)  # int
reveal_type(plain.simulate(1, 32, (a, 1))["shared_conflicts"])  # int
reveal_type(plain[1, 32])  # smmux.kernels.bound_kernel.BoundKernel
reveal_type(cuda.to_device(a))  # smmux.running.host.DeviceNDArray
reveal_type(cuda.event().elapsed_time(cuda.event()))  # float
reveal_type(smmux.advise(plain, 1, 32, (a, 1)))  # smmux.advice.answer.Advice
reveal_type(smmux.gpus.get("GTX285").smem_bytes)  # int
plain.simulate(1, 32, (a, 1), gpuu=1)  # error: Unexpected keyword argument "gpuu"
cuda.syncthread()  # error: Module has no attribute "syncthread"
smmux.nothing  # error: Module has no attribute "nothing"
"""


@pytest.mark.slow
def test_types_of_unannotated_kernels(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--check-untyped-defs", "--no-error-summary", "--cache-dir", str(tmp_path), "--config-file="]
    monkeypatch.chdir(ROOT)
    said = api.run([*options, str(program)])[0]
    found = {}
    for line in said.splitlines():
        if match := re.match(r'.*?:(\d+): (?:note: Revealed type is "(.*)"|(error: .*))', line):
            found[int(match[1])] = match[2] or match[3]
    expected = {number: line.split("  # ")[1] for number, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line}
    assert {number: found.get(number, "")[: len(text)] for number, text in expected.items()} == expected
    assert set(found) == set(expected)


def test_editable_installs_are_plain_paths():
    """Setuptools makes one where the project says where packages are; else it makes code that editors cannot read."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        options = tomllib.load(file)["tool"]["setuptools"]
    assert options["package-dir"] == {"": "."}
    assert "py.typed" in options["package-data"]["smmux"]
    assert sys.version_info >= (3, 11)
