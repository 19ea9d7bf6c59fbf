"""`cuda.cg` inside kernels: barriers of the whole grid."""

from __future__ import annotations

import ast

from smmux.compiler.program import BAR_OPTIONS
from smmux.compiler.python.context import Frame
from smmux.compiler.python.rules import call
from smmux.compiler.python.typed_values import Static
from smmux.language import cg

BAR_GRID = BAR_OPTIONS.index(".grid")
GRID = cg.GridGroup()


@call(cg.this_grid)
def this_grid(f: Frame, node: ast.AST) -> Static:
    """The group of all threads."""
    return Static(GRID)


@call(cg.GridGroup.sync)
def sync(f: Frame, node: ast.AST) -> Static:
    """Barrier of all blocks, behind which the stores of all are seen."""
    f.b.effect("bar.sync", sub=BAR_GRID)
    return Static(None)
