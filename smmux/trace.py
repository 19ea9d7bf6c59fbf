"""The recorded time line of a run: what happened to blocks and warps of each SM, and samples of what SMs and DRAM did.

>>> import numpy as np
>>> from smmux import cuda
>>> @cuda.jit
... def double(a):
...     i = cuda.grid(1)
...     if i < a.size:
...         a[i] = 2 * a[i]
>>> trace = double.simulate(4, 32, (np.arange(128, dtype=np.int32),), trace=True).trace
>>> trace.kinds()["block_end"], int(trace.samples["instructions"].sum()) > 4
(4, True)
"""

from smmux.results.trace import *  # noqa: F403
from smmux.results.trace import __all__ as _names
from smmux.results.zoomable import Timeline as Timeline

__all__ = [*_names, "Timeline"]
