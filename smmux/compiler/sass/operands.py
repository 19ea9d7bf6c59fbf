"""Operands of an instruction, read from the disassembler's text.

>>> parse_operand("-|R4|.reuse").absolute, parse_operand("desc[UR36][R2.64+0x28]").offset, parse_operand("+INF").value
(True, 40, inf)
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import lru_cache

from smmux.compiler.instruction import Kind, Operand

__all__ = ["parse_operand", "split_operands"]

_OPERAND = re.compile(r"(?:\{[^}]*\}|[^,{\s])+")
_SUFFIXES = r"(?:\.[A-Za-z0-9_]+)*"
_HEX = r"-?0x[0-9a-fA-F]+"
_DECORATED = re.compile(
    rf"(?P<sign>-?)(?P<inverse>[~!]?)(?P<bar>\|?)(?P<core>.+?)(?P<inner>{_SUFFIXES})(?(bar)\|?)(?P<outer>{_SUFFIXES})"
)
_REGISTER = re.compile(r"(?P<kind>UR|UP|SB|R|P|B|gsb)(?P<number>\d{1,3}|Z|T)")
_CONSTANT = re.compile(
    r"c\[(?P<bank>0x[0-9a-fA-F]+)\]\[(?P<place>[^\[\]]+)\]|cx\[UR(?P<handle>\d+)\]\[(?P<far>[^\[\]]+)\]"
)
_ADDRESS = re.compile(r"(?:desc\[UR(?P<descriptor>\d+|Z)\])?\[(?P<place>[^\[\]]+)\]")
_DESCRIPTOR = re.compile(r"(?P<kind>desc|gdesc|idesc|tmem)\[UR(?P<number>\d+|Z)(?P<offset>\+-?0x[0-9a-fA-F]+)?\]")
_PART = re.compile(rf"(?P<kind>UR|R)(?P<number>\d{{1,3}}|Z)(?P<select>{_SUFFIXES})|(?P<offset>{_HEX})")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPECIAL = re.compile(
    r"SR_?[A-Z0-9a-z_.]+|(?:ARRAY_)?(?:1D|2D|3D|CUBE)(?:\.\w+)?|2D_MS|1D_BUFFER|(?:P|N|Z){8}|"
    r"ATEXITED_PC|MACTIVE|MEXITED|MATEXIT|MKILL|OPT_STACK|API_CALL_DEPTH|THREAD_STATE_ENUM\.\d|TRAP_RETURN_PC(?:\.\w+)?|"
    r"TRAP_RETURN_MASK|Rpc(?:\.\w+)?|ATEXIT_PC(?:\.\w+)?|PQUAD_MACTIVE"
)
_WORDS = {"INF": math.inf, "QNAN": math.nan, "SNAN": math.nan, "NAN": math.nan}
_LAST = {"R": 255, "UR": 255, "P": 7, "UP": 7, "B": 15, "SB": 5}


def split_operands(text: str) -> list[str]:
    """The operands of a text; commas in braces do not count. Between two of them there may be a space alone, as in
    `BRX R2 -0x5a0`, and one may have a space within, as `c[0x0] [0x170]`."""
    return _OPERAND.findall(text.replace("] [", "]["))


@lru_cache(1 << 16)
def parse_operand(text: str, uniform_zero: int = 63) -> Operand:
    """An operand from its text; ValueError if it is not understood. uniform_zero: the number of URZ."""
    if (number := _immediate(text)) is not None:
        return Operand("imm", text, value=number)
    if text in ("PR", "UPR"):
        return Operand("pr" if text == "PR" else "upr", text)
    if re.fullmatch(r"\{[\d,]*\}", text):  # counters of DEPBAR, as a mask
        return Operand("SB", text, value=sum({1 << int(n) for n in text[1:-1].split(",") if n and int(n) < 32}))
    if _SPECIAL.fullmatch(text):
        return Operand("special", text)
    match = _DECORATED.fullmatch(text)
    if match is None:
        raise ValueError(text)
    operand = _core(match["core"], match["core"] + match["inner"], uniform_zero)
    suffixes = [s for s in f"{match['inner']}{match['outer']}".split(".") if s]
    return replace(
        operand,
        text=text,
        negated=bool(match["sign"]),
        inverted=bool(match["inverse"]),
        absolute=bool(match["bar"]),
        select=".".join([operand.select] * bool(operand.select) + [s for s in suffixes if s != "reuse"]),
        reuse="reuse" in suffixes,
    )


def _immediate(text: str) -> int | float | None:
    """The value of a number; hexadecimals are integers and the others floats, which the disassembler prints so."""
    if re.fullmatch(_HEX, text):
        return int(text, 16)
    if _NUMBER.fullmatch(text):
        return float(text)
    word = text.lstrip("+-")
    return math.copysign(_WORDS[word], -1 if text.startswith("-") else 1) if word in _WORDS else None


def _core(text: str, suffixed: str, uniform_zero: int) -> Operand:
    """An operand without signs and suffixes."""
    if match := _REGISTER.fullmatch(text):
        kind: Kind = match["kind"] if match["kind"] != "gsb" else "SB"  # type: ignore[assignment]
        return Operand(kind, text, number=_number(kind, match["number"], uniform_zero, text))
    if match := _CONSTANT.fullmatch(text):
        place = _place(match["place"] or match["far"], uniform_zero)
        if handle := match["handle"]:
            return replace(place, kind="cx", descriptor=_number("UR", handle, uniform_zero, text))
        bank = int(match["bank"], 16)
        return replace(place, kind="const", bank=bank, register=place.base, base=None)
    if match := _ADDRESS.fullmatch(text):
        place = _place(match["place"], uniform_zero)
        if descriptor := match["descriptor"]:
            return replace(place, descriptor=_number("UR", descriptor, uniform_zero, text))
        return place
    if match := _DESCRIPTOR.fullmatch(text):
        offset = int((match["offset"] or "+0")[1:], 16)
        family: Kind = match["kind"]  # type: ignore[assignment]
        return Operand(family, text, _number("UR", match["number"], uniform_zero, text), offset=offset)
    raise ValueError(suffixed)


def _place(text: str, uniform_zero: int) -> Operand:
    """What stands in brackets: at most one register, one uniform register and one offset, joined by plus signs."""
    base = uniform = offset = None
    select = uniform_select = ""
    for part in text.split("+"):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(text)
        if match["offset"] and offset is None:
            offset = int(match["offset"], 16)
        elif match["kind"] == "R" and base is None:
            base, select = _number("R", match["number"], uniform_zero, text), match["select"][1:]
        elif match["kind"] == "UR" and uniform is None:
            uniform, uniform_select = _number("UR", match["number"], uniform_zero, text), match["select"][1:]
        else:
            raise ValueError(text)
    return Operand(
        "address", text, base=base, select=select, uniform=uniform, uniform_select=uniform_select, offset=offset or 0
    )


def _number(kind: str, digits: str, uniform_zero: int, text: str) -> int:
    """The number of a register."""
    if digits == "Z" and kind in ("R", "UR"):
        return uniform_zero if kind == "UR" else 255
    if digits == "T" and kind in ("P", "UP"):
        return 7
    if digits in "ZT" or int(digits) > _LAST[kind]:
        raise ValueError(text)
    return int(digits)
