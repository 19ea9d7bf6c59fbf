"""Kernels from text, for tests of the passes."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from smmux import cuda, float32, int32, uint8, uint32
from smmux.kernel import Kernel, from_source

CAPTURED: dict[str, Any] = {
    "cuda": cuda, "float32": float32, "int32": int32, "uint8": uint8, "uint32": uint32, "np": np, "N": 64,
}  # fmt: skip


def kernel(text: str, **captured: Any) -> Kernel:
    """A kernel from indented source text."""
    return from_source(textwrap.dedent(text), {**CAPTURED, **captured}, filename="user.py")


def device(text: str, **captured: Any) -> Kernel:
    """A device function from indented source text."""
    return from_source(textwrap.dedent(text), {**CAPTURED, **captured}, filename="user.py", device=True)


def body(made: Kernel) -> str:
    """A kernel's statements without decorator, head, docstring and indentation."""
    lines = made.source.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def ")) + 1
    if lines[start].strip().startswith('"""'):
        start += 1
    return textwrap.dedent("\n".join(lines[start:]))
