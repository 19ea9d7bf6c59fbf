"""Writes integers as polynomials: continues the affine analysis through products of values and counters of loops.

`AddressAnalysis` takes a value apart as far as coefficients are numbers. Here a product such as
`blockIdx.x * blockDim.x` is a term, too, and a counter is its start plus its step times the number of the iteration. So
an index becomes a sum of products: numbers of blocks, threads and iterations, times what is the same for the whole
launch. Where no polynomial describes a value, Opaque is raised, which says why.
"""

from __future__ import annotations

from collections.abc import Iterator

from smmux.compiler.analysis.affine import Affine, signed
from smmux.compiler.analysis.fold import evaluate
from smmux.compiler.analysis.graph import NaturalLoop
from smmux.compiler.analysis.integer_ranges import Ranges
from smmux.compiler.analysis.operation_ranges import fits
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.index import Index
from smmux.compiler.ir import Block, ConstWord, Imm, Instr, Operand, Param, Reg, Special, SpecialName, Type
from smmux.preload.clamps import CHOICES, Clamp, clamp_of
from smmux.preload.symbolic import Iteration, Monomial, Opaque, Polynomial, Symbol

__all__ = ["Polynomials"]

MASK = 0xFFFFFFFF


LINEAR = {
    "mov.b32": (1,),
    "add.s32": (1, 1),
    "add.sat.s32": (1, 1),  # of a counter, which no one reads once it has reached the end
    "sub.s32": (1, -1),
    "neg.s32": (-1,),
}
"""Operations that add up, with the factor of each source. The affine analysis leaves long sums of them whole."""

NAMES = {
    "and.b32": "a mask", "or.b32": "a bitwise or", "xor.b32": "an exclusive or", "not.b32": "a bitwise not",
    "shr.s32": "a shift", "shr.u32": "a shift", "shl.b32": "a shift", "div.s32": "a division", "div.u32": "a division",
    "rem.s32": "a remainder", "rem.u32": "a remainder", "selp.b32": "a choice", "min.s32": "a minimum",
    "min.u32": "a minimum", "max.s32": "a maximum", "max.u32": "a maximum", "mul.hi.s32": "a division",
    "mul.hi.u32": "a division", "abs.s32": "an absolute value", "shfl": "another thread's value",
}  # fmt: skip
"""What operations are called whose result is no polynomial."""


_DECIDED = {"and.pred": 0, "or.pred": 1}
"""For operations on predicates, the value of one source that decides the result."""


PARTS = 3
"""Take sums apart this many times to see whether an index may be negative [EST]: a row, a halo and a shift."""


