"""Refusals of Python and Numba that kernels do not have, each with a word on what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from smmux.base.counted import counted
from smmux.errors import did_you_mean
from smmux.language.kernel_only import absent
from smmux.source.attributes import listed, peek, trusted

# Syntax: what it is called, and what to write instead.
SYNTAX = {
    "Try": ("try/except", "kernels have no exceptions: test for the case with if"),
    "With": ("with", ""),
    "FunctionDef": ("a nested function", "define it outside the kernel with @cuda.jit(device=True)"),
    "ClassDef": ("a class", "pass arrays and tuples"),
    "Lambda": ("lambda", "define a function outside the kernel with @cuda.jit(device=True)"),
    "Global": ("global", "store results in an array"),
    "Nonlocal": ("nonlocal", "store results in an array"),
    "Delete": ("del", "leave it out: a variable costs nothing once it is not used"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "ListComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "SetComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "DictComp": ("a comprehension", "use a for loop and cuda.local.array"),
    "GeneratorExp": ("a generator", "use a for loop"),
    "Dict": ("a dict", "use arrays, or cuda.const.array_like for a table"),
    "Set": ("a set", "use an array"),
    "JoinedStr": ("an f-string", "give print the strings and numbers one by one"),
    "Yield": ("yield", "store results in an array"),
    "YieldFrom": ("yield", "store results in an array"),
    "Match": ("match", "use if and elif"),
    "NamedExpr": (":= ", "assign in a statement of its own"),
    "Starred": ("* here", ""),
    "Await": ("await", ""),
    "AsyncFor": ("async", ""),
    "AsyncWith": ("async", ""),
    "AsyncFunctionDef": ("async", ""),
}

BUILTINS = {
    "sorted": "sort in an array with loops",
    "map": "use a for loop",
    "list": "use cuda.local.array",
    "dict": "use arrays",
    "set": "use an array",
    "str": "store numbers in an array and format them on the host",
    "complex": "use two floats",
    "type": "kernels are compiled for the types of their arguments; a.dtype is that of an array",
    "slice": "write a[1:3]",
    "isinstance": "kernels are compiled for the types of their arguments",
}

MATH = {
    "comb": "write a loop, or take math.lgamma",
    "dist": "use math.hypot of the differences",
    "factorial": "write math.gamma(n + 1), or a loop",
    "fsum": "add in a loop",
    "isqrt": "write int(math.sqrt(float64(n)))",
    "perm": "write a loop",
    "prod": "multiply in a loop",
}

OPERATORS = {
    "matmul": "multiply and add the elements in for loops",
    "imatmul": "multiply and add the elements in for loops",
    "attrgetter": "write the name behind a dot: a.x",
    "itemgetter": "write the index in brackets: a[1]",
    "methodcaller": "call the function by its name",
    "getitem": "write a[i]",
    "setitem": "write a[i] = x",
    "delitem": "arrays and tuples have a fixed size: copy what stays in a for loop",
    "concat": "write a + b",
    "iconcat": "write a + b",
    "countOf": "compare the items in a for loop",
    "indexOf": "compare the items in a for loop",
    "length_hint": "write len(a)",
}

MAKERS = ("zeros", "ones", "empty", "full", "array", "arange", "zeros_like", "empty_like", "ones_like")

ITERATORS = {
    "ndindex": "write a for loop over a range for each axis",
    "ndenumerate": "write a for loop over a range for each axis",
    "nditer": "write a for loop over a range for each axis",
}


def of_syntax(node: ast.AST) -> str:
    """The refusal of a kind of statement or expression."""
    name, instead = SYNTAX.get(type(node).__name__, (type(node).__name__, ""))
    return f"{name.strip()} is not supported in a kernel" + (f"; {instead}" if instead else "")


def of_attribute(owner: Any, name: str) -> str:
    """The refusal of an attribute that a module or another object does not have."""
    known = [other for other in listed(owner) if not other.startswith("_")]
    module: Any = owner.__module__ if isinstance(owner, type) else None
    named = isinstance(owner, type | ModuleType)
    title = owner.__name__ if named else str(owner) if trusted(type(owner)) else f"a {type(owner).__name__}"
    return absent(f"{module}.{title}" if module else title, name, known)


def of_computed(name: str) -> str:
    """The refusal of an attribute that code of its owner would have to compute."""
    return f"attribute {name!r} is computed by Python, which no kernel runs; give its value a name outside the kernel"


ARRAY_METHODS = {
    "sum": "add the elements in a for loop, or cuda.reduce on the host",
    "min": "compare the elements in a for loop",
    "max": "compare the elements in a for loop",
    "mean": "add the elements in a for loop, and divide",
    "fill": "store the elements in a for loop",
    "copy": "declare a cuda.local.array, and copy the elements in a for loop",
    "astype": "convert single elements: float32(a[i])",
    "item": "write a[0]",
    "tolist": "index the array",
    "dot": "multiply and add the elements in a for loop",
    "append": "arrays have a fixed size: store at an index",
    "copy_to_host": "copy on the host, after the launch",
}


def of_array(name: str, known: Iterable[str]) -> str:
    """The refusal of an attribute or method that arrays do not have; known: those that they have."""
    if name in ARRAY_METHODS:
        return f"arrays have no {name!r} in a kernel; {ARRAY_METHODS[name]}"
    known = tuple(known)
    return f"arrays have no {name!r} in a kernel; there are {', '.join(known)}{did_you_mean(name, known)}"


def of_field(name: str, known: Iterable[str]) -> str:
    """The refusal of a field that a record does not have; known: those that it has."""
    known = tuple(known)
    return f"the record has no field {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}"


def of_statement(value: Any) -> str:
    """The refusal of a function's name that stands alone, without the parentheses of a call; empty for other things."""
    if isinstance(value, FunctionType | BuiltinFunctionType):
        name = f"{str(value.__module__).removeprefix('smmux.')}.{value.__qualname__}".removeprefix("builtins.")
        return f"{name} does nothing without parentheses; write {name}()"
    return ""


