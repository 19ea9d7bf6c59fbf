"""Cooperative groups, as in `numba.cuda.cg`: all threads of a launch wait for each other.

>>> from smmux import cuda
>>> @cuda.jit
... def smooth(a, b):
...     i = cuda.grid(1)
...     for _ in range(10):
...         b[i] = (a[i - 1] + a[i]) / 2
...         cuda.cg.this_grid().sync()
...         a[i] = b[i]
...         cuda.cg.this_grid().sync()

The blocks must all be resident, since one that has not started cannot arrive: a launch of more is refused, and the
error says how many can be.
"""

from __future__ import annotations

from smmux.language.kernel_only import kernel_only

__all__ = ["GridGroup", "this_grid"]


class GridGroup:
    """All threads of a launch."""

    @staticmethod
    def sync() -> None:
        """Wait for all threads of the launch; what they have stored before is seen by all behind."""
        kernel_only("cuda.cg.this_grid().sync")

    def __repr__(self) -> str:
        return "cuda.cg.this_grid()"


def this_grid() -> GridGroup:
    """The group of all threads of the launch."""
    kernel_only("cuda.cg.this_grid")
