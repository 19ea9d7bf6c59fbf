"""Part of a shared array is a block's own for good, the rest it has while it uses it (Sections 4.3 and 5).

CO-HW allocates the public part for its region. CO-VTB puts thread blocks together: the private part is there once for
each of them, the public one once, and they have it in turns. Both divide the array in the same way, by its leading
index.
"""

from __future__ import annotations

import ast
from functools import partial

from smmux.compiler.frontend.source import FunctionSource
from smmux.kernel import Kernel
from smmux.multiplex.analysis.renaming import or_renamed
from smmux.multiplex.forms.divided.divide import Split, divided
from smmux.multiplex.forms.divided.uses import Uses
from smmux.multiplex.forms.virtual.geometry import Size, VirtualKernel
from smmux.multiplex.forms.virtual.vtb import finished, in_turns, merged
from smmux.multiplex.syntax.build import at

__all__ = ["co_hw", "co_vtb"]


@or_renamed
def co_hw(
    kernel: Kernel,
    array: str,
    private: int,
    *,
    shape: int | tuple[int, ...] | None = None,
    interleaved: tuple[int, int] | None = None,
    threads: int | None = None,
) -> Kernel:
    """The kernel with a shared array in two parts: leading indices below `private` static, the others dynamic.

    shape: another shape of the array, where a kernel uses less than it declares. interleaved: (rows, stride) of a flat
    array whose row `private` counts, where element `k` of a row lies `stride * row` behind `k`. threads: of a block
    along x, if index tests may rely on it.

    Raises `MultiplexError`, with file and line, where the code cannot be generated.
    """
    draft, _ = divided(kernel, Split(array, private, shape, interleaved, threads), allocate=True)
    text = f"with a private and a public part of {array}; the public part is held while in use."
    draft.rename("_co_hw", f"{draft.source.name}, {text}")
    return draft.kernel()


@or_renamed
def co_vtb(
    kernel: Kernel,
    array: str,
    private: int,
    *,
    shape: int | tuple[int, ...] | None = None,
    interleaved: tuple[int, int] | None = None,
    threads: int | None = None,
    n: int = 2,
    grid: Size | None = None,
    block: Size | None = None,
) -> VirtualKernel:
    """The kernel with n of its thread blocks put together into one, and a shared array in two parts.

    Leading indices below `private` are there for each virtual block, and all use theirs at once; the others are there
    once, and virtual blocks have them in turns, while values for them wait in registers. A block needs n private parts
    and one public part. The result is launched with its `geometry(grid, block)`, and its `source` runs under Numba.

    array, private, shape, interleaved, threads: as for `co_hw`; threads are those of the baseline's block. n, grid,
    block: as for `vtb`.

    Raises `MultiplexError`, with file and line, where the code cannot be generated.
    """
    again = partial(
        co_vtb, kernel, array, private, shape=shape, interleaved=interleaved, threads=threads, n=n
    )  # fmt: skip
    merge = merged(kernel, n, grid, block)
    draft, own = divided(kernel, Split(array, private, shape, interleaved, threads), allocate=False)
    indices = in_turns(draft, merge, own)
    for_each(draft.source, draft.tree, own, indices.virtual_block, n)
    text = f"{n} virtual thread blocks, each with a private part of {array}, have the public part in turns."
    draft.rename("_co_vtb", f"{draft.source.name}: {text}")
    return finished(draft, indices, again)


def for_each(source: FunctionSource, tree: ast.FunctionDef, arrays: frozenset[str], index: str, n: int) -> None:
    """Give arrays one more leading index, a variable below n; arrays: their names and those of views."""
    for use in list(Uses(source, arrays).of(tree)):
        use.put(ast.Name(index, ast.Load()), *use.index)
    declared = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    for node in declared:
        call, target = node.value, node.targets[0]
        assert isinstance(call, ast.Call)
        is_view = isinstance(call.func, ast.Attribute) and call.func.attr == "view"
        if isinstance(target, ast.Name) and target.id in arrays and not is_view:
            shape = call.args[0]
            extents = shape.elts if isinstance(shape, ast.Tuple) else [shape]
            call.args[0] = at(ast.Tuple([ast.Constant(n), *extents], ast.Load()), shape)
