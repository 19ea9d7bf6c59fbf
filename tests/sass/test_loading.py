"""`smmux.load` and what stands around it: sources of all kinds, errors, the cache on disk, the shell."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux.__main__ import main
from smmux.base.cache_folder import cache_folder
from smmux.compiler.sass import code_cache as cache, tools
from smmux.compiler.sass.lowering.kernel import lower_kernel
from smmux.modules.module import Module
from tests.sass import conftest
from tests.sass.conftest import KERNELS, needed

SAXPY = KERNELS / "saxpy.cu"
TEXT = """extern "C" __global__ void fill(float *x, float value)
{
    x[threadIdx.x] = value;
}
"""
PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry nothing(.param .u64 place) .reqntid 64, 2, 1
{
    .reg .b64 %p;
    ld.param.u64 %p, [place];
    st.global.u32 [%p], 7;
    ret;
}
"""


def nvcc(*words: str) -> None:
    subprocess.run([str(tools.find_tool("nvcc")), *words], check=True, capture_output=True)


def test_a_file_of_cuda() -> None:
    needed("nvcc")
    module = smmux.load(SAXPY)
    assert [kernel.name for kernel in module] == ["saxpy"]
    assert module.arch == module["saxpy"].arch == "sm_90"
    assert "saxpy" in repr(module)
    assert "parameters: 4 B, 4 B, 8 B, 8 B" in repr(module)
    assert module._repr_html_().count("<tr>") == 2
    assert smmux.load(str(SAXPY), "sm_80")["saxpy"].arch == "sm_80"


def test_a_listing_has_the_lines_of_the_source() -> None:
    needed("nvcc", "nvdisasm")
    kernel = smmux.load(SAXPY)["saxpy"]
    lines = kernel.listing().splitlines()
    assert lines[0].startswith(f"saxpy for sm_90: {kernel.registers} registers")
    at = lines.index("saxpy.cu:6  y[i] = a * x[i] + y[i];")
    assert any("FFMA" in line for line in lines[at:])
    assert {Path(one.file).name for one in kernel.instructions if one.file} == {"saxpy.cu"}


def test_a_text_of_cuda_has_its_own_lines() -> None:
    needed("nvcc", "nvdisasm")
    kernel = smmux.load(TEXT, "sm_86")["fill"]
    assert "<text>:3  x[threadIdx.x] = value;" in kernel.listing()
    assert {one.file for one in kernel.instructions} <= {"<text>", None}


def test_ptx_as_text_and_file(tmp_path: Path) -> None:
    needed("ptxas")
    image = smmux.load(PTX, "sm_80")["nothing"].image
    assert (image.required_block, image.parameters[0].size) == ((64, 2, 1), 8)
    path = tmp_path / "code.ptx"
    path.write_text(PTX)
    assert smmux.load(path, "sm_90")["nothing"].arch == "sm_90"


@pytest.mark.slow
def test_cubins_fatbins_objects_and_libraries(tmp_path: Path) -> None:
    needed("nvcc", "cuobjdump")
    both = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]"]
    nvcc("-fatbin", *both, str(SAXPY), "-o", str(tmp_path / "code.fatbin"))
    nvcc("-c", *both, str(SAXPY), "-o", str(tmp_path / "code.o"))
    nvcc("-c", "-gencode", "arch=compute_75,code=compute_75", str(SAXPY), "-o", str(tmp_path / "later.o"))
    cubin = smmux.load(SAXPY, "sm_80").cubins[0].data
    (tmp_path / "code.cubin").write_bytes(cubin)
    assert smmux.load(tmp_path / "code.cubin")["saxpy"].arch == smmux.load(cubin)["saxpy"].arch == "sm_80"
    for name in ("code.fatbin", "code.o"):
        for arch in ("sm_80", "sm_90"):
            assert smmux.load(tmp_path / name, arch)["saxpy"].arch == arch
        with pytest.raises(smmux.ConfigError, match="no GPU code of sm_75: it has some of sm_80, sm_90"):
            smmux.load(tmp_path / name, "sm_75")
    assert smmux.load(tmp_path / "later.o", "sm_86")["saxpy"].arch == "sm_86"  # assembled, as a driver would
    host = tmp_path / "host.o"
    subprocess.run(["g++", "-c", "-x", "c++", "/dev/null", "-o", str(host)], check=True)
    with pytest.raises(smmux.ConfigError, match="no GPU code of sm_90"):
        smmux.load(host)


