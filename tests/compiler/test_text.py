"""IR as text: what is written and read back compiles to the same program, and no text does harm."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import benchmarks, cuda, gpus
from smmux.compiler import python as frontend
from smmux.compiler.driver.pipeline import compile_function
from smmux.compiler.driver.requests import Request
from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.program import Program
from smmux.compiler.signature import Signature
from smmux.compiler.text.reader import read
from smmux.compiler.text.text_unit import TextUnit
from smmux.compiler.text.writer import write
from smmux.errors import CompileError
from smmux.kernel import Kernel, definition_of
from smmux.kernels.python_unit import PythonUnit
from smmux.running.launch import launch
from tests import same_programs
from tests.compiler.back import RandomKernel
from tests.compiler.read_back import differences, unlike

QUICK = ("MM", "RD", "TP", "SP")


@cuda.jit
def scaled(out, a, n):
    i = cuda.grid(1)
    if i < n:
        assert a[i] > -5, "small"
        out[i] = a[i] * 3 + a[(i + 1) % n]


def same(first: Program, second: Program) -> None:
    """Assert that two programs are equal to the bit in everything."""
    assert not unlike(first, second)


def text_of(kernel: Kernel, signature: Signature, options: Options) -> str:
    return write(frontend.lower(definition_of(kernel), signature, options))


def check(kernel: Kernel, args: Any, machine: str) -> None:
    """Compile a kernel from Python and from its own text."""
    request, signature = Request(gpus.get(machine)), kernel.signature(args)
    float64, fused = gpus.get(machine).compute_capability >= 13, bool(gpus.get(machine).fused_mad)
    text = text_of(kernel, signature, Options(float64=float64, fused_mad=fused))
    assert write(read(text)) == text
    same(request.program(PythonUnit(definition_of(kernel)), signature), request.program(TextUnit(text), signature))


@pytest.mark.quick
@pytest.mark.parametrize("machine", ["GTX285-1100", "GTX480-48K"])
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in benchmarks.names()]
)
def test_benchmarks_read_back_are_the_same_programs(name: str, machine: str) -> None:
    benchmark = benchmarks.get(name)
    arguments = benchmark.problem("tiny").arguments()
    for kernel in benchmark.kernels.values():
        check(kernel, arguments, machine)


def random_function(seed: int) -> Function:
    return RandomKernel(Random(seed), 20, 2).function


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 500), marks=pytest.mark.slow)])
def test_random_kernels_read_back_are_the_same_programs(seeds: range) -> None:
    for seed in seeds:
        text = write(random_function(seed))
        same(compile_function(random_function(seed)), compile_function(read(text)))


@pytest.mark.parametrize(
    "seeds", [(3,), pytest.param((6,), marks=pytest.mark.long), pytest.param(range(7, 57), marks=pytest.mark.slow)]
)
def test_kernels_of_all_generators_read_back_are_the_same_programs(seeds: Iterable[int]) -> None:
    launches = (launch for seed in seeds for launch in same_programs.of_generators(seed))
    assert not [found for found in differences(launches) if found[1]]


@pytest.mark.slow
@pytest.mark.checkout
def test_variants_and_workloads_read_back_are_the_same_programs() -> None:
    launches = (*same_programs.of_benchmarks(), *same_programs.of_workloads())
    assert not [found for found in differences(launches) if found[1]]


def test_a_kernel_given_as_text_runs() -> None:
    a = np.arange(100, dtype=np.int32)
    out, again = np.zeros_like(a), np.zeros_like(a)
    machine = gpus.get("GTX480-48K")
    request, signature = Request(machine), scaled.signature((out, a, 100))
    unit = TextUnit(text_of(scaled, signature, Options(float64=True, fused_mad=True)))
    assert unit.name == "scaled"
    assert unit.parameters == ("out", "a", "n")
    first = launch(request.program(unit, signature), (out, a, 100), 1, 128, machine)
    second = scaled.simulate(1, 128, (again, a, 100), gpu=machine)
    np.testing.assert_array_equal(out, a * 3 + np.roll(a, -1))
    np.testing.assert_array_equal(again, out)
    assert first.cycles == second.cycles


TEXT = """.entry twice "k.py" 1
.bytes 0 0 0
.param u32 "a" ""
.storage global 0 "a" 4 8 0 0 256 0
.array 0
.reg %0 s32
.reg %1 s32
.next 2
B0:
  %0 = ld.global [s0 + 0, 4] %tid.x:s32
  %1 = add.s32 %0, %0
  st.global [s0 + 0, 4] %tid.x:s32, %1
  exit
"""


def test_a_text_written_by_hand_runs() -> None:
    a = np.arange(8, dtype=np.int32)
    launch(compile_function(read(TEXT)), (a,), 1, 8, "GTX285")
    np.testing.assert_array_equal(a, 2 * np.arange(8))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("add.s32", "add.s99", 11, "no operation 'add.s99'"),
        ("%0, %0", "%0, %7", 11, "register %7 has no .reg"),
        ("[s0 + 0, 4] %tid.x:s32\n", "[s3 + 0, 4] %tid.x:s32\n", 10, "no storage 's3'"),
        ("%tid.x:s32, %1", "%tid.w:s32, %1", 12, "no special register '%tid.w'"),
        ("  exit\n", "", 12, "block B0 must have one bra, cbr or exit"),
        ("  exit\n", "  bra -> B4\n", 13, "no block 'B4'"),
        ("  exit\n", "  bra\n", 13, "bra has 1 targets, 0 given"),
        (".next 2", ".next 1", 8, "1 is not between 2"),
        ("global 0", "gobal 0", 4, "no space 'gobal'"),
        ('"k.py" 1', '"k.py" 1 2', 1, "nothing is expected at '2'"),
        ('"k.py" 1', '"k.py 1', 1, "cannot be read"),
    ],
)
def test_errors_name_the_line_of_the_text(old: str, new: str, line: int, message: str) -> None:
    assert old in TEXT
    with pytest.raises(CompileError, match=message) as caught:
        read(TEXT.replace(old, new, 1))
    assert caught.value.lineno == line


def test_damaged_texts_are_read_or_refused() -> None:
    random = Random(5)
    texts = [TEXT, write(random_function(3))]
    refused = 0
    for _ in range(400):
        text = list(random.choice(texts))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text))
            text[at] = random.choice(["", " ", "%", "0", "]", '"', "\n", "s", "é", "-", text[at] * 2])
        try:
            read("".join(text))
        except CompileError:
            refused += 1
    assert refused > 200
