"""A kernel with its launch configuration: what `kernel[grid, block]` is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from smmux.base.dimensions import Dim3, dim3
from smmux.base.tracebacks import brief
from smmux.errors import KernelError

if TYPE_CHECKING:
    from smmux.kernels.kernel import Kernel

__all__ = ["BoundKernel"]


class BoundKernel:
    """A kernel with a launch configuration, ready to be called."""

    def __init__(self, kernel: Kernel, grid: Any, block: Any, dynshared: int = 0, *, empty: bool = False) -> None:
        self.kernel, self.grid, self.block, self.dynshared = kernel, grid, block, dynshared
        self.empty = empty  # a launch of no threads at all, as `forall(0)` asks for

    @property
    def griddim(self) -> Dim3:
        """The grid's size, under Numba's name."""
        return dim3("grid", self.grid)

    @property
    def blockdim(self) -> Dim3:
        """The block's size, under Numba's name."""
        return dim3("block", self.block)

    @property
    def sharedmem(self) -> int:
        """Bytes of shared memory for arrays of shape 0, under Numba's name."""
        return self.dynshared

    @brief
    def __call__(self, *args: Any, **named: Any) -> None:
        """Run on the current machine; arrays are written in place."""
        if self.empty:
            return
        if named:
            args = self.kernel.in_order(args, named)
        try:
            printed = self.kernel.simulate(self.grid, self.block, args, dynshared=self.dynshared).printed
        except KernelError as error:
            sys.stdout.write(error.printed)
            raise
        sys.stdout.write(printed)

    def __repr__(self) -> str:
        return f"{self.kernel!r}[{self.grid}, {self.block}]"
