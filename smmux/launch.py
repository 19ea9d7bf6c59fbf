"""A run of a compiled program: geometry and resources checked against the machine, then the core called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from smmux import _core, faults, gpus, interrupt, management
from smmux.arguments import pack
from smmux.dimensions import Dim3, dim3
from smmux.errors import KernelError, LaunchError
from smmux.gpus import Gpu
from smmux.launch_options import LaunchOptions, complete, documented, for_core
from smmux.occupancy import static_reserved
from smmux.result import Result

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = ["launch"]


@documented
def launch(
    program: Program,
    args: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    gpu: str | Gpu | None = None,
    **options: Unpack[LaunchOptions],
) -> Result:
    """Run a compiled kernel on a machine; NumPy arguments are written in place.

    Raises LaunchError for a launch that does not fit the machine or arguments that do not fit the kernel, ConfigError
    for an option without meaning, and other subclasses of KernelError for failures in the kernel.
    """
    machine = gpus.current() if gpu is None else gpus.get(gpu)
    chosen = complete(options)
    numbers, check = for_core(chosen), chosen["check"]
    interrupt.poll()
    try:
        grid3, block3 = dim3("grid", grid), dim3("block", block)
        _check_geometry(machine, grid3, block3)
        reserved = static_reserved(program, machine)
        _check_resources(program, machine, block3, reserved)
        arguments = pack(program, args)
        managers = management.managers(chosen["management"], machine, program)
    except LaunchError as error:
        raise faults.of_launch(error, program, check) from None
    try:
        outcome = _core.launch(
            code=np.ascontiguousarray(program.code),
            uniforms=np.ascontiguousarray(program.uniforms),
            meta=_meta(program, reserved),
            config=gpus.as_tuple(machine),
            grid=grid3,
            block=block3,
            params=arguments.words,
            buffers=arguments.buffers,
            const=program.const,
            options=numbers,
            poll=interrupt.poll,
            managers=managers,
        )
    except KernelError as error:
        raise faults.of_run(error, program, arguments, grid3, block3, check) from error.__cause__
    return Result.from_core(outcome, program, machine, grid3, block3, chosen)


def _check_geometry(gpu: Gpu, grid: Dim3, block: Dim3) -> None:
    """Refuse sizes beyond the limits of Table 12 of the CUDA C Programming Guide [PG55]."""
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
    """Refuse a block that no SM can hold. reserved: bytes of shared memory beside its arrays."""
    shared = program.shared_bytes + program.dynamic_bytes + reserved
    if shared > gpu.smem_bytes:
        raise _too_much_shared(program, gpu, shared, reserved)
    if program.nregs > gpu.max_regs_thread:
        raise LaunchError(
            f"the kernel uses {program.nregs} registers, {gpu.name} allows {gpu.max_regs_thread}; "
            f"compile it with max_registers={gpu.max_regs_thread}"
        )
    threads = block[0] * block[1] * block[2]
    if program.nregs * threads > gpu.regs_sm:
        raise LaunchError(
            f"a block of {threads} threads needs {program.nregs} registers each, an SM of {gpu.name} has {gpu.regs_sm}"
            "; launch smaller blocks, or compile with a lower max_registers"
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
    """The numbers of a program that the core takes beside its code."""
    return {
        "nregs": program.nregs,
        "npreds": program.npreds,
        "shared_bytes": program.shared_bytes,
        "dynamic_bytes": program.dynamic_bytes,
        "local_bytes": program.local_bytes,
        "static_reserved": reserved,
    }
