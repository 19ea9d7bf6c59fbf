"""Programs in CUDA C++ for five architectures and three settings of the compiler: their results are NumPy's."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux.compiler.instruction import Place
from smmux.compiler.sass.lowering.link import link
from smmux.modules.module import CompiledKernel, Module, load
from tests.sass import programs
from tests.sass.conftest import KERNELS, needed
from tests.sass.programs import PROGRAMS, Case, Program

FOLDER = Path(programs.__file__).parent
ARCHITECTURES = (75, 80, 86, 89, 90)
OPTIONS: dict[str, tuple[str, ...]] = {"optimised": (), "debugged": ("-G", "-O0"), "fast": ("--use_fast_math",)}


def combinations() -> list[Any]:
    """All of them; those that are not run each time are marked slow: of each program sm_90 and one other are."""
    found = []
    for index, program in enumerate(PROGRAMS.values()):
        for at, arch in enumerate(ARCHITECTURES):
            for option in OPTIONS:
                often = option == "optimised" and (arch == 90 or index % 4 == at)
                if arch >= program.least:
                    kept = [] if arch == 90 else [pytest.mark.long]
                    marks = kept if often else [pytest.mark.slow]
                    found.append(pytest.param(program, arch, option, marks=marks, id=f"{program.name}-{arch}-{option}"))
    return found


@lru_cache
def built(file: str, arch: int, option: str) -> Module:
    needed("nvcc", "nvdisasm")
    folder = FOLDER if (FOLDER / file).exists() else KERNELS
    return load(folder / file, f"sm_{arch}", OPTIONS[option])


def launch(program: Program, arch: int, option: str) -> tuple[Case, Any]:
    """Run a program on its case."""
    case = program.make(np.random.default_rng(30))
    kernel = built(program.file, arch, option)[program.name]
    return case, kernel.simulate(
        program.grid, program.block, case.args, dynamic_shared=program.dynamic, **program.options
    )


def compare(case: Case, option: str) -> None:
    """Fail for a result that is not the one foreseen."""
    relative = max(case.relative, case.fast) if option == "fast" else case.relative
    for index, expected in case.results.items():
        got = np.asarray(case.args[index])
        expected = np.asarray(expected).astype(got.dtype).reshape(got.shape)
        if relative or case.absolute:
            np.testing.assert_allclose(got, expected, relative, case.absolute, err_msg=f"argument {index}")
        else:
            np.testing.assert_array_equal(got, expected, err_msg=f"argument {index}")
    if case.check:
        case.check(case.args)


def check_refusal(program: Program, kernel: CompiledKernel, option: str, error: smmux.CompileError) -> None:
    """Fail unless it names the line that the instruction comes from, of the program or of a header. The line of the
    program is then among the callers; only for debuggers the header's function is called and not inlined."""
    told = re.findall(r"^  (\w+).* at 0x[0-9a-f]+, (.+):(\d+)$", str(error), re.MULTILINE)
    assert (error.filename, str(error.lineno)) == told[0][1:]
    named = {(file, int(line)) for opcode, file, line in told if opcode == program.refused}
    assert named
    linked = [one for one in link(kernel.cubin, kernel.mangled).instructions if one.opcode == program.refused]
    assert named == {(one.file, one.line) for one in linked}
    for one in linked:
        stack = [Place(str(one.file), one.line), *one.callers]
        assert Path(stack[-1].file).name == program.file or option == "debugged"
        for place in (stack[0], stack[-1]):
            assert program.source in Path(place.file).read_text().splitlines()[place.line - 1]


@pytest.mark.long
@pytest.mark.parametrize(("program", "arch", "option"), combinations())
def test_the_results_are_those_of_the_definition(program: Program, arch: int, option: str) -> None:
    if program.refused:
        with pytest.raises(smmux.CompileError) as refusal:
            launch(program, arch, option)
        check_refusal(program, built(program.file, arch, option)[program.name], option, refusal.value)
        return
    if program.fails:
        with pytest.raises(getattr(smmux, program.fails)):
            launch(program, arch, option)
        return
    case, _ = launch(program, arch, option)
    compare(case, option)
