"""The intermediate representation between the front end and the back end.

SSA-like: a `Reg` has one definition, except variables that are merged where control flow joins or loops
(`Reg.variable` is true), which are written by `mov` in each predecessor. Operation names are PTX names from
`csrc/tables/ops.def` (`smmux._core.OPS`). Every instruction carries the user's source location.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace


class Type(enum.Enum):
    """Machine types of registers and operands."""

    S32 = "s32"
    U32 = "u32"
    F32 = "f32"
    PRED = "pred"

    __hash__ = object.__hash__  # the members of this and the next ones are looked up often


class Space(enum.Enum):
    """PTX state spaces."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    TEXTURE = "tex"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's file: 1-based line and column."""

    filename: str
    line: int
    col: int


class Reg:
    """A virtual register."""

    __slots__ = ("id", "type", "name", "variable")

    def __init__(self, id: int, type: Type, name: str = "", variable: bool = False) -> None:
        self.id, self.type, self.name, self.variable = id, type, name, variable

    def __repr__(self) -> str:
        prefix = {Type.S32: "%r", Type.U32: "%r", Type.F32: "%f", Type.PRED: "%p"}[self.type]
        return f"{prefix}{self.id}"


@dataclass(frozen=True, slots=True)
class Imm:
    """A 32-bit immediate, held as its bits; for a predicate 0 or 1."""

    bits: int
    type: Type


@dataclass(frozen=True, slots=True)
class Param:
    """One 32-bit word of the kernel's parameters (a scalar, or the address of an array).

    wide: "s64", "u64", "f64", "c64" or "c128" for the first word of a scalar of 64 or 128 bits, "high" for the others,
    which follow.
    """

    word: int
    type: Type
    name: str = ""
    wide: str = ""


class SpecialName(enum.Enum):
    """Special registers; values differ per thread or block (PTX %tid, %ctaid, %laneid)."""

    TID_X = "tid.x"
    TID_Y = "tid.y"
    TID_Z = "tid.z"
    CTAID_X = "ctaid.x"
    CTAID_Y = "ctaid.y"
    CTAID_Z = "ctaid.z"
    LANEID = "laneid"
    NTID_X = "ntid.x"
    NTID_Y = "ntid.y"
    NTID_Z = "ntid.z"
    NCTAID_X = "nctaid.x"
    NCTAID_Y = "nctaid.y"
    NCTAID_Z = "nctaid.z"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Special:
    """Operand that reads a special register (ntid and nctaid are uniform)."""

    name: SpecialName
    type: Type = Type.S32


@dataclass(frozen=True, slots=True)
class ConstWord:
    """Operand that is a 32-bit word of the constant segment."""

    offset: int
    type: Type