def wrong_arguments(rule: Callable[..., Any], given: int, keywords: Iterable[str]) -> str:
    """Why a call does not fit the parameters of its rule, behind the frame and the node; empty where it does.

    given: arguments by position. keywords: names of the others.
    """
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    parameters = list(signature(rule).parameters.values())
    positional = [p for p in parameters if p.kind in kinds][2:]
    alone = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    named = {p.name for p in (*positional, *alone) if p.kind is not Parameter.POSITIONAL_ONLY}
    if given > len(positional) and not any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
        least = sum(p.default is Parameter.empty for p in positional)
        takes = f"from {least} to {len(positional)}" if least < len(positional) else f"{len(positional)}"
        plural = "s" * (takes != "1")
        return f"takes {takes} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"
    unknown = [name for name in keywords if name not in named]
    if unknown and not any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return f"got an unexpected keyword argument {unknown[0]!r}"
    twice = [p.name for p in positional[:given] if p.name in keywords]
    if twice:
        return f"got multiple values for argument {twice[0]!r}"
    left = [p.name for p in [*positional[given:], *alone] if p.default is Parameter.empty and p.name not in keywords]
    return f"missing {counted(len(left), 'required argument')}: {' and '.join(map(repr, left))}" if left else ""


def of_function(function: Any) -> str:
    """A function to call instead of one that kernels cannot call, behind a semicolon; empty if none is known."""
    module, name = peek(function, "__module__"), peek(function, "__name__") or ""
    if name in MAKERS and module == "numpy":
        return "; declare a cuda.local.array or cuda.shared.array, or pass an array"
    if module == "numpy" and name in ITERATORS:
        return f"; {ITERATORS[name]}"
    if module == "numpy" or type(function).__name__ == "ufunc":
        return "; use the function of the math module, on one element"
    if module == "math" and name in MATH:
        return f"; {MATH[name]}"
    operation = name or type(function).__name__
    if module in ("operator", "_operator") and operation in OPERATORS:
        return f"; {OPERATORS[operation]}"
    if module == "builtins" and name in BUILTINS:
        return f"; {BUILTINS[name]}"
    if str(module).startswith("smmux."):
        return "; call it on the host, outside kernels"
    if str(module).startswith(("numpy.random", "random")) or type(peek(function, "__self__")).__name__ in (
        "RandomState",
        "Generator",
        "Random",
    ):
        return "; use cuda.random, or pass an array of random numbers"
    if isinstance(function, FunctionType):
        return "; decorate it with @cuda.jit(device=True)"
    return ""
