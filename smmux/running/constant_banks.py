"""The constant banks of compiled code, and its module's variables, as a driver fills them (spec/sass.md 1.4)."""

from __future__ import annotations

import math
import reprlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.base.dimensions import Dim3
from smmux.compiler.instruction import Instruction, Operand
from smmux.compiler.sass.cubin import Cubin, Relocation, Variable
from smmux.compiler.sass.lowering.kernel import HEAP_BYTES, Lowered
from smmux.compiler.sass.lowering.link import constants_offset
from smmux.errors import LaunchError, did_you_mean

__all__ = [
    "SHARED_RESERVED",
    "Sizes",
    "constant_segment",
    "module_memory",
    "points_to_parameters",
    "size_in_register",
    "synchronises_grid",
    "uses_reserved",
    "variable_offset",
]

SHARED_WINDOW, LOCAL_WINDOW, STACK, DYNAMIC_SHARED = 0x18, 0x20, 0x28, 0x2C
"""Bytes of constant bank 0: generic addresses of shared memory (up to sm_89) and of local memory, top of the stack,
dynamic shared bytes."""
CONSTANT_WINDOW = (0x50, 0xD0)
"""Generic address of the constants, up to sm_89 and from sm_90 on."""
PARAMETER_WINDOW = (0x40, 0x198)
"""Generic address of bank 0 up to sm_89, of the parameters from sm_90 on: `__grid_constant__` ones have pointers."""
SM_COUNT = 0x10C
"""SMs of the machine."""
ASKED_CLUSTER, CLUSTERS, CLUSTER_BLOCKS = 0x140, 0x15C, 0x188
"""From sm_90 on: whether the kernel asks for clusters, the sizes of one in blocks, one by each of them as a
float, the grid in clusters, and the blocks of one (read on an H200, as are the bytes of shared memory below)."""
SHARED_RESERVED, SHARED_USED = 1024, 288
"""Bytes of shared memory that a driver reserves of each block from sm_80 on, and those in use there, by tiles of
several warps. They lie in front of the kernel's own from sm_90 on, and behind them before."""
RESERVED_SIZE, RESERVED_END, RESERVED_FIRST = 0x114, (0x120, 0x68), (0x124, 0x6C)
"""What they are; where those in use end, and where they begin, before sm_90 and from there on."""
SHARED_WHOLE = 0x13C
"""From sm_90 on: all bytes of shared memory of a block."""
GRID_WORKSPACE = (0x8C, 0x44)
"""Address of what the barrier of a whole grid counts in, up to sm_89 and from sm_90 on: two environment registers, the
high word first."""
WHOLE = (2, 4)
"""Kinds of relocations of 64 bits."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What bank 0 says of a launch. heap: where the first SM's part of the heap lies, and the bytes of each. workspace:
    the address of the grid's barrier, or 0. parameters: that of a copy of the parameters in device memory, or 0.
    shared: bytes of a block, with those that are reserved, if there are any."""

    grid: Dim3
    block: Dim3
    stack: int
    dynamic_shared: int
    sms: int
    heap: tuple[int, int]
    workspace: int = 0
    parameters: int = 0
    shared: int = 0


def constant_segment(
    cubin: Cubin, name: str, lowered: Lowered, parameters: bytes, constants: bytes, sizes: Sizes
) -> bytes:
    """The constant banks behind one another, as `Layout.banks` says, and the heap's place at the end. constants: the
    module's, bank 3."""
    image, bank = cubin.kernels[name], lowered.layout.banks
    whole = bytearray(lowered.constant_bytes)
    struct.pack_into("<6I", whole, 0, *sizes.block, *sizes.grid)
    shared, local = (_core.SASS_FIELDS[key] << 32 for key in ("SHARED_HIGH", "LOCAL_HIGH"))
    struct.pack_into("<QQII", whole, SHARED_WINDOW, shared, local, sizes.stack, sizes.dynamic_shared)
    struct.pack_into("<I", whole, SM_COUNT, sizes.sms)
    if cubin.arch >= 90:
        _pack_clusters(whole, image.cluster, sizes.grid)
    if cubin.arch >= 80:
        _pack_shared(whole, cubin, name, sizes)
    if sizes.workspace:
        high, low = divmod(sizes.workspace, 1 << 32)
        struct.pack_into("<II", whole, GRID_WORKSPACE[cubin.arch >= 90], high, low)
    struct.pack_into("<Q", whole, CONSTANT_WINDOW[cubin.arch >= 90], lowered.linked.constants)
    if sizes.parameters:
        first = sizes.parameters - (0 if cubin.arch >= 90 else image.param_base)
        struct.pack_into("<Q", whole, PARAMETER_WINDOW[cubin.arch >= 90], first)
    whole[image.param_base : image.param_base + len(parameters)] = parameters
    for number, data in ((2, image.constant2), (3, constants), (4, cubin.constant4)):
        whole[bank[number] : bank[number] + len(data)] = data
    for relocation in cubin.relocations:
        place = {"constant2": bank[2], "constant4": bank[4]}.get(relocation.section)
        if place is not None and relocation.kernel in ("", name):
            _relocate(whole, place, relocation, lowered)
    struct.pack_into("<II", whole, lowered.constant_bytes - HEAP_BYTES, *sizes.heap)
    return bytes(whole)


