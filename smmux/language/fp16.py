"""`cuda.fp16`: operations on numbers of 16 bits, each under the name that CUDA has for it.

Arguments are converted to float16; operators on float16 numbers do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smmux.errors import did_you_mean, no_attribute
from smmux.language.kernel_only import kernel_only

__all__ = ["ARGUMENTS"]

ARGUMENTS = (
    dict.fromkeys("habs hceil hcos hexp hexp10 hexp2 hfloor hlog hlog10 hlog2 hneg hrcp hrint".split(), 1)
    | dict.fromkeys("hrsqrt hsin hsqrt htrunc".split(), 1)
    | dict.fromkeys("hadd hdiv heq hge hgt hle hlt hmax hmin hmul hne hsub".split(), 2)
    | {"hfma": 3}
)
"""How many arguments each function takes."""


def _declared(name: str) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        kernel_only(f"cuda.fp16.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}({', '.join(['float16'] * ARGUMENTS[name])})"
    return function


globals().update({name: _declared(name) for name in ARGUMENTS})


def __getattr__(name: str) -> Any:
    """Say which names there are."""
    raise no_attribute(lambda: f"smmux.language.fp16 has no attribute {name!r}{did_you_mean(name, ARGUMENTS)}")


def __dir__() -> list[str]:
    return sorted(ARGUMENTS)
