"""The ten benchmarks of the paper's Table 1: kernels in Numba-CUDA syntax, problems of several sizes, references.

Beside them stand the workloads of other experiments, which have kernels, problems and references too, but no row there.

>>> names()
('MV', 'FFT', 'MC', 'STO', 'SP', 'HG', 'CV', 'MM', 'TP', 'RD')
>>> get("FFT").problem("tiny").grid
(2,)
>>> workload("FIR").builds
('one', 'two')
"""

from __future__ import annotations

from smmux.benchmarks import (
    ac,
    chunk_maximum,
    cv,
    fft,
    filters,
    hg,
    lookups,
    mc,
    memory_layouts,
    mm,
    mv,
    neural,
    one_pass,
    rd,
    sp,
    stencils,
    sto,
    tp,
    untiled,
)  # fmt: skip
from smmux.benchmarks.base import VARIANTS, Benchmark, Problem, Table1, Workload, WrongOutputError

__all__ = [
    "VARIANTS", "Benchmark", "Problem", "Table1", "Workload", "WrongOutputError", "get", "names", "workload",
    "workloads",
]  # fmt: skip

_BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK for module in (mv, fft, mc, sto, sp, hg, cv, mm, tp, rd)
}

_WORKLOADS: dict[str, Workload] = {
    row.name: row
    for module in (filters, ac, memory_layouts, lookups, untiled, chunk_maximum, one_pass, stencils, neural)
    for row in module.WORKLOADS
}


def names() -> tuple[str, ...]:
    """Names in the order of Table 1; the first seven are those whose occupancy shared memory limits."""
    return tuple(_BENCHMARKS)


def get(name: str) -> Benchmark:
    """The benchmark of that name, in any case."""
    try:
        return _BENCHMARKS[name.upper()]
    except KeyError:
        raise KeyError(f"no benchmark {name!r}; there are {', '.join(_BENCHMARKS)}") from None


def workloads() -> tuple[str, ...]:
    """Names of the workloads beside the benchmarks of Table 1."""
    return tuple(_WORKLOADS)


def workload(name: str) -> Workload:
    """The workload of that name, in any case."""
    try:
        return _WORKLOADS[name.upper()]
    except KeyError:
        raise KeyError(f"no workload {name!r}; there are {', '.join(_WORKLOADS)}") from None
