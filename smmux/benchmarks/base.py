"""The parts of a benchmark: kernels by variant and build, problems by size, and the oracle of each problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smmux.errors import Error

if TYPE_CHECKING:
    from smmux.multiplex import Form

__all__ = [
    "VARIANTS",
    "Benchmark",
    "Problem",
    "Table1",
    "Workload",
    "WrongOutputError",
    "close",
    "eighths",
    "equal",
    "multiples",
    "poisoned",
]

BASELINE = "baseline"
"""The variant that is the kernel as written."""


def _forms() -> Mapping[str, Form]:
    """What `smmux.multiplex` makes of kernels, loaded when a variant beside the baseline is asked for."""
    from smmux.multiplex import FORMS

    return FORMS


if TYPE_CHECKING:
    VARIANTS: tuple[str, ...]
    DIVIDED: tuple[str, ...]
    VIRTUAL: tuple[str, ...]
else:

    def __getattr__(name: str) -> Any:
        """VARIANTS: the kernel as written, and the forms that `smmux.multiplex` gives it. DIVIDED: those that need a
        declaration of the private part; only default builds have them. VIRTUAL: those whose thread blocks hold several
        of the baseline's."""
        takes = {
            "VARIANTS": lambda form: True,
            "DIVIDED": lambda form: form.declaration,
            "VIRTUAL": lambda form: form.virtual,
        }.get(name)
        if takes is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return tuple(name for name, form in _forms().items() if takes(form))


class WrongOutputError(Error):
    """A kernel's output differs from the reference; such a run is never plotted."""


@dataclass(frozen=True, slots=True)
class Table1:
    """A row of the paper's Table 1: bytes of shared memory and threads of a block, blocks on an SM of 16 kB."""

    bytes: int
    threads: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One launch of a benchmark: geometry, arguments and the answer.

    arguments: makes the kernel's arguments. Inputs are shared between calls and read-only, outputs are new and hold
    poison, so that a word which no thread writes is found.
    check: raises `WrongOutputError` unless the outputs among the given arguments are right.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], tuple[Any, ...]]
    check: Callable[[tuple[Any, ...]], None]

    @property
    def blocks(self) -> int:
        """Thread blocks of the grid."""
        return int(np.prod(self.grid))

    @property
    def threads(self) -> int:
        """Threads per block."""
        return int(np.prod(self.block))


@dataclass(frozen=True, slots=True)
class Workload:
    """A program with an oracle: kernels by build, problems by size.

    kernels: one for each build; the first build named is the default one.
    problems: makes the problem of a build from the sizes as keywords.
    sizes: keywords of `problems` under the names "default", "large" (for waves enough where four blocks are combined),
    "quick" (about an eighth) and "tiny" (for tests).
    """

    name: str
    title: str
    kernels: Mapping[str, Any]
    problems: Callable[..., Problem]
    sizes: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", MappingProxyType(dict(self.kernels)))

    @property
    def builds(self) -> tuple[str, ...]:
        """Builds of the kernel, the default one first."""
        return tuple(self.kernels)

    def problem(self, size: str | Mapping[str, float] = "default", build: str | None = None) -> Problem:
        """The problem of a named size, or of the sizes given as a mapping; the default ones where it has none.

        Raises KeyError for unknown names, ValueError for sizes that the kernel cannot take.
        """
        build = build or self.builds[0]
        self._one_of(self.kernels, "build", build)
        return self.problems(build=build, **self.sizes_of(size))

    def sizes_of(self, size: str | Mapping[str, float]) -> dict[str, float]:
        """The keywords of a named size, or those given, with the default ones where there are none. Raises KeyError for
        unknown names."""
        if isinstance(size, str):
            return dict(self._one_of(self.sizes, "size", size))
        known = {name: None for named in self.sizes.values() for name in named}
        for name in size:
            self._one_of(known, "size", name)
        return {**self.sizes["default"], **size}

    def _one_of(self, known: Mapping[str, Any], what: str, name: str) -> Any:
        if name not in known:
            raise KeyError(f"{self.name} has no {what} {name!r}; it has {', '.join(known)}")
        return known[name]


