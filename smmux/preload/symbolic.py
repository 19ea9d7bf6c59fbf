"""Polynomials whose symbols are what indices are made of: numbers of blocks, threads, iterations, and fixed values."""

from __future__ import annotations

from dataclasses import dataclass

from smmux.compiler.analysis.affine import Atom, atom_key

__all__ = ["Iteration", "Monomial", "Opaque", "Polynomial", "Symbol"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """How many iterations of a loop have passed. place: the number of the loop's header, lower for outer loops."""

    place: int


Symbol = Atom | Iteration
Monomial = tuple[Symbol, ...]


class Opaque(Exception):
    """A value is no polynomial. reason: why not, in words that follow "because of"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products, each with a coefficient that is not 0, in the order of their symbols.

    Its coefficients are exact; the machine's value is equal to it modulo 2^32.
    """

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def of(cls, symbol: Symbol) -> Polynomial:
        """The value of a symbol."""
        return cls((((symbol,), 1),))

    @classmethod
    def constant(cls, number: int) -> Polynomial:
        """A number."""
        return cls((((), number),) if number else ())

    def plus(self, other: Polynomial, factor: int = 1) -> Polynomial:
        """self + factor * other."""
        total = dict(self.terms)
        for monomial, coefficient in other.terms:
            total[monomial] = total.get(monomial, 0) + factor * coefficient
        return _sorted(total)

    def times(self, other: Polynomial) -> Polynomial:
        """self * other."""
        total: dict[Monomial, int] = {}
        for a, x in self.terms:
            for b, y in other.terms:
                product = tuple(sorted((*a, *b), key=_symbol_key))
                total[product] = total.get(product, 0) + x * y
        return _sorted(total)

    @property
    def symbols(self) -> dict[Symbol, None]:
        """All symbols, in order."""
        return {symbol: None for monomial, _ in self.terms for symbol in monomial}

    def by(self, symbol: Symbol) -> tuple[Polynomial, Polynomial]:
        """Return (factor, rest) with self == factor * symbol + rest. Raises Opaque if the symbol has a power."""
        factor: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms:
            places = [i for i, one in enumerate(monomial) if one == symbol]
            if len(places) > 1:
                raise Opaque("a square")
            if places:
                factor[monomial[: places[0]] + monomial[places[0] + 1 :]] = coefficient
            else:
                rest[monomial] = coefficient
        return _sorted(factor), _sorted(rest)


def _sorted(total: dict[Monomial, int]) -> Polynomial:
    kept = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    return Polynomial(tuple(sorted(kept, key=lambda term: [_symbol_key(s) for s in term[0]])))


def _symbol_key(symbol: Symbol) -> tuple[int, int, str]:
    return (4, symbol.place, "") if isinstance(symbol, Iteration) else atom_key((symbol, 1))
