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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from smmux.kernels.kernel import Kernel
from smmux.multiplex.forms.divided.co import DIVISION, co_hw, co_vtb
from smmux.multiplex.forms.hw import hw, isolate
from smmux.multiplex.forms.virtual.geometry import VirtualKernel
from smmux.multiplex.forms.virtual.vtb import vtb, vtb_pipe
from smmux.multiplex.regions.find import Region, Regions, regions
from smmux.rewriting.refusals import MultiplexError

__all__ = ["FORMS", "Form", "MultiplexError", "Region", "Regions", "VirtualKernel", "co_hw", "co_vtb", "hw", "isolate",
           "regions", "vtb", "vtb_pipe"]  # fmt: skip

DECLARATION = tuple(DIVISION)
"""Arguments that say which part of a shared array is private."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a kernel.

    name: of the variant. label: its name in the paper and in figures. function: the pass that makes it from a kernel.
    virtual: its thread blocks do the work of several, and its own `geometry` says how to launch it. hardware: it needs
    the paper's hardware, `management="dynamic"`. declaration: arguments of the pass that say which part of a shared
    array is private, if it divides one. options: arguments of the pass that depend on the kernel and may be left out.
    """

    name: str
    label: str
    function: Callable[..., Kernel]
    virtual: bool = False
    hardware: bool = False
    declaration: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def baseline(kernel: Kernel) -> Kernel:
    """The kernel as it was written."""
    return kernel


FORMS: Mapping[str, Form] = MappingProxyType({
    form.name: form
    for form in (
        Form("baseline", "baseline", baseline),
        Form("isolated", "isolated", isolate),
        Form("hw", "HW", hw, hardware=True, options=("shapes",)),
        Form("vtb", "VTB", vtb, virtual=True, options=("n",)),
        Form("vtb_pipe", "VTB_pipe", vtb_pipe, virtual=True),
        Form("co_hw", "CO-HW", co_hw, hardware=True, declaration=DECLARATION),
        Form("co_vtb", "CO-VTB", co_vtb, virtual=True, declaration=DECLARATION),
    )
})  # fmt: skip
"""All forms by name, the kernel as written first."""
