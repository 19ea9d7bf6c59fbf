"""Bring a function into the form that the machine's instructions can express."""

from __future__ import annotations

from smmux.compiler.analysis.graph import exits_only, reverse_postorder
from smmux.compiler.analysis.ops import is_pure, move
from smmux.compiler.analysis.phi import Phi
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg, Type

__all__ = ["legalize", "normalize"]


def normalize(function: Function) -> None:
    """Prepare a function for the passes: reachable blocks only, exits in place, no guards on instructions with
    results."""
    reachable = set(reverse_postorder(function.blocks[0], lambda block: block.successors))
    function.blocks = [block for block in function.blocks if block in reachable]
    for block in function.blocks:
        last = block.instrs[-1]
        if last.op == "cbr" and (
            last.target is last.other or (exits_only(_arm(last.target)) and exits_only(_arm(last.other)))
        ):
            last = block.instrs[-1] = Instr("bra", loc=last.loc, target=last.target)
        if last.op == "bra" and exits_only(_arm(last.target)):
            block.instrs[-1] = Instr("exit", loc=last.loc)
        if any(instr.guard is not None and instr.dsts for instr in block.instrs):
            _remove_guards(function, block)


def _arm(block: Block | None) -> Block:
    assert block is not None
    return block


def _remove_guards(function: Function, block: Block) -> None:
    """Compute guarded pure operations for all lanes and select their results. Guarded loads keep their guard; what they
    leave in other lanes is selected away too."""
    result: list[Instr] = []
    for instr in block.instrs:
        if instr.guard is None or not instr.dsts:
            result.append(instr)
            continue
        guard, negated, old = instr.guard, instr.guard_not, instr.dsts
        new = tuple(function.reg(dst.type, dst.name) for dst in old)
        instr.dsts = new
        if is_pure(instr.op):
            instr.guard = None
        result.append(instr)
        for dst, value in zip(old, new, strict=True):
            before: Operand = dst if dst.variable else Imm(0, dst.type)
            result.extend(_select(function, dst, value, before, guard, negated, instr))
    block.instrs = result


def _select(
    function: Function, dst: Reg, yes: Operand, no: Operand, guard: Reg, negated: bool, like: Instr
) -> list[Instr]:
    if dst.type is not Type.PRED:
        first, second = (no, yes) if negated else (yes, no)
        return [Instr("selp.b32", (dst,), (first, second, guard), like.loc)]
    inverse = function.reg(Type.PRED)
    a, b = function.reg(Type.PRED), function.reg(Type.PRED)
    when, otherwise = (inverse, guard) if negated else (guard, inverse)
    return [
        Instr("not.pred", (inverse,), (guard,), like.loc),
        Instr("and.pred", (a,), (yes, when), like.loc),
        Instr("and.pred", (b,), (no, otherwise), like.loc),
        Instr("or.pred", (dst,), (a, b), like.loc),
    ]


def legalize(function: Function) -> None:
    """Prepare a function for register allocation: predicate constants and stored values in registers, copies by their
    names."""
    for block in function.blocks:
        result: list[Instr] = []
        held: dict[Operand, Reg] = {}
        for instr in block.instrs:
            if isinstance(instr, Phi):
                result.append(instr)
                continue
            if instr.op in ("mov.b32", "mov.pred"):
                result.append(_copy(instr))
                continue
            for src in instr.srcs:
                if isinstance(src, Imm) and src.type is Type.PRED:
                    instr.srcs = tuple(_predicate(function, src, instr, result) for src in instr.srcs)
                    break
            if instr.op.startswith("st."):
                values = [_register(function, src, instr, result, held) for src in instr.srcs[1:]]
                instr.srcs = (instr.srcs[0], *values)
            result.append(instr)
        block.instrs = result


def _copy(instr: Instr) -> Instr:
    dst, src = instr.dsts[0], instr.srcs[0]
    if dst.type is Type.PRED and isinstance(src, Imm):
        return _constant_predicate(dst, src.bits, instr)
    instr.op = "mov.pred" if dst.type is Type.PRED else "mov.b32"
    return instr


def _constant_predicate(dst: Reg, value: int, like: Instr) -> Instr:
    zero = Imm(0, Type.S32)
    op = "setp.eq.s32" if value else "setp.ne.s32"
    return Instr(op, (dst,), (zero, zero), like.loc, like.guard, like.guard_not)


def _predicate(function: Function, src: Operand, instr: Instr, result: list[Instr]) -> Operand:
    if not (isinstance(src, Imm) and src.type is Type.PRED):
        return src
    reg = function.reg(Type.PRED)
    result.append(_constant_predicate(reg, src.bits, Instr(instr.op, loc=instr.loc)))
    return reg


def _register(function: Function, src: Operand, instr: Instr, result: list[Instr], held: dict[Operand, Reg]) -> Reg:
    """A register with a stored value; equal constants of a block share one."""
    if isinstance(src, Reg):
        return src
    if src in held:
        return held[src]
    reg = held[src] = function.reg(src.type)
    result.append(move(reg, src, instr))
    return reg
