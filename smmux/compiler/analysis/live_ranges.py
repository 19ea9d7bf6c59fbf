"""Live ranges: which registers hold a value that is still read, and between which points of the program.

Instruction k of the layout reads at point 2k and writes at 2k + 1, so a result may take the register of a source that
dies there. A `Segment` (start, end, value) says that points start <= p < end hold the value numbered `value`; a copy
has the number of its source, which is how registers that hold the same value are known not to interfere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.ops import copy_of
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.ir import Block, Instr, Reg

__all__ = ["LiveRanges", "Segment", "bits", "liveness"]

Segment = tuple[int, int, int]


def bits(mask: int) -> Iterator[int]:
    """Positions of the set bits."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def reads(instr: Instr) -> list[Reg]:
    """The registers that an instruction reads; one written under a guard keeps its old value elsewhere, which is a
    read."""
    registers = [src for src in instr.srcs if isinstance(src, Reg)]
    if instr.guard is not None:
        registers.append(instr.guard)
        registers.extend(dst for dst in instr.dsts if dst.variable)
    return registers


def liveness(order: Sequence[Block]) -> tuple[dict[Block, int], dict[Block, int]]:
    """Registers live into and out of each block, as sets of bits numbered by `Reg.id`.

    The sources of a phi are live out of the predecessors they come from, not into its block.
    """
    used: dict[Block, int] = {}
    defined: dict[Block, int] = {}
    merged = dict.fromkeys(order, 0)
    for block in order:
        use = kill = 0
        for instr in block.instrs:
            if isinstance(instr, Phi):
                for pred, src in zip(instr.preds, instr.srcs, strict=True):
                    merged[pred] |= 1 << src.id if isinstance(src, Reg) else 0
            else:
                for reg in reads(instr):
                    bit = 1 << reg.id
                    if not kill & bit:
                        use |= bit
            for reg in instr.dsts:
                kill |= 1 << reg.id
        used[block], defined[block] = use, kill
    live_in = dict(used)
    live_out = dict.fromkeys(order, 0)
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            out = merged[block]
            for following in block.successors:
                out |= live_in[following]
            if out != live_out[block]:
                live_out[block] = out
                live_in[block] = used[block] | (out & ~defined[block])
                changed = True
    return live_in, live_out


class LiveRanges:
    """Segments of every register of a function whose reachable blocks lie in layout order `layout`."""

    def __init__(self, graph: Graph, layout: Sequence[Block]) -> None:
        self.regs: dict[int, Reg] = {}
        self.segments: dict[int, list[Segment]] = {}
        self.copies: list[tuple[int, Instr]] = []  # (loop depth, instruction)
        self._next_value = 0
        _, live_out = liveness(graph.order)
        values = self._number_values(graph)
        start = 0
        for block in layout:
            self._scan(block, start, live_out[block], values[block])
            start += len(block.instrs)
        for segments in self.segments.values():
            segments.sort()
        for block in layout:
            depth = graph.depth[block]
            for instr in block.instrs:
                if isinstance(copy_of(instr), Reg):
                    self.copies.append((depth, instr))

    def _fresh(self) -> int:
        self._next_value += 1
        return self._next_value

    def _number_values(self, graph: Graph) -> dict[Block, tuple[list[int], dict[int, int]]]:
        """The value numbers of each block's definitions, in order, and of registers that are live into it."""
        writes: dict[int, int] = {}
        for block in graph.order:
            for instr in block.instrs:
                for reg in instr.dsts:
                    writes[reg.id] = writes.get(reg.id, 0) + 1
        fixed: dict[int, int] = {}
        result: dict[Block, tuple[list[int], dict[int, int]]] = {}
        for block in graph.order:
            local: dict[int, int] = {}  # values of registers with several definitions
            incoming: dict[int, int] = {}
            numbers: list[int] = []
            for instr in block.instrs:
                source = copy_of(instr)
                for dst in instr.dsts:
                    if isinstance(source, Reg):
                        value = local.get(source.id) or (fixed.get(source.id) if writes.get(source.id) == 1 else None)
                        if value is None:
                            value = incoming[source.id] = local[source.id] = self._fresh()
                    else:
                        value = self._fresh()
                    if writes[dst.id] == 1:
                        fixed[dst.id] = value
                    else:
                        local[dst.id] = value
                    numbers.append(value)
            result[block] = numbers, incoming
        self._fixed = fixed
        return result

    def _scan(self, block: Block, first: int, live_out: int, values: tuple[list[int], dict[int, int]]) -> None:
        """Walk a block backwards and close a segment at each definition."""
        numbers, incoming = values
        regs, segments = self.regs, self.segments
        end_of_block = 2 * (first + len(block.instrs))
        ends = dict.fromkeys(bits(live_out), end_of_block)
        number = len(numbers)
        point = end_of_block
        for instr in reversed(block.instrs):
            point -= 2
            for dst in reversed(instr.dsts):
                number -= 1
                regs[dst.id] = dst
                end = ends.pop(dst.id, point + 2)
                segments.setdefault(dst.id, []).append((point + 1, end, numbers[number]))
            for reg in reads(instr):
                if reg.id not in ends:
                    ends[reg.id] = point + 1
                    regs[reg.id] = reg
        for id, end in ends.items():
            value = self._fixed.get(id) or incoming.get(id) or self._fresh()
            segments.setdefault(id, []).append((2 * first, end, value))
