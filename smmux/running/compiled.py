"""A launch of compiled code: arguments as its parameters take them, and its memory as a driver lays it out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.base.dimensions import Dim3, dim3
from smmux.compiler.instruction import Instruction
from smmux.compiler.launch_facts import Facts
from smmux.compiler.program import Placed, Program
from smmux.compiler.sass.cubin import Cubin, KernelImage, Variable
from smmux.compiler.sass.lowering.kernel import Lowered, lower_kernel
from smmux.compiler.sass.lowering.link import GLOBALS_ADDRESS, constants_offset
from smmux.compiler.sass.mangled_names import demangle, plain_name
from smmux.errors import CompileError, LaunchError, did_you_mean
from smmux.gpus import Gpu
from smmux.language.placement import ADDRESS_LIMIT, extent, place
from smmux.machines.occupancy import occupancy
from smmux.results.formatted import printf_text
from smmux.results.result import Result
from smmux.running.arguments import Arguments, Buffer, as_bytes
from smmux.running.compiled_values import POINTER_BYTES, arrays_of, parameter_bytes, table_of, tables_of
from smmux.running.constant_banks import (
    SHARED_RESERVED,
    Sizes,
    constant_segment,
    module_memory,
    points_to_parameters,
    size_in_register,
    synchronises_grid,
    uses_reserved,
    variable_offset,
)
from smmux.running.launch import run
from smmux.running.prepared import Prepared

__all__ = ["program_of", "simulate"]

PREDICATES = 16
SHARED_ALIGNMENT = 16
MOST_STACK = 1 << 16
"""The most bytes of local memory per thread that the core takes (csrc/kernel/program.c)."""
BARRIERS = {14, 15}
"""Numbers of the barriers that smmux::alloc and smmux::release use (smmux.cuh)."""
UNKNOWN_STACK, DEFAULT_STACK = 0xFFFFFFFF, 1024
"""The `min_stack` of a kernel whose stack the compiler does not know, as with recursion; the bytes of stack that the
driver gives such a kernel by default (cudaLimitStackSize)."""
STACK_POINTER, ZERO_REGISTER = 1, 255
WORKSPACE_BYTES = 256
"""Bytes in which the barrier of a whole grid counts. A launch whose blocks do not all fit at the same time gets none,
and the compiled code stops itself."""
HEAP_OF_SM, GAP = 8 << 20, 1 << 16
"""Bytes of the heap of `malloc` for each SM, as many as all SMs of an H200 share (cudaLimitMallocHeapSize); and the
least bytes that stay free between the arrays and the heap, so that an access beyond an array does not hit the heap."""


def simulate(
    cubin: Cubin,
    name: str,
    machine: Gpu,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    dynamic_shared: int = 0,
    options: Mapping[str, Any] | None = None,
    variables: Mapping[str, NDArray[Any]] | None = None,
    called: str = "",
    sources: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
    stack: int = DEFAULT_STACK,
) -> Result:
    """Run a kernel of a cubin; NumPy arrays among the arguments are written in place.

    stack: bytes of a thread's stack where the compiler does not know how many are needed.
    variables: contents of the module's variables by name; those of device memory are written in place.
    called: what the result and errors call the kernel, without it as the linker does. sources: texts that no file has.
    names: what errors call the arguments.
    Raises LaunchError for a launch or arguments that do not fit, CompileError for code that is not simulated.
    """
    _check_geometry(cubin.kernels[name], dim3("grid", grid), dim3("block", block))
    memory = _DeviceMemory({_variable(cubin, name): values for name, values in (variables or {}).items()}, names)
    program = program_of(cubin, name, dynamic_shared, machine, memory, stack)
    program = replace(program, name=called or name, sources=sources or {})
    result = run(program, Prepared(machine, grid, block, tuple(args), Facts()), options or {})
    memory.give_back(cubin)
    return replace(result, program=replace(program, pack=None, printer=None))  # which hold the launch's arrays


def _variable(cubin: Cubin, name: str) -> str:
    """The linker's name of a variable, which has the name in the source, with namespaces or without, if no other one
    has it."""
    if not isinstance(name, str):
        raise LaunchError(f"variables have names, not {name!r}")
    if name in cubin.globals_:
        return name
    known = [mangled for mangled in cubin.globals_ if not mangled.startswith(("$", "__"))]
    found = [mangled for mangled in known if plain_name(mangled) == name]
    if not found:
        texts = zip(known, demangle(tuple(known)), strict=True)
        found = [mangled for mangled, text in texts if text == name or text.endswith(f"::{name}")]
    if len(found) > 1:
        raise LaunchError(f"the module has {len(found)} variables {name!r}: {', '.join(demangle(tuple(found)))}")
    if not found:
        plain = [plain_name(mangled) for mangled in known]
        there = f"; it has {', '.join(plain)}" if plain else ""
        raise LaunchError(f"{name!r} is no variable of the module{there}{did_you_mean(name, plain)}")
    return found[0]


@dataclass(slots=True)
class _DeviceMemory:
    """The device memory of one launch: what the user gives for variables, names of the arguments, and the buffers once
    they are known."""

    variables: dict[str, NDArray[Any]] = field(default_factory=dict)
    names: Sequence[str] = ()
    buffers: list[Buffer] = field(default_factory=list)

    def give_back(self, cubin: Cubin) -> None:
        """Write what the kernel has left in variables to the user's arrays."""
        data = next((buffer.memory for buffer in self.buffers if buffer.address == GLOBALS_ADDRESS), None)
        for name, values in self.variables.items():
            variable = cubin.globals_[name]
            if variable.space == "global" and data is not None:
                start = variable_offset(cubin, variable)
                part = data[start : start + variable.size]
                values[...] = part.view(values.dtype).reshape(values.shape)

    def string(self, address: int) -> str:
        """The text at a device address, up to its zero."""
        for data, start, size, _ in self.buffers:
            if start <= address < start + size:
                return bytes(data[address - start : size]).partition(b"\0")[0].decode("utf-8", "replace")
        return ""


