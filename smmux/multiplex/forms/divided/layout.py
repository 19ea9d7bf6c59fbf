"""A flat array made two-dimensional, with the index by which it is divided in front.

Some kernels interleave rows: word k of a lane of StoreGPU's messages is at `first + 32 * k`, where `first` steps over
the 512 words of each warp. Such an array becomes `array[k, slot]`, with a slot per `first`; the bytes are the same, in
another order.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass

from smmux.compiler.frontend.source import MISSING, FunctionSource
from smmux.multiplex.analysis.integers import Linear, linear
from smmux.multiplex.analysis.scalars import names_in
from smmux.multiplex.forms.divided.parts import range_of
from smmux.multiplex.syntax.build import at, element, expression
from smmux.multiplex.syntax.draft import Names
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["rows_first"]

MAX_THREADS = 1024


@dataclass
class Layout:
    """How rows are interleaved.

    stride: elements between rows. views: elements per element of the array, by name of the array and of its views.
    base, slot: the variable where a thread's elements begin, and the one that takes its place; found on the way.
    """

    source: FunctionSource
    names: Names
    constant: Callable[[ast.expr], int | None]
    views: dict[str, int]
    rows: int
    stride: int
    base: str = ""
    slot: str = ""


def rows_first(layout: Layout, tree: ast.FunctionDef) -> None:
    """Rewrite all accesses, in place; raises `MultiplexError` for one whose row cannot be told."""
    defined = _defined_once(tree)
    accesses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in layout.views
    ]
    constant_loops = {
        loop.target.id
        for loop in ast.walk(tree)
        if isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and range_of(loop, layout.constant) is not None
    }
    for access in accesses:
        _rewrite(layout, access, defined, constant_loops)
    _declare_slot(layout, tree)
    _drop_unused(tree, defined)


def _rewrite(layout: Layout, access: ast.Subscript, defined: dict[str, ast.expr], loops: set[str]) -> None:
    """array[base + stride * row + rest] becomes array[row, slot + rest]."""
    assert isinstance(access.value, ast.Name)
    ratio = layout.views[access.value.id]
    step = layout.stride * ratio
    form = linear(
        access.slice, layout.constant, {n: e for n, e in defined.items() if n not in loops and n != layout.base}
    )
    row = Linear({t: f // step for t, f in form.terms.items() if f % step == 0 and t in loops}, form.constant // step)
    rest = {t: f for t, f in form.terms.items() if not (f % step == 0 and t in loops)}
    base = next(iter(rest), "")
    if len(rest) != 1 or rest[base] != ratio or form.constant % step >= ratio:
        why = f"no row can be told in this index: it is not one variable plus {step} times a loop's index or a constant"
        raise refuse(layout.source, access, why)
    if not layout.slot:
        layout.base = base
        layout.slot = layout.names.new("slot", f"{access.value.id}_slot")
    elif layout.base != base:
        raise refuse(layout.source, access, f"the rows begin at {layout.base!r} elsewhere and at {base!r} here")
    inner = Linear({layout.slot: ratio}, form.constant % step)
    made = element(access.value.id, row.node(), inner.node())
    access.slice = at(made.slice, access)


def _defined_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Variables with one plain definition, an arithmetic expression."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            simple = isinstance(node.value, ast.BinOp | ast.Name | ast.Constant)
            found.setdefault(node.targets[0].id, []).append(node.value if simple else None)
        elif isinstance(node, ast.AugAssign | ast.For):
            for name in names_in(node.target):
                found.setdefault(name, []).append(None)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] is not None}


def _declare_slot(layout: Layout, tree: ast.FunctionDef) -> None:
    """`slot = ...` behind the definition of the base, which is checked for all threads a block can have."""
    period = layout.rows * layout.stride
    text = f"{layout.base} // {period} * {layout.stride} + {layout.base} % {layout.stride}"
    for node in ast.walk(tree):
        for body in (b for b in (getattr(node, "body", None), getattr(node, "orelse", None)) if isinstance(b, list)):
            for i, inner in enumerate(body):
                if isinstance(inner, ast.Assign) and names_in(*inner.targets) == {layout.base}:
                    _check_base(layout, inner)
                    made = at(ast.Assign([ast.Name(layout.slot, ast.Store())], expression(text)), inner)
                    body.insert(i + 1, made)
                    return
    raise refuse(layout.source, None, f"{layout.base!r} has no definition in the kernel")


def _check_base(layout: Layout, node: ast.Assign) -> None:
    """The base is in row 0 in every thread: computed in Python for each thread index."""
    value = copy.deepcopy(node.value)
    code = compile(ast.fix_missing_locations(ast.Expression(_Thread().visit(value))), "<base>", "eval")
    known = {n: _plain(layout.source, n) for n in names_in(node.value)}
    for thread in range(MAX_THREADS):
        try:
            base = eval(code, {**known, "thread": thread})
        except Exception as reason:
            why = f"{layout.base!r} cannot be computed from threadIdx.x alone, so its row is not known: {reason}"
            raise refuse(layout.source, node, why) from None
        if base // layout.stride % layout.rows:
            raise refuse(layout.source, node, f"{layout.base!r} is not in row 0 in thread {thread}")


def _plain(source: FunctionSource, name: str) -> object:
    """A captured object as plain Python: a device function becomes the function that it was made of."""
    value = source.lookup(name)
    return None if value is MISSING else getattr(value, "function", None) or value


class _Thread(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name("thread", ast.Load()) if ast.unparse(node).endswith("threadIdx.x") else node


def _drop_unused(tree: ast.FunctionDef, defined: dict[str, ast.expr]) -> None:
    """Take out definitions that only served indices."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not (isinstance(s, ast.Assign) and names_in(*s.targets) <= set(defined) - used)]
            body[:] = kept or body