@dataclass(frozen=True, slots=True)
class Benchmark(Workload):
    """A row of Table 1 as a program; its kernels are the baseline of each build.

    table1: what the paper prints. pointer_bytes: size of a pointer with which the paper's bytes come out.
    used: shapes of shared arrays, by name, of which the kernels use less than they declare; the variant "hw" allocates
    what they use. divided: arguments of `multiplex.co_hw` and `co_vtb` for the default build, where the paper has them.
    combined: thread blocks that the paper's VTB combines.
    """

    table1: Table1
    pointer_bytes: int = 8
    used: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    divided: Mapping[str, Any] = field(default_factory=dict)
    combined: int = 2

    @property
    def variants(self) -> tuple[str, ...]:
        """Variants of the default build."""
        return tuple(name for name, form in _forms().items() if not form.declaration or self.divided)

    def kernel(self, variant: str = "baseline", build: str | None = None, n: int | None = None) -> Any:
        """The kernel of one of `VARIANTS` and a build (default: the first build).

        n: blocks that "vtb" combines (default: as in the paper).
        """
        build = build or self.builds[0]
        if variant == BASELINE and build in self.kernels:
            return self.kernels[build]
        forms = _forms()
        variants = [name for name in self.variants if not forms[name].declaration or build == self.builds[0]]
        if variant not in variants or build not in self.kernels:
            have = f"variants {', '.join(variants)} of builds {', '.join(self.builds)}"
            raise KeyError(f"{self.name} has no kernel {variant}/{build}; it has {have}")
        declared = self.divided if forms[variant].declaration else self.used
        return _made(self.kernels[build], variant, tuple(declared.items()), n or self.combined)

    def launch(
        self, problem: Problem, variant: str = "baseline", build: str | None = None, n: int | None = None
    ) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
        """The kernel of a variant as `kernel` gives it, with the grid and block that it takes for a problem."""
        kernel = self.kernel(variant, build, n)
        if variant == BASELINE or not _forms()[variant].virtual:
            return kernel, problem.grid, problem.block
        kernel = _fitted(kernel, problem.grid, problem.block)
        return kernel, *kernel.geometry(problem.grid, problem.block)


@cache
def _made(kernel: Any, variant: str, declared: tuple[tuple[str, Any], ...], n: int) -> Any:
    form = _forms()[variant]
    known = {"shapes": dict(declared), "n": n}
    given = dict(declared) if form.declaration else {name: known[name] for name in form.options}
    return form.function(kernel, **given)


@cache
def _fitted(kernel: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> Any:
    return kernel.fitted(grid, block)


def multiples(unit: int, **sizes: float) -> None:
    """Raise ValueError unless the sizes are positive multiples of the unit: kernels as published check no borders."""
    for name, size in sizes.items():
        if size < unit or size % unit:
            raise ValueError(f"{name} must be a positive multiple of {unit}, not {size}")


def eighths(rng: np.random.Generator, shape: int | tuple[int, ...]) -> NDArray[np.float32]:
    """Read-only random multiples of 1/8 in [-1, 1]: sums of their products are exact in float32 in any order."""
    numbers = rng.integers(-8, 9, shape, dtype=np.int8).astype(np.float32)
    numbers *= np.float32(1 / 8)
    return frozen(numbers)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, contiguous and read-only from now on."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def poisoned(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array whose every byte is 0xff: NaN as float32, and no valid result of any benchmark."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(0xFF)
    return array


def equal(what: str, got: NDArray[Any], expected: NDArray[Any]) -> None:
    """Raise `WrongOutputError` unless every element is equal."""
    wrong = got != expected
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise WrongOutputError(
            f"{what}: {int(wrong.sum())} of {wrong.size} elements differ, first at {where}: "
            f"{got[where]} instead of {expected[where]}"
        )


def close(what: str, got: NDArray[Any], expected: NDArray[Any], tolerance: float, norm: str = "l2") -> None:
    """Raise `WrongOutputError` unless |got - expected| <= tolerance |expected| in the norm "l1", "l2" or "max"."""
    order = {"l1": 1, "l2": 2, "max": np.inf}[norm]
    reference = np.asarray(expected, dtype=np.float64).ravel()
    error = float(np.linalg.norm(got.ravel() - reference, order))
    scale = float(np.linalg.norm(reference, order))
    if not error <= tolerance * scale:  # also when the error is NaN
        raise WrongOutputError(f"{what}: relative {norm} error {error / scale:.3g} exceeds {tolerance:g}")
