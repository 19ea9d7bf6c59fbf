"""The ten benchmarks of the paper's Table 1: kernels in Numba-CUDA syntax, problems of several sizes, references.

>>> names()
('MV', 'FFT', 'MC', 'STO', 'SP', 'HG', 'CV', 'MM', 'TP', 'RD')
>>> get("FFT").problem("tiny").grid
(2,)
"""

from __future__ import annotations

from smmux.benchmarks import (
    cv,
    fft,
    hg,
    mc,
    mm,
    mv,
    rd,
    sp,
    sto,
    tp,
)  # fmt: skip
from smmux.benchmarks.base import VARIANTS, Benchmark, Problem, Table1, Workload, WrongOutputError

__all__ = [
    "VARIANTS", "Benchmark", "Problem", "Table1", "Workload", "WrongOutputError", "get", "names",
]  # fmt: skip

_BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK for module in (mv, fft, mc, sto, sp, hg, cv, mm, tp, rd)
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
