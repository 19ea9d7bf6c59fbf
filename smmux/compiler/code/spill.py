"""Spilling: values beyond the register budget live in local memory.

Where more values are live than the budget allows, the ones cheapest to reload (few accesses, outside loops, long
ranges) give up their register: each definition is followed by a store, each use preceded by a load into a register
that lives for that instruction alone.
"""

from __future__ import annotations

import heapq

from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.ops import copy_of, move
from smmux.compiler.code.coalesce import Classes
from smmux.compiler.ir import Function, Imm, Instr, Mem, Operand, Reg, Space, Storage, Type

__all__ = ["Spiller"]

WORD = 4
LOOP_WEIGHT = 10
"""Trip count that a loop is assumed to have, for the cost of an access within it [EST]: the customary guess of register
allocators since Chaitin. With a smaller one, values of inner loops are spilled sooner."""


class Spiller:
    """The choice of values to spill, and the rewriting of their accesses, over as many rounds as allocation needs."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.temporary: set[int] = set()

    def choose(self, classes: Classes, graph: Graph, budget: int) -> set[int]:
        """Classes to spill so that at most `budget` values are live at any point; empty if that cannot be."""
        cost = self._costs(classes, graph)
        events: list[tuple[int, int, int]] = []  # (point, ends first, class)
        for id, segments in classes.segments.items():
            if classes.regs[id].type is not Type.PRED:
                for start, end, _ in segments:
                    events.append((start, 1, id))
                    events.append((end, 0, id))
        events.sort()
        active: set[int] = set()
        queue: list[tuple[float, int]] = []
        chosen: set[int] = set()
        for _, starts, id in events:
            if id in chosen:
                continue
            if not starts:
                active.discard(id)
                continue
            active.add(id)
            heapq.heappush(queue, (cost[id], id))
            postponed = []
            while len(active) > budget and queue:
                worth, victim = heapq.heappop(queue)
                if victim in active and victim not in chosen:
                    if worth == float("inf"):
                        postponed.append((worth, victim))
                        break
                    chosen.add(victim)
                    active.discard(victim)
            for item in postponed:
                heapq.heappush(queue, item)
        return chosen

    def _costs(self, classes: Classes, graph: Graph) -> dict[int, float]:
        cost = dict.fromkeys(classes.segments, 0.0)
        for block in graph.order:
            weight = float(LOOP_WEIGHT ** min(graph.depth[block], 6))
            for instr in block.instrs:
                for operand in (*instr.srcs, *instr.dsts):
                    if isinstance(operand, Reg):
                        root = classes.find(operand.id)
                        if root in cost:
                            cost[root] += weight
        for id, segments in classes.segments.items():
            length = sum(end - start for start, end, _ in segments)
            cost[id] = cost[id] / length
        for id in self.temporary:
            cost[classes.find(id)] = float("inf")
        return cost

    def rewrite(self, classes: Classes, chosen: set[int]) -> None:
        """Put the chosen classes into local memory, or compute them again where they are constants."""
        function = self.function
        constants = self._constants(classes, chosen)
        slots: dict[int, Storage] = {}
        for id in sorted(chosen - set(constants)):
            offset = -(-function.local_bytes // WORD) * WORD
            slots[id] = Storage(Space.LOCAL, 0, "spill", WORD, 1, offset)
            function.local_bytes = offset + WORD
        for block in function.blocks:
            result: list[Instr] = []
            for instr in block.instrs:
                self._rewrite(instr, classes, slots, constants, result)
            block.instrs = result

    def _constants(self, classes: Classes, chosen: set[int]) -> dict[int, Operand]:
        """Classes that only ever hold one uniform value."""
        held: dict[int, Operand | None] = {}
        for instr in self.function.instrs():
            for dst in instr.dsts:
                root = classes.find(dst.id)
                if root in chosen:
                    source = copy_of(instr)
                    if isinstance(source, Reg) and classes.find(source.id) == root:
                        continue
                    plain = source if source is not None and not isinstance(source, Reg) else None
                    held[root] = plain if held.get(root, plain) == plain else None
        return {root: value for root, value in held.items() if value is not None}

    def _rewrite(
        self, instr: Instr, classes: Classes, slots: dict[int, Storage], constants: dict[int, Operand], out: list[Instr]
    ) -> None:
        if copy_of(instr) is not None:
            source, root = instr.srcs[0], classes.find(instr.dsts[0].id)
            if root in constants or (isinstance(source, Reg) and root in slots and classes.find(source.id) == root):
                return
        loaded: dict[int, Reg] = {}
        srcs: list[Operand] = []
        for src in instr.srcs:
            root = classes.find(src.id) if isinstance(src, Reg) else -1
            if root not in slots and root not in constants:
                srcs.append(src)
                continue
            if root not in loaded:
                assert isinstance(src, Reg)
                loaded[root] = self._reload(src, slots.get(root), constants.get(root), instr, out)
            srcs.append(loaded[root])
        instr.srcs = tuple(srcs)
        dsts: list[Reg] = []
        stores: list[Instr] = []
        for dst in instr.dsts:
            root = classes.find(dst.id)
            if root not in slots:
                dsts.append(dst)
                continue
            reg = self._temporary(dst)
            dsts.append(reg)
            stores.append(
                Instr(
                    "st.local", (), (Imm(0, Type.U32), reg), instr.loc, instr.guard, instr.guard_not, _slot(slots[root])
                )
            )
        instr.dsts = tuple(dsts)
        out.append(instr)
        out.extend(stores)

    def _temporary(self, like: Reg) -> Reg:
        reg = self.function.reg(like.type, like.name)
        self.temporary.add(reg.id)
        return reg

    def _reload(self, reg: Reg, slot: Storage | None, constant: Operand | None, like: Instr, out: list[Instr]) -> Reg:
        temporary = self._temporary(reg)
        if slot is None:
            assert constant is not None
            out.append(move(temporary, constant, like))
        else:
            out.append(Instr("ld.local", (temporary,), (Imm(0, Type.U32),), like.loc, mem=_slot(slot)))
        return temporary


def _slot(array: Storage) -> Mem:
    return Mem(array, WORD, array.offset, lowered=True)
