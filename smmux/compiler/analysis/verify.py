"""What a function of the IR must be like at each stage of its way, as a table of rules.

Under SMMUX_CHECK=1 the pipeline asks after every pass, so that one that breaks the form is found at its own door.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from smmux import _core
from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.ops import is_memory
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.index import Index
from smmux.compiler.ir import Block, Function, Instr, Reg, Type

__all__ = ["RULES", "FormError", "Rule", "Stage", "verify"]

TERMINATORS = {"bra": 1, "cbr": 2, "exit": 0}
"""The operations that end a block, and how many targets they have."""


class Stage(enum.IntEnum):
    """Where a function is on its way: as the front end made it; each register with one definition and phis where
    control flow joins; with byte addresses in memory operations; without phis, as code can say it."""

    FRONT = 0
    SSA = 1
    LOWERED = 2
    MACHINE = 3


class FormError(AssertionError):
    """A function that is not what it must be at its stage: a mistake of the compiler."""


def verify(function: Function, stage: Stage, after: str = "") -> None:
    """Raise FormError if a rule of a stage does not hold; after: the pass that ran last, for the message."""
    for rule in RULES:
        if rule.first <= stage <= rule.last:
            for wrong in rule.broken(function):
                behind = f" after {after}" if after else ""
                raise FormError(f"{function.name}{behind}, stage {stage.name.lower()}: {rule.text}: {wrong}")


def _blocks_end(function: Function) -> Iterator[str]:
    for number, block in enumerate(function.blocks):
        ops = [instr.op in TERMINATORS for instr in block.instrs]
        if not ops or not ops[-1] or any(ops[:-1]):
            yield f"block {number}"


def _targets(function: Function) -> Iterator[str]:
    known = set(function.blocks)
    for instr in function.instrs():
        found = [target for target in (instr.target, instr.other) if target is not None]
        if len(found) != TERMINATORS.get(instr.op, 0) or not known.issuperset(found):
            yield _words(instr)


def _known_operations(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        if instr.op not in _core.OPS and instr.op not in TERMINATORS and not isinstance(instr, Phi | Index):
            if instr.op != "assume":
                yield _words(instr)


def _of_the_machine(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        if isinstance(instr, Phi | Index) or instr.op == "assume":
            yield _words(instr)


def _no_phis(function: Function) -> Iterator[str]:
    yield from (_words(instr) for instr in function.instrs() if isinstance(instr, Phi))


def _operands(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        kinds = [kind for kind in _core.OPS[instr.op][3].split(",") if kind] if instr.op in _core.OPS else []
        if not kinds or instr.mem is not None or instr.op in ("bra", "exit", "print"):
            continue
        results = [kind for kind in kinds if kind in ("d", "dh", "p")]
        sources = [kind for kind in kinds if kind not in results]
        wrong = len(results) != len(instr.dsts) or len(sources) != len(instr.srcs)
        pairs = [*zip(results, instr.dsts, strict=False), *zip(sources, instr.srcs, strict=False)]
        for kind, operand in pairs:
            wrong |= (kind in ("p", "q", "qa", "qb")) != (operand.type is Type.PRED)
        if wrong:
            yield _words(instr)


def _memory(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        if is_memory(instr) != (instr.mem is not None) or (instr.mem is not None and not instr.srcs):
            yield _words(instr)


def _byte_addresses(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        if instr.mem is not None and not instr.mem.lowered:
            yield _words(instr)


def _guards(function: Function) -> Iterator[str]:
    for instr in function.instrs():
        if instr.guard is not None and instr.guard.type is not Type.PRED:
            yield _words(instr)


def _defined(function: Function) -> Iterator[str]:
    defined = {dst for instr in function.instrs() for dst in instr.dsts}
    for instr in function.instrs():
        if any(reg not in defined for reg in _reads(instr)):
            yield _words(instr)


def _defined_once(function: Function) -> Iterator[str]:
    seen: set[Reg] = set()
    for instr in function.instrs():
        for dst in instr.dsts:
            if dst in seen:
                yield _words(instr)
            seen.add(dst)


def _values_once(function: Function) -> Iterator[str]:
    seen: set[Reg] = set()
    for instr in function.instrs():
        for dst in instr.dsts:
            if dst in seen and not dst.variable:
                yield _words(instr)
            seen.add(dst)


def _defined_above(function: Function) -> Iterator[str]:
    graph = Graph(function)
    places = {dst: (block, n) for block in graph.index for n, instr in enumerate(block.instrs) for dst in instr.dsts}

    def above(reg: Reg, block: Block, n: int) -> bool:
        home, place = places[reg]
        return place < n if home is block else graph.dominates(home, block)

    for block in graph.index:
        for n, instr in enumerate(block.instrs):
            if isinstance(instr, Phi):
                sources = zip(instr.srcs, instr.preds, strict=True)
                reads = [(src, pred, len(pred.instrs)) for src, pred in sources if isinstance(src, Reg)]
            else:
                reads = [(reg, block, n) for reg in _reads(instr)]
            if not all(reg in places and above(reg, where, at) for reg, where, at in reads if where in graph.index):
                yield _words(instr)


def _reads(instr: Instr) -> Iterator[Reg]:
    yield from (operand for operand in (*instr.srcs, instr.guard) if isinstance(operand, Reg))


def _words(instr: Instr) -> str:
    place = f" of line {instr.loc.line}" if instr.loc else ""
    return f"{', '.join(map(repr, instr.dsts))} = {instr.op} {', '.join(map(repr, instr.srcs))}{place}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that holds from a stage to another; broken: describes what breaks it."""

    text: str
    first: Stage
    last: Stage
    broken: Callable[[Function], Iterator[str]]


RULES = (
    Rule("a block has one terminator, at its end", Stage.FRONT, Stage.MACHINE, _blocks_end),
    Rule("a terminator has its targets, which are blocks of the function", Stage.FRONT, Stage.MACHINE, _targets),
    Rule("an operation is one of the table or of the compiler", Stage.FRONT, Stage.MACHINE, _known_operations),
    Rule("memory operations, and no others, name memory", Stage.FRONT, Stage.MACHINE, _memory),
    Rule("an operation has the operands of its row", Stage.FRONT, Stage.MACHINE, _operands),
    Rule("a guard is a predicate", Stage.FRONT, Stage.MACHINE, _guards),
    Rule("a register that is read is defined", Stage.FRONT, Stage.MACHINE, _defined),
    Rule("a value has one definition", Stage.FRONT, Stage.LOWERED, _values_once),
    Rule("phis stand only between construct and destruct", Stage.FRONT, Stage.FRONT, _no_phis),
    Rule("a register has one definition", Stage.SSA, Stage.LOWERED, _defined_once),
    Rule("a definition stands above what reads it", Stage.SSA, Stage.LOWERED, _defined_above),
    Rule("memory is named by byte addresses", Stage.LOWERED, Stage.MACHINE, _byte_addresses),
    Rule("an operation is one of the machine", Stage.MACHINE, Stage.MACHINE, _of_the_machine),
)
"""The form of the IR by stage."""