def test_errors_of_the_compiler_name_file_and_line(tmp_path: Path) -> None:
    needed("nvcc")
    path = tmp_path / "wrong.cu"
    path.write_text(TEXT.replace("= value", "= valeu"))
    with pytest.raises(smmux.CompileError, match='"valeu" is undefined') as caught:
        smmux.load(path)
    assert (caught.value.filename, caught.value.lineno) == (str(path), 3)
    with pytest.raises(smmux.CompileError, match='"valeu" is undefined') as caught:
        smmux.load(path.read_text())
    assert (caught.value.filename, caught.value.lineno) == ("<text>", 3)
    path.write_text('#include "nowhere.h"\n')
    with pytest.raises(smmux.CompileError, match="nowhere.h"):
        smmux.load(path)
    with pytest.raises(smmux.CompileError) as caught:
        smmux.load(PTX.replace("st.global.u32", "st.global.u33"))
    assert (caught.value.filename, caught.value.lineno) == ("<text>", 8)
    with pytest.raises(smmux.CompileError, match="sm_99"):
        smmux.load(SAXPY, "sm_99")


def test_names_of_kernels() -> None:
    needed("nvcc")
    module = smmux.load(KERNELS / "tiled_matmul.cu")
    mangled = "_Z6matmulILi16EEvPKfS1_Pfi"
    assert module[mangled].name == "matmul"
    with pytest.raises(smmux.ConfigError, match="has 2 kernels 'matmul'"):
        module["matmul"]
    with pytest.raises(smmux.ConfigError, match="did you mean 'saxpy'"):
        smmux.load(SAXPY)["saxpi"]
    if shutil.which("c++filt"):
        assert module["matmul<16>"].mangled == mangled


def test_errors_of_later_stages_of_the_compiler_are_found_behind_its_warnings() -> None:
    warning = "a.cu(3): warning #20054-D: not so good\n    int x;\n        ^\n\n"
    error = tools._compile_error(f"{warning}/cuda/sm_61.hpp(89) Error: unsupported operation\n", "a.cu", "a.cu")
    assert (error.msg, error.filename, error.lineno) == ("unsupported operation", "/cuda/sm_61.hpp", 89)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.cu",), "nowhere.cu: No such file"),
        ((SAXPY, "90"), "arch='90' is no architecture"),
        ((SAXPY, 90), "arch=90 is no architecture"),
        ((TEXT, "sm_90", "-O3 -G"), "pass a list of them, such as \\['-O3', '-G'\\]"),
        (("",), "the source is empty"),
        ((TEXT, "sm_90", (), "opencl"), "neither 'cuda' nor 'ptx'"),
        ((b"MZ",), "these bytes are no cubin"),
        ((sys.executable, "sm_90"), "no GPU code|cuobjdump"),
    ],
)
def test_what_cannot_be_loaded_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(smmux.ConfigError, match=message):
        smmux.load(*arguments)  # type: ignore[arg-type]


SCALARS = """extern "C" __global__ void scalars(float a, double b, int c, unsigned char d, double *out) {
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}"""


