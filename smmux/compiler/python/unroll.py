"""Unrolling: constant loops become straight code, up to a number of operations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from smmux.base.trees import walk
from smmux.compiler.build.builder import Mark
from smmux.compiler.python import environment
from smmux.compiler.python.context import Edge, Frame, LoopExits
from smmux.compiler.python.convert import truth
from smmux.compiler.python.rules import evaluate, execute
from smmux.compiler.python.statement_rules import bind

FORESIGHT = 4
"""How many times shorter later iterations may be than those so far [EST]: a loop is given up early only if its length,
extrapolated, passes the limit by that factor. With a smaller one, loops whose first iteration is the longest stay
rolled; with a larger one, more work is thrown away. No shipped kernel changes with 1 or 16."""

WORK_PER_OPERATION = 4
"""Statements that may be lowered per operation of the limit [EST], for loops that fold to little code. It bounds the
time that a loop takes to compile whose iterations emit nothing."""


def worth_unrolling(f: Frame, node: ast.For, trips: int) -> bool:
    """False if the unrolled loop is known, or sure, to be too long."""
    if (node, trips, f.source) in f.ctx.too_long:
        return False
    stores = f.ctx.stores.get(node)
    if stores is None:
        parts = (n for s in node.body for n in walk(s))
        stores = f.ctx.stores[node] = sum(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in parts)
    return bool(trips * max(stores, 1) <= f.ctx.options.unroll_limit)


def unroll(f: Frame, node: ast.For, items: list[Any], limited: bool = True) -> bool:
    """Lower the body once per item, or what a function makes of it then; False, and nothing done, if that gets too
    long."""

    def iterations() -> Iterator[Callable[[], None]]:
        for item in items:
            yield lambda item=item: _iteration(f, node, item)  # type: ignore[misc]

    key = (node, len(items), f.source) if limited else None
    return _straight(f, node, iterations(), len(items), key)


def _iteration(f: Frame, node: ast.For, item: Any) -> None:
    f.at(node)
    bind(f, node.target, item() if callable(item) else item)
    execute(f, node.body)


def unroll_while(f: Frame, node: ast.While) -> bool:
    """Unroll as long as the condition is known; False if it comes to depend on run-time values."""
    if (node, f.source) in f.ctx.too_long:
        return False

    def iterations() -> Iterator[Callable[[], None]]:
        while True:
            condition = truth(f, node.test, evaluate(f, node.test))
            if not condition.known:
                raise _TooLong
            if not condition.const:
                return
            yield lambda: execute(f, node.body)

    return _straight(f, node, iterations(), 0, (node, f.source))


class _TooLong(Exception):
    """A loop's unrolled length passes the limit."""


def _straight(
    f: Frame, node: ast.For | ast.While, iterations: Iterator[Callable[[], None]], trips: int, key: object | None
) -> bool:
    """Lower iterations one after another. If they get too long, take all back and remember the key (None: no limit)."""
    mark, env, saved = f.b.mark(), dict(f.ctx.env), edges_so_far(f)
    loop = LoopExits()
    f.loops.append(loop)
    try:
        for done, run in enumerate(iterations, 1):
            run()
            f.b.work += 1  # an iteration is work even if its body is empty
            edges = [*loop.continues, *([(f.b.block, f.ctx.env)] if f.b.block is not None else [])]
            loop.continues.clear()
            environment.merge(f, node, edges)
            if f.b.block is None:
                break
            if key is not None:
                _check_length(f, mark, done, trips)
    except _TooLong:
        f.b.rewind(mark)
        f.ctx.env = env
        forget_edges(saved)
        f.ctx.too_long.add(key)
        return False
    finally:
        del f.loops[f.loops.index(loop) :]
    if f.b.block is not None:
        execute(f, node.orelse)
    edges = [*([(f.b.block, f.ctx.env)] if f.b.block is not None else []), *loop.breaks]
    environment.merge(f, node, edges)
    return True


def _check_length(f: Frame, mark: Mark, done: int, trips: int) -> None:
    """Give up when the limit is passed, or when the iterations so far leave no doubt that it will be (by a factor)."""
    limit = f.ctx.options.unroll_limit
    emitted, work = f.b.emitted - mark.emitted, (f.b.work - mark.work) / WORK_PER_OPERATION
    if max(emitted, work) > limit or max(emitted, work) * trips > FORESIGHT * limit * done:
        raise _TooLong


def edges_so_far(f: Frame) -> list[tuple[list[Edge], int]]:
    """All lists that lowering may add edges to, each with its length."""
    lengths: list[tuple[list[Edge], int]] = []
    frame: Frame | None = f
    while frame is not None:
        lists = [frame.returns, *(edges for loop in frame.loops for edges in (loop.breaks, loop.continues))]
        lengths += [(edges, len(edges)) for edges in lists]
        frame = frame.caller
    return lengths


def forget_edges(saved: list[tuple[list[Edge], int]]) -> None:
    """Remove the edges added since their lists had these lengths."""
    for edges, length in saved:
        del edges[length:]
