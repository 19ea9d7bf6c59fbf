"""The instructions of a kernel of a cubin: texts by the vendor's disassembler, control bits from the words themselves.

The disassembler gets the words of the kernels alone, behind one another, and never the file: it names addresses instead
of symbols then, and a damaged file has no way to it. What is read is its plain text, not its JSON, which leaves out
modifiers that the disassembler does not know (`LDG.???0`) and takes the operand PR of P2R for a guard.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from smmux.compiler.instruction import PT, RZ, Control, Guard, Instruction, Kind, Operand, Place
from smmux.compiler.sass.cubin import Cubin, KernelImage
from smmux.compiler.sass.elf import Elf
from smmux.compiler.sass.lines import Row, read_lines
from smmux.compiler.sass.operands import parse_operand, split_operands
from smmux.compiler.sass.tools import disassemble
from smmux.errors import ConfigError, did_you_mean

__all__ = [
    "PT",
    "RZ",
    "Control",
    "Guard",
    "Instruction",
    "Kind",
    "Operand",
    "Place",
    "control_of",
    "parse_instruction",
    "read_kernel",
]

LABELLED = ("BRA", "BSSY", "CALL", "JMP", "LEPC", "RET")
"""Opcodes whose last number is an address in the code; so is that of WARPSYNC.COLLECTIVE."""
NO_COUNTER = 7


def read_kernel(cubin: Cubin, name: str) -> tuple[Instruction, ...]:
    """The instructions of a kernel, in the order of their addresses; instruction i lies at 16 i.

    Raises ConfigError for a name that the cubin lacks, without a disassembler, and for code that is not understood.
    """
    if name not in cubin.kernels:
        raise ConfigError(f"there is no kernel {name!r}{did_you_mean(name, cubin.kernels)}")
    return _instructions(cubin, name)


@lru_cache(64)
def _instructions(cubin: Cubin, name: str) -> tuple[Instruction, ...]:
    image = cubin.kernels[name]
    texts, base = _texts(cubin, name)
    places = _Places(_lines(cubin).get(image.section, []), image)
    functions = {address: symbol for symbol, (address, _) in image.functions.items()}
    zero = 63 if cubin.arch < 100 else 255
    found = []
    for index, (text, words) in enumerate(zip(texts, image.words.tolist(), strict=True)):
        address = 16 * index
        try:
            guard, opcode, modifiers, operands = parse_instruction(text, zero, base, functions)
        except ValueError as error:
            raise ConfigError(
                f"kernel {name!r} of sm_{cubin.arch}: {error.args[0]!r} in {text!r} at {address:#06x} is not understood"
            ) from None
        place, callers = places.at(address)
        found.append(
            Instruction(
                address=address,
                guard=guard,
                opcode=opcode,
                modifiers=modifiers,
                operands=operands,
                control=control_of(words[1]),
                text=_as_of_the_kernel(text, operands),
                file=place.file or None,
                line=place.line,
                callers=callers,
                encoding=(words[0], words[1]),
            )
        )
    return tuple(found)


def control_of(high: int) -> Control:
    """The control bits of an instruction, from its high word."""
    write, read = high >> 46 & 7, high >> 49 & 7
    return Control(
        stall=high >> 41 & 15,
        yields=bool(high >> 45 & 1),
        write_barrier=None if write == NO_COUNTER else write,
        read_barrier=None if read == NO_COUNTER else read,
        wait=high >> 52 & 63,
        reuse=high >> 58 & 15,
    )


_INSTRUCTION = re.compile(
    r"(?:@(?P<guard>!?U?P[0-7T]) )?(?P<opcode>[A-Z][A-Z0-9a-z_]*)(?P<modifiers>(?:\.\w+)*)(?: +(?P<operands>.+))?"
)


def parse_instruction(
    text: str, uniform_zero: int = 63, base: int = 0, functions: Mapping[int, str] | None = None
) -> tuple[Guard | None, str, tuple[str, ...], tuple[Operand, ...]]:
    """Guard, opcode, modifiers and operands of an instruction's text. ValueError with what is not understood.

    base: where the code begins in what was disassembled. functions: their symbols by address.
    """
    match = _INSTRUCTION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    opcode, modifiers = match["opcode"], tuple(match["modifiers"].split(".")[1:])
    operands = [parse_operand(part, uniform_zero) for part in split_operands(match["operands"] or "")]
    if operands and (opcode in LABELLED or (opcode == "WARPSYNC" and "COLLECTIVE" in modifiers)):
        last = operands[-1]
        if last.kind == "imm" and isinstance(last.value, int):
            target = last.value - (0 if "ABS" in modifiers else base)
            operands[-1] = Operand("label", hex(target), target=target, symbol=(functions or {}).get(target, ""))
    guard = match["guard"] and Guard(parse_operand(match["guard"].lstrip("!"), uniform_zero), match["guard"][0] == "!")
    return guard or None, opcode, modifiers, tuple(operands)


def _as_of_the_kernel(text: str, operands: tuple[Operand, ...]) -> str:
    """The text with the label, which comes last, as an address of the kernel."""
    if not operands or operands[-1].kind != "label":
        return text
    return re.sub(r"-?0x[0-9a-f]+$", operands[-1].text, text)


def _texts(cubin: Cubin, name: str) -> tuple[Sequence[str], int]:
    """The texts of a kernel's instructions, and where it began in what was disassembled.

    All kernels are disassembled at once, since a call takes half a second whatever it is given; if one of them cannot
    be, this one alone.
    """
    image = cubin.kernels[name]
    try:
        texts, start = _all_texts(cubin), _starts(cubin)[name]
    except ConfigError:
        if len(cubin.kernels) == 1:
            raise
        texts, start = _decoded(image.words.tobytes(), cubin.arch), 0
    return texts[start : start + len(image.words)], 16 * start


def _starts(cubin: Cubin) -> dict[str, int]:
    """The number of the first instruction of each kernel, all of them behind one another."""
    starts, at = {}, 0
    for name, image in cubin.kernels.items():
        starts[name] = at
        at += len(image.words)
    return starts


@lru_cache(16)
def _all_texts(cubin: Cubin) -> Sequence[str]:
    return _decoded(b"".join(image.words.tobytes() for image in cubin.kernels.values()), cubin.arch)


_LINE = re.compile(r"/\*([0-9a-f]+)\*/ +(.*?) *;")


STALL_AND_YIELD, ORDINARY = np.uint64(0x1F << 41), np.uint64(0x11 << 41)


def _decoded(words: bytes, arch: int) -> Sequence[str]:
    """The texts of instructions, which do not show stall counts and yield bits: cards take more of these than the
    disassembler does, so that it sees ordinary ones."""
    codes = np.frombuffer(words, np.uint64).reshape(-1, 2).copy()
    codes[:, 1] = codes[:, 1] & ~STALL_AND_YIELD | ORDINARY
    found = _LINE.findall(disassemble(codes.tobytes(), arch))
    if [int(address, 16) for address, _ in found] != list(range(0, len(words), 16)):
        raise ConfigError("the output of nvdisasm is not understood: install another release of it")
    return [re.sub(r" \(\*.*?\*\)", "", text) for _, text in found]


@lru_cache(16)
def _lines(cubin: Cubin) -> Mapping[int, list[Row]]:
    return read_lines(Elf(cubin.data), cubin.ptx)


class _Places:
    """Where the instructions of a kernel come from."""

    def __init__(self, rows: list[Row], image: KernelImage) -> None:
        self.rows, self.addresses = rows, [row.address for row in rows]
        self.functions = sorted(address for address, _ in image.functions.values())

    def at(self, address: int) -> tuple[Place, tuple[Place, ...]]:
        """Place and callers of an address. Functions of the compiler's own, such as a division, have no lines."""
        row = bisect.bisect_right(self.addresses, address) - 1
        function = bisect.bisect_right(self.functions, address) - 1
        start = self.functions[function] if function >= 0 else 0
        if row < 0 or self.addresses[row] < start:
            return Place("", 0), ()
        return self.rows[row].place, self.rows[row].callers
