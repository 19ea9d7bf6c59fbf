"""Accesses to memory: which operation, how wide, and where the address comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smmux import _core
from smmux.compiler.program import DATA_FIELDS, OPERAND_NONE, OPERAND_UNIFORM, SIGNED
from smmux.compiler.sass.instruction import RZ, Instruction, Operand
from smmux.compiler.sass.lowering.rows import Refused, Rows

__all__ = ["ACCESSES", "lower_access"]

WIDE: int = _core.FLAGS["WIDE"]
GENERIC: int = _core.SASS_FIELDS["GENERIC"]
WIDTHS = {"U8": (1, 0), "S8": (1, SIGNED), "U16": (2, 0), "S16": (2, SIGNED), "64": (8, 0), "128": (16, 0)}
"""Bytes of a lane and flags, by the modifier that says so; without one a word."""
HINTS = frozenset("E EF EL LU NA CONSTANT STRONG SM GPU SYS CTA WEAK LTC64B LTC128B LTC256B".split())
"""Modifiers that tell caches what to keep, or how strong an access is: accesses act in one order here."""
SCALES = {"X4": 2, "X8": 3, "X16": 4}


def _loads(rows: Rows, i: Instruction, op: str, aux: int) -> None:
    width, flags = _width(i)
    data, address = i.operands[0], _address(i)
    first = rows.register(data)
    count = max(1, width // 4)
    if first == OPERAND_NONE and count > 1:
        raise Refused("it drops a value of several words")
    registers = {name: first + k for k, name in enumerate(DATA_FIELDS[:count])} if first != OPERAND_NONE else {}
    _add(rows, i, op, address, width, flags, aux, registers)


def _stores(rows: Rows, i: Instruction, op: str, aux: int) -> None:
    width, flags = _width(i)
    data, address = i.operands[-1], _address(i)
    first = rows.register(data)
    count = max(1, width // 4)
    if first == OPERAND_NONE:
        registers = dict.fromkeys(DATA_FIELDS[:count], OPERAND_UNIFORM)
    else:
        registers = {name: first + k for k, name in enumerate(DATA_FIELDS[:count])}
    _add(rows, i, op, address, width, flags, aux, registers)


def _width(i: Instruction) -> tuple[int, int]:
    """Bytes of a lane, and flags."""
    found = (4, 0)
    for word in i.modifiers:
        if word in WIDTHS:
            found = WIDTHS[word]
        elif word not in HINTS:
            raise Refused(f".{word} is not simulated")
    return found


def _address(i: Instruction) -> Operand:
    found = [operand for operand in i.operands if operand.kind == "address"]
    if len(found) != 1:
        raise Refused("it has no address, or two")
    return found[0]


def _add(
    rows: Rows,
    i: Instruction,
    op: str,
    address: Operand,
    width: int,
    flags: int,
    aux: int,
    registers: Mapping[str, int],
) -> None:
    """Add an access. Addresses of global memory have 64 bits, others 32."""
    code = _core.OPS[op][0]
    wide = op.endswith("global")
    base = address.base is not None and address.base != RZ
    sub = SCALES.get(address.select, 0) if not wide else int(not base or address.select == "U32")
    if not wide and address.select not in ("", *SCALES):
        raise Refused(f"[...{address.select}] is not simulated")
    fields: dict[str, int] = dict(registers)
    fields["a"] = int(address.base or 0) if base else OPERAND_NONE
    if address.uniform is not None and address.uniform != rows.layout.zero_uniform:
        fields["dh"] = rows.layout.registers + address.uniform
    rows.add(i, code, width=width, flags=flags | WIDE, imm=address.offset, aux=aux, sub=sub, **fields)


def _constants(rows: Rows, i: Instruction, op: str, aux: int) -> None:
    """LDC and ULDC: a constant by a fixed or a computed place."""
    width, flags = _width(i)
    first, place = rows.register(i.operands[0]), i.operands[1]
    if place.kind != "const":
        raise Refused(f"{place.text} stands where a constant is expected")
    if first == OPERAND_NONE:
        raise Refused("it drops what it reads")
    count = max(1, width // 4)
    registers = {name: first + k for k, name in enumerate(DATA_FIELDS[:count])}
    start = rows.bank(place.bank) + place.offset
    fields: dict[str, int] = {"a": OPERAND_NONE, **registers}
    if place.register is not None and place.register != RZ:
        fields["a"] = place.register
    elif place.uniform is not None and place.uniform != rows.layout.zero_uniform:
        fields["a"] = rows.layout.registers + place.uniform
    rows.add(i, _core.OPS["ld.const"][0], width=width, flags=flags | WIDE, imm=start, aux=-1, **fields)


Access = Callable[[Rows, Instruction, str, int], None]

ACCESSES: Mapping[str, tuple[Access, str, int]] = {
    "LDG": (_loads, "ld.global", -1),
    "STG": (_stores, "st.global", -1),
    "LD": (_loads, "ld.global", GENERIC),
    "ST": (_stores, "st.global", GENERIC),
    "LDS": (_loads, "ld.shared", -1),
    "STS": (_stores, "st.shared", -1),
    "LDL": (_loads, "ld.local", -1),
    "STL": (_stores, "st.local", -1),
    "LDC": (_constants, "ld.const", -1),
    "ULDC": (_constants, "ld.const", -1),
}
"""How each opcode is lowered, as which operation of ops.def, and the space of its address."""


def lower_access(rows: Rows, instruction: Instruction) -> None:
    """Add the row of an access."""
    how, op, aux = ACCESSES[instruction.opcode]
    how(rows, instruction, op, aux)
