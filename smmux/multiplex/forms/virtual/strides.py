"""Loops in which the blocks of a grid share work: `for item in range(cuda.blockIdx.x, items, cuda.gridDim.x)`."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from smmux.compiler.frontend.source import FunctionSource
from smmux.language import Dim3
from smmux.multiplex.analysis.integers import Linear, linear
from smmux.multiplex.analysis.scalars import names_in
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.virtual.indices import Indices
from smmux.multiplex.syntax.build import expression

__all__ = ["Stride", "counted", "stride"]


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
    found = counted(analysis, node, indices)
    if found is None or names_in(*found[1:]) & varying:
        return None
    start, stop, step = found
    constant = analysis.integer
    form = linear(start, constant, _definitions(analysis.source, analysis.body.body))
    own = [text for text in form.terms if indices.index in names_in(expression(text))]
    others = Linear({text: f for text, f in form.terms.items() if text not in own}, form.constant)
    if len(own) != 1 or form.terms[own[0]] <= 0 or names_in(others.node()) & varying:
        return None
    factors = _factors(expression(own[0]))
    sizes = [f for f in factors if not (isinstance(f, ast.Name) and f.id == indices.index)]
    if len(sizes) != len(factors) - 1 or not all(_positive(analysis, indices, f) for f in sizes):
        return None
    per_block = [str(form.terms[own[0]])] * (form.terms[own[0]] != 1) + [ast.unparse(f) for f in sizes]
    first = expression(" * ".join([str(indices.merge.n), *per_block, f"{indices.module}.blockIdx.{indices.grid_axis}"]))
    if others.terms or others.constant:
        first = ast.BinOp(first, ast.Add(), others.node())
    assert isinstance(node.iter, ast.Call)
    over = ast.Call(copy.deepcopy(node.iter.func), [first, copy.deepcopy(stop), copy.deepcopy(step)], [])
    return Stride(over, " * ".join([*per_block, indices.block]), stop)


def counted(analysis: Analysis, node: ast.For, indices: Indices) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Start, stop and positive step of a loop over a range, None for other loops."""
    call = node.iter
    if not (
        isinstance(call, ast.Call) and analysis.fact(call.func).const is range and isinstance(node.target, ast.Name)
    ):
        return None
    start, stop = (call.args[0], call.args[1]) if len(call.args) > 1 else (ast.Constant(0), call.args[0])
    step = call.args[2] if len(call.args) > 2 else ast.Constant(1)
    return (start, stop, step) if _positive(analysis, indices, step) else None


def _factors(node: ast.expr) -> list[ast.expr]:
    """The factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    return [node]


def _positive(analysis: Analysis, indices: Indices, node: ast.expr) -> bool:
    """Whether an expression is certainly positive: constants, sizes of grid and block, their products and sums."""
    value = analysis.integer(node)
    if value is not None:
        return value > 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
        return _positive(analysis, indices, node.left) and _positive(analysis, indices, node.right)
    if isinstance(node, ast.Attribute):
        place = analysis.source.resolve(node.value)
        return isinstance(place, Dim3) and place.name in ("gridDim", "blockDim")
    if isinstance(node, ast.Name):
        if node.id == indices.size:
            return True
        defined = _definitions(analysis.source, analysis.body.body).get(node.id)
        return defined is not None and _positive(analysis, indices, defined)
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
