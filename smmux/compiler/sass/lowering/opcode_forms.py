"""Which operation an opcode is, and which of its operands goes where.

A pattern names operands in the order of the text: `d` is written, `a`, `b`, `c` are read, `pd0`, `pd1` are predicates
that are written and `ps0`, `ps1`, `ps2` ones that are read, as are `s0`, `s1`, `s2`, for which the signs of `a`, `b`,
`c` may stand; `q` is a number and `qh` one in its high half; `_` has no field. `-`, `~`, `|` before a letter are signs
that the operand may bear. `?` marks one that may be absent, as its kind says; what stands for it then may be behind
`=`. `*2` behind a letter is how many registers it means, and `+` that two immediates behind one another are its halves.
Behind the number of registers `^` marks an immediate of integers that is the highest word, zeros below.
`.NAME` is a modifier that the form stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smmux import _core
from smmux.compiler.instruction import Instruction, Operand
from smmux.compiler.sass.lowering.rows import Refused, Rows, bits_of

__all__ = ["FORMS", "Form", "find_form", "lower_form"]


@dataclass(frozen=True, slots=True)
class Form:
    """One row: opcode and the modifiers that choose this row, the operation of sass.def, the operands. signs: what may
    stand before any of them, beside what the pattern says."""

    opcode: str
    modifiers: tuple[str, ...]
    operation: str
    pattern: tuple[str, ...]
    signs: str = "-~|"


def _rows(text: str, signs: str = "-~|") -> tuple[Form, ...]:
    """Forms of a table of lines `OPCODE.MOD.MOD = OPERATION pattern...`."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        left, _, right = line.partition(" = ")
        opcode, *modifiers = left.split(".")
        operation, *pattern = right.split()
        found.append(Form(opcode, tuple(modifiers), operation, tuple(pattern), signs))
    return tuple(found)


INTEGER = _rows(
    """
    MOV = MOV d a
    UMOV = MOV d a
    IADD3 = IADD3 d pd0? pd1? ~-a ~-b ~-c ps0? ps1?
    UIADD3 = IADD3 d pd0? pd1? ~-a ~-b ~-c ps0? ps1?
    UIADD3.64 = IADD3_64 d*2 -a*2 -b*2 -c*2
    VIADD = VIADD d a -b
    VIADD.16x2 = VIADD_16 d a -b
    IMAD = IMAD d -a -b ~-c ps0?
    IMAD.WIDE = IMAD_WIDE d*2 pd0? -a -b ~-c*2 ps0?
    IMAD.HI = IMAD_HI d pd0? -a -b ~-c*2 ps0?
    UIMAD = IMAD d -a -b ~-c ps0?
    UIMAD.WIDE = IMAD_WIDE d*2 pd0? -a -b ~-c*2 ps0?
    UIMAD.HI = IMAD_HI d pd0? -a -b ~-c*2 ps0?
    LEA = LEA d pd0? ~-a ~-b q ps0?
    LEA.HI = LEA d pd0? ~-a ~-b c q ps0?
    LEA.HI.SX32 = LEA d pd0? ~-a ~-b q ps0?
    ULEA = LEA d pd0? ~-a ~-b q ps0?
    ULEA.HI = LEA d pd0? ~-a ~-b c q ps0?
    ULEA.HI.SX32 = LEA d pd0? ~-a ~-b q ps0?
    LOP3 = LOP3 pd0? d a b c q ps0
    ULOP3 = LOP3 pd0? d a b c q ps0
    SHF = SHF d a b c
    USHF = SHF d a b c
    ISETP = ISETP pd0 pd1 a b ps0 ps1?
    UISETP = ISETP pd0 pd1 a b ps0 ps1?
    SEL = SEL d a b ps0
    USEL = SEL d a b ps0
    IABS = IABS d a
    PRMT = PRMT d a b c
    UPRMT = PRMT d a b c
    SGXT = SGXT d a b
    USGXT = SGXT d a b
    BMSK = BMSK d a b
    UBMSK = BMSK d a b
    POPC = POPC d ~a
    UPOPC = POPC d ~a
    BREV = BREV d ~a
    UBREV = BREV d ~a
    FLO = FLO d pd0? ~a
    UFLO = FLO d pd0? ~a
    IMNMX = IMNMX d a b ps0
    VIMNMX = IMNMX d a b ps0
    VIMNMX.S16x2 = IMNMX d pd0? pd1? a b ps0
    VIMNMX.U16x2 = IMNMX d pd0? pd1? a b ps0
    VIMNMX3 = VIMNMX3 d a b c ps0
    VIADDMNMX = VIADDMNMX d a -b c ps0
    VABSDIFF = VABSDIFF d a b c
    VABSDIFF4 = VABSDIFF4 d a b c
    IDP.4A = IDP_4A d a b -c
    IDP.2A = IDP_2A d a b -c
    I2I.SAT = I2I d a
    I2IP = I2IP d a b c
    F2IP.NTZ = F2IP d a b c
    """,
    signs="",
)

