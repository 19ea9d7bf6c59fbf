"""The forms that a kernel can have: one row for each, read wherever forms are made, listed or drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from smmux.kernel import Kernel
from smmux.multiplex.forms.divided.co import co_hw, co_vtb
from smmux.multiplex.forms.hw import hw, isolate
from smmux.multiplex.forms.virtual.vtb import vtb
from smmux.multiplex.forms.virtual.vtb_pipe import vtb_pipe

__all__ = ["FORMS", "Form"]

DECLARATION = ("array", "private", "shape", "interleaved", "threads")
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
