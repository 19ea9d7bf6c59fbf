"""Compiled GPU code as a module with kernels: loaded from CUDA C++, PTX, cubins, fatbins and executables.

>>> module = load("kernels.cu", arch="sm_90")  # doctest: +SKIP
>>> module["saxpy"].registers, module["saxpy"].instructions[0].opcode  # doctest: +SKIP
(10, 'LDC')
"""

from __future__ import annotations

import html
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

from numpy.typing import NDArray

from smmux import gpus
from smmux.base.counted import counted
from smmux.base.files_read import note_file
from smmux.base.tracebacks import brief
from smmux.compiler.instruction import Instruction
from smmux.compiler.pages import listing
from smmux.compiler.sass import tools
from smmux.compiler.sass.cubin import Cubin, KernelImage, Parameter, read_cubin, with_kinds
from smmux.compiler.sass.elf import MACHINE, is_object
from smmux.compiler.sass.listing import read_kernel
from smmux.compiler.sass.mangled_names import demangle, plain_name
from smmux.errors import ConfigError, LaunchError, did_you_mean, integer
from smmux.gpus import Gpu
from smmux.results.result import Result
from smmux.running.compiled import DEFAULT_STACK, simulate
from smmux.running.launch_options import LaunchOptions, documented

__all__ = ["CompiledKernel", "Module", "load", "module_of", "named_arguments"]

LANGUAGES = ("cuda", "ptx")
FATBIN, ELF, ARCHIVE = b"\x50\xed\x55\xba", b"\x7fELF", b"!<arch>\n"
MOST_BYTES = 1 << 31
"""Bytes of a file that is read whole."""


def _check(given: object, kind: type, what: str) -> None:
    """Refuse what is of another kind."""
    if not isinstance(given, kind):
        raise LaunchError(f"{what}, not {reprlib.repr(given)}")


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel of compiled GPU code.

    name: as in the source. mangled: the linker's. signature: with types, where a tool knows them. image: what the
    driver would load. cubin: its module's. sources: texts that no file has, by the name that lines give them.
    dynamic_shared: bytes of dynamic shared memory that a launch must have, where the compiler says so, as Triton does.
    expand: what makes the kernel's parameters of a user's arguments, each with what errors call it, where the compiler
    passes an array as several.
    """

    name: str
    mangled: str
    signature: str
    image: KernelImage = field(repr=False)
    cubin: Cubin = field(repr=False)
    sources: Mapping[str, str] = field(repr=False, default_factory=dict)
    dynamic_shared: int = 0
    expand: Callable[[Sequence[Any]], Sequence[tuple[str, Any]]] | None = field(default=None, repr=False)

    @property
    def arch(self) -> str:
        """The architecture, as `sm_90`."""
        return f"sm_{self.cubin.arch}"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Ordinal, offset and bytes of each parameter."""
        return self.image.parameters

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return self.image.registers

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block, with what the architecture reserves in front of it."""
        return self.image.shared_bytes

    @brief
    @documented
    def simulate(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        gpu: str | Gpu = gpus.COMPILED,
        dynamic_shared: int | None = None,
        variables: Mapping[str, NDArray[Any]] | None = None,
        stack: int = DEFAULT_STACK,
        **options: Unpack[LaunchOptions],
    ) -> Result:
        """Run the kernel and return the Result; NumPy arrays among the arguments are written in place.

        args: an array for a pointer; a NumPy scalar, also a structured one, for a value, or a Python number, which
        gets its parameter's type, or where only a cubin is there its bytes. dynamic_shared: bytes behind the static
        shared memory; None: as many as the compiler says. variables: contents of the module's variables by name, which
        are written back for those of device memory; each launch begins with them as the module has them. stack: bytes
        of a thread's stack for recursion and `alloca`, of which the compiler does not know how many they need
        (cudaLimitStackSize on a card). gpu: the machine, by default an H100.

        Raises LaunchError for arguments or a launch that do not fit, CompileError for code that is not simulated, with
        the place of each such instruction, and other subclasses of KernelError for failures in the kernel.
        """
        _check(args, Iterable, "args is a list of the kernel's arguments")
        _check(variables or {}, Mapping, "variables is arrays by name")
        asked = self.dynamic_shared if dynamic_shared is None else dynamic_shared
        shared = integer("dynamic_shared", asked, 0, 1 << 20)
        named = self.expand(args) if self.expand else [(f"argument {n}", value) for n, value in enumerate(args)]
        names, values = [name for name, _ in named], [value for _, value in named]
        launch = (self.cubin, self.mangled, gpus.get(gpu), grid, block, values, shared, options, variables)
        room = integer("stack", stack, 0, 1 << 19)
        return simulate(*launch, self.name, self.sources, names, room)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions, with the functions that the kernel calls; instruction i lies at address 16 i.

        Raises ConfigError where the disassembler is missing, or does not understand the code.
        """
        return read_kernel(self.cubin, self.mangled)

    def fingerprint(self) -> tuple[object, ...]:
        """What stands for the kernel where records are kept of its runs: the compiled code, not its lines' texts."""
        return (self.mangled, self.cubin.digest, self.dynamic_shared)

    def listing(self) -> str:
        """The instructions as text, under the lines of source that they come from."""
        return listing(self.instructions, self.summary, self.sources)

    @property
    def summary(self) -> str:
        """One line: name, architecture, registers, shared memory, parameters."""
        sizes = ", ".join(str(parameter.size) for parameter in self.parameters)
        return (
            f"{self.signature} for {self.arch}: {self.registers} registers, "
            f"{self.shared_bytes} bytes of shared memory, {self.image.frame_bytes} bytes of stack, "
            f"parameters of {sizes or 'no'} bytes"
        )

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.cubin, dict(self.sources), self.dynamic_shared, self.expand)
        return _kernel_again, (self.name, self.mangled, self.signature, *rest)