PREDICATES = _rows(
    """
    PLOP3 = PLOP3 pd0 pd1 s0 s1 s2 q qh
    UPLOP3 = PLOP3 pd0 pd1 s0 s1 s2 q qh
    R2P = R2P _ a q=0xff?
    P2R = P2R d _ a q
    UR2UP = R2P _ a q=0xff?
    UP2UR = P2R d _ a q
    """,
    signs="",
)

LANES = _rows(
    """
    SHFL = SHFL pd0 d a b c
    VOTE = VOTE d? pd0 ps0
    VOTEU = VOTEU d? pd0 ps0
    MATCH = MATCH pd0? d a
    MATCH.U64 = MATCH_64 pd0? d a*2
    REDUX = REDUX d a
    ELECT = ELECT pd0 d ps0
    R2UR = R2UR pd0? d a
    """,
    signs="",
)

FLOAT = _rows(
    """
    FADD = FADD d a b
    FMUL = FMUL d a b
    FFMA = FFMA d a b c
    FMNMX = FMNMX d a b ps0
    FSETP = FSETP pd0 pd1 a b ps0
    FSET = FSET d a b ps0
    FSEL = FSEL d a b ps0
    FCHK = FCHK pd0 a b
    MUFU = MUFU d a
    MUFU.RCP64H = MUFU_64H d a
    MUFU.RSQ64H = MUFU_64H d a
    DADD = DADD d*2 a*2 b*2
    DMUL = DMUL d*2 a*2 b*2
    DFMA = DFMA d*2 a*2 b*2 c*2
    DSETP = DSETP pd0 pd1 a*2 b*2 ps0
    F2I = F2I d a
    F2I.F64 = F2I_32_64 d a*2
    F2I.S64 = F2I_64_32 d*2 a
    F2I.U64 = F2I_64_32 d*2 a
    F2I.S64.F64 = F2I_64_64 d*2 a*2
    F2I.U64.F64 = F2I_64_64 d*2 a*2
    FRND = FRND d a
    FRND.F64 = FRND_64 d*2 a*2
    I2F = I2F d a
    I2FP = I2FP d a
    I2F.F64 = I2F_64_32 d*2 a
    I2F.S64 = I2F_32_64 d a*2^
    I2F.U64 = I2F_32_64 d a*2^
    I2F.F64.S64 = I2F_64_64 d*2 a*2^
    I2F.F64.U64 = I2F_64_64 d*2 a*2^
    F2F.F16.F32 = F2F d a
    F2F.BF16.F32 = F2F d a
    F2F.F32.F32 = F2F d a
    F2F.F32.F16 = F2F_HALF d a
    F2F.F32.BF16 = F2F_HALF d a
    F2F.F32.F64 = F2F_32_64 d a*2
    F2F.F16.F64 = F2F_32_64 d a*2
    F2F.BF16.F64 = F2F_32_64 d a*2
    F2F.F64.F32 = F2F_64_32 d*2 a
    F2F.F64.F16 = F2F_64_32 d*2 a
    F2F.F64.BF16 = F2F_64_32 d*2 a
    F2FP.PACK_AB = F2FP d a b
    F2FP.PACK_B = F2FP_TF32 d a
    F2FP.PACK_AB_MERGE_C = F2FP_BYTES d a b c
    F2FP.UNPACK_B_MERGE_C = F2FP_BYTES_F16 d a c
    F2FP.UNPACK_B = F2FP_UNPACK d a
    HADD2 = HADD2 d a+ b+
    HADD2.F32 = HADD2_F32 d a b+
    HMUL2 = HMUL2 d a b+
    HFMA2 = HFMA2 d a b+ c+
    HMNMX2 = HMNMX2 d a b+ ps0
    VHMNMX = VHMNMX d a b+ c+ ps0
    HSETP2 = HSETP2 pd0 pd1 a b+ ps0
    HSET2 = HSET2 d a b+ ps0
    """
)

