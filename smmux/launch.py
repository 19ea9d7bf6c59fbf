"""From Python values to a run of the core: arguments to parameter words and device addresses, geometry and resources
checked against the machine, faults back to the user's source.
"""

from __future__ import annotations

import numbers
import operator
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from smmux import _core, gpus, interrupt
from smmux.checks import CHECKS, Findings, from_core
from smmux.errors import ConfigError, KernelError, LaunchError, OutOfBoundsError, integer
from smmux.gpus import Gpu
from smmux.placement import extent, flatten, place
from smmux.result import Result

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = [
    "DEFAULT_MAX_CYCLES",
    "MANAGEMENTS",
    "Arguments",
    "LaunchOptions",
    "as_bytes",
    "dim3",
    "launch",
    "pack",
    "register_budget",
    "registers_for",
    "static_reserved",
]

Dim3 = tuple[int, int, int]

MANAGEMENTS = ("static", "dynamic")
"""static: shared memory is held from block start to block end. dynamic: `smm.array` memory is held from `smm.alloc` to
`smm.release` (the paper's HW; CO-HW when the kernel also has static arrays)."""

DEFAULT_MAX_CYCLES = 1_000_000_000
"""Cycle limit of a run that sets none: 0.7 s of a GTX285, against kernels that spin."""


class LaunchOptions(TypedDict, total=False):
    """The keywords of `launch`, which `kernel.simulate` passes on."""

    management: str
    extra_blocks: int
    max_cycles: int | None
    window: int
    host_threads: int
    profile: bool
    check: str | None


@dataclass(frozen=True, slots=True)
class Arguments:
    """Kernel arguments as the core takes them.

    words: one 32-bit parameter word per scalar and per array (its device address), in flattened argument order.
    buffers: (bytes, device address, size, writable) per array, in the same order. addresses: where each element 0 is.
    """

    words: tuple[int, ...]
    buffers: tuple[tuple[NDArray[np.uint8], int, int, bool], ...]
    addresses: tuple[int, ...]


def launch(
    program: Program,
    args: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    gpu: str | Gpu | None = None,
    *,
    management: str = "static",
    extra_blocks: int = 0,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    window: int = 0,
    host_threads: int = 1,
    profile: bool = False,
    check: str | None = None,
) -> Result:
    """Run a compiled kernel on a machine; NumPy arguments are written in place.

    management: one of `MANAGEMENTS`. extra_blocks: with dynamic management, how many blocks beyond the static
    residency K may be resident (the n of K+n). max_cycles: limit in shader clocks, None for no limit. window: clocks
    that each SM runs alone, 0 for the largest that is exact; the result does not depend on it. host_threads: threads
    of this computer to use; the result does not depend on it either. profile: also count per instruction and line.
    check: "races" looks for data races in shared memory, loads of shared memory that nobody wrote and barriers that
    not all threads reach, and leaves what it finds in `Result.findings`; the instructions of a warp count as ordered,
    since its threads run in lockstep on these machines. "races-strict" takes only `cuda.syncwarp` as order among the
    threads of a warp. None checks nothing. Checks change neither values nor cycles.

    Raises LaunchError when the launch does not fit the machine or the arguments do not fit the kernel, ConfigError for
    an option without meaning, and the other subclasses of KernelError for what goes wrong in the kernel.
    """
    machine = gpus.current() if gpu is None else gpus.get(gpu)
    options = _options(management, extra_blocks, max_cycles, window, host_threads, profile, check)
    interrupt.poll()
    try:
        grid3, block3 = dim3("grid", grid), dim3("block", block)
        _check_geometry(machine, grid3, block3)
        reserved = static_reserved(program, machine)
        _check_resources(program, machine, block3, reserved)
        arguments = pack(program, args)
        found = _core.launch(
            code=np.ascontiguousarray(program.code),
            uniforms=np.ascontiguousarray(program.uniforms),
            meta=_meta(program, reserved),
            config=gpus.as_tuple(machine),
            grid=grid3,
            block=block3,
            params=arguments.words,
            buffers=arguments.buffers,
            const=program.const,
            options=options,
            poll=interrupt.poll,
        )
    except KernelError as error:
        error.findings = _findings(error, program, grid, block, check)
        raise _locate(error, program, args) from None
    return Result.from_core(found, program, machine, grid3, block3, management, extra_blocks, check)


