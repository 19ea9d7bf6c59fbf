"""List scheduling: each block in the order of its critical path, as an assembler would for the card.

Between fences, the ready operation with the longest path of latencies below it goes first. Memory order is kept where
accesses of any two threads of a warp may alias. When the values live at one time reach a limit, operations go first
that end more of them than they make, and else in program order, until there is room again.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from smmux.compiler.analysis.affine import AddressAnalysis
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.compiler.analysis.live_ranges import liveness
from smmux.compiler.analysis.ops import FENCES, is_load, is_memory, latency_class
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.ir import Block, Function, Instr, Reg, Type

__all__ = ["schedule_blocks"]

DEFAULT_LATENCY = 20
"""Clocks until an operation's result is there, where the latencies of no machine are given [EST]: about those of
arithmetic on CC 1.x and 2.x. `Kernel.simulate` gives the machine's own for every operation, so that it matters only to
programs compiled without a machine."""

REMEMBERED_ACCESSES = 32
"""Accesses of a block that a later one is compared with; then one access stands for all older ones [EST].

It keeps the pass linear in the length of the block. A larger number lets loads of long blocks move farther up: without
a limit most kernels with unrolled loops are scheduled differently, with up to 91 registers more."""


def schedule_blocks(function: Function, latencies: Mapping[str, int], issue_interval: int, live: int) -> None:
    """Reorder every block of a function in SSA form.

    latencies: clocks from an operation's issue to its result, by class. issue_interval: clocks from one instruction of
    a warp to its next one. live: values held at one time, from which on no others are added
    but in program order.
    """
    graph = Graph(function)
    defs = {dst: instr for instr in function.instrs() for dst in instr.dsts}
    warp = WarpOrder(AddressAnalysis(defs))
    _, live_out = liveness(graph.order)
    words = 0
    for reg in defs:
        if reg.type is not Type.PRED:
            words |= 1 << reg.id
    for block in graph.order:
        first = next(i for i, instr in enumerate(block.instrs) if not isinstance(instr, Phi))
        body = block.instrs[first:-1]
        if len(body) > 2:
            carried = _carried(block)
            dag = _Dag(body, warp, latencies, carried)
            order = dag.schedule(live_out[block] & words, issue_interval, live)
            block.instrs[first:-1] = [body[i] for i in order]


def _carried(block: Block) -> dict[Reg, Reg]:
    """Next value to present value of the variables of a loop that this block ends: a counter should not be advanced
    before its last reader, or a copy is needed."""
    return {
        src: phi.dsts[0]
        for target in block.successors
        for phi in target.instrs
        if isinstance(phi, Phi) and block in phi.preds and isinstance(src := phi.source(block), Reg)
    }


class _Dag:
    """Dependences of the instructions of one block."""

    def __init__(
        self, body: list[Instr], warp: WarpOrder, latencies: Mapping[str, int], carried: dict[Reg, Reg]
    ) -> None:
        self.body, self.warp = body, warp
        n = len(body)
        self.latency = [latencies.get(latency_class(instr.op), DEFAULT_LATENCY) for instr in body]
        self.after: list[list[int]] = [[] for _ in range(n)]
        self.before = [0] * n
        self._edges: set[tuple[int, int]] = set()
        self.reads = [[operand for operand in (*instr.srcs, instr.guard) if isinstance(operand, Reg)] for instr in body]
        defined = {dst: i for i, instr in enumerate(body) for dst in instr.dsts}
        for i, operands in enumerate(self.reads):
            for reg in operands:
                if reg in defined:
                    self._edge(defined[reg], i)
        self._memory_order()
        self._anti(carried, defined)
        self.height = self._heights()

    def _edge(self, first: int, then: int) -> None:
        if first != then and (first, then) not in self._edges:
            self._edges.add((first, then))
            self.after[first].append(then)
            self.before[then] += 1

    def _memory_order(self) -> None:
        fence: int | None = None
        gate: int | None = None  # an access that stands for all before it
        since: list[int] = []  # everything after the fence
        recent: list[int] = []  # accesses after the fence and the gate
        for i, instr in enumerate(self.body):
            if instr.op in FENCES:
                for j in since or [fence] if fence is not None else since:
                    self._edge(j, i)
                fence, gate, since, recent = i, None, [], []
                continue
            if fence is not None:
                self._edge(fence, i)
            since.append(i)
            if not is_memory(instr):
                continue
            if gate is not None:
                self._edge(gate, i)
            for j in recent:
                other = self.body[j]
                if not (is_load(instr) and is_load(other)) and self.warp.matters(instr, other):
                    self._edge(j, i)
            recent.append(i)
            if len(recent) > REMEMBERED_ACCESSES:
                for j in recent[:-1]:
                    self._edge(j, i)
                gate, recent = i, []

    def _anti(self, carried: dict[Reg, Reg], defined: dict[Reg, int]) -> None:
        """Put readers of a loop variable before the operation that computes its next value."""
        readers: dict[Reg, list[int]] = {}
        for i, operands in enumerate(self.reads):
            for reg in operands:
                readers.setdefault(reg, []).append(i)
        for new, old in carried.items():
            at = defined.get(new)
            for i in readers.get(old, ()):
                if at is not None and i < at:
                    self._edge(i, at)

    def _heights(self) -> list[int]:
        """Longest path of latencies from each instruction to the end of the block."""
        height = list(self.latency)
        for i in reversed(range(len(self.body))):
            for j in self.after[i]:
                height[i] = max(height[i], self.latency[i] + height[j])
        return height

    def schedule(self, live_out: int, issue_interval: int, budget: int) -> list[int]:
        """Positions in their new order: of the operations that can start now the one with the longest path below it, or
        else the one that can start first."""
        pressure = _Pressure(self.body, self.reads, live_out)
        waiting, earliest = list(self.before), [0] * len(self.body)
        roots = [i for i, count in enumerate(waiting) if count == 0]
        ready = [(-self.height[i], i) for i in roots]  # operands there
        pending: list[tuple[int, int]] = []  # by the time at which operands are there
        program = list(roots)  # by position
        freeing = [(pressure.change[i], -self.height[i], i) for i in roots if pressure.change[i] < 0]
        heapq.heapify(ready)
        heapq.heapify(freeing)
        order: list[int] = []
        done = [False] * len(self.body)
        clock = 0
        while len(order) < len(self.body):
            while pending and pending[0][0] <= clock:
                i = heapq.heappop(pending)[1]
                heapq.heappush(ready, (-self.height[i], i))
            if pressure.live >= budget:
                i = heapq.heappop(freeing)[2] if freeing else heapq.heappop(program)
            else:
                i = heapq.heappop(ready)[1] if ready else heapq.heappop(pending)[1]
            if done[i]:
                continue
            done[i] = True
            order.append(i)
            clock = max(clock, earliest[i])
            able = [j for j in pressure.execute(i) if waiting[j] == 0]
            for j in self.after[i]:
                earliest[j] = max(earliest[j], clock + self.latency[i])
                waiting[j] -= 1
                if waiting[j] == 0:
                    heapq.heappush(pending, (earliest[j], j))
                    heapq.heappush(program, j)
                    able.append(j)
            for j in able:
                if pressure.change[j] < 0:
                    heapq.heappush(freeing, (pressure.change[j], -self.height[j], j))
            clock += issue_interval
        return order


class _Pressure:
    """Values of a block that are live, and by how many each of its instructions that has yet to execute changes that:
    less with time, as others read for the last but one time what it reads."""

    def __init__(self, body: list[Instr], reads: list[list[Reg]], live_out: int) -> None:
        self.reads = [[reg for reg in dict.fromkeys(operands) if reg.type is not Type.PRED] for operands in reads]
        self.live_out = live_out
        self.readers: dict[Reg, set[int]] = {}
        incoming, inside = live_out, 0
        for i, (instr, operands) in enumerate(zip(body, self.reads, strict=True)):
            for reg in operands:
                self.readers.setdefault(reg, set()).add(i)
                incoming |= 1 << reg.id
            for dst in instr.dsts:
                inside |= 1 << dst.id
        self.live = (incoming & ~inside).bit_count()
        self.change = [
            sum(dst.type is not Type.PRED and (dst in self.readers or self._kept(dst)) for dst in instr.dsts)
            for instr in body
        ]
        for reg in self.readers:
            self._ends(reg)

    def _kept(self, reg: Reg) -> bool:
        return bool(self.live_out >> reg.id & 1)

    def _ends(self, reg: Reg) -> int | None:
        """The instruction that alone has yet to read a value, and ends it."""
        if len(self.readers[reg]) > 1 or self._kept(reg):
            return None
        (last,) = self.readers[reg]
        self.change[last] -= 1
        return last

    def execute(self, i: int) -> list[int]:
        """Instruction i executes; returns those that now end one more value."""
        self.live += self.change[i]
        ended = []
        for reg in self.reads[i]:
            self.readers[reg].discard(i)
            if self.readers[reg] and (last := self._ends(reg)) is not None:
                ended.append(last)
        return ended
