"""Multiplication by 2^k + 1 and 2^k - 1 as shift and addition, where a 32-bit product is a sequence (CC 1.x)."""

from __future__ import annotations

from smmux.compiler.ir import Function, Imm, Instr, Type

__all__ = ["expand_products"]


def expand_products(function: Function) -> None:
    """Replace products that two cheap operations can compute."""
    for block in function.blocks:
        if not any(instr.op == "mul.lo.s32" for instr in block.instrs):
            continue
        result: list[Instr] = []
        for instr in block.instrs:
            factor = instr.srcs[1] if instr.op == "mul.lo.s32" else None
            if isinstance(factor, Imm) and instr.guard is None:
                _expand(function, instr, factor.bits, result)
            result.append(instr)
        block.instrs = result


def _expand(function: Function, instr: Instr, factor: int, result: list[Instr]) -> None:
    """x * (2^k + 1) = (x << k) + x, x * (2^k - 1) = (x << k) - x."""
    for op, power in (("add.s32", factor - 1), ("sub.s32", factor + 1)):
        if power > 1 and power & (power - 1) == 0:
            x = instr.srcs[0]
            shifted = function.reg(instr.dsts[0].type)
            shift = Imm(power.bit_length() - 1, Type.U32)
            result.append(Instr("shl.b32", (shifted,), (x, shift), instr.loc))
            instr.op, instr.srcs = op, (shifted, x)
            return
