"""What compiled code prints: calls of printf as the core keeps them, as text.

>>> format_text("%d of %5.2f %s%%", [3, struct.unpack("<Q", struct.pack("<d", 0.5))[0], 1], lambda address: "x")
'3 of  0.50 x%'
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from smmux.results.printed import PRINTED

__all__ = ["format_text", "printf_text"]

FORMAT = 0xFFFFFFFF
"""`text` of a record that begins a call, and holds its format's address: PRINT_FORMAT of csrc/sm/print.h."""
STRING = 0xFFFFFFFE
"""That of one with the next eight characters of the text that the argument in front is: PRINT_STRING."""
Value = int | bytes
"""An argument as its bits, or as the text that it points to."""
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?((?:hh|h|ll|l|z|j|t|L)?)([diouxXcsSpeEfFgGaA%])")
_BITS = {"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "z": 64, "j": 64, "t": 64}


def printf_text(records: bytes, lost: int, string: Callable[[int], str]) -> str:
    """All that was printed, block by block and thread by thread. string: what text lies at a device address."""
    rows = np.frombuffer(records, PRINTED)
    ordered = rows[np.lexsort((rows["thread"], rows["block"]))]  # stable: a thread's own order stays
    values = ordered["low"].astype(np.uint64) | ordered["high"].astype(np.uint64) << np.uint64(32)
    calls: list[list[Any]] = []
    for kind, value in zip(ordered["text"].tolist(), values.tolist(), strict=True):
        if kind == FORMAT:
            calls.append([value])
        elif kind == STRING and calls:
            before = calls[-1][-1] if isinstance(calls[-1][-1], bytes) else b""
            calls[-1][-1] = before + struct.pack("<Q", value)
        elif calls:
            calls[-1].append(value)
    parts = [format_text(string(call[0]), call[1:], string) for call in calls]
    if lost:
        parts.append(f"... and {lost} more calls of printf, for which the SMs had no room\n")
    return "".join(parts)


def format_text(form: str, values: Sequence[Value], string: Callable[[int], str]) -> str:
    """A format with its arguments, each as the bits that a call passes or as a text; one that is missing leaves its own
    text."""
    left = iter(values)
    return _CONVERSION.sub(lambda match: _converted(match, left, string), form)


def _converted(match: re.Match[str], left: Iterator[Any], string: Callable[[int], str]) -> str:
    flags, width, precision, length, letter = match.groups()
    if letter == "%":
        return "%"
    try:
        wide = _signed(next(left), 32) if width == "*" else int(width or 0)
        digits = _signed(next(left), 32) if precision == "*" else int(precision or 0)
        value = next(left)
    except StopIteration:
        return match.group(0)
    if wide < 0:  # of a `*`
        flags, wide = flags + "-", -wide
    places = digits if "." in match.group(0) and digits >= 0 else None
    return _one(_Form(flags, wide, places), letter, value, _BITS.get(length, 32), string)


@dataclass(frozen=True, slots=True)
class _Form:
    """How a value is written: flags, the least width, and the precision, if there is one."""

    flags: str
    width: int
    precision: int | None

    def filled(self, sign: str, text: str, *, zeros: bool) -> str:
        """A sign and a text as wide as it has to be. zeros: whether the flag of zeros counts."""
        if "-" in self.flags:
            return (sign + text).ljust(self.width)
        if zeros and "0" in self.flags:
            return sign + text.rjust(self.width - len(sign), "0")
        return (sign + text).rjust(self.width)

    def sign(self, negative: bool) -> str:
        """What stands in front of a number with a sign."""
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""


def _one(form: _Form, letter: str, bits: Any, size: int, string: Callable[[int], str]) -> str:
    """One value, as C writes it."""
    if letter in "sS":
        return form.filled("", _text(bits, string)[: form.precision], zeros=False)
    if letter == "p":
        return form.filled("", f"0x{bits:x}" if bits else "(nil)", zeros=False)
    if letter == "c":
        return form.filled("", chr(bits & 0xFF), zeros=False)
    if letter in "diouxX":
        return _integer(form, letter, bits, size)
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    sign = form.sign(math.copysign(1, value) < 0)
    if not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf"
        return form.filled(sign, text.upper() if letter.isupper() else text, zeros=False)
    if letter in "aA":
        return _hexadecimal(form, sign, abs(value), letter)
    places = "" if form.precision is None else f".{form.precision}"
    return form.filled(sign, f"%{'#' * ('#' in form.flags)}{places}{letter}" % abs(value), zeros=True)


def _text(bits: Any, string: Callable[[int], str]) -> str:
    """What `%s` prints: characters that were kept, or what lies at an address; a card has a word for no address."""
    if isinstance(bits, bytes):
        return bits.partition(b"\0")[0].decode("utf-8", "replace")
    return string(bits) if bits else "(null)"


def _integer(form: _Form, letter: str, bits: int, size: int) -> str:
    value = _signed(bits, size) if letter in "di" else bits & (1 << size) - 1
    text = format(abs(value), {"o": "o", "x": "x", "X": "X"}.get(letter, "d"))
    text = "" if value == 0 and form.precision == 0 else text.rjust(form.precision or 0, "0")
    prefix = form.sign(value < 0) if letter in "di" else ""
    if "#" in form.flags and letter in "xX" and value:
        prefix = f"0{letter}"
    if "#" in form.flags and letter == "o" and not text.startswith("0"):
        text = f"0{text}"
    return form.filled(prefix, text, zeros=form.precision is None)


def _hexadecimal(form: _Form, sign: str, value: float, letter: str) -> str:
    """A float with hexadecimal digits: as many as it needs, or as a precision says."""
    digits, exponent = value.hex().split("p")
    whole, rest = digits.partition("x")[2][0], digits.partition(".")[2]
    if form.precision is None:
        rest = rest.rstrip("0")
    else:
        unit = 16**form.precision
        rounded = round(Fraction(int(whole + rest, 16) * unit, 16 ** len(rest)))
        whole, rest = str(rounded // unit), f"{unit + rounded % unit:x}"[1:]
    dot = "." if rest or "#" in form.flags else ""
    text, prefix = f"{whole}{dot}{rest}p{exponent}", "0x"
    if letter == "A":
        text, prefix = text.upper(), "0X"
    return form.filled(sign + prefix, text, zeros=True)


def _signed(bits: int, size: int) -> int:
    bits &= (1 << size) - 1
    return bits - (bits >> (size - 1) << size)
