"""A run of a compiled program: geometry and resources checked against the machine, then the core called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from smmux import _core, faults, gpus, interrupt
from smmux.arguments import pack
from smmux.checks import CHECKS
from smmux.dimensions import Dim3, dim3
from smmux.errors import ConfigError, KernelError, LaunchError, integer
from smmux.gpus import Gpu
from smmux.occupancy import static_reserved
from smmux.result import Result

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = ["DEFAULT_MAX_CYCLES", "MANAGEMENTS", "LaunchOptions", "launch"]

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
            options=options,
            poll=interrupt.poll,
        )
    except KernelError as error:
        raise faults.of_run(error, program, arguments, grid3, block3, check) from None
    return Result.from_core(outcome, program, machine, grid3, block3, management, extra_blocks, check)


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
