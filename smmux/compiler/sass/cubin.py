"""Compiled GPU code of one architecture (a cubin), read from its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.compiler.sass import kernel_attributes as info
from smmux.compiler.sass.elf import MOST_BYTES, Elf, Section, Symbol, damaged

__all__ = ["Cubin", "KernelImage", "Parameter", "Relocation", "Variable", "read_cubin", "with_kinds"]

ENTRY = 0x10
"""Bit of a symbol's `other`: a kernel."""
OBJECT, FUNCTION = 1, 2


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: its bytes lie at `param_base + offset` of constant bank 0. kind: its type in PTX, as
    `f32`, where the source said so; `[]` for structures."""

    ordinal: int
    offset: int
    size: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module. address: bytes from the start of its segment, that of the global variables for space
    "global", `Cubin.constant3` for space "constant". initial: its bytes at the start; empty: all of them are zero."""

    name: str
    space: str
    address: int
    size: int
    initial: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place that gets an address when the module is loaded.

    section: "constant3", "constant4" or "globals" (the segment of global variables), or "constant2" or "text" of the
    kernel; the bytes lie at `offset` of it. kind: R_CUDA_* number (2: 64 bits; 4: 64 bits, generic address). symbol:
    its name. space: where the symbol lies: "global", "constant", "shared", "text", or "extern" if the module does not
    define it; address: bytes from the start of that segment, with the addend.
    """

    section: str
    kernel: str
    offset: int
    kind: int
    symbol: str
    addend: int
    space: str
    address: int


@dataclass(frozen=True, eq=False)
class KernelImage:
    """An entry point, as the driver would load it. Sizes and addresses are in bytes.

    words: n x 2, uint64, the code with the functions that it calls; low word first. registers: per thread.
    param_base: where the parameters begin in constant bank 0. shared_bytes: static, with what the architecture
    reserves in front. frame_bytes: of the entry's own frame; min_stack: of the deepest chain of calls. barriers: named
    barriers in use. max_threads: of `__launch_bounds__`. required_block: of `.reqntid`. indirect_targets: by the
    address of an indirect branch. externs: names of routines outside the module that it calls, by the offset in
    constant bank 4 from which it loads their addresses; extern_calls: addresses of these calls. functions: address and
    size of each function within `words`, by symbol. attributes: all of them, by number.
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
    extern_calls: tuple[int, ...]
    min_stack: int
    functions: Mapping[str, tuple[int, int]]
    cluster: tuple[int, int, int] | None
    section: int
    attributes: Mapping[int, tuple[bytes, ...]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Cubin:
    """A module of one architecture.

    arch: 90 for sm_90. globals_image: the first bytes of the segment of global variables, which is zero from there to
    its length globals_bytes. externs: symbols that the module uses and does not define, such as `vprintf`.
    ptx: the file of PTX that code without lines of a source is of.
    """

    arch: int
    kernels: Mapping[str, KernelImage]
    constant3: bytes = field(repr=False)
    constant4: bytes = field(repr=False)
    globals_: Mapping[str, Variable]
    globals_image: bytes = field(repr=False)
    globals_bytes: int
    relocations: tuple[Relocation, ...]
    externs: tuple[str, ...]
    data: bytes = field(repr=False)
    ptx: str = "<ptx>"

    def __reduce__(self) -> tuple[Any, ...]:
        kinds = {name: [parameter.kind for parameter in of.parameters] for name, of in self.kernels.items()}
        return _again, (self.data, kinds, self.ptx)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.data).hexdigest()


def _again(data: bytes, kinds: Mapping[str, Sequence[str]], ptx: str) -> Cubin:
    """A module in another process."""
    return replace(with_kinds(read_cubin(data), kinds), ptx=ptx)


def read_cubin(data: bytes) -> Cubin:
    """A cubin from its bytes; ConfigError if they are damaged or of another kind."""
    return _Reader(Elf(data)).cubin(data)


