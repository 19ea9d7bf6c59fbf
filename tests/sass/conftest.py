"""Compiled code for the tests: our own kernels, compiled once for each architecture. Without the extra `cuda` the tests
that need the vendor's tools are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from smmux import gpus
from smmux.compiler.sass import tools
from smmux.compiler.sass.mangled_names import demangle
from smmux.errors import ConfigError
from smmux.modules.module import Module, load

KERNELS, SOURCES = Path(__file__).parent / "kernels", Path(__file__).parent / "sources"
OLDER = ("sm_75", "sm_80", "sm_86", "sm_89")
OPTIONS = [("-O3",), pytest.param(("-G", "-O0"), marks=pytest.mark.long)]
ARCHITECTURES = [*(pytest.param(arch, marks=pytest.mark.long) for arch in OLDER), "sm_90"]


@pytest.fixture(scope="session", autouse=True)
def nothing_preloaded() -> Iterator[None]:
    """A sanitizer that is preloaded into Python would end the vendor's tools."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LD_PRELOAD", raising=False)
        yield


def needed(*names: str) -> None:
    """Skip the test where a tool is missing, with what would install it. Where the extra `cuda` is installed, a tool
    that is not found is a mistake of ours."""
    try:
        for name in names:
            tools.find_tool(name)
    except ConfigError as error:
        if extra_installed():
            raise
        pytest.skip(str(error))


def names_known() -> None:
    """Skip the test where no tool tells the names of C++. That of binutils is there wherever its linker is."""
    if tuple(demangle(("_Z1fv",))) != ("f()",):
        assert not shutil.which("ld"), "binutils has c++filt, and names are not told"
        pytest.skip("neither cu++filt nor c++filt is there, which tell the names of C++ (binutils)")


def extra_installed() -> bool:
    """Whether pip has installed the vendor's compiler."""
    try:
        metadata.distribution("nvidia-cuda-nvcc")
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.fixture(scope="module", params=ARCHITECTURES)
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=OPTIONS)
def module(request: pytest.FixtureRequest, arch: str) -> Module:
    """The file that the test's own file names as SOURCE."""
    needed("nvcc", "nvdisasm")
    return load(SOURCES / request.module.SOURCE, arch, request.param)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An H200, simulated, for the probes that ran on one: a SimulatedBench, which only a checkout has."""
    from experiments.hardware.hopper.simulated import SimulatedBench

    needed("nvcc", "nvdisasm")
    return SimulatedBench(tmp_path_factory.mktemp("cubins"), gpus.get("H200"))


@pytest.fixture(scope="session")
def built() -> Callable[..., Module]:
    """All kernels of the folder in one module, by architecture and options. As a text, without a path of its own, it is
    compiled once for all processes."""
    source = "".join(f'#include "{path}"\n' for path in sorted(KERNELS.glob("*.cu")))

    @lru_cache
    def build(arch: str, *options: str) -> Module:
        needed("nvcc", "nvdisasm")
        return load(source, arch, options)

    return build
