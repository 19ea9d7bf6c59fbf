"""Objects that have to be linked: `-rdc=true`, and files made with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux.compiler.sass import tools
from smmux.errors import CompileError
from tests.sass.conftest import needed

SOURCE = """
__constant__ int offsets[4] = {1, 2, 3, 4};
__device__ int scale = 10;
struct Shape {
    __device__ virtual int area(int side) const { return side; }
};
struct Square : Shape {
    __device__ int area(int side) const override { return side * side; }
};
extern "C" __global__ void areas(int *out) {
    const Shape line;
    const Square square;
    const Shape *shape = threadIdx.x & 1 ? &square : &line;
    out[threadIdx.x] = scale * shape->area(threadIdx.x) + offsets[threadIdx.x & 3];
}
"""


def right(module: smmux.Module) -> bool:
    """Whether the kernel writes what it should."""
    out, lane = np.zeros(32, np.int32), np.arange(32)
    module["areas"].simulate(1, 32, [out])
    return bool((out == 10 * np.where(lane & 1, lane * lane, lane) + lane % 4 + 1).all())


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_constants_variables_and_virtual_functions(arch: str) -> None:
    needed("nvcc", "nvdisasm", "nvlink")
    module = smmux.load(SOURCE, arch=arch, options=["-rdc=true"])
    assert right(module)
    assert "<text>:14" in module["areas"].listing()


def test_variables_that_are_larger_than_the_file() -> None:
    needed("nvcc", "nvdisasm", "nvlink")
    source = """
__device__ int counts[1 << 16];
extern "C" __global__ void place(int *out) {
    __shared__ int line[8192];
    line[threadIdx.x * 200] = counts[threadIdx.x * 2000] + threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = line[(threadIdx.x ^ 1) * 200];
}"""
    out = np.zeros(32, np.int32)
    smmux.load(source, options=["-rdc=true"])["place"].simulate(1, 32, [out])
    assert (out == np.arange(32) ^ 1).all()


@pytest.mark.parametrize("form", ["-cubin", "-dc"])
def test_files_that_are_not_linked_yet(form: str, tmp_path: Path) -> None:
    needed("nvcc", "nvdisasm", "nvlink", "cuobjdump")
    made = tmp_path / "areas.o"
    (tmp_path / "areas.cu").write_text(SOURCE)
    command = [tools.find_tool("nvcc"), "-arch=sm_90", "-rdc=true", form, tmp_path / "areas.cu", "-o", made]
    subprocess.run(command, check=True)
    assert right(smmux.load(made))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('extern __device__ int away(int); extern "C" __global__ void k(int *o) { *o = away(1); }', "_Z4awayi"),
        (
            '__global__ void child() {} extern "C" __global__ void k() { child<<<1, 32>>>(); }',
            "kernels that launch kernels are not simulated",
        ),
    ],
)
def test_what_is_not_there_has_a_name(source: str, message: str) -> None:
    needed("nvcc", "nvdisasm", "nvlink")
    with pytest.raises(CompileError, match=message):
        smmux.load(source, options=["-rdc=true"])


def test_a_library_of_ptx_that_is_not_linked_is_assembled_for_later_cards(tmp_path: Path) -> None:
    """As for an executable, whose PTX has all that it needs."""
    needed("nvcc", "nvdisasm", "nvlink", "cuobjdump", "ptxas")
    (tmp_path / "first.cu").write_text("""
        extern __device__ int times(int); extern __device__ int more;
        extern "C" __global__ void k(int *o) { o[threadIdx.x] = times(threadIdx.x) + more; }""")
    (tmp_path / "second.cu").write_text("""#include <cstdio>
        __constant__ int by = 3; __device__ int more = 5;
        __device__ int times(int x) { return by * x; }
        extern "C" __global__ void told(int *o) { printf("%d\\n", *o); }""")
    nvcc = [str(tools.find_tool("nvcc")), "-rdc=true", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"]
    for command in (["-c", "first.cu"], ["-c", "second.cu"], ["-lib", "first.o", "second.o", "-o", "both.a"]):
        subprocess.run([*nvcc, *command], check=True, cwd=tmp_path)
    for arch in ("sm_80", "sm_90"):
        module, out = smmux.load(tmp_path / "both.a", arch), np.zeros(32, np.int32)
        module["k"].simulate(1, 32, [out])
        assert (out == 3 * np.arange(32) + 5).all()
        assert module["told"].simulate(1, 1, [out]).printed == "5\n"
    with pytest.raises(CompileError, match="nothing has _Z5timesi, more"):
        smmux.load(tmp_path / "first.o", "sm_90")
