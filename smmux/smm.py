"""Shared memory held only while it is used: what smmux adds to the kernel language.

>>> from smmux import cuda, float32; from smmux.language import smm
>>> @cuda.jit
... def exchange(a):
...     tile = smm.array(256, float32)
...     t = cuda.threadIdx.x
...     x = a[cuda.grid(1)]
...     smm.alloc()
...     tile[t] = x
...     cuda.syncthreads()
...     y = tile[255 - t]
...     smm.release()
...     a[cuda.grid(1)] = y

Under `management="static"` the arrays are the block's from start to end, and `alloc` and `release` are plain barriers.
"""

from smmux.language.smm import *  # noqa: F403
from smmux.language.smm import __all__ as __all__
