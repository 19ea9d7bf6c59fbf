"""Accesses to memory: which operation, how wide, and where the address comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smmux import _core
from smmux.compiler.instruction import PT, RZ, Instruction, Operand
from smmux.compiler.program import DATA_FIELDS, OPERAND_NONE, OPERAND_UNIFORM, SIGNED
from smmux.compiler.sass.lowering.rows import Refused, Rows

__all__ = ["ACCESSES", "GENERIC", "HINTS", "address_fields", "address_of", "lower_access"]

WIDE: int = _core.FLAGS["WIDE"]
GENERIC: int = _core.SASS_FIELDS["GENERIC"]
"""Of an access whose address says in which space it lies."""
STRONG: int = _core.SASS_FIELDS["STRONG"]
"""Of a load that sees what other SMs have written, or a store that they are to see: volatile ones, those that acquire
or release, and of atomic variables."""
NEAR: int = _core.SASS_FIELDS["NEAR"]
"""The same between threads of one block."""
BEYOND = frozenset(("GPU", "SYS"))
"""How far a strong access reaches, where that is beyond the L1."""
FORM: int = _core.SASS_FIELDS["FORM"]
DONE: int = _core.SASS_FIELDS["DONE"]
WIDTHS = {"U8": (1, 0), "S8": (1, SIGNED), "U16": (2, 0), "S16": (2, SIGNED), "64": (8, 0), "128": (16, 0)}
"""Bytes of a lane and flags, by the modifier that says so; without one a word."""
HINTS = frozenset("E U EF EL EU LU NA CONSTANT STRONG MMIO SM GPU SYS CTA WEAK LTC64B LTC128B LTC256B".split())
"""Modifiers that tell caches what to keep, or how strong an access is: all but loads act in one order here."""
COPY, COPY_NEGATED, COPY_ZFILL = 1, 2, 4
"""enum copy_kind of csrc/sm/sass/copy.h."""
SCALES = {"X4": 2, "X8": 3, "X16": 4}


def _loads(rows: Rows, i: Instruction, op: str, space: int) -> None:
    width, flags = _width(i)
    registers = _destination(rows, i.operands[0], width)
    fields = address_fields(rows, address_of(i), wide=op.endswith("global"), generic=space | _strong(i, op))
    fields["flags"] |= flags
    rows.add(i, _core.OPS[op][0], width=width, **fields, **registers)


def _strong(i: Instruction, op: str) -> int:
    """STRONG of an access to global memory that is, as one to a device's registers (MMIO), or NEAR; else 0."""
    words = set(i.modifiers)
    if not op.endswith("global") or not {"STRONG", "MMIO"} & words:
        return 0
    return STRONG if BEYOND & words else NEAR


