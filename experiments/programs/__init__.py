"""Programs that experiments run beside the benchmarks of Table 1: kernels, problems of several sizes and references.

>>> workload("FIR").builds
('one', 'two')
"""

from __future__ import annotations

from experiments.programs import (
    ac,
    chunk_maximum,
    filters,
    laplace,
    lookups,
    memory_layouts,
    neural,
    one_pass,
    stencils,
    untiled,
)
from smmux.benchmarks import Workload

__all__ = ["workload", "workloads"]

_WORKLOADS: dict[str, Workload] = {
    row.name: row
    for module in (filters, ac, memory_layouts, lookups, untiled, chunk_maximum, one_pass, stencils, laplace, neural)
    for row in module.WORKLOADS
}


def workloads() -> tuple[str, ...]:
    """Names of all programs."""
    return tuple(_WORKLOADS)


def workload(name: str) -> Workload:
    """The program of that name, in any case."""
    try:
        return _WORKLOADS[name.upper()]
    except KeyError:
        raise KeyError(f"no workload {name!r}; there are {', '.join(_WORKLOADS)}") from None
