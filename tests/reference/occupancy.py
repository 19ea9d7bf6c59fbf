"""Definition of residency: put blocks on an empty SM one after the other until one finds no room.

Nothing is divided here: registers, shared memory, warps and block slots are handed out as the allocation rules of the
occupancy calculator say (OCC21, OCC51) or of GPGPU-Sim 3.0.2. csrc/sm/occupancy.c must agree with it.
"""

from __future__ import annotations

from typing import Any


def units(amount: int, unit: int) -> int:
    """The least multiple of the unit that is not below the amount."""
    total = 0
    while total < amount:
        total += unit
    return total


def resident_blocks(gpu: Any, threads: int, registers: int, smem_bytes: int) -> int:
    """Blocks of `threads` threads that fit, with static management; gpu: the fields of a machine."""
    if too_much(gpu, smem_bytes):
        return 0
    return fill(gpu, threads, registers, units(units(smem_bytes, gpu.smem_unit), gpu.smm_unit), 0)


def resident_blocks_dynamic(
    gpu: Any, threads: int, registers: int, static_bytes: int, dynamic_bytes: int, extra_blocks: int
) -> int:
    """With dynamic management: at most K + n, and the static parts leave room for one dynamic allocation.

    A kernel without a dynamic part has nothing to multiplex: K.
    """
    if dynamic_bytes == 0:
        return resident_blocks(gpu, threads, registers, static_bytes)
    bound = resident_blocks(gpu, threads, registers, static_bytes + dynamic_bytes) + extra_blocks
    shared = units(dynamic_bytes, gpu.smm_unit)
    if shared > smem_capacity(gpu) or too_much(gpu, static_bytes + dynamic_bytes):
        return 0
    return min(bound, fill(gpu, threads, registers, units(static_bytes, gpu.smm_unit), shared))


def too_much(gpu: Any, smem_bytes: int) -> bool:
    """Whether a block may not have so much shared memory, however much an SM has."""
    return bool(gpu.max_smem_block) and smem_bytes > int(gpu.max_smem_block)


def smem_capacity(gpu: Any) -> int:
    """Whole units of the shared-memory table."""
    return int(gpu.smem_bytes - gpu.smem_bytes % gpu.smm_unit)


def fill(gpu: Any, threads: int, registers: int, smem_bytes: int, kept_free: int) -> int:
    """Add blocks until a resource is exhausted."""
    warps_of_block = units(threads, 32) // 32
    if threads > gpu.max_threads_block or registers > gpu.max_regs_thread:
        return 0
    smem_left = smem_capacity(gpu) - kept_free
    warps_left, threads_left = gpu.max_warps_sm, gpu.max_threads_sm
    banks = RegistersByWarp(gpu) if gpu.reg_alloc_warp else RegistersByBlock(gpu)
    blocks = 0
    while blocks < gpu.max_blocks_sm:
        smem_left -= smem_bytes
        warps_left -= warps_of_block
        threads_left -= 32 * warps_of_block
        if min(smem_left, warps_left, threads_left) < 0 or not banks.take(warps_of_block, registers):
            break
        blocks += 1
    return blocks


class RegistersByBlock:
    """CC 1.x: a block's warps, padded to the warp granularity, take one piece of the file."""

    def __init__(self, gpu: Any) -> None:
        self.gpu = gpu
        self.left = gpu.regs_sm

    def take(self, warps: int, registers: int) -> bool:
        self.left -= units(units(warps, self.gpu.warp_gran) * registers * 32, self.gpu.reg_unit)
        return bool(self.left >= 0)


class RegistersByWarp:
    """CC 2.x on: every warp takes a piece; places for warps come in groups of the warp granularity."""

    def __init__(self, gpu: Any) -> None:
        self.gpu = gpu
        self.taken = 0

    def take(self, warps: int, registers: int) -> bool:
        piece = units(registers * 32, self.gpu.reg_unit)
        self.taken += warps
        return bool(units(self.taken, self.gpu.warp_gran) * piece <= self.gpu.regs_sm)