def program_of(
    cubin: Cubin,
    name: str,
    dynamic_shared: int,
    machine: Gpu,
    memory: _DeviceMemory | None = None,
    stack: int = DEFAULT_STACK,
) -> Program:
    """A kernel as the core's program, which makes its memory when it is launched."""
    image, lowered = cubin.kernels[name], lower_kernel(cubin, name)
    memory = memory or _DeviceMemory()
    fixed = -(-image.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
    held = 0 if _multiplexes(lowered.linked.instructions) else dynamic_shared
    size = size_in_register(cubin, name, dynamic_shared)
    reserved = min(fixed, SHARED_RESERVED) if cubin.arch >= 90 else 0  # in front, if the kernel has shared memory
    if not reserved and uses_reserved(cubin, lowered.linked.instructions):
        if held != dynamic_shared:
            raise CompileError(
                f"{name!r} multiplexes, and has tiles of several warps: not simulated for sm_{cubin.arch}"
            )
        fixed, reserved = size - held, SHARED_RESERVED  # behind the others
    return Program(
        name=name,
        filename=_own_file(lowered.linked.instructions),
        code=lowered.code,
        uniforms=lowered.uniforms,
        nregs=lowered.layout.registers,
        npreds=PREDICATES,
        uniform_regs=lowered.layout.uniforms,
        launched_bytes=lowered.layout.banks[2],  # behind bank 0
        shared_bytes=fixed + held,
        dynamic_bytes=max(dynamic_shared - held, 0),
        reserved_bytes=reserved,
        reserved_first=cubin.arch >= 90 and image.shared_bytes > 0,
        smem_size=size,
        local_bytes=_stack_bytes(image, lowered.linked.instructions, stack),
        const=bytes(lowered.constant_bytes),
        pack=partial(_pack, cubin, image, lowered, dynamic_shared, machine, memory),
        printer=lambda records, lost: printf_text(records, lost, memory.string),
        instructions=lowered.linked.instructions,
    )


def _multiplexes(instructions: Sequence[Instruction]) -> bool:
    """Whether a kernel has the barriers of `smmux.cuh`, between which alone it uses its dynamic shared memory."""
    barriers = [i.operands for i in instructions if i.opcode == "BAR" and "SYNC" in i.modifiers]
    alone = {operands[0].value for operands in barriers if len(operands) == 1}
    return alone >= BARRIERS


def _own_file(instructions: Sequence[Instruction]) -> str:
    """The file of a kernel: the one that most instructions are of, or into which they were inlined."""
    places = Counter(i.callers[-1].file if i.callers else i.file for i in instructions if i.file)
    return places.most_common(1)[0][0] or "" if places else ""


def _stack_bytes(image: KernelImage, instructions: Sequence[Instruction], given: int) -> int:
    """Local memory of a thread: what calls need, or what is given, where they may go on for ever, where arrays have
    sizes that only the kernel knows, and where functions keep more than the compiler has counted: before CUDA 13 what
    those keep that a register names, and by ptxas 13.0 what those keep that call themselves."""
    known = image.min_stack if image.min_stack != UNKNOWN_STACK else image.frame_bytes
    pushed = [bytes_ for bytes_ in map(_pushed_bytes, instructions) if bytes_]
    if image.frame_bytes in pushed:
        pushed.remove(image.frame_bytes)
    counted = image.frame_bytes + max(pushed, default=0) <= known
    sure = counted and image.min_stack != UNKNOWN_STACK and not any(map(_moves_stack, instructions))
    least = 0 if sure else given
    needed = -(-max(known, image.frame_bytes + least) // 16) * 16
    if needed > MOST_STACK:
        asked = f", of which stack={given} asks for {given}" if least else ""
        raise LaunchError(f"a thread needs {needed} bytes of local memory{asked}: at most {MOST_STACK} are simulated")
    return needed


def _moves_stack(instruction: Instruction) -> bool:
    """Whether the stack's pointer moves by what a register says, as with `alloca`."""
    registers = [o.number for o in instruction.operands if o.kind == "R"]
    return (
        registers[:1] == [STACK_POINTER]
        and instruction.opcode == "IADD3"
        and any(number not in (STACK_POINTER, ZERO_REGISTER) for number in registers[1:])
    )


def _pushed_bytes(instruction: Instruction) -> int:
    """By how much it makes the stack grow, which it does downwards."""
    registers = [o.number for o in instruction.operands if o.kind == "R" and o.number != ZERO_REGISTER]
    if instruction.opcode not in ("IADD3", "VIADD") or registers != [STACK_POINTER] * 2:
        return 0
    moved = sum(int(o.value or 0) for o in instruction.operands if o.kind == "imm")
    return -moved % 2**32 if moved < 0 or moved >= 2**31 else 0


def _check_geometry(image: KernelImage, grid: Dim3, block: Dim3) -> None:
    """Refuse a grid or a block that the kernel is not compiled for."""
    threads = block[0] * block[1] * block[2]
    if image.required_block and tuple(block) != image.required_block:
        raise LaunchError(f"kernel {image.name!r} is compiled for blocks of {image.required_block}, not {tuple(block)}")
    if image.max_threads and threads > image.max_threads:
        raise LaunchError(
            f"kernel {image.name!r} is compiled for blocks of at most {image.max_threads} threads "
            f"(__launch_bounds__), not {threads}"
        )
    if any(blocks % each for blocks, each in zip(grid, image.cluster or (1, 1, 1), strict=True)):
        raise LaunchError(
            f"kernel {image.name!r} has clusters of {image.cluster} blocks, which {tuple(grid)} is no multiple of"
        )


def _pack(
    cubin: Cubin,
    image: KernelImage,
    lowered: Lowered,
    dynamic_shared: int,
    machine: Gpu,
    memory: _DeviceMemory,
    program: Program,
    values: Sequence[Any],
    grid: Dim3,
    block: Dim3,
) -> Arguments:
    """Buffers of the arrays and of the module's memory, and the constant segment."""
    if len(values) != len(image.parameters):
        raise LaunchError(f"{program.name} takes {len(image.parameters)} values, {len(values)} given")
    names = memory.names or [f"argument {number}" for number in range(len(values))]
    named = [found for name, value in zip(names, values, strict=True) for found in arrays_of(value, name)]
    arrays = [array for _, array in named]
    tables = [table for value in values for table in tables_of(value)]
    instructions = lowered.linked.instructions
    variables = module_memory(cubin, lowered, memory.variables)
    cooperates = synchronises_grid(cubin, instructions) and _fits(program, machine, grid, block)
    workspace = [np.zeros(WORKSPACE_BYTES, np.uint8)] if cooperates else []
    copies = [np.zeros(image.param_bytes, np.uint8)] if points_to_parameters(cubin, instructions) else []
    pointers = [np.zeros(POINTER_BYTES * len(table), np.uint8) for table in tables]
    heap = ADDRESS_LIMIT - HEAP_OF_SM * machine.sm_count if "malloc" in cubin.externs else 0
    starts = _lay_out([[variables], arrays, workspace, copies, pointers], heap)
    buffers, addresses = _array_buffers(arrays, starts[1])
    found = {id(array): address for array, address in zip(arrays, addresses, strict=True)}
    for table, start in zip(tables, starts[4], strict=True):
        buffers.append(Buffer(table_of(table, found), start, POINTER_BYTES * len(table), False))
        found[id(table)] = start
    parameters = parameter_bytes(image, values, found, names)
    buffers.append(Buffer(variables, starts[0][0], variables.nbytes, True))
    buffers += [Buffer(data, start, WORKSPACE_BYTES, True) for data, start in zip(workspace, starts[2], strict=True)]
    buffers += [Buffer(np.frombuffer(parameters, np.uint8), start, len(parameters), False) for start in starts[3]]
    if heap:
        buffers.append(Buffer(np.zeros(ADDRESS_LIMIT - heap, np.uint8), heap, ADDRESS_LIMIT - heap, True))
    memory.buffers[:] = buffers
    placed = [
        Placed(name, address, array.nbytes, array.itemsize)
        for (name, array), address in zip(named, addresses, strict=True)
    ]
    placed += [Placed(v.name, GLOBALS_ADDRESS + variable_offset(cubin, v), v.size, 4) for v in _variables(cubin)]
    if heap:
        placed.append(Placed("heap", heap, ADDRESS_LIMIT - heap, 4))
    room = heap, HEAP_OF_SM if heap else 0
    counter, copy = (group[0] if group else 0 for group in starts[2:4])
    shared = program.shared_bytes + program.dynamic_bytes
    sizes = Sizes(grid, block, program.local_bytes, dynamic_shared, machine.sm_count, room, counter, copy, shared)
    constants = variables[constants_offset(cubin) :].tobytes()
    const = constant_segment(cubin, image.name, lowered, parameters, constants, sizes)
    return Arguments((), tuple(arrays), tuple(buffers), tuple(addresses), const, tuple(placed))


def _lay_out(groups: Sequence[Sequence[NDArray[Any]]], heap: int) -> list[list[int]]:
    """The device addresses of groups of arrays, in this order: the module's variables first, since code names their
    addresses. heap: address of the heap, 0 without one.

    Raises LaunchError if they reach into the heap, or the variables have no place.
    """
    together = [array for group in groups for array in group]
    places = place(together)
    end = max(start + array.nbytes for start, array in zip(places, together, strict=True))
    if heap and end + GAP > heap:
        raise LaunchError(f"the arrays and the heap of malloc, {ADDRESS_LIMIT - heap >> 20} MB, take more than 3 GB")
    if places[0] != GLOBALS_ADDRESS:
        raise LaunchError("the module's variables have no place in device memory")
    left = iter(places)
    return [[next(left) for _ in group] for group in groups]


def _array_buffers(arrays: Sequence[NDArray[Any]], starts: Sequence[int]) -> tuple[list[Buffer], list[int]]:
    """The buffers of arrays, and the addresses of their first elements. An array with negative strides has its first
    element behind the first byte of its buffer."""
    buffers, addresses = [], []
    for array, start in zip(arrays, starts, strict=True):
        low, high = extent(array)
        buffers.append(Buffer(as_bytes(array, low, high - low), start, high - low, bool(array.flags.writeable)))
        addresses.append(start + array.ctypes.data - low)
    return buffers, addresses


def _fits(program: Program, machine: Gpu, grid: Dim3, block: Dim3) -> bool:
    """Whether all blocks have room at the same time, as a cooperative launch asks for."""
    shared = program.shared_bytes - program.reserved_bytes + program.dynamic_bytes
    return math.prod(grid) <= occupancy(math.prod(block), program.nregs, shared, machine).blocks * machine.sm_count


def _variables(cubin: Cubin) -> list[Variable]:
    """The module's variables in device memory that have names in its source."""
    named = [v for v in cubin.globals_.values() if v.space == "global" and not v.name.startswith(("$", "__"))]
    return [replace(v, name=plain_name(v.name)) for v in named]
