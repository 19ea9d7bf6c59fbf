"""Finds loops of the source whose variable tells the number of the iteration."""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass

from smmux.base.trees import walk
from smmux.preload.tiles import Tiles
from smmux.source.constants import evaluate
from smmux.source.function_source import FunctionSource

__all__ = ["Counter", "Counters", "NoBox"]


class NoBox(Exception):
    """No box can hold what a block reads of an array. reason: why not. line: where."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


@dataclass(frozen=True, slots=True)
class Counter:
    """The variable of a loop that runs from `start` in steps of 1."""

    name: str
    start: int


class Counters:
    """Finds the counters of one kernel."""

    def __init__(self, source: FunctionSource, tiles: Tiles) -> None:
        self.source, self.tiles = source, tiles

    def of(self, place: int, node: ast.AST) -> Counter:
        """Return the counter of a loop around a node. Raises NoBox if the variable is none, or is not known there."""
        line = self.tiles.loops[place].line
        loops = [n for n in walk(self.source.node) if isinstance(n, ast.For | ast.While) and n.lineno == line]
        refusal = NoBox(f"the loop of line {line}, whose variable does not count its iterations", line)
        if len(loops) != 1 or not isinstance(loop := loops[0], ast.For) or not isinstance(loop.target, ast.Name):
            raise refusal
        call = loop.iter
        if not isinstance(call, ast.Call) or self.source.resolve(call.func) is not range or call.keywords:
            raise refusal
        if not any(one is node for one in walk(loop)):
            raise NoBox(f"a variable of the loop of line {line}, read behind it", line)
        stores = [n for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        if sum(n.id == loop.target.id for n in stores) > 1:
            raise refusal
        start, *rest = call.args if len(call.args) > 1 else [ast.Constant(0), *call.args]
        first, *steps = (_literal(bound) for bound in (start, *rest[1:]))
        if first is None or steps not in ([], [1]):
            raise refusal
        return Counter(loop.target.id, first)


def _literal(bound: ast.expr) -> int | None:
    """A bound that is written as a number."""
    with suppress(ArithmeticError, TypeError, ValueError):
        value = evaluate(bound)
        return value if isinstance(value, int) else None
    return None
