"""The decoded kernel as the C core takes it (`csrc/tables/encoding.def`), and its listing in the words of PTX."""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.base.counted import counted
from smmux.compiler import pages
from smmux.compiler.ir import Loc, Space, Storage, Text, Trap
from smmux.compiler.launch_facts import Facts

if TYPE_CHECKING:
    from smmux.compiler.instruction import Instruction

__all__ = [
    "BAR_OPTIONS",
    "GUARD_NOT",
    "INSN",
    "MAX_INSNS",
    "MAX_PREDS",
    "NEGATE_Q",
    "NEGATE_QB",
    "OPERAND_NONE",
    "OPERAND_SPECIAL",
    "OPERAND_UNIFORM",
    "SHFL_MODES",
    "UNIFORM",
    "VOTE_MODES",
    "ParamWord",
    "Program",
    "Text",
]

INSN = np.dtype(_core.INSN)
"""struct insn."""

UNIFORM = np.dtype(_core.UNIFORM)
"""struct uniform."""

OPERAND_UNIFORM = _core.CONSTANTS["OPERAND_UNIFORM"]
OPERAND_SPECIAL = _core.CONSTANTS["OPERAND_SPECIAL"]
OPERAND_NONE = _core.CONSTANTS["OPERAND_NONE"]
GUARD_NOT = _core.CONSTANTS["GUARD_NOT"]
MAX_PREDS = _core.CONSTANTS["MAX_PREDS"]
MAX_INSNS = _core.CONSTANTS["MAX_INSNS"]

SIGNED = _core.FLAGS["SIGNED"]
NEGATE_Q = _core.FLAGS["NEGATE_Q"]
NEGATE_QB = _core.FLAGS["NEGATE_QB"]
ISOLATE = _core.FLAGS["ISOLATE"]
DYNAMIC = _core.FLAGS["DYNAMIC"]
SYNCWARP = _core.FLAGS["SYNCWARP"]
SYNCWARP_BEHIND = _core.FLAGS["SYNCWARP_BEHIND"]

BAR_OPTIONS = tuple(_core.BARRIERS)
SHFL_MODES = tuple(_core.SHUFFLES)
VOTE_MODES = tuple(_core.VOTES)