def dim3(what: str, value: int | Sequence[int]) -> Dim3:
    """A grid or block size as three numbers: `8`, `(8,)`, `(8, 4)` and `(8, 4, 2)` are all sizes."""
    parts: tuple[Any, ...] = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"{what} must have 1 to 3 dimensions, not {len(parts)}")
    try:
        numbers = [operator.index(part) for part in parts]
    except TypeError:
        raise LaunchError(f"{what} must be an int or a tuple of ints, not {value!r}") from None
    if min(numbers) < 1:
        raise LaunchError(f"{what} {value!r} has a dimension below 1")
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


def static_reserved(program: Program, gpu: Gpu) -> int:
    """Bytes of shared memory a block holds beside its arrays: built-ins and, on CC 1.x, the parameters."""
    return gpu.smem_reserved + (program.param_bytes(gpu.pointer_bytes) if gpu.param_in_smem else 0)


def register_budget(program: Program, gpu: Gpu, block: int | Sequence[int], extra: int = 3) -> int:
    """The most registers per thread with which min(K+extra, what the other resources allow) blocks reside on an SM.

    K is the static residency without regard to registers. Compiled to this budget, with K+3, a kernel and its
    multiplexed variants differ in shared memory alone, not in how registers limit them.
    """
    x, y, z = dim3("block", block)
    config, threads = gpus.as_tuple(gpu), x * y * z
    held = program.shared_bytes + static_reserved(program, gpu)
    if program.dynamic_bytes:
        wanted = _core.occupancy(config, threads, 0, held, program.dynamic_bytes, extra)["blocks"]
    else:
        found = _core.occupancy(config, threads, 0, held)
        wanted = min(found["blocks"] + extra, found["warps"], found["threads"], found["max_blocks"])
    return registers_for(gpu, block, wanted)


def registers_for(gpu: Gpu, block: int | Sequence[int], blocks: int) -> int:
    """The most registers per thread with which an SM has enough for a number of blocks."""
    x, y, z = dim3("block", block)
    config = gpus.as_tuple(gpu)
    enough = (
        count
        for count in range(gpu.max_regs_thread, 0, -1)
        if _core.occupancy(config, x * y * z, count, 0)["registers"] >= blocks
    )
    return next(enough, 1)


def pack(program: Program, args: Sequence[Any]) -> Arguments:
    """Arguments as parameter words and buffers. Raises LaunchError for what the parameters cannot take."""
    values = list(flatten(args))
    if len(values) != len(program.params):
        raise LaunchError(f"{program.name} takes {len(program.params)} values, {len(values)} given")
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    addresses = iter(place(arrays))
    words, buffers, starts = [], [], []
    for word, value in zip(program.params, values, strict=True):
        if isinstance(value, np.ndarray) != (word.type in ("ptr", "tex")):
            raise LaunchError(f"argument {word.name!r} must be {_WANTED[word.type]}, not {type(value).__name__}")
        if isinstance(value, np.ndarray):
            low, high = extent(value)
            start = next(addresses)
            memory = as_bytes(value, low, high - low)
            buffers.append((memory, start, high - low, bool(value.flags.writeable)))
            starts.append(start + value.ctypes.data - low)
            words.append(starts[-1])
        else:
            words.append(_word(word.name, word.type, value))
    return Arguments(tuple(words), tuple(buffers), tuple(starts))