def _destination(rows: Rows, operand: Operand, width: int) -> dict[str, int]:
    """The registers of what a load reads; if it is dropped, registers that nobody reads."""
    first = rows.register(operand)
    if first == OPERAND_NONE:
        first = rows.dropped
    return {name: first + k for k, name in enumerate(DATA_FIELDS[: max(1, width // 4)])}


def _stores(rows: Rows, i: Instruction, op: str, space: int) -> None:
    width, flags = _width(i)
    data = i.operands[-1]
    first = rows.register(data)
    count = max(1, width // 4)
    if first == OPERAND_NONE:
        registers = dict.fromkeys(DATA_FIELDS[:count], OPERAND_UNIFORM)
    else:
        registers = {name: first + k for k, name in enumerate(DATA_FIELDS[:count])}
    fields = address_fields(rows, address_of(i), wide=op.endswith("global"), generic=space | _strong(i, op))
    fields["flags"] |= flags
    rows.add(i, _core.OPS[op][0], width=width, **fields, **registers)


def _width(i: Instruction) -> tuple[int, int]:
    """Bytes of a lane, and flags."""
    found = (4, 0)
    for word in i.modifiers:
        if word in WIDTHS:
            found = WIDTHS[word]
        elif word not in HINTS:
            raise Refused(f".{word} is not simulated")
    return found


def address_of(i: Instruction) -> Operand:
    """The operand that is an address, if there is one alone."""
    found = [operand for operand in i.operands if operand.kind == "address"]
    if len(found) != 1:
        raise Refused("it has no address, or two")
    return found[0]


def address_fields(rows: Rows, address: Operand, wide: bool, generic: int = 0, done: int = PT) -> dict[str, int]:
    """The fields of an address. wide: it has 64 bits, as of global memory. generic: GENERIC or 0, with STRONG or NEAR.
    done: predicate that says where an atomic is done."""
    base = address.base is not None and address.base != RZ
    if address.select not in (("", "64", "U32") if wide else ("", *SCALES)):
        raise Refused(f"[...{address.select}] is not simulated")
    form = int(not base or address.select == "U32") if wide else SCALES.get(address.select, 0)
    fields = {
        "a": int(address.base or 0) if base else OPERAND_NONE,
        "imm": address.offset,
        "aux": ~(generic | form << FORM | done << DONE),
        "flags": WIDE,
    }
    if address.uniform is not None and address.uniform != rows.layout.zero_uniform:
        fields["ah"] = rows.layout.registers + address.uniform
    return fields


def _constants(rows: Rows, i: Instruction, op: str, space: int) -> None:
    """LDC and ULDC: a constant by a fixed or a computed place."""
    width, flags = _width(i)
    place = i.operands[1]
    if place.kind != "const":
        raise Refused(f"{place.text} stands where a constant is expected")
    registers = _destination(rows, i.operands[0], width)
    start = rows.bank(place.bank) + place.offset
    fields: dict[str, int] = {"a": OPERAND_NONE, **registers}
    if place.register is not None and place.register != RZ:
        fields["a"] = place.register
    elif place.uniform is not None and place.uniform != rows.layout.zero_uniform:
        fields["a"] = rows.layout.registers + place.uniform
    rows.add(i, _core.OPS["ld.const"][0], width=width, flags=flags | WIDE, imm=start, aux=~(PT << DONE), **fields)


def _uniform_constants(rows: Rows, i: Instruction, op: str, space: int) -> None:
    """ULDC: at a fixed place it takes the uniform datapath alone, as a constant operand does."""
    width, _ = _width(i)
    place = i.operands[1]
    fixed = place.kind == "const" and place.register in (None, RZ) and place.uniform in (None, rows.layout.zero_uniform)
    if not fixed or width not in (4, 8):
        _constants(rows, i, op, space)
        return
    start, words = rows.bank(place.bank) + place.offset, width // 4
    value = rows.constant([("const", start + 4 * word) for word in range(words)])
    d = _destination(rows, i.operands[0], width)["d"]
    rows.operation(i, "MOV" if words == 1 else "MOV_64", d=d, a=value)


def _matrices(rows: Rows, i: Instruction, op: str, space: int) -> None:
    """LDSM and STSM: 1, 2 or 4 matrices of halves, as they stand or turned."""
    known = {"16": 0, "M88": 0, "MT88": 0, "2": 1, "4": 3}
    if unknown := [word for word in i.modifiers if word not in known]:
        raise Refused(f".{unknown[0]} is not simulated")
    count = 1 + sum(known[word] for word in i.modifiers)
    data = i.operands[0] if op == "ld.shared" else i.operands[-1]
    if op == "ld.shared":
        registers = _destination(rows, data, 4 * count)
    else:
        first = rows.register(data)
        registers = {name: first + k for k, name in enumerate(DATA_FIELDS[:count])}
    fields = address_fields(rows, address_of(i), wide=False)
    kind = 2 if "MT88" in i.modifiers else 1
    rows.add(i, _core.OPS[op][0], width=4 * count, sub=kind, **fields, **registers)


def _copies(rows: Rows, i: Instruction, op: str, space: int) -> None:
    """LDGSTS: an asynchronous copy to shared memory. A predicate at the end says which lanes copy; others write
    zeros."""
    to, of = [operand for operand in i.operands if operand.kind == "address"]
    flags = set(i.modifiers) - {"BYPASS", "LTC128B", "LTC64B", "LTC256B", "ZFILL", "E", "64", "128"}
    if flags - HINTS or to.select:
        raise Refused("it is not simulated in this form")
    predicate = next((operand for operand in i.operands if operand.kind == "P"), None)
    number = predicate.number if predicate else PT
    kind = COPY | (COPY_NEGATED if predicate and predicate.inverted else 0) | ("ZFILL" in i.modifiers) * COPY_ZFILL
    fields = address_fields(rows, of, wide=True, done=number)
    fields["b"] = OPERAND_NONE if to.base in (None, RZ) else to.base
    fields["c"] = rows.immediate(to.offset)
    if to.uniform is not None and to.uniform != rows.layout.zero_uniform:
        fields["q"] = rows.layout.registers + to.uniform
    else:
        fields["q"] = OPERAND_NONE
    width = 16 if "128" in i.modifiers else 8 if "64" in i.modifiers else 4
    rows.add(i, _core.OPS[op][0], width=width, sub=kind, **fields)


def _space(rows: Rows, i: Instruction, op: str, space: int) -> None:
    """QSPC: whether a generic address lies in a space. Its offset does not lead out of one."""
    address = address_of(i)
    known = _core.SASS["QSPC"][4]
    unknown = [word for word in i.modifiers if word not in known]
    base = None if address.base == RZ else address.base
    if base is None and address.uniform not in (None, rows.layout.zero_uniform):
        base = rows.layout.registers + int(address.uniform or 0)
    elif address.uniform is not None:
        base = None
    if unknown or base is None or i.operands[1].number != RZ:
        raise Refused("it is not simulated in this form")
    bits = sum(known[word] for word in i.modifiers)
    rows.operation(i, "QSPC", {"PD0": rows.predicate(i.operands[0])}, a=base, imm=bits)


Access = Callable[[Rows, Instruction, str, int], None]

ACCESSES: Mapping[str, tuple[Access, str, int]] = {
    "LDG": (_loads, "ld.global", 0),
    "STG": (_stores, "st.global", 0),
    "LD": (_loads, "ld.global", GENERIC),
    "ST": (_stores, "st.global", GENERIC),
    "LDS": (_loads, "ld.shared", 0),
    "STS": (_stores, "st.shared", 0),
    "LDL": (_loads, "ld.local", 0),
    "STL": (_stores, "st.local", 0),
    "LDC": (_constants, "ld.const", 0),
    "LDGSTS": (_copies, "ld.global", 0),
    "LDSM": (_matrices, "ld.shared", 0),
    "STSM": (_matrices, "st.shared", 0),
    "QSPC": (_space, "", 0),
    "ULDC": (_uniform_constants, "ld.const", 0),
}
"""How each opcode is lowered, as which operation of ops.def, and the space of its address."""


def lower_access(rows: Rows, instruction: Instruction) -> None:
    """Add the row of an access."""
    how, op, space = ACCESSES[instruction.opcode]
    how(rows, instruction, op, space)
