"""VTB_pipe: one virtual block works between regions while the other is in its region (Section 4.2, Figure 5)."""

from __future__ import annotations

from functools import partial

from smmux.kernel import Kernel
from smmux.multiplex.analysis.renaming import or_renamed
from smmux.multiplex.forms.virtual.geometry import Size, VirtualKernel
from smmux.multiplex.forms.virtual.vtb import finished, in_turns, merged, prepared
from smmux.multiplex.regions.loads import REGISTERS, peel

__all__ = ["vtb_pipe"]


@or_renamed
def vtb_pipe(
    kernel: Kernel, *, grid: Size | None = None, block: Size | None = None, stage_registers: int = REGISTERS
) -> VirtualKernel:
    """The kernel with two of its thread blocks put together, one of which runs ahead of the other.

    While virtual block 0 is in a region, virtual block 1 does the work in front of it, and while that is in the region,
    virtual block 0 goes on to the next. What overlaps so is what stands under `with smmux.overlap():`, or without such
    annotations: all work between two regions; in front of the first one what follows the global loads, or these if
    nothing does. Of a region that contains its own loads the first are taken out for that purpose (loop peeling).
    Beside a region that begins with a loop around barriers, such as a reduction tree, an annotated loop goes on by
    shares; without annotation nothing overlaps there, since loads would have to come back before every barrier.

    The result is launched and printed as one of `vtb`; so are the arguments and errors.
    """
    again = partial(vtb_pipe, kernel, stage_registers=stage_registers)
    merge = merged(kernel, 2, grid, block)
    draft = prepared(kernel, stage_registers)
    if stage_registers:
        peel(draft)
    indices = in_turns(draft, merge, overlapping=True)
    text = "a pipeline of 2 virtual thread blocks; one at a time uses shared memory."
    draft.rename("_vtb_pipe", f"{draft.source.name}: {text}")
    return finished(draft, indices, again)
