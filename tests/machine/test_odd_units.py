"""Shared memory is rounded to any unit: blocks may start at any byte, and compute the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from smmux import cuda, float32, gpus, int32, smm, uint8
from smmux.results.result import Result

THREADS, BLOCKS = 64, 12


@cuda.jit
def every_shape(x, y):
    """Rows, one word for all, scattered words, pairs and quadruples, bytes and atomics; static and dynamic arrays."""
    tile = cuda.shared.array(256, int32)
    small = cuda.shared.array(64, uint8)
    held = smm.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    for k in range(4):
        tile[4 * t + k] = x[i] + k
    small[t] = uint8(x[i])
    cuda.syncthreads()
    total = tile[0] + tile[(t * 7) % 256] + small[63 - t]
    for k in range(4):
        total += tile[4 * (63 - t) + k] * (k + 1)
    cuda.syncthreads()
    tile[t] = total
    if t < 20:
        tile[(t * 11) % 64 + 64] = t
    cuda.syncthreads()
    cuda.atomic.add(tile, (t * 5) % 32, 1)
    smm.alloc()
    held[63 - t] = float32(tile[t])
    cuda.syncthreads()
    total = int32(held[t]) + tile[64 + (t * 3) % 64] % 256
    smm.release()
    y[i] = total


def run(gpu: gpus.Gpu, **options: Any) -> tuple[np.ndarray[Any, Any], Result]:
    """Outputs and the result."""
    x = (np.arange(THREADS * BLOCKS, dtype=np.int32) * 37) % 251
    y = np.zeros_like(x)
    result = every_shape.simulate(BLOCKS, THREADS, (x, y), gpu=gpu, **options)
    return y, result


@pytest.mark.parametrize("management", ["static", "dynamic"])
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K", "K20c"])
def test_outputs_do_not_depend_on_where_blocks_start(name: str, management: str) -> None:
    machine = replace(gpus.get(name), sm_count=1)
    expected, _ = run(machine, management=management)
    assert len(np.unique(expected)) > THREADS
    for unit in (1, 3, 17, 1000):
        odd = replace(machine, smm_unit=unit)
        found, result = run(odd, management=management, check="races")
        assert result.residency > 1
        assert not result.findings
        np.testing.assert_array_equal(found, expected)
