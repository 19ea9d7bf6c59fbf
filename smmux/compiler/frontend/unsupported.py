"""Refusals of Python and Numba that kernels do not have, each with a word on what to write instead."""

from __future__ import annotations

import ast
from typing import Any

from smmux.language import absent

# Syntax: what it is called, and what to write instead.
SYNTAX = {
    "Try": ("try/except", "kernels have no exceptions: test for the case with if"),
    "With": ("with", ""),
    "FunctionDef": ("a nested function", "define it outside the kernel with @cuda.jit(device=True)"),
    "ClassDef": ("a class", "pass arrays and tuples"),
    "Lambda": ("lambda", "define a function outside the kernel with @cuda.jit(device=True)"),
    "Global": ("global", "store results in an array"),
    "Nonlocal": ("nonlocal", "store results in an array"),
    "Delete": ("del", ""),
    "Raise": ("raise", "kernels have no exceptions: store an error code in an array"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "ListComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "SetComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "DictComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "GeneratorExp": ("a generator", "use a for loop"),
    "Dict": ("a dict", "use arrays, or cuda.const.array_like for a table"),
    "Set": ("a set", "use an array"),
    "JoinedStr": ("an f-string", "store numbers in an array and format them on the host"),
    "Yield": ("yield", "store results in an array"),
    "YieldFrom": ("yield", "store results in an array"),
    "Match": ("match", "use if and elif"),
    "NamedExpr": (":= ", "assign in a statement of its own"),
    "Slice": ("a slice", "index one element at a time"),
    "Starred": ("* here", ""),
    "Await": ("await", ""),
    "AsyncFor": ("async", ""),
    "AsyncWith": ("async", ""),
    "AsyncFunctionDef": ("async", ""),
}

BUILTINS = {
    "print": "store values in an array and print them on the host",
    "sum": "use a for loop",
    "sorted": "sort in an array with loops",
    "zip": "write for i in range(len(a)) and index both with i",
    "map": "use a for loop",
    "reversed": "write range(n - 1, -1, -1)",
    "list": "use cuda.local.array",
    "dict": "use arrays",
    "set": "use an array",
    "str": "store numbers in an array and format them on the host",
    "complex": "use two floats",
    "any": "use a for loop",
    "all": "use a for loop",
    "isinstance": "kernels are compiled for the types of their arguments",
}

MAKERS = ("zeros", "ones", "empty", "full", "array", "arange", "zeros_like", "empty_like", "ones_like")


def of_syntax(node: ast.AST) -> str:
    """The refusal of a kind of statement or expression."""
    name, instead = SYNTAX.get(type(node).__name__, (type(node).__name__, ""))
    return f"{name.strip()} is not supported in a kernel" + (f"; {instead}" if instead else "")


def of_attribute(owner: Any, name: str) -> str:
    """The refusal of an attribute that a module or another object does not have."""
    known = [other for other in dir(owner) if not other.startswith("_")]
    return absent(getattr(owner, "__name__", None) or str(owner), name, known)


def of_function(function: Any) -> str:
    """A function to call instead of one that kernels cannot call, behind a semicolon; empty if none is known."""
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
    if name in MAKERS and module == "numpy":
        return "; declare a cuda.local.array or cuda.shared.array, or pass an array"
    if module == "numpy" or type(function).__name__ == "ufunc":
        return "; use the function of the math module, on one element"
    if module == "builtins" and name in BUILTINS:
        return f"; {BUILTINS[name]}"
    if callable(function) and hasattr(function, "__code__") and str(module).split(".")[0] != "smmux":
        return "; decorate it with @cuda.jit(device=True)"
    return ""
