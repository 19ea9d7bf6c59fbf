"""What decides which lanes go on, and where; special registers; what has no effect here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smmux import _core
from smmux.compiler.instruction import PT, RZ, Instruction
from smmux.compiler.program import OPERAND_NONE, OPERAND_SPECIAL
from smmux.compiler.sass.lowering.rows import Refused, Rows, bits_of

__all__ = ["CONTROL", "lower_control"]

SPECIALS = {
    **{f"SR_TID.{axis}": f"tid.{axis.lower()}" for axis in "XYZ"},
    "SR_LANEID": "laneid",
}
BLOCK_WIDE = {f"SR_CTAID.{axis}": f"ctaid.{axis.lower()}" for axis in "XYZ"}
ZERO = ("imm", 0)
FIXED: Mapping[str, Sequence[tuple[str, int]]] = {
    "SRZ": (ZERO, ZERO),
    "SR_CgaCtaId": (ZERO, ZERO),
    "SR_LMEMHIOFF": (ZERO, ZERO),
    "SR_SWINLO": (ZERO, ZERO),
    "SR_SWINHI": (("imm", _core.SASS_FIELDS["SHARED_HIGH"]), ZERO),
    **{f"SR_NTID.{axis}": (("ntid", k), ZERO) for k, axis in enumerate("XYZ")},
    **{f"SR_NCTAID.{axis}": (("nctaid", k), ZERO) for k, axis in enumerate("XYZ")},
}
"""Registers that are the same in a whole launch; local memory may be used from its first byte on."""
INSN_BYTES = 16
BRANCHES = {"ANY": 1, "DIV": 2, "CONV": 3}
"""enum sass_branch of csrc/kernel/sass.h."""
BMOV_CLEAR, BMOV_DROPPED = 1, 2
"""enum sass_bmov of it."""
FENCES = {"GPU": 1, "VC": 1, "SYS": 2}
"""enum sass_fence of it."""
BAR_COUNT = 1 << 13
"""enum sass_bar of it."""


def _target(i: Instruction) -> int:
    """The number of the instruction that a label names."""
    labels = [operand for operand in i.operands if operand.kind == "label"]
    if len(labels) != 1 or labels[0].target is None or labels[0].target % INSN_BYTES:
        raise Refused("its target is not in the kernel")
    return labels[0].target // INSN_BYTES


def _branch(rows: Rows, i: Instruction) -> None:
    """BRA: each lane for itself, or one decision of all: .U.ANY, .DIV and .CONV, which sm_75 has without a mask."""
    known = {"U", "ANY", "DIV", "CONV", "INC", "NOINC", "DEC", "NODEC"}
    if unknown := [word for word in i.modifiers if word not in known]:
        raise Refused(f".{unknown[0]} is not simulated")
    kinds = [kind for word, kind in BRANCHES.items() if word in i.modifiers]
    masks = [operand for operand in i.operands if operand.kind in ("UR", "R")]
    if len(masks) > ("DIV" in i.modifiers or "CONV" in i.modifiers):
        raise Refused("it is not simulated in this form")
    fields = {"a": rows.source(masks[0]) if masks else rows.immediate(0xFFFFFFFF)}
    rows.operation(i, "BRA", _predicate(rows, "PS0", i), imm=_target(i), q=kinds[0] if kinds else 0, **fields)


def _call(rows: Rows, i: Instruction) -> None:
    """A call of a function of this kernel: the address to return to is in a register already."""
    if set(i.modifiers) - {"REL", "ABS", "NOINC", "INC"}:
        raise Refused(f".{i.modifiers[-1]} is not simulated")
    place = i.operands[0]
    if place.kind == "label" and place.target is None:
        rows.operation(i, "JUMP", a=rows.constant(_routine(place.symbol)), q=_core.SASS_FIELDS["JUMP_ANYWHERE"])
    elif place.kind == "label":
        rows.operation(i, "CALL", imm=_target(i))
    else:
        _jump(rows, i, "JUMP_ANYWHERE" if "ABS" in i.modifiers else "JUMP_CALL")


def _routine(name: str) -> list[tuple[str, int]]:
    """The address of a routine outside of the code."""
    if name not in _core.SASS_ROUTINES:
        raise Refused(f"{name} is not simulated")
    return [("imm", _core.SASS_ROUTINES[name]), ("imm", _core.SASS_FIELDS["ROUTINE_HIGH"])]


def _jump(rows: Rows, i: Instruction, kind: str = "JUMP_INSIDE") -> None:
    """Go to the address in a pair of registers, from a label or a distance from the next instruction on."""
    predicates = [operand for operand in i.operands if operand.kind in ("P", "UP")]
    if any(operand.number != PT or operand.inverted for operand in predicates):
        raise Refused("it is not simulated with a predicate")
    register, *rest = [operand for operand in i.operands if operand not in predicates]
    offset = 0
    if rest and rest[0].kind == "label":
        offset = rest[0].target or 0
    elif rest:
        offset = i.address + INSN_BYTES + (bits_of(rest[0]) ^ 1 << 31) - (1 << 31)
    if register.kind == "R" and register.number == RZ:
        raise Refused("it jumps to nowhere")
    rows.operation(i, "JUMP", a=rows.source(register, 2), imm=offset, q=_core.SASS_FIELDS[kind])


def _next_address(rows: Rows, i: Instruction) -> None:
    """LEPC: the address of an instruction, without a label its own."""
    labels = [operand for operand in i.operands if operand.kind == "label"]
    address = (labels[0].target or 0) if labels else i.address
    rows.operation(i, "MOV_64", d=rows.register(i.operands[0]), a=rows.constant([("imm", address), ("imm", 0)]))


def _move_barrier(rows: Rows, i: Instruction) -> None:
    """BMOV: a barrier register to a register, or back."""
    if set(i.modifiers) - {"32", "CLEAR"}:
        raise Refused(f".{i.modifiers[-1]} is not simulated")
    first, second = i.operands
    if first.kind == "B":
        rows.operation(i, "BMOV", q=first.number, a=rows.source(second))
    else:
        d = rows.register(first)
        how = ("CLEAR" in i.modifiers) * BMOV_CLEAR | (d == OPERAND_NONE) * BMOV_DROPPED
        rows.operation(i, "BMOV_READ", q=second.number, d=d, imm=how)


def _fence(rows: Rows, i: Instruction) -> None:
    rows.add(i, _core.OPS["membar"][0], imm=next((FENCES[word] for word in i.modifiers if word in FENCES), 0))


def _trap(rows: Rows, i: Instruction) -> None:
    if i.modifiers != ("TRAP",):
        raise Refused("it is not simulated in this form")
    rows.operation(i, "TRAP")


def _barrier_register(name: str) -> Callable[[Rows, Instruction], None]:
    def lower(rows: Rows, i: Instruction) -> None:
        barriers = [operand for operand in i.operands if operand.kind == "B"]
        if i.modifiers or len(barriers) != 1:
            raise Refused("it is not simulated in this form")
        rows.operation(i, name, _predicate(rows, "PS0", i), q=barriers[0].number)

    return lower


def _plain(name: str) -> Callable[[Rows, Instruction], None]:
    def lower(rows: Rows, i: Instruction) -> None:
        if i.modifiers or any(operand.kind not in ("P",) or operand.number != PT for operand in i.operands):
            raise Refused("it is not simulated in this form")
        rows.operation(i, name)

    return lower


def _exit(rows: Rows, i: Instruction) -> None:
    """EXIT, of lanes for which a predicate holds beside the guard."""
    if i.modifiers or any(operand.kind not in ("P", "UP") for operand in i.operands):
        raise Refused("it is not simulated in this form")
    rows.operation(i, "EXIT", _predicate(rows, "PS0", i))


def _warpsync(rows: Rows, i: Instruction) -> None:
    """WARPSYNC: who does not name lanes waits for all. q: enum sass_sync of csrc/kernel/sass.h."""
    if unknown := set(i.modifiers) - {"ALL", "COLLECTIVE", "EXCLUSIVE"}:
        raise Refused(f".{unknown.pop()} is not simulated")
    masks = [operand for operand in i.operands if operand.kind in ("R", "UR", "imm")]
    lanes = rows.source(masks[0]) if masks else rows.immediate(0xFFFFFFFF)
    if "COLLECTIVE" in i.modifiers:
        rows.operation(i, "COLLECTIVE", a=lanes, imm=_target(i))
    else:
        rows.operation(i, "WARPSYNC", a=lanes, q=1 if "EXCLUSIVE" in i.modifiers else 0 if masks else 2)


def _block_barrier(rows: Rows, i: Instruction) -> None:
    """BAR: number and threads are numbers, or stand both in one register; each may be a number beside a register."""
    known, bits = _core.SASS["BAR"][4], 0
    for word in i.modifiers:
        if word not in known:
            raise Refused(f".{word} is not simulated")
        bits |= known[word]
    fields = {"q": 0, "a": OPERAND_NONE}
    numbers = [operand for operand in i.operands if operand.kind not in ("P", "UP")]
    if numbers and numbers[0].kind == "R":
        fields["a"] = rows.source(numbers[0])
        numbers = [operand for operand in numbers if operand.number != numbers[0].number or operand.kind != "R"]
    elif numbers:
        fields["q"] = bits_of(numbers.pop(0))
    if numbers and numbers[0].kind == "R" and fields["a"] == OPERAND_NONE:
        fields["a"] = rows.source(numbers.pop(0))
        bits |= BAR_COUNT
    elif numbers:
        fields["q"] |= bits_of(numbers.pop(0)) << 4
    if numbers:
        raise Refused(f"{numbers[0].text} is one operand too many")
    rows.operation(i, "BAR", _predicate(rows, "PS0", i), imm=bits, **fields)


def _reduced(rows: Rows, i: Instruction) -> None:
    """B2R: what the last barrier that reduces has found."""
    if i.modifiers != ("RESULT",):
        raise Refused("it is not simulated in this form")
    rows.operation(i, "B2R", _predicate(rows, "PD0", i), d=rows.register(i.operands[0]))


def _predicate(rows: Rows, field: str, i: Instruction) -> dict[str, int]:
    """The predicate among the operands, if there is one."""
    found = [operand for operand in i.operands if operand.kind in ("P", "UP")]
    if len(found) > 1:
        raise Refused(f"{found[1].text} is one predicate too many")
    return {field: rows.predicate(found[0])} if found else {}


def _await_copies(rows: Rows, i: Instruction) -> None:
    """DEPBAR: asynchronous copies count at SB0; what others count is awaited where it is read."""
    counter, *left = i.operands
    if counter.kind == "SB" and counter.number == 0 and i.modifiers == ("LE",) and counter.value is None:
        rows.operation(i, "DEPBAR", q=bits_of(left[0]))
    else:
        _nothing(rows, i)


def _nothing(rows: Rows, i: Instruction) -> None:
    rows.add(i, _core.OPS["nop"][0])


def _together(rows: Rows, i: Instruction) -> None:
    """NOP: what compilers make of a syncwarp where all lanes are together. Any other orders them for the check, too."""
    rows.add(i, _core.OPS["nop"][0], flags=_core.FLAGS["SYNCWARP"])


def _cache_control(rows: Rows, i: Instruction) -> None:
    """CCTL: what an acquiring fence does to the L1; all else is a hint."""
    if "IVALL" in i.modifiers:
        rows.operation(i, "IVALL")
    else:
        _nothing(rows, i)


def _sleep(rows: Rows, i: Instruction) -> None:
    """NANOSLEEP: lanes that sleep without the rest of their warp let others go on. Compilers rely on it in loops that
    wait for a lane of the same warp, where they put no YIELD."""
    sources = [operand for operand in i.operands if operand.kind in ("R", "UR", "imm", "const")]
    a = rows.source(sources[0]) if sources else rows.immediate(0)
    rows.operation(i, "SLEEP", a=a, q=int("WARP" in i.modifiers))


def _special(rows: Rows, i: Instruction) -> None:
    name = i.operands[1].text
    if name == "SR_CgaCtaId":
        _alone(rows)
    d = rows.register(i.operands[0])
    words = 2 if i.opcode == "CS2R" and "32" not in i.modifiers else 1
    if name in FIXED:
        rows.operation(i, "MOV" if words == 1 else "MOV_64", d=d, a=rows.constant(FIXED[name][:words]))
    elif name in SPECIALS and words == 1 and i.operands[0].kind == "R":
        rows.operation(i, "MOV_SPECIAL", d=d, a=OPERAND_SPECIAL | _core.SPECIALS[SPECIALS[name]])
    elif name in BLOCK_WIDE and words == 1:
        rows.operation(i, "MOV_SPECIAL", d=d, a=OPERAND_SPECIAL | _core.SPECIALS[BLOCK_WIDE[name]])
    elif name in _core.SASS_REGISTERS:
        rows.operation(i, "S2R" if words == 1 else "S2R_64", d=d, q=_core.SASS_REGISTERS[name])
    else:
        raise Refused(f"{name} is not simulated")


def _move_rpc(rows: Rows, i: Instruction) -> None:
    """RPCMOV: two words beside the registers, which take what is told of an asynchronous barrier."""
    known = {"Rpc.LO": rows.rpc, "Rpc.HI": rows.rpc + 1}
    to, of = i.operands
    if i.modifiers != ("32",) or (to.text in known) == (of.text in known):
        raise Refused("it is not simulated in this form")
    if to.text in known:
        rows.operation(i, "MOV", d=known[to.text], a=rows.source(of))
    else:
        rows.operation(i, "MOV", d=rows.register(to), a=known[of.text])


def _alone(rows: Rows) -> None:
    """A cluster of one block meets where it waits, and its block is the first."""
    if rows.layout.cluster > 1:
        raise Refused(f"clusters of {rows.layout.cluster} blocks are not simulated")


def _cluster_arrival(rows: Rows, i: Instruction) -> None:
    _alone(rows)
    _nothing(rows, i)


def _cluster_barrier(rows: Rows, i: Instruction) -> None:
    _alone(rows)
    rows.operation(i, "BAR", q=0, a=OPERAND_NONE)


CONTROL: Mapping[str, Callable[[Rows, Instruction], None]] = {
    "BRA": _branch,
    "EXIT": _exit,
    "BSSY": _barrier_register("BSSY"),
    "BSYNC": _barrier_register("BSYNC"),
    "BREAK": _barrier_register("BREAK"),
    "YIELD": _plain("YIELD"),
    "WARPSYNC": _warpsync,
    "ENDCOLLECTIVE": _plain("ENDCOLLECTIVE"),
    "BAR": _block_barrier,
    "B2R": _reduced,
    "NOP": _together,
    "ERRBAR": _plain("ERRBAR"),
    **dict.fromkeys(("CGAERRBAR", "FENCE", "PMTRIG"), _nothing),
    **dict.fromkeys(("PREEXIT", "ACQBULK"), _nothing),  # about the launch before and the one behind, of which is none
    "NANOSLEEP": _sleep,
    "CCTL": _cache_control,
    "UBLKPF": _nothing,  # what memory is to bring into the L2
    "MEMBAR": _fence,
    "LDGDEPBAR": _plain("LDGDEPBAR"),
    "DEPBAR": _await_copies,
    "CALL": _call,
    "RET": _jump,
    "BRX": _jump,
    "BRXU": _jump,
    "JMX": _jump,
    "JMXU": _jump,
    "LEPC": _next_address,
    "BMOV": _move_barrier,
    "BPT": _trap,
    "RPCMOV": _move_rpc,
    "UCGABAR_ARV": _cluster_arrival,
    "UCGABAR_WAIT": _cluster_barrier,
    "S2R": _special,
    "S2UR": _special,
    "CS2R": _special,
}


def lower_control(rows: Rows, instruction: Instruction) -> None:
    """Add the row of an instruction of control."""
    CONTROL[instruction.opcode](rows, instruction)
