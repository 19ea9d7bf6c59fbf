"""What mutations start from: the launches of real kernels, as the core gets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core, benchmarks, cuda, float32, gpus, int32, smm
from smmux.compiler.program import INSN, UNIFORM

MOST_BYTES = 1 << 16  # of an array


@dataclass
class Launch:
    """The arguments of `_core.launch`, arrays as their bytes."""

    code: NDArray[Any]
    uniforms: NDArray[Any]
    meta: dict[str, int]
    config: list[int]
    grid: list[int]
    block: list[int]
    params: list[int]
    buffers: list[tuple[bytes, int, bool]]
    const: bytes
    options: dict[str, int]
    preload: bytes = b""
    name: str = field(default="", compare=False)


class _Recorded(Exception):
    """In place of the run."""


@contextmanager
def _recording(into: list[Launch]) -> Iterator[None]:
    real = _core.launch

    def record(**given: Any) -> None:
        into.append(
            Launch(
                code=np.array(given["code"], INSN),
                uniforms=np.array(given["uniforms"], UNIFORM),
                meta=dict(given["meta"]),
                config=list(given["config"]),
                grid=list(given["grid"]),
                block=list(given["block"]),
                params=list(given["params"]),
                buffers=[(bytes(array[:MOST_BYTES]), at, write) for array, at, _, write in given["buffers"]],
                const=bytes(given["const"]),
                options=dict(given["options"]),
            )
        )
        raise _Recorded

    _core.launch = record  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        _core.launch = real  # type: ignore[misc]


@cuda.jit
def everything(x, y, n):
    """Local arrays, atomics, division, shared and dynamic memory, loops of different length, fences."""
    tile = cuda.shared.array(64, int32)
    held = smm.array(64, float32)
    own = cuda.local.array(8, int32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    for k in range(8):
        own[k] = i + k
    total = int32(0)
    for k in range(t % 5 + 1):
        total += own[(t + k) % 8] // (k + 1)
    tile[t] = total
    cuda.syncthreads()
    smm.alloc()
    held[t] = float32(tile[63 - t])
    cuda.syncthreads()
    if i < n:
        y[i] = held[63 - t] + x[i]
        cuda.atomic.add(y, 0, float32(1.0))
    smm.release()
    cuda.threadfence()


def record(names: Sequence[str] | None = None) -> list[Launch]:
    """Launches of benchmarks (default: all) and variants at their tiny sizes, and of `everything`; machines in turn."""
    launches: list[Launch] = []
    machines = gpus.names()
    with _recording(launches):
        for name in benchmarks.names() if names is None else names:
            benchmark = benchmarks.get(name)
            problem = benchmark.problem("tiny")
            for variant in benchmark.variants:
                gpu = machines[len(launches) % len(machines)]
                kernel, grid, block = benchmark.launch(problem, variant)
                _launch(launches, kernel, grid, block, problem.arguments(), gpu)
        x = np.arange(256, dtype=np.float32)
        for gpu in machines:
            _launch(launches, everything, 4, 64, (x, x.copy(), 200), gpu)
    return launches


def _launch(launches: list[Launch], kernel: Any, grid: Any, block: Any, arguments: Any, gpu: str) -> None:
    with suppress(_Recorded):
        kernel.simulate(grid, block, arguments, gpu=gpu, management="dynamic", extra_blocks=2, profile=True)
    launches[-1].name = f"{kernel.__name__} on {gpu}"
