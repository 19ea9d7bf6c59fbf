"""Integer floor division and remainder, signed, unsigned and mixed; both follow Python's rules of sign."""

from __future__ import annotations

import ast

from smmux.compiler import ir
from smmux.compiler.frontend.context import Frame
from smmux.compiler.frontend.convert import operand, promoted, result, settle, to_kind
from smmux.compiler.frontend.inlining import library_number
from smmux.compiler.frontend.typed_values import INT32_MAX, MACHINE_TYPE, Kind, Value, constant


def floor_divide(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """a // b."""
    a, b, kind, unsigned = _prepare(f, node, a, b, "//")
    if kind is None:
        return _mixed(f, node, "floor_divide", a, b)
    if a.known and b.known:
        return constant(kind, a.const // b.const)
    limits = (a.lo // b.const, a.hi // b.const) if b.known and b.const > 0 else (min(a.lo, -a.hi - 1), max(a.hi, -a.lo))
    if a.lo >= 0 and b.lo > 0:
        limits = (0, a.hi // b.lo)
    if b.const == 1:
        return Value(kind, a.operand, None, a.lo, a.hi)
    if b.known and b.const > 0 and b.const & (b.const - 1) == 0:
        count = operand(f, constant(Kind.INT32, b.const.bit_length() - 1))
        return result(
            kind, f.b.op("shr.u32" if unsigned else "shr.s32", MACHINE_TYPE[kind], operand(f, a), count), *limits
        )
    quotient = f.b.op("div.u32" if unsigned else "div.s32", MACHINE_TYPE[kind], operand(f, a), operand(f, b))
    if unsigned or (a.lo >= 0 and b.lo > 0):
        return result(kind, quotient, *limits)
    remainder = _truncated_remainder(f, quotient, a, b)
    low = f.b.op("sub.s32", ir.Type.S32, quotient, ir.Imm(1, ir.Type.S32))
    return result(kind, f.b.op("selp.b32", ir.Type.S32, low, quotient, _sign_differs(f, remainder, b)), *limits)


def modulo(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """a % b."""
    a, b, kind, unsigned = _prepare(f, node, a, b, "%")
    if kind is None:
        return _mixed(f, node, "modulo", a, b)
    if a.known and b.known:
        return constant(kind, a.const % b.const)
    limits = (0, b.hi - 1) if b.lo > 0 else (min(b.lo, 0), max(b.hi, 0))
    if b.const == 1:
        return constant(kind, 0)
    if b.known and b.const > 0 and b.const & (b.const - 1) == 0:
        mask = operand(f, constant(kind, b.const - 1))
        return result(kind, f.b.op("and.b32", MACHINE_TYPE[kind], operand(f, a), mask), *limits)
    remainder = f.b.op("rem.u32" if unsigned else "rem.s32", MACHINE_TYPE[kind], operand(f, a), operand(f, b))
    if unsigned or (a.lo >= 0 and b.lo > 0):
        return result(kind, remainder, *limits)
    moved = f.b.op("add.s32", ir.Type.S32, remainder, operand(f, b))
    return result(kind, f.b.op("selp.b32", ir.Type.S32, moved, remainder, _sign_differs(f, remainder, b)), *limits)


def _prepare(f: Frame, node: ast.AST, a: Value, b: Value, symbol: str) -> tuple[Value, Value, Kind | None, bool]:
    """Operands in one type (None: int32 and uint32, neither known to fit the other), and whether it is unsigned."""
    a, b = settle(f, node, a, symbol), settle(f, node, b, symbol)
    if b.known and b.const == 0:
        raise f.error(node, "integer division by zero")
    kind = promoted(a.kind, b.kind)
    if kind is Kind.UINT32 and not f.ctx.dry:
        if a.hi <= INT32_MAX and b.hi <= INT32_MAX and (a.lo < 0 or b.lo < 0):
            kind = Kind.INT32
        elif a.lo < 0 or b.lo < 0:
            if a.kind.weak or b.kind.weak:
                to_kind(f, node, a, kind), to_kind(f, node, b, kind)  # refuses the negative literal
            return a, b, None, False
    x, y = to_kind(f, node, a, kind), to_kind(f, node, b, kind)
    return x, y, kind, kind is Kind.UINT32


def _mixed(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """Divide int32 and uint32 by a function of the library, whose results are exact."""
    return library_number(f, node, f"{name}_{'unsigned_signed' if a.kind is Kind.UINT32 else 'signed_unsigned'}", a, b)


def _truncated_remainder(f: Frame, quotient: ir.Reg, a: Value, b: Value) -> ir.Reg:
    """a - quotient * b, cheaper than a second division."""
    product = f.b.op("mul.lo.s32", ir.Type.S32, quotient, operand(f, b))
    return f.b.op("sub.s32", ir.Type.S32, operand(f, a), product)


def _sign_differs(f: Frame, remainder: ir.Reg, b: Value) -> ir.Operand:
    """True where the remainder is not zero and has not the divisor's sign: there truncation is not the floor."""
    zero = ir.Imm(0, ir.Type.S32)
    if b.lo > 0:
        return f.b.op("setp.lt.s32", ir.Type.PRED, remainder, zero)
    signs = f.b.op("xor.b32", ir.Type.S32, remainder, operand(f, b))
    differ = f.b.op("setp.lt.s32", ir.Type.PRED, signs, zero)
    rest = f.b.op("setp.ne.s32", ir.Type.PRED, remainder, zero)
    return f.b.op("and.pred", ir.Type.PRED, differ, rest)
