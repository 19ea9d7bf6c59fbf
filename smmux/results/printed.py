"""What kernels print: the records of a run as text, in the order of blocks and threads."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from smmux.compiler.program import Program

__all__ = ["PRINTED", "text_of"]

PRINTED = np.dtype(
    [("cycle", "u8"), ("block", "u4"), ("thread", "u4"), ("text", "u4"), ("low", "u4"), ("high", "u4"), ("0", "u4")]
)
"""struct printed of csrc/sm/print.h."""


def text_of(records: bytes, lost: int, program: Program) -> str:
    """All that was printed: block by block, thread by thread, what one thread prints in its order.

    Numbers look as under Numba on a card: integers in full, floats with six places. lost: values that did not fit into
    the 1 MB that an SM keeps.
    """
    if program.printer:
        return program.printer(records, lost)
    rows = np.frombuffer(records, PRINTED)
    ordered = rows[np.lexsort((rows["thread"], rows["block"]))]  # stable: a thread's own order stays
    columns = (ordered[name].tolist() for name in ("text", "low", "high"))
    parts = []
    for index, low, high in zip(*columns, strict=True):
        text = program.texts[index]
        parts.append(text.before + _number(text.kind, low, high) + text.after)
    if lost:
        parts.append(f"... and {lost} more values, for which the SMs had no room\n")
    return "".join(parts)


def _number(kind: str, low: int, high: int) -> str:
    if not kind:
        return ""
    if kind == "bool":
        return str(bool(low))
    octets = struct.pack("<II", low, high)
    letter = {"s32": "i", "u32": "I", "f32": "f", "s64": "q", "u64": "Q", "f64": "d"}[kind]
    value = struct.unpack_from("<" + letter, octets)[0]
    return f"{value:f}" if kind[0] == "f" else str(value)
