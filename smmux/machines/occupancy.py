"""Occupancy: the thread blocks that reside on an SM, the resource that decides it, and registers for more of them.

>>> occupancy(threads=96, registers=14, shared_bytes=2176 - 16, gpu="GTX285")
<Occupancy 6 blocks of 96 threads on GTX285: 18 warps, 56%, limited by shared memory>
>>> registers_for(gpus.get("GTX285"), 96, blocks=7)
16
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from smmux import _core, gpus
from smmux.base.counted import counted
from smmux.base.dimensions import dim3
from smmux.drawing.markup import html_table
from smmux.gpus.carveouts import SIZES
from smmux.gpus.sources import CHANGED
from smmux.machines.occupancy_picture import occupancy_chart

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = [
    "Occupancy",
    "checked_size",
    "driver_carveout",
    "occupancy",
    "register_budget",
    "registers_for",
    "registers_kept",
    "resident_blocks",
    "static_reserved",
]

_WARP = 32
_UNLIMITED = (1 << 32) - 1
# Limiter, as the C core names it -> its field.
_LIMITS = {
    "counter": "counter",
    "shared memory": "shared",
    "registers": "registers",
    "warps": "warps",
    "threads": "threads",
    "blocks": "max_blocks",
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The number of thread blocks that reside on an SM, and the resource that allows no more.

    limits: the blocks that each resource alone would allow, None for no limit. limiter: the resource that decides.
    static_blocks: the paper's K, equal to `blocks` with static management.
    """

    blocks: int
    limiter: str
    limits: dict[str, int | None]
    static_blocks: int
    threads_per_block: int
    shared_bytes: int  # per block, with what the machine adds; the static part with dynamic management
    registers: int  # per thread
    dynamic_bytes: int  # per block, held inside regions alone
    extra_blocks: int
    machine: gpus.Gpu

    @property
    def gpu(self) -> str:
        """Name of the machine."""
        return self.machine.name

    @property
    def max_warps(self) -> int:
        """Warps that an SM can hold."""
        return self.machine.max_warps_sm

    @property
    def warps(self) -> int:
        """Resident warps."""
        return self.blocks * -(-self.threads_per_block // _WARP)

    @property
    def threads(self) -> int:
        """Resident threads."""
        return self.blocks * self.threads_per_block

    @property
    def occupancy(self) -> float:
        """Resident warps as a share of those the SM can hold."""
        return self.warps / self.max_warps

    def over_block_sizes(self) -> list[Occupancy]:
        """The occupancy with blocks of every whole number of warps, and with its own, each with the same registers per
        thread and bytes per block."""
        sizes = {*range(_WARP, self.machine.max_threads_block + 1, _WARP), self.threads_per_block}
        held, dynamic = self.shared_bytes, self.dynamic_bytes
        return [_resident(self.machine, n, self.registers, held, dynamic, self.extra_blocks) for n in sorted(sizes)]

    def __repr__(self) -> str:
        return (
            f"<Occupancy {counted(self.blocks, 'block')} of {self.threads_per_block} threads on {self.gpu}: "
            f"{counted(self.warps, 'warp')}, {self.occupancy:.0%}, limited by {self.limiter}>"
        )

    def _repr_html_(self) -> str:
        limits = {name: blocks for name, blocks in self.limits.items() if blocks is not None}
        rows = [[name, str(blocks)] for name, blocks in limits.items()]
        bold = list(limits).index(self.limiter)
        table = html_table(("resource", "blocks allowed"), rows, bold)
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}{occupancy_chart(self)}"


def occupancy(
    threads: int,
    registers: int,
    shared_bytes: int,
    gpu: str | gpus.Gpu = "GTX285",
    param_bytes: int = 0,
    *,
    dynamic_bytes: int = 0,
    extra_blocks: int | None = None,
) -> Occupancy:
    """Thread blocks that reside on one SM.

    threads: number per block. registers: number per thread. shared_bytes: bytes of the block's static arrays.
    param_bytes: size of the kernel's parameters, which count where they lie in shared memory, as do the bytes that the
    machine reserves. dynamic_bytes: bytes of the block's `smm.array` memory. extra_blocks: n for dynamic management,
    where that memory is held only inside regions and up to K + n blocks reside; without it the memory is held all the
    time. Where dynamic_bytes is 0 there is nothing to multiplex and K blocks reside. Formulas: NVIDIA occupancy
    calculator 2.1 and 5.1. Raises ValueError for sizes that no block can have.
    """
    machine = gpus.get(gpu)
    if not 1 <= threads <= machine.max_threads_block:
        raise ValueError(f"{machine.name} has blocks of 1 to {machine.max_threads_block} threads, not {threads}")
    if not 0 <= registers <= machine.max_regs_thread:
        raise ValueError(f"{machine.name} has 0 to {machine.max_regs_thread} registers per thread, not {registers}")
    held = (
        checked_size(shared_bytes) + machine.smem_reserved + (checked_size(param_bytes) if machine.param_in_smem else 0)
    )
    dynamic = checked_size(dynamic_bytes)
    if extra_blocks is None:
        return _resident(machine, threads, registers, held + dynamic, 0, 0)
    return _resident(machine, threads, registers, held, dynamic, checked_size(extra_blocks))


