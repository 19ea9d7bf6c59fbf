"""A launch of compiled code: arguments as its parameters take them, and the constant banks as a driver fills them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from smmux import _core
from smmux.base.dimensions import Dim3
from smmux.compiler.program import Program
from smmux.compiler.sass.cubin import Cubin, KernelImage, Parameter
from smmux.compiler.sass.listing import read_kernel
from smmux.compiler.sass.lowering.kernel import Lowered, lower_kernel
from smmux.errors import LaunchError
from smmux.gpus import Gpu
from smmux.language.placement import extent, place
from smmux.results.result import Result
from smmux.running.arguments import Arguments, as_bytes
from smmux.running.launch import run
from smmux.running.prepared import Prepared

__all__ = ["program_of", "simulate"]

PREDICATES = 16
SHARED_WINDOW, LOCAL_WINDOW, STACK, DYNAMIC_SHARED = 0x18, 0x20, 0x28, 0x2C
"""Bytes of constant bank 0: generic addresses of shared memory (up to sm_89) and of local memory, top of the stack,
dynamic shared bytes."""
SM_COUNT = 0x10C
SHARED_ALIGNMENT = 16
UNKNOWN_STACK, DEFAULT_STACK = 0xFFFFFFFF, 1024
"""What a kernel with recursion says of its stack, and the bytes that it gets."""


def simulate(
    cubin: Cubin,
    name: str,
    machine: Gpu,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    dynamic_shared: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Run a kernel of a cubin; NumPy arrays among the arguments are written in place.

    Raises LaunchError for a launch or arguments that do not fit, CompileError for code that is not simulated.
    """
    program = program_of(cubin, name, dynamic_shared)
    return run(program, Prepared.of(machine, grid, block, args), options or {})


def program_of(cubin: Cubin, name: str, dynamic_shared: int = 0) -> Program:
    """A kernel as the core's program, which makes its constant banks when it is launched."""
    image, lowered = cubin.kernels[name], lower_kernel(cubin, name)
    files = [i.file for i in read_kernel(cubin, name) if i.file]
    stack = _stack_bytes(image)
    return Program(
        name=name,
        filename=files[0] if files else "",
        code=lowered.code,
        uniforms=lowered.uniforms,
        nregs=lowered.layout.registers,
        npreds=PREDICATES,
        uniform_regs=lowered.layout.uniforms,
        shared_bytes=-(-image.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT + dynamic_shared,
        local_bytes=stack,
        const=bytes(lowered.constant_bytes),
        pack=partial(_pack, cubin, image, lowered, dynamic_shared, stack),
    )


def _stack_bytes(image: KernelImage) -> int:
    """Local memory of a thread: what calls need, or where they may go on for ever, what a driver gives."""
    known = image.min_stack if image.min_stack != UNKNOWN_STACK else 0
    least = DEFAULT_STACK if image.min_stack == UNKNOWN_STACK else 0
    return -(-max(known, image.frame_bytes + least) // 16) * 16


def _pack(
    cubin: Cubin,
    image: KernelImage,
    lowered: Lowered,
    dynamic_shared: int,
    stack: int,
    program: Program,
    values: Sequence[Any],
    grid: Dim3,
    block: Dim3,
) -> Arguments:
    """Buffers of the arrays and of the module's variables, and the constant segment."""
    if len(values) != len(image.parameters):
        raise LaunchError(f"{image.name} takes {len(image.parameters)} values, {len(values)} given")
    variables = np.zeros(max(cubin.globals_bytes, 1), np.uint8)
    variables[: len(cubin.globals_image)] = np.frombuffer(cubin.globals_image, np.uint8)
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    *starts, base = place([*arrays, variables])
    buffers: list[Any] = []
    addresses: list[int] = []
    parameters = bytearray(image.param_bytes)
    for parameter, value in zip(sorted(image.parameters, key=lambda p: p.ordinal), values, strict=True):
        if isinstance(value, np.ndarray):
            start, (low, high) = starts[len(addresses)], extent(value)
            buffers.append((as_bytes(value, low, high - low), start, high - low, bool(value.flags.writeable)))
            addresses.append(start + value.ctypes.data - low)
            data = struct.pack("<Q", addresses[-1])
        else:
            data = _scalar(parameter, value)
        if len(data) != parameter.size:
            raise LaunchError(
                f"argument {parameter.ordinal} of {image.name} has {parameter.size} bytes, not {len(data)}"
            )
        parameters[parameter.offset : parameter.offset + parameter.size] = data
    if cubin.globals_bytes:
        buffers.append((variables, base, cubin.globals_bytes, True))
    const = _banks(cubin, image, lowered, bytes(parameters), base, dynamic_shared, stack, grid, block)
    return Arguments((), tuple(arrays), tuple(buffers), tuple(addresses), const)


def _scalar(parameter: Parameter, value: Any) -> bytes:
    """The bytes of a scalar argument: of a NumPy scalar its own, of a Python number as many as the parameter has."""
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, float):
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[parameter.size], value)
        number = int(value) if isinstance(value, bool) else value.__index__()
        signed = number < 0
        return int(number).to_bytes(parameter.size, "little", signed=signed)
    except (KeyError, OverflowError, AttributeError, struct.error):
        raise LaunchError(
            f"argument {parameter.ordinal} has {parameter.size} bytes, which {value!r} does not fit: "
            "pass a NumPy scalar of the parameter's type"
        ) from None


def _banks(
    cubin: Cubin,
    image: KernelImage,
    lowered: Lowered,
    parameters: bytes,
    base: int,
    dynamic_shared: int,
    stack: int,
    grid: Dim3,
    block: Dim3,
) -> bytes:
    """The constant banks behind one another, as `Layout.banks` says."""
    whole = bytearray(lowered.constant_bytes)
    bank = lowered.layout.banks
    local = _core.SASS_FIELDS["LOCAL_HIGH"] << 32
    head = struct.pack("<6I", *block, *grid)
    whole[0 : len(head)] = head
    shared = _core.SASS_FIELDS["SHARED_HIGH"] << 32
    struct.pack_into("<QQII", whole, SHARED_WINDOW, shared, local, stack, dynamic_shared)
    whole[image.param_base : image.param_base + len(parameters)] = parameters
    for number, data in ((2, image.constant2), (3, cubin.constant3), (4, cubin.constant4)):
        whole[bank[number] : bank[number] + len(data)] = data
    for relocation in cubin.relocations:
        if relocation.section == "constant4" and relocation.space == "global":
            struct.pack_into("<Q", whole, bank[4] + relocation.offset, base + relocation.address)
    return bytes(whole)