_WANTED = {"ptr": "an array", "tex": "a texture", "s32": "an int", "u32": "an unsigned int", "f32": "a float"}
_RANGE = {"s32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1)}


def _word(name: str, kind: str, value: Any) -> int:
    """The 32 bits of a scalar argument."""
    if kind == "f32":
        return _float_word(name, value)
    try:
        integer = int(value) if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        raise LaunchError(f"argument {name!r} must be {_WANTED[kind]}, not {value!r}") from None
    low, high = _RANGE[kind]
    if not low <= integer <= high:
        hint = "; pass numpy.uint32(...)" if kind == "s32" and 0 <= integer < 1 << 32 else ""
        raise LaunchError(f"argument {name!r} = {integer} does not fit {kind}{hint}")
    return int.from_bytes(struct.pack("<q", integer)[:4], "little")


def _float_word(name: str, value: Any) -> int:
    if not isinstance(value, numbers.Real | np.bool_):
        raise LaunchError(f"argument {name!r} must be a float, not {value!r}")
    try:
        rounded = struct.pack("<f", float(value))
    except OverflowError:
        raise LaunchError(f"argument {name!r} = {value!r} does not fit float32") from None
    return int.from_bytes(rounded, "little")


class _Memory:
    """Lends bytes of an array, and keeps the array alive."""

    def __init__(self, array: NDArray[Any], start: int, size: int) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (start, not array.flags.writeable),
        }


def as_bytes(array: NDArray[Any], start: int, size: int) -> NDArray[np.uint8]:
    """The memory between an array's first and last byte, whatever its strides."""
    if not array.flags.aligned or not array.dtype.isnative:
        raise LaunchError(
            f"an array of {array.dtype} is not aligned or not in this computer's byte order; copy it first"
        )
    return np.asarray(_Memory(array, start, size))


def _options(
    management: str,
    extra_blocks: int,
    max_cycles: int | None,
    window: int,
    host_threads: int,
    profile: bool,
    check: str | None,
) -> dict[str, int]:
    if management not in MANAGEMENTS:
        raise ConfigError(f"management must be one of {', '.join(MANAGEMENTS)}, not {management!r}")
    if extra_blocks and management == "static":
        raise ConfigError("extra_blocks needs management='dynamic': static management stays at K blocks")
    if check not in tuple(CHECKS):
        raise ConfigError(f"check must be None or one of {', '.join(filter(None, CHECKS))}, not {check!r}")
    return {
        "dynamic": int(management == "dynamic"),
        "per_pc": int(bool(profile)),
        "check": CHECKS[check],
        "extra_blocks": integer("extra_blocks", extra_blocks, 0, 255),
        "max_cycles": 0 if max_cycles is None else integer("max_cycles", max_cycles, 1, (1 << 63) - 1),
        "window": integer("window", window, 0, 1 << 20),
        "threads": integer("host_threads", host_threads, 1, 64),
    }


def _check_geometry(gpu: Gpu, grid: Dim3, block: Dim3) -> None:
    """Limits of Table 12 of the CUDA C Programming Guide [PG55]."""
    capability = gpu.compute_capability
    most = (
        ((1 << 31) - 1 if capability >= 30 else 65535, 65535, 65535 if capability >= 20 else 1),
        (gpu.max_threads_block, gpu.max_threads_block, 64),
    )
    for what, size, limits in zip(("grid", "block"), (grid, block), most, strict=True):
        for axis, value, limit in zip("xyz", size, limits, strict=True):
            if value > limit == 1:
                raise LaunchError(f"grid {size}: grids on {gpu.name} (compute capability 1.x) have two dimensions")
            if value > limit:
                raise LaunchError(f"{what} {size}: {axis} is {value}, {gpu.name} allows {limit}")
    threads = block[0] * block[1] * block[2]
    if threads > gpu.max_threads_block:
        raise LaunchError(f"block {block} has {threads} threads, {gpu.name} allows {gpu.max_threads_block}")


def _check_resources(program: Program, gpu: Gpu, block: Dim3, reserved: int) -> None:
    shared = program.shared_bytes + program.dynamic_bytes + reserved
    if shared > gpu.smem_bytes:
        raise _too_much_shared(program, gpu, shared, reserved)
    if program.nregs > gpu.max_regs_thread:
        raise LaunchError(f"the kernel uses {program.nregs} registers, {gpu.name} allows {gpu.max_regs_thread}")
    threads = block[0] * block[1] * block[2]
    if program.nregs * threads > gpu.regs_sm:
        raise LaunchError(
            f"a block of {threads} threads needs {program.nregs} registers each, an SM of {gpu.name} has {gpu.regs_sm}"
        )


