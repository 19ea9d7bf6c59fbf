"""The schemes that advice tries on a kernel: its multiplexing forms, with the launch and the options of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, SupportsIndex

from smmux.base.dimensions import Dim3, dim3
from smmux.errors import ConfigError, LaunchError, did_you_mean
from smmux.kernels.kernel import Kernel
from smmux.multiplex import FORMS, Form, VirtualKernel

__all__ = ["Launch", "Trial", "declared", "trials"]

Launch = tuple[Kernel, Dim3, Dim3]

VIRTUAL_BLOCKS = (2, 3, 4)
"""Numbers of thread blocks that VTB puts into one, each a scheme."""

EXTRA_BLOCKS = (1, 2, 3)
"""Numbers of blocks beyond K under the paper's hardware, each a scheme."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A scheme to try.

    make: gives its kernel with the grid and block that it is launched with. options: of its launch. budget: the most
    registers per thread with which its extra blocks find room (None: as many as `advise` was told). family: the scheme
    of which it is one number of blocks; those of a family stand in the order of that number.
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
    """All schemes for a kernel with its grid and block. division: the declaration of its private part, empty without
    one; budget: registers per thread for n more blocks, None for no limit."""
    forms = [form for form in FORMS.values() if division or not form.declaration]
    hardware = [form for form in forms if form.hardware]
    tried = [trial for form in forms if form.virtual for trial in _software(form, kernel, own, division)]
    for n in EXTRA_BLOCKS:
        tried += [_hardware(form, n, kernel, own, division, budget) for form in hardware]
    return tried


def _software(form: Form, kernel: Kernel, own: tuple[Dim3, Dim3], division: Mapping[str, Any]) -> Iterator[Trial]:
    """The schemes of a form for cards that exist: one, or one for each number of virtual blocks."""
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
    """A form for the paper's hardware with a number of blocks beyond K."""
    build = partial(form.function, kernel, **(division if form.declaration else {}))
    options = {"management": "dynamic", "extra_blocks": extra}
    most = budget(extra) if budget else None
    return Trial(f"{form.label}, K + {extra}", lambda: (build(), *own), False, options, most, form.label)


def _virtual(build: Callable[[], Kernel], own: tuple[Dim3, Dim3]) -> Launch:
    """A kernel of virtual blocks with its launch; one whose grid is no multiple of n gets a guard."""
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
    """The declaration of parts, if any; ConfigError for one that the collaborative passes would not understand."""
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


def _integers(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(item, SupportsIndex) for item in value)


DIVISION: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "array": ("the name of a shared array", lambda v: isinstance(v, str)),
    "private": ("an integer", lambda v: isinstance(v, SupportsIndex)),
    "shape": ("an integer or a tuple of them", lambda v: v is None or isinstance(v, SupportsIndex) or _integers(v)),
    "interleaved": ("two integers", lambda v: v is None or (_integers(v) and len(v) == 2)),
    "threads": ("an integer", lambda v: v is None or isinstance(v, SupportsIndex)),
}
"""Arguments of the collaborative passes: what each has to be, and the test of a value."""
