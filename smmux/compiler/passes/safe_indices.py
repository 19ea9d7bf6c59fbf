"""Indices made safe: a negative one counts from the end of its axis, and one far outside stays outside.

An address has 32 bits. An index that is unknown may have a byte offset beyond them, which would come back into the
array, and a signed one may be negative. Both are mended by a few operations, and neither needs any where the ranges of
the indices show that it cannot happen.
"""

from __future__ import annotations

from smmux.compiler.analysis.integer_ranges import Ranges
from smmux.compiler.analysis.operation_ranges import MAX, Range, hull
from smmux.compiler.index import FAR, WRAP, Index, reach, start
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg, Space, Type
from smmux.compiler.options import Options

__all__ = ["resolve_indices"]

CLOSE = 8
"""Instructions between indices and their access at most [EST]: the conversion of a stored value."""

UNSIGNED: Range = (0, WRAP - 1)


def resolve_indices(function: Function, options: Options) -> None:
    """Replace every `Index` by the operations that it needs, usually none. What assertions say is of use here alone."""
    if any(isinstance(instr, Index) for instr in function.instrs()):
        function.indexed = True
        _Resolver(function, Ranges(function, options.facts)).run()
    for block in function.blocks:
        block.instrs = [instr for instr in block.instrs if instr.op != "assume"]