@dataclass(frozen=True, eq=False)
class Module:
    """Kernels that were loaded together, in `kernels` by their mangled names.

    `module["saxpy"]` is one of them, by its name in the source if only one has it, or by its mangled name, or by its
    name with types or arguments of the template. Iterating gives all of them.
    """

    name: str
    cubins: tuple[Cubin, ...] = field(repr=False)
    kernels: Mapping[str, CompiledKernel] = field(repr=False)

    @property
    def arch(self) -> str:
        """The architecture, as `sm_90`."""
        return f"sm_{self.cubins[0].arch}"

    def __getitem__(self, name: str) -> CompiledKernel:
        if not isinstance(name, str):
            raise ConfigError(f"{self.name} has its kernels by name, not by {name!r}; list(module) has them in turn")
        if name in self.kernels:
            return self.kernels[name]
        found = [kernel for kernel in self.kernels.values() if _plain(name) in _names(kernel)]
        whole = [
            k for k in found if _plain(name) in (_plain(k.signature), _plain(_short(k.signature))) and name != k.name
        ]
        if len(whole or found) == 1:  # not one that has further namespaces
            return (whole or found)[0]
        if found:
            raise ConfigError(f"{self.name} has {len(found)} kernels {name!r}: {', '.join(_apart(found))}")
        plain = re.split("[<(]", name)[0].rpartition("::")[2].strip()
        alike = [kernel for kernel in self.kernels.values() if kernel.name == plain]
        known = _apart(alike) if alike else dict.fromkeys([kernel.name for kernel in self.kernels.values()])
        raise ConfigError(
            f"{self.name} has no kernel {name!r}; it has {', '.join(known) or 'none'}{did_you_mean(name, known)}"
        )

    def __iter__(self) -> Iterator[CompiledKernel]:
        return iter(self.kernels.values())

    def __len__(self) -> int:
        return len(self.kernels)

    def __repr__(self) -> str:
        lines = [f"{self.name}, {self.arch}: {counted(len(self), 'kernel')}"]
        lines += [f"  {' '.join(row)}" for row in self._rows()]
        return "\n".join(lines)

    def fingerprint(self) -> tuple[object, ...]:
        """What stands for the module where records are kept of its runs."""
        return tuple(cubin.digest for cubin in self.cubins)

    def __reduce__(self) -> tuple[Any, ...]:
        return _module_again, (self.name, self.cubins, list(self))

    def _rows(self) -> list[list[str]]:
        """The table of kernels, each column as wide as its longest text."""
        rows = [
            [
                kernel.signature,
                f"{kernel.registers} registers",
                f"{kernel.shared_bytes} B shared",
                f"{len(kernel.image.words)} instructions",
                f"parameters: {', '.join(f'{p.size} B' for p in kernel.parameters) or 'none'}",
            ]
            for kernel in self
        ]
        widths = [min(max(map(len, column)), 60) for column in zip(*rows, strict=True)]
        return [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in rows]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("kernel", "registers", "shared", "code", "parameters"))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text.strip())}</td>" for text in row) + "</tr>" for row in self._rows()
        )
        caption = html.escape(f"{self.name}, {self.arch}")
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def load(
    source: str | os.PathLike[str] | bytes,
    arch: str = "sm_90",
    options: Sequence[str] = (),
    language: str | None = None,
) -> Module:
    """Kernels of compiled GPU code.

    source: a file of CUDA C++ (`.cu`), PTX, a cubin, a fatbin, an object or an executable that holds GPU code; bytes
    of a cubin; or a text of CUDA C++ or PTX. arch: the architecture to compile for, or to take out of a file that has
    several; a cubin has its own. options: further ones for nvcc or ptxas, such as `["--use_fast_math"]`. language:
    "cuda" or "ptx", for a text that does not show it.

    Raises CompileError with the compiler's messages, ConfigError for a missing tool, with the command that installs
    it, and for a file that is damaged or has no code for the architecture.
    """
    arch = _arch(arch)
    if isinstance(options, str):
        raise ConfigError(f"options={options!r} is one string: pass a list of them, such as {options.split()!r}")
    if isinstance(source, str) and not source.strip():
        raise ConfigError("there is nothing to load: the source is empty")
    if language is not None and language not in LANGUAGES:
        raise ConfigError(f"language={language!r} is neither 'cuda' nor 'ptx'")
    if isinstance(source, bytes):
        if not source.startswith(ELF) or int.from_bytes(source[18:20], "little") != MACHINE:
            raise ConfigError("these bytes are no cubin: pass PTX and CUDA C++ as text, and other files by their path")
        return module_of([source], "<bytes>")
    if isinstance(source, str) and ("\n" in source or "{" in source or (language and not Path(source).is_file())):
        return _from_text(source, arch, options, language or _language(source), "<text>")
    path = Path(source)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{path} is too large")
        content = path.read_bytes()
        note_file(path, content)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if content.startswith(ELF) and int.from_bytes(content[18:20], "little") == MACHINE:
        return module_of([content], path.name)
    if content.startswith((ELF, FATBIN, ARCHIVE)):
        return module_of(tools.extract(path, arch), path.name)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is neither GPU code nor the text of a program") from None
    if (language or ("ptx" if path.suffix == ".ptx" else _language(text))) == "ptx":
        made = tools.assemble(text, arch, options, str(path))
        return module_of([made], path.name, kinds=tools.parameter_kinds(text), ptx=str(path.resolve()))
    cubin, kinds = tools.compile_cuda(path, arch, options)
    return module_of([cubin], path.name, kinds=kinds)