class Polynomials:
    """Finds, on demand, the polynomials of one function in SSA form, for a launch whose facts are exact."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges, self.function, self.facts = ranges, ranges.function, ranges.known
        self.defs, self.forms = ranges.defs, ranges.forms
        self.loops: dict[Block, NaturalLoop] = {loop.header: loop for loop in ranges.graph.loops}
        self.blocks = {i: block for block in ranges.graph.order for i in block.instrs}
        self.clamps: dict[Reg, Clamp] = {}
        self._unsure: dict[Reg, Operand] = {}
        self._known: dict[Reg, Polynomial | Opaque] = {}
        self._counters: dict[Reg, Polynomial | Opaque] = {}
        self._numbers: dict[Reg, int | None] = {}

    # -- values

    def of(self, operand: Operand) -> Polynomial:
        """Return the polynomial of an operand, with iteration numbers for counters. Raises Opaque."""
        return self._counted(self.raw(operand))

    def raw(self, operand: Operand) -> Polynomial:
        """Return the polynomial of an operand, in which counters are still symbols: their phis. Raises Opaque."""
        if isinstance(operand, Imm):
            return Polynomial.constant(signed(operand.bits))
        if isinstance(operand, Special | Param | ConstWord):
            return self._atom(operand)
        found = self._known.get(operand)
        if found is None:
            try:
                found = self._of_register(operand)
            except Opaque as error:
                found = error
            self._known[operand] = found
        if isinstance(found, Opaque):
            raise found
        return found

    def _of_register(self, reg: Reg) -> Polynomial:
        form = self.forms.affine(reg)
        if form.terms == ((reg, 1),):
            return self._definition(reg)
        return self.sum(form)

    def sum(self, form: Affine) -> Polynomial:
        """Return the polynomial of an affine form. Raises Opaque."""
        total = Polynomial.constant(signed(form.constant))
        for atom, coefficient in form.terms:
            total = total.plus(self.raw(atom), signed(coefficient))
        return total

    def _atom(self, atom: Special | Param | ConstWord) -> Polynomial:
        if isinstance(atom, ConstWord):
            return Polynomial.constant(self.number(atom) or 0)
        if isinstance(atom, Param) and self.number(atom) is None:
            raise Opaque(f"{self.function.params[atom.word].name!r}, which is no integer")
        if isinstance(atom, Special) and atom.name is SpecialName.LANEID:
            raise Opaque("a remainder")
        return Polynomial.of(Special(atom.name) if isinstance(atom, Special) else Param(atom.word, Type.U32))

    def _definition(self, reg: Reg) -> Polynomial:
        instr = self.defs.get(reg)
        if instr is None or instr.guard is not None:
            raise Opaque("a value that only some threads have")
        if isinstance(instr, Phi):
            return self._phi(instr)
        if isinstance(instr, Index):
            place = instr.dsts.index(reg)
            axes = len(instr.axes)
            return self._axis(instr, place) if place < axes else self.raw(instr.bases[place - axes])
        try:
            return self._operation(instr)
        except Opaque:
            if self.number(reg) is None:
                raise
            return Polynomial.of(reg)

    def _axis(self, index: Index, k: int) -> Polynomial:
        """Return the index of an axis, counted from its start. If that is not certain, note it for `unsure`."""
        value = self.raw(index.srcs[k])
        if not index.axes[k].signed:
            return value
        low, high = self.bounds(index, k)
        if high < 0:
            return value.plus(self.raw(index.extent(k)))
        if low < 0:
            self._unsure[index.dsts[k]] = index.srcs[k]
        return value

    def bounds(self, index: Index, k: int) -> tuple[int, int]:
        """Return the range that conditions leave the index of an axis, taken to lie within the axis."""
        source = index.srcs[k]
        made = self.defs.get(source) if isinstance(source, Reg) else None
        word = self._held(made) if made is not None and made.op == "selp.b32" else None
        return self._bounds(source if word is None else word, self.blocks[index], PARTS)

    def _bounds(self, operand: Operand, block: Block, parts: int) -> tuple[int, int]:
        """Return the range of a value in a block. A sum is taken apart `parts` times, since conditions may say more of
        what is added up than of the sum."""
        low, high = self.ranges.of(operand, block)
        instr = self.defs.get(operand) if isinstance(operand, Reg) else None
        if low >= 0 or parts == 0 or instr is None or instr.op not in ("add.s32", "sub.s32"):
            return low, high
        a, b = (self._bounds(source, block, parts - 1) for source in instr.srcs)
        b = b if instr.op == "add.s32" else (-b[1], -b[0])
        total = a[0] + b[0], a[1] + b[1]
        return (max(low, total[0]), min(high, total[1])) if fits(total) else (low, high)

    def unsure(self, operand: Operand) -> tuple[Polynomial, ...]:
        """Return the indices of axes, in an operand given to `of`, that may be negative for all that ranges show.

        If one is negative, it counts from the end of its axis, and the polynomial does not hold.
        """
        unsure = (dst for index in self.indices(operand) for dst in index.dsts if dst in self._unsure)
        return tuple(dict.fromkeys(self.of(self._unsure[dst]) for dst in unsure))

    def indices(self, operand: Operand) -> list[Index]:
        """Return the indexing by which an address is made: that of the element first, then those of rows."""
        found: dict[Index, None] = {}
        work, seen = [operand], {operand}
        while work:
            one = work.pop()
            instr = self.defs.get(one) if isinstance(one, Reg) else None
            if isinstance(instr, Index):
                found[instr] = None
                work += instr.bases
            elif instr is not None and instr.mem is None:
                work += [source for source in instr.srcs if isinstance(source, Reg) and source not in seen]
                seen.update(instr.srcs)
        return list(found)

    def _operation(self, instr: Instr) -> Polynomial:
        if instr.op in LINEAR:
            total = Polynomial()
            for source, factor in zip(instr.srcs, LINEAR[instr.op], strict=True):
                total = total.plus(self.raw(source), factor)
            return total
        if instr.op in ("mul.lo.s32", "mad.lo.s32"):
            product = self.raw(instr.srcs[0]).times(self.raw(instr.srcs[1]))
            return product.plus(self.raw(instr.srcs[2])) if instr.op == "mad.lo.s32" else product
        if instr.op == "selp.b32" and (word := self._held(instr)) is not None:
            return self.raw(word)
        if instr.op == "and.b32" and (word := self._unmasked(instr)) is not None:
            return self.raw(word)
        if instr.op == "selp.b32" and self._python_remainder(instr):
            raise Opaque("a remainder")
        if instr.op in CHOICES and (clamp := clamp_of(self, instr)) is not None:
            self.clamps[instr.dsts[0]] = clamp
            return Polynomial.of(instr.dsts[0])
        if instr.mem is not None:
            raise Opaque(f"a value loaded from {instr.mem.array.name!r}" if "ld." in instr.op else "an atomic's result")
        for source in instr.srcs:  # the reason is the first that there was
            if isinstance(source, Reg) and source.type is not Type.PRED:
                self.raw(source)
        raise Opaque(
            NAMES.get(instr.op, "a conversion" if instr.op.startswith("cvt") else f"an operation ({instr.op})")
        )

    def _python_remainder(self, instr: Instr) -> bool:
        """Tell whether a choice mends the sign of a remainder."""
        other = self.defs.get(instr.srcs[1]) if isinstance(instr.srcs[1], Reg) else None
        return other is not None and other.op == "rem.s32"

    def _held(self, choice: Instr) -> Operand | None:
        """Return the low word of an index of two words that a choice holds at the ends of 32 bits; None for another
        choice. Where the index fits into 32 bits, it is that word."""
        word, _, test = choice.srcs
        compared = self.defs.get(test) if isinstance(test, Reg) else None
        if compared is None or compared.op != "setp.eq.s32" or not isinstance(word, Reg):
            return None
        sign = self.defs.get(compared.srcs[0]) if isinstance(compared.srcs[0], Reg) else None
        if sign is None or sign.op != "shr.s32" or sign.srcs[0] is not word:
            return None
        return word if isinstance(sign.srcs[1], Imm) and sign.srcs[1].bits == 31 else None

    def _unmasked(self, instr: Instr) -> Operand | None:
        """Return the source that a mask of low bits leaves as it is, as it has no other bits; None if there is none."""
        for source, mask in (instr.srcs, instr.srcs[::-1]):
            bits, (low, high) = self.number(mask), self.ranges.of(source, self.blocks[instr])
            if bits is not None and bits >= 0 and not bits & (bits + 1) and 0 <= low and high <= bits:
                return source
        return None

    def opened(self, value: Polynomial) -> Polynomial:
        """Return a polynomial in which the form under each clamp stands for the clamp."""
        for symbol in value.symbols:
            if isinstance(symbol, Reg) and symbol in self.clamps:
                factor, rest = value.by(symbol)
                return self.opened(rest.plus(factor.times(self.of(self.clamps[symbol].form))))
        return value

    # -- counters

    def _phi(self, phi: Phi) -> Polynomial:
        block = self.ranges.home[phi]
        if block in self.loops:
            return Polynomial.of(phi.dsts[0])
        lines = sorted(
            {instr.loc.line for s in phi.srcs if isinstance(s, Reg) and (instr := self.defs.get(s)) and instr.loc}
        )
        where = f" (lines {', '.join(map(str, lines))})" if len(lines) > 1 else ""
        raise Opaque(f"{phi.dsts[0].name or 'a value'!r}, which has several definitions{where}")

    def _counted(self, value: Polynomial) -> Polynomial:
        """Replace counters by their values."""
        for symbol in value.symbols:
            if isinstance(symbol, Reg) and isinstance(self.defs.get(symbol), Phi):
                factor, rest = value.by(symbol)
                value = self._counted(rest.plus(factor.times(self._counter(symbol))))
                return value
        return value

    def _counter(self, reg: Reg) -> Polynomial:
        found = self._counters.get(reg)
        if found is None:
            self._counters[reg] = Opaque(f"{reg.name!r}, which the loop changes")  # what a cycle sees
            try:
                found = self._start_and_step(reg)
            except Opaque as error:
                found = error
            self._counters[reg] = found
        if isinstance(found, Opaque):
            raise found
        return found

    def _start_and_step(self, reg: Reg) -> Polynomial:
        phi = self.defs[reg]
        assert isinstance(phi, Phi)
        loop = self.loops[self.ranges.home[phi]]
        steps = {self.raw(phi.source(latch)).plus(Polynomial.of(reg), -1) for latch in loop.latches}
        starts = {self.of(phi.source(pred)) for pred in phi.preds if pred not in loop.latches}
        changed = f"{reg.name!r}, which the loop does not advance by a fixed step"
        if len(steps) != 1 or len(starts) != 1:
            raise Opaque(changed)
        step, start = self._counted(steps.pop()), starts.pop()
        if any(isinstance(s, Iteration) or self.number(s) is None for s in step.symbols):
            raise Opaque(changed)
        return start.plus(step.times(Polynomial.of(self.iteration(loop))))

    def iteration(self, loop: NaturalLoop) -> Iteration:
        """Return the symbol for the number of a loop's iteration."""
        return Iteration(self.ranges.graph.index[loop.header])

    # -- numbers

    def number(self, symbol: Symbol | Operand) -> int | None:
        """Return the signed number that a symbol is in the whole launch; None if it varies or is not known."""
        if isinstance(symbol, Imm):
            return signed(symbol.bits)
        if isinstance(symbol, Special):
            kind, _, axis = symbol.name.value.partition(".")
            sizes = {"ntid": self.facts.block, "nctaid": self.facts.grid}.get(kind)
            return sizes["xyz".index(axis)] if sizes else None
        if isinstance(symbol, Param):
            return self._argument(symbol.word)
        if isinstance(symbol, ConstWord):
            return signed(int.from_bytes(self.function.const[symbol.offset : symbol.offset + 4], "little"))
        return self._computed(symbol) if isinstance(symbol, Reg) else None

    def _argument(self, word: int) -> int | None:
        place, part = self.function.scalars.get(word, (len(self.facts.scalars), 0))
        known = self.facts.scalars[place] if place < len(self.facts.scalars) else None
        return None if known is None else signed(known[0] >> 32 * part & MASK)

    def _computed(self, reg: Reg) -> int | None:
        """Return the number that operations on known numbers give, 0 or 1 for a predicate; None if any is not known."""
        if reg in self._numbers:
            return self._numbers[reg]
        self._numbers[reg] = None  # what a cycle sees
        instr, found = self.defs.get(reg), None
        if instr is not None and instr.guard is None and instr.mem is None and len(instr.dsts) == 1:
            sources = [self.number(source) for source in instr.srcs]
            values = tuple(n & MASK for n in sources if n is not None)
            if instr.op in _DECIDED and _DECIDED[instr.op] in sources:
                found = _DECIDED[instr.op]
            elif sources and len(values) == len(sources):
                found = _folded(instr, values)
        self._numbers[reg] = found
        return found

    def numbers(self, value: Polynomial) -> Iterator[tuple[Monomial, int]]:
        """Yield the terms of a polynomial, with numbers for all that is the same in the whole launch."""
        total: dict[Monomial, int] = {}
        for monomial, coefficient in value.terms:
            rest: list[Symbol] = []
            for symbol in monomial:
                known = self.number(symbol)
                if known is None:
                    rest.append(symbol)
                else:
                    coefficient *= known
            total[tuple(rest)] = total.get(tuple(rest), 0) + coefficient
        yield from ((monomial, coefficient) for monomial, coefficient in total.items() if coefficient)


def _folded(instr: Instr, values: tuple[int, ...]) -> int | None:
    """Return the result of an operation on numbers, signed; None if it is not one that is computed here."""
    if instr.op == "selp.b32":
        return signed(values[0] if values[2] else values[1])
    if instr.op == "phi" or isinstance(instr, Index) or instr.op.endswith("64"):
        return None
    found = evaluate(instr.op, values)
    return None if found is None else signed(found)
