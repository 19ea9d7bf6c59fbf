"""Ranges of integers at places of a function in SSA form: from operations, loops and the conditions that dominate.

A value is taken apart by `AddressAnalysis.affine`, so that what a condition says of `i` also tells of `i - 1`. A
counter's range is guessed from its start and from what the end of the loop lets through, and kept if an iteration does
not leave it. An access tells of its index too: where execution goes on behind it, the index was within the array.
"""

from __future__ import annotations

from collections.abc import Iterable

from smmux.compiler.analysis.affine import AddressAnalysis, Affine, Atom, signed
from smmux.compiler.analysis.conditions import Conditions, Fact, Terms
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.operation_ranges import (
    FULL,
    MAX,
    MIN,
    Range,
    allowed,
    fits,
    hull,
    narrow,
    of_operation,
    of_parameter,
    of_special,
)
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.index import Index
from smmux.compiler.ir import Block, ConstWord, Function, Imm, Instr, Operand, Param, Reg, Special
from smmux.compiler.launch_facts import Facts

__all__ = ["Ranges"]

MAX_DEPTH = 40
"""Operations that a range is followed through [EST]: indices have a few. A smaller number takes longer ones for
unknown; a larger one needs more of Python's stack, several frames a level."""

DEEP = 12
"""Levels from which on phis that follow phis are taken together [EST]: variables that many branches may set."""

MAX_WORK = 50_000
"""Ranges that are worked out for one function [EST], which bounds the time that loops within loops take. Beyond it
ranges are unknown, and indices get the operations that make them safe."""

MAX_SUM = 4
"""Terms of a sum whose bounds say something of each [EST]: a row, a column and what is added to them."""


