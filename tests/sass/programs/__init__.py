"""Programs in CUDA C++ with arguments and the results that NumPy or plain Python computes for them.

Each module here describes the kernels of the .cu file of the same name: a function with the name of the kernel makes a
`Case` from a random generator. `PROGRAMS` holds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Case", "Program", "program"]

Shape = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """Arguments of a launch, and what it makes of them.

    results: by the index of the argument what its array holds afterwards. relative, absolute: the largest error of
    floats, 0 for the same bits (of NaN only that it is one). fast: the relative error with --use_fast_math, if larger.
    check: a further look at the arguments after the launch.
    """

    args: Sequence[Any]
    results: Mapping[int, Any]
    relative: float = 0.0
    absolute: float = 0.0
    fast: float = 0.0
    check: Callable[[Sequence[Any]], None] | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel and the launch of it. least: the first architecture that has what it needs. fails: the name of the error
    that ends it. refused: the opcode that the message names, of a kernel that is not simulated; source: what stands in
    the line that it comes from."""

    name: str
    file: str
    grid: Shape
    block: Shape
    make: Callable[[np.random.Generator], Case]
    dynamic: int = 0
    least: int = 75
    fails: str = ""
    refused: str = ""
    source: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {}


def program(
    grid: Shape, block: Shape, **others: Any
) -> Callable[[Callable[[np.random.Generator], Case]], Callable[[np.random.Generator], Case]]:
    """Enter a kernel into `PROGRAMS`, with the name of the function, which makes its case."""

    def enter(make: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
        file = make.__module__.rpartition(".")[2] + ".cu"
        entry = Program(make.__name__, others.pop("file", file), grid, block, make, **others)
        assert PROGRAMS.setdefault(entry.name, entry) is entry, entry.name
        return make

    return enter


from tests.sass.programs import (  # noqa: E402
    algebra,  # noqa: F401
    applications,  # noqa: F401
    barriers,  # noqa: F401
    blocks,  # noqa: F401
    codes,  # noqa: F401
    elementwise,  # noqa: F401
    groups,  # noqa: F401
    language,  # noqa: F401
    libraries,  # noqa: F401
    refused,  # noqa: F401
    warps,  # noqa: F401
)
