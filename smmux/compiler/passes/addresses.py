"""Lowering of memory accesses: element index and array to a byte address in a register and a constant offset.

Constants inside an index move to the offset of the instruction, and accesses whose addresses differ by a constant share
the register of the first that dominates them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from smmux.compiler.analysis.affine import AddressAnalysis
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.ir import ANYWHERE, Function, Imm, Instr, Operand, Param, Reg, Space, Storage, Type

__all__ = ["base_operand", "lower_addresses"]

MASK = 0xFFFFFFFF


def base_operand(array: Storage) -> Operand | None:
    """The operand with the address of a global array's first element; None in a segment, where arrays have fixed
    places, and for an access that names no array."""
    if array.space in (Space.GLOBAL, Space.TEXTURE) and array != ANYWHERE:
        return Param(array.param, Type.U32, array.name)
    return None


def lower_addresses(function: Function) -> None:
    """Give every access that still has an element index its byte address."""
    _Lowering(function).run()


class _Lowering:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.graph = Graph(function)
        self.defs = {dst: instr for instr in function.instrs() for dst in instr.dsts}
        self.analysis = AddressAnalysis(self.defs)
        self.known: dict[Hashable, Operand] = {}
        self.stems: dict[Reg, Operand] = {}
        self.behind: dict[Instr, list[Instr]] = {}

    def run(self) -> None:
        """Lower every access; addresses that dominating blocks have computed are known."""
        for block in self.graph.scopes(self.known):
            out: list[Instr] = []
            for instr in block.instrs:
                if instr.mem is not None and not instr.mem.lowered:
                    self._lower(instr, out)
                out.append(instr)
            block.instrs = out
        self._place_stems()

    def _lower(self, instr: Instr, out: list[Instr]) -> None:
        mem = instr.mem
        assert mem is not None
        form = self.analysis.byte_offset(instr)
        base = base_operand(mem.array)
        address: Operand = base or Imm(0, Type.U32)
        if form.terms:
            key = (base, form.terms)
            if key not in self.known:
                self.known[key] = self._address(instr, mem.array, base, out)
            address = self.known[key]
        instr.srcs = (address, *instr.srcs[1:])
        instr.mem = replace(mem, offset=form.constant & MASK, lowered=True)

    def _address(self, instr: Instr, array: Storage, base: Operand | None, out: list[Instr]) -> Operand:
        """The byte address: base + element size * (index without its constant)."""
        address = self._stem(instr.srcs[0])
        if array.element > 1:
            shift = Imm(array.element.bit_length() - 1, Type.U32)
            address = self._append("shl.b32", (address, shift), instr, out)
        return address if base is None else self._append("add.s32", (address, base), instr, out)

    def _append(self, op: str, srcs: tuple[Operand, ...], like: Instr, out: list[Instr]) -> Reg:
        reg = self.function.reg(Type.U32)
        instr = Instr(op, (reg,), srcs, like.loc)
        out.append(instr)
        self.defs[reg] = instr
        return reg

    # -- indices without their constants

    def _stem(self, operand: Operand) -> Operand:
        """An operand minus the constant of its form; new operations stand directly behind those that they derive
        from."""
        if isinstance(operand, Imm):
            return Imm(0, operand.type)
        if not isinstance(operand, Reg) or not self.analysis.affine(operand).constant:
            return operand
        work = [operand]
        while work:
            reg = work[-1]
            waiting = [
                src
                for src in self.defs[reg].srcs
                if isinstance(src, Reg) and src not in self.stems and self.analysis.affine(src).constant
            ]
            if waiting:
                work.extend(waiting)
                continue
            self.stems[reg] = self._strip(reg)
            work.pop()
        return self.stems[operand]

    def _strip(self, reg: Reg) -> Operand:
        instr = self.defs[reg]
        srcs = tuple(self._known_stem(src) for src in instr.srcs)
        if instr.op in ("add.s32", "or.b32"):
            rest = [src for src in srcs if not (isinstance(src, Imm) and src.bits == 0)]
            if len(rest) == 1:
                return rest[0]
            return self._behind(instr, "add.s32", srcs)
        if instr.op in ("mul.lo.s32", "mad.lo.s32", "shl.b32"):
            factor = 0 if instr.op != "shl.b32" and not self.analysis.affine(instr.srcs[0]).terms else 1
            srcs = tuple(instr.srcs[i] if i == factor else src for i, src in enumerate(srcs))
        elif instr.op == "mov.b32":
            return srcs[0]
        return self._behind(instr, instr.op, srcs)

    def _known_stem(self, src: Operand) -> Operand:
        if isinstance(src, Imm):
            return Imm(0, src.type)
        return self.stems.get(src, src) if isinstance(src, Reg) else src

    def _behind(self, instr: Instr, op: str, srcs: tuple[Operand, ...]) -> Reg:
        return self._append(op, srcs, instr, self.behind.setdefault(instr, []))

    def _place_stems(self) -> None:
        if not self.behind:
            return
        for block in self.graph.order:
            if any(instr in self.behind for instr in block.instrs):
                block.instrs = [i for instr in block.instrs for i in (instr, *self.behind.get(instr, ()))]
