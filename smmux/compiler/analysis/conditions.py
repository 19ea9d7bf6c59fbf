"""What the conditions of branches say of integers: comparisons of sums of registers that hold where one is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from smmux.compiler.analysis.affine import AddressAnalysis, Atom
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.index import Index
from smmux.compiler.ir import Block, Imm, Instr, Operand, Reg

Terms = tuple[tuple[Atom, int], ...]

DEEPEST = 40
"""Predicates made of predicates that are followed [EST]: conditions of programs have a few."""

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Fact:
    """terms + constant stands in a relation to an operand as it is in a block, or at its end; or it is the index of an
    access that has succeeded: the indices, the axis among them, and the array's last element. With `minus`, it is the
    difference of that and `other` that is so related to 0."""

    terms: Terms
    constant: int
    relation: str
    type: str
    other: Operand | None
    at: Block
    end: bool = True
    accessed: tuple[Index, int, int, Instr] | None = None
    minus: Operand | None = None


class Conditions:
    """The conditions of one function. defs: which instruction makes a register. forms: registers as sums of others.
    graph: to follow conditions that several blocks make, such as those of `a and b`."""

    def __init__(self, defs: Mapping[Reg, Instr], forms: AddressAnalysis, graph: Graph) -> None:
        self.defs, self.forms, self.graph = defs, forms, graph

    def on_edge(self, pred: Block, block: Block) -> Iterator[tuple[Terms, Fact]]:
        """What holds where control goes from one block to the next."""
        last = pred.instrs[-1]
        if last.op == "cbr" and last.target is not last.other:
            yield from self.stated(last.srcs[0], last.target is block, pred, True)

    def stated(self, condition: Operand, truth: bool, at: Block, end: bool) -> Iterator[tuple[Terms, Fact]]:
        """The comparisons of 32-bit integers that hold if a predicate is true, or false, as facts about sums."""
        for relation, type, sources in self.comparisons(condition, truth):
            if len(sources) > 2:  # of numbers of two words
                continue
            a, b = sources
            for one, related, other in ((a, relation, b), (b, MIRRORED[relation], a)):
                form = self.forms.affine(one)
                if form.terms and type == "s32" and not isinstance(other, Imm):
                    apart = form.plus(self.forms.affine(other), -1)
                    if apart.terms:
                        yield (
                            apart.terms,
                            Fact(apart.terms, apart.constant, related, type, other, at, end, minus=one),
                        )
                if form.terms and not isinstance(one, Imm):
                    yield form.terms, Fact(form.terms, form.constant, related, type, other, at, end)

    def comparisons(
        self, condition: Operand, truth: bool, depth: int = 0
    ) -> Iterator[tuple[str, str, tuple[Operand, ...]]]:
        """The comparisons of integers that hold if a predicate is true, or false: relation, type and sources, which are
        four words where the type has 64 bits."""
        instr = self.defs.get(condition) if isinstance(condition, Reg) else None
        if instr is None or instr.guard is not None or depth > DEEPEST:
            return
        if instr.op == "not.pred":
            yield from self.comparisons(instr.srcs[0], not truth, depth + 1)
        elif instr.op == ("and.pred" if truth else "or.pred"):
            for source in instr.srcs:
                yield from self.comparisons(source, truth, depth + 1)
        elif isinstance(instr, Phi):
            yield from self._merged(instr, truth, depth)
        elif instr.op.startswith("setp.") and not instr.op.endswith(("f32", "f64")):
            _, relation, type = instr.op.split(".")
            yield relation if truth else OPPOSITE[relation], type, instr.srcs

    def _merged(self, phi: Phi, truth: bool, depth: int) -> Iterator[tuple[str, str, tuple[Operand, ...]]]:
        """What holds if a predicate that several blocks may give has a value that one of them alone can give.

        Not of a predicate that a loop carries: what it compared may have changed since.
        """
        graph, giving = self.graph, []
        (home,) = {block for block in phi.preds[0].successors if phi in block.instrs}
        for source, pred in zip(phi.srcs, phi.preds, strict=True):
            if graph.index[pred] >= graph.index[home]:
                return
            if isinstance(source, Imm):
                if bool(source.bits) == truth:
                    return
            elif _entered(graph, pred) != (source, not truth):
                giving.append((source, pred))
        if len(giving) == 1:
            source, block = giving[0]
            yield from self.comparisons(source, truth, depth + 1)
            while not all(graph.dominates(block, pred) for pred in phi.preds):
                condition, taken = _entered(graph, block)
                if condition is not None:
                    yield from self.comparisons(condition, taken, depth + 1)
                block = graph.idom[block]


def _entered(graph: Graph, block: Block) -> tuple[Operand | None, bool]:
    """The predicate that decides whether a block is entered from its only predecessor, and which value does."""
    before = graph.preds[block]
    last = before[0].instrs[-1] if len(before) == 1 else None
    decided = last is not None and last.op == "cbr" and last.target is not last.other
    return (last.srcs[0], last.target is block) if last is not None and decided else (None, True)