MATRIX = _rows(
    """
    HMMA.1688.F32 = HMMA_1688_F32 d*4 a*2 b c*4
    HMMA.1684.F32.TF32 = HMMA_1688_F32 d*4 a*2 b c*4
    HMMA.1688.F16 = HMMA_1688_F16 d*2 a*2 b c*2
    HMMA.16816.F32 = HMMA_16816_F32 d*4 a*4 b*2 c*4
    HMMA.1688.F32.TF32 = HMMA_16816_F32 d*4 a*4 b*2 c*4
    HMMA.16816.F16 = HMMA_16816_F16 d*2 a*4 b*2 c*2
    DMMA.8x8x4 = DMMA_8X8X4 d*4 a*2 b*2 c*4
    DMMA.884 = DMMA_8X8X4 d*4 a*2 b*2 c*4
    DMMA.16x8x4 = DMMA_16X8X4 d*8 a*4 b*2 c*8
    DMMA.16x8x8 = DMMA_16X8X8 d*8 a*8 b*4 c*8
    DMMA.16x8x16 = DMMA_16X8X16 d*8 a*16 b*8 c*8
    BMMA.88128 = IMMA_8816 d*2 a b c*2
    BMMA.168128 = IMMA_16816 d*4 a*2 b c*4
    BMMA.168256 = IMMA_16832 d*4 a*4 b*2 c*4
    MOVM.16.MT88 = MOVM d a
    """
) + _rows(
    "\n".join(
        f"IMMA.{shape}.{'US'[a]}{bits}.{'US'[b]}{bits} = {operation}"
        + " .UNSIGNED_A" * (not a)
        + " .UNSIGNED_B" * (not b)
        for bits, shapes in ((8, ("8816", "16816", "16832")), (4, ("8832", "16832", "16864")))
        for shape, operation in zip(
            shapes, ("IMMA_8816 d*2 a b c*2", "IMMA_16816 d*4 a*2 b c*4", "IMMA_16832 d*4 a*4 b*2 c*4"), strict=True
        )
        for a in (False, True)
        for b in (False, True)
    )
)

FORMS: tuple[Form, ...] = (*INTEGER, *PREDICATES, *LANES, *FLOAT, *MATRIX)


def _by_opcode(forms: tuple[Form, ...]) -> Mapping[str, tuple[Form, ...]]:
    """The forms of each opcode, those with the most modifiers first."""
    found: dict[str, list[Form]] = {}
    for form in sorted(forms, key=lambda form: -len(form.modifiers)):
        found.setdefault(form.opcode, []).append(form)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


_FORMS = _by_opcode(FORMS)


def find_form(instruction: Instruction) -> Form | None:
    """The form of an instruction: of those of its opcode the one that asks for the most of its modifiers, in order."""
    return next((form for form in _FORMS.get(instruction.opcode, ()) if _asked(form, instruction)), None)


