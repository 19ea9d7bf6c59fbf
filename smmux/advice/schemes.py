"""The schemes that advice tries on a kernel: its multiplexing forms, with the launch and the options of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from smmux.base.dimensions import Dim3, dim3
from smmux.errors import ConfigError, LaunchError, did_you_mean
from smmux.kernels.kernel import Kernel
from smmux.multiplex import FORMS, Form, VirtualKernel
from smmux.multiplex.forms.divided.co import DIVISION

__all__ = ["Launch", "Trial", "declared", "trials"]

Launch = tuple[Kernel, Dim3, Dim3]

VIRTUAL_BLOCKS = (2, 3, 4)
"""Try VTB with these numbers of thread blocks in one, each as a scheme of its own."""

EXTRA_BLOCKS = (1, 2, 3)
"""Try the paper's hardware with these numbers of blocks beyond K, each as a scheme of its own."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A scheme to try.

    make: returns its kernel, and the grid and block to launch it with. options: for its launch. budget: how many
    registers per thread leave room for its extra blocks; None to keep the limit that `advise` was told. family: the
    name that trials share which differ in the number of blocks alone; they stand in the order of that number.
    """

    name: str
    make: Callable[[], Launch]
    software: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None
    family: str = ""


def trials(
    kernel: Kernel, own: tuple[Dim3, Dim3], division: Mapping[str, Any], budget: Callable[[int], int] | None
) -> list[Trial]:
    """List all schemes for a kernel. own: its grid and block. division: the declaration of its private part, empty if
    there is none. budget: returns how many registers per thread leave room for n more blocks; None for no limit."""
    forms = [form for form in FORMS.values() if division or not form.declaration]
    hardware = [form for form in forms if form.hardware]
    tried = [trial for form in forms if form.virtual for trial in _software(form, kernel, own, division)]
    for n in EXTRA_BLOCKS:
        tried += [_hardware(form, n, kernel, own, division, budget) for form in hardware]
    return tried


def _software(form: Form, kernel: Kernel, own: tuple[Dim3, Dim3], division: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield the schemes of a form for cards that exist: one, or one for each number of virtual blocks."""
    build = partial(form.function, kernel, **(division if form.declaration else {}))
    if "n" not in form.options:
        yield Trial(form.label, partial(_virtual, build, own), family=form.label)
        return
    for n in VIRTUAL_BLOCKS:
        name = form.label if n == 2 else f"{form.label}, N = {n}"
        yield Trial(name, partial(_virtual, partial(build, n=n), own), family=form.label)


def _hardware(
    form: Form,
    extra: int,
    kernel: Kernel,
    own: tuple[Dim3, Dim3],
    division: Mapping[str, Any],
    budget: Callable[[int], int] | None,
) -> Trial:
    """Make the scheme of a form for the paper's hardware, with `extra` blocks beyond K."""
    build = partial(form.function, kernel, **(division if form.declaration else {}))
    options = {"management": "dynamic", "extra_blocks": extra}
    most = budget(extra) if budget else None
    return Trial(f"{form.label}, K + {extra}", lambda: (build(), *own), False, options, most, form.label)


def _virtual(build: Callable[[], Kernel], own: tuple[Dim3, Dim3]) -> Launch:
    """Make a kernel of virtual blocks with its launch. It gets a guard if the grid is no multiple of n."""
    kernel = build()
    assert isinstance(kernel, VirtualKernel)
    try:
        return kernel, *_dims(kernel.geometry(*own))
    except LaunchError:
        kernel = kernel.fitted(*own)
        return kernel, *_dims(kernel.geometry(*own))


def _dims(sizes: tuple[Sequence[int], Sequence[int]]) -> tuple[Dim3, Dim3]:
    return dim3("grid", sizes[0]), dim3("block", sizes[1])


def declared(divided: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the declaration of private parts, empty if there is none.

    Raises ConfigError for one that the collaborative passes would not understand.
    """
    if divided is None:
        return {}
    if not isinstance(divided, Mapping):
        raise ConfigError(f"divided must map arguments of multiplex.co_hw to values, not be {divided!r}")
    for name in divided:
        if name not in DIVISION:
            raise ConfigError(
                f"divided has no {name!r}{did_you_mean(str(name), DIVISION)}; it has {', '.join(DIVISION)}"
            )
    for name, (wanted, fits) in DIVISION.items() if divided else ():
        if not fits(divided.get(name)):
            said = f"not {divided[name]!r}" if name in divided else "and is not given"
            raise ConfigError(f"divided[{name!r}] must be {wanted}, {said}")
    return dict(divided)
