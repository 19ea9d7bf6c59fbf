"""Kernels of many fields with data and checked results, at three sizes: small (some blocks), middle (about as many as
an H100 holds at once), large (several times that).

A suite is a file of CUDA C++, or of kernels in Python, and the module of the same name, which says of each kernel what
it is launched with: a function with the kernel's name makes a `Launch` from a random generator and a size. Only NumPy
is needed, so that the same data go to a card and to the simulator. `WORKLOADS` holds all kernels, and `is_open` says
which half a suite belongs to: errors of the sealed half are not looked at one by one while the machine is still being
improved.
"""

from __future__ import annotations

import hashlib
import importlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SIZES", "STRATA", "SUITES", "WORKLOADS", "Launch", "Workload", "is_open", "workload"]

Random = np.random.Generator
Shape = int | tuple[int, ...]

SIZES = ("small", "middle", "large")
STRATA = ("streaming", "cache", "shared", "arithmetic", "divergent", "atomic", "fp64", "mma", "tiny")
"""What should decide a kernel's time."""
SALT = 0
"""The first whole number with which each stratum that has several suites is in both halves; chosen, as all of this
was, before anything had been measured."""
FIRST = (
    "dense", "finance", "graphs", "images", "integers", "lattices", "layers", "matrices", "numeric", "particles",
    "signals", "single", "sorting", "sparse", "statistics", "strings", "transformer", "vectors",
)  # fmt: skip
"""The suites that the halves were made of."""
LATER = ("triton",)
"""Suites that came when the first had been measured, which leave each of those in its half."""
SUITES = (*FIRST, *LATER)
MODULES = {"triton": "triton_suite", "vectors": "vector_suite"}
"""Suites whose modules have another name, which is taken elsewhere."""
ALONE = ("numeric", "triton")
"""Suites whose compilers make a file of GPU code for each kernel."""
SCRATCH = {"triton": 2}
"""Pointers to scratch memory that a compiler passes behind the arguments; these kernels need none of it."""


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel's launch: grid, block, arguments (arrays for pointers, NumPy scalars, Python numbers for int and float),
    and by the index of an argument what its array holds afterwards, to within `relative` and `absolute`. Elements that
    are not known are NaN."""

    grid: Shape
    block: Shape
    args: Sequence[Any]
    results: Mapping[int, Any]
    relative: float = 0.0
    absolute: float = 0.0
    dynamic: int = 0

    def values(self) -> list[Any]:
        """The arguments with the types that the kernel takes; arrays are copies."""
        kinds: dict[type, Any] = {int: np.int32, float: np.float32}
        return [
            value.copy() if isinstance(value, np.ndarray) else kinds.get(type(value), lambda x: x)(value)
            for value in self.args
        ]

    def wrong(self, index: int, got: np.ndarray) -> str:
        """What is wrong with the result in that argument; nothing if it is right."""
        expected = np.asarray(self.results[index])
        if not expected.dtype == got.dtype:
            expected = expected.astype(np.float64)
        right = np.isclose(got, expected.reshape(got.shape), self.relative, self.absolute) | np.isnan(
            expected.reshape(got.shape)
        )
        return "" if right.all() else f"argument {index}: {np.size(right) - np.count_nonzero(right)} elements"


@dataclass(frozen=True, eq=False)
class Workload:
    """A kernel of a suite, what decides its time, and what makes its launches."""

    name: str
    suite: str
    stratum: str
    make: Callable[[Random, int], Launch]

    def passed(self, values: Sequence[Any], place: Callable[[int], Any]) -> list[Any]:
        """The parameters of the kernel for arguments, of which arrays lie at `place` of their index. Numba passes of an
        array its owner and parent (none), elements, bytes of one, place, shape and strides; Triton passes pointers to
        scratch memory too."""
        found: list[Any] = []
        for index, value in enumerate(values):
            if not isinstance(value, np.ndarray):
                found.append(value)
            elif self.suite == "numeric":
                found += [np.uint64(0), np.uint64(0), np.int64(value.size), np.int64(value.itemsize), place(index)]
                found += map(np.int64, (*value.shape, *value.strides))
            else:
                found.append(place(index))
        return found + [np.uint64(0)] * SCRATCH.get(self.suite, 0)

    @property
    def alone(self) -> bool:
        """Whether it is the only kernel of its file of GPU code."""
        return self.suite in ALONE

    @property
    def binary(self) -> str:
        """The file of its GPU code: that of the suite, and of the kernel where the compiler makes one for each."""
        return f"{self.suite}.{self.name}.cubin" if self.alone else f"{self.suite}.cubin"

    def launch(self, size: str) -> Launch:
        """The launch of that size; always with the same data."""
        index = SIZES.index(size)
        return self.make(np.random.default_rng([zlib.crc32(self.name.encode()), index]), index)


WORKLOADS: dict[str, Workload] = {}
"""The kernels by `suite.name`."""


def workload(stratum: str) -> Callable[[Callable[[Random, int], Launch]], Callable[[Random, int], Launch]]:
    """Enter a kernel with the name of the function, which makes its launches."""

    def enter(make: Callable[[Random, int], Launch]) -> Callable[[Random, int], Launch]:
        module = make.__module__.rpartition(".")[2]
        suite = next((name for name, other in MODULES.items() if other == module), module)
        if stratum not in STRATA:
            raise ValueError(f"{stratum!r} is no stratum")
        WORKLOADS[f"{suite}.{make.__name__}"] = Workload(make.__name__, suite, stratum, make)
        return make

    return enter


def is_open(suite: str) -> bool:
    """Whether a suite is in the open half: of the first suites in the order of SHA-256 of `SALT` and their names every
    second one is, beginning with the first; a later one is where this hash of its own is even."""

    def digest(name: str) -> str:
        return hashlib.sha256(f"{SALT}{name}".encode()).hexdigest()

    place = int(digest(suite), 16) if suite in LATER else sorted(FIRST, key=digest).index(suite)
    return place % 2 == 0


for _suite in SUITES:
    importlib.import_module(f"{__name__}.{MODULES.get(_suite, _suite)}")
