"""Reductions of arrays by a function of two values, as `numba.cuda.reduce` has them.

>>> import numpy as np
>>> @Reduce
... def total(a, b):
...     return a + b
>>> int(total(np.arange(1000, dtype=np.int32)))
499500
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smmux import cuda
from smmux.kernels.declaration import declare
from smmux.kernels.kernel import Kernel
from smmux.running.host import device_array

__all__ = ["Reduce"]

THREADS, BLOCKS = 128, 64  # as Numba launches them


class Reduce:
    """A function of two values that reduces one-dimensional arrays; it should be associative and commutative."""

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        self._function = functor if isinstance(functor, Kernel) else declare(functor, device=True)
        self._kernels: dict[np.dtype[Any], Kernel] = {}

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """The reduction of `init` and the first `size` elements (None: all), or None if `res[0]` takes it."""
        if arr.ndim != 1:
            raise TypeError("only one-dimensional arrays can be reduced")
        arr = arr[:size]
        init = arr.dtype.type(init)
        if arr.size < 1:
            return init
        kernel = self._kernel(arr.dtype)
        blocks = min(-(-arr.size // THREADS), BLOCKS)
        partial = device_array(blocks, arr.dtype)
        kernel[blocks, THREADS, stream](arr, partial, init, True)
        if blocks > 1:
            kernel[1, THREADS, stream](partial, partial, init, False)
        if res is None:
            return partial[0]
        res[:1] = partial[:1]
        return None

    def _kernel(self, dtype: np.dtype[Any]) -> Kernel:
        """The kernel for elements of that type."""
        if dtype not in self._kernels:
            self._kernels[dtype] = _kernel_of(self._function, dtype)
        return self._kernels[dtype]


def _kernel_of(function: Any, dtype: np.dtype[Any]) -> Kernel:
    """Each thread reduces every so-manieth element, each block its threads' results in shared memory."""

    def reduce_blocks(array, partial, init, with_init):  # type: ignore[no-untyped-def]
        shared = cuda.shared.array(THREADS, dtype)
        thread = cuda.threadIdx.x
        index = cuda.grid(1)
        if index < array.size:
            total = array[index]
            index += cuda.gridsize(1)
            while index < array.size:
                total = function(total, array[index])
                index += cuda.gridsize(1)
            shared[thread] = total
        cuda.syncthreads()
        count = array.size - cuda.blockIdx.x * THREADS  # threads with a value, or more
        distance = THREADS // 2
        while distance > 0:
            if thread < distance and thread + distance < count:
                shared[thread] = function(shared[thread], shared[thread + distance])
            cuda.syncthreads()
            distance //= 2
        if thread == 0:
            result = shared[0]
            if with_init and cuda.blockIdx.x == 0:
                result = function(result, init)
            partial[cuda.blockIdx.x] = result

    return declare(reduce_blocks)
