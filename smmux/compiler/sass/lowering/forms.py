"""Which operation an opcode is, and which of its operands goes where.

A pattern names operands in the order of the text: `d` is written, `a`, `b`, `c` are read, `pd0`, `pd1` are predicates
that are written and `ps0`, `ps1`, `ps2` ones that are read; `q` is a number. `?` marks one that may be absent, of which
only predicates are, so that its kind says whether it is there. `*2` behind a letter is how many registers it means, and
`+` that two immediates behind one another are its halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smmux import _core
from smmux.compiler.sass.instruction import Instruction, Operand
from smmux.compiler.sass.lowering.rows import Refused, Rows, bits_of

__all__ = ["FORMS", "Form", "find_form", "lower_form"]


@dataclass(frozen=True, slots=True)
class Form:
    """One row: opcode and the modifiers that choose this row, the operation of sass.def, the operands."""

    opcode: str
    modifiers: frozenset[str]
    operation: str
    pattern: tuple[str, ...]


def _rows(text: str) -> tuple[Form, ...]:
    """Forms of a table of lines `OPCODE.MOD.MOD = OPERATION pattern...`."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        left, _, right = line.partition(" = ")
        opcode, *modifiers = left.split(".")
        operation, *pattern = right.split()
        found.append(Form(opcode, frozenset(modifiers), operation, tuple(pattern)))
    return tuple(found)


INTEGER = _rows(
    """
    MOV = MOV d a q?
    UMOV = MOV d a
    IADD3 = IADD3 d pd0? pd1? a b c ps0? ps1?
    UIADD3 = IADD3 d pd0? pd1? a b c ps0? ps1?
    VIADD = IADD3 d a b
    IMAD = IMAD d a b c ps0?
    IMAD.WIDE = IMAD_WIDE d*2 pd0? a b c*2 ps0?
    UIMAD.WIDE = IMAD_WIDE d*2 pd0? a b c*2 ps0?
    UIMAD = IMAD d a b c ps0?
    LOP3 = LOP3 pd0? d a b c q ps0
    ULOP3 = LOP3 pd0? d a b c q ps0
    SHF = SHF d a b c
    USHF = SHF d a b c
    ISETP = ISETP pd0 pd1 a b ps0 ps1?
    UISETP = ISETP pd0 pd1 a b ps0 ps1?
    """
)

FLOAT = _rows(
    """
    FADD = FADD d a b
    FMUL = FMUL d a b
    FFMA = FFMA d a b c
    """
)

FORMS: tuple[Form, ...] = (*INTEGER, *FLOAT)


def _by_opcode(forms: tuple[Form, ...]) -> Mapping[str, tuple[Form, ...]]:
    """The forms of each opcode, those with the most modifiers first."""
    found: dict[str, list[Form]] = {}
    for form in sorted(forms, key=lambda form: -len(form.modifiers)):
        found.setdefault(form.opcode, []).append(form)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


_FORMS = _by_opcode(FORMS)


def find_form(instruction: Instruction) -> Form | None:
    """The form of an instruction: of those of its opcode the one that asks for the most of its modifiers."""
    given = set(instruction.modifiers)
    return next((form for form in _FORMS.get(instruction.opcode, ()) if form.modifiers <= given), None)


def lower_form(rows: Rows, instruction: Instruction, form: Form) -> None:
    """Add the row of an instruction of this form; Refused for a modifier or an operand that it does not know."""
    bits = _modifiers(instruction, form)
    fields: dict[str, int] = {}
    predicates: dict[str, int] = {}
    left = list(instruction.operands)
    for token in form.pattern:
        name, optional = token.rstrip("?"), token.endswith("?")
        name, both = name.rstrip("+"), name.endswith("+")
        name, _, count = name.partition("*")
        words = int(count or 1)
        if not left or (optional and not _fits(name, left[0])):
            if optional:
                continue
            raise Refused("it has too few operands")
        operand = left.pop(0)
        if name.startswith("p"):
            predicates[name.upper()] = rows.predicate(operand)
        elif name == "q":
            fields["q"] = bits_of(operand) & 0xFFFF
        elif name == "d":
            fields["d"] = rows.register(operand)
        else:
            if both and operand.kind == "imm" and left and left[0].kind == "imm":
                left.pop(0)
            fields[name] = rows.source(operand, words, _encoded(instruction, operand))
            bits |= _source_modifiers(form, name.upper(), operand)
    if left:
        raise Refused(f"{left[0].text} is one operand too many")
    rows.operation(instruction, form.operation, predicates, imm=bits, **fields)


def _fits(name: str, operand: Operand) -> bool:
    """Whether an operand is of the kind that an optional place takes."""
    return operand.kind == "imm" if name == "q" else operand.kind in ("P", "UP")


def _modifiers(instruction: Instruction, form: Form) -> int:
    """The bits of an instruction's modifiers, beside those that chose its form."""
    known = _core.SASS[form.operation][4]
    bits = 0
    for word in instruction.modifiers:
        if word in form.modifiers:
            continue
        if word not in known:
            raise Refused(f".{word} is not simulated")
        bits |= known[word]
    return bits


def _source_modifiers(form: Form, slot: str, operand: Operand) -> int:
    """The bits of what stands at an operand: signs, and the part of a register that it takes."""
    fields, bits = _core.SASS_FIELDS, 0
    if operand.kind != "imm":
        bits |= fields[f"NEG_{slot}"] if operand.negated else 0
        bits |= fields[f"ABS_{slot}"] if operand.absolute else 0
        bits |= fields[f"INV_{slot}"] if operand.inverted else 0
    if operand.select:
        known = _core.SASS[form.operation][4]
        word = f"{slot}.{operand.select}"
        if word not in known:
            raise Refused(f"{operand.text} is not simulated")
        bits |= known[word]
    return bits


def _encoded(instruction: Instruction, operand: Operand) -> int | None:
    """The bits of an immediate operand, which lie in the high half of the first word; None where it has no words."""
    if operand.kind != "imm" or instruction.encoding == (0, 0):
        return None
    return instruction.encoding[0] >> 32
