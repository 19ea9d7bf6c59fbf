"""Addresses that kernels load from, recorded while the reference machine runs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from smmux import _core
from smmux.kernel import Kernel
from smmux.preload import Analysis
from tests.reference import machine

Place = tuple[int, int, int]

Loads = dict[tuple[int, int], dict[Place, set[int]]]
"""By source line and array, and by block: the bytes loaded, counted from the array's element 0."""


def loads(kernel: Kernel, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> Loads:
    """Run a kernel on the reference machine, with whole arrays as arguments, which are written."""
    program = kernel.compile(args, join=False)
    found: Loads = defaultdict(lambda: defaultdict(set))
    loading = _core.OPS["ld.global"][0]

    class Block(machine.Block):
        def place(self, warp, insn, space, lane, address):
            memory, at = super().place(warp, insn, space, lane, address)
            if int(insn["op"]) == loading:
                found[int(insn["line"]), int(insn["aux"])][self.ctaid].update(range(at, at + int(insn["width"])))
            return memory, at

    original, machine.Block = machine.Block, Block
    try:
        machine.run(program, grid, block, args)
    finally:
        machine.Block = original
    return found


def touched(found: Loads, array: int, block: Place) -> set[int]:
    """The bytes of an array that a block loads in any line."""
    return set().union(*(blocks[block] for (_, number), blocks in found.items() if number == array and block in blocks))


def lines(analysis: Analysis, array: int, block: Place, line_bytes: int = 32) -> set[int]:
    """The numbers of an array's lines that the table names for a block, counted from element 0, which begins one."""
    table = analysis.table
    low, high = (table.bases[array] + end for end in (table.arrays[array].first, table.arrays[array].end))
    assert table.bases[array] % line_bytes == 0
    named = [line for line in table.lines(block, line_bytes) if low // line_bytes * line_bytes <= line < high]
    return {(line - table.bases[array]) // line_bytes for line in named}
