"""Finds bank conflicts, and the pad with which the model of the banks counts the fewest passes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smmux import _core, cuda, gpus
from smmux.advice.improvement import WORTH, Improvement
from smmux.advice.sites import Site, busy_share, by_array, total
from smmux.base.trees import walk
from smmux.compiler.ir import Storage
from smmux.kernels.kernel import Kernel, definition_of
from smmux.machines.occupancy import occupancy
from smmux.multiplex.analysis.facts import constant
from smmux.results.result import Result
from smmux.rewriting.build import at
from smmux.rewriting.draft import Draft
from smmux.rewriting.vocabulary import calls
from smmux.source.function_source import FunctionSource

__all__ = ["conflicts", "padded"]

SAMPLE = 96
"""Try each pad on this many different accesses to an array."""

PADS = (1, 2, 3, 4, 8, 16)
"""Try these pads, in elements behind each row, the smallest first."""

COMMON = 2
"""Take as candidates for the length of a row this many distances between lanes, those with the most conflicts."""

ENOUGH = 1.02
"""Count a pad as one of the best if it takes at most this many times the fewest passes."""

GAIN = 1.2
"""Suggest a pad only if accesses take at least this many times as many passes without it: it costs memory."""

WORD = 4
"""Bytes of a word."""


def conflicts(sites: Sequence[Site], kernel: Kernel) -> Iterator[Improvement]:
    """Yield, for each array in shared memory whose accesses conflict, what a pad would save."""
    for group in by_array(site for site in sites if site.op in ("ld.shared", "st.shared")):
        run = group[0].run
        if busy_share(run, total(group, "conflicts") * run.gpu.smem_clk_per_way) < WORTH or not group[0].array:
            continue
        held = run.program.element(group[0].pc, 0)
        assert held is not None
        padding = _Padding(group, held[0].element, _declared(held[0], definition_of(kernel)))
        before, after, row, pad = padding.best()
        share = busy_share(run, (before - after) * run.gpu.smem_clk_per_way)
        if after * GAIN <= before and share >= WORTH:
            yield _improvement(group, before, after, row, pad, share)


class _Padding:
    """Counts the passes of the accesses to one array, with pads between its rows."""

    def __init__(self, sites: Sequence[Site], element: int, declared: int | None) -> None:
        self.sites = sites
        self.config = gpus.as_tuple(sites[0].run.gpu)
        self.unit = max(1, element // WORD)
        self.declared = declared
        self.patterns = {site: _patterns(site, max(2, SAMPLE // len(sites))) for site in sites}
        self.passes = {site: self._passes(site, 0, 0) for site in sites}

    def best(self) -> tuple[float, float, int, int]:
        """Return four numbers: passes of the whole run without and with the best pad, words of a row, words of the pad.

        Of pads within 2 % of the best one, the smallest is taken, for the row length that `_rows` lists first. A pad
        that splits accesses which the compiler had joined makes more accesses, and each of these counts as a pass.
        """
        before = float(total(self.sites, "passes"))
        least = ENOUGH * (before - total(self.sites, "conflicts"))
        tried: list[tuple[float, int, int]] = []
        for row in self._rows():
            for pad in PADS:
                tried.append((self._cost(row, pad * self.unit), pad * self.unit, row))
                if tried[-1][0] <= least:
                    break
        best = ENOUGH * min((cost for cost, *_ in tried), default=before)
        pad, row = next(((pad, row) for cost, pad, row in tried if cost <= best < before), (0, 0))
        return before, self._after(row, pad), row, pad

    def _rows(self) -> list[int]:
        """List the row lengths, in words, behind which a pad may help.

        An array of several axes has one: its row. For any other array try the commonest distances between lanes,
        half of each, and the number of banks.
        """
        if self.declared:
            return [self.declared]
        strides: Counter[int] = Counter()
        for site in self.sites:
            if (stride := site.stride) and stride % WORD == 0:
                strides[stride // WORD] += site.counter("conflicts")
        common = [stride for stride, _ in strides.most_common(COMMON)]
        rows = [*common, *(stride // 2 for stride in common), self.sites[0].run.gpu.smem_banks]
        return [row for row in dict.fromkeys(rows) if row > 1 and row % self.unit == 0]

    def _cost(self, row: int, pad: int) -> float:
        """Count the passes of the whole run with a pad behind each row, and the accesses that splitting adds."""
        parted = [site for site in self.sites if not self._joined(site, row, pad)]
        more = sum((site.width // (self.unit * WORD) - 1) * site.counter("issued") for site in parted)
        return self._after(row, pad) + more

    def _after(self, row: int, pad: int) -> float:
        """Count the passes of the whole run with a pad behind each row."""
        return sum(site.counter("passes") * self._passes(site, row, pad) / self.passes[site] for site in self.sites)

    def _joined(self, site: Site, row: int, pad: int) -> bool:
        """Tell whether accesses that the compiler joined stay joined: they do if the pad leaves rows aligned."""
        return not pad or row * WORD % site.width == pad * WORD % site.width == 0

    def _passes(self, site: Site, row: int, pad: int) -> int:
        """Count the passes of an instruction's patterns, with `pad` words behind each row of `row` words."""
        width = site.width if self._joined(site, row, pad) else self.unit * WORD
        passes = 0
        for address, mask, count in self.patterns[site]:
            for first in range(0, site.width, width):
                place = address + first
                moved = place + ((place - site.start) // (WORD * row) * WORD * pad if pad else 0)
                passes += count * _core.bank_passes(self.config, moved.tolist(), width, mask)[0]
        return passes


def padded(kernel: Kernel, array: Storage, words: int) -> Kernel | None:
    """Make the kernel's rows of a shared array `words` longer; None if the array has no rows of known length."""
    draft = Draft(definition_of(kernel))
    shape = _shape(array, draft.source, draft.tree)
    if shape is None or constant(draft.source, shape.elts[-1]) is None:
        return None
    more = at(ast.Constant(words * WORD // array.element), shape)
    shape.elts[-1] = at(ast.BinOp(shape.elts[-1], ast.Add(), more), shape)
    draft.changed()
    return draft.kernel()


def _shape(array: Storage, source: FunctionSource, tree: ast.AST) -> ast.Tuple | None:
    """Find the shape of a shared array that the kernel declares with several axes."""
    for node in walk(tree):
        if array.loc is None or not calls(source, node, (cuda.shared.array,)):
            continue
        assert isinstance(node, ast.Call)
        shape = node.args[0] if node.args else None
        if node.lineno == array.loc.line and isinstance(shape, ast.Tuple) and len(shape.elts) > 1:
            return shape
    return None


def _declared(array: Storage, source: FunctionSource) -> int | None:
    """Return the words of a row if a shared array has several axes and the last one's length is known, else None."""
    shape = _shape(array, source, source.node)
    last = constant(source, shape.elts[-1]) if shape is not None else None
    return last * array.element // WORD if last else None


def _patterns(site: Site, most: int) -> list[tuple[NDArray[np.int64], int, int]]:
    """Return at most `most` different accesses of an instruction: addresses, mask, and how often each occurs."""
    rows, counts = np.unique(site.records[["active", "address"]], return_counts=True)
    chosen = np.unique(np.linspace(0, len(rows) - 1, most).astype(int))
    return [(rows["address"][i].astype(np.int64), int(rows["active"][i]), int(counts[i])) for i in chosen]


def _improvement(sites: Sequence[Site], before: float, after: float, row: int, pad: int, share: float) -> Improvement:
    """Say what to do about an array, at the line that has most of its conflicts."""
    worst = max(sites, key=lambda site: site.counter("conflicts"))
    line = [site for site in sites if site.line == worst.line]
    passes, issued = total(line, "passes"), total(line, "issued")
    ways = passes / (passes - total(line, "conflicts"))
    words = f"{pad} words" if pad > 1 else "one word"
    why = f"{ways:.3g}-way bank conflict in `{worst.array}`, {passes / issued:.3g} passes per access of a warp"
    remedy = (
        f"a pad of {words} after every {row} (a row of {row + pad}) makes {before:,.0f} passes of the array "
        f"{after:,.0f}{_memory(sites, row, pad)}"
    )
    name = worst.run.program.filename
    change = {"row": row, "pad": pad}
    return Improvement("banks", name, worst.line, worst.array, "passes", before, after, share, why, remedy, change)


def _memory(sites: Sequence[Site], row: int, pad: int) -> str:
    """Say how much shared memory a pad takes, and how many resident blocks that costs, if any."""
    run, storage = sites[0].run, sites[0].run.program.element(sites[0].pc, 0)
    assert storage is not None
    more = storage[0].nbytes // (WORD * row) * WORD * pad
    now, then = _blocks(run, 0), _blocks(run, more)
    fewer = f", which leaves room for {then} instead of {now} blocks on an SM" if then < now else ""
    return f", for {more} bytes of shared memory{fewer}"


def _blocks(run: Result, more: int) -> int:
    """Count the blocks of an SM if each held `more` bytes of shared memory."""
    program, gpu = run.program, run.gpu
    held = program.shared_bytes + program.dynamic_bytes + more
    return occupancy(run.threads, program.nregs, held, gpu, program.param_bytes(gpu.pointer_bytes)).blocks
