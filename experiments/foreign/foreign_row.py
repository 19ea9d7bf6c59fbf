"""How a foreign kernel is listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from smmux.benchmarks.base import Problem, Workload

__all__ = ["row"]


def row(name: str, title: str, kernel: Any, problems: Callable[..., Problem], **default: int) -> Workload:
    """A kernel with problems of the default sizes, and of an eighth and a 64th of the first of them."""
    first, *_ = default
    sizes: Mapping[str, Mapping[str, float]] = {
        size: {**default, first: max(default[first] // part, 2)}
        for size, part in (("default", 1), ("quick", 8), ("tiny", 64))
    }
    return Workload(name, title, {"written": kernel}, lambda build, **given: problems(**given), sizes)
