"""What decides which lanes go on, and where; special registers; what has no effect here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smmux import _core
from smmux.compiler.program import OPERAND_NONE, OPERAND_SPECIAL
from smmux.compiler.sass.instruction import PT, Instruction
from smmux.compiler.sass.lowering.rows import Refused, Rows

__all__ = ["CONTROL", "lower_control"]

SPECIALS = {
    **{f"SR_TID.{axis}": f"tid.{axis.lower()}" for axis in "XYZ"},
    **{f"SR_CTAID.{axis}": f"ctaid.{axis.lower()}" for axis in "XYZ"},
    "SR_LANEID": "laneid",
}
INSN_BYTES = 16


def _target(i: Instruction) -> int:
    """The number of the instruction that a label names."""
    labels = [operand for operand in i.operands if operand.kind == "label"]
    if len(labels) != 1 or labels[0].target is None or labels[0].target % INSN_BYTES:
        raise Refused("its target is not in the kernel")
    return labels[0].target // INSN_BYTES


def _branch(rows: Rows, i: Instruction) -> None:
    if i.modifiers:
        raise Refused(f".{i.modifiers[0]} is not simulated")
    condition = [operand for operand in i.operands if operand.kind in ("P", "UP")]
    predicates = {"PS0": rows.predicate(condition[0])} if condition else {}
    rows.operation(i, "BRA", predicates, imm=_target(i))


def _barrier_register(name: str) -> Callable[[Rows, Instruction], None]:
    def lower(rows: Rows, i: Instruction) -> None:
        rows.operation(i, name, q=i.operands[0].number)

    return lower


def _plain(name: str) -> Callable[[Rows, Instruction], None]:
    def lower(rows: Rows, i: Instruction) -> None:
        if i.modifiers or any(operand.kind not in ("P",) or operand.number != PT for operand in i.operands):
            raise Refused("it is not simulated in this form")
        rows.operation(i, name)

    return lower


def _warpsync(rows: Rows, i: Instruction) -> None:
    if set(i.modifiers) - {"ALL"}:
        raise Refused(f".{i.modifiers[0]} is not simulated")
    rows.operation(i, "WARPSYNC", a=rows.source(i.operands[0]) if i.operands else OPERAND_NONE)


def _block_barrier(rows: Rows, i: Instruction) -> None:
    if set(i.modifiers) - {"SYNC", "DEFER_BLOCKING"} or len(i.operands) != 1 or i.operands[0].value != 0:
        raise Refused("barriers other than barrier 0 of the whole block are not simulated")
    rows.operation(i, "BAR", q=0)


def _nothing(rows: Rows, i: Instruction) -> None:
    rows.add(i, _core.OPS["nop"][0])


def _special(rows: Rows, i: Instruction) -> None:
    name = i.operands[1].text
    d = rows.register(i.operands[0])
    if name == "SRZ":
        words = 1 if "32" in i.modifiers or i.opcode != "CS2R" else 2
        rows.operation(i, "MOV" if words == 1 else "MOV_64", d=d, a=rows.immediate(0, words))
    elif name in SPECIALS:
        rows.operation(i, "MOV", d=d, a=OPERAND_SPECIAL | _core.SPECIALS[SPECIALS[name]])
    else:
        raise Refused(f"{name} is not simulated")


CONTROL: Mapping[str, Callable[[Rows, Instruction], None]] = {
    "BRA": _branch,
    "EXIT": _plain("EXIT"),
    "BSSY": _barrier_register("BSSY"),
    "BSYNC": _barrier_register("BSYNC"),
    "BREAK": _barrier_register("BREAK"),
    "YIELD": _plain("YIELD"),
    "WARPSYNC": _warpsync,
    "BAR": _block_barrier,
    "NOP": _nothing,
    "S2R": _special,
    "S2UR": _special,
    "CS2R": _special,
}


def lower_control(rows: Rows, instruction: Instruction) -> None:
    """Add the row of an instruction of control."""
    CONTROL[instruction.opcode](rows, instruction)