class Ranges:
    """The ranges of one function, on demand."""

    def __init__(self, function: Function, facts: Facts) -> None:
        self.function, self.known = function, facts
        self.graph = Graph(function)
        self.defs = {dst: instr for block in self.graph.order for instr in block.instrs for dst in instr.dsts}
        self.home = {instr: block for block in self.graph.order for instr in block.instrs if isinstance(instr, Phi)}
        self.forms = AddressAnalysis(self.defs)
        self.conditions = Conditions(self.defs, self.forms, self.graph)
        self.assumed: dict[Instr, Range] = {}
        self.memo: dict[object, Range] = {}
        self.depth = self.work = 0
        self.plain = False  # while a part of a sum is asked for, whose sums are not asked in turn
        self.used: dict[Instr, None] = {}  # accesses whose success has told something
        self._number_tree()
        self.facts: dict[Terms, list[tuple[Block, bool, Fact]]] = {}
        self.sums: dict[Atom, list[tuple[Block, bool, Fact]]] = {}  # those of sums that an atom is part of
        self.asked: set[Fact] = set()
        for block in self.graph.order:
            preds = self.graph.preds[block]
            if len(preds) == 1:
                for terms, fact in self.conditions.on_edge(preds[0], block):
                    self._note(terms, block, False, fact)
            for instr in block.instrs:
                if instr.op == "assume":
                    for terms, fact in self.conditions.stated(instr.srcs[0], True, block, False):
                        self._note(terms, block, False, fact)

    def _number_tree(self) -> None:
        """Number the dominator tree, so that one comparison tells whether a block dominates another."""
        self.enter: dict[Block, int] = {}
        self.leave: dict[Block, int] = {}
        stack, clock = [(self.graph.entry, False)], 0
        while stack:
            block, done = stack.pop()
            clock += 1
            if done:
                self.leave[block] = clock
                continue
            self.enter[block] = clock
            stack.append((block, True))
            stack.extend((child, False) for child in self.graph.children[block])

    def learn(self, index: Index, axis: int, last: int, block: Block, access: Instr) -> None:
        """Note that an index was within its array, whose last element is told, where execution goes on behind a
        block with an access."""
        form = self.forms.affine(index.srcs[axis])
        if any(at is block for at, behind, _ in self.facts.get(form.terms, ()) if behind):
            return  # another access of the block says as much
        fact = Fact(form.terms, form.constant, "in", "", None, block, accessed=(index, axis, last, access))
        self._note(form.terms, block, True, fact)

    def _note(self, terms: Terms, block: Block, behind: bool, fact: Fact) -> None:
        self.facts.setdefault(terms, []).append((block, behind, fact))
        if 1 < len(terms) <= MAX_SUM:
            for atom, factor in terms:
                if factor in (1, -1 & 0xFFFFFFFF):
                    self.sums.setdefault(atom, []).append((block, behind, fact))

    # -- values

    def of(self, operand: Operand, block: Block, end: bool = False) -> Range:
        """The signed value of an operand where a block begins, or at its end."""
        return self._form(self.forms.affine(operand), block, end)

    def _form(self, form: Affine, block: Block, end: bool) -> Range:
        constant = signed(form.constant)
        if not form.terms:
            return constant, constant
        key = (form, block, end, self.plain)
        known = self.memo.get(key)
        if known is None:
            if self.depth > MAX_DEPTH or self.work > MAX_WORK:
                return FULL
            self.depth += 1
            self.work += 1
            known = self.memo[key] = self._asked(form, constant, block, end)
            self.depth -= 1
        return known

    def _asked(self, form: Affine, constant: int, block: Block, end: bool) -> Range:
        low, high = self._sum(form.terms, block, end)
        found = (low + constant, high + constant)
        found = found if fits(found) else FULL
        if found[0] < 0 and len(form.terms) > 1:
            found = self._by_cases(form, block, end, found)
        facts = self._holding(self.facts.get(form.terms, ()), block, end)
        if len(form.terms) == 1 and form.terms[0][1] == 1 and not self.plain:
            facts += self._holding(self.sums.get(form.terms[0][0], ()), block, end)
        for fact in facts * 2:  # what one says may let another one say more
            before, found = found, self._narrowed(found, form, fact)
            if fact.accessed is not None and found != before:
                self.used[fact.accessed[3]] = None
        return found

    def _by_cases(self, form: Affine, block: Block, end: bool, found: Range) -> Range:
        """A sum with a product of a number and a choice of 1 or 0: the sums with the number and without it."""
        for atom, coefficient in form.terms:
            product = self.defs.get(atom) if isinstance(atom, Reg) else None
            if product is None or product.op != "mul.lo.s32" or product.guard is not None:
                continue
            for choice, number in (product.srcs, product.srcs[::-1]):
                chosen = self.defs.get(choice) if isinstance(choice, Reg) else None
                if chosen is None or chosen.op != "selp.b32":
                    continue
                sides = [source.bits if isinstance(source, Imm) else None for source in chosen.srcs[:2]]
                if sides == [1, 0]:
                    without = Affine(form.constant, tuple(term for term in form.terms if term[0] != atom))
                    cases = (without.plus(self.forms.affine(number), coefficient), True), (without, False)
                    return hull(*(self._case(case, chosen.srcs[2], truth, block, end) for case, truth in cases))
        return found

    def _case(self, form: Affine, condition: Operand, truth: bool, block: Block, end: bool) -> Range:
        """A form where a predicate is true, or false."""
        found = self._form(form, block, end)
        factors = dict(form.terms)
        for terms, fact in self.conditions.stated(condition, truth, block, end):
            scale = signed(factors.get(terms[0][0], 0)) // (signed(terms[0][1]) or 1)
            scaled = Affine(0, terms).times(scale)
            if scale < 1 or any(factors.get(atom) != factor for atom, factor in scaled.terms):
                continue
            unit, rest = Affine(0, terms), form.plus(scaled, -1)
            parts = self._narrowed(self._form(unit, block, end), unit, fact), self._form(rest, block, end)
            low, high = (scale * part + other for part, other in zip(*parts, strict=True))
            if fits((low, high)):
                found = max(low, found[0]), min(high, found[1])
        return found

    def _holding(self, facts: Iterable[tuple[Block, bool, Fact]], block: Block, end: bool) -> list[Fact]:
        """Those that hold in a block."""
        first, last = self.enter[block], self.leave
        return [
            fact
            for at, behind, fact in facts
            if ((end or not behind) if at is block else self.enter[at] < first < last[at])
        ]

    def _narrowed(self, found: Range, form: Affine, fact: Fact) -> Range:
        """The range of a form by a fact about its terms, or about a sum that they are part of."""
        if fact in self.asked:
            return found
        self.asked.add(fact)
        limits = FULL
        if fact.other is not None and fact.minus is not None:
            a, b = (self.of(side, fact.at, fact.end) for side in (fact.minus, fact.other))
            exact = a[0] - b[1], a[1] - b[0]
            low, high = allowed(fact.relation, "s32", (0, 0))
            limits = (max(exact[0], low), min(exact[1], high)) if fits(exact) else FULL
        elif fact.other is not None:
            other, type = self.of(fact.other, fact.at, fact.end), fact.type
            moved = found[0] - signed((form.constant - fact.constant) & 0xFFFFFFFF)
            if fact.terms == form.terms and 0 <= moved and other[0] >= 0:
                type = "s32"  # as numbers without sign
            limits = allowed(fact.relation, type, other)
        elif fact.accessed is not None:
            limits = self._within(*fact.accessed[:3], fact.at)
        if fact.terms != form.terms:
            limits = self._part(limits, form, fact)
        self.asked.discard(fact)
        return narrow(found, form.constant, limits, fact.constant if fact.terms == form.terms else 0)

    def _within(self, index: Index, axis: int, last: int, block: Block) -> Range:
        """The range of an index of an access inside its array: as far as the other indices leave room."""
        room = last
        for k, other in enumerate(index.axes):
            if k != axis:
                low = self.of(index.srcs[k], block)[0]
                if low < 0 and other.signed:
                    low = min(0, low + self.of(index.extent(k), block)[0])
                room -= low * other.stride
        room -= sum(self.of(base, block)[0] for base in index.bases)
        extent = self.of(index.extent(axis), block)[1]
        return (-extent - last if index.axes[axis].signed else 0), room // index.axes[axis].stride

    def _part(self, limits: Range, form: Affine, fact: Fact) -> Range:
        """The limits of one atom of a sum, which the others leave to it."""
        atom = form.terms[0][0]
        rest = Affine(fact.constant, tuple(term for term in fact.terms if term[0] != atom))
        sign = signed(next(factor for other, factor in fact.terms if other == atom))
        self.plain = True
        low, high = self._form(rest, fact.at, fact.end)
        self.plain = False
        least, most = sorted((sign * (limits[0] - high), sign * (limits[1] - low)))
        return (least, most) if fits((least, most)) else FULL

    def _sum(self, terms: Terms, block: Block, end: bool) -> Range:
        key = (terms, block, end, self.plain)
        known = self.memo.get(key)
        if known is None:
            low = high = 0
            for atom, coefficient in terms:
                factor = signed(coefficient)
                a, b = (factor * bound for bound in self._atom(atom, block, end, len(terms) > 1 or factor != 1))
                low, high = low + min(a, b), high + max(a, b)
            known = self.memo[key] = low, high
        return known

    def _atom(self, atom: Atom, block: Block, end: bool, refine: bool) -> Range:
        """An atom; refine: with what is known of it alone, which is not asked again if it is the whole form."""
        if refine:
            return self._form(Affine(0, ((atom, 1),)), block, end)
        if isinstance(atom, Special):
            return of_special(atom.name, self.known)
        if isinstance(atom, ConstWord):
            word = int.from_bytes(self.function.const[atom.offset : atom.offset + 4], "little")
            return signed(word), signed(word)
        if isinstance(atom, Param):
            return of_parameter(atom.word, self.function, self.known)
        instr = self.defs.get(atom)
        if instr is None or instr.guard is not None:
            return FULL
        if isinstance(instr, Phi):
            return self._phi(instr)
        if instr.op == "selp.b32":
            return self._selection(instr, block, end)
        return of_operation(instr, lambda src: self.of(src, block, end), self.function)

    def _selection(self, instr: Instr, block: Block, end: bool) -> Range:
        """Either source, with what the predicate says where it is taken."""
        told = self.defs.get(instr.srcs[2]) if isinstance(instr.srcs[2], Reg) else None
        if told is not None and told.op == "setp.eq.s32":
            (a, b), (c, d) = (self.of(source, block, end) for source in told.srcs)
            if a == b == c == d:
                return self.of(instr.srcs[0], block, end)
        sides = []
        for source, truth in ((instr.srcs[0], True), (instr.srcs[1], False)):
            form, found = self.forms.affine(source), self.of(source, block, end)
            for terms, fact in self.conditions.stated(instr.srcs[2], truth, block, end):
                if terms == form.terms:
                    found = self._narrowed(found, form, fact)
            sides.append(found)
        yes, no = (self.defs.get(source) if isinstance(source, Reg) else None for source in instr.srcs[:2])
        if no is not None and yes is not None and no.op == "rem.s32":  # Python's remainder has the divisor's sign
            divisor = self.of(no.srcs[1], block, end)
            moved = self.forms.affine(instr.srcs[0]).plus(self.forms.affine(instr.srcs[1]), -1)
            if divisor[0] > 0 and moved == self.forms.affine(no.srcs[1]):
                return 0, divisor[1] - 1
        return hull(*sides)

    # -- loops

    def _phi(self, phi: Phi) -> Range:
        known = self.assumed.get(phi) or self.memo.get(phi)
        if known is None:
            known = self.memo[phi] = self._merged(phi) if self.depth < DEEP else self._gathered(phi)
        return known

    def _gathered(self, phi: Phi) -> Range:
        """The hull of all that reaches a phi through others. Conditions between these are not asked."""
        group: dict[Instr, None] = {phi: None}
        leaves: dict[tuple[Operand, Block], None] = {}
        work = [phi]
        while work:
            member = work.pop()
            for source, pred in zip(member.srcs, member.preds, strict=True):
                instr = self.defs.get(source) if isinstance(source, Reg) else None
                if isinstance(instr, Phi):
                    if instr not in group:
                        group[instr] = None
                        work.append(instr)
                else:
                    leaves[source, pred] = None
        inside = {member.dsts[0] for member in group}
        known = {place: self.of(*place, True) for place in leaves if not self._uses(place[0], inside)}
        low, high = hull(*known.values()) if known else FULL
        for guess in ((low, high), (low, MAX), (MIN, high), FULL):
            outer, self.memo = self.memo, {}
            before = {member: self.assumed.get(member) for member in group}
            self.assumed.update(dict.fromkeys(group, guess))
            found = hull(*(self.of(*place, True) for place in leaves))
            for assumed, old in before.items():
                if old is None:
                    del self.assumed[assumed]
                else:
                    self.assumed[assumed] = old
            self.memo = outer
            if guess[0] <= found[0] and found[1] <= guess[1]:
                return hull((low, high), found) if known else found
        return FULL

    def _uses(self, operand: Operand, registers: set[Reg]) -> bool:
        """Whether a value is made of some registers, at sight."""
        instr = self.defs.get(operand) if isinstance(operand, Reg) else None
        atoms = {atom for atom, _ in self.forms.affine(operand).terms}
        return bool(registers & (atoms | set(instr.srcs if instr else ())))

    def _merged(self, phi: Phi) -> Range:
        block = self.home[phi]
        place = self.graph.index[block]
        back = [pred for pred in phi.preds if self.graph.index[pred] >= place]
        self.assumed[phi] = FULL  # what a cycle that is no natural loop sees
        start = [self._arriving(phi, pred) for pred in phi.preds if pred not in back]
        del self.assumed[phi]
        if not back:
            return hull(*start)
        low, high = hull(*start) if start else FULL
        for guess in ((low, high), (low, MAX), (MIN, high)):
            found = self._around(phi, back, guess)
            if guess[0] <= found[0] and found[1] <= guess[1]:
                return hull((low, high), found)
            tighter = (min(low, found[0]) if guess[0] == MIN else low, max(high, found[1]) if guess[1] == MAX else high)
            if tighter != guess:
                found = self._around(phi, back, tighter)
                if tighter[0] <= found[0] and found[1] <= tighter[1]:
                    return hull((low, high), found)
        return hull((low, high), self._around(phi, back, FULL))

    def _around(self, phi: Phi, back: list[Block], guess: Range) -> Range:
        """What comes round the loop if the phi is in a range. Nothing that was found under this assumption is kept."""
        outer, self.memo = self.memo, {}
        self.assumed[phi] = guess
        found = hull(*(self._arriving(phi, pred) for pred in back))
        del self.assumed[phi]
        self.memo = outer
        return found

    def _arriving(self, phi: Phi, pred: Block) -> Range:
        """The source of a phi on the edge from a predecessor."""
        source = phi.source(pred)
        form, found = self.forms.affine(source), self.of(source, pred, True)
        for terms, fact in self.conditions.on_edge(pred, self.home[phi]):
            if terms == form.terms:
                found = self._narrowed(found, form, fact)
        return found
