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

The files lie in four storeys, of which each imports from those below it alone: `syntax` makes and prints trees,
`analysis` finds out what is known of a kernel, `regions` finds where it uses shared memory, and `forms` transforms it.
`FORMS` lists what a kernel can become.
"""

from __future__ import annotations

from smmux.multiplex.forms.divided.co import co_hw, co_vtb
from smmux.multiplex.forms.hw import hw, isolate
from smmux.multiplex.forms.table import FORMS, Form
from smmux.multiplex.forms.virtual.geometry import VirtualKernel
from smmux.multiplex.forms.virtual.vtb import vtb
from smmux.multiplex.forms.virtual.vtb_pipe import vtb_pipe
from smmux.multiplex.regions.overview import Region, Regions, regions
from smmux.multiplex.syntax.refusals import MultiplexError

__all__ = ["FORMS", "Form", "MultiplexError", "Region", "Regions", "VirtualKernel", "co_hw", "co_vtb", "hw", "isolate",
           "regions", "vtb", "vtb_pipe"]  # fmt: skip
