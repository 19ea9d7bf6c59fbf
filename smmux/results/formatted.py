"""What compiled code prints: calls of printf as the core keeps them, as text.

>>> format_text("%d of %5.2f %s%%", [3, struct.unpack("<Q", struct.pack("<d", 0.5))[0], 0], lambda address: "x")
'3 of  0.50 x%'
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from smmux.results.printed import PRINTED

__all__ = ["format_text", "printf_text"]

FORMAT = 0xFFFFFFFF
"""`text` of a record that begins a call, and holds its format's address: PRINT_FORMAT of csrc/sm/print.h."""
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?((?:hh|h|ll|l|z|j|t|L)?)([diouxXcsSpeEfFgGaA%])")
_BITS = {"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "z": 64, "j": 64, "t": 64}


def printf_text(records: bytes, lost: int, string: Callable[[int], str]) -> str:
    """All that was printed, block by block and thread by thread. string: what text lies at a device address."""
    rows = np.frombuffer(records, PRINTED)
    ordered = rows[np.lexsort((rows["thread"], rows["block"]))]  # stable: a thread's own order stays
    values = ordered["low"].astype(np.uint64) | ordered["high"].astype(np.uint64) << np.uint64(32)
    calls: list[list[int]] = []
    for kind, value in zip(ordered["text"].tolist(), values.tolist(), strict=True):
        if kind == FORMAT:
            calls.append([value])
        elif calls:
            calls[-1].append(value)
    parts = [format_text(string(call[0]), call[1:], string) for call in calls]
    if lost:
        parts.append(f"... and {lost} more calls of printf, for which the SMs had no room\n")
    return "".join(parts)


def format_text(form: str, values: Sequence[int], string: Callable[[int], str]) -> str:
    """A format with its arguments, each as the bits that a call passes; one that is missing leaves its own text."""
    left = iter(values)
    return _CONVERSION.sub(lambda match: _converted(match, left, string), form)


def _converted(match: re.Match[str], left: Iterator[int], string: Callable[[int], str]) -> str:
    flags, width, precision, length, letter = match.groups()
    if letter == "%":
        return "%"
    try:
        width = str(_signed(next(left), 32)) if width == "*" else width or ""
        dot = "." in match.group(0)
        precision = str(_signed(next(left), 32)) if precision == "*" else precision or ""
        value = next(left)
    except StopIteration:
        return match.group(0)
    form = f"%{flags}{width}{'.' + precision if dot else ''}"
    return _one(form, letter, value, _BITS.get(length, 32), string)


def _one(form: str, letter: str, bits: int, size: int, string: Callable[[int], str]) -> str:
    """One value."""
    if letter in "sS":
        return (form + "s") % string(bits)
    if letter == "p":
        return (form + "s") % f"0x{bits:x}"
    if letter == "c":
        return (form + "s") % chr(bits & 0xFF)
    if letter in "di":
        return (form + "d") % _signed(bits, size)
    if letter in "ouxX":
        return (form + letter.replace("u", "d")) % (bits & (1 << size) - 1)
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return _hexadecimal(form, value, letter) if letter in "aA" else (form + letter) % value


def _hexadecimal(form: str, value: float, letter: str) -> str:
    """A float with hexadecimal digits: as many as it needs, or as a precision says."""
    form, dot, precision = form.partition(".")
    text = str(value)
    if math.isfinite(value):
        digits, exponent = value.hex().split("p")
        sign, whole, rest = digits[: digits.index("0x")], digits.partition("x")[2][0], digits.partition(".")[2]
        if dot:
            unit = 16 ** int(precision or 0)
            rounded = round(Fraction(int(whole + rest, 16) * unit, 16 ** len(rest)))
            whole, rest = str(rounded // unit), f"{unit + rounded % unit:x}"[1:]
        else:
            rest = rest.rstrip("0")
        text = f"{sign}0x{whole}{'.' * bool(rest)}{rest}p{exponent}"
    if "+" in form and not text.startswith("-"):
        text = f"+{text}"
    form = form.replace("+", "").replace("#", "")
    return (form + "s") % (text.upper() if letter == "A" else text)


def _signed(bits: int, size: int) -> int:
    bits &= (1 << size) - 1
    return bits - (bits >> (size - 1) << size)
