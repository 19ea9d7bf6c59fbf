"""Shared-memory multiplexing as passes over kernels: syntax tree to syntax tree, printable as Python.

>>> from smmux import multiplex
>>> from smmux.benchmarks.mv import mv
>>> multiplex.regions(mv)
[<Region of mv, lines 35-39: tile, 1 barrier inside, in each iteration of `for i in range(0, width, TILE)`>]
>>> multiplex.hw(mv)
<kernel mv_hw at ...>
>>> pair = multiplex.vtb(mv)  # two thread blocks in one; print(pair.source) shows it
>>> pair.geometry(64, 32)  # how to launch it where mv is launched with 64 blocks of 32 threads
((32,), (64,))

What is known of a kernel: `walk` (with `expressions` and `facts`) finds what differs between threads and what each
statement does to memory (`events`, `blocks`, `defines`); `live`, `borders`, `spans` and `regions` say where shared
memory matters.
Where a name stands for several variables, `apart` and `webs` give each a name, if a kernel is refused as written.
What becomes of it: `outline` and `inline` bring it to one form; `manage` and `stage` make `hw`; `turns`, `virtual`,
`control`, `diverge` and `strides` make `vtb`, with `geometry` for its launch, and with `pipe`, `peel`, `spread` and
`annotated` `vtb_pipe`; `division` (`layout`, `uses`, `parts`, `streams`, `waiting`) and `collaborate` make `co_hw` and
`co_vtb`. `syntax`, `names`, `linear`, `effects` and `errors` serve all of them, `printer` and `listing` write the
result.
"""

from __future__ import annotations

from smmux.multiplex.collaborate import co_hw, co_vtb
from smmux.multiplex.errors import MultiplexError
from smmux.multiplex.geometry import VirtualKernel
from smmux.multiplex.manage import hw, isolate
from smmux.multiplex.pipe import vtb_pipe
from smmux.multiplex.regions import Region, Regions, regions
from smmux.multiplex.vtb import vtb

__all__ = [
    "MultiplexError",
    "Region",
    "Regions",
    "VirtualKernel",
    "co_hw",
    "co_vtb",
    "hw",
    "isolate",
    "regions",
    "vtb",
    "vtb_pipe",
]
