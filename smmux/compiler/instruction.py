"""An instruction of compiled GPU code as data: guard, opcode, operands, control bits, place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["NO_UNIFORM", "PT", "RZ", "Control", "Guard", "Instruction", "Kind", "Operand", "Place"]

RZ, PT = 255, 7
"""Numbers of the register that is always zero, and of the predicate that is always true (UPT too)."""
NO_UNIFORM = 63
"""Number of URZ up to sm_90; from sm_100 on it is 255."""

Kind = Literal[
    "R",
    "UR",
    "P",
    "UP",
    "B",
    "SB",
    "imm",
    "const",
    "cx",
    "address",
    "label",
    "special",
    "pr",
    "upr",
    "desc",
    "gdesc",
    "tmem",
]


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. Which fields have a meaning depends on the kind:

    * `R`, `UR`, `P`, `UP`, `B`, `SB`: `number` (RZ 255, URZ 63 or from sm_100 on 255, PT and UPT 7, `gsb0` is SB 0).
    * `pr`, `upr`: all predicates as one operand, as in `R2P PR, R0, 0x7f`.
    * `imm`: `value`, an int as printed (negative where the text is), or a float; an int has `text` beginning with 0x or
      -0x, or is decimal where the opcode counts in decimals; NaN and infinities are floats.
      The exact bits of a float stand in the instruction's `encoding`.
    * `const`: `c[bank][register + offset]` or `c[bank][uniform + offset]`.
    * `cx`: the same in a bank whose handle the uniform register `descriptor` holds.
    * `address`: `[base + uniform + offset]`, with `desc[descriptor]` before it where the text has one.
    * `label`: `target`, a byte address in the kernel's section (None: the symbol lies elsewhere), and `symbol`, if the
      text names one.
    * `special`: `text`, such as `SR_TID.X`.
    * `desc`, `gdesc`, `tmem`: a descriptor alone; `number` is its uniform register.

    select: suffixes without the leading dot, several joined by dots: `H0_H0`, `B1`, `64`, `U32`, `X4`, `SIGN`, `ROW`.
    For an address they are those of the base register.
    """

    kind: Kind
    text: str
    number: int = 0
    value: int | float | None = None
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    select: str = ""
    reuse: bool = False
    bank: int = 0
    base: int | None = None
    register: int | None = None
    uniform: int | None = None
    uniform_select: str = ""
    offset: int = 0
    descriptor: int | None = None
    target: int | None = None
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate, of kind `P` or `UP`, under which an instruction acts."""

    predicate: Operand
    negated: bool


@dataclass(frozen=True, slots=True)
class Control:
    """What the compiler tells the hardware with an instruction.

    stall: cycles to the warp's next issue. yields: the raw yield bit (bit 109). write_barrier, read_barrier: the
    counter (0 to 5) that drops when the result is there, or when the operands have been read; None where there is none.
    wait: mask of the counters that must be zero before it issues. reuse: mask of operand slots that stay in the operand
    cache.
    """

    stall: int
    yields: bool
    write_barrier: int | None
    read_barrier: int | None
    wait: int
    reuse: int


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source; line 0 with an empty file is nowhere. function: the inlined function's name, if any."""

    file: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a kernel.

    address: bytes from the start of the kernel's section. modifiers: the opcode's suffixes in order. text: all of it as
    the disassembler prints it. file and line: the innermost place in the source, None and 0 where it is unknown.
    callers: where that place was inlined, innermost first. encoding: the two 64-bit words, the low one first.
    """

    address: int
    guard: Guard | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    control: Control
    text: str
    file: str | None = None
    line: int = 0
    callers: tuple[Place, ...] = ()
    encoding: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Opcode with all modifiers, as `IMAD.WIDE.U32`."""
        return ".".join((self.opcode, *self.modifiers))
