"""Part of a shared array is a block's own for good, the rest it has while it uses it (Sections 4.3 and 5).

CO-HW allocates the public part for its region. CO-VTB makes two virtual blocks of a block: the private part is there
once for each of them, and they have the public part in turns. Both divide the array in the same way, by its leading
index.
"""

from __future__ import annotations

from smmux.kernel import Kernel
from smmux.multiplex.division import Split, divided
from smmux.multiplex.syntax import describe, made

__all__ = ["co_hw"]


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
    source = kernel.definition
    found = divided(kernel, Split(array, private, shape, interleaved, threads), allocate=True)
    found.tree.name += "_co_hw"
    text = f"{source.name}, with a private and a public part of {array}; the public part is held while in use."
    describe(found.tree, text)
    return made(source, found.tree, found.names.added)
