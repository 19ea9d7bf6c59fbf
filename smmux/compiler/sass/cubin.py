"""Compiled GPU code of one architecture (a cubin), read from its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cubin", "KernelImage", "Parameter", "Relocation", "Variable", "read_cubin"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: its bytes lie at `param_base + offset` of constant bank 0."""

    ordinal: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module. address: bytes from the start of its segment, `Cubin.globals_image` for space "global",
    `Cubin.constant3` for space "constant". initial: its bytes at the start."""

    name: str
    space: str
    address: int
    size: int
    initial: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place that gets an address when the module is loaded.

    section: "constant3", "constant4", "globals", or "constant2" and "text" with the kernel's name behind a dot, the
    bytes being at `offset`. kind: R_CUDA_* number (2: 64 bits). symbol: its name. space: where the symbol lies,
    "global", "constant", "shared", "text", or "extern" if the module does not define it; address: bytes from the start
    of that segment, with the addend.
    """

    section: str
    offset: int
    kind: int
    symbol: str
    addend: int
    space: str
    address: int


@dataclass(frozen=True)
class KernelImage:
    """An entry point, as the driver would load it. Sizes and addresses are in bytes.

    words: n x 2, uint64, the code with the functions that it calls; low word first. registers: per thread.
    param_base: where the parameters begin in constant bank 0. shared_bytes: static, with what the architecture
    reserves in front. frame_bytes: of the entry's own frame; min_stack: of the deepest chain of calls. barriers: named
    barriers in use. max_threads: of `__launch_bounds__`. required_block: of `.reqntid`. indirect_targets: by the
    address of an indirect branch. externs: by the address of the call, or by its slot if only that is known.
    functions: address and size of each function within `words`, by symbol.
    """

    name: str
    words: NDArray[np.uint64] = field(repr=False)
    registers: int
    parameters: tuple[Parameter, ...]
    param_base: int
    param_bytes: int
    shared_bytes: int
    frame_bytes: int
    barriers: int
    max_threads: int | None
    required_block: tuple[int, int, int] | None
    constant2: bytes = field(repr=False)
    indirect_targets: Mapping[int, tuple[int, ...]]
    externs: Mapping[int, str]
    min_stack: int
    functions: Mapping[str, tuple[int, int]]
    cluster: tuple[int, int, int] | None
    attributes: Mapping[int, tuple[bytes, ...]] = field(repr=False)


@dataclass(frozen=True)
class Cubin:
    """A module of one architecture.

    arch: 90 for sm_90. globals_image: initial bytes of all global variables, as one segment; a variable's address is an
    offset in it. externs: symbols that the module uses and does not define, such as `vprintf`.
    """

    arch: int
    kernels: Mapping[str, KernelImage]
    constant3: bytes = field(repr=False)
    constant4: bytes = field(repr=False)
    globals_: Mapping[str, Variable]
    globals_image: bytes = field(repr=False)
    relocations: tuple[Relocation, ...]
    externs: tuple[str, ...]
    data: bytes = field(repr=False)


def read_cubin(data: bytes) -> Cubin:
    """A cubin from its bytes; ConfigError if they are damaged or of another kind."""
    raise NotImplementedError
