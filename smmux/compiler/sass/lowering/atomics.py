"""Atomic operations and reductions of memory."""

from __future__ import annotations

from smmux import _core
from smmux.compiler.instruction import PT, Instruction, Operand
from smmux.compiler.program import OPERAND_NONE
from smmux.compiler.sass.lowering.memory import GENERIC, HINTS, address_fields, address_of
from smmux.compiler.sass.lowering.rows import Refused, Rows

__all__ = ["ATOMICS", "lower_atomic"]

OPERATIONS = frozenset("ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST".split())
TYPES = frozenset("S32 U32 U64 S64 64 128 F32 F64 F16x2 F16x4 F16x8 BF16x2 BF16x4 BF16x8 F32x2 F32x4 32".split())
IGNORED = HINTS | {"RN", "FTZ", "SPIN", "POPC"}
FLOATS = {
    "F32": "ADD_F32",
    "F32.FTZ": "ADD_FTZ_F32",
    "F64": "ADD_F64",
    "F16x2": "ADD_F16X2",
    "BF16x2": "ADD_BF16X2",
    "F32x2.FTZ": "ADD_F32X2",
    "F32x4.FTZ": "ADD_F32X4",
    "F16x4": "ADD_F16X4",
    "F16x8": "ADD_F16X8",
    "BF16x4": "ADD_BF16X4",
    "BF16x8": "ADD_BF16X8",
}
WORDS = {"64": 2, "U64": 2, "S64": 2, "128": 4, "F64": 2, "F32x2": 2, "F32x4": 4, "F16x4": 2, "F16x8": 4,
         "BF16x4": 2, "BF16x8": 4}  # fmt: skip
"""How many a type has, if not one."""

ATOMICS = {
    "ATOMG": ("atom.global", 0),
    "ATOM": ("atom.global", GENERIC),
    "ATOMS": ("atom.shared", 0),
    "REDG": ("atom.global", 0),
    "RED": ("atom.global", GENERIC),
}
"""Of each opcode the operation of ops.def, and the space of its address. RED serves all spaces up to sm_86."""
ANSWERED = ("ATOMG", "ATOM")
"""Opcodes to which global memory answers even if nobody wants the old value (atomic_lanes.csv)."""


def lower_atomic(rows: Rows, i: Instruction) -> None:
    """Add the row of an atomic operation."""
    op, generic = ATOMICS[i.opcode]
    name, words = _operation(i)
    address = address_of(i)
    before = i.operands[: i.operands.index(address)]
    data = _data(i, address)
    done = next((rows.predicate(operand) for operand in before if operand.kind == "P"), PT)
    fields = address_fields(rows, address, op.endswith("global"), generic, done)
    for operand in before:
        if operand.kind == "R":
            fields["d"] = rows.register(operand)
            if fields["d"] == OPERAND_NONE and i.opcode in ANSWERED:
                fields["d"] = rows.dropped
            if words == 2 and fields["d"] != OPERAND_NONE:
                fields["dh"] = fields["d"] + 1
    for letter, operand in zip("bc", data, strict=False):
        fields[letter] = rows.source(operand, words)
        if words == 2:
            fields[letter + "h"] = fields[letter] + 1
    if name == "CAS128" and fields.get("d", OPERAND_NONE) in (OPERAND_NONE, rows.dropped):
        raise Refused("it is not simulated without a register for the old value")
    if not data:
        fields["b"] = rows.immediate(1)
    rows.add(i, _core.OPS[op][0], sub=_core.ATOMS[name], width=4 * words, **fields)


def _data(i: Instruction, address: Operand) -> list[Operand]:
    """The operands of the operation, of which counting has none."""
    data = list(i.operands[i.operands.index(address) + 1 :])
    wanted = 2 if {"CAS", "CAST"} & set(i.modifiers) else 0 if "POPC" in i.modifiers else 1
    if len(data) != wanted:
        raise Refused(f"it has {len(data)} operands behind its address, not {wanted}")
    return data


def _operation(i: Instruction) -> tuple[str, int]:
    """The operation of encoding.def, and how many words it is of."""
    operation = [word for word in i.modifiers if word in OPERATIONS]
    types = [word for word in i.modifiers if word in TYPES]
    unknown = [word for word in i.modifiers if word not in OPERATIONS | TYPES | IGNORED]
    if unknown or len(operation) != 1 or len(types) > 1:
        raise Refused(f".{'.'.join(unknown or i.modifiers)} is not simulated")
    kind = types[0] if types else "U32"
    words = WORDS.get(kind, 1)
    if "F" in kind:
        word = f"{kind}.FTZ" if "FTZ" in i.modifiers else kind
        if operation != ["ADD"] or word not in FLOATS:
            raise Refused(f".{'.'.join(i.modifiers)} is not simulated")
        return FLOATS[word], words
    name = "ADD" if "POPC" in i.modifiers else operation[0]
    if words == 4 and name not in ("EXCH", "CAS"):
        raise Refused(f".{'.'.join(i.modifiers)} is not simulated")
    if name in ("MIN", "MAX"):
        return f"{name}_{'S' if kind[0] == 'S' else 'U'}{32 * words}", words
    return name + {1: "", 2: "64", 4: "128"}[words], words