class _Reader:
    """What a cubin's parts have to know of one another."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        module = info.read_attributes(self.data(".nv.info"))
        keys = (info.REGCOUNT, info.FRAME_SIZE, info.MIN_STACK_SIZE, info.MAX_STACK_SIZE)
        self.of_functions = {key: dict(info.by_symbol(module, key)) for key in keys}
        self.by_section: dict[int, list[Symbol]] = {}
        for symbol in elf.symbols:
            self.by_section.setdefault(symbol.section, []).append(symbol)
        self.global_base = self._global_base()
        self.relocated = tuple(self._relocations())

    def data(self, name: str) -> memoryview:
        """The bytes of a section, none if there is no such section."""
        section = self.elf.named.get(name)
        return section.data if section else memoryview(b"")

    def _global_base(self) -> dict[int, int]:
        """Where the sections of global variables begin in their segment, by index: first those with values."""
        bases, at = {}, 0
        for name in (".nv.global.init", ".nv.global"):
            if section := self.elf.named.get(name):
                at = -(-at // section.align) * section.align
                bases[section.index] = at
                at += section.size
        if at > MOST_BYTES:
            damaged("its global variables are too large")
        return bases

    def cubin(self, data: bytes) -> Cubin:
        """All of it."""
        arch = self.elf.flags >> 8 & 0xFF if self.elf.abi >= 8 else self.elf.flags & 0xFF
        sections = [self.elf.named.get(name) for name in (".nv.global.init", ".nv.global")]
        ends = [self.global_base[section.index] + section.size for section in sections if section]
        return Cubin(
            arch=arch,
            kernels={symbol.name: self._kernel(symbol) for symbol in self.elf.symbols if _is_kernel(symbol)},
            constant3=bytes(self.data(".nv.constant3")),
            constant4=bytes(self.data(".nv.constant4")),
            globals_={variable.name: variable for variable in self._variables()},
            globals_image=bytes(self.data(".nv.global.init")),
            globals_bytes=max(ends, default=0),
            relocations=self.relocated,
            externs=tuple(dict.fromkeys(r.symbol for r in self.relocated if r.space == "extern")),
            data=data,
        )

    def _section(self, symbol: Symbol) -> Section | None:
        """The section of a symbol."""
        return self.elf.sections[symbol.section] if 0 < symbol.section < len(self.elf.sections) else None

    def _variables(self) -> Iterator[Variable]:
        """The module's variables."""
        for symbol in self.elf.symbols:
            section = self._section(symbol)
            if symbol.kind != OBJECT or section is None or not self._holds_variables(section):
                continue
            if symbol.value + symbol.size > section.size:
                damaged(f"variable {symbol.name!r} lies beyond its section")
            initial = bytes(section.data[symbol.value : symbol.value + symbol.size])
            if section.index in self.global_base:
                address = self.global_base[section.index] + symbol.value
                yield Variable(symbol.name, "global", address, symbol.size, initial)
            else:
                yield Variable(symbol.name, "constant", symbol.value, symbol.size, initial)

    def _holds_variables(self, section: Section) -> bool:
        """Whether a section has variables of the module. In a kernel's section of shared memory an extern array may lie
        behind what the section has."""
        return section.index in self.global_base or section.name == ".nv.constant3"

    def _relocations(self) -> Iterator[Relocation]:
        """What is relocated in code and data."""
        for section in self.elf.sections:
            part, kernel = _part(section.name)
            if not part:
                continue
            base = self.global_base.get(section.index, 0)
            for offset, kind, symbol, addend in self.elf.relocations(section.name):
                space, address = self._place(symbol)
                if offset >= section.size:
                    damaged(f"a relocation lies beyond {section.name}")
                yield Relocation(part, kernel, base + offset, kind, symbol.name, addend, space, address + addend)

    def _place(self, symbol: Symbol) -> tuple[str, int]:
        """Space and address of a symbol."""
        section = self._section(symbol)
        if section is None:
            return "extern", 0
        if section.index in self.global_base:
            return "global", self.global_base[section.index] + symbol.value
        kinds = {".nv.constant": "constant", ".nv.shared": "shared", ".text.": "text"}
        return next((kind for start, kind in kinds.items() if section.name.startswith(start)), "other"), symbol.value

    def _kernel(self, symbol: Symbol) -> KernelImage:
        """The kernel of a symbol."""
        name, text = symbol.name, self._section(symbol)
        if text is None or text.kind != 1 or len(text.data) % 16 or not len(text.data) or symbol.value:
            damaged(f"kernel {name!r} has no code")
        own = info.read_attributes(self.data(f".nv.info.{name}"))
        base, size = self._parameter_bank(own, name)
        parameters = tuple(Parameter(*found) for found in info.parameters(own))
        if any(p.offset + p.size > size or p.ordinal != i for i, p in enumerate(parameters)):
            damaged(f"the parameters of kernel {name!r} lie beyond their space")
        shared, most = self.elf.named.get(f".nv.shared.{name}"), info.triple(own, info.MAX_THREADS)
        return KernelImage(
            name=name,
            words=np.frombuffer(text.data, "<u8").reshape(-1, 2),
            registers=self._of(symbol, info.REGCOUNT) or text.info >> 24,
            parameters=parameters,
            param_base=base,
            param_bytes=size,
            shared_bytes=shared.size if shared else 0,
            frame_bytes=self._of(symbol, info.FRAME_SIZE),
            barriers=info.number(own, info.NUM_BARRIERS) or text.flags >> 20 & 0x7F,
            max_threads=most[0] * most[1] * most[2] if most else None,
            required_block=info.triple(own, info.REQNTID),
            constant2=bytes(self.data(f".nv.constant2.{name}")),
            indirect_targets=info.indirect_targets(own),
            externs=self._externs(own),
            extern_calls=tuple(at for content in own.get(info.SYSCALL_OFFSETS, ()) for at in info.numbers(content)),
            min_stack=self._of(symbol, info.MIN_STACK_SIZE) or self._of(symbol, info.MAX_STACK_SIZE),
            functions=self._functions(text),
            cluster=info.triple(own, info.CTA_PER_CLUSTER),
            section=text.index,
            attributes={key: tuple(values) for key, values in own.items()},
        )

    def _parameter_bank(self, own: info.Attributes, name: str) -> tuple[int, int]:
        """Base and bytes of the parameters; a kernel without any has no attribute that says so."""
        for content in own.get(info.PARAM_CBANK, ()):
            values = info.numbers(content)
            if len(values) < 2:
                damaged(f"kernel {name!r} does not say where its parameters lie")
            return values[1] & 0xFFFF, values[1] >> 16
        return len(self.data(f".nv.constant0.{name}")), 0

    def _of(self, symbol: Symbol, key: int) -> int:
        """A function's value of an attribute of the whole module."""
        return self.of_functions[key].get(symbol.index, 0)

    def _externs(self, own: info.Attributes) -> dict[int, str]:
        """The routines outside that a kernel calls, by their slot in constant bank 4."""
        indices = {index for content in own.get(info.EXTERNS, ()) for index in info.numbers(content)}
        names = {self.elf.symbols[index].name for index in indices if index < len(self.elf.symbols)}
        slots = (r for r in self.relocated if r.section == "constant4" and r.space == "extern")
        return {r.offset: r.symbol for r in slots if r.symbol in names}

    def _functions(self, text: Section) -> dict[str, tuple[int, int]]:
        """The functions of a section of code."""
        found = {}
        for symbol in self.by_section[text.index]:
            if symbol.kind == FUNCTION:
                if symbol.value % 16 or symbol.value + symbol.size > text.size:
                    damaged(f"function {symbol.name!r} lies beyond its section")
                found[symbol.name] = (symbol.value, symbol.size)
        return found


