"""Finds barriers that order no accesses of different threads, and makes the kernel without them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smmux import cuda
from smmux.advice.sites import LANES, lanes_of
from smmux.base.trees import walk
from smmux.compiler.program import Program
from smmux.kernels.kernel import Kernel, definition_of
from smmux.results.result import Result
from smmux.rewriting.build import at
from smmux.rewriting.draft import Draft
from smmux.rewriting.vocabulary import calls
from smmux.source.function_source import FunctionSource

__all__ = ["unneeded", "without"]

LOOPS = (ast.For, ast.While)


def unneeded(run: Result, kernel: Kernel) -> list[int]:
    """List the lines of the kernel's own barriers that ordered nothing in any recorded block.

    The barrier of a loop that went round once is left out: the next round may need it.
    """
    needed, met = set[int](), set[int]()
    source = definition_of(kernel)
    looped = {node.lineno for loop in walk(source.node) if isinstance(loop, LOOPS) for node in _syncs(source, loop)}
    for block in np.unique(run.accesses["block"]):
        records = run.accesses[run.accesses["block"] == block]
        lines = _lines(run.program, records)
        met |= {line for line in lines if line not in looped or lines.count(line) > 1}
        needed |= {lines[number] for number in _ordering(run.program, records) if number < len(lines)}
    return sorted({node.lineno for node in _syncs(source, source.node)} & met - needed)


def without(kernel: Kernel, lines: Sequence[int]) -> Kernel:
    """Make the kernel without its barriers in those lines."""
    draft = Draft(definition_of(kernel))
    gone = [node for node in _syncs(draft.source, draft.tree) if node.lineno in lines]
    _Without(gone).visit(draft.tree)
    draft.changed()
    return draft.kernel()


class _Without(ast.NodeTransformer):
    """Puts `pass` in the place of some statements of a tree."""

    def __init__(self, gone: Sequence[ast.stmt]) -> None:
        self.gone = gone

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return at(ast.Pass(), node) if node in self.gone else node


def _syncs(source: FunctionSource, tree: ast.AST) -> list[ast.Expr]:
    """List the statements `cuda.syncthreads()` of a tree."""
    statements = [node for node in walk(tree) if isinstance(node, ast.Expr)]
    return [node for node in statements if calls(source, node.value, (cuda.syncthreads,))]


def _lines(program: Program, records: NDArray[np.void]) -> list[int]:
    """List the lines of the barriers that a block met, in order."""
    mine = records["pc"][records["warp"] == records["warp"][0]].tolist()
    return [int(program.code["line"][pc]) for pc in mine if program.ops[pc] == "bar.sync"]


def _ordering(program: Program, records: NDArray[np.void]) -> set[int]:
    """Return the numbers of a block's barriers that order something.

    A barrier orders two accesses to one word by different threads, one right before it and one right behind it, if at
    least one of them is a store.
    """
    kinds = np.array(program.ops)[records["pc"]]
    barrier, shared = kinds == "bar.sync", np.char.endswith(kinds, "shared")
    interval = np.zeros(len(records), np.int64)
    for warp in np.unique(records["warp"]):
        mine = records["warp"] == warp
        interval[mine] = np.cumsum(barrier[mine])
    row, lane = np.nonzero(lanes_of(records) & (shared | np.char.endswith(kinds, "global"))[:, None])
    thread = records["warp"][row].astype(np.int64) * len(LANES) + lane
    word = records["address"][row, lane].astype(np.int64) // 4 * 2 + shared[row]
    return _conflicts(word, interval[row], thread, ~np.char.startswith(kinds, "ld")[row])


def _conflicts(
    word: NDArray[np.int64], interval: NDArray[np.int64], thread: NDArray[np.int64], store: NDArray[np.bool_]
) -> set[int]:
    """Return the intervals that must not run into the next one.

    In such an interval and the next one, two different threads access one word, and at least one of them stores. For
    each word and interval it is enough to keep the lowest and the highest thread, of all accesses and of the stores:
    if any two threads differ, these do.
    """
    if not len(word):
        return set()
    order = np.lexsort((interval, word))
    word, interval, thread, store = word[order], interval[order], thread[order], store[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(word) != 0) | (np.diff(interval) != 0)])
    far = np.iinfo(np.int64).max
    low, high = np.minimum.reduceat(thread, begins), np.maximum.reduceat(thread, begins)
    first = np.minimum.reduceat(np.where(store, thread, far), begins)
    last = np.maximum.reduceat(np.where(store, thread, -1), begins)
    word, interval = word[begins], interval[begins]
    before, behind = slice(None, -1), slice(1, None)
    follows = (word[before] == word[behind]) & (interval[before] + 1 == interval[behind])
    stored = (last[before] >= 0) & ((first[before] != high[behind]) | (last[before] != low[behind]))
    storing = (last[behind] >= 0) & ((first[behind] != high[before]) | (last[behind] != low[before]))
    return set(interval[before][follows & (stored | storing)].tolist())
