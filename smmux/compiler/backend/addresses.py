"""Lowering of memory accesses: element index and array to a byte address in a register and a constant offset."""

from __future__ import annotations

from dataclasses import replace

from smmux.compiler.ir import Array, Function, Imm, Instr, Operand, Param, Space, Type

__all__ = ["lower_addresses"]


def lower_addresses(function: Function) -> None:
    """Give every access that still has an element index its byte address."""
    for block in function.blocks:
        result: list[Instr] = []
        for instr in block.instrs:
            if instr.mem is not None and not instr.mem.lowered:
                _lower(function, instr, result)
            result.append(instr)
        block.instrs = result


def base_offset(array: Array) -> int:
    """First byte of an array in its segment; global arrays begin at a parameter instead."""
    return 0 if array.space in (Space.GLOBAL, Space.TEXTURE) else array.offset


def _lower(function: Function, instr: Instr, result: list[Instr]) -> None:
    mem = instr.mem
    assert mem is not None
    array, index = mem.array, instr.srcs[0]
    offset = base_offset(array) + mem.offset * array.element
    address: Operand
    if isinstance(index, Imm):
        offset += index.bits * array.element
        address = Imm(0, Type.U32)
    elif array.element == 1:
        address = index
    else:
        scaled = function.reg(Type.U32)
        shift = Imm(array.element.bit_length() - 1, Type.U32)
        result.append(Instr("shl.b32", (scaled,), (index, shift), instr.loc))
        address = scaled
    if array.space is Space.GLOBAL:
        base = Param(array.param, Type.U32, array.name)
        if isinstance(address, Imm):
            address = base
        else:
            total = function.reg(Type.U32)
            result.append(Instr("add.s32", (total,), (base, address), instr.loc))
            address = total
    instr.srcs = (address, *instr.srcs[1:])
    instr.mem = replace(mem, offset=offset & 0xFFFFFFFF, lowered=True)