def module_of(
    cubins: Sequence[bytes],
    name: str,
    sources: Mapping[str, str] | None = None,
    kinds: Mapping[str, Sequence[str]] | None = None,
    ptx: str = "<ptx>",
) -> Module:
    """The module of some cubins. kinds: types of parameters, by the linker's name of the kernel. ptx: the file of lines
    that are none of a source."""
    linked = _linked([read_cubin(data) for data in cubins])
    read = tuple(replace(with_kinds(cubin, kinds or {}), ptx=ptx) for cubin in linked)
    kernels: dict[str, CompiledKernel] = {}
    for cubin in read:
        signatures = demangle(tuple(cubin.kernels))
        for (mangled, image), signature in zip(cubin.kernels.items(), signatures, strict=True):
            kernels[mangled] = CompiledKernel(plain_name(mangled), mangled, signature, image, cubin, sources or {})
    return Module(name, read, MappingProxyType(kernels))


def _kernel_again(name: str, mangled: str, signature: str, cubin: Cubin, *rest: Any) -> CompiledKernel:
    """A kernel in another process."""
    return CompiledKernel(name, mangled, signature, cubin.kernels[mangled], cubin, *rest)


def _module_again(name: str, cubins: tuple[Cubin, ...], kernels: Sequence[CompiledKernel]) -> Module:
    return Module(name, cubins, MappingProxyType({kernel.mangled: kernel for kernel in kernels}))


