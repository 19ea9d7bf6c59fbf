"""Numba's own types in the place of those of smmux: files may go on importing `float32` from numba."""

from __future__ import annotations

from typing import Any

from smmux.language import types
from smmux.language.types import ArrayAnnotation, FunctionType, Scalar, TupleAnnotation, Void

__all__ = ["of_smmux"]


def of_smmux(value: Any) -> Any:
    """A type, or a signature, of Numba's as one of smmux's; anything else as it is."""
    module = type(value).__module__
    if not module.startswith(("numba.core.types", "numba.core.typing")):
        return value
    kind = type(value).__name__
    if kind == "Signature":
        return FunctionType(of_smmux(value.return_type), tuple(map(of_smmux, value.args)))
    if kind == "Array":
        return ArrayAnnotation(of_smmux(value.dtype), value.ndim, value.layout)
    if kind in ("Tuple", "UniTuple"):
        return TupleAnnotation(tuple(map(of_smmux, value.types)))
    if kind == "Record":
        return types.from_dtype(value.dtype)
    named = getattr(types, "boolean" if str(value) == "bool" else str(value), None)
    return named if isinstance(named, Scalar | Void) else value
