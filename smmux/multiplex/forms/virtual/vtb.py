"""VTB: n thread blocks put together into one, whose shared memory they use in turns (the paper's Section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from smmux.base.dimensions import dim3
from smmux.base.tracebacks import brief
from smmux.compiler.python.versions import spelled_out
from smmux.kernels.kernel import Kernel, definition_of
from smmux.multiplex.analysis.accesses import Alternatives, Event, Jump, Loop, Piece, barriers
from smmux.multiplex.analysis.quiet import OF_BLOCKS
from smmux.multiplex.analysis.renaming import or_renamed
from smmux.multiplex.analysis.uniformity import analysed
from smmux.multiplex.analysis.unmet import UnmetBarrierError
from smmux.multiplex.forms.virtual.control import Control, tainted
from smmux.multiplex.forms.virtual.geometry import MOST_THREADS, Merge, Size, VirtualKernel
from smmux.multiplex.forms.virtual.indices import Indices, thread_axis, uses_warps
from smmux.multiplex.forms.virtual.turns import Overlap, Turns
from smmux.multiplex.regions.find import find
from smmux.multiplex.regions.loads import REGISTERS, peel, stage
from smmux.multiplex.regions.outline import outline
from smmux.rewriting.direct import direct
from smmux.rewriting.draft import Draft
from smmux.rewriting.inline import inline_barriers
from smmux.rewriting.refusals import MultiplexError, refuse
from smmux.source.function_source import FunctionSource


@brief
@or_renamed
def vtb(
    kernel: Kernel, n: int = 2, *, grid: Size | None = None, block: Size | None = None, stage_registers: int = REGISTERS
) -> VirtualKernel:
    """The kernel with n of its thread blocks put together into one, which needs the shared memory of a single one.

    All virtual blocks run at once what lies between regions; they go through a region one after the other. The result
    is launched with its `geometry(grid, block)`, and its `source` runs under Numba as it is.

    grid, block: those of the baseline, if known: sizes become constants, and a grid that is no multiple of n gets a
    guard. stage_registers: as for `hw`. Warps are put together anew where blocks are no multiple of 32 threads: the
    launch of kernels with operations of a warp is refused then, and of those that are seen to count on its lockstep.

    Raises `MultiplexError`, with file and line, where the kernel cannot be transformed.
    """
    again = partial(vtb, kernel, n, stage_registers=stage_registers)
    merge = merged(kernel, n, grid, block)
    draft = prepared(kernel, stage_registers)
    indices = in_turns(draft, merge)
    draft.rename("_vtb", f"{draft.source.name}: {n} virtual thread blocks take turns with the shared memory of one.")
    return finished(draft, indices, again)


@brief
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


def merged(kernel: Kernel, n: int, grid: Size | None, block: Size | None) -> Merge:
    """How blocks of a kernel are put together."""
    source = direct(definition_of(kernel))
    if type(n) is not int or not 2 <= n <= MOST_THREADS:
        why = f"n, the number of virtual blocks in a thread block, is 2 to {MOST_THREADS}, not {n!r}"
        raise refuse(source, None, why)
    old_grid = dim3("grid", grid) if grid is not None else None
    old_block = dim3("block", block) if block is not None else None
    block_axis = max(i for i in range(3) if old_block[i] > 1 or i == 0) if old_block else thread_axis(source)
    grid_axis = next((i for i in range(3) if old_grid and old_grid[i] > 1 and old_grid[i] % n == 0), 0)
    return Merge(n, block_axis, grid_axis, old_grid, old_block, uses_warps(source), kernel)


def prepared(kernel: Kernel, stage_registers: int) -> Draft:
    """A copy of a kernel with functions that have barriers written out, and loads in front of regions."""
    draft = outline(kernel)
    inline_barriers(draft)
    if stage_registers:
        stage(draft, find(analysed(draft), in_turns=True), stage_registers)
    return draft


def in_turns(draft: Draft, merge: Merge, apart: frozenset[str] = frozenset(), overlapping: bool = False) -> Indices:
    """Rewrite a kernel's tree for virtual blocks; what it says of their indices.

    apart: names of shared arrays, and of their views, that are not had in turns. overlapping: whether one virtual block
    is to work in the turn of the other.
    """
    analysis = analysed(draft, apart)
    usage = find(analysis, in_turns=True)
    indices = Indices(merge, draft.names)
    indices.used = indices.rewrite(draft.source, draft.tree, draft.names)
    seeds = {indices.virtual_block, indices.virtual_thread, indices.block_index}
    control = Control(analysis, usage, tainted(draft.source, draft.tree, seeds))
    if shared := control.deciding & {array.name for array in analysis.arrays.values() if array.space in OF_BLOCKS}:
        control = Control(analysis, usage, tainted(draft.source, draft.tree, seeds | shared))
    overlap = Overlap(draft, control) if overlapping else None
    draft.tree.body[:] = Turns(draft, indices, control, overlap).outside(analysis.body, indices.in_grid)
    draft.changed()
    return indices


def finished(draft: Draft, indices: Indices, again: partial[VirtualKernel]) -> VirtualKernel:
    """The transformed kernel, its virtual indices defined, once it is certain that all threads meet its barriers."""
    indices.define(draft.tree)
    draft.changed()
    joined = "once virtual blocks share a thread block:"
    try:
        analysis = analysed(draft)
    except MultiplexError as error:
        why = error.of_virtual_blocks() if isinstance(error, UnmetBarrierError) else error.msg
        raise MultiplexError(f"{joined} {why}", error.filename, error.lineno, error.offset, error.text or "") from None
    for jump in _returns(analysis.body.pieces, False, False):
        if jump.divergent:  # the other threads would meet the later barriers alone
            why = "this return ends some virtual blocks between barriers; put what follows under a condition"
            raise refuse(draft.source, jump.node, f"{joined} {why}")
    remade = partial(_remade, partial(again, grid=indices.merge.grid, block=indices.merge.block))
    return VirtualKernel(replace(draft.finished(), remade=remade), indices.merge, again)


def _remade(again: partial[VirtualKernel], names: frozenset[str]) -> FunctionSource:
    """The transformed kernel, made of one in which these names have each one type: virtual blocks that stand at
    different places of the kernel would hold values of different types in one variable."""
    kernel, *rest = again.args
    made = Kernel(spelled_out(definition_of(kernel), names))
    separate = made.definition.locals
    return replace(again.func(made, *rest, **again.keywords).definition, remade=None, separate=separate)


def _returns(events: Sequence[Event], before: bool, after: bool) -> Iterator[Jump]:
    """Where a kernel returns with barriers on both sides; before, after: whether there are any around these events."""
    for i, event in enumerate(events):
        later = after or any(barriers(events[i + 1 :]))
        own = any(barriers([event]))
        if isinstance(event, Jump) and event.kind == "return" and before and later:
            yield event
        elif isinstance(event, Alternatives):
            for way in event.ways:
                yield from _returns(way, before, later)
        elif isinstance(event, Loop):  # another trip can come before, or follow
            yield from _returns(event.body, before or own, later or own)
            yield from _returns(event.orelse, before or own, later)
        elif isinstance(event, Piece):
            yield from _returns(event.events, before, later)
        before |= own