def _linked(cubins: Sequence[Cubin]) -> list[Cubin]:
    """Cubins of which those that can be linked are one."""
    objects = [cubin for cubin in cubins if is_object(cubin.data)]
    if not objects:
        return list(cubins)
    whole = read_cubin(tools.link_objects([cubin.data for cubin in objects], objects[0].arch))
    return [*(cubin for cubin in cubins if not is_object(cubin.data)), whole]


def named_arguments(names: Sequence[str], args: Sequence[Any]) -> list[tuple[str, Any]]:
    """Each argument of a Python function with its name; LaunchError for too few or too many."""
    if len(args) != len(names):
        raise LaunchError(f"the kernel takes {len(names)} arguments ({', '.join(names)}), {len(args)} given")
    return list(zip(names, args, strict=True))


def _from_text(text: str, arch: str, options: Sequence[str], language: str, name: str) -> Module:
    """The module of a program given as text."""
    if language == "ptx":
        made = tools.assemble(text, arch, options, name)
        return module_of([made], name, {name: text}, tools.parameter_kinds(text), name)
    cubin, kinds = tools.compile_cuda(Path(name), arch, options, text)
    return module_of([cubin], name, {name: text}, kinds)


def _language(text: str) -> str:
    """PTX begins with its version."""
    return "ptx" if re.search(r"^\s*\.version\s+\d", text, re.MULTILINE) else "cuda"


def _arch(arch: str) -> str:
    """The name of an architecture, checked."""
    if not re.fullmatch(r"sm_\d{2,3}[af]?", str(arch)):
        raise ConfigError(f"arch={arch!r} is no architecture such as 'sm_90'")
    return arch


def _names(kernel: CompiledKernel) -> set[str]:
    """Names under which a kernel is found, as `_plain` has them: with its parameters and without, also without the
    template's arguments, with all namespaces that it is in and with the inner ones, of which those without a name may
    be left out, as C++ does."""
    found = {_plain(kernel.name), _plain(kernel.signature)}
    for whole in {kernel.signature, kernel.signature.replace("(anonymous namespace)::", "")}:
        begin, end = _span(whole)
        starts = [begin, *(at + 2 for at in _outside(whole) if begin <= at < end and whole.startswith("::", at))]
        template = whole.find("<", starts[-1], end)
        ends = (end, len(whole), *([template] if template > 0 else []))
        found |= {_plain(whole[a:z]) for a in starts for z in ends}
    return found


def _apart(kernels: Sequence[CompiledKernel]) -> list[str]:
    """Names that tell kernels apart, with their parameters where those without are the same."""
    short = [_short(kernel.signature) for kernel in kernels]
    return short if len(set(short)) == len(short) else [k.signature[_span(k.signature)[0] :] for k in kernels]


def _plain(name: str) -> str:
    """A name without the spaces that nothing depends on."""
    return re.sub(r"\s+(?=\W)|(?<=\W)\s+", "", name.strip())


def _short(signature: str) -> str:
    """A signature without the result and the parameters: `matmul<16>`."""
    begin, end = _span(signature)
    return signature[begin:end]


def _span(signature: str) -> tuple[int, int]:
    """Where the name begins in a signature, behind the result, and where it ends: the parameters are the last
    parentheses."""
    depth, end = 0, len(signature)
    for index in range(len(signature) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(signature[index], 0)
        if signature[index] == "(" and not depth:
            end = index
            break
    return max((at + 1 for at in _outside(signature) if at < end and signature[at] == " "), default=0), end


def _outside(signature: str) -> list[int]:
    """Places of a signature that are in no brackets. In parentheses `<` and `>` may compare."""
    found, within = list[int](), ""
    for at, letter in enumerate(signature):
        if letter == ")" or (letter == ">" and within.endswith("<")):
            within = within[:-1]
        elif letter == "(" or (letter == "<" and not within.endswith("(")):
            within += letter
        elif not within:
            found.append(at)
    return found
