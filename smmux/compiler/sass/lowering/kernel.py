"""A kernel's instructions as a program of the core; what is not simulated is refused by name before anything runs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.compiler.instruction import RZ, Instruction
from smmux.compiler.program import INSN, MAX_INSNS, UNIFORM
from smmux.compiler.sass.cubin import Cubin, KernelImage
from smmux.compiler.sass.lowering.atomics import ATOMICS, lower_atomic
from smmux.compiler.sass.lowering.barriers import BARRIERS, lower_barrier
from smmux.compiler.sass.lowering.control import CONTROL, lower_control
from smmux.compiler.sass.lowering.link import Linked, link
from smmux.compiler.sass.lowering.memory import ACCESSES, lower_access
from smmux.compiler.sass.lowering.opcode_forms import find_form, lower_form
from smmux.compiler.sass.lowering.rows import RPC, SPARE, Layout, Refused, Rows
from smmux.errors import CompileError

HEAP_BYTES = 8
"""At the end of the constant segment: where the first SM's part of the heap lies, and the bytes of each."""

__all__ = ["HEAP_BYTES", "Lowered", "lower_kernel"]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A kernel as rows of the core. layout says where its constant banks lie in the constant segment."""

    code: NDArray[Any]
    uniforms: NDArray[Any]
    layout: Layout
    constant_bytes: int
    linked: Linked


@lru_cache(256)
def lower_kernel(cubin: Cubin, name: str) -> Lowered:
    """The program of a kernel.

    Raises CompileError for a kernel with instructions that are not simulated: each form of them once, with its place.
    """
    image = cubin.kernels[name]
    linked = link(cubin, name)
    instructions = linked.instructions
    if len(instructions) > MAX_INSNS:
        raise CompileError(f"kernel {name!r} has {len(instructions)} instructions, {MAX_INSNS} is the most")
    layout, size = _layout(cubin, image, instructions)
    rows = Rows(layout)
    refused: dict[str, tuple[Instruction, str]] = {}
    count: Counter[str] = Counter()
    for instruction in _without_padding(instructions):
        try:
            _lower(rows, instruction)
        except Refused as reason:
            refused.setdefault(instruction.name, (instruction, str(reason)))
            count[instruction.name] += 1
    if refused:
        raise _refusal(image, cubin.arch, len(instructions), refused, count)
    code = np.array(rows.code, INSN)
    return Lowered(code, np.array(rows.uniforms, UNIFORM), layout, size, linked)


def _without_padding(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The instructions without the NOPs that fill the last line of the section, which nobody reaches."""
    end = len(instructions)
    while end > 1 and instructions[end - 1].opcode == "NOP":
        end -= 1
    return instructions[:end]


def _lower(rows: Rows, instruction: Instruction) -> None:
    """Add the row of one instruction."""
    try:
        _lower_known(rows, instruction)
    except (IndexError, ValueError):  # no disassembler writes it so, but a damaged listing may
        raise Refused("it has too few or too many operands") from None


def _lower_known(rows: Rows, instruction: Instruction) -> None:
    if instruction.opcode in ACCESSES:
        lower_access(rows, instruction)
    elif instruction.opcode in ATOMICS and "ARRIVE" not in instruction.modifiers:
        lower_atomic(rows, instruction)
    elif instruction.opcode in BARRIERS:
        lower_barrier(rows, instruction)
    elif instruction.opcode in CONTROL:
        lower_control(rows, instruction)
    elif form := find_form(instruction):
        lower_form(rows, instruction, form)
    else:
        raise Refused("this opcode is not simulated")


def _layout(cubin: Cubin, image: KernelImage, instructions: tuple[Instruction, ...]) -> tuple[Layout, int]:
    """Where registers and constant banks lie, and how many bytes the banks have."""
    zero = 63 if cubin.arch < 100 else 255
    uniforms = [
        number + 4  # of a group of registers only the first is named
        for i in instructions
        for operand in i.operands
        for number in (operand.number if operand.kind == "UR" else operand.uniform,)
        if number is not None and number != zero
    ]
    used = [o.number + 1 for i in instructions for o in i.operands if o.kind == "R" and o.number != RZ]
    registers = min(max([image.registers, *used], default=1), _core.CONSTANTS["MAX_REGS"])
    sizes = {
        0: image.param_base + image.param_bytes,
        2: len(image.constant2),
        3: len(cubin.constant3),
        4: len(cubin.constant4),
    }
    banks, at = {}, 0
    for bank, size in sizes.items():
        banks[bank] = at
        at += -(-size // 256) * 256
    more = RPC if any(i.opcode == "RPCMOV" for i in instructions) else 0
    most = min(max(uniforms, default=0) + more + SPARE, _core.CONSTANTS["MAX_UNIFORM_REGS"])
    return Layout(registers, most, banks, zero, math.prod(image.cluster or (1,))), at + HEAP_BYTES


def _refusal(
    image: KernelImage, arch: int, total: int, refused: dict[str, tuple[Instruction, str]], count: Counter[str]
) -> CompileError:
    """One sentence for all, and a line for each form that is not simulated."""
    lines = [
        f"  {name} ({count[name]}): {reason}: {i.text} at {i.address:#06x}" + (f", {i.file}:{i.line}" if i.file else "")
        for name, (i, reason) in refused.items()
    ]
    first = next(iter(refused.values()))[0]
    return CompileError(
        f"kernel {image.name!r} of sm_{arch}: {sum(count.values())} of {total} instructions are not simulated\n"
        + "\n".join(lines),
        first.file,
        first.line or None,
    )
