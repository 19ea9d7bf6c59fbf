"""Each hardware model callable alone: shared-memory banks and table, coalescing, occupancy, caches, DRAM, memory.

These are the functions the simulator itself uses, in C. Addresses are byte addresses, one per lane of a warp.

>>> from smmux.machines import models
>>> models.bank_passes([8 * lane for lane in range(32)], width=4, gpu="GTX285").conflicts
2
>>> [s.bytes for s in models.coalesce([128 + 4 * lane + 4 for lane in range(32)], gpu="GTX285").segments]
[128, 64, 32]
>>> models.occupancy(threads=96, registers=14, shared_bytes=2176 - 16, gpu="GTX285").blocks
6
"""

from smmux.machines.models import *  # noqa: F403
from smmux.machines.models import __all__ as __all__
