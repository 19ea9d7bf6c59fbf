"""A flat array made two-dimensional, with the index by which it is divided in front.

Some kernels interleave rows: word k of a lane of StoreGPU's messages is at `first + 32 * k`, where `first` steps over
the 512 words of each warp. Such an array becomes `array[k, slot]`, with a slot per `first`; the bytes are the same, in
another order.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from smmux.multiplex.analysis.facts import Linear, assignments, linear, value_of
from smmux.multiplex.analysis.threads import UnknownError, per_thread
from smmux.multiplex.analysis.uniformity import Analysis
from smmux.multiplex.forms.divided.uses import Use, Uses
from smmux.multiplex.syntax.build import behind, expression, names_in
from smmux.multiplex.syntax.draft import Names
from smmux.multiplex.syntax.refusals import refuse

__all__ = ["Layout"]


@dataclass
class Layout:
    """How rows are interleaved.

    views: elements per element of the array, by name of the array and of its views. stride: elements between rows.
    base, slot: the variable where a thread's elements begin, and the one that takes its place; found on the way.
    """

    analysis: Analysis
    names: Names
    views: Mapping[str, int]
    rows: int
    stride: int
    base: str = ""
    slot: str = ""

    def put_rows_first(self, tree: ast.FunctionDef) -> None:
        """Rewrite all accesses, in place; raises `MultiplexError` for one whose row cannot be told."""
        source = self.analysis.source
        values = {name: value_of(nodes[0], name) for name, nodes in assignments(tree).items() if len(nodes) == 1}
        simple = {n: v for n, v in values.items() if isinstance(v, ast.BinOp | ast.Name | ast.Constant)}
        loops = [n for n in ast.walk(tree) if isinstance(n, ast.For) and self.analysis.trips(n) is not None]
        counters = {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}
        for use in list(Uses(source, self.views).of(tree)):
            self.rewrite(use, {n: v for n, v in simple.items() if n not in counters and n != self.base}, counters)
        self.declare_slot(tree)
        _drop_unused(tree, simple.keys())

    def rewrite(self, use: Use, defined: Mapping[str, ast.expr], counters: Collection[str]) -> None:
        """array[base + stride * row + rest] becomes array[row, slot + rest]."""
        ratio = self.views[use.array]
        step = self.stride * ratio
        form = linear(use.index[0], self.analysis.integer, defined)
        row = Linear({t: f // step for t, f in form.terms.items() if f % step == 0 and t in counters})
        rest = {t: f for t, f in form.terms.items() if t not in row.terms}
        base = next(iter(rest), "")
        if len(rest) != 1 or rest[base] != ratio or form.constant % step >= ratio:
            why = f"no row can be told in this index: it is not one variable plus {step} times a counter or a constant"
            raise refuse(self.analysis.source, use.node, why)
        if not self.slot:
            self.base, self.slot = base, self.names.new("slot", f"{use.array}_slot")
        elif self.base != base:
            why = f"the rows begin at {self.base!r} elsewhere and at {base!r} here"
            raise refuse(self.analysis.source, use.node, why)
        row += Linear({}, form.constant // step)
        use.put(row.node(), Linear({self.slot: ratio}, form.constant % step).node())

    def declare_slot(self, tree: ast.FunctionDef) -> None:
        """`slot = ...` behind the definition of the base, which is checked for all threads a block can have."""
        period = self.rows * self.stride
        text = f"{self.base} // {period} * {self.stride} + {self.base} % {self.stride}"
        assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
        base = next((node for node in assigned if names_in(*node.targets) == {self.base}), None)
        if base is None:
            raise refuse(self.analysis.source, None, f"{self.base!r} has no definition in the kernel")
        self.check_base(base)
        behind(tree, base, ast.Assign([ast.Name(self.slot, ast.Store())], expression(text)))

    def check_base(self, node: ast.Assign) -> None:
        """Refuse a base that is not in row 0 in every thread."""
        source = self.analysis.source
        try:
            rows = per_thread(self.analysis, node.value) // self.stride % self.rows
        except UnknownError as reason:
            why = f"{self.base!r} cannot be computed from threadIdx.x alone, so its row is not known: {reason}"
            raise refuse(source, node, why) from None
        if rows.any():
            raise refuse(source, node, f"{self.base!r} is not in row 0 in thread {int(rows.astype(bool).argmax())}")


def _drop_unused(tree: ast.FunctionDef, served: Collection[str]) -> None:
    """Take out definitions that only served indices."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not (isinstance(s, ast.Assign) and names_in(*s.targets) <= set(served) - used)]
            body[:] = kept or body
