"""Kernels: functions under `@cuda.jit`, compiled for the types of their arguments and launched on a machine."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Unpack

from smmux.base.tracebacks import brief
from smmux.errors import CompileError, ConfigError, LaunchError, boolean, did_you_mean, integer, no_attribute
from smmux.kernels.bound_kernel import BoundKernel
from smmux.kernels.overloads import Overload, Overloads, example
from smmux.language import typings
from smmux.language.kernel_only import KernelOnlyError
from smmux.language.signatures import Mismatch, as_declared
from smmux.running.device import device_time
from smmux.running.host import passed
from smmux.running.launch_options import OPTIONS, LaunchOptions, beyond_static, documented

if TYPE_CHECKING:
    from smmux.compiler.driver.requests import Request
    from smmux.compiler.program import Program
    from smmux.compiler.python import FunctionSource, Note
    from smmux.compiler.signature import Signature
    from smmux.gpus import Gpu
    from smmux.results.result import Result

    class SimulateOptions(LaunchOptions, total=False):
        """Keywords of `Kernel.simulate` beside its own: of the launch, and of the compiler."""

        join: bool
        unroll_limit: int
        fused_mad: bool
        latencies: Mapping[str, int] | Iterable[tuple[str, int]]
        typing: str


__all__ = ["BoundKernel", "Kernel", "definition_of", "from_source"]


class Kernel:
    """A kernel, or a device function, and its compiled forms.

    `kernel[grid, block](*args)` runs it on the current machine, NumPy arguments being written in place;
    `kernel.simulate(grid, block, args)` does the same and returns the Result.
    """

    def __init__(self, definition: FunctionSource, function: Any = None) -> None:
        self.definition = definition
        self.function = function
        self.__name__ = definition.name
        self.overloads = Overloads(self)
        if function is not None:
            update_wrapper(self, function)

    @property
    def source(self) -> str:
        """The kernel as Python text."""
        return self.definition.text

    @property
    def device(self) -> bool:
        """True for a function that only kernels can call."""
        return self.definition.device

    @property
    def py_func(self) -> Any:
        """The function under the decorator; None for a kernel made from text, which never runs as Python."""
        return self.function

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """The argument types for which there are programs: keys of `overloads`."""
        return list(self.overloads)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Refuse what Numba tells of its own compiler."""
            hint = "; kernel.ir(*args) is the listing" if name.startswith("inspect_") or name == "ptx" else ""
            raise no_attribute(lambda: f"a kernel has no attribute {name!r}{hint}{did_you_mean(name, dir(type(self)))}")

    def specialize(self, *args: Any) -> Kernel:
        """The kernel itself, compiled for these arguments, or for arguments of these types."""
        self.compile(args)
        return self

    def inspect_asm(self, signature: Any = None) -> Any:
        """The listing of the newest program for argument types, or a dict of all listings by argument types."""
        if signature is not None:
            return self.overloads[signature].inspect_asm()
        return self.overloads.facts_of_all(Overload.inspect_asm)

    def inspect_types(self, file: Any = None) -> None:
        """Print all listings, which show the types of all operations."""
        for text in self.inspect_asm().values():
            print(text, file=file or sys.stdout)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """32-bit registers of a thread, for argument types or as a dict by argument types."""
        return self.overloads.facts(lambda overload: overload.regs_per_thread, signature)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of shared memory that a block declares, for argument types or as a dict by argument types."""
        return self.overloads.facts(lambda overload: overload.shared_mem_per_block, signature)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local memory of a thread, for argument types or as a dict by argument types."""
        return self.overloads.facts(lambda overload: overload.local_mem_per_thread, signature)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant memory, for argument types or as a dict by argument types."""
        return self.overloads.facts(lambda overload: overload.const_mem_size, signature)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Most threads of a block, for argument types or as a dict by argument types."""
        return self.overloads.facts(lambda overload: overload.max_threads_per_block, signature)

    def __repr__(self) -> str:
        kind = "device function" if self.device else "kernel"
        return f"<{kind} {self.__name__} at {self.definition.filename}:{self.definition.node.lineno}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        """The kernel itself: like a function, it does not change."""
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle by name, as functions are, where the module has the kernel; else by source and the names it uses."""
        module = sys.modules.get(getattr(self.function, "__module__", None) or "")
        name = getattr(self.function, "__qualname__", "")
        return name if name and getattr(module, name, None) is self else super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("__wrapped__", "__annotations__")}
        return {**state, "function": None, "overloads": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "overloads": Overloads(self)})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a kernel is launched, a device function is called from kernels."""
        if self.device:
            raise KernelOnlyError(f"{self.__name__} is a device function: it is called from kernels")
        raise KernelOnlyError(f"kernel {self.__name__} needs a launch configuration: {self.__name__}[grid, block](...)")

    @brief
    def __getitem__(self, configuration: Any) -> BoundKernel:
        """`kernel[grid, block]`, and as in Numba a stream (ignored) and bytes of dynamic shared memory."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ConfigError(
                f"launch configuration of {self.__name__}: "
                "[grid, block], [grid, block, stream] or [grid, block, stream, bytes]"
            )
        grid, block, *rest = configuration
        return BoundKernel(self, grid, block, rest[1] if len(rest) > 1 else 0)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> BoundKernel:
        """A launch configuration like `kernel[griddim, blockdim, stream, sharedmem]`, under Numba's name."""
        return BoundKernel(self, griddim, blockdim, sharedmem)

    @brief
    def forall(self, ntasks: int, tpb: int = 128, stream: Any = 0, sharedmem: int = 0) -> BoundKernel:
        """A one-dimensional launch of at least `ntasks` threads."""
        if ntasks < 0:
            raise ConfigError(f"a launch for {ntasks} tasks: there cannot be fewer than none")
        threads = tpb or 128
        return BoundKernel(self, -(-ntasks // threads), threads, sharedmem, empty=ntasks == 0)

    @brief
    @documented
    def simulate(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        gpu: str | Gpu | None = None,
        *,
        schedule: str | None = None,
        max_registers: int | None = None,
        min_blocks: int | None = None,
        dynshared: int = 0,
        narrow: bool = False,
        **options: Unpack[SimulateOptions],
    ) -> Result:
        """Run the kernel on a machine and return the Result; arrays are written in place.

        schedule: "source" keeps the program's order, "list" orders instructions for the machine's latencies, with no
        registers that cost a block which resides on an SM in program order; None for the machine's own
        (`gpu.schedule`). Neither moves what one thread of a warp stores past what another one may load or store there.
        max_registers: the most 32-bit registers of a thread; values beyond them go to local memory. None for the
        machine's limit, so that the kernel has what it needs. min_blocks: blocks for which an SM is to have registers,
        as the second number of CUDA's __launch_bounds__; a thread has fewer if need be, as with max_registers.
        dynshared: bytes of shared memory for arrays of shape 0.
        narrow: arguments of 64 bits have 32 on the machine, which is faster; results are widened, and a warning names
        them. Other keywords are options of the run, listed below, and of the compiler
        (`smmux.compiler.options.Options`: join, unroll_limit, ...).

        Raises ConfigError for an option without meaning, CompileError for a kernel outside the language, LaunchError
        for a launch that does not fit the machine, and other subclasses of KernelError for failures in the kernel.
        """
        from smmux import gpus
        from smmux.compiler.driver.requests import Request, split
        from smmux.language.placement import restored
        from smmux.running.launch import run
        from smmux.running.narrowing import for_launch
        from smmux.running.prepared import Prepared

        self._check_tuple(args)
        machine = gpus.current() if gpu is None else gpus.get(gpu)
        chosen, rest = split(options, OPTIONS)
        with for_launch(boolean("narrow", narrow), args, self.definition.parameters) as passed:
            values, signature = self.typed(passed, dynshared)
            prepared = Prepared.of(machine, grid, block, values)
            chosen = {"facts": prepared.facts, "typing": self._typing(), **chosen}
            request = Request(machine, block, schedule, max_registers, min_blocks, chosen, *beyond_static(rest))
            if rest.get("check") == "bounds":
                with restored(prepared.values):
                    run(self._program(signature, request.checking_bounds()), prepared, rest)
            result = run(self._program(signature, request), prepared, rest)
        device_time.advance(result.time_us)
        return result

    @brief
    def compile(
        self, args: Sequence[Any], gpu: str | Gpu | None = None,
        *, grid: int | Sequence[int] | None = None, block: int | Sequence[int] | None = None,
        schedule: str | None = None, max_registers: int | None = None, min_blocks: int | None = None,
        dynshared: int = 0, **options: Any,
    ) -> Program:  # fmt: skip
        """The compiled program for arguments, types or a Signature: the one that `simulate` runs if grid, block and
        options are those of its call. Without grid and block it is for all that are not uncommonly large."""
        from smmux import gpus
        from smmux.compiler.driver.requests import Request, split
        from smmux.compiler.signature import Signature
        from smmux.language.placement import flatten
        from smmux.running.prepared import facts_of

        machine = gpus.current() if gpu is None else gpus.get(gpu)
        if isinstance(args, tuple | list):
            args = tuple(map(example, args))
        signature = self.signature(args, dynshared)
        chosen, rest = split(options, OPTIONS)
        values = () if isinstance(args, Signature) else tuple(flatten(args))
        chosen = {"facts": facts_of(values, grid, block), "typing": self._typing(), **chosen}
        request = Request(machine, block, schedule, max_registers, min_blocks, chosen, *beyond_static(rest))
        return self._program(signature, request)

    @brief
    def signature(self, args: Sequence[Any] | Signature, dynshared: int = 0) -> Signature:
        """The types of arguments, on which the compiled program depends."""
        from smmux.compiler.signature import Signature

        return args if isinstance(args, Signature) else self.typed(args, dynshared)[1]

    def typed(self, args: Sequence[Any], dynshared: int) -> tuple[Sequence[Any], Signature]:
        """Arguments, converted to the types that the kernel declares, and the types by which it is compiled."""
        from smmux.compiler.signature import classify
        from smmux.running.narrowing import narrowed_signatures

        integer("dynshared", dynshared, 0, (1 << 31) - 1)
        self._check_tuple(args)
        names = self.definition.parameters
        values: Sequence[Any] = list(map(passed, args))
        try:
            if self.definition.declared:
                values = as_declared(narrowed_signatures(self.definition.declared), values, names)
            if self.definition.rest and len(values) >= len(names):  # *args are a tuple, as in Python
                values = [*values[: len(names)], tuple(values[len(names) :])]
            return values, classify(values, dynshared, (*names, *self.definition.rest))
        except (CompileError, Mismatch) as error:
            raise self.definition.error(None, str(getattr(error, "msg", error))) from None

    def _check_tuple(self, args: Any) -> None:
        if not isinstance(args, tuple | list):
            raise TypeError(
                f"args is the tuple of {self.__name__}'s arguments, (a,) for one, not a {type(args).__name__}"
            )

    def in_order(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call, those given by name in the place of their parameter. Raises LaunchError."""
        names = self.definition.parameters
        for name in named:
            if name not in names:
                raise LaunchError(f"kernel {self.__name__!r} has no parameter {name!r}{did_you_mean(name, names)}")
            if name in names[: len(args)]:
                raise LaunchError(f"kernel {self.__name__!r} is given its argument {name!r} twice")
        known = {**self.definition.defaults, **dict(zip(names, args, strict=False)), **named}
        last = max((i for i, name in enumerate(names) if name in named), default=-1)
        for name in names[: last + 1]:
            if name not in known:
                raise LaunchError(f"kernel {self.__name__!r} is called without its argument {name!r}")
        return tuple(known[name] for name in names[: max(last + 1, len(args))]) + tuple(args[len(names) :])

    @brief
    def ir(self, *args: Any, gpu: str | Gpu | None = None, **options: Any) -> str:
        """The compiled program as text, with source lines; args are arguments, or one Signature, options those of
        `compile`."""
        return self.compile(_arguments(args), gpu, **options).listing()

    @brief
    def portability(self, *args: Any) -> list[Note]:
        """The places where Numba, which computes in int64 and float64, can get another value; args as for `ir`."""
        from smmux.compiler import python as frontend
        from smmux.compiler.options import Options

        return frontend.portability(self.definition, self.signature(_arguments(args)), Options())

    def _typing(self) -> str:
        """The rules of types: those that the decorator names, else those of the context."""
        return self.definition.typing or typings.current()

    def _program(self, signature: Signature, request: Request) -> Program:
        from smmux.kernels.python_unit import PythonUnit

        if self.device:
            raise KernelOnlyError(f"{self.__name__} is a device function: it is called from kernels")
        program = request.program(PythonUnit(self.definition), signature, self.definition.max_registers)
        self.overloads.add(signature, Overload(program, request.machine))
        return program

    def _repr_html_(self) -> str:
        first = self.definition.node.lineno
        place = f"{html.escape(self.definition.filename)}:{first}"
        name, text = html.escape(self.__name__), html.escape(self.source)
        return f"<div><b>{name}</b> <small>{place}</small><pre>{text}</pre></div>"


def _arguments(args: tuple[Any, ...]) -> Any:
    from smmux.compiler.signature import Signature

    return args[0] if len(args) == 1 and isinstance(args[0], Signature) else args


def definition_of(kernel: Any) -> FunctionSource:
    """The source of a kernel. Raises TypeError for anything else, such as a plain function or a kernel of Numba's."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"a kernel made by smmux.cuda.jit is needed, not a {type(kernel).__name__}")
    return kernel.definition


@brief
def from_source(
    text: str,
    captured: Mapping[str, Any],
    *,
    name: str = "",
    filename: str = "<kernel>",
    device: bool = False,
    fastmath: bool = False,
) -> Kernel:
    """A kernel from source text and the globals it may use."""
    from smmux.source.function_source import from_text

    for option, given in (("device", device), ("fastmath", fastmath)):
        boolean(option, given)
    return Kernel(from_text(text, captured, name=name, filename=filename, device=device, fastmath=fastmath))
