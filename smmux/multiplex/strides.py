"""Loops in which the blocks of a grid share work: `for item in range(cuda.blockIdx.x, items, cuda.gridDim.x)`."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from smmux.compiler.frontend.source import FunctionSource
from smmux.language import Dim3
from smmux.multiplex.facts import MISSING
from smmux.multiplex.linear import Linear, linear
from smmux.multiplex.names import names_in
from smmux.multiplex.syntax import expression
from smmux.multiplex.virtual import Indices
from smmux.multiplex.walk import Analysis, Frame

__all__ = ["Stride", "stride"]


@dataclass(frozen=True, slots=True)
class Stride:
    """A loop of all virtual blocks of a thread block: range of virtual block 0, distance of the others' items, end."""

    over: ast.expr
    offset: str
    stop: ast.expr


def stride(analysis: Analysis, node: ast.For, indices: Indices, varying: set[str]) -> Stride | None:
    """The loop as one of all virtual blocks, if only its start differs between them, by a constant per block.

    varying: variables that can differ between virtual blocks.
    """
    source, index = analysis.source, indices.index
    call = node.iter
    frame = Frame(analysis, source, ())
    if not (isinstance(call, ast.Call) and frame.eval(call.func).const is range and isinstance(node.target, ast.Name)):
        return None
    start, stop, step = _bounds(call)
    if names_in(stop, step) & varying or not _positive(source, frame, step):
        return None
    defined = _definitions(source, analysis.body.body)

    def constant(expr: ast.expr) -> int | None:
        value = frame.eval(expr).const
        return value if type(value) is int else None

    form = linear(start, constant, defined)
    factor = form.terms.get(index, 0)
    rest = {name for text in form.terms if text != index for name in names_in(expression(text))}
    if factor <= 0 or rest & varying:
        return None
    others = Linear({text: f for text, f in form.terms.items() if text != index}, form.constant)
    first = _product(indices.merge.n * factor, f"{indices.module}.blockIdx.{indices.grid_axis}")
    if others.terms or others.constant:
        first = f"{first} + {ast.unparse(others.node())}"
    begin = expression(first)
    over = ast.Call(copy.deepcopy(call.func), [begin, copy.deepcopy(stop), copy.deepcopy(step)], [])
    return Stride(over, _product(factor, indices.block), stop)


def _product(factor: int, text: str) -> str:
    return text if factor == 1 else f"{factor} * {text}"


def _bounds(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    zero, one = ast.Constant(0), ast.Constant(1)
    if len(call.args) == 1:
        return zero, call.args[0], one
    return call.args[0], call.args[1], call.args[2] if len(call.args) > 2 else one


def _positive(source: FunctionSource, frame: Frame, node: ast.expr) -> bool:
    """Whether an expression is certainly positive: constants, sizes of grid and block, their products and sums."""
    value = frame.eval(node).const
    if value is not MISSING and isinstance(value, int):
        return value > 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
        return _positive(source, frame, node.left) and _positive(source, frame, node.right)
    if isinstance(node, ast.Attribute):
        place = source.resolve(node.value)
        return isinstance(place, Dim3) and place.name in ("gridDim", "blockDim")
    return False


def _definitions(source: FunctionSource, body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Variables assigned once, by a plain assignment, with what they are."""
    stores: dict[str, int] = {}
    found: dict[str, ast.expr] = {}
    for node in (n for s in body for n in ast.walk(s)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    found |= {
                        t.id: v for t, v in zip(target.elts, node.value.elts, strict=False) if isinstance(t, ast.Name)
                    }
    return {
        name: value
        for name, value in found.items()
        if stores[name] == 1 and name not in source.parameters and not names_in(value) & (set(stores) - _once(stores))
    }


def _once(stores: dict[str, int]) -> set[str]:
    return {name for name, count in stores.items() if count == 1}