def _is_kernel(symbol: Symbol) -> bool:
    return symbol.kind == FUNCTION and bool(symbol.other & ENTRY) and symbol.section > 0


def _part(section: str) -> tuple[str, str]:
    """How a relocation calls a section, and the kernel whose it is."""
    if section in (".nv.constant3", ".nv.constant4"):
        return section[4:], ""
    if section in (".nv.global.init", ".nv.global"):
        return "globals", ""
    for start, part in ((".nv.constant2.", "constant2"), (".text.", "text")):
        if section.startswith(start):
            return part, section[len(start) :]
    return "", ""


def with_kinds(cubin: Cubin, kinds: Mapping[str, Sequence[str]]) -> Cubin:
    """The module with the types of its kernels' parameters, by the kernel's name; those that are not known stay so."""
    return replace(cubin, kernels=MappingProxyType({name: _typed(of, kinds) for name, of in cubin.kernels.items()}))


def _typed(image: KernelImage, kinds: Mapping[str, Sequence[str]]) -> KernelImage:
    """A kernel with the types of its parameters."""
    own = kinds.get(image.name, ())
    if len(own) != len(image.parameters):
        return image
    typed = (replace(parameter, kind=kind) for parameter, kind in zip(image.parameters, own, strict=True))
    return replace(image, parameters=tuple(typed))