Operand = Reg | Imm | Param | Special | ConstWord


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage that memory operations refer to.

    index: position among the launch's array arguments for a global array, among the declarations of its space for
    another. element: bytes per element (1 to 16; more if it is a record). elements: their number. offset: first byte in
    the shared, local or constant segment. param: parameter word with the address of a global array. dynamic: whether a
    shared array lies in the part that `smm.alloc` allocates and `smm.release` frees; its offset then counts from that
    part's start. align: bytes to which the first element of a global array is aligned. before: bytes of a global array
    that lie before its first element, which has some where an axis runs backwards. Views of one array (`.view(dtype)`)
    share its space, index and offset, and differ in the size of an element.
    """

    space: Space
    index: int
    name: str
    element: int
    elements: int
    offset: int = 0
    param: int = -1
    signed: bool = False
    dynamic: bool = False
    align: int = 256
    before: int = 0
    loc: Loc | None = None

    @property
    def nbytes(self) -> int:
        """Size of the whole array."""
        return self.element * self.elements


ANYWHERE = Storage(Space.GLOBAL, -1, "", 1, 1 << 32)
"""Global memory as a whole, for accesses through pointers, which name no array: their index is the byte address, and
the machine finds the array argument that it lies in."""


@dataclass(frozen=True, slots=True)
class Mem:
    """The memory side of a load, store or atomic.

    As long as `lowered` is false (front end, joining), `srcs[0]` of the instruction is an index in elements, and
    `offset` a constant number of elements beside it; afterwards `srcs[0]` is a byte address, and `offset` a number of
    bytes. width: bytes per lane, 1 to 16. atom: the atomic operation, a name of the core's table, such as "ADD".
    signed: whether a load of 1 or 2 bytes extends the sign. lines: the source line of each word of a joined access.
    """

    array: Storage
    width: int
    offset: int = 0
    atom: str = ""
    lowered: bool = False
    signed: bool = False
    lines: tuple[int, ...] = field(default=(), compare=False)


@dataclass(slots=True, eq=False)
class Instr:
    """One operation.

    op: a PTX name from the table, or a terminator: "bra" to `target`, "cbr" to `target` if the predicate srcs[0] is
    true and to `other` if not, "exit". dsts: results; loads of 8 and 16 bytes have two or four. srcs: sources in the
    order of the table; of memory operations first the index or address, then the data. guard: the predicate under which
    it executes, negated if guard_not. attrs: "sub" (option of a barrier, mode of a shuffle or vote), "bytes" (of an
    allocation), "isolate", "trap" (an index of the function's `traps`) and "text" (of a print: an index of its
    `texts`).
    """

    op: str
    dsts: tuple[Reg, ...] = ()
    srcs: tuple[Operand, ...] = ()
    loc: Loc | None = None
    guard: Reg | None = None
    guard_not: bool = False
    mem: Mem | None = None
    target: Block | None = None
    other: Block | None = None
    attrs: dict[str, int] = field(default_factory=dict)

    def copy(self, blocks: Mapping[Block | None, Block | None]) -> Instr:
        """The same instruction in a copy of its function, whose blocks stand for those of the function."""
        target = self.target and blocks.get(self.target)  # few instructions end a block
        other = self.other and blocks.get(self.other)
        return Instr(
            self.op, self.dsts, self.srcs, self.loc, self.guard, self.guard_not, self.mem, target, other, self.attrs
        )


@dataclass(frozen=True, slots=True)
class Trap:
    """What a trap instruction tells when it ends a launch.

    kind: "variable" that is read without having been assigned, "axis" that an index is outside of, "assert" or "raise".
    text: the variable's name, the axis in words, the condition as written, or the exception and its message. array: the
    name of the axis's array.
    """

    kind: str
    text: str
    array: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """What a print instruction prints: a value of a kind ("s32", ..., "f64", "bool", or "" for none) between texts."""

    before: str
    kind: str
    after: str


@dataclass(slots=True, eq=False)
class Block:
    """A basic block: straight code ended by one terminator ("bra", "cbr" or "exit")."""

    id: int
    instrs: list[Instr] = field(default_factory=list)

    @property
    def successors(self) -> tuple[Block, ...]:
        """Blocks that can follow."""
        last = self.instrs[-1]
        return tuple(b for b in (last.target, last.other) if b is not None)


@dataclass(slots=True, eq=False)
class Function:
    """A kernel in IR: its blocks in the order of the source, the entry first.

    params: one for each parameter word, in order; the word of an array is that array's `param`. line: the line of the
    `def`. traps and texts: those that trap and print instructions name. scalars: the place among the flattened
    arguments, and which of its words it is, by parameter word of an integer. indexed: whether indices are as they are
    because of what is known of the launch. guarded: operations that make indices safe. axes: by place and axis, in
    words, whether the index there is always outside the axis but perhaps inside the array.
    """

    name: str
    filename: str
    blocks: list[Block] = field(default_factory=list)
    arrays: list[Storage] = field(default_factory=list)
    shared_bytes: int = 0
    dynamic_bytes: int = 0
    local_bytes: int = 0
    const: bytes = b""
    params: list[Param] = field(default_factory=list)
    next_reg: int = 0
    line: int = 0
    traps: list[Trap] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    scalars: dict[int, tuple[int, int]] = field(default_factory=dict)
    indexed: bool = False
    guarded: int = 0
    axes: dict[tuple[Loc, str], bool] = field(default_factory=dict)

    def reg(self, type: Type, name: str = "", variable: bool = False) -> Reg:
        """A new virtual register."""
        self.next_reg += 1
        return Reg(self.next_reg - 1, type, name, variable)

    def block(self) -> Block:
        """A new block, not yet placed."""
        return Block(-1)

    def instrs(self) -> Iterator[Instr]:
        """All instructions in block order."""
        for block in self.blocks:
            yield from block.instrs

    def copy(self) -> Function:
        """The same code in new blocks and instructions; registers and arrays, which never change, are shared."""
        blocks: dict[Block | None, Block | None] = {block: Block(block.id) for block in self.blocks}
        for old, new in blocks.items():
            if old is not None and new is not None:
                new.instrs = [instr.copy(blocks) for instr in old.instrs]
        return replace(
            self,
            blocks=[block for block in blocks.values() if block is not None],
            arrays=list(self.arrays),
            params=list(self.params),
        )
