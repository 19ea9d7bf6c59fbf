"""Reads numbers off one run, and off two runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.compiler.ir import Space
from smmux.compiler.program import Program
from smmux.gpus import Gpu
from smmux.machines.occupancy import Occupancy, occupancy
from smmux.results.checks import Finding
from smmux.results.result import Result

__all__ = ["blocks_held", "difference", "misuses", "occupancy_of", "region_share", "spilled_bytes"]


def occupancy_of(run: Result) -> Occupancy:
    """Return how many blocks an SM holds under static management, and the resource that limits them."""
    return _occupancy(run.program, run.threads, run.gpu)


def blocks_held(program: Program, threads: int, gpu: Gpu) -> int:
    """Return how many blocks of so many threads an SM holds under static management, 0 if one does not fit."""
    return _occupancy(program, threads, gpu).blocks if threads <= gpu.max_threads_block else 0


def _occupancy(program: Program, threads: int, gpu: Gpu) -> Occupancy:
    held = program.shared_bytes + program.dynamic_bytes
    return occupancy(threads, program.nregs, held, gpu, program.param_bytes(gpu.pointer_bytes))


def region_share(isolated: Result | None) -> float | None:
    """Divide time in regions by block lifetime (paper, Figure 1), of a run whose regions are isolated by barriers."""
    return isolated["region_cycles"] / (isolated["block_cycles"] or 1) if isolated is not None else None


def spilled_bytes(program: Program) -> int:
    """Return the bytes per thread that were spilled: local memory beyond the kernel's own arrays."""
    own = [array.offset + array.nbytes for array in program.arrays if array.space is Space.LOCAL]
    return program.local_bytes - max(own, default=0)


def misuses(run: Result) -> Sequence[Finding]:
    """Return the errors that a run's check found in the use of shared memory."""
    return run.findings.errors if run.findings is not None else ()


def difference(a: NDArray[Any], b: NDArray[Any]) -> float | None:
    """Return the largest difference of two arrays as a share of the largest value.

    None if they hold the same bits; infinite if they differ and are not finite floats.
    """
    if a.tobytes() == b.tobytes():
        return None
    if a.dtype.kind != "f" or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("inf")
    return float(np.abs(a.astype(np.float64) - b).max() / (np.abs(b).max() or 1))
