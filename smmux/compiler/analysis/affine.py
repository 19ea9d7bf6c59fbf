"""The one analysis of addresses: an index as a sum of coefficient times value plus a constant, modulo 2^32.

`AddressAnalysis.affine` takes an index apart down to values it cannot look into (atoms). Accesses whose terms agree lie
a constant apart: that is what joins them, lets them share an address register, and shows that they do not overlap.
Alignment and ranges of atoms decide further cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smmux.compiler.ir import ConstWord, Imm, Instr, Operand, Param, Reg, Space, Special, SpecialName, Storage, Type

__all__ = ["UNKNOWN", "AddressAnalysis", "Affine", "Atom", "base_alignment", "overlap", "signed"]

MASK = 0xFFFFFFFF
MAX_TERMS = 8
"""Terms of a sum that is still taken apart; a longer one counts as a value of its own [EST].

It bounds the work on chains of additions, whose forms would grow with their length. Accesses whose addresses have more
terms are neither joined nor told apart. With 4 the code of MC and TP changes; without a limit that of MC, which
then takes up to 8 registers more."""

Atom = Reg | Param | Special | ConstWord


@dataclass(frozen=True, slots=True)
class Affine:
    """constant + sum of coefficient * atom, modulo 2^32; terms are in order of `atom_key`, no coefficient is 0."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """self + factor * other."""
        constant = (self.constant + factor * other.constant) & MASK
        if not other.terms:
            return Affine(constant, self.terms)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = (total.get(atom, 0) + factor * coefficient) & MASK
        return Affine(constant, tuple(sorted(((a, c) for a, c in total.items() if c), key=atom_key)))

    def times(self, factor: int) -> Affine:
        """factor * self."""
        scaled = ((atom, coefficient * factor & MASK) for atom, coefficient in self.terms)
        return Affine(self.constant * factor & MASK, tuple(term for term in scaled if term[1]))


def atom_key(term: tuple[Atom, int]) -> tuple[int, int, str]:
    atom = term[0]
    if isinstance(atom, Reg):
        return 0, atom.id, ""
    if isinstance(atom, Param):
        return 1, atom.word, atom.type.value
    if isinstance(atom, Special):
        return 2, 0, atom.name.value + atom.type.value
    return 3, atom.offset, atom.type.value


def base_alignment(array: Storage) -> int:
    """The bytes to which an array's first element is aligned; shared segments and allocations begin at multiples of
    16."""
    if array.space is Space.GLOBAL:
        return array.align
    return min(16, array.offset & -array.offset or 16)


def signed(value: int) -> int:
    """32 bits as a signed number."""
    return value - (1 << 32) if value >> 31 else value


_RANGES = {
    SpecialName.TID_X: (0, 1023),
    SpecialName.TID_Y: (0, 1023),
    SpecialName.TID_Z: (0, 63),
    SpecialName.LANEID: (0, 31),
    SpecialName.NTID_X: (1, 1024),
    SpecialName.NTID_Y: (1, 1024),
    SpecialName.NTID_Z: (1, 64),
    SpecialName.CTAID_X: (0, (1 << 31) - 2),
    SpecialName.CTAID_Y: (0, 65535),
    SpecialName.CTAID_Z: (0, 65535),
}
"""Values of special registers: limits of the CUDA C Programming Guide, Table 12."""

UNKNOWN = (-(1 << 31), (1 << 31) - 1)
"""Bounds of a value of which nothing is known."""


class AddressAnalysis:
    """Affine forms of registers, on demand and remembered. defs: the one definition of each register."""

    def __init__(self, defs: dict[Reg, Instr]) -> None:
        self.defs = defs
        self._forms: dict[Reg, Affine] = {}
        self._zeros: dict[Atom, int] = {}
        self._bounds: dict[Reg, tuple[int, int]] = {}

    # -- forms

    def affine(self, operand: Operand) -> Affine:
        """The form of an operand."""
        if isinstance(operand, Imm):
            return Affine(operand.bits)
        if not isinstance(operand, Reg):
            return Affine(0, ((_unsigned(operand), 1),))
        form = self._forms.get(operand)
        if form is None:
            self._visit(operand)
            form = self._forms[operand]
        return form

    def forget(self, reg: Reg) -> None:
        """Find the form of a register anew, since its definition has changed."""
        self._forms.pop(reg, None)

    def _visit(self, root: Reg) -> None:
        """Find the forms of `root` and of all that it depends on, sources first, without recursion."""
        work = [root]
        while work:
            reg = work[-1]
            if reg in self._forms:
                work.pop()
                continue
            sources = self._sources(reg)
            waiting = [s for s in sources if isinstance(s, Reg) and s not in self._forms]
            if waiting:
                work.extend(waiting)
                continue
            form = self._combine(reg) if sources else None
            self._forms[reg] = form if form is not None and len(form.terms) <= MAX_TERMS else Affine(0, ((reg, 1),))
            work.pop()

    def _sources(self, reg: Reg) -> tuple[Operand, ...]:
        """Sources that the form of `reg` is made of; empty if it is an atom."""
        instr = self.defs.get(reg)
        if instr is None or instr.guard is not None or reg.type in (Type.F32, Type.PRED):
            return ()
        if instr.op in (
            "mov.b32",
            "add.s32",
            "add.sat.s32",
            "sub.s32",
            "neg.s32",
            "mul.lo.s32",
            "mad.lo.s32",
            "shl.b32",
            "or.b32",
        ):
            return instr.srcs
        return ()

    def _combine(self, reg: Reg) -> Affine | None:
        instr = self.defs[reg]
        forms = [self.affine(src) for src in instr.srcs]
        match instr.op:
            case "mov.b32":
                return forms[0]
            case "add.s32" | "add.sat.s32":  # of a counter, which no one reads once it has reached the end
                return forms[0].plus(forms[1])
            case "sub.s32":
                return forms[0].plus(forms[1], -1)
            case "neg.s32":
                return forms[0].times(-1)
            case "shl.b32":
                count = forms[1]
                return None if count.terms or count.constant > 31 else forms[0].times(1 << count.constant)
            case "or.b32":
                return forms[0].plus(forms[1]) if self._disjoint(forms[0], forms[1]) else None
        product = _product(forms[0], forms[1])
        if product is None or instr.op == "mul.lo.s32":
            return product
        return product.plus(forms[2])

    def _disjoint(self, first: Affine, second: Affine) -> bool:
        """Whether no bit is set in both, so that `or` adds."""
        for low, high in ((first, second), (second, first)):
            bottom, top = self.bounds(low)
            if 0 <= bottom and top < 1 << self.zeros(high):
                return True
        return False

    # -- alignment

    def zeros(self, form: Affine) -> int:
        """Number of low bits known to be 0, at most 32."""
        known = _trailing(form.constant)
        for atom, coefficient in form.terms:
            known = min(known, _trailing(coefficient) + self._atom_zeros(atom))
        return min(known, 32)

    def _atom_zeros(self, atom: Atom) -> int:
        if not isinstance(atom, Reg):
            return 0
        known = self._zeros.get(atom)
        if known is None:
            self._zeros[atom] = 0  # what a cycle sees
            known = self._zeros[atom] = self._definition_zeros(self.defs.get(atom))
        return known

    def _definition_zeros(self, instr: Instr | None) -> int:
        if instr is None or instr.guard is not None:
            return 0
        if instr.op == "and.b32":
            return max(self._operand_zeros(src) for src in instr.srcs)
        if instr.op == "mul.lo.s32":
            return min(32, sum(self._operand_zeros(src) for src in instr.srcs))
        if instr.op == "shl.b32":
            return self._operand_zeros(instr.srcs[0])
        if instr.op == "phi":
            return self._phi_zeros(instr)
        if instr.op in ("selp.b32", "min.s32", "max.s32", "or.b32", "xor.b32"):
            return min(self._operand_zeros(src) for src in instr.srcs[:2])
        return 0

    def _phi_zeros(self, phi: Instr) -> int:
        """The low zero bits of a phi: a counter is as aligned as its start and its step."""
        known = 32
        for src in phi.srcs:
            form = self.affine(src)
            rest = tuple(term for term in form.terms if term[0] is not phi.dsts[0])
            known = min(known, self.zeros(Affine(form.constant, rest)))
        return known

    def _operand_zeros(self, operand: Operand) -> int:
        return self.zeros(self.affine(operand))

    # -- ranges

    def bounds(self, form: Affine) -> tuple[int, int]:
        """Smallest and largest value as a signed number; everything if it may wrap."""
        low = high = signed(form.constant)
        for atom, coefficient in form.terms:
            factor = signed(coefficient)
            a, b = (factor * bound for bound in self._atom_bounds(atom))
            low, high = low + min(a, b), high + max(a, b)
        return (low, high) if UNKNOWN[0] <= low and high <= UNKNOWN[1] else UNKNOWN

    def _atom_bounds(self, atom: Atom) -> tuple[int, int]:
        if isinstance(atom, Special):
            return _RANGES.get(atom.name, UNKNOWN)
        if not isinstance(atom, Reg):
            return UNKNOWN
        known = self._bounds.get(atom)
        if known is None:
            self._bounds[atom] = UNKNOWN  # what a cycle sees
            known = self._bounds[atom] = self._definition_bounds(self.defs.get(atom))
        return known

    def _definition_bounds(self, instr: Instr | None) -> tuple[int, int]:
        if instr is None or instr.guard is not None:
            return UNKNOWN
        constants = [src.bits for src in instr.srcs if isinstance(src, Imm)]
        if instr.op == "and.b32" and constants and not constants[0] >> 31:
            return 0, constants[0]
        if instr.op == "shr.u32" and isinstance(instr.srcs[1], Imm) and constants[0] > 0:
            low, high = self.bounds(self.affine(instr.srcs[0]))
            return (low >> constants[0], high >> constants[0]) if low >= 0 else (0, MASK >> constants[0])
        if instr.op in ("shr.s32", "rem.u32") and isinstance(instr.srcs[1], Imm):
            if instr.op == "rem.u32":
                return (0, constants[0] - 1) if 0 < constants[0] <= 1 << 31 else UNKNOWN
            low, high = self.bounds(self.affine(instr.srcs[0]))
            return low >> min(constants[0], 31), high >> min(constants[0], 31)
        if instr.op == "selp.b32":
            pairs = [self.bounds(self.affine(src)) for src in instr.srcs[:2]]
            return min(low for low, _ in pairs), max(high for _, high in pairs)
        if instr.mem is not None and instr.mem.width == 1 and instr.op.startswith("ld.") and not instr.mem.signed:
            return 0, 255
        return UNKNOWN

    # -- accesses

    def byte_offset(self, instr: Instr) -> Affine:
        """Bytes from the start of the array (global), or of the segment, to what the instruction accesses."""
        mem = instr.mem
        assert mem is not None
        form = self.affine(instr.srcs[0])
        constant = mem.offset
        if not mem.lowered:
            form, constant = form.times(mem.array.element), constant * mem.array.element
            if mem.array.space is not Space.GLOBAL:
                constant += mem.array.offset
        return Affine((form.constant + constant) & MASK, form.terms)

    def may_alias(self, first: Instr, second: Instr, offset: Callable[[Instr], Affine] | None = None) -> bool:
        """Whether two accesses of one thread may touch the same byte. offset: `byte_offset`, or a cached form of it."""
        offset = offset or self.byte_offset
        a, b = first.mem, second.mem
        assert a is not None
        assert b is not None
        if a.array.space is not b.array.space:
            return Space.TEXTURE in (a.array.space, b.array.space) and Space.GLOBAL in (a.array.space, b.array.space)
        if a.array.space is Space.GLOBAL and a.array.index != b.array.index:
            return True
        if a.array.space is not Space.GLOBAL:
            if a.array.dynamic != b.array.dynamic or not overlap(a.array, b.array):
                return False
        one, other = offset(first), offset(second)
        if one.terms == other.terms:
            return -a.width < signed(one.constant - other.constant & MASK) < b.width
        return self._may_overlap(one.plus(other, -1), a.width, b.width)

    def _may_overlap(self, difference: Affine, first: int, second: int) -> bool:
        """Whether first - second, which is not constant, may lie in -first width < difference < second width."""
        step = 1 << self.zeros(Affine(0, difference.terms))
        distance = difference.constant % step
        if distance >= second and step - distance >= first:
            return False
        low, high = self.bounds(difference)
        return not (low >= second or high <= -first)


def overlap(a: Storage, b: Storage) -> bool:
    """Whether two arrays of one segment share bytes (views of one storage do)."""
    return a.offset < b.offset + b.elements * b.element and b.offset < a.offset + a.elements * a.element


def _product(first: Affine, second: Affine) -> Affine | None:
    if not second.terms:
        return first.times(second.constant)
    return second.times(first.constant) if not first.terms else None


def _trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else 32


def _unsigned(atom: Param | Special | ConstWord) -> Atom:
    """An operand as an unsigned one, so that operands with equal bits are equal."""
    if isinstance(atom, Param):
        return Param(atom.word, Type.U32)
    if isinstance(atom, Special):
        return Special(atom.name, Type.S32)
    return ConstWord(atom.offset, Type.U32)
