"""What is measured on a card: forms of programs as sources for Numba, with the problems that they solve.

A source can be spelled in several ways, of which the fastest counts, since Numba's compiler takes an index that may be
negative as one that counts from the end, and tests for it at every access. The tests can cost more instructions than a
kernel has otherwise. If one form had more of them than another, a comparison would not be one of the forms.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from experiments import foreign, programs
from experiments.common.preloading import BASELINE, GHOST, HAND, OURS, PROGRAMS
from experiments.common.speedups import LIMITED
from smmux import benchmarks, multiplex, preload
from smmux.base import parsing
from smmux.benchmarks import Problem, Workload
from smmux.rewriting.listing import listing

__all__ = [
    "FORMS",
    "MULTIPLEXED",
    "RANGED",
    "WRITTEN",
    "Forms",
    "Size",
    "Source",
    "load",
    "module_of",
    "program",
    "ranged",
    "unsigned",
]

Size = str | Mapping[str, float]

WRITTEN, RANGED, UNSIGNED = "written", "ranged", "unsigned"
"""Spellings: as it is, with the range of the thread index stated, and with indices that cannot be negative."""
MULTIPLEXED = tuple(form for form in multiplex.FORMS.values() if form.virtual and not form.declaration)
"""VTB and VTB_pipe, which any card can run and any kernel can have."""


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel of a complete source text, and the launch in which it solves a problem.

    variant: the form. spelling: how its accesses are spelled.
    """

    variant: str
    spelling: str
    text: str
    kernel: str
    problem: Problem
    grid: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forms:
    """A set of forms that are measured beside their Baseline.

    programs: those that have them. variants: the forms. of: the sources of a program for problems of a size. carveouts:
    sizes of shared memory in kB that are asked for, None for the driver's own choice. sizes: of the problems by program
    where the default ones are too small for a card.
    """

    programs: tuple[str, ...]
    variants: tuple[str, ...]
    of: Callable[[str, Size], Iterator[Source]]
    carveouts: tuple[int | None, ...]
    sizes: Mapping[str, Mapping[str, float]]


def module_of(source: str, name: str) -> types.ModuleType:
    """The module that a source text makes; compilers and tracebacks find its lines."""
    module = types.ModuleType(f"{name}_source")
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec"), vars(module))
    return module


def load(source: str, name: str) -> Any:
    """The kernel of that name in a source text, compiled by Numba."""
    return getattr(module_of(source, name), name)


def program(name: str) -> Workload:
    """The benchmark, the program of a paper, or the foreign kernel of that name."""
    if name in benchmarks.names():
        return benchmarks.get(name)
    return foreign.workload(name) if name in foreign.names() else programs.workload(name)


def multiplexed(name: str, size: Size) -> Iterator[Source]:
    """The Baseline of a benchmark of Table 1 or of a foreign kernel, and what `smmux.multiplex` makes of it."""
    row = program(name)
    problem, kernel = row.problem(size), row.kernels[row.builds[0]]
    text, name, launch = listing(kernel.definition), kernel.__name__, (problem.grid, problem.block)
    yield Source(BASELINE, RANGED, ranged(text, problem.block), name, problem, *launch)
    yield Source(BASELINE, WRITTEN, text, name, problem, *launch)
    for form in MULTIPLEXED:
        virtual: Any = form.function(kernel)
        fitted = virtual.fitted(*launch)
        yield Source(form.name, WRITTEN, fitted.source, fitted.__name__, problem, *fitted.geometry(*launch))


def tiled(name: str, size: Size) -> Iterator[Source]:
    """A program of the paper on TELEPORT as written down, with tiles written by hand, and by `smmux.preload.tile`."""
    row = programs.workload(name)
    for form in (BASELINE, *TILED):
        build = BASELINE if form == OURS else form
        if build not in row.builds:
            continue
        problem, kernel = row.problem(size, build), row.kernels[build]
        if form == OURS:
            try:
                kernel = preload.tile(kernel, problem.grid, problem.block, problem.arguments())
            except preload.TileError:
                continue
        text = listing(kernel.definition)
        for spelling, spelled in ((WRITTEN, text), (UNSIGNED, unsigned(text))):
            yield Source(form, spelling, spelled, kernel.__name__, problem, problem.grid, problem.block)


def ranged(text: str, block: tuple[int, ...]) -> str:
    """A source in which the thread index is masked, as it is in the multiplexed ones.

    Numba's compiler does not know that threadIdx.x never is negative, but knows it of `threadIdx.x & 63`.
    """
    return text.replace("cuda.threadIdx.x", f"(cuda.threadIdx.x & {block[0] - 1})")


def unsigned(text: str) -> str:
    """A source whose computed indices are unsigned numbers: no kernel here counts from the end with one.

    >>> print(unsigned("o[i - 1, 0] = s[-1]"), end="")
    from numba import uint64
    o[uint64(i - 1), 0] = s[-1]
    """
    tree = _Unsigned().visit(parsing.module(text))
    return f"from numba import uint64\n{ast.unparse(ast.fix_missing_locations(tree))}\n"


class _Unsigned(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self._index(item) for item in node.slice.elts]
        else:
            node.slice = self._index(node.slice)
        return node

    def _index(self, node: ast.expr) -> ast.expr:
        computed = isinstance(node, ast.Name | ast.BinOp | ast.Call | ast.Subscript)
        return ast.Call(ast.Name("uint64", ast.Load()), [node], []) if computed else node


SQUARE = {"n": 4096}
CARVEOUTS = (16, 48, 228)
VIRTUAL, TILED = tuple(form.name for form in MULTIPLEXED), (HAND, GHOST, OURS)
FORMS: Mapping[str, Forms] = MappingProxyType({
    "multiplex": Forms(LIMITED, VIRTUAL, multiplexed, CARVEOUTS, {}),
    "foreign": Forms(foreign.names(), VIRTUAL, multiplexed, CARVEOUTS, {}),
    "tiles": Forms(PROGRAMS, TILED, tiled, (None,), {
        **dict.fromkeys(("MMA", "MMAC", "JAC", "EDS", "HSP", "SRD1", "SRD2"), SQUARE),
        "BKP1": {"inputs": 1 << 21},
        "BKP2": {"inputs": 1 << 19},
        "NN": {"images": 1 << 14},
        "NNC": {"records": 1 << 23},
        "LPS": {"n": 2048, "planes": 16},
        "RDC5": {"elements": 1 << 26, "each": 1},
        "RDC6": {"elements": 1 << 26, "each": 128},
        "FWL": {"elements": 1 << 25, "stride": 16},
        "HIS1": {"elements": 1 << 26, "blocks": 2048},
        "HIS2": {"many": 1 << 16},
    }),
})  # fmt: skip
"""The sets by name. Tiles are measured on arrays that no L2 cache holds whole, with more blocks than fit on all SMs at
a time; HIS2 has a block for each of 64 values, which fill no card."""
