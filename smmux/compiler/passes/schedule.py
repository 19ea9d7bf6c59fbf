"""List scheduling: each block in the order of its critical path, as an assembler would for the card.

Between fences, the ready operation with the longest path of latencies below it goes first. Memory order is kept where
accesses of any two threads of a warp may alias. While as many values are live as the limit allows, operations that end
the lives of more values than they begin go first, and without any such, operations go in program order.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from smmux.compiler.analysis.affine import AddressAnalysis
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.compiler.analysis.live_ranges import liveness
from smmux.compiler.analysis.ops import FENCES, is_load, is_memory, latency_class
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Instr, Reg, Type

__all__ = ["Schedules"]

DEFAULT_LATENCY = 20
"""Clocks until an operation's result is there, where the latencies of no machine are given [EST]: about those of
arithmetic on CC 1.x and 2.x. `Kernel.simulate` gives the machine's own for every operation, so that it matters only to
programs compiled without a machine."""

REMEMBERED_ACCESSES = 32
"""Accesses of a block that a later one is compared with; then one access stands for all older ones [EST].

It keeps the pass linear in the length of the block. A larger number lets loads of long blocks move farther up: without
a limit most kernels with unrolled loops are scheduled differently, with up to 91 registers more."""


class Schedules:
    """The orders that the blocks of a function in SSA form can have, for limits of live values.

    latencies: clocks from an operation's issue to its result, by class. issue_interval: clocks from one instruction of
    a warp to its next one.
    """

    def __init__(self, function: Function, latencies: Mapping[str, int], issue_interval: int) -> None:
        graph = Graph(function)
        defs = {dst: instr for instr in function.instrs() for dst in instr.dsts}
        warp = WarpOrder(AddressAnalysis(defs))
        _, live_out = liveness(graph.order)
        words = 0
        for reg in defs:
            if reg.type is not Type.PRED:
                words |= 1 << reg.id
        place = {block: i for i, block in enumerate(function.blocks)}
        self._bodies: list[tuple[int, int, _Dag]] = []  # positions of blocks, and of the first instruction to move
        for block in graph.order:
            first = len(phis(block))
            body = block.instrs[first:-1]
            if len(body) > 2:
                dag = _Dag(body, warp, latencies, issue_interval, _carried(block), live_out[block] & words)
                self._bodies.append((place[block], first, dag))

    def reorder(self, function: Function, live: int) -> None:
        """Reorder every block of a copy of the function. live: the budget of values that are live at the same time."""
        for position, first, dag in self._bodies:
            instrs = function.blocks[position].instrs
            instrs[first:-1] = [instrs[first + i] for i in dag.order(live)]


def _carried(block: Block) -> dict[Reg, Reg]:
    """For the variables of the loop whose last block this is: the register of the next value, and that of the present
    one. A counter that is advanced before the last reader of its present value needs a copy."""
    return {
        src: phi.dsts[0]
        for target in block.successors
        for phi in target.instrs
        if isinstance(phi, Phi) and block in phi.preds and isinstance(src := phi.source(block), Reg)
    }


class _Dag:
    """Dependences of the instructions of one block, and the orders that they leave open."""

    def __init__(
        self,
        body: list[Instr],
        warp: WarpOrder,
        latencies: Mapping[str, int],
        issue_interval: int,
        carried: dict[Reg, Reg],
        live_out: int,
    ) -> None:
        self.issue_interval = issue_interval
        self.latency = [latencies.get(latency_class(instr.op), DEFAULT_LATENCY) for instr in body]
        reads = [[operand for operand in (*instr.srcs, instr.guard) if isinstance(operand, Reg)] for instr in body]
        before: list[set[int]] = [set() for _ in body]
        defined = {dst: i for i, instr in enumerate(body) for dst in instr.dsts}
        for earlier, operands in zip(before, reads, strict=True):
            earlier.update(defined[reg] for reg in operands if reg in defined)
        _order_memory(body, warp, before)
        _order_readers(reads, carried, defined, before)
        self.after: list[list[int]] = [[] for _ in body]
        for i, earlier in enumerate(before):
            earlier.discard(i)
            for j in earlier:
                self.after[j].append(i)
        self.before = list(map(len, before))
        self.height = self._heights()
        self.pressure = _Pressure.of(body, reads, live_out)
        self._orders: list[tuple[int, int, list[int]]] = []  # what _order has returned so far

    def _heights(self) -> list[int]:
        """Longest path of latencies from each instruction to the end of the block."""
        height = list(self.latency)
        for i in reversed(range(len(height))):
            height[i] += max((height[j] for j in self.after[i]), default=0)
        return height

    def order(self, budget: int) -> list[int]:
        """Positions of the instructions in their new order, for a budget of values live at the same time."""
        for below, most, order in self._orders:
            if below < budget <= most:
                return order
        below, most, order = self._order(budget)
        self._orders.append((below, most, order))
        return order

    def _order(self, budget: int) -> tuple[int, int, list[int]]:
        """The positions in the order of a list schedule that keeps to a budget of live values.

        Below the budget, of the operations whose operands are there the one with the longest path below it goes next,
        or, if there is none, the one whose operands are there first. At the budget, an operation that frees values goes
        next, or the next one of the program.

        Returns (below, most, order): all budgets b with below < b <= most give this order, since a budget matters only
        by which of the numbers of live values met on the way reach it.
        """
        pressure, height = self.pressure.copy(), self.height
        waiting, earliest = list(self.before), [0] * len(height)
        # Heaps of operations all of whose predecessors have gone; an operation may be in several.
        program = [i for i, count in enumerate(waiting) if count == 0]  # by position
        ready = [(-height[i], i) for i in program]  # by the path below, once operands are there
        pending: list[tuple[int, int]] = []  # by the time at which operands are there
        freeing = [(pressure.change[i], -height[i], i) for i in program if pressure.change[i] < 0]
        heapq.heapify(ready)
        heapq.heapify(freeing)
        below, most = -1, sys.maxsize
        order: list[int] = []
        done = [False] * len(height)
        clock = 0
        while len(order) < len(height):
            while pending and pending[0][0] <= clock:
                i = heapq.heappop(pending)[1]
                heapq.heappush(ready, (-height[i], i))
            if pressure.live >= budget:
                most = min(most, pressure.live)
                i = heapq.heappop(freeing)[2] if freeing else heapq.heappop(program)
            else:
                below = max(below, pressure.live)
                i = heapq.heappop(ready)[1] if ready else heapq.heappop(pending)[1]
            if done[i]:
                continue
            done[i] = True
            order.append(i)
            clock = max(clock, earliest[i])
            able = [j for j in pressure.execute(i) if waiting[j] == 0]
            there = clock + self.latency[i]
            for j in self.after[i]:
                earliest[j] = max(earliest[j], there)
                waiting[j] -= 1
                if waiting[j] == 0:
                    heapq.heappush(pending, (earliest[j], j))
                    heapq.heappush(program, j)
                    able.append(j)
            for j in able:
                if pressure.change[j] < 0:
                    heapq.heappush(freeing, (pressure.change[j], -height[j], j))
            clock += self.issue_interval
        return below, most, order


def _order_memory(body: list[Instr], warp: WarpOrder, before: list[set[int]]) -> None:
    """Add the predecessors that memory asks for: earlier accesses that an access must not pass, and fences."""
    fence: int | None = None
    gate: int | None = None  # an access that stands for all before it
    since: list[int] = []  # everything after the fence
    recent: list[tuple[int, Instr, bool]] = []  # accesses after the fence and the gate, and whether they only load
    for i, instr in enumerate(body):
        if instr.op in FENCES:
            before[i].update(since or [fence] if fence is not None else since)
            fence, gate, since, recent = i, None, [], []
            continue
        if fence is not None:
            before[i].add(fence)
        since.append(i)
        if not is_memory(instr):
            continue
        if gate is not None:
            before[i].add(gate)
        load = is_load(instr)
        before[i].update(j for j, other, loads in recent if not (load and loads) and warp.matters(instr, other))
        recent.append((i, instr, load))
        if len(recent) > REMEMBERED_ACCESSES:
            before[i].update(j for j, _, _ in recent)
            gate, recent = i, []


def _order_readers(
    reads: list[list[Reg]], carried: dict[Reg, Reg], defined: dict[Reg, int], before: list[set[int]]
) -> None:
    """Put readers of a loop variable before the operation that computes its next value."""
    next_values = {old: at for new, old in carried.items() if (at := defined.get(new)) is not None}
    for i, operands in enumerate(reads):
        for reg in operands:
            at = next_values.get(reg, i)
            if i < at:
                before[at].add(i)


@dataclass(slots=True, eq=False)
class _Pressure:
    """Values of a block that are live, and by how many each of its instructions that has yet to execute changes that:
    less with time, as others read for the last but one time what it reads.

    reads: of each instruction, the values that end in the block. left: how often each has yet to be read. by: the sum
    of the positions of these readers, which is the last one's where one is left.
    """

    live: int
    change: list[int]
    reads: list[list[Reg]]
    left: dict[Reg, int]
    by: dict[Reg, int]

    @classmethod
    def of(cls, body: list[Instr], reads: list[list[Reg]], live_out: int) -> _Pressure:
        """Before the first instruction executes."""
        words = [[reg for reg in dict.fromkeys(operands) if reg.type is not Type.PRED] for operands in reads]
        incoming, inside = live_out, 0
        for instr, operands in zip(body, words, strict=True):
            for reg in operands:
                incoming |= 1 << reg.id
            for dst in instr.dsts:
                inside |= 1 << dst.id
        live = (incoming & ~inside).bit_count()
        change = [sum(dst.type is not Type.PRED and incoming >> dst.id & 1 for dst in instr.dsts) for instr in body]
        ending = [[reg for reg in operands if not live_out >> reg.id & 1] for operands in words]
        left: dict[Reg, int] = {}
        by: dict[Reg, int] = {}
        for i, operands in enumerate(ending):
            for reg in operands:
                left[reg], by[reg] = left.get(reg, 0) + 1, by.get(reg, 0) + i
        for reg, count in left.items():
            if count == 1:
                change[by[reg]] -= 1
        return cls(live, change, ending, left, by)

    def copy(self) -> _Pressure:
        """The same, to execute instructions on."""
        return _Pressure(self.live, self.change.copy(), self.reads, self.left.copy(), self.by.copy())

    def execute(self, i: int) -> list[int]:
        """Instruction i executes; returns those that now end one more value."""
        self.live += self.change[i]
        ended = []
        for reg in self.reads[i]:
            self.left[reg] -= 1
            self.by[reg] -= i
            if self.left[reg] == 1:
                last = self.by[reg]
                self.change[last] -= 1
                ended.append(last)
        return ended