def _asked(form: Form, instruction: Instruction) -> bool:
    given = iter(instruction.modifiers)
    return all(word in given for word in form.modifiers)


def lower_form(rows: Rows, instruction: Instruction, form: Form) -> None:
    """Add the row of an instruction of this form; Refused for a modifier or an operand that it does not know."""
    bits = _modifiers(instruction, form)
    fields: dict[str, int] = {}
    predicates: dict[str, int] = {}
    left = list(instruction.operands)
    for token in form.pattern:
        if token.startswith("."):
            bits |= _core.SASS[form.operation][4][token[1:]]
            continue
        name, optional = token.lstrip("-~|").rstrip("?"), token.endswith("?")
        name, _, absent = name.partition("=")
        name, both, high = name.rstrip("+^"), name.endswith("+"), name.endswith("^")
        name, _, count = name.partition("*")
        words = int(count or 1)
        if not left or (optional and not _fits(name, left[0])):
            if not optional:
                raise Refused("it has too few operands")
            if absent:
                fields[name] = int(absent, 0)
            continue
        operand = left.pop(0)
        if name.startswith("s") and operand.kind not in ("P", "UP"):
            name = "abc"[int(name[1])]
        if name.startswith(("p", "s")):
            predicates[f"PS{name[1]}" if name[0] == "s" else name.upper()] = rows.predicate(operand)
        elif name.startswith("q"):
            fields["q"] = fields.get("q", 0) | (bits_of(operand) << (8 if name == "qh" else 0) & 0xFFFF)
        elif name == "d":
            fields["d"] = rows.register(operand)
        elif name != "_":
            _check_signs(operand, token + form.signs)
            if both and operand.kind == "imm" and left and left[0].kind == "imm":
                left.pop(0)
            if words > 1 and isinstance(operand.value, int) and operand.value and not high:
                raise Refused(f"{operand.text} of {words} words is not simulated")
            if form.operation == "SGXT" and operand.kind == "const":
                raise Refused(
                    "ptxas writes a wrong place where szext takes a parameter as it is (copy it through an `and`)"
                )
            fields[name] = rows.source(operand, words, _encoded(instruction, operand))
            bits |= _source_modifiers(form, name.upper(), operand)
    if left:
        raise Refused(f"{left[0].text} is one operand too many")
    rows.operation(instruction, form.operation, predicates, imm=(bits ^ 1 << 31) - (1 << 31), **fields)


def _check_signs(operand: Operand, allowed: str) -> None:
    """Refuse an operand with a sign that its operation does not take. An immediate has none, but for its value."""
    given = (operand.negated, "-"), (operand.inverted, "~"), (operand.absolute, "|")
    if operand.kind != "imm" and any(there and sign not in allowed for there, sign in given):
        raise Refused(f"{operand.text} is not simulated here")


def _fits(name: str, operand: Operand) -> bool:
    """Whether an operand is of the kind that an optional place takes."""
    return operand.kind in {"q": ("imm",), "d": ("R", "UR")}.get(name, ("P", "UP"))


def _modifiers(instruction: Instruction, form: Form) -> int:
    """The bits of an instruction's modifiers; those that chose its form need none. Two behind one another may be one,
    as types are."""
    known = _core.SASS[form.operation][4]
    bits = 0
    left = list(instruction.modifiers)
    while left:
        word = left.pop(0)
        if left and f"{word}.{left[0]}" in known:
            word = f"{word}.{left.pop(0)}"
        if word not in known and word not in form.modifiers:
            raise Refused(f".{word} is not simulated")
        bits |= known.get(word, 0)
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
    """The bits of a float operand, which lie in the high half of the first word; None where the text gives them."""
    if not isinstance(operand.value, float) or instruction.encoding == (0, 0):
        return None
    return instruction.encoding[0] >> 32
