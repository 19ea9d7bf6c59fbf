"""Strength reduction: in a loop, products and addresses that are affine in its counters are advanced by an add.

A counter is a phi of the header that grows by an invariant step per iteration. An address base + sum of coefficient *
counter + invariants becomes a phi of its own: it starts in the preheader and is advanced at the latch. Accesses whose
addresses differ by a constant share one. Where registers are to be saved, products and addresses of one block that
differ by invariants are a chain instead, each one the one before plus their difference, as ptxas has them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from smmux.compiler.analysis.affine import AddressAnalysis, Affine, signed
from smmux.compiler.analysis.graph import Graph, NaturalLoop
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Imm, Instr, Loc, Operand, Reg, Type
from smmux.compiler.passes.addresses import base_operand
from smmux.compiler.passes.invariant import preheader

__all__ = ["reduce_strength"]

MASK = 0xFFFFFFFF
MAX_ADDRESSES = 24
"""Address registers that one loop may carry [EST]: two fifths of the 63 that a thread has at most on CC 2.x, so that
most are left for values. Accesses beyond it compute their address anew in every iteration. No loop of a shipped kernel
carries more than 12; a larger number matters to loops over many more arrays, and costs a register per address."""


def reduce_strength(function: Function, chained: bool = False) -> None:
    """Reduce products, then addresses, in every loop with one latch; inner loops first. chained: whether to save
    registers by chains."""
    graph = Graph(function)
    defs = {dst: instr for instr in function.instrs() for dst in instr.dsts}
    home = {dst: block for block in graph.order for instr in block.instrs for dst in instr.dsts}
    for loop in graph.loops:
        before = preheader(graph, loop)
        if before is not None and len(loop.latches) == 1 and len(graph.preds[loop.header]) == 2:
            blocks = sorted(loop.blocks, key=graph.index.__getitem__)
            reduction = _Reduction(function, loop, blocks, before, defs, home, chained)
            reduction.products()
            reduction.addresses()


@dataclass(frozen=True, slots=True)
class _Counter:
    start: Affine
    step: Affine


class _Reduction:
    """The reduction of one loop."""

    def __init__(
        self,
        function: Function,
        loop: NaturalLoop,
        blocks: list[Block],
        before: Block,
        defs: dict[Reg, Instr],
        home: dict[Reg, Block],
        chained: bool,
    ) -> None:
        self.function, self.loop, self.blocks, self.before = function, loop, blocks, before
        self.latch = loop.latches[0]
        self.defs, self.home = defs, home
        self.analysis = AddressAnalysis(defs)
        self.counters: dict[Reg, _Counter] = {}
        self.chained = chained
        self.chain: dict[Hashable, tuple[Reg, Affine, int]] = {}
        self.apart: dict[Affine, Operand] = {}
        for phi in phis(loop.header):
            self._find_counter(phi)

    def _find_counter(self, phi: Phi) -> None:
        reg = phi.dsts[0]
        if reg.type in (Type.F32, Type.PRED):
            return
        step = self.analysis.affine(phi.source(self.latch)).plus(Affine(0, ((reg, 1),)), -1)
        if all(self._invariant(atom) for atom, _ in step.terms):
            self.counters[reg] = _Counter(self.analysis.affine(phi.source(self.before)), step)

    def _invariant(self, operand: Operand) -> bool:
        return not isinstance(operand, Reg) or self.home[operand] not in self.loop.blocks

    def _linear(self, form: Affine) -> bool:
        """Whether a form consists of invariants and multiples of counters, at least one."""
        counted = [atom for atom, _ in form.terms if isinstance(atom, Reg) and atom in self.counters]
        return bool(counted) and all(self._invariant(a) or a in self.counters for a, _ in form.terms)

    def _start(self, form: Affine) -> Affine:
        """The form's value before the first iteration."""
        result = Affine(form.constant)
        for atom, coefficient in form.terms:
            counter = self.counters.get(atom) if isinstance(atom, Reg) else None
            result = result.plus(counter.start if counter else Affine(0, ((atom, 1),)), coefficient)
        return result

    def _step(self, form: Affine) -> Affine:
        result = Affine()
        for atom, coefficient in form.terms:
            if isinstance(atom, Reg) and atom in self.counters:
                result = result.plus(self.counters[atom].step, coefficient)
        return result

    # -- products

    def products(self) -> None:
        """Make counters of products of a counter and an invariant, unless that is a power of two."""
        for block in self.blocks:
            for instr in block.instrs:
                if instr.op == "mul.lo.s32" and instr.guard is None:
                    self._product(instr, block)

    def _product(self, instr: Instr, block: Block) -> None:
        for x, y in (instr.srcs, instr.srcs[::-1]):
            form = self.analysis.affine(x)
            if not self._invariant(y) or not self._linear(form) or not self.analysis.affine(y).terms:
                continue
            link = block, y, form.terms
            if self.chained and link in self.chain:
                last, before, _ = self.chain[link]
                apart = form.plus(before, -1).constant
                by = self._multiple(y, apart, instr.loc)
                instr.op, instr.srcs = "add.s32", (last, by)
                self.analysis.forget(instr.dsts[0])
                self.chain[link] = instr.dsts[0], form, 0
                return
            self.chain[link] = instr.dsts[0], form, 0
            start = self._times(self._emit(self._start(form), instr.loc), y, instr.loc)
            step = self._times(self._emit(self._step(form), instr.loc), y, instr.loc)
            reg = self._counter(start, step, instr.loc)
            instr.op, instr.srcs = "mov.b32", (reg,)
            counter = _Counter(self.analysis.affine(start), self.analysis.affine(step))
            self.counters[reg] = self.counters[instr.dsts[0]] = counter
            return

    def _multiple(self, y: Operand, factor: int, loc: Loc | None) -> Operand:
        """A multiple of an invariant, computed once."""
        form = self.analysis.affine(y).times(factor)
        if form not in self.apart:
            self.apart[form] = self._times(Imm(factor, Type.U32), y, loc)
        return self.apart[form]

    def _times(self, x: Operand, y: Operand, loc: Loc | None) -> Operand:
        if isinstance(x, Imm) and x.bits in (0, 1):
            return y if x.bits else x
        return self._append("mul.lo.s32", (x, y), loc)

    # -- addresses

    def addresses(self) -> None:
        """Lower the accesses of this loop whose address is affine in its counters."""
        known: dict[tuple[Operand | None, Affine], tuple[Reg, int]] = {}
        for block in self.blocks:
            links: dict[Instr, Instr] = {}
            self.chain.clear()
            for instr in block.instrs:
                if instr.mem is None or instr.mem.lowered:
                    continue
                form = self.analysis.byte_offset(instr)
                if self._linear(form) and not (self.chained and self._linked(instr, form, block, known, links)):
                    self._access(instr, form, known)
            if links:
                block.instrs = [
                    i for instr in block.instrs for i in ((links[instr], instr) if instr in links else (instr,))
                ]

    def _linked(
        self,
        instr: Instr,
        form: Affine,
        block: Block,
        known: dict[tuple[Operand | None, Affine], tuple[Reg, int]],
        links: dict[Instr, Instr],
    ) -> bool:
        """Lower an access whose address differs by invariants from the one before it in the block, to the sum of
        that and the difference; False where there is none such."""
        mem = instr.mem
        assert mem is not None
        base = base_operand(mem.array)
        counted = tuple(term for term in form.terms if isinstance(term[0], Reg) and term[0] in self.counters)
        link, key = (base, counted), (base, Affine(0, form.terms))
        if key in known:
            self.chain[link] = (known[key][0], form, known[key][1])
            return False
        if link not in self.chain:
            self._access(instr, form, known)
            if key in known:
                self.chain[link] = (known[key][0], form, known[key][1])
            return True
        last, before, constant = self.chain[link]
        apart = Affine(0, form.plus(before, -1).terms)
        if apart.terms:
            if apart not in self.apart:
                self.apart[apart] = self._emit(apart, instr.loc)
            reg = self.function.reg(Type.U32)
            links[instr] = Instr("add.s32", (reg,), (last, self.apart[apart]), instr.loc)
            self.defs[reg], self.home[reg] = links[instr], block
            last = reg
        self.chain[link] = last, form, constant
        instr.srcs = (last, *instr.srcs[1:])
        instr.mem = replace(mem, offset=(form.constant - constant) & MASK, lowered=True)
        return True

    def _access(self, instr: Instr, form: Affine, known: dict[tuple[Operand | None, Affine], tuple[Reg, int]]) -> None:
        mem = instr.mem
        assert mem is not None
        base = base_operand(mem.array)
        key = base, Affine(0, form.terms)
        if key not in known:
            if len(known) >= MAX_ADDRESSES:
                return
            known[key] = self._address(form, base, instr.loc)
        reg, constant = known[key]
        instr.srcs = (reg, *instr.srcs[1:])
        instr.mem = replace(mem, offset=(form.constant - constant) & MASK, lowered=True)

    def _address(self, form: Affine, base: Operand | None, loc: Loc | None) -> tuple[Reg, int]:
        """A new address counter, and the constant part of the form that is not in it."""
        start = self._start(Affine(0, form.terms))
        constant = start.constant
        value = self._emit(Affine(0, start.terms), loc)
        if base is not None:
            value = base if isinstance(value, Imm) else self._append("add.s32", (value, base), loc)
        step = self._emit(self._step(form), loc)
        return self._counter(value, step, loc), -constant & MASK

    # -- code

    def _counter(self, start: Operand, step: Operand, loc: Loc | None) -> Reg:
        """A phi in the header that begins at `start` and grows by `step` at the latch."""
        reg, after = self.function.reg(Type.U32), self.function.reg(Type.U32)
        phi = Phi("phi", (reg,), (start, after), loc, preds=(self.before, self.latch))
        advance = Instr("add.s32", (after,), (reg, step), self.latch.instrs[-1].loc)
        self.loop.header.instrs.insert(0, phi)
        self.latch.instrs.insert(len(self.latch.instrs) - 1, advance)
        self.defs[reg], self.defs[after] = phi, advance
        self.home[reg], self.home[after] = self.loop.header, self.latch
        return reg

    def _emit(self, form: Affine, loc: Loc | None) -> Operand:
        """Compute a form in the preheader: atoms with one coefficient are added up before they are scaled."""
        groups: dict[int, list[Operand]] = {}
        for atom, coefficient in form.terms:
            groups.setdefault(signed(coefficient), []).append(atom)
        total: Operand = Imm(form.constant, Type.U32)
        for coefficient, atoms in sorted(groups.items(), reverse=True):  # what is subtracted comes last
            part: Operand = atoms[0]
            for more in atoms[1:]:
                part = self._append("add.s32", (part, more), loc)
            if abs(coefficient) != 1:
                part = self._append("mul.lo.s32", (part, Imm(abs(coefficient), Type.U32)), loc)
            if coefficient < 0:
                total = self._append("sub.s32", (total, part), loc)
            elif isinstance(total, Imm) and total.bits == 0:
                total = part
            else:
                total = self._append("add.s32", (part, total), loc)
        return total

    def _append(self, op: str, srcs: tuple[Operand, ...], loc: Loc | None) -> Reg:
        reg = self.function.reg(Type.U32)
        instr = Instr(op, (reg,), srcs, loc)
        self.before.instrs.insert(len(self.before.instrs) - 1, instr)
        self.defs[reg], self.home[reg] = instr, self.before
        return reg
