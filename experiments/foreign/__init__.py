"""Twenty-four kernels that use shared memory and are none of the paper's: what a form does to kernels of others.

They are written as textbooks and tutorials of Numba have them, and are no part of what the forms, the machine or the
compiler were made with. Each has problems of three sizes, of which the default one fills a card, and a reference.

>>> names()[:3]
('MATMUL', 'PREFETCH', 'TRANSPOSE')
>>> workload("median").problem("tiny").block
(16, 16)
"""

from __future__ import annotations

from experiments.foreign import foreign_data, foreign_tiles, foreign_vectors
from smmux.benchmarks import Workload

__all__ = ["names", "workload"]

_WORKLOADS: dict[str, Workload] = {
    row.name: row for module in (foreign_tiles, foreign_vectors, foreign_data) for row in module.WORKLOADS
}


def names() -> tuple[str, ...]:
    """Names of all kernels."""
    return tuple(_WORKLOADS)


def workload(name: str) -> Workload:
    """The kernel of that name, in any case."""
    try:
        return _WORKLOADS[name.upper()]
    except KeyError:
        raise KeyError(f"no foreign kernel {name!r}; there are {', '.join(_WORKLOADS)}") from None
