"""Definition of PTX's operations on floats, one lane at a time, in Python's integers: every result is exact before it
is rounded once. Values are bits; NaN results are one NaN for each format.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

__all__ = ["FORMATS", "Format", "compare", "divide", "flushed", "from_integer", "fused", "is_nan", "least", "narrowed"]
__all__ += ["root", "saturated", "tested", "to_integer", "to_integral"]


@dataclass(frozen=True)
class Format:
    """bits: of a value. precision: of the significand, with the hidden bit. top: the largest exponent."""

    bits: int
    precision: int
    top: int

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return (2 * self.top + 1) << self.precision - 1

    @property
    def nan(self) -> int:
        return self.sign - 1

    @property
    def one(self) -> int:
        return self.top << self.precision - 1


FORMATS = {
    "f16": Format(16, 11, 15),
    "bf16": Format(16, 8, 127),
    "f32": Format(32, 24, 127),
    "f64": Format(64, 53, 1023),
}
EXTRA = 140
"""Bits of a quotient or root beyond those of its operands, so that one bit can stand for all that follow."""


def is_nan(form: Format, bits: int) -> bool:
    return bits & (form.sign - 1) > form.infinity


def is_infinite(form: Format, bits: int) -> bool:
    return bits & (form.sign - 1) == form.infinity


def split(form: Format, bits: int) -> tuple[bool, int, int]:
    """A number as sign, n and e: n 2^e."""
    exponent = bits >> form.precision - 1 & 2 * form.top + 1
    fraction = bits & (1 << form.precision - 1) - 1
    hidden = 1 << form.precision - 1 if exponent else 0
    return bool(bits & form.sign), fraction | hidden, max(exponent, 1) - form.top - form.precision + 1


def rounded_up(negative: bool, kept: int, rest: int, half: int, mode: str) -> bool:
    """Does rounding take away from zero what is kept of a number? rest: what is cut off, in units of which `half` is
    half a place."""
    return {
        "n": rest > half or (rest == half and kept & 1 == 1),
        "z": False,
        "m": negative and rest > 0,
        "p": not negative and rest > 0,
    }[mode]


def rounded(form: Format, negative: bool, n: int, e: int, mode: str) -> int:
    """n 2^e in the format. mode: n (nearest, to even), z, m or p."""
    sign = form.sign if negative else 0
    if n == 0:
        return sign
    least = 1 - form.top
    place = max(n.bit_length() - 1 + e, least) - form.precision + 1  # the exponent of the last place
    cut = place - e
    if cut <= 0:
        kept = n << -cut
    else:
        kept = n >> cut
        kept += rounded_up(negative, kept, 2 * (n & (1 << cut) - 1), 1 << cut, mode)
    if kept.bit_length() > form.precision:
        kept, place = kept >> 1, place + 1
    if kept.bit_length() - 1 + place > form.top:
        away = mode == "n" or mode == ("m" if negative else "p")
        return sign | (form.infinity if away else form.infinity - 1)
    if kept.bit_length() < form.precision:
        return sign | kept
    return sign | (place + form.precision - 1 + form.top << form.precision - 1) + kept - (1 << form.precision - 1)


def flushed(form: Format, bits: int) -> int:
    """Subnormals are zeros of their sign."""
    return bits if bits & form.infinity else bits & form.sign


def saturated(form: Format, bits: int) -> int:
    """Cut to 0..1; NaN is 0."""
    if is_nan(form, bits) or bits & form.sign:
        return 0
    return min(bits, form.one)


def fused(form: Format, a: int, b: int, c: int | None, mode: str) -> int:
    """a b + c, or the product alone."""
    negative = bool((a ^ b) & form.sign)
    if is_nan(form, a) or is_nan(form, b) or (c is not None and is_nan(form, c)):
        return form.nan
    magnitudes = [bits & (form.sign - 1) for bits in (a, b)]
    if form.infinity in magnitudes:
        opposed = c is not None and is_infinite(form, c) and bool(c & form.sign) != negative
        return form.nan if 0 in magnitudes or opposed else form.infinity | (form.sign if negative else 0)
    if c is not None and is_infinite(form, c):
        return c
    (_, n, e), (_, m, f) = split(form, a), split(form, b)
    if c is None:
        return rounded(form, negative, n * m, e + f, mode)
    other, k, g = split(form, c)
    low = min(e + f, g)
    total = (-1 if negative else 1) * (n * m << e + f - low) + (-1 if other else 1) * (k << g - low)
    if total == 0:
        same = negative == other
        return form.sign if (negative if same else mode == "m") else 0
    return rounded(form, total < 0, abs(total), low, mode)


def divide(form: Format, a: int, b: int, mode: str) -> int:
    negative = bool((a ^ b) & form.sign)
    sign = form.sign if negative else 0
    infinite = is_infinite(form, a), is_infinite(form, b)
    (_, n, e), (_, m, f) = split(form, a), split(form, b)
    if is_nan(form, a) or is_nan(form, b) or all(infinite) or (n == m == 0):
        return form.nan
    if infinite[0] or m == 0:
        return sign | form.infinity
    if infinite[1]:
        return sign
    quotient, rest = divmod(n << EXTRA, m)
    return rounded(form, negative, 2 * quotient + (rest > 0), e - f - EXTRA - 1, mode)


def root(form: Format, a: int, mode: str) -> int:
    negative, n, e = split(form, a)
    if is_nan(form, a) or (negative and n):
        return form.nan
    if is_infinite(form, a) or n == 0:
        return a
    n <<= EXTRA + (e & 1)
    whole = isqrt(n)
    return rounded(form, False, 2 * whole + (whole * whole < n), (e - (e & 1) - EXTRA) // 2 - 1, mode)


def least(form: Format, a: int, b: int, greatest: bool = False, nan: bool = False) -> int:
    """The smaller or greater one; -0 lies below 0. Of a NaN and a number the number, or NaN if `nan`."""
    if is_nan(form, a) or is_nan(form, b):
        both = is_nan(form, a) and is_nan(form, b)
        return form.nan if both or nan else b if is_nan(form, a) else a
    first, second = (-(bits ^ form.sign) - 1 if bits & form.sign else bits for bits in (a, b))
    return a if (first > second if greatest else first < second) else b


def compare(form: Format, relation: str, a: int, b: int) -> bool:
    """eq, ne, lt, le, gt, ge are false of NaN; equ to geu true; num and nan ask for it."""
    unordered = is_nan(form, a) or is_nan(form, b)
    if relation in ("num", "nan"):
        return unordered == (relation == "nan")
    if unordered:
        return relation.endswith("u")
    first, second = (form.sign - bits if bits & form.sign else bits for bits in (a, b))
    return {
        "eq": first == second,
        "ne": first != second,
        "lt": first < second,
        "le": first <= second,
        "gt": first > second,
        "ge": first >= second,
    }[relation.removesuffix("u")]


def tested(form: Format, kind: str, a: int) -> bool:
    """testp; zero is a normal number."""
    magnitude = a & (form.sign - 1)
    return {
        "finite": magnitude < form.infinity,
        "infinite": magnitude == form.infinity,
        "number": magnitude <= form.infinity,
        "notanumber": magnitude > form.infinity,
        "normal": magnitude == 0 or 1 << form.precision - 1 <= magnitude < form.infinity,
        "subnormal": 0 < magnitude < 1 << form.precision - 1,
    }[kind]


def narrowed(form: Format, to: Format, a: int, mode: str) -> int:
    """In another format."""
    if is_nan(form, a):
        return to.nan
    negative, n, e = split(form, a)
    if is_infinite(form, a):
        return to.infinity | (to.sign if negative else 0)
    return rounded(to, negative, n, e, mode)


def whole(negative: bool, n: int, e: int, mode: str) -> int:
    """The magnitude of n 2^e as an integer."""
    if e >= 0:
        return n << e
    return (n >> -e) + rounded_up(negative, n >> -e, 2 * (n & (1 << -e) - 1), 1 << -e, mode)


def to_integral(form: Format, a: int, mode: str) -> int:
    """The float that is an integer."""
    if is_nan(form, a):
        return form.nan
    if is_infinite(form, a):
        return a
    negative, n, e = split(form, a)
    return rounded(form, negative, whole(negative, n, e, mode), 0, "z")


def to_integer(form: Format, a: int, bits: int, signed: bool, mode: str) -> int:
    """The integer, cut to what the type holds. NaN is 0 where both are narrow, and otherwise the highest bit alone."""
    if is_nan(form, a):
        return 1 << bits - 1 if form.bits == 64 or bits == 64 else 0
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    negative, n, e = split(form, a)
    if is_infinite(form, a):
        return lowest if negative else highest
    value = whole(negative, n, e, mode)
    return max(lowest, min(highest, -value if negative else value))


def from_integer(form: Format, value: int, mode: str) -> int:
    return rounded(form, value < 0, abs(value), 0, mode)
