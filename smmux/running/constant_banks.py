"""The constant banks of compiled code, and its module's variables, as a driver fills them (spec/sass.md 1.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.base.dimensions import Dim3
from smmux.compiler.sass.cubin import Cubin, Relocation
from smmux.compiler.sass.lowering.kernel import HEAP_BYTES, Lowered
from smmux.errors import LaunchError

__all__ = ["Sizes", "constant_segment", "global_variables"]

SHARED_WINDOW, LOCAL_WINDOW, STACK, DYNAMIC_SHARED = 0x18, 0x20, 0x28, 0x2C
"""Bytes of constant bank 0: generic addresses of shared memory (up to sm_89) and of local memory, top of the stack,
dynamic shared bytes."""
SM_COUNT, CLUSTER, CLUSTERS = 0x10C, 0x144, 0x15C
"""SMs of the machine; from sm_90 on the sizes of a cluster, here of one block, and the number of clusters along x."""
WHOLE = (2, 4)
"""Kinds of relocations of 64 bits."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What bank 0 says of a launch. heap: where the first SM's part of the heap lies, and the bytes of each."""

    grid: Dim3
    block: Dim3
    stack: int
    dynamic_shared: int
    sms: int
    heap: tuple[int, int]


def constant_segment(cubin: Cubin, name: str, lowered: Lowered, parameters: bytes, sizes: Sizes) -> bytes:
    """The constant banks behind one another, as `Layout.banks` says, and the heap's place at the end."""
    image, bank = cubin.kernels[name], lowered.layout.banks
    whole = bytearray(lowered.constant_bytes)
    struct.pack_into("<6I", whole, 0, *sizes.block, *sizes.grid)
    shared, local = (_core.SASS_FIELDS[key] << 32 for key in ("SHARED_HIGH", "LOCAL_HIGH"))
    struct.pack_into("<QQII", whole, SHARED_WINDOW, shared, local, sizes.stack, sizes.dynamic_shared)
    struct.pack_into("<I", whole, SM_COUNT, sizes.sms)
    if cubin.arch >= 90:
        struct.pack_into("<3I", whole, CLUSTER, 1, 1, 1)
        struct.pack_into("<I", whole, CLUSTERS, sizes.grid[0])
    whole[image.param_base : image.param_base + len(parameters)] = parameters
    for number, data in ((2, image.constant2), (3, cubin.constant3), (4, cubin.constant4)):
        whole[bank[number] : bank[number] + len(data)] = data
    for relocation in cubin.relocations:
        number = {"constant2": 2, "constant3": 3, "constant4": 4}.get(relocation.section)
        if number is not None and relocation.kernel in ("", name):
            _relocate(whole, bank[number], relocation, lowered)
    struct.pack_into("<II", whole, lowered.constant_bytes - HEAP_BYTES, *sizes.heap)
    return bytes(whole)


def global_variables(cubin: Cubin, lowered: Lowered) -> NDArray[np.uint8]:
    """The module's variables as they are when it is loaded."""
    data = bytearray(max(cubin.globals_bytes, 1))
    data[: len(cubin.globals_image)] = cubin.globals_image
    for relocation in cubin.relocations:
        if relocation.section == "globals":
            _relocate(data, 0, relocation, lowered)
    return np.frombuffer(data, np.uint8)


def _relocate(data: bytearray, start: int, relocation: Relocation, lowered: Lowered) -> None:
    """Put an address in its place."""
    if relocation.kind not in WHOLE:
        raise LaunchError(f"a relocation of kind {relocation.kind} in {relocation.section} is not simulated")
    if relocation.space == "extern":
        number = _core.SASS_ROUTINES.get(relocation.symbol, 0xFFFFFFFF)  # one that is unknown cannot be called
        value = _core.SASS_FIELDS["ROUTINE_HIGH"] << 32 | number
    elif relocation.space == "constant":
        raise LaunchError(f"the address of the constant {relocation.symbol!r} is not simulated")
    else:
        value = lowered.linked.address_of(relocation)
    struct.pack_into("<Q", data, start + relocation.offset, value)
