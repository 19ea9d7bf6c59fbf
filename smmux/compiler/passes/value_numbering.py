"""Value numbering over the dominator tree: folding, copy propagation and common subexpressions in one walk.

Operations are shared wherever a dominating block computed them. Loads are shared within a block, until a store that may
alias, in any thread of a warp, or a fence intervenes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from smmux.compiler.analysis.affine import AddressAnalysis
from smmux.compiler.analysis.fold import simplify
from smmux.compiler.analysis.fold64 import RESULT, Part, simplify_wide
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.compiler.analysis.ops import COMMUTATIVE, COMMUTATIVE_WIDE, FENCES, is_load, is_pure, is_store
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg

__all__ = ["number_values"]

REMEMBERED_LOADS = 64
"""Loads of a block that later ones are compared with [EST]: keeps the pass linear in the length of a block. With fewer,
a load far below an equal one is executed again. No shipped kernel changes with 32, nor without a limit."""

FOLDING_STEPS = 4
"""Times that the outcome of folding one operation is folded again [EST]. Few rules lead to another one; a larger number
only guards against more of them, a smaller one leaves an operation that could be cheaper."""


def number_values(function: Function) -> None:
    """Simplify every operation and compute each value once."""
    graph = Graph(function)
    _Numbering(function, graph).run()


class _Numbering:
    def __init__(self, function: Function, graph: Graph) -> None:
        self.function, self.graph = function, graph
        self.defs: dict[Reg, Instr] = {}
        self.same: dict[Reg, Operand] = {}
        self.table: dict[Hashable, Any] = {}
        """What an operation on these sources gives: a value, or both words of one."""
        self.warp = WarpOrder(AddressAnalysis(self.defs))

    def run(self) -> None:
        """Number the values of every block; those of the blocks that dominate it are known."""
        for block in self.graph.scopes(self.table):
            self._block(block)
        for block in self.graph.order:
            for instr in block.instrs:
                if not isinstance(instr, Phi):
                    break
                instr.srcs = tuple(self._find(src) for src in instr.srcs)

    def _find(self, operand: Operand) -> Operand:
        while isinstance(operand, Reg) and operand in self.same:
            operand = self.same[operand]
        return operand

    def _block(self, block: Block) -> None:
        same = self.same
        kept: list[Instr] = []
        loads: dict[Hashable, Instr] = {}
        for instr in block.instrs:
            for src in instr.srcs:
                if isinstance(src, Reg) and src in same:
                    instr.srcs = tuple(map(self._find, instr.srcs))
                    break
            if instr.guard is not None and not self._guard(instr):
                continue
            if isinstance(instr, Phi):
                keep = self._phi(block, instr)
            elif is_pure(instr.op) and instr.guard is None:
                keep = self._operation(instr, kept)
            elif instr.mem is not None or instr.op in FENCES:
                keep = self._memory(instr, loads)
            else:
                keep = True
            if keep:
                kept.append(instr)
                for dst in instr.dsts:
                    self.defs[dst] = instr
        block.instrs = kept

    def _guard(self, instr: Instr) -> bool:
        """Resolve the guard; False if the instruction never executes."""
        assert instr.guard is not None
        guard = self._find(instr.guard)
        if isinstance(guard, Reg):
            definition = self.defs.get(guard)
            if definition is not None and definition.op == "not.pred" and isinstance(definition.srcs[0], Reg):
                guard, instr.guard_not = definition.srcs[0], not instr.guard_not
            instr.guard = guard
            return True
        assert isinstance(guard, Imm)
        executes = bool(guard.bits) != instr.guard_not
        instr.guard, instr.guard_not = None, False
        if not executes:
            for dst in instr.dsts:
                self.same[dst] = Imm(0, dst.type)
        return executes

    def _phi(self, block: Block, phi: Phi) -> bool:
        others = {_key(src) for src in phi.srcs if src is not phi.dsts[0]}
        if len(others) == 1 and self._available(phi):
            self.same[phi.dsts[0]] = next(src for src in phi.srcs if src is not phi.dsts[0])
            return False
        return self._share(("phi", id(block), *map(_key, phi.srcs)), phi)

    def _available(self, phi: Phi) -> bool:
        """Whether a phi's one source is already numbered: a value of a back edge may still turn out to be another."""
        source = next(src for src in phi.srcs if src is not phi.dsts[0])
        return not isinstance(source, Reg) or source in self.defs

    def _operation(self, instr: Instr, kept: list[Instr]) -> bool:
        if instr.op == "mad.lo.s32":
            self._split(instr, kept)
        if len(instr.dsts) > 1:
            return self._wide(instr, kept)
        dst = instr.dsts[0]
        if not instr.attrs:
            _order(instr)
            for _ in range(FOLDING_STEPS):
                simpler = simplify(instr.op, instr.srcs, dst.type, self.defs)
                if simpler is None:
                    break
                if not isinstance(simpler, tuple):
                    self.same[dst] = simpler
                    return False
                instr.op, instr.srcs = simpler
                _order(instr)
        attrs = tuple(sorted(instr.attrs.items())) if instr.attrs else ()
        return self._share((instr.op, attrs, *map(_key, instr.srcs)), instr)

    def _split(self, instr: Instr, kept: list[Instr]) -> None:
        """Take a multiply-add apart, since product or sum may be shared, shifted or folded; `contract` joins the rest
        again."""
        a, b, c = instr.srcs
        product = Instr("mul.lo.s32", (self.function.reg(instr.dsts[0].type),), (a, b), instr.loc)
        if self._operation(product, kept):
            kept.append(product)
            self.defs[product.dsts[0]] = product
        instr.op, instr.srcs = "add.s32", (self._find(product.dsts[0]), c)

    def _wide(self, instr: Instr, kept: list[Instr]) -> bool:
        """Number an operation with two words as result."""
        low, high = instr.dsts
        _order(instr)
        for _ in range(FOLDING_STEPS):
            simpler = simplify_wide(instr.op, instr.srcs, self.defs)
            if simpler is None:
                break
            if not isinstance(simpler[0], str):
                first, second = simpler
                self._part(low, first, instr, kept)
                self._part(high, second, instr, kept)
                return False
            instr.op, instr.srcs = simpler
            _order(instr)
        key = (instr.op, *map(_key, instr.srcs))
        known = self.table.get(key)
        if known is not None:
            self.same[low], self.same[high] = known
            return False
        self.table[key] = low, high
        return True

    def _part(self, dst: Reg, part: Part, instr: Instr, kept: list[Instr]) -> None:
        """Let a word of a result be what stands for it."""
        if not isinstance(part, tuple):
            self.same[dst] = part
            return
        op, srcs = part
        own = Instr(op, (dst,), tuple(self._find(instr.dsts[0]) if s is RESULT else s for s in srcs), instr.loc)
        if self._operation(own, kept):
            kept.append(own)
            self.defs[dst] = own

    def _share(self, key: Hashable, instr: Instr) -> bool:
        known = self.table.get(key)
        if known is not None:
            self.same[instr.dsts[0]] = known
            return False
        self.table[key] = instr.dsts[0]
        return True

    def _memory(self, instr: Instr, loads: dict[Hashable, Instr]) -> bool:
        if instr.op in FENCES:
            loads.clear()
        elif is_store(instr):
            self._narrow(instr)
            for key in self.warp.touched(instr, loads.items()):
                del loads[key]
        elif is_load(instr):
            key = (instr.op, instr.mem, _key(instr.srcs[0]), instr.guard, instr.guard_not)
            known = loads.get(key)
            if known is not None:
                self.same.update(zip(instr.dsts, known.dsts, strict=True))
                return False
            if len(loads) >= REMEMBERED_LOADS:
                del loads[next(iter(loads))]
            loads[key] = instr
        return True

    def _narrow(self, instr: Instr) -> None:
        """Let a store of a byte or half word skip operations that only change bits which it does not store."""
        mem = instr.mem
        assert mem is not None
        while mem.width < 4 and isinstance(instr.srcs[1], Reg):
            definition = self.defs.get(instr.srcs[1])
            if definition is None or definition.guard is not None or not _keeps_low(definition, 8 * mem.width):
                return
            instr.srcs = (instr.srcs[0], definition.srcs[0])


