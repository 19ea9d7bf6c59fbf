"""Our kernels, compiled for five architectures: every instruction is understood, and nothing is lost on the way."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from smmux.compiler.sass.cubin import KernelImage
from smmux.compiler.sass.tools import find_tool
from smmux.modules.module import CompiledKernel, Module
from tests.sass.written import instruction_text

Build = Callable[..., Module]
ARCHITECTURES = [
    "sm_75",
    *(pytest.param(arch, marks=pytest.mark.slow) for arch in ("sm_80", "sm_86", "sm_89")),
    "sm_90",
]

SIGNATURES = {
    "saxpy": (4, 4, 8, 8),
    "matmul<16>": (8, 8, 8, 4),
    "matmul<32>": (8, 8, 8, 4),
    "warp_sum": (8, 8, 8, 4),
    "histogram": (8, 8, 4),
    "histogram_dynamic": (8, 8, 4, 4),
    "half_pairs": (8, 8, 4, 8, 4),
    "bfloats": (8, 8, 4),
    "doubles": (8, 8, 8, 8),
    "interpreter": (8, 4, 8, 4),
    "printing": (8, 4),
    "local_arrays": (32, 8, 8, 1),
    "constants": (8, 8),
    "function_pointers": (8, 8, 8),
    "async_copy": (8, 8, 4),
    "tensor_cores": (8, 8, 8, 4),
    "spin_lock": (8, 8, 8, 8),
    "integers": (8, 8, 8, 2),
}
"""Bytes of each parameter, from the declarations in the sources."""


def named(module: Module, name: str) -> CompiledKernel:
    """A kernel by its name with the arguments of the template; without a demangler, by its mangled one."""
    if match := re.fullmatch(r"(\w+)<(\d+)>", name):
        return module[f"_Z{len(match[1])}{match[1]}ILi{match[2]}EEvPKfS1_Pfi"]
    return module[name]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_instruction_is_understood(built: Build, arch: str) -> None:
    module = built(arch)
    assert len(module) == len(SIGNATURES) + (arch != "sm_75")  # which has no reduction over a warp
    for kernel in module:
        assert len(kernel.instructions) == len(kernel.image.words)
        assert [one.address for one in kernel.instructions] == list(range(0, 16 * len(kernel.image.words), 16))
        for one in kernel.instructions:
            assert squeezed(instruction_text(one)) == squeezed(one.text)
            assert one.control.reuse.bit_count() == one.text.count(".reuse")
            assert one.encoding == tuple(kernel.image.words[one.address // 16].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--use_fast_math",), ("-Xptxas", "-O1"), ("-Xptxas", "-O0")])
def test_every_instruction_is_understood_with_other_options(built: Build, options: tuple[str, ...]) -> None:
    for kernel in built("sm_90", *options):
        assert len(kernel.instructions) == len(kernel.image.words)


def squeezed(text: str) -> str:
    """A text without spaces and commas, which the disassembler sets as it likes."""
    return re.sub(r"[\s,]", "", text)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_parameters_are_those_of_the_declarations(built: Build, arch: str) -> None:
    for name, sizes in SIGNATURES.items():
        image = named(built(arch), name).image
        assert tuple(parameter.size for parameter in image.parameters) == sizes
        assert image.param_base == (0x210 if arch == "sm_90" else 0x160)
        at = 0
        for parameter, size in zip(image.parameters, sizes, strict=True):
            align = min(size, 8)
            at = -(-at // align) * align
            assert parameter.offset == at
            at += size
        assert image.param_bytes == at


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_what_the_driver_needs_to_know(built: Build, arch: str) -> None:
    module = built(arch)
    reserved = 0x400 if arch == "sm_90" else 0
    assert named(module, "matmul<16>").shared_bytes == 4 * (16 * 16 + 16 * 17) + reserved
    assert module["histogram"].shared_bytes == 1024 + reserved
    assert module["histogram"].image.max_threads == 256
    assert module["saxpy"].image.max_threads is None
    assert module["spin_lock"].image.barriers == 4  # number 3 is the last one
    assert module["local_arrays"].image.min_stack > module["saxpy"].image.min_stack == 0
    for kernel in module:
        assert 4 <= kernel.registers <= 255
        assert highest_register(kernel) < kernel.registers
        for branch, targets in kernel.image.indirect_targets.items():
            assert kernel.instructions[branch // 16].opcode == "BRX"
            assert {target % 16 for target in targets} == {0}
    printing = module["printing"].image
    assert set(printing.externs.values()) == {"vprintf", "malloc", "free", "__assertfail"}
    assert {module["printing"].instructions[at // 16].name for at in printing.extern_calls} == {"CALL.ABS.NOINC"}
    assert module["saxpy"].image.externs == {}


def highest_register(kernel: CompiledKernel) -> int:
    """The highest register that an instruction names."""
    names = [o for one in kernel.instructions for o in one.operands]
    return max([o.number for o in names if o.kind == "R" and o.number < 255], default=0)


@pytest.mark.parametrize("arch", [pytest.param("sm_80", marks=pytest.mark.long), "sm_90"])
def test_variables_and_where_their_addresses_stand(built: Build, arch: str) -> None:
    cubin = built(arch).cubins[0]
    coefficients, points = cubin.globals_["coefficients"], cubin.globals_["points"]
    assert (coefficients.space, coefficients.size, points.size) == ("constant", 32, 24)
    assert coefficients.initial == cubin.constant3[coefficients.address :][:32]
    assert coefficients.initial[:8] == bytes.fromhex("0000803f00000040")
    counter, scratch, shortcut = (cubin.globals_[name] for name in ("counter", "scratch", "shortcut"))
    assert counter.initial == b"\7\0\0\0"
    assert cubin.globals_image[counter.address :][:4] == b"\7\0\0\0"
    assert (scratch.size, scratch.initial) == (256, b"")
    assert len(cubin.globals_image) <= scratch.address
    assert scratch.address + 256 <= cubin.globals_bytes
    pointers = {r.offset: r for r in cubin.relocations if r.section == "globals"}
    assert (pointers[shortcut.address].symbol, pointers[shortcut.address].address) == ("counter", counter.address)
    slots = {r.symbol: r for r in cubin.relocations if r.section == "constant4"}
    assert (slots["scratch"].space, slots["scratch"].address) == ("global", scratch.address)
    assert slots["vprintf"].space == "extern"
    assert {"vprintf", "malloc"} <= set(cubin.externs)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_labels_lead_somewhere(built: Build, arch: str) -> None:
    """Regions of BSSY end behind a BSYNC of the same barrier, and calls go to functions."""
    for kernel in built(arch):
        for one in kernel.instructions:
            for label in (operand for operand in one.operands if operand.kind == "label"):
                assert label.target is not None
                assert 0 <= label.target <= 16 * len(kernel.instructions)
                assert label.target % 16 == 0
                if one.opcode == "BSSY":
                    before = kernel.instructions[label.target // 16 - 1]
                    assert (before.opcode, before.operands[-1].number) == ("BSYNC", one.operands[0].number)
                if one.name == "CALL.REL.NOINC" and len(one.operands) == 1:
                    assert label.symbol in kernel.image.functions


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_lines_are_those_of_the_disassembler(built: Build, arch: str, tmp_path: Path) -> None:
    """nvdisasm reads the line table by itself, with the places where functions were inlined."""
    module = built(arch)
    path = tmp_path / "all.cubin"
    path.write_bytes(module.cubins[0].data)
    printed = subprocess.run(
        [str(find_tool("nvdisasm")), "-c", "-gi", str(path)], capture_output=True, text=True, check=True
    ).stdout
    compared = 0
    for part in re.split(r"^\.text\.", printed, flags=re.MULTILINE)[1:]:
        kernel = module[part.partition(":")[0]]
        compared += compare_lines(kernel, kernel.image, part)
    assert compared > 800


def compare_lines(kernel: CompiledKernel, image: KernelImage, printed: str) -> int:
    """Compare the places of a kernel's instructions, up to the end of its line table."""
    places: list[tuple[str, int]] = []
    fresh: list[tuple[str, int]] = []
    compared = 0
    for line in printed.splitlines():
        if match := re.match(r'\s*//## File "([^"]*)", line (\d+)', line):
            fresh.append((Path(match[1]).name, int(match[2])))
        elif match := re.match(r"\s*/\*([0-9a-f]{4,})\*/", line):
            places, fresh = fresh or places, []
            one = kernel.instructions[int(match[1], 16) // 16]
            if one.file is not None and places:
                assert (Path(one.file).name, one.line) == places[0], one
                assert [(Path(p.file).name, p.line) for p in one.callers] == places[1:], one
                compared += 1
    return compared