class _Resolver:
    def __init__(self, function: Function, ranges: Ranges) -> None:
        self.function, self.ranges = function, ranges
        self.same: dict[Operand, Operand] = {}

    def run(self) -> None:
        """Resolve in an order in which the rows come before their elements."""
        order = self.ranges.graph.order
        for block in order:
            for place, instr in enumerate(block.instrs):
                if isinstance(instr, Index) and instr.final:
                    self._learn(instr, block, place)
        for block in order:
            if any(isinstance(instr, Index) for instr in block.instrs):
                block.instrs = [new for old in block.instrs for new in self._resolved(old, block)]
        for instr in self.function.instrs():
            for src in instr.srcs:
                if isinstance(src, Reg) and src in self.same:
                    instr.srcs = tuple(map(self._final, instr.srcs))
                    break
        for access in self.ranges.used:
            access.attrs = {**access.attrs, "keep": 1}

    def _final(self, operand: Operand) -> Operand:
        while operand in self.same:
            operand = self.same[operand]
        return operand

    # -- what an access tells of its index

    def _learn(self, index: Index, block: Block, place: int) -> None:
        """The index of an axis is within the array wherever the access, which stands close behind, has succeeded."""
        near = block.instrs[place + 1 : place + 1 + CLOSE]
        access = next((instr for instr in near if instr.mem is not None), None)
        if access is None or access.mem is None or access.mem.array is not index.array:
            return
        last = self._elements(index) - 1 - index.offset
        if last >= 0 and all(axis.stride > 0 for axis in index.axes):
            for k in range(len(index.axes)):
                self.ranges.learn(index, k, last, block, access)

    def _elements(self, index: Index) -> int:
        """The elements from the array's first to the last that its segment has room for."""
        array = index.array
        assert array is not None
        if array.space in (Space.GLOBAL, Space.TEXTURE):
            return array.nbytes // index.size
        f = self.function
        sizes = {Space.SHARED: max(f.shared_bytes, f.dynamic_bytes), Space.LOCAL: f.local_bytes}
        return (sizes.get(array.space, len(f.const)) - array.offset) // index.size

    # -- operations

    def _resolved(self, instr: Instr, block: Block) -> list[Instr]:
        if not isinstance(instr, Index):
            return [instr]
        axes = range(len(instr.axes))
        found = [self.ranges.of(instr.srcs[k], block) for k in axes]
        inside = [self._wrapped(instr, k, found[k], block) for k in axes]
        held = self._held(instr, inside, [self.ranges.of(base, block) for base in instr.bases])
        out: list[Instr] = []
        for k in axes:
            value = self._counted(instr, k, found[k], out)
            self._define(instr, k, self._clamped(instr, value, held.get(k), out), out)
        for k, base in enumerate(instr.bases, len(instr.axes)):
            clamped = self._clamped if self._ahead(instr, base, block) else self._clamped_both_ways
            self._define(instr, k, clamped(instr, base, held.get(k), out), out)
        return out

    def _wrapped(self, index: Index, k: int, found: Range, block: Block) -> Range:
        """The range of an index once it counts from the start, or as an unsigned number."""
        if found[0] >= 0:
            return found
        if not index.axes[k].signed:
            return UNSIGNED
        extent = self.ranges.of(index.extent(k), block)
        negative = found[0] + extent[0], min(found[1], -1) + extent[1]
        return negative if found[1] < 0 else hull(negative, (0, found[1]))

    def _held(self, index: Index, inside: list[Range], bases: list[Range]) -> dict[int, int]:
        """The largest index of each axis that may leave the range of addresses. The row comes behind the axes."""
        array = index.array
        assert array is not None
        (low, high), count = reach(array, index.final), len(inside) + len(bases)
        first = index.offset * index.size + start(array)
        steps = [axis.stride * index.size for axis in index.axes] + [index.size] * len(bases)
        moves = [sorted((a * s, b * s)) for (a, b), s in zip([*inside, *bases], steps, strict=True)]
        if low <= first + sum(m[0] for m in moves) and first + sum(m[1] for m in moves) <= high:
            return {}
        wide = [k for k, m in enumerate(moves) if max(-m[0], m[1]) > min(-low, high) // (count + 1)] or list(
            range(count)
        )
        far = FAR // (len(wide) * (1 if index.final else 2))
        return {k: max(far // abs(steps[k]), self._most(index, k)) for k in wide}

    @staticmethod
    def _most(index: Index, k: int) -> int:
        """An index that lies outside its axis."""
        extent = index.extent(k) if k < len(index.axes) else None
        assert index.array is not None
        return extent.bits if isinstance(extent, Imm) else index.array.nbytes // index.size

    def _counted(self, index: Index, k: int, found: Range, out: list[Instr]) -> Operand:
        """The index from the start of its axis: i + extent where i is negative."""
        i, extent = index.srcs[k], index.extent(k)
        if found[0] >= 0 or not index.axes[k].signed:
            return i
        if found[1] >= 0:
            sign = self._emit("shr.s32", (i, Imm(31, Type.U32)), index, out)
            extent = self._emit("and.b32", (sign, extent), index, out)
        return self._emit("add.s32", (i, extent), index, out)

    def _clamped(self, index: Index, value: Operand, most: int | None, out: list[Instr]) -> Operand:
        return value if most is None else self._emit("min.u32", (value, Imm(most, Type.U32)), index, out)

    def _ahead(self, index: Index, base: Operand, block: Block) -> bool:
        """Whether a row of its array begins at its constant offset or behind that. Along an axis that runs backwards
        rows begin before it, down to the array's first byte."""
        assert index.array is not None
        backwards = index.offset * index.size + index.array.before > 0
        return not backwards or self.ranges.of(base, block)[0] >= 0

    def _clamped_both_ways(self, index: Index, value: Operand, most: int | None, out: list[Instr]) -> Operand:
        if most is None:
            return value
        most = min(most, MAX)
        above = self._emit("max.s32", (value, Imm(-most & (WRAP - 1), Type.S32)), index, out)
        return self._emit("min.s32", (above, Imm(most, Type.S32)), index, out)

    def _emit(self, op: str, srcs: tuple[Operand, ...], like: Instr, out: list[Instr]) -> Reg:
        reg = self.function.reg(Type.S32)
        out.append(Instr(op, (reg,), srcs, like.loc))
        self.ranges.defs[reg] = out[-1]
        self.function.guarded += 1
        return reg

    def _define(self, index: Index, k: int, value: Operand, out: list[Instr]) -> None:
        """Let a result be a value, whose operation, if it is new, gets the result's register."""
        dst = index.dsts[k]
        if out and out[-1].dsts[0] is value:
            out[-1].dsts = (dst,)
            self.ranges.defs[dst] = out[-1]
            return
        self.same[dst] = value
        self.ranges.defs[dst] = Instr("mov.b32", (dst,), (value,), index.loc)
