"""A run of a compiled program: geometry and resources checked against the machine, then the core called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from smmux import _core, gpus
from smmux.base import interrupt
from smmux.base.dimensions import Dim3, dim3, largest
from smmux.base.progress import Progress
from smmux.base.tracebacks import brief
from smmux.errors import KernelError, LaunchError
from smmux.gpus import Gpu
from smmux.machines import management
from smmux.machines.occupancy import driver_carveout, occupancy, registers_for, static_reserved
from smmux.results.result import Result
from smmux.results.sampled import Sampled
from smmux.running import faults, relaunch, sampling
from smmux.running.arguments import pack
from smmux.running.launch_options import LaunchOptions, beyond_static, complete, documented, for_core
from smmux.running.prepared import Prepared

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = ["launch", "run"]


@brief
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
    return run(program, Prepared.of(machine, grid, block, args), options)


def run(program: Program, prepared: Prepared, options: Mapping[str, Any]) -> Result:
    """Run a compiled kernel as `launch` does."""
    chosen = complete(options)
    numbers, check = for_core(chosen), chosen["check"]
    machine = _configured(prepared.machine, chosen)
    interrupt.poll()
    try:
        grid3, block3 = dim3("grid", prepared.grid), dim3("block", prepared.block)
        _check_geometry(machine, grid3, block3)
        if chosen["carveout"] is None:
            machine = driver_carveout(program, machine, block3)
        reserved = static_reserved(program, machine)
        _check_resources(program, machine, block3, reserved)
        if program.pack is None:
            arguments = pack(program, prepared.values)
        else:
            arguments = program.pack(program, prepared.values, grid3, block3)
            program = replace(program, places=arguments.places)
        if program.facts and not program.facts.covers(prepared.facts):
            raise LaunchError(
                "the program was compiled for smaller grids, blocks or numbers, which its indices count on: "
                "use Kernel.simulate, which compiles for the launch"
            )
        if chosen["warm"] or chosen["sample"] is not None:
            sampling.refuse(chosen)
        managers = management.managers(chosen["management"], machine, program)
        preload = chosen["preload"]
        if preload is not None:
            preload.check(program.name, arguments)
    except LaunchError as error:
        raise faults.of_launch(error, program, check) from None
    sampled: Sampled | None = None
    try:
        with Progress(program.name, chosen["max_cycles"]) as progress:

            def core(
                gpu: Gpu, blocks: sampling.Blocks | None = None, values: bool = False, again: int = 0
            ) -> dict[str, Any]:
                return _core.launch(
                    code=np.ascontiguousarray(program.code),
                    uniforms=np.ascontiguousarray(program.uniforms),
                    meta=_meta(program, reserved),
                    config=gpus.as_tuple(gpu),
                    grid=grid3,
                    block=block3,
                    params=arguments.words,
                    buffers=arguments.buffers,
                    const=program.const if arguments.const is None else arguments.const,
                    options={**numbers, "values": values, "again": again},
                    poll=progress if blocks is None or values or again else progress.of_part,
                    managers=managers,
                    preload=None if preload is None else preload.records(),
                    blocks=blocks,
                )

            if chosen["warm"]:
                outcome = relaunch.simulate(core, machine, arguments.buffers, math.prod(grid3))
            elif chosen["sample"] is None:
                outcome = core(machine)
            else:
                wave = _resident(program, machine, block3, chosen) * machine.sm_count
                how = float(chosen["sample"]), bool(chosen["outputs"])
                outcome, sampled = sampling.simulate(core, machine, arguments.buffers, math.prod(grid3), wave, *how)
    except KernelError as error:
        raise faults.of_run(error, program, arguments, grid3, block3, check) from error.__cause__
    return Result.from_core(outcome, program, machine, grid3, block3, chosen, sampled)


def _resident(program: Program, gpu: Gpu, block: Dim3, options: Mapping[str, Any]) -> int:
    """How many blocks an SM holds."""
    dynamic, extra = beyond_static(options)
    found = occupancy(
        math.prod(block),
        program.nregs,
        program.shared_bytes - program.reserved_bytes,
        gpu,
        program.param_bytes(gpu.pointer_bytes),
        dynamic_bytes=program.dynamic_bytes,
        extra_blocks=extra if dynamic else None,
    )
    return found.blocks


def _configured(gpu: Gpu, options: Mapping[str, Any]) -> Gpu:
    """The machine as the options of a run set it, those that change it and not the run."""
    return gpu.with_banks(options["bank_bytes"]).with_carveout(options["carveout"])


def _check_geometry(gpu: Gpu, grid: Dim3, block: Dim3) -> None:
    """Refuse sizes that are too large for a machine, and name those that take them."""
    if reason := _geometry(gpu, grid, block):
        others = _others(lambda other: not _geometry(other, grid, block))
        raise LaunchError(reason + (others or f"; no machine takes it, {_beyond_all(grid, block)}"))


def _beyond_all(grid: Dim3, block: Dim3) -> str:
    """The limit of all machines that the sizes of a launch are beyond."""
    machines = [gpus.get(name) for name in gpus.names()]
    kinds = ("grids", "blocks", grid), ("blocks", "threads", block)
    for (what, parts, size), limits in zip(kinds, zip(*map(largest, machines), strict=True), strict=True):
        for axis, value, limit in zip("xyz", size, map(max, *limits), strict=True):
            if value > limit:
                return f"{what} have at most {limit} {parts} along {axis}"
    return f"blocks have at most {max(gpu.max_threads_block for gpu in machines)} threads"


def _others(fits: Callable[[Gpu], bool]) -> str:
    """The end of a message: how to choose one of the machines that a launch fits."""
    names = [name for name in gpus.names() if fits(gpus.get(name))]
    if not names:
        return ""
    return f"; it fits {', '.join(names)}: simulate(..., gpu={names[-1]!r}), or smmux.gpus.set_current({names[-1]!r})"


def _geometry(gpu: Gpu, grid: Dim3, block: Dim3) -> str:
    """What is beyond a machine in the sizes of a launch; empty if nothing is."""
    for what, size, limits in zip(("grid", "block"), (grid, block), largest(gpu), strict=True):
        for axis, value, limit in zip("xyz", size, limits, strict=True):
            if value > limit == 1:
                return f"grid {size}: grids on {gpu.name} (compute capability 1.x) have two dimensions"
            if value > limit:
                return f"{what} {size}: {axis} is {value}, {gpu.name} allows {limit}"
    threads = block[0] * block[1] * block[2]
    if threads > gpu.max_threads_block:
        return f"block {block} has {threads} threads, {gpu.name} allows {gpu.max_threads_block}"
    return ""


def _check_resources(program: Program, gpu: Gpu, block: Dim3, reserved: int) -> None:
    """Refuse a block that no SM can hold. reserved: bytes of shared memory beside its arrays."""
    shared = program.shared_bytes + program.dynamic_bytes + reserved
    if shared > gpu.smem_block:
        raise _too_much_shared(program, gpu, shared, reserved)
    if program.nregs > gpu.max_regs_thread:
        raise LaunchError(
            f"the kernel uses {program.nregs} registers, {gpu.name} allows {gpu.max_regs_thread}; "
            f"compile it with max_registers={gpu.max_regs_thread}"
        )
    threads = block[0] * block[1] * block[2]
    most = registers_for(gpu, block, 1)
    if program.nregs > most:
        raise LaunchError(
            f"a block of {threads} threads with {program.nregs} registers each has no room on an SM of {gpu.name}, "
            f"which has {gpu.regs_sm} registers; compile it with max_registers={most}, or launch smaller blocks"
        )


def _too_much_shared(program: Program, gpu: Gpu, needed: int, reserved: int) -> LaunchError:
    """The refusal, at the line of the largest array: the one to shrink."""
    arrays = sorted(program.shared_arrays, key=lambda array: -array.nbytes)
    parts = [f"{array.name!r} {array.nbytes}" for array in arrays[:4]]
    parts += [f"{len(arrays) - 4} more arrays"] * (len(arrays) > 4)
    own = program.shared_bytes + program.dynamic_bytes - program.reserved_bytes
    parts += [f"static and dynamic arrays {own}"] * (not arrays)
    parts += [f"parameters and built-ins {reserved}"] * (reserved > 0)
    has = f"allows {gpu.smem_block}" if gpu.smem_block < gpu.smem_bytes else f"has {gpu.smem_bytes}"
    error = LaunchError(
        f"a block needs {needed} bytes of shared memory ({', '.join(parts)}), {gpu.name} {has}"
        + _others(lambda other: needed <= other.smem_block)
    )
    if arrays and arrays[0].loc is not None:
        error.line = arrays[0].loc.line
    return error


def _meta(program: Program, reserved: int) -> dict[str, int]:
    """The numbers of a program that the core takes beside its code."""
    return {
        "nregs": program.nregs,
        "npreds": program.npreds,
        "uniform_regs": program.uniform_regs,
        "shared_bytes": program.shared_bytes,
        "dynamic_bytes": program.dynamic_bytes,
        "local_bytes": program.local_bytes,
        "static_reserved": reserved,
        "smem_size": program.smem_size,
        "launched_bytes": program.launched_bytes,
    }
