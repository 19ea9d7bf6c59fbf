"""Hints: what a kernel's author tells the passes of `smmux.multiplex`. They change nothing in the kernel itself.

>>> import smmux
>>> from smmux import cuda, float32
>>> @cuda.jit
... def reverse(a, out):
...     tile = cuda.shared.array(64, float32)
...     t = cuda.threadIdx.x
...     with smmux.overlap():
...         x = a[cuda.grid(1)]
...     tile[t] = x
...     cuda.syncthreads()
...     out[cuda.grid(1)] = tile[63 - t]

The statements under the hint are those that `multiplex.vtb_pipe` lets one virtual block execute while the other uses
shared memory. Under Numba, compiled or simulated, the kernel is what it is without the hint.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

__all__ = ["overlap"]


class OverlapHint:
    """The type of `smmux.overlap`: a context manager without effect."""

    def __call__(self) -> OverlapHint:
        """`with smmux.overlap():`"""
        return self

    def __enter__(self) -> None:
        """Do nothing: a kernel in Numba's simulator runs as plain Python."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, place: TracebackType | None
    ) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "smmux.overlap"

    def mutate_with_body(
        self, func_ir: Any, blocks: dict[int, Any], blk_start: int, blk_end: int, body_blocks: list[int], *_: Any
    ) -> None:
        """Called by Numba's compiler for `with` in a kernel: leave the body where it is, and take out the rest."""
        ir: Any = sys.modules["numba.core.ir"]
        head, scope = blocks[blk_start], blocks[blk_start].scope
        blocks[blk_start] = ir.Block(scope, head.loc)
        target = min(body_blocks) if body_blocks else blk_end
        blocks[blk_start].append(ir.Jump(target, head.loc))
        mine: set[str] = set()
        for block in blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.Assign) and self._names_it(statement.value, mine):
                    mine.add(statement.target.name)
        for block in blocks.values():
            block.body[:] = [
                s
                for s in block.body
                if not (isinstance(s, ir.Assign) and s.target.name in mine)
                and not (isinstance(s, ir.Del) and s.value in mine)
                and not isinstance(s, ir.PopBlock)
            ]

    def _names_it(self, value: Any, mine: set[str]) -> bool:
        """Whether a value of Numba's IR is this object, or comes from it."""
        ir: Any = sys.modules["numba.core.ir"]
        if isinstance(value, ir.Global | ir.FreeVar):
            return value.value is self
        if isinstance(value, ir.Var):
            return value.name in mine
        if not isinstance(value, ir.Expr):
            return False
        return value.op == "getattr" and value.attr == "overlap" or value.op == "call" and value.func.name in mine


overlap = OverlapHint()
