"""What a kernel costs its programmer and what preloading costs the chip: lines of code, and bits."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import Any

from smmux.base import parsing
from smmux.gpus import Gpu

__all__ = ["LAUNCH", "bits", "effort", "lines_of_code"]

LAUNCH = "kernel[grid, block](*arguments)"
"""How a kernel is launched, whatever its form: what the table needs is passed on by the compiler."""
NOTHING = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip
"""Tokens that make no line of code."""
ENTRY_BITS = 8 * (8 + 1 + 8 * 4)
"""An entry of the preload table: a pointer, the size of an element, eight coefficients."""
ADDRESS_BITS = 32


def lines_of_code(text: str) -> int:
    """Lines of Python that hold more than blanks, a comment or a docstring.

    >>> lines_of_code("def f():\\n    '''Nothing.'''\\n\\n    # why\\n    return (1 +  # one\\n        2)\\n")
    3
    """
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in NOTHING for line in range(t.start[0], t.end[0] + 1)}
    statements = (node for node in ast.walk(parsing.module(text)) if isinstance(node, ast.Expr))
    texts = [n for n in statements if isinstance(n.value, ast.Constant) and isinstance(n.value.value, str)]
    return len(code.difference(*(range(n.lineno, (n.end_lineno or n.lineno) + 1) for n in texts)))


def effort(kernel: Any) -> int:
    """Lines of code of a kernel and its launch."""
    return lines_of_code(kernel.source) + lines_of_code(LAUNCH)


def bits(gpu: Gpu) -> dict[str, int]:
    """Bits that preloading adds to a machine, and those of the memories that it has on its chip.

    tags: valid, ready, the block's slot and the line's address, for each line of shared memory. on chip: registers,
    shared memory with the first-level cache, and the second-level cache.
    """
    slots = (gpu.max_blocks_sm - 1).bit_length()
    tag = 2 + slots + ADDRESS_BITS - (gpu.preload_line - 1).bit_length()
    per_sm = 4 * gpu.regs_sm + gpu.smem_bytes + gpu.l1_bytes
    return {
        "table": gpu.preload_entries * ENTRY_BITS,
        "tags": gpu.sm_count * (gpu.smem_bytes // gpu.preload_line) * tag,
        "on chip": 8 * (gpu.sm_count * per_sm + gpu.l2_bytes),
    }
