"""The ten benchmarks of the paper's Table 1: kernels in Numba-CUDA syntax, problems of several sizes, references.

>>> names()
('MV', 'FFT', 'MC', 'STO', 'SP', 'HG', 'CV', 'MM', 'TP', 'RD')
>>> get("FFT").problem("tiny").grid
(2,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smmux.benchmarks import (
    base,
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
from smmux.benchmarks.base import Benchmark, Problem, Table1, Workload, WrongOutputError

if TYPE_CHECKING:
    from smmux.benchmarks.base import VARIANTS

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


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """VARIANTS, which loads what makes them."""
        if name == "VARIANTS":
            return base.VARIANTS
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