def _too_much_shared(program: Program, gpu: Gpu, needed: int, reserved: int) -> LaunchError:
    """The refusal, at the line of the largest array: the one to shrink."""
    arrays = sorted(program.shared_arrays, key=lambda array: -array.nbytes)
    parts = [f"{array.name!r} {array.nbytes}" for array in arrays[:4]]
    parts += [f"{len(arrays) - 4} more arrays"] * (len(arrays) > 4)
    parts += [f"parameters and built-ins {reserved}"] * (reserved > 0)
    error = LaunchError(
        f"a block needs {needed} bytes of shared memory ({', '.join(parts)}), {gpu.name} has {gpu.smem_bytes}"
    )
    if arrays and arrays[0].loc is not None:
        error.line = arrays[0].loc.line
    return error


def _meta(program: Program, reserved: int) -> dict[str, int]:
    return {
        "nregs": program.nregs,
        "npreds": program.npreds,
        "shared_bytes": program.shared_bytes,
        "dynamic_bytes": program.dynamic_bytes,
        "local_bytes": program.local_bytes,
        "static_reserved": reserved,
    }


def _findings(error: KernelError, program: Program, grid: Any, block: Any, check: str | None) -> Findings | None:
    """What the check had found when the run failed; it is also printed with the exception."""
    records, lost = error.findings or (b"", 0)
    if not check:
        return None
    found = from_core(records, lost, program, dim3("grid", grid), dim3("block", block)) if records else Findings()
    if found:
        error.add_note(f"check={check!r} had found:\n{found}")
    return found


def _locate(error: KernelError, program: Program, args: Sequence[Any]) -> KernelError:
    """The error with what only the launch knows: kernel, file, and the array and element that an address means. What
    concerns no line in particular is said of the kernel's `def`."""
    error.kernel = program.name
    error.filename = program.filename
    error.line = error.line or program.line or None
    arrays = [value for value in flatten(args) if isinstance(value, np.ndarray)]
    if isinstance(error, OutOfBoundsError) and error.pc in program.joined and error.address is not None:
        _blame(error, program, arrays)
    if error.array_index is None or error.address is None:
        if isinstance(error, OutOfBoundsError) and error.address is not None:
            error.array, error.element = _in_block(program, error)
        return error
    names = [word.name for word in program.params if word.type in ("ptr", "tex")]
    if error.array_index < len(arrays):
        array = arrays[error.array_index]
        error.array = names[error.array_index]
        low, _ = extent(array)
        error.element = _element(array, error.address - (array.ctypes.data - low))
    return error


def _blame(error: OutOfBoundsError, program: Program, arrays: Sequence[NDArray[Any]]) -> None:
    """Of a joined access the first word that lies outside, and its line."""
    assert error.pc is not None
    assert error.address is not None
    start = size = 0
    if error.array_index is None:
        if found := program.element(error.pc, error.address):
            start, size = found[1], found[0].nbytes
    elif error.array_index < len(arrays):
        low, high = extent(arrays[error.array_index])
        start, size = error.address, high - low
    words = program.joined[error.pc]
    outside = (i for i in range(len(words)) if not 0 <= start + 4 * i <= size - 4)
    word = next(outside, 0)
    error.address, error.line = error.address + 4 * word, words[word]


def _in_block(program: Program, error: OutOfBoundsError) -> tuple[str | None, str]:
    """Array and element of an access to shared, local or constant memory."""
    found = program.element(error.pc, error.address) if error.pc is not None and error.address is not None else None
    if found is None:
        return None, f"byte {error.address}"
    array, offset = found
    index, rest = divmod(offset, array.element)
    if rest:
        return array.name, f"byte {offset} of {array.nbytes}"
    return array.name, f"flat index {index} of {array.elements}"


def _element(array: NDArray[Any], offset: int) -> str:
    """Where a byte offset from element 0 points, as an index of the array where it has one."""
    flat, rest = divmod(offset, array.itemsize)
    where = f"flat index {flat}" if not rest else f"byte {offset}"
    if not rest and array.ndim > 1 and array.flags.c_contiguous and 0 <= flat < array.size:
        where = f"index {tuple(int(i) for i in np.unravel_index(flat, array.shape))}"
    return f"{where} of shape {array.shape}"
