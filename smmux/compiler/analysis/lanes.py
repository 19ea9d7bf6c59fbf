"""Order among the threads of a warp, which run in lockstep: which of its accesses must not change places.

A warp performs an instruction for all its threads before the next one, and kernels count on it: the last steps of a
reduction read what a neighbour stored a line above. So two accesses, one of them a store, keep their order unless no
thread of the warp touches in the one what any thread touches in the other. `AddressAnalysis.may_alias` speaks of one
thread; what is added here is how far apart an address may lie in two threads. The shape of blocks is not known: two
threads of a warp may have any two values of `threadIdx.x`, or the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from smmux.compiler.analysis.affine import UNKNOWN, AddressAnalysis, Affine, Atom, overlap, signed
from smmux.compiler.ir import Instr, Reg, Space, Special, SpecialName, Storage

__all__ = ["WarpOrder", "may_share", "varies"]

OWN = frozenset({SpecialName.TID_X, SpecialName.TID_Y, SpecialName.TID_Z, SpecialName.LANEID})
"""Special registers in which the threads of a warp differ."""

MAX_STEPS = 200
"""Values of terms that are tried before two accesses count as meeting [EST]. It bounds the time of one question, which
most often takes less than ten; with a larger number no shipped kernel is scheduled differently."""

MASK = 0xFFFFFFFF

Key = TypeVar("Key")

ANY = 1 << 40
"""More multiples of anything than fit between two addresses."""

Term = tuple[int, int, int]
"""A coefficient, with the smallest and the largest value of what it multiplies."""


class WarpOrder:
    """The order of a warp's accesses. analysis: of the addresses of one thread."""

    def __init__(self, analysis: AddressAnalysis) -> None:
        self.analysis = analysis
        self._offsets: dict[Instr, Affine] = {}
        self._kinds: dict[Hashable, int] = {}  # accesses that differ in the constant of their address alone, numbered
        self._accesses: dict[Instr, tuple[int, int]] = {}
        self._known: dict[tuple[int, int, int], bool] = {}

    def offset(self, instr: Instr) -> Affine:
        """The `byte_offset` of an access, whose address does not change from the first question on."""
        found = self._offsets.get(instr)
        if found is None:
            found = self._offsets[instr] = self.analysis.byte_offset(instr)
        return found

    def matters(self, first: Instr, second: Instr) -> bool:
        """Whether threads of one warp may touch the same byte in two accesses."""
        (one, start), (other, end) = self._access(first), self._access(second)
        question = one, other, (start - end) & MASK
        known = self._known.get(question)
        if known is None:
            known = self._known[question] = self._asked(first, second)
        return known

    def touched(self, instr: Instr, others: Iterable[tuple[Key, Instr]]) -> list[Key]:
        """Keys of those of many accesses with which `matters` says yes: what depends on the first one is looked up
        once."""
        one, start = self._access(instr)
        accesses, known = self._accesses, self._known
        found = []
        for key, access in others:
            other, end = accesses.get(access) or self._access(access)
            answer = known.get((one, other, (start - end) & MASK))
            if self.matters(instr, access) if answer is None else answer:
                found.append(key)
        return found

    def _access(self, instr: Instr) -> tuple[int, int]:
        """The kind of an access, and the constant of its address: all that an answer depends on."""
        found = self._accesses.get(instr)
        if found is None:
            mem, form = instr.mem, self.offset(instr)
            assert mem is not None
            kind = self._kinds.setdefault((mem.array, mem.width, form.terms), len(self._kinds))
            found = self._accesses[instr] = kind, form.constant
        return found

    def _asked(self, first: Instr, second: Instr) -> bool:
        if self.analysis.may_alias(first, second, self.offset):
            return True
        a, b = first.mem, second.mem
        assert a is not None
        assert b is not None
        if a.array.space not in (Space.SHARED, Space.GLOBAL) or not may_share(a.array, b.array):
            return False
        one, other = self.offset(first), self.offset(second)
        return self._meet(one.plus(other, -1), other, a.width, b.width)

    def _meet(self, difference: Affine, second: Affine, width: int, other: int) -> bool:
        """Whether what two addresses differ by in one thread, and the second in two threads, may add up to less than
        the widths of the accesses."""
        terms, step = list[Term](), 1 << 32
        varying = [term for term in second.terms if varies(term[0])]
        for spread, (atom, coefficient) in [
            *((0, term) for term in difference.terms),
            *((1, term) for term in varying),
        ]:
            low, high = self.analysis.bounds(Affine(0, ((atom, 1),)))
            if (low, high) == UNKNOWN:
                step = min(step, 1 << self.analysis.zeros(Affine(0, ((atom, coefficient),))))
            else:
                terms.append(_term(signed(coefficient), *((low - high, high - low) if spread else (low, high))))
        return _reaches(signed(difference.constant & MASK), terms, step, -width, other)


def may_share(a: Storage, b: Storage) -> bool:
    """Whether two arrays may have bytes in common."""
    if a.space is Space.GLOBAL or a.space is not b.space:
        return a.space is b.space or {a.space, b.space} == {Space.GLOBAL, Space.TEXTURE}
    return a.dynamic == b.dynamic and overlap(a, b)


def varies(atom: Atom) -> bool:
    """Whether an atom may have different values in two threads of a warp at one time."""
    return isinstance(atom, Reg) or (isinstance(atom, Special) and atom.name in OWN)


def _term(coefficient: int, low: int, high: int) -> Term:
    return (coefficient, low, high) if coefficient > 0 else (-coefficient, -high, -low)


def _reaches(constant: int, terms: list[Term], step: int, below: int, above: int) -> bool:
    """Whether constant + sum of the terms + any multiple of `step` can lie between two limits.

    The terms are tried from the largest coefficient down, for the smaller ones leave few values of it that come close.
    """
    terms = sorted(term for term in terms if term[0] % step)
    rest = [(0, 0)]  # the least and the most that the smaller terms add
    for coefficient, low, high in terms:
        rest.append((rest[-1][0] + coefficient * low, rest[-1][1] + coefficient * high))
    terms.append((step, -ANY, ANY))
    work = [(constant, len(terms))]
    for _ in range(MAX_STEPS):
        if not work:
            return False
        total, left = work.pop()
        if not left:
            return True
        (coefficient, low, high), (least, most) = terms[left - 1], rest[left - 1]
        first = max(low, -((total + most - below - 1) // coefficient))
        last = min(high, (above - 1 - total - least) // coefficient)
        if last - first > MAX_STEPS:
            return True
        work.extend((total + coefficient * value, left - 1) for value in range(first, last + 1))
    return True