def _resident(
    machine: gpus.Gpu, threads: int, registers: int, held: int, dynamic_bytes: int, extra_blocks: int
) -> Occupancy:
    """The core's answer for blocks that hold so many bytes to their end, and the dynamic ones inside regions."""
    answer = _core.occupancy(gpus.as_tuple(machine), threads, registers, held, dynamic_bytes, extra_blocks)
    limits = {name: answer[key] if answer[key] != _UNLIMITED else None for name, key in _LIMITS.items()}
    return Occupancy(
        blocks=answer["blocks"],
        limiter=answer["limiter"],
        limits=limits,
        static_blocks=answer["static_blocks"],
        threads_per_block=threads,
        shared_bytes=held,
        registers=registers,
        dynamic_bytes=dynamic_bytes,
        extra_blocks=extra_blocks,
        machine=machine,
    )


def static_reserved(program: Program, gpu: gpus.Gpu) -> int:
    """Bytes of shared memory that a block holds beside its arrays: built-ins and, on CC 1.x, the parameters."""
    own = max(0, gpu.smem_reserved - program.reserved_bytes)
    return own + (program.param_bytes(gpu.pointer_bytes) if gpu.param_in_smem else 0)


def driver_carveout(program: Program, gpu: gpus.Gpu, block: int | Sequence[int]) -> gpus.Gpu:
    """The machine with the carve-out that a driver takes for a launch that asks for none.

    It is the smallest one with which as many blocks reside as with the largest. Machines without such a driver, and
    those whose shared memory or L1 has been given another size, stay as they are.
    """
    changed = gpu.origin and any(gpu.sources[name] == CHANGED for name in SIZES)
    if not gpu.driver_chooses or changed or not gpu.carveout():
        return gpu
    found = [_carved(gpu, size) for size, _ in gpu.carveouts]
    most = resident_blocks(program.nregs, program, found[-1], block)
    if not most:
        return found[-1]  # which says in the refusal what there is
    return next(other for other in found if resident_blocks(program.nregs, program, other, block) == most)


@lru_cache(maxsize=64)
def _carved(gpu: gpus.Gpu, kilobytes: int) -> gpus.Gpu:
    return gpu.with_carveout(kilobytes)


def register_budget(program: Program, gpu: gpus.Gpu, block: int | Sequence[int], extra: int = 3) -> int:
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
        allowed = _core.occupancy(config, threads, 0, held)
        wanted = min(allowed["blocks"] + extra, allowed["warps"], allowed["threads"], allowed["max_blocks"])
    return registers_for(gpu, block, wanted)


def resident_blocks(
    registers: int,
    program: Program,
    gpu: gpus.Gpu,
    block: int | Sequence[int],
    dynamic: bool = False,
    extra_blocks: int = 0,
) -> int:
    """Blocks of a program that reside on an SM if a thread has so many registers.

    dynamic: whether the management of shared memory lets blocks hold `smm.array` memory inside regions alone, where up
    to K + extra_blocks of them reside.
    """
    x, y, z = dim3("block", block)
    config, held = gpus.as_tuple(gpu), program.shared_bytes + static_reserved(program, gpu)
    multiplexed = dynamic and program.dynamic_bytes > 0
    sizes = (held, program.dynamic_bytes, extra_blocks) if multiplexed else (held + program.dynamic_bytes,)
    blocks: int = _core.occupancy(config, x * y * z, registers, *sizes)["blocks"]
    return blocks


def registers_kept(
    program: Program, gpu: gpus.Gpu, block: int | Sequence[int], dynamic: bool = False, extra_blocks: int = 0
) -> int:
    """The most registers per thread with which as many blocks reside on an SM as with those of the program; further
    arguments as for `resident_blocks`. Registers beyond that number cost a block, those up to it are free.
    """

    def resident(count: int) -> int:
        return resident_blocks(count, program, gpu, block, dynamic, extra_blocks)

    kept = resident(program.nregs)
    return next(count for count in range(gpu.max_regs_thread, 0, -1) if resident(count) >= kept)


def registers_for(gpu: gpus.Gpu, block: int | Sequence[int], blocks: int) -> int:
    """The most registers per thread with which an SM has enough for a number of blocks."""
    x, y, z = dim3("block", block)
    config = gpus.as_tuple(gpu)
    enough = (
        count
        for count in range(gpu.max_regs_thread, 0, -1)
        if _core.occupancy(config, x * y * z, count, 0)["registers"] >= blocks
    )
    return next(enough, 1)


def checked_size(value: int) -> int:
    """A number of bytes as given; ValueError unless it is one that a block can hold."""
    if not 0 <= value < 1 << 31:
        raise ValueError(f"a size must be 0 to {(1 << 31) - 1} bytes, not {value}")
    return value
