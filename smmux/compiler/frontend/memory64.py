"""Elements of two words in memory."""

from __future__ import annotations

from smmux.compiler import ir
from smmux.compiler.frontend import words
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.typed_values import Dtype, Kind, Value

WORD = 4


def local_layout(size: int, elements: int) -> tuple[int, int]:
    """Bytes and number of the elements of a per-thread array in memory, which is accessed by words at most."""
    return (size, elements) if size <= WORD else (WORD, elements * size // WORD)


def number(kind: Kind, low: ir.Operand, high: ir.Operand) -> Value:
    """A number in two words."""
    return words.double(kind, (low, high)) if kind.double else words.integer(kind, (low, high))


def load(f: Frame, target: ir.Storage, dtype: Dtype, address: ir.Operand, offset: int) -> Value:
    """The element at an index and a constant number of elements beside it."""
    dsts: tuple[ir.Reg, ...] = (f.b.reg(ir.Type.U32), f.b.reg(ir.Type.U32))
    op = "tex.1d" if target.space is ir.Space.TEXTURE else f"ld.{target.space.value}"
    for mem, at, picked in _accesses(f, target, address, offset):
        f.b.append(ir.Instr(op, dsts[picked], (at,), f.b.loc, mem=mem))
    return number(dtype.kind, dsts[0], dsts[1])


def store(f: Frame, target: ir.Storage, address: ir.Operand, offset: int, value: Value) -> None:
    """Write an element of two words."""
    data: tuple[ir.Operand, ...] = words.words_of(f, value)
    for mem, at, picked in _accesses(f, target, address, offset):
        f.b.append(ir.Instr(f"st.{target.space.value}", (), (at, *data[picked]), f.b.loc, mem=mem))


def _accesses(f: Frame, target: ir.Storage, address: ir.Operand, offset: int) -> list[tuple[ir.Mem, ir.Operand, slice]]:
    """One access of eight bytes, or in local memory two of four: each with its index and the words it moves."""
    if target.space is not ir.Space.LOCAL:
        return [(ir.Mem(target, 2 * WORD, offset), address, slice(0, 2))]
    if isinstance(address, ir.Imm):
        first: ir.Operand = ir.Imm(address.bits * 2 & 0xFFFFFFFF, ir.Type.S32)
    else:
        first = f.b.op("shl.b32", ir.Type.S32, address, words.immediate(1))
    return [(ir.Mem(target, WORD, 2 * offset + i), first, slice(i, i + 1)) for i in (0, 1)]