def _keeps_low(instr: Instr, width: int) -> bool:
    """Whether the result has the same low `width` bits as the first source."""
    if instr.op == "and.b32":
        mask = instr.srcs[1]
        return isinstance(mask, Imm) and mask.bits & ((1 << width) - 1) == (1 << width) - 1
    kept = {"cvt.s32.s8": 8, "cvt.u32.u8": 8, "cvt.s32.s16": 16, "cvt.u32.u16": 16}
    return kept.get(instr.op, 0) >= width


def _key(operand: Operand) -> Hashable:
    return operand.bits if isinstance(operand, Imm) else operand


def _order(instr: Instr) -> None:
    """Sources of a commutative operation in one order, so that equal ones look equal."""
    if len(instr.srcs) == 4 and instr.op in COMMUTATIVE_WIDE and _ranks(instr.srcs[:2]) > _ranks(instr.srcs[2:]):
        instr.srcs = (*instr.srcs[2:], *instr.srcs[:2])
    if instr.op in COMMUTATIVE and _rank(instr.srcs[0]) > _rank(instr.srcs[1]):
        instr.srcs = (instr.srcs[1], instr.srcs[0])


def _ranks(words: tuple[Operand, ...]) -> tuple[bool, int, int]:
    """Order of pairs: those with a constant high word are last."""
    low, high = words
    return isinstance(low, Imm) and isinstance(high, Imm), _rank(low), _rank(high)


def _rank(operand: Operand) -> int:
    """Order of the sources of commutative operations: registers by age, then uniforms, constants last."""
    if isinstance(operand, Reg):
        return operand.id
    return 1 << 62 if isinstance(operand, Imm) else 1 << 61
