"""The global accesses of a kernel, each with its index as a polynomial, or the reason why there is none."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smmux.compiler import frontend
from smmux.compiler.backend.integer_ranges import Ranges
from smmux.compiler.backend.legalize import normalize
from smmux.compiler.backend.polynomials import Iteration, Opaque, Polynomial, Polynomials
from smmux.compiler.backend.ssa import construct
from smmux.compiler.backend.trips import conditions
from smmux.compiler.frontend.source import FunctionSource
from smmux.compiler.ir import Block, Function, Instr, Mem, Space
from smmux.compiler.launch_facts import Facts
from smmux.compiler.options import Options
from smmux.compiler.signature import ArrayType, Signature, TupleType, Type
from smmux.deep import deep
from smmux.errors import CompileError

__all__ = ["Found", "Part", "found", "lowered", "meaning", "shapes", "stretched"]


@dataclass(frozen=True, slots=True)
class Part:
    """One instruction of an access: its index in elements of `unit` bytes, of which it moves `width` bytes; or why
    there is no polynomial.

    unsure: indices of axes that count from the end if they are negative. loops: the places of the loops around it."""

    index: Polynomial | Opaque
    unit: int
    width: int
    unsure: tuple[Polynomial, ...] = ()
    loops: tuple[int, ...] = ()


@dataclass(slots=True)
class Found:
    """An access at a place of the source: several instructions where it was lowered several times.

    array: the place among the array arguments. line and column count from 1. kind: "load", "store" or "atomic".
    """

    array: int
    name: str
    line: int
    column: int
    kind: str
    text: str
    parts: list[Part] = field(default_factory=list)

    @property
    def place(self) -> tuple[int, int, int, str]:
        """What tells it from others."""
        return self.line, self.column, self.array, self.kind


@deep
def lowered(source: FunctionSource, signature: Signature, facts: Facts) -> Function:
    """The kernel in SSA form, its loops as they are written where the language does not need them unrolled."""
    options = Options(unroll_limit=0, facts=facts)
    try:
        function = frontend.lower(source, signature, options)
    except CompileError:
        function = frontend.lower(source, signature, Options(facts=facts))
    normalize(function)
    construct(function)
    return function


@deep
def found(source: FunctionSource, function: Function, facts: Facts) -> tuple[Polynomials, list[Found]]:
    """The polynomials of a function that `lowered` gave, and its global accesses in the order of the source."""
    values = Polynomials(Ranges(function, facts))
    subscripts = [node for node in ast.walk(source.node) if isinstance(node, ast.Subscript)]
    rows: dict[tuple[Any, ...], Found] = {}
    for block, instr, mem in _global(values):
        loc = instr.loc
        line, column = (loc.line, loc.col) if loc else (0, 0)
        kind = "load" if instr.op.startswith("ld.") else "store" if instr.op.startswith("st.") else "atomic"
        key = (line, column, mem.array.index, kind)
        if key not in rows:
            text = _text(subscripts, line, column, mem.array.name)
            rows[key] = Found(mem.array.index, mem.array.name, line, column, kind, text)
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
        return Part(index, mem.array.element, mem.width, values.unsure(instr.srcs[0]), around)
    except Opaque as error:
        return Part(error, mem.array.element, mem.width)


def _text(subscripts: Sequence[ast.Subscript], line: int, column: int, name: str) -> str:
    """The subscript around a place of the source; of several the innermost, of the array's name if there is one."""
    around = [
        node
        for node in subscripts
        if (node.lineno, node.col_offset) < (line, column) <= (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    named = [node for node in around if ast.unparse(node.value).partition("[")[0] == name]
    texts = [ast.unparse(node) for node in named or around]
    return min(texts, key=len) if texts else f"{name}[...]"


def stretched(signature: Signature) -> Signature:
    """The types of a launch with other arrays, each an element longer along every axis."""

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
    """What an access's range is computed from: its indices, and the conditions of the loops that these count."""
    indices = [part.index for part in one.parts]
    counted = {s.place for i in indices if isinstance(i, Polynomial) for s in i.symbols if isinstance(s, Iteration)}
    loops = [loop for loop in values.ranges.graph.loops if values.iteration(loop).place in counted]
    return (*(i for i in indices if isinstance(i, Polynomial)), *(tuple(conditions(values, loop)) for loop in loops))


def shapes(signature: Signature) -> list[Sequence[int]]:
    """The shape of each array argument, flattened."""

    def flat(types: Sequence[Any]) -> Iterator[Sequence[int]]:
        for type in types:
            if isinstance(type, TupleType):
                yield from flat(type.items)
            elif isinstance(type, ArrayType):
                yield type.shape

    return list(flat(signature.arguments))