def test_python_numbers_get_the_types_of_their_parameters() -> None:
    needed("nvcc", "nvdisasm")
    module, out = smmux.load(SCALARS), np.zeros(4)
    module["scalars"].simulate(1, 1, [2, 3, -4, True, out])
    assert out.tolist() == [2, 3, -4, 1]
    module["scalars"].simulate(1, 1, [0.5, np.float64(7), np.int32(1), np.uint8(9), out])
    assert out.tolist() == [0.5, 7, 1, 9]
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .f32 a, .param .u64 p) {\n"
    ptx += ".reg .f32 x; .reg .u64 q; ld.param.f32 x, [a]; ld.param.u64 q, [p]; st.global.f32 [q], x; ret; }"
    got = np.zeros(1, np.float32)
    smmux.load(ptx)["k"].simulate(1, 1, [3, got])
    assert got[0] == 3


@pytest.mark.parametrize(
    "place, value, message",
    [
        (0, np.int32(2), "argument 0 is a floating-point number of 32 bits in the kernel, not int32"),
        (1, np.zeros(()), "argument 1 is a floating-point number of 64 bits in the kernel, not array(0.)"),
        (2, 7.0, "argument 2 is a whole number of 32 bits in the kernel, not 7.0"),
        (2, np.float32(7), "argument 2 is a whole number of 32 bits in the kernel, not float32"),
        (0, 1e300, "argument 0 has 4 bytes, which 1e+300 does not fit"),
    ],
)
def test_numbers_of_another_kind_than_the_parameter_are_refused(place: int, value: object, message: str) -> None:
    needed("nvcc", "nvdisasm")
    given = [1.0, 2.0, 3, 4, np.zeros(4)]
    given[place] = value
    with pytest.raises(smmux.LaunchError, match=re.escape(message)):
        smmux.load(SCALARS)["scalars"].simulate(1, 1, given)


def test_whole_numbers_of_structures_may_be_unsigned() -> None:
    needed("nvcc", "nvdisasm")
    text = """struct Pair { unsigned a; int b; };
              extern "C" __global__ void pair(Pair p, long long *out) { out[0] = p.a, out[1] = p.b; }"""
    out = np.zeros(2, np.int64)
    smmux.load(text)["pair"].simulate(1, 1, [(2**32 - 1, -1), out])
    assert out.tolist() == [2**32 - 1, -1]
    for given, message in (((2**32, 0), "no number of 32 bits"), (7, "a tuple for a structure")):
        with pytest.raises(smmux.LaunchError, match=message):
            smmux.load(text)["pair"].simulate(1, 1, [given, out])


def test_complex_numbers_are_structures_of_two_floats() -> None:
    needed("nvcc", "nvdisasm")
    text = """extern "C" __global__ void parts(float2 a, double2 b, char c, double *out) {
        out[0] = a.x, out[1] = a.y, out[2] = b.x, out[3] = b.y;
    }"""
    out = np.zeros(4)
    smmux.load(text)["parts"].simulate(1, 1, [1 + 2j, 3 + 4j, 5, out])
    assert out.tolist() == [1, 2, 3, 4]
    with pytest.raises(smmux.LaunchError, match="argument 2 has 1 byte, which 300 does not fit"):
        smmux.load(text)["parts"].simulate(1, 1, [1 + 2j, 3 + 4j, 300, out])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"args": 5}, "args is a list of the kernel's arguments, not 5"),
        ({"variables": 5}, "variables is arrays by name, not 5"),
        ({"variables": {3: np.zeros(1)}}, "variables have names, not 3"),
        ({"variables": {"table": [1, 2]}}, r"variable 'table' needs an array, not \[1, 2\]"),
    ],
)
def test_what_is_no_list_of_arguments_is_refused(given: dict[str, object], message: str) -> None:
    needed("nvcc", "nvdisasm")
    text = """__device__ int table[2]; extern "C" __global__ void kernel(int *out) { out[0] = table[0]; }"""
    with pytest.raises(smmux.LaunchError, match=message):
        smmux.load(text)["kernel"].simulate(1, 1, **{"args": [np.zeros(1, np.int32)], **given})


def test_a_cubin_of_a_kernel_without_parameters_is_loaded() -> None:
    needed("nvcc", "nvdisasm")
    (cubin,) = smmux.load('extern "C" __global__ void nothing() {}').cubins
    assert smmux.load(cubin.data)["nothing"].simulate(1, 32).counters["blocks"] == 1


def test_kernels_have_names_and_no_numbers() -> None:
    needed("nvcc", "nvdisasm")
    with pytest.raises(smmux.ConfigError, match="has its kernels by name, not by 0"):
        smmux.load(SCALARS)[0]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "code.cu"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(smmux.ConfigError, match="neither GPU code nor the text of a program"):
        smmux.load(path)


def test_a_missing_tool_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "environment_folders", list)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    for source in (SAXPY, PTX, sys.executable):
        with pytest.raises(smmux.ConfigError, match=r"pip install 'smmux\[cuda\]'"):
            smmux.load(source)


@pytest.mark.parametrize("installed", [False, True])
def test_tests_are_skipped_only_where_the_extra_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr(tools, "environment_folders", list)
    monkeypatch.setattr(conftest, "extra_installed", lambda: installed)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(smmux.ConfigError if installed else pytest.skip.Exception, match="nvcc"):
        needed("nvcc")


def test_tools_are_looked_for_in_the_environment_then_in_the_toolkit_then_in_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folders = [tmp_path / name / "bin" for name in ("environment", "toolkit", "path")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "nvcc").write_text("")
        (folder / "nvcc").chmod(0o755)
    monkeypatch.setattr(tools, "environment_folders", lambda: folders[:1])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", str(folders[2]))
    for folder in folders:
        assert tools.find_tool("nvcc") == folder / "nvcc"
        (folder / "nvcc").unlink()


def test_without_a_compiler_of_the_host_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    needed("nvcc")
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    monkeypatch.setenv("PATH", str(tools.find_tool("nvcc").parent))
    with pytest.raises(smmux.ConfigError, match=r"no g\+\+ in PATH"):
        smmux.load(SAXPY)


GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
extern "C" __global__ void total(const int *x, int *out, int n)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = cg::reduce(tile, i < n ? x[i] : 0, cg::plus<int>());
    if (tile.thread_rank() == 0)
        cuda::atomic_ref<int, cuda::thread_scope_device>(*out).fetch_add(sum, cuda::memory_order_relaxed);
}
"""


@pytest.mark.long
def test_the_headers_of_the_core_libraries_are_found() -> None:
    needed("nvcc", "nvdisasm")
    x, out = np.arange(1000, dtype=np.int32), np.zeros(1, np.int32)
    smmux.load(GROUPS)["total"].simulate(8, 128, (x, out, 1000))
    assert out[0] == x.sum()


@pytest.mark.long
def test_what_was_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor disassembled: the second time no tool runs; a change of an included file brings the compiler back."""
    needed("nvcc", "nvdisasm")
    monkeypatch.setenv("SMMUX_CACHE", str(tmp_path / "cache"))
    header, source = tmp_path / "own.h", tmp_path / "own.cu"
    header.write_text("#define VALUE 1\n")
    source.write_text('#include "own.h"\n' + TEXT.replace("= value", "= value + VALUE"))
    first = smmux.load(source)["fill"].instructions

    def refuse(*_: object) -> None:
        raise AssertionError("a tool runs")

    with monkeypatch.context() as patched:
        patched.setattr(tools, "_call", refuse)
        assert smmux.load(source)["fill"].instructions == first
        with pytest.raises(AssertionError, match="a tool runs"):
            smmux.load(source, options=["--use_fast_math"])
        header.write_text("#define VALUE 2\n")
        with pytest.raises(AssertionError, match="a tool runs"):
            smmux.load(source)
    assert smmux.load(source)["fill"].instructions != first


def test_damage_of_the_cache_is_a_miss(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SMMUX_CACHE", str(tmp_path))
    key = cache.key_of("some", b"parts", 7)
    assert cache.fetch(key) is None
    cache.keep(key, b"result" * 100)
    assert cache.fetch(key) == b"result" * 100
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        assert cache.fetch(key) is None
        path.write_bytes(whole[:at])
        assert cache.fetch(key) is None
    path.write_bytes(whole)
    other = cache.key_of("some", b"parts", 8)
    elsewhere = cache._path(other)
    assert elsewhere is not None
    if elsewhere.parent.is_dir():
        path.rename(elsewhere)
    assert cache.fetch(other) is None


def test_a_cache_that_cannot_be_written_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    monkeypatch.setenv("SMMUX_CACHE", str(place))
    cache.keep(cache.key_of(1), b"result")
    assert cache.fetch(cache.key_of(1)) is None


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("SMMUX_CACHE", "/own")
    assert cache_folder() == Path("/own")
    monkeypatch.delenv("SMMUX_CACHE")
    assert cache_folder() == Path("/somewhere/smmux")
    monkeypatch.setenv("SMMUX_CACHE", "0")
    assert cache_folder() is None
    cache.keep(cache.key_of(1), b"result")
    assert cache.fetch(cache.key_of(1)) is None


def test_keys_tell_parts_apart() -> None:
    keys = {cache.key_of(*parts) for parts in (("a", "b"), ("ab",), (b"a", b"b"), (b"ab",), ("a", ["b"]), ("a", b"b"))}
    assert len(keys) == 6


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    needed("nvcc", "nvdisasm")
    assert main(["sass", f"{SAXPY}:saxpy", "--arch", "sm_80"]) == 0
    assert capsys.readouterr().out == smmux.load(SAXPY, "sm_80")["saxpy"].listing()
    assert main(["sass", str(SAXPY)]) == 0
    assert capsys.readouterr().out == f"{smmux.load(SAXPY)!r}\n"
    assert main(["sass", f"{SAXPY}:saxpy", "--json", "--option=--use_fast_math"]) == 0
    rows = json.loads(capsys.readouterr().out)
    fast = smmux.load(SAXPY, options=["--use_fast_math"])["saxpy"]
    assert [row["text"] for row in rows] == [one.text for one in fast.instructions]
    assert "FFMA.FTZ" in fast.listing()
    assert main(["sass", str(SAXPY), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["parameters"][2] == {
        "ordinal": 2, "offset": 8, "size": 8, "kind": "u64",
    }  # fmt: skip
    assert main(["sass", f"{SAXPY}:nothing"]) == 1
    assert "has no kernel 'nothing'" in capsys.readouterr().err


def test_importing_smmux_imports_nothing_of_this() -> None:
    code = "import smmux, sys; print([name for name in sys.modules if 'compiler.sass' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_kernel_has_the_registers_that_its_image_says(built: Callable[..., Module]) -> None:
    """No more: they limit how many blocks an SM holds."""
    for kernel in built("sm_90"):
        assert lower_kernel(kernel.cubin, kernel.mangled).layout.registers == kernel.registers, kernel.name
