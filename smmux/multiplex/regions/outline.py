"""A kernel's tree as all passes take it: a copy, in which a few things that can be written in several ways are one."""

from __future__ import annotations

import ast

from smmux import cuda
from smmux.base.trees import walk
from smmux.kernels.kernel import Kernel, definition_of
from smmux.multiplex.analysis.accesses import barriers, touches
from smmux.multiplex.analysis.dataflow import places
from smmux.multiplex.analysis.uniformity import analysed
from smmux.rewriting.direct import direct
from smmux.rewriting.draft import Draft
from smmux.rewriting.inline import inline_accesses
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import refuse_grids
from smmux.source.function_source import FunctionSource


def outline(kernel: Kernel, *, held: bool = True) -> Draft:
    """A copy of a kernel for passes to change; held: blocks will wait for shared memory, or for their turn with it.

    Arrays are declared by position, in the kernel itself: device functions that declare shared arrays are written out.
    In the last region, behind its barriers, `if a: return` becomes a condition on what follows.
    """
    source = direct(definition_of(kernel))
    if kernel.device:
        raise refuse(source, None, f"{kernel.__name__} is a device function; passes work on kernels")
    if held:
        refuse_grids(source)
    draft = Draft(source)
    inline_accesses(draft, set())
    _without_keywords(draft.source, draft.tree)
    without_returns(draft)
    ast.fix_missing_locations(draft.tree)
    return draft


def _without_keywords(source: FunctionSource, tree: ast.FunctionDef) -> None:
    """array(64, float32) for array(shape=64, dtype=float32)."""
    for node in walk(tree):
        function = source.resolve(node.func) if isinstance(node, ast.Call) and node.keywords else None
        if isinstance(node, ast.Call) and (function is cuda.shared.array or function is cuda.local.array):
            given = {k.arg: k.value for k in node.keywords}
            for name in ("shape", "dtype")[len(node.args) :]:
                if name in given:
                    node.args.append(given.pop(name))
            node.keywords = [k for k in node.keywords if k.arg in given]


def without_returns(draft: Draft) -> None:
    """Turn early returns behind the last barrier into conditions, where they would leave a region."""
    body = draft.tree.body
    if not any(isinstance(node, ast.Return) for node in walk(draft.tree)):
        return
    block = analysed(draft).body
    state, pieces = places(block), block.pieces
    _without_last_return(body)
    draft.changed()
    for i in reversed(range(len(body))):
        if any(barriers(pieces[i].events)):
            return
        node, rest = body[i], body[i + 1 :]
        used = any(touches(pieces[i].events)) or state.open(block, i)
        if isinstance(node, ast.If) and not node.orelse and rest and used and isinstance(node.body[-1], ast.Return):
            node.body.pop()
            if node.body:
                node.orelse = rest
            else:
                node.test, node.body = ast.UnaryOp(ast.Not(), node.test), rest
            node.end_lineno, node.end_col_offset = rest[-1].end_lineno, rest[-1].end_col_offset
            del body[i + 1 :]


def _without_last_return(body: list[ast.stmt]) -> None:
    """Take out a `return` that nothing follows."""
    if len(body) > 1 and isinstance(body[-1], ast.Return):
        body.pop()
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        _without_last_return(last.body)
        _without_last_return(last.orelse)
