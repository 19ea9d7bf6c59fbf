"""Writes polynomials in the words of the kernel's source."""

from __future__ import annotations

import ast

from smmux.base.trees import walk
from smmux.compiler.ir import Imm, Operand, Param, Reg, Special
from smmux.preload.polynomials import Polynomials
from smmux.preload.symbolic import Iteration, Polynomial, Symbol
from smmux.source.function_source import FunctionSource

__all__ = ["Names", "of_symbol"]

_KINDS = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}
_OPERATIONS = {
    "shr.s32": "({0} // {1})", "shr.u32": "({0} // {1})", "div.u32": "({0} // {1})", "rem.u32": "({0} % {1})",
    "and.b32": "({0} & {1})", "min.s32": "min({0}, {1})", "max.s32": "max({0}, {1})",
}  # fmt: skip
_SHORT = {"threadIdx": "t", "blockIdx": "b"}


def of_symbol(symbol: Symbol) -> str:
    """Name the index of a thread or a block, or an iteration, without the kernel's source."""
    if isinstance(symbol, Special):
        kind, _, axis = symbol.name.value.partition(".")
        return f"{_KINDS.get(kind, kind)}.{axis}"
    return "an iteration"


class Names:
    """Names the symbols of one kernel."""

    def __init__(self, values: Polynomials, source: FunctionSource) -> None:
        self.values = values
        self.loops = {values.iteration(loop).place: loop.line for loop in values.ranges.graph.loops}
        self.targets = {
            node.lineno: node.target.id
            for node in walk(source.node)
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
        }

    def symbol(self, symbol: Symbol) -> str:
        """Name a symbol: bx, tx, ... are indices of block and thread, #i is the iteration of a loop over i.

        An argument has its own name, and what the kernel computes from arguments is written as it computes it.
        """
        if isinstance(symbol, Iteration):
            line = self.loops[symbol.place]
            return f"#{self.targets.get(line, line)}"
        if isinstance(symbol, Param):
            return self.values.function.params[symbol.word].name
        if isinstance(symbol, Reg) and (clamp := self.values.clamps.get(symbol)) is not None:
            return f"{'max' if clamp.low else 'min'}({self.text(self.values.of(clamp.form))}, {clamp.limit})"
        if isinstance(symbol, Reg):
            return symbol.name or self._computed(symbol)
        kind, _, axis = of_symbol(symbol).partition(".") if isinstance(symbol, Special) else ("constant", "", "")
        return f"{_SHORT[kind]}{axis}" if kind in _SHORT else f"{kind}.{axis}"

    def _computed(self, reg: Reg) -> str:
        """Write what is computed from numbers that the launch fixes: as an expression if short, else as its value."""
        instr = self.values.defs[reg]
        if instr.op in _OPERATIONS and all(not isinstance(s, Reg) or s.name for s in instr.srcs):
            sources = [str(self.values.number(s)) if isinstance(s, Imm) else self.operand(s) for s in instr.srcs]
            if instr.op.startswith("shr"):
                sources[1] = str(1 << int(sources[1])) if sources[1].isdigit() else f"2**{sources[1]}"
            return _OPERATIONS[instr.op].format(*sources)
        return str(self.values.number(reg))

    def operand(self, operand: Operand) -> str:
        """Write an operand that is the same for the whole launch."""
        return self.symbol(operand) if isinstance(operand, Reg | Param | Special) else str(self.values.number(operand))

    def leaves(self, symbol: Symbol) -> list[str]:
        """Return the arguments and sizes from which a number that the launch fixes is computed."""
        work, found = [symbol], dict[str, None]()
        seen = set(work)
        while work:
            one = work.pop()
            if isinstance(one, Reg):
                sources = [s for s in self.values.defs[one].srcs if isinstance(s, Reg | Param | Special)]
                work += [s for s in sources if s not in seen]
                seen.update(sources)
            else:
                found[self.symbol(one)] = None
        return list(found)

    def text(self, value: Polynomial) -> str:
        """Write a polynomial as a sum: what depends on the block, on the thread and on loops, then what is fixed.

        Coefficients that are sums stand in brackets.
        """
        parts: dict[Symbol | None, dict[tuple[Symbol, ...], int]] = {}
        for monomial, coefficient in value.terms:
            moving = next((s for s in monomial if self.values.number(s) is None), None)
            rest = list(monomial)
            if moving is not None:
                rest.remove(moving)
            parts.setdefault(moving, {})[tuple(rest)] = coefficient
        order = sorted((s for s in parts if s is not None), key=_order)
        texts = [self._scaled(parts[s], self.symbol(s)) for s in order]
        if None in parts:
            texts += [self._product(m, c) for m, c in sorted(parts[None].items(), key=lambda p: not p[0])]
        return _joined(texts)

    def _scaled(self, factors: dict[tuple[Symbol, ...], int], name: str) -> str:
        products = [self._product(m, c) for m, c in factors.items()]
        if len(products) > 1:
            return f"({_joined(products)})*{name}"
        return {"1": name, "-1": f"-{name}"}.get(products[0], f"{products[0]}*{name}")

    def _product(self, monomial: tuple[Symbol, ...], coefficient: int) -> str:
        names = [self.symbol(s) for s in monomial]
        if not names:
            return str(coefficient)
        factors = names if abs(coefficient) == 1 else [str(abs(coefficient)), *names]
        return "-" * (coefficient < 0) + "*".join(factors)


def _joined(texts: list[str]) -> str:
    """Write terms as a sum.

    >>> _joined(["16*bx", "-tx", "1"])
    '16*bx - tx + 1'
    """
    return " + ".join(texts).replace("+ -", "- ") if texts else "0"


def _order(symbol: Symbol) -> tuple[int, str]:
    """Order blocks before threads before loops, and z before y before x, as rows come before columns."""
    if isinstance(symbol, Iteration):
        return 2, f"{symbol.place:06}"
    kind, _, axis = of_symbol(symbol).partition(".")
    return {"blockIdx": 0}.get(kind, 1), {"z": "a", "y": "b", "x": "c"}.get(axis, axis)
