"""Rows of a program under construction: registers, constants and predicates as the core numbers them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from smmux import _core
from smmux.compiler.instruction import PT, RZ, Instruction, Operand
from smmux.compiler.program import INSN, OPERAND_NONE, OPERAND_UNIFORM

__all__ = ["ABSENT", "RPC", "SPARE", "Layout", "Refused", "Rows", "bits_of"]

NOT: int = _core.SASS_FIELDS["NOT"]
UNIFORM_BIT: int = 1 << _core.SASS_FIELDS["UNIFORM"]
PREDICATE_FIELDS = {name: _core.SASS_FIELDS[name] for name in ("PD0", "PD1", "PS0", "PS1", "PS2")}
ALL_TRUE: int = sum(PT << shift for shift in PREDICATE_FIELDS.values())
"""`aux` of an instruction that names no predicate."""
NO_COUNTER = 7
"""Stands for one of the six dependence counters."""
SPARE = 4
"""Uniform registers behind those of the code, into which loads go that drop what they read."""
RPC = 2
"""In front of them, where the code has RPCMOV."""
ABSENT = Operand("R", "RZ", number=RZ)
"""What stands for an operand that a form does without."""
UNIFORM_KINDS: Mapping[str, int] = _core.UNIFORMS


class Refused(Exception):
    """An instruction that is not simulated. args: the reason, in words that go on after the instruction's text."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a kernel's numbers lie. registers: per thread, below the uniform ones. uniforms: of these, how many.
    banks: where constant banks begin in the constant segment, by number. cluster: blocks of one."""

    registers: int
    uniforms: int
    banks: Mapping[int, int]
    zero_uniform: int = 63
    cluster: int = 1


@dataclass(slots=True)
class Rows:
    """The rows of one kernel.

    code: one tuple per instruction, in the order of INSN. uniforms: (kind, value) of each uniform row; the first four
    are zeros, so that RZ is as many words wide as an operand asks for.
    """

    layout: Layout
    code: list[tuple[int, ...]] = field(default_factory=list)
    uniforms: list[tuple[int, int]] = field(default_factory=lambda: [(UNIFORM_KINDS["imm"], 0)] * 4)
    _known: dict[tuple[tuple[int, int], ...], int] = field(default_factory=dict)

    def constant(self, words: Sequence[tuple[str, int]]) -> int:
        """The operand of uniform rows that hold these words, side by side: each a kind and its value."""
        rows = tuple((UNIFORM_KINDS[kind], value & 0xFFFFFFFF) for kind, value in words)
        if all(row == (UNIFORM_KINDS["imm"], 0) for row in rows) and len(rows) <= 4:
            return OPERAND_UNIFORM
        if rows not in self._known:
            self._known[rows] = len(self.uniforms)
            self.uniforms += rows
        return OPERAND_UNIFORM | self._known[rows]

    def immediate(self, value: int, words: int = 1) -> int:
        """The operand of an immediate; of several words the last holds it, as doubles have it."""
        return self.constant([*[("imm", 0)] * (words - 1), ("imm", value)])

    def register(self, operand: Operand) -> int:
        """The row of a register; OPERAND_NONE of one that is always zero."""
        if operand.kind == "UR":
            if operand.number == self.layout.zero_uniform:
                return OPERAND_NONE
            return self.layout.registers + operand.number
        if operand.kind != "R":
            raise Refused(f"{operand.text} stands where a register is expected")
        return OPERAND_NONE if operand.number == RZ else operand.number

    @property
    def dropped(self) -> int:
        """The first of the registers that take what is answered and that nobody reads."""
        return self.layout.registers + self.layout.uniforms - SPARE

    @property
    def rpc(self) -> int:
        """The first of two registers in front of them, for those that RPCMOV names."""
        return self.dropped - RPC

    def source(self, operand: Operand, words: int = 1, bits: int | None = None) -> int:
        """The operand of a value of so many words. bits: of an immediate, where its text does not give them."""
        if operand.kind in ("R", "UR"):
            row = self.register(operand)
            return self.constant([("imm", 0)] * words) if row == OPERAND_NONE else row
        if operand.kind == "imm":
            return self.immediate(bits_of(operand) if bits is None else bits, words)
        if operand.kind == "const" and operand.register is None and operand.uniform is None:
            start = self.bank(operand.bank) + operand.offset
            return self.constant([("const", start + 4 * word) for word in range(words)])
        raise Refused(f"{operand.text} stands where a value is expected")

    def bank(self, number: int) -> int:
        """Where a constant bank begins in the constant segment."""
        if number not in self.layout.banks:
            raise Refused(f"constant bank {number} is not simulated")
        return self.layout.banks[number]

    def predicate(self, operand: Operand) -> int:
        """The number of a predicate that is read, or written, with NOT if it is negated."""
        if operand.kind not in ("P", "UP"):
            raise Refused(f"{operand.text} stands where a predicate is expected")
        number = operand.number + (8 if operand.kind == "UP" else 0)
        return number | (NOT if operand.inverted or operand.negated else 0)

    def guard(self, instruction: Instruction) -> int:
        """The guard of an instruction, as rows have it; that of PT is none, and that of !PT as it is."""
        guard = instruction.guard
        if guard is None:
            return 0
        number = guard.predicate.number + (8 if guard.predicate.kind == "UP" else 0)
        return 1 + number | (_core.CONSTANTS["GUARD_NOT"] if guard.negated else 0)

    def add(self, instruction: Instruction, op: int, **fields: int) -> None:
        """Add the row of an instruction; operand fields that are not given are absent."""
        row = dict.fromkeys(INSN.names or (), 0)
        row |= dict.fromkeys(("d", "a", "b", "c", "dh", "ah", "bh", "ch"), OPERAND_NONE)
        row |= {"op": op, "guard": self.guard(instruction), "line": instruction.line, "control": _control(instruction)}
        row |= fields
        self.code.append(tuple(row[name] for name in INSN.names or ()))

    def operation(
        self, instruction: Instruction, name: str, predicates: Mapping[str, int] | None = None, **fields: int
    ) -> None:
        """Add the row of an operation of sass.def. predicates: numbers by field of `aux`, true where none is given."""
        number, traits = _core.SASS[name][:2]
        aux = UNIFORM_BIT if _is_uniform(instruction) and "cross" not in traits else 0
        for key, shift in PREDICATE_FIELDS.items():
            aux |= (predicates or {}).get(key, PT) << shift
        self.add(instruction, number, aux=aux, **fields)


def _is_uniform(instruction: Instruction) -> bool:
    """Whether an instruction acts once per warp: those of the uniform datapath, and those that write a uniform
    register. What asks for the active lanes says itself to which it writes."""
    return any(operand.kind in ("UR", "UP", "upr") for operand in instruction.operands[:1])


def _control(instruction: Instruction) -> int:
    """The control bits of an instruction, and what DEPBAR asks of counters, as the core's `control`."""
    bits, counter, left, wait = instruction.control, None, 0, instruction.control.wait
    if instruction.opcode == "DEPBAR":
        for operand in instruction.operands:
            if operand.kind == "SB" and operand.value is not None:
                wait |= int(operand.value)  # a set of counters, all to be zero
            elif operand.kind == "SB":
                counter = operand.number
            elif operand.kind == "imm":
                left = bits_of(operand)
    fields = {
        "STALL": bits.stall,
        "KEEP": int(bits.yields),
        "WRITE": NO_COUNTER if bits.write_barrier is None else bits.write_barrier,
        "READ": NO_COUNTER if bits.read_barrier is None else bits.read_barrier,
        "WAIT": wait,
        "REUSE": bits.reuse,
        "COUNTER": NO_COUNTER if counter is None else counter,
        "LEFT": left,
    }
    return sum(value << _core.SASS_CONTROL[name] for name, value in fields.items())


def bits_of(operand: Operand) -> int:
    """The 32 bits of an immediate, of a float those of its rounding."""
    value = operand.value
    if isinstance(value, float):
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    if value is None:
        raise Refused(f"{operand.text} is no number")
    return value & 0xFFFFFFFF
