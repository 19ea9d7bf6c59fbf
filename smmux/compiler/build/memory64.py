"""Elements of two and four words in memory: 64-bit numbers and complex ones."""

from __future__ import annotations

from collections.abc import Sequence

from smmux.compiler import ir
from smmux.compiler.build import words
from smmux.compiler.build.builder import Builder
from smmux.compiler.build.numbers import MACHINE_TYPE, Complex, Dtype, Kind, Value

WORD = 4


def layout(space: ir.Space, dtype: Dtype, elements: int) -> tuple[int, int]:
    """Bytes of what one access of an array moves, and how many of these it has.

    They are its elements, but the parts of complex numbers, which are aligned as these are, and the words of local
    memory."""
    part = dtype.size // 2 if dtype.complex else dtype.size
    if space is ir.Space.LOCAL:
        part = min(part, WORD)
    return part, elements * dtype.size // part


def number(kind: Kind, low: ir.Operand, high: ir.Operand) -> Value:
    """A number in two words."""
    return words.double(kind, (low, high)) if kind.double else words.integer(kind, (low, high))


def element(dtype: Dtype, parts: Sequence[ir.Operand]) -> Value | Complex:
    """An element in its words."""
    if not dtype.complex:
        return number(dtype.kind, parts[0], parts[1])
    if dtype.kind is Kind.FLOAT32:
        return Complex(Value(dtype.kind, parts[0]), Value(dtype.kind, parts[1]))
    return Complex(number(dtype.kind, parts[0], parts[1]), number(dtype.kind, parts[2], parts[3]))


def constant(target: ir.Storage, dtype: Dtype, index: int) -> Value | Complex:
    """The element of a constant array at an index that is known."""
    first = target.offset + dtype.size * index
    type = MACHINE_TYPE[dtype.kind]
    return element(dtype, [ir.ConstWord(first + i, type) for i in range(0, dtype.size, WORD)])


def load(code: Builder, target: ir.Storage, dtype: Dtype, address: ir.Operand, offset: int) -> Value | Complex:
    """The element at an index and a constant number of elements beside it."""
    dsts = tuple(code.reg(MACHINE_TYPE[dtype.kind]) for _ in range(dtype.size // WORD))
    op = "tex.1d" if target.space is ir.Space.TEXTURE else f"ld.{target.space.value}"
    for mem, at, picked in _accesses(code, target, address, offset, len(dsts)):
        code.append(ir.Instr(op, dsts[picked], (at,), code.loc, mem=mem))
    return element(dtype, dsts)


def store(code: Builder, target: ir.Storage, address: ir.Operand, offset: int, *data: ir.Operand) -> None:
    """Write the words of an element."""
    for mem, at, picked in _accesses(code, target, address, offset, len(data)):
        code.append(ir.Instr(f"st.{target.space.value}", (), (at, *data[picked]), code.loc, mem=mem))


def _accesses(
    code: Builder, target: ir.Storage, address: ir.Operand, offset: int, count: int
) -> list[tuple[ir.Mem, ir.Operand, slice]]:
    """The accesses of an element's words: each with its index and the words it moves."""
    width = target.element
    parts, each = count * WORD // width, width // WORD
    if parts == 1:
        return [(ir.Mem(target, width, offset), address, slice(0, count))]
    if isinstance(address, ir.Imm):
        first: ir.Operand = ir.Imm(address.bits * parts & 0xFFFFFFFF, ir.Type.S32)
    else:
        first = code.op("shl.b32", ir.Type.S32, address, words.immediate(parts.bit_length() - 1))
    return [(ir.Mem(target, width, parts * offset + i), first, slice(i * each, (i + 1) * each)) for i in range(parts)]