WIDE_PARAMS = {"s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}
"""Types of parameters that take two words or four, and their bytes."""

GLOBAL_OPCODES = ("LDG", "STG", "ATOMG", "RED", "REDG", "LDGSTS")
"""Opcodes of compiled code whose addresses are of device memory, and not of any."""

DATA_FIELDS = ("d", "b", "c", "q")
"""Fields that name the data registers of a load or store, in the order of the words."""


@cache
def op_names() -> tuple[str, ...]:
    """Names of the operations by code."""
    numbers = {name: row[0] for name, row in _core.OPS.items()} | {name: row[0] for name, row in _core.SASS.items()}
    return tuple(sorted(numbers, key=numbers.__getitem__))


@dataclass(frozen=True, slots=True)
class ParamWord:
    """One 32-bit word of the parameters. type: "s32", "u32", "f32", "ptr" (the address of an
    array), "tex" (that of a texture), or "s64", "u64", "f64", "c64" or "c128" for the first word of a scalar of 64
    or 128 bits and "high" for the others; array: position among the arrays."""

    name: str
    type: str
    array: int = -1


@dataclass(frozen=True, slots=True)
class Placed:
    """An array in device memory: its name, device address, bytes, and bytes of an element."""

    name: str
    address: int
    nbytes: int
    element: int


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled kernel: of Python (with facts, traps and texts), or machine code of another compiler ("compiled code":
    with instructions, pack and printer).

    code: the instructions, an array of INSN.
    uniforms: the operands that are the same for every thread, an array of UNIFORM.
    nregs, npreds: 32-bit registers and predicates per thread. uniform_regs: uniform registers per warp.
    shared_bytes: shared memory that a block holds from its start to its end. dynamic_bytes: the part of `smm.array`.
    reserved_bytes: bytes of shared_bytes that the compiler reserves for the driver, in front of the others where
        reserved_first is set, else behind them.
    smem_size: bytes of shared memory that compiled code reads from the special register SR_SMEMSZ.
    local_bytes: local memory per thread. const: the constant segment. launched_bytes: those at its beginning that come
        with a launch.
    params: the words of the parameters. arrays: the storage by which messages name an address.
    line: that of the `def`, 0 if there is no source.
    joined: by the number of an instruction that joins several accesses, the source line of each word.
    traps: the messages of trap instructions. texts: what is printed around the values.
    facts: what must hold of a launch; None if any launch will do.
    guarded: whether indices are checked by operations of the code.
    outside: places where an index is always outside of its axis, and a text that says so.
    pack, printer: functions of compiled code that make arguments of values, grid and block, and text of what is
        printed; None once the launch is over, since they hold its arrays.
    instructions: compiled code as its compiler wrote it. sources: texts of source files that are on no disk.
    places: where variables and arrays of compiled code lie in device memory.
    schedule: the compiler's order of instructions, "source" or "list"; empty where no compiler ordered them.
    """

    name: str
    filename: str
    code: NDArray[Any]
    uniforms: NDArray[Any]
    nregs: int
    npreds: int
    shared_bytes: int = 0
    dynamic_bytes: int = 0
    local_bytes: int = 0
    const: bytes = b""
    params: tuple[ParamWord, ...] = ()
    arrays: tuple[Storage, ...] = ()
    line: int = 0
    joined: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    traps: tuple[Trap, ...] = ()
    texts: tuple[Text, ...] = ()
    facts: Facts | None = None
    guarded: bool = False
    outside: tuple[tuple[Loc, str], ...] = ()
    uniform_regs: int = 0
    pack: Callable[..., Any] | None = field(default=None, repr=False)
    printer: Callable[[bytes, int], str] | None = field(default=None, repr=False)
    instructions: tuple[Instruction, ...] = field(default=(), repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    places: tuple[Placed, ...] = field(default=(), compare=False)
    schedule: str = field(default="", compare=False)  # the code says all that results depend on
    reserved_bytes: int = 0
    reserved_first: bool = False
    smem_size: int = 0
    launched_bytes: int = 0

    def __len__(self) -> int:
        return len(self.code)

    def param_bytes(self, pointer_bytes: int = 4) -> int:
        """Bytes of the parameters where a pointer takes `pointer_bytes`, each word aligned to its size.

        Textures are bound by reference and take none.
        """
        size = 0
        for word in self.params:
            if word.type in ("tex", "high"):
                continue
            width = pointer_bytes if word.type == "ptr" else WIDE_PARAMS.get(word.type, 4)
            size = -(-size // width) * width + width
        return size

    @property
    def shared_arrays(self) -> tuple[Storage, ...]:
        """The arrays in shared memory, in order of declaration."""
        return tuple(array for array in self.arrays if array.space is Space.SHARED)

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """Name of each instruction's operation."""
        names = op_names()
        return tuple(names[code] for code in self.code["op"].tolist())

    def file_of(self, pc: int) -> str:
        """The file that an instruction's line is of."""
        file = self.instructions[pc].file if pc < len(self.instructions) else None
        return file or self.filename

    def source(self, line: int, file: str | None = None) -> str:
        """The text of a line of a file, by default the program's own; empty where it cannot be read."""
        name = file or self.filename
        if name in self.sources:
            return "".join(self.sources[name].splitlines()[line - 1 : line]) if line > 0 else ""
        return linecache.getline(name, line).rstrip("\n")

    def line_of(self, pc: int, address: int) -> int:
        """The source line of an instruction; of a joined access, which is aligned, that of the word at the address."""
        words = self.joined.get(pc)
        return words[address // 4 % len(words)] if words else int(self.code["line"][pc])

    def element(self, pc: int, address: int) -> tuple[Storage, int] | None:
        """The shared, local or constant array that an instruction accesses, and the byte in it that an address of its
        space means; None where there is no such array."""
        space = self.ops[pc].split(".")[1] if "." in self.ops[pc] else ""
        dynamic, position = bool(self.code["flags"][pc] & DYNAMIC), int(self.code["aux"][pc])
        for array in self.arrays:
            if (array.space.value, array.index) == (space, position) and array.dynamic == dynamic:
                return array, address - array.offset
        return None

    def placed(self, pc: int, address: int, sure: bool = False) -> tuple[Placed, int] | None:
        """The array in device memory that an instruction of compiled code accesses there, or that lies next below, and
        the byte in it; None for other memory, or where addresses do not tell which it is. sure: it is device memory."""
        if not self.places or not (sure or self.instructions[pc].opcode in GLOBAL_OPCODES):
            return None
        place = max((p for p in self.places if p.address <= address), key=lambda p: p.address, default=self.places[0])
        return place, address - place.address

    def listing(self, source: bool = True, notes: Sequence[str] = ()) -> str:
        """The program as text: one instruction a line, in the manner of PTX or as the disassembler writes it, under the
        source lines it came from. notes: what stands in front of each instruction."""
        if self.instructions:
            size = f"{counted(len(self), 'instruction')}, {counted(self.nregs, 'register')}"
            head = f"{self.name}: {size}, shared {self.shared_bytes} bytes"
            return pages.listing(self.instructions[: len(self)], head, self.sources, notes)
        return "\n".join(_listing(self, source, notes)) + "\n"

    def __str__(self) -> str:
        return self.listing()


def _listing(program: Program, source: bool, notes: Sequence[str]) -> list[str]:
    resources = (
        f"{counted(program.nregs, 'register')}, {counted(program.npreds, 'predicate')}, "
        f"shared {program.shared_bytes} + {program.dynamic_bytes} dynamic, "
        f"local {program.local_bytes}, const {len(program.const)} bytes"
    )
    params = ", ".join(f".param .{word.type} {word.name}" for word in program.params)
    lines = [
        f"// {program.name}: {counted(len(program), 'instruction')}, {resources}",
        f".entry {program.name} ({params})",
    ]
    lines += [_declaration(array) for array in program.arrays if array.space is not Space.GLOBAL]
    targets = {int(t) for t, op in zip(program.code["imm"], program.ops, strict=True) if op == "bra"}
    targets |= {int(t) for t, op in zip(program.code["aux"], program.ops, strict=True) if op == "bra" and t >= 0}
    shown = 0
    for pc, insn in enumerate(program.code):
        if pc in targets:
            lines.append(f"L{pc}:")
        line = int(insn["line"])
        if source and line and line != shown:
            text = linecache.getline(program.filename, line).strip()
            lines.append(f"  // {program.filename.rsplit('/', 1)[-1]}:{line}" + (f"  {text}" if text else ""))
            shown = line
        note = f"  {notes[pc]}" if notes else ""
        lines.append(f"{note}  {pc:5d}  {_instruction(program, pc)}")
    return lines


def _declaration(array: Storage) -> str:
    kind = f".{array.space.value}" + (".dynamic" if array.dynamic else "")
    return f"  {kind} .b{8 * array.element} {array.name}[{array.elements}]  // at {array.offset}"


def _instruction(program: Program, pc: int) -> str:
    insn, op = program.code[pc], program.ops[pc]
    guard = int(insn["guard"])
    prefix = f"@{'!' if guard & GUARD_NOT else ''}%p{(guard & ~GUARD_NOT) - 1} " if guard else ""
    return prefix + _body(program, insn, op) + ";"


def _body(program: Program, insn: Any, op: str) -> str:
    operand = _Operands(program)
    sub, flags = int(insn["sub"]), int(insn["flags"])
    operands = _core.OPS[op][3].split(",")
    if op == "bra":
        aux = int(insn["aux"])
        join = "" if not insn["guard"] else "  // reconverges at " + (f"L{aux}" if aux >= 0 else "exit")
        return f"bra L{int(insn['imm'])}{join}"
    if op == "bar.sync":
        size = f" {int(insn['imm'])}" if sub and BAR_OPTIONS[sub] != ".grid" else ""
        return f"bar.sync{BAR_OPTIONS[sub]}{'.isolate' if flags & ISOLATE else ''}{size}"
    if "v" in operands:
        return _load_store(operand, insn, op)
    if op.startswith("atom"):
        atom = next(name for name, code in _core.ATOMS.items() if code == sub).lower()
        values = [_pair(operand, insn, f) for f in "bc" if insn[f] != OPERAND_NONE]
        old = _pair(operand, insn, "d")
        return f"{op}.{atom} {', '.join([old, _address(operand, insn), *values])}"
    if op == "shfl":
        op = f"shfl.{SHFL_MODES[sub]}.b32"
    elif op == "vote.pred":
        op = f"vote.{VOTE_MODES[sub]}.pred"
    if op == "print":
        text = program.texts[int(insn["imm"])]
        values = [operand(insn[f]) for f in "ab"[: len(text.kind) and (2 if text.kind.endswith("64") else 1)]]
        return f"print.{text.kind or 'text'} {', '.join([repr(text.before), *values, repr(text.after)])}"
    parts: list[str] = []
    for kind in filter(None, operands):
        if kind in ("p", "qa", "qb", "q"):
            negated = flags & (NEGATE_QB if kind == "qb" else NEGATE_Q) and kind != "p"
            field = {"p": "d", "qa": "a", "qb": "b", "q": "q"}[kind]
            parts.append(f"{'!' if negated else ''}%p{int(insn[field])}")
        elif kind.endswith("h"):  # the high word of the operand before
            parts[-1] = _pair(operand, insn, kind[0])
        elif kind[1:].isdigit():  # so many registers from that one on
            parts.append("{" + ", ".join(operand(insn[kind[0]] + i) for i in range(int(kind[1:]))) + "}")
        else:
            parts.append(operand(insn[kind], as_float=op.endswith("f32") and not op.startswith("cvt.rn")))
    return f"{op} {', '.join(parts)}" if parts else op


def _pair(operand: _Operands, insn: Any, field: str) -> str:
    """An operand, with its high word if it has one."""
    low, high = operand(insn[field]), insn[field + "h"]
    return low if high == OPERAND_NONE else f"{{{low}, {operand(high)}}}"


def _load_store(operand: _Operands, insn: Any, op: str) -> str:
    width, flags = int(insn["width"]), int(insn["flags"])
    words = max(1, width // 4)
    kind = f"{'s' if flags & SIGNED else 'u'}{8 * width}" if width < 4 else "b32"
    data = ", ".join(operand(insn[f]) for f in DATA_FIELDS[:words])
    vector = f".v{words}" if words > 1 else ""
    data = "{" + data + "}" if words > 1 else data
    address = _address(operand, insn)
    left, right = (address, data) if op.startswith("st") else (data, address)
    return f"{op}{vector}.{kind} {left}, {right}"


def _address(operand: _Operands, insn: Any) -> str:
    imm, base = int(insn["imm"]), int(insn["a"])
    dynamic = "smm:" if insn["flags"] & DYNAMIC else ""
    if base == OPERAND_NONE:
        return f"[{dynamic}{imm}]"
    return f"[{dynamic}{operand(base)}{f'{imm:+d}' if imm else ''}]"


class _Operands:
    """Text of operand fields."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __call__(self, field: int, as_float: bool = False) -> str:
        field = int(field)
        if field == OPERAND_NONE:
            return "_"
        if field & OPERAND_UNIFORM:
            row = self.program.uniforms[field & ~OPERAND_UNIFORM]
            return self.uniform(int(row["kind"]), int(row["value"]), as_float)
        if field & OPERAND_SPECIAL:
            code = field & ~OPERAND_SPECIAL
            return "%" + next(name for name, value in _core.SPECIALS.items() if value == code)
        return f"%r{field}"

    def uniform(self, kind: int, value: int, as_float: bool) -> str:
        name = next(name for name, code in _core.UNIFORMS.items() if code == kind)
        if name == "imm":
            if as_float:
                return f"0f{value:08X}" if value else "0f0"
            return str(struct.unpack("<i", struct.pack("<I", value))[0])
        if name == "param":
            params = self.program.params
            if value >= len(params) or not params[value].name:
                return f"[param{value}]"
            return f"[{params[value].name}{'+4' if params[value].type == 'high' else ''}]"
        if name == "const":
            return f"c[{value}]"
        return f"%{name}.{'xyz'[value]}"
