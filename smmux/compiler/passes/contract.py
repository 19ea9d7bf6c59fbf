"""Contraction: a product whose one reader is an addition in its block becomes a multiply-add.

`mad` rounds the product as `mul` does, so nothing changes but the count; `fma.rn`, where the machine fuses, rounds
once, as nvcc's default (-fmad=true) does. Sums of float64 products stay as they are on every machine: that is NumPy's
value, and what the functions of float64 rely on, whose error terms a contraction would change.
"""

from __future__ import annotations

from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg, Type

__all__ = ["contract"]


def contract(function: Function, fused: bool) -> None:
    """Form multiply-adds of integers and floats."""
    readers: dict[Reg, int] = {}
    for instr in function.instrs():
        for operand in (*instr.srcs, instr.guard):
            if isinstance(operand, Reg):
                readers[operand] = readers.get(operand, 0) + 1
    for block in function.blocks:
        _contract_block(block, readers, "fma.rn.f32" if fused else "mad.f32")


def _contract_block(block: Block, readers: dict[Reg, int], float_op: str) -> None:
    products: dict[Reg, Instr] = {}
    gone: set[Instr] = set()
    for instr in block.instrs:
        if instr.guard is not None:
            continue
        if instr.op in ("mul.lo.s32", "mul.f32"):
            products[instr.dsts[0]] = instr
        elif instr.op in ("add.s32", "add.f32", "sub.f32"):
            product = _fuse(instr, products, readers, float_op)
            if product is not None:
                gone.add(product)
    if gone:
        block.instrs = [instr for instr in block.instrs if instr not in gone]


def _fuse(instr: Instr, products: dict[Reg, Instr], readers: dict[Reg, int], float_op: str) -> Instr | None:
    """Make `instr` a multiply-add if it can be one; gives the product that it absorbed."""
    kind = instr.op.rsplit(".", 1)[1]
    for at in (1, 0):
        source, other = instr.srcs[at], instr.srcs[1 - at]
        product = products.get(source) if isinstance(source, Reg) else None
        if product is None or product.op.endswith("s32") != (kind == "s32") or readers.get(product.dsts[0]) != 1:
            continue
        a, b = product.srcs
        if instr.op == "sub.f32":
            if at == 0:  # a * b - c, for a constant c
                negated = _negated(other)
                factors = (a, b)
            else:  # c - a * b, for a constant b
                constant = _negated(b)
                negated, factors = (other, (a, constant)) if constant is not None else (None, (a, b))
            if negated is None:
                continue
            other, (a, b) = negated, factors
        instr.op = "mad.lo.s32" if kind == "s32" else float_op
        instr.srcs = (a, b, other)
        return product
    return None


def _negated(operand: Operand) -> Operand | None:
    """A float constant with its sign changed."""
    return Imm(operand.bits ^ 0x80000000, Type.F32) if isinstance(operand, Imm) else None
