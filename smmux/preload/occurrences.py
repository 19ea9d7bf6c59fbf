"""Finds the global accesses of a kernel, each with its index as a polynomial, or the reason why there is none."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smmux.base.deep import deep
from smmux.base.trees import walk
from smmux.compiler import python as frontend
from smmux.compiler.analysis.integer_ranges import Ranges
from smmux.compiler.ir import Block, Function, Instr, Mem, Operand, Space
from smmux.compiler.launch_facts import Facts
from smmux.compiler.options import Options
from smmux.compiler.passes.legalize import normalize
from smmux.compiler.passes.ssa import construct
from smmux.compiler.signature import ArrayType, Signature, TupleType, Type
from smmux.errors import CompileError
from smmux.preload.polynomials import Polynomials
from smmux.preload.symbolic import Iteration, Opaque, Polynomial
from smmux.preload.trips import conditions
from smmux.source.function_source import FunctionSource

__all__ = ["Found", "Part", "found", "lowered", "meaning", "shapes", "stretched"]


@dataclass(frozen=True, slots=True)
class AxisIndex:
    """The index of an access along one axis.

    stride: elements from one index to the next. index: its polynomial. bottom, top: the smallest and the largest value
    that the conditions around the access leave. bottom may be negative, even if negative indices count from the end.
    """

    stride: int
    index: Polynomial
    bottom: int
    top: int


@dataclass(frozen=True, slots=True)
class Part:
    """One instruction of an access. It moves `width` bytes at an index in elements of `unit` bytes.

    index: its polynomial, or why there is none. unsure: the indices of axes that may be negative, and would then count
    from the end. loops: the places of the loops around it. axes: the indices along the axes that are not constant;
    empty if the access goes through a row or a view of the array.
    """

    index: Polynomial | Opaque
    unit: int
    width: int
    unsure: tuple[Polynomial, ...] = ()
    loops: tuple[int, ...] = ()
    axes: tuple[AxisIndex, ...] = ()


@dataclass(slots=True)
class Found:
    """An access at a place of the source. It has several instructions if it was lowered several times.

    array: the number of the array argument. line, column: where the access begins, from 1. kind: "load", "store" or
    "atomic". text: the subscript as written. node: the subscript in the kernel's tree; None if none begins there.
    """

    array: int
    name: str
    line: int
    column: int
    kind: str
    text: str
    node: ast.Subscript | None
    parts: list[Part] = field(default_factory=list)

    @property
    def place(self) -> tuple[int, int, int, str]:
        """The key that tells it from other accesses."""
        return self.line, self.column, self.array, self.kind


@deep
def lowered(source: FunctionSource, signature: Signature, facts: Facts) -> Function:
    """Lower the kernel to SSA form, keeping loops as written except where the language needs them unrolled."""
    options = Options(unroll_limit=0, axes=True, facts=facts)
    try:
        function = frontend.lower(source, signature, options)
    except CompileError:
        function = frontend.lower(source, signature, Options(axes=True, facts=facts))
    normalize(function)
    construct(function)
    return function


@deep
def found(source: FunctionSource, function: Function, facts: Facts) -> tuple[Polynomials, list[Found]]:
    """Return the polynomials of a function from `lowered`, and its global accesses in the order of the source."""
    values = Polynomials(Ranges(function, facts))
    subscripts = [node for node in walk(source.node) if isinstance(node, ast.Subscript)]
    rows: dict[tuple[Any, ...], Found] = {}
    for block, instr, mem in _global(values):
        loc = instr.loc
        line, column = (loc.line, loc.col) if loc else (0, 0)
        kind = "load" if instr.op.startswith("ld.") else "store" if instr.op.startswith("st.") else "atomic"
        key = (line, column, mem.array.index, kind)
        if key not in rows:
            around = _around(subscripts, line, column, mem.array.name)
            text = ast.unparse(around) if around else f"{mem.array.name}[...]"
            exact = around if around and (around.lineno, around.col_offset + 1) == (line, column) else None
            rows[key] = Found(mem.array.index, mem.array.name, line, column, kind, text, exact)
        part = _part(values, block, instr, mem)
        if part not in rows[key].parts:
            rows[key].parts.append(part)
    return values, sorted(rows.values(), key=lambda row: (row.line, row.column, row.kind))


def _global(values: Polynomials) -> Iterator[tuple[Block, Instr, Mem]]:
    for block in values.ranges.graph.order:
        for instr in block.instrs:
            if instr.mem is not None and instr.mem.array.space is Space.GLOBAL:
                yield block, instr, instr.mem


def _part(values: Polynomials, block: Block, instr: Instr, mem: Mem) -> Part:
    around = tuple(values.iteration(loop).place for loop in values.ranges.graph.loops if block in loop.blocks)
    try:
        index = values.of(instr.srcs[0]).plus(Polynomial.constant(mem.offset))
        axes = _axes(values, instr.srcs[0], mem)
        return Part(index, mem.array.element, mem.width, values.unsure(instr.srcs[0]), around, axes)
    except Opaque as error:
        return Part(error, mem.array.element, mem.width)


def _axes(values: Polynomials, address: Operand, mem: Mem) -> tuple[AxisIndex, ...]:
    """Return the index of an access along each axis."""
    found = [index for index in values.indices(address) if index.array is mem.array]
    if len(found) != 1 or found[0].bases or not found[0].final:
        return ()
    index, made = found[0], []
    for k, (axis, dst) in enumerate(zip(index.axes, index.dsts, strict=False)):
        low, high = values.bounds(index, k)
        made.append(AxisIndex(axis.stride, values.of(dst), low, high if low >= 0 else max(high, 0)))
    return tuple(made)


def _around(subscripts: Sequence[ast.Subscript], line: int, column: int, name: str) -> ast.Subscript | None:
    """Find the innermost subscript around a place of the source; if one names the array, the innermost of these."""
    around = [
        node
        for node in subscripts
        if (node.lineno, node.col_offset) < (line, column) <= (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    named = [node for node in around if ast.unparse(node.value).partition("[")[0] == name]
    return min(named or around, key=lambda node: len(ast.unparse(node)), default=None)


def stretched(signature: Signature) -> Signature:
    """Return the types of a launch with other arrays, each one element longer along every axis."""

    def longer(type: Type) -> Type:
        if isinstance(type, TupleType):
            return replace(type, items=tuple(map(longer, type.items)))
        if not isinstance(type, ArrayType) or type.record:
            return type
        shape = tuple(n + 1 for n in type.shape)
        strides = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
        return replace(type, shape=shape, strides=strides)

    return replace(signature, arguments=tuple(map(longer, signature.arguments)))


def meaning(values: Polynomials, one: Found) -> tuple[object, ...]:
    """Return what the range of an access is computed from: its indices, and the conditions of the loops they count.

    An index is left out of which that is not known.
    """
    indices = [index for part in one.parts if (index := _opened(values, part.index)) is not None]
    counted = {s.place for index in indices for s in index.symbols if isinstance(s, Iteration)}
    loops = [loop for loop in values.ranges.graph.loops if values.iteration(loop).place in counted]
    return (*indices, *(tuple(conditions(values, loop)) for loop in loops))


def _opened(values: Polynomials, index: Polynomial | Opaque) -> Polynomial | None:
    """Return an index with what stands under its clamps, or None where it, or that, is no polynomial."""
    if isinstance(index, Opaque):
        return None
    try:
        return values.opened(index)
    except Opaque:
        return None


def shapes(signature: Signature) -> list[Sequence[int]]:
    """Return the shape of each array argument, flattened."""

    def flat(types: Sequence[Any]) -> Iterator[Sequence[int]]:
        for type in types:
            if isinstance(type, TupleType):
                yield from flat(type.items)
            elif isinstance(type, ArrayType):
                yield type.shape

    return list(flat(signature.arguments))
