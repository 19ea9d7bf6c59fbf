"""What a machine turns out to have when kernels and memory accesses are run on it, as one measures a card."""

from __future__ import annotations

import numpy as np

from smmux import LaunchError, cuda, int32
from smmux.gpus import Gpu
from smmux.kernel import Kernel
from smmux.machines.models_memory import PACKET
from smmux.models import Dram, Memory

__all__ = ["memory_mhz", "register_bytes", "shared_bytes"]

WARP = 32
WORD = 4
THREADS = 256
REGISTERS = 32
HELD = REGISTERS + 8
"""Values that a thread of `holding` needs at the same time: more than it may have registers."""
ROWS = 64
SETTLED = 16
"""Rows read before the time between two of them is taken."""
SEARCHED_WORDS = 1 << 16
"""Larger shared memory than that is not looked for."""


@cuda.jit
def holding(a):
    """Each thread turns its part of the array around, and holds all of it in between."""
    i = cuda.grid(1)
    values = cuda.local.array(HELD, int32)
    for k in range(HELD):
        values[k] = a[i * HELD + k]
    for k in range(HELD):
        a[i * HELD + k] = values[HELD - 1 - k]


def register_bytes(gpu: Gpu) -> int:
    """Bytes of the registers that the blocks of an SM have together, when registers limit how many there are."""
    blocks = gpu.max_blocks_sm
    values = np.arange(blocks * THREADS * HELD, dtype=np.int32)
    result = holding.simulate(blocks, THREADS, (values,), gpu=gpu.replace(sm_count=1), max_registers=REGISTERS)
    if result.limiter != "registers":
        raise ValueError(f"{result.limiter}, not registers, limit {gpu.name} to {result.residency} blocks")
    return int(result.residency * THREADS * result.program.nregs * WORD)


def shared_bytes(gpu: Gpu) -> int:
    """Bytes of the largest block that runs: its array, its parameters, and what the machine keeps for itself."""
    words, too_many = 0, SEARCHED_WORDS
    while too_many - words > 1:
        tried = (words + too_many) // 2
        words, too_many = (tried, too_many) if _runs(tried, gpu) else (words, tried)
    program = _filling(words).compile((np.zeros(WARP, np.int32),))
    parameters = program.param_bytes(gpu.pointer_bytes) if gpu.param_in_smem else 0
    return program.shared_bytes + parameters + gpu.smem_reserved


def _runs(words: int, gpu: Gpu) -> bool:
    """Whether a block with an array of so many words runs."""
    try:
        _filling(words).simulate(1, WARP, (np.zeros(WARP, np.int32),), gpu=gpu)
    except LaunchError:
        return False
    return True


def _filling(words: int) -> Kernel:
    """A kernel of one warp that uses both ends of a shared array."""

    @cuda.jit
    def filling(a):
        tile = cuda.shared.array(words, int32)
        tile[words - 1] = cuda.threadIdx.x
        cuda.syncthreads()
        a[cuda.threadIdx.x] = tile[words - 1]

    kernel: Kernel = filling
    return kernel


def memory_mhz(gpu: Gpu) -> float:
    """Clock of the DRAM: loads from rows of one bank, each in another row, come back `t_rc` memory clocks apart."""
    packets = np.zeros(ROWS, PACKET)
    packets["address"], packets["bytes"] = _rows_of_a_bank(gpu), gpu.dram_burst_bytes
    replied = np.sort(Memory(gpu).replay(packets).replied[SETTLED:])
    apart = float(replied[-1] - replied[0]) / (len(replied) - 1)
    return gpu.t_rc * gpu.shader_khz / apart / 1000


def _rows_of_a_bank(gpu: Gpu) -> list[int]:
    """Addresses in different rows of the first bank of the first partition."""
    dram = Dram(gpu)
    first = dram.locate(0)
    rows: dict[int, int] = {}
    address, step = 0, gpu.partitions * gpu.partition_bytes
    while len(rows) < ROWS:
        place = dram.locate(address)
        if (place.partition, place.slice, place.bank) == (first.partition, first.slice, first.bank):
            rows.setdefault(place.row, address)
        address += step
    return list(rows.values())
