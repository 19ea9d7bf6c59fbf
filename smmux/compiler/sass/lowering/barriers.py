"""Asynchronous barriers in shared memory: atomic operations on a word of 64 bits, and what waits for copies."""

from __future__ import annotations

from smmux import _core
from smmux.compiler.instruction import PT, Instruction, Operand
from smmux.compiler.program import OPERAND_NONE
from smmux.compiler.sass.lowering.memory import address_fields, address_of
from smmux.compiler.sass.lowering.rows import Refused, Rows

__all__ = ["BARRIERS", "lower_barrier"]

BARRIERS = frozenset(("SYNCS", "ARRIVES", "ATOMS"))
"""Of ATOMS, only ATOMS.ARRIVE comes here."""
COUNTS = {
    "A1T0": (1, 0),
    "A1TR": (1, None),
    "ART0": (None, 0),
    "A0TR": (0, None),
    "A0TX": (0, None),
    "A0T1": (0, 1),
}
"""How many threads arrive, and how many bytes are awaited from then on; None: as many as the register says."""
WAITING = {
    (): "BARRIER_COPIED_80",
    ("ARVCNT",): "BARRIER_COPIED",
    ("TRANSCNT",): "BARRIER_COPIED_BYTE",
}
"""By the modifiers of ARRIVES.LDGSTSBAR.64: what happens when the copies are there."""


def lower_barrier(rows: Rows, i: Instruction) -> None:
    """Add the row of an operation on a barrier."""
    if i.opcode == "ATOMS":
        _only(i, ("ARRIVE", "64"))
        _add(rows, i, "BARRIER_ARRIVE_80", d=_told(rows, i))
    elif i.opcode == "ARRIVES":
        kind = WAITING.get(i.modifiers[2:])
        if i.modifiers[:2] != ("LDGSTSBAR", "64") or kind is None:
            raise _refused(i)
        _add(rows, i, kind)
    elif i.modifiers[:1] == ("ARRIVE",):
        _arrive(rows, i)
    elif i.modifiers[:1] == ("PHASECHK",):
        _look(rows, i)
    elif i.modifiers == ("EXCH", "64"):
        value = rows.source(i.operands[-1], 2)
        _add(rows, i, "EXCH64", d=_told(rows, i), b=value, bh=value + 1)
    elif i.modifiers == ("CCTL", "IV"):
        rows.add(i, _core.OPS["nop"][0])  # the barrier ends where it stands
    else:
        raise _refused(i)


def _refused(i: Instruction) -> Refused:
    return Refused(f".{'.'.join(i.modifiers)} is not simulated")


def _only(i: Instruction, modifiers: tuple[str, ...]) -> None:
    if i.modifiers != modifiers:
        raise _refused(i)


def _told(rows: Rows, i: Instruction) -> int:
    """The first of the two registers that take what was there before."""
    return rows.register(i.operands[0])


def _add(rows: Rows, i: Instruction, name: str, done: int = PT, **fields: int) -> None:
    """Add the row of an operation of encoding.def. done: the predicate that it writes."""
    fields = address_fields(rows, address_of(i), wide=False, done=done) | fields
    if fields.get("d", OPERAND_NONE) != OPERAND_NONE:
        fields["dh"] = fields["d"] + 1
    zero = rows.immediate(0)
    rows.add(i, _core.OPS["atom.shared"][0], sub=_core.ATOMS[name], width=8, **{"b": zero, "bh": zero} | fields)


def _arrive(rows: Rows, i: Instruction) -> None:
    """SYNCS.ARRIVE: of threads, bytes, or both; RED tells nobody what was there."""
    words = [word for word in i.modifiers[1:] if word not in ("TRANS64", "RED")]
    counts = [word for word in words if word in COUNTS] or ["A1TR"]
    others = frozenset(words) - COUNTS.keys()
    if "TRANS64" not in i.modifiers or len(counts) > 1 or others - {"OPTOUT", "TMASK"}:
        raise _refused(i)
    amount = i.operands[-1]
    threads, bytes_ = (_amount(rows, count, amount) for count in COUNTS[counts[0]])
    name = "BARRIER_DROP" if "OPTOUT" in others else "BARRIER_ARRIVE"
    if counts == ["A0TX"]:
        if others:
            raise _refused(i)
        name = "BARRIER_COMPLETE"
    _add(rows, i, name + "_MASK" * ("TMASK" in others), d=_told(rows, i), b=threads, bh=bytes_)


def _amount(rows: Rows, count: int | None, operand: Operand) -> int:
    return rows.source(operand) if count is None else rows.immediate(count)


def _look(rows: Rows, i: Instruction) -> None:
    """SYNCS.PHASECHK: whether a phase is over; TRYWAIT waits a while until it is."""
    _only(i, ("PHASECHK", "TRANS64", *["TRYWAIT"] * ("TRYWAIT" in i.modifiers)))
    name = "BARRIER_TRY" if "TRYWAIT" in i.modifiers else "BARRIER_TEST"
    _add(rows, i, name, rows.predicate(i.operands[0]), d=rows.dropped, b=rows.source(i.operands[-1]))
