"""Programs of single instructions with control bits, and the clocks that they read while they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import gpus
from smmux.compiler.instruction import Control, Instruction
from smmux.compiler.sass.lowering.kernel import _lower
from smmux.compiler.sass.lowering.rows import Layout, Rows
from smmux.results.result import Result
from smmux.running.prepared import Prepared
from tests.sass.single import UNIFORMS, instruction, launch

REGISTERS = 168
OBEDIENT = gpus.get("H100").replace(
    name="obedient", icache_bytes=0, const_bytes=0, operand_miss=0, mem_model=0, sm_count=2, sms_per_tpc=1
)
"""A machine that obeys control bits, with perfect fetch of code and constants, and flat memory."""


def bits(
    text: str,
    stall: int = 1,
    *,
    keep: bool | None = None,
    wr: int | None = None,
    rd: int | None = None,
    wait: int = 0,
    reuse: int = 0,
) -> Instruction:
    """An instruction with its control bits; wr, rd: numbers of counters. keep: the yield bit, by default as ptxas
    writes it."""
    yields = stall < 12 if keep is None else keep
    return replace(instruction(text), control=Control(stall, yields, wr, rd, wait, reuse))


def clock(register: int, stall: int = 1, wait: int = 0) -> Instruction:
    """Read the SM's clock."""
    return bits(f"CS2R.32 R{register}, SR_CLOCKLO", stall, wait=wait)


def fill(stall: int) -> list[Instruction]:
    """Nothing, for so many clocks, of which there are at most 15."""
    return [bits("NOP", stall)]


def run_timed(
    body: Sequence[Instruction],
    results: Sequence[int],
    gpu: gpus.Gpu = OBEDIENT,
    *,
    warps: int = 1,
    blocks: int = 1,
    data: NDArray[Any] | None = None,
    shared: int = 4096,
    **options: Any,
) -> tuple[NDArray[np.uint32], Result]:
    """What registers hold behind the body: shape (blocks * warps, results, 32); and the result.

    R158 and R159 hold the address of `data`, R160 the thread's number in the grid, R161 four times its number in the
    block.
    """
    outputs = np.zeros((len(results), blocks * warps * 32), np.uint32)
    data = np.arange(4096, dtype=np.uint32) if data is None else data
    arrays = [outputs, data]
    slow = {"stall": 15, "wait": 0x3F}
    head = [
        bits("S2R R160, SR_TID.X", 15, wr=0),
        bits("S2R R161, SR_CTAID.X", 15, wr=0),
        bits("SHF.L.U32 R157, R160, 0x2, RZ", **slow),
        bits(f"IMAD R160, R161, {32 * warps:#x}, R160", **slow),
        bits("IMAD.WIDE R162, R160, 0x4, c[0x0][0x210]", **slow),
        bits("IMAD.WIDE R158, RZ, 0x4, c[0x0][0x218]", **slow),
        bits("MOV R161, R157", **slow),
        *[bits("NOP", 15) for _ in range(4)],
    ]
    tail = [bits("NOP", **slow)]
    for place_of, number in enumerate(results):
        tail += [bits(f"STG.E [R162.64+{place_of * outputs.shape[1] * 4:#x}], R{number}", **slow)]
    rows = Rows(Layout(REGISTERS, UNIFORMS, {0: 0}))
    for one in [*head, *body, *tail, bits("EXIT", 15)]:
        _lower(rows, one)
    result = launch(rows, REGISTERS, arrays, Prepared.of(gpu, blocks, 32 * warps, ()), shared, **options)
    return outputs.reshape(len(results), blocks * warps, 32).transpose(1, 0, 2), result


def clocks(body: Sequence[Instruction], count: int, gpu: gpus.Gpu = OBEDIENT, **more: Any) -> NDArray[np.int64]:
    """What lane 0 of each warp reads into R100 and so many from there on: shape (warps, count)."""
    values, _ = run_timed(body, range(100, 100 + count), gpu, **more)
    found: NDArray[np.int64] = values[:, :, 0].astype(np.int64)
    return found