def _pack_clusters(bank: bytearray, asked: Dim3 | None, grid: Dim3) -> None:
    """Write what bank 0 says of clusters from sm_90 on. asked: the size that the kernel asks for, if it does."""
    cluster = asked or (1, 1, 1)
    struct.pack_into("<4I3f", bank, ASKED_CLUSTER, asked is not None, *cluster, *(1 / blocks for blocks in cluster))
    struct.pack_into("<3I", bank, CLUSTERS, *(n // each for n, each in zip(grid, cluster, strict=True)))
    struct.pack_into("<I", bank, CLUSTER_BLOCKS, math.prod(cluster))


def _pack_shared(bank: bytearray, cubin: Cubin, name: str, sizes: Sizes) -> None:
    """Write what bank 0 says of a block's shared memory from sm_80 on: where the driver's part of it lies."""
    newer = cubin.arch >= 90
    first = 0 if newer else max(sizes.shared - SHARED_RESERVED, 0)
    struct.pack_into("<I", bank, RESERVED_SIZE, SHARED_RESERVED)
    struct.pack_into("<I", bank, RESERVED_END[newer], first + SHARED_USED)
    struct.pack_into("<I", bank, RESERVED_FIRST[newer], first)
    if newer:
        own = own_shared_bytes(cubin, name) + sizes.dynamic_shared
        struct.pack_into("<I", bank, SHARED_WHOLE, SHARED_RESERVED + own)


def own_shared_bytes(cubin: Cubin, name: str) -> int:
    """The bytes of a kernel's static arrays in shared memory, in front of which compilers leave room from sm_90 on."""
    whole = cubin.kernels[name].shared_bytes
    return max(whole - SHARED_RESERVED, 0) if cubin.arch >= 90 else whole


def size_in_register(cubin: Cubin, name: str, dynamic_shared: int) -> int:
    """What SR_SMEMSZ says of a block: the bytes that it takes, in the units of CUDA's occupancy tables, which an H200
    keeps to (tests/sass/test_shared.py)."""
    unit, reserved = (128, SHARED_RESERVED) if cubin.arch >= 80 else (256, 0)
    return -(-(own_shared_bytes(cubin, name) + dynamic_shared) // unit) * unit + reserved


def synchronises_grid(cubin: Cubin, instructions: Sequence[Instruction]) -> bool:
    """Whether code asks for the barrier of the whole grid, which a cooperative launch has."""
    return _reads(instructions, GRID_WORKSPACE[cubin.arch >= 90])


def points_to_parameters(cubin: Cubin, instructions: Sequence[Instruction]) -> bool:
    """Whether code has pointers to the parameters, which lie in memory for these."""
    return _reads(instructions, PARAMETER_WINDOW[cubin.arch >= 90])


def uses_reserved(cubin: Cubin, instructions: Sequence[Instruction]) -> bool:
    """Whether code asks where the shared memory lies that the driver reserves, or may do so: -G puts the places of bank
    0 into registers."""
    newer = cubin.arch >= 90
    places = {RESERVED_END[newer], RESERVED_FIRST[newer], *(() if newer else (RESERVED_SIZE,))}
    return cubin.arch >= 80 and any(
        operand.offset in places or (operand.register is not None and not operand.offset)
        for operand in _of_bank(instructions)
    )


def _reads(instructions: Sequence[Instruction], offset: int) -> bool:
    """Whether code reads that place of constant bank 0."""
    return any(operand.offset == offset for operand in _of_bank(instructions))


def _of_bank(instructions: Sequence[Instruction]) -> Iterator[Operand]:
    """The operands of code that lie in constant bank 0."""
    for instruction in instructions:
        yield from (operand for operand in instruction.operands if operand.kind == "const" and operand.bank == 0)


def module_memory(cubin: Cubin, lowered: Lowered, given: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """The module's variables as they lie in device memory when it is loaded, constants behind the others.

    given: contents of variables by name. LaunchError for one that is none of the module's, or has another size.
    """
    start = constants_offset(cubin)
    data = bytearray(max(start + len(cubin.constant3), 1))
    data[: len(cubin.globals_image)] = cubin.globals_image
    data[start : start + len(cubin.constant3)] = cubin.constant3
    for relocation in cubin.relocations:
        if relocation.section in ("globals", "constant3"):
            _relocate(data, start if relocation.section == "constant3" else 0, relocation, lowered)
    for name, values in given.items():
        if name not in cubin.globals_:
            raise LaunchError(f"{name!r} is no variable of the module{did_you_mean(name, cubin.globals_)}")
        variable = cubin.globals_[name]
        if not isinstance(values, np.ndarray):
            raise LaunchError(f"variable {name!r} needs an array, not {reprlib.repr(values)}")
        if values.nbytes != variable.size:
            raise LaunchError(f"variable {name!r} has {variable.size} bytes: {values.nbytes} are given")
        at = variable_offset(cubin, variable)
        data[at : at + variable.size] = values.tobytes()
    return np.frombuffer(data, np.uint8)


def variable_offset(cubin: Cubin, variable: Variable) -> int:
    """Where a variable begins in the module's device memory."""
    return variable.address + (constants_offset(cubin) if variable.space == "constant" else 0)


def _relocate(data: bytearray, start: int, relocation: Relocation, lowered: Lowered) -> None:
    """Put an address in its place."""
    if relocation.kind not in WHOLE:
        raise LaunchError(f"a relocation of kind {relocation.kind} in {relocation.section} is not simulated")
    if relocation.space == "extern":
        number = _core.SASS_ROUTINES.get(relocation.symbol, 0xFFFFFFFF)  # one that is unknown cannot be called
        value = _core.SASS_FIELDS["ROUTINE_HIGH"] << 32 | number
    else:
        value = lowered.linked.address_of(relocation)
    struct.pack_into("<Q", data, start + relocation.offset, value)
