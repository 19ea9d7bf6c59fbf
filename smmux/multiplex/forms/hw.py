"""Kernels that hold shared memory only while it is used: `hw`, and `isolate` to measure how long that is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from smmux.base.parsing import expression
from smmux.base.tracebacks import brief
from smmux.kernels.kernel import Kernel
from smmux.language import smm
from smmux.multiplex.analysis.facts import Array
from smmux.multiplex.analysis.renaming import or_renamed
from smmux.multiplex.analysis.uniformity import Analysis, analysed
from smmux.multiplex.regions.find import Border, find
from smmux.multiplex.regions.loads import REGISTERS, stage
from smmux.multiplex.regions.outline import outline
from smmux.rewriting.build import at, call
from smmux.rewriting.refusals import MultiplexError, refuse

Shape = int | tuple[int, ...]


@brief
@or_renamed
def hw(kernel: Kernel, shapes: Mapping[str, Shape] | None = None, *, stage_registers: int = REGISTERS) -> Kernel:
    """The kernel with its shared arrays allocated at the beginning of each region and released at its end.

    Allocating and releasing barriers take the place of the source's barriers where these stand at the borders, and are
    added where none stands. shapes: other shapes for shared arrays, by name, where a kernel uses less than it declares.
    stage_registers: 32-bit registers per thread that may hold global loads in front of a region, 0 for none.

    Raises `MultiplexError`, with file and line, where the kernel cannot be multiplexed.
    """
    draft = outline(kernel)
    if stage_registers:
        stage(draft, find(analysed(draft)), stage_registers)
    analysis = analysed(draft)
    module = draft.names.module("smm", smm)
    _place(analysis, lambda border: call(f"{module}.alloc" if border.begin else f"{module}.release"))
    _declare(analysis, dict(shapes or {}), f"{module}.array")
    text = "with shared memory held only from the first define to the last use of each region."
    draft.rename("_hw", f"{draft.source.name}, {text}")
    return draft.kernel()


@brief
@or_renamed
def isolate(kernel: Kernel) -> Kernel:
    """The kernel with isolating barriers at the borders of its regions (the paper's Figure 1).

    Such a barrier also waits for the block's own global loads; the time between two of them is counted as
    `region_cycles`. They replace the source's barriers at the borders; nothing else changes.
    """
    draft = outline(kernel, held=False)
    module = draft.names.module("smm", smm)
    _place(analysed(draft), lambda _: call(f"{module}.isolate"))
    draft.rename("_isolated", f"{draft.source.name}, with isolating barriers around each region.")
    return draft.kernel()


def _place(analysis: Analysis, barrier: Callable[[Border], ast.Call]) -> None:
    """Put barriers at all borders, and take out what they make superfluous."""
    usage = find(analysis)
    for block in usage.places.walk(analysis.body):
        mine = [b for b in usage.borders if b.block is block]
        body: list[ast.stmt] = []
        for i, node in enumerate([*block.body, None]):
            for border in (b for b in mine if b.position == i):  # with the line of the first define, or the last use
                place = block.body[min(i, len(block.body) - 1) if border.begin else i - 1]
                body.append(at(ast.Expr(barrier(border)), place))
            if node is not None and block.pieces[i] not in usage.superfluous:
                body.append(node)
        block.body[:] = body


def _declare(analysis: Analysis, shapes: dict[str, Shape], function: str) -> None:
    """Turn the declarations of shared arrays into those of dynamic ones."""
    for array in analysis.shared:
        node = declaration(analysis, array)
        node.func = at(expression(function), node)
        if array.name in shapes:
            node.args[0] = at(expression(repr(shapes.pop(array.name))), node)
    if shapes:
        raise unknown(analysis, next(iter(shapes)))


def unknown(analysis: Analysis, name: object) -> MultiplexError:
    """The error for a name that no shared array of a kernel has."""
    have = ", ".join(repr(array.name) for array in analysis.shared) or "none"
    hint = "" if isinstance(name, str) else "; one is divided, given by its name, and the others are public as a whole"
    return refuse(analysis.source, None, f"no shared array {name!r} in {analysis.source.name!r}; it has {have}{hint}")


def declaration(analysis: Analysis, array: Array) -> ast.Call:
    """The call that declares a shared array, of known size."""
    node = array.node
    assert isinstance(node, ast.Call)
    if len(node.args) != 2 or node.keywords:
        raise refuse(array.source, node, "cuda.shared.array takes a shape and a type")
    if isinstance(node.args[0], ast.Constant) and node.args[0].value == 0:
        why = "an array of the bytes given at launch has no size of its own; give it a constant shape"
        raise refuse(array.source, node, why)
    return node
