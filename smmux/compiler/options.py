"""Options of the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from smmux import _core
from smmux.compiler.launch_facts import Facts
from smmux.errors import ConfigError, boolean, did_you_mean, integer
from smmux.language.typings import checked

__all__ = ["FEWEST_REGISTERS", "SCHEDULES", "Options", "Thrift"]

SCHEDULES = tuple(name for kind, name, _ in _core.POLICIES if kind == "schedule")
FEWEST_REGISTERS = 4
"""The smallest limit of registers that a thread can have."""

MOST_CLOCKS = 60_000
"""The longest latency of a class, as of a machine (csrc/tables/config.def)."""


@dataclass(frozen=True, slots=True)
class Thrift:
    """How a vendor's compiler spends registers, which the list schedule follows.

    free: registers of a thread with which the threads of a full SM get by, so that fewer make room for no other block:
    values go to local memory for none below that. step: registers of a thread in which they are allocated; of the
    limits that are so far apart, from `free` on, the first counts with which nothing goes to local memory. held,
    words: what code holds beside the kernel's values, and words of each of these, which are indices and addresses of 64
    bits more often than not, unless it is half of such a value by itself; these words are never so many that a thread
    has more than `free` by them.
    """

    free: int
    step: int = 1
    held: int = 0
    words: int = 1

    def limits(self, needed: int, most: int) -> Iterator[int]:
        """The limits to try one after the other for code that takes `needed` registers without one, up to `most`."""
        yield from range(self.free, min(needed, most), self.step)
        yield most

    def counted(self, needed: int, held: int, most: int) -> int:
        """The registers that a thread has by the vendor's count, of which the kernel's values take `needed`; held: the
        words of these values at a time."""
        if not self.held:
            return needed
        return max(needed, min(self.held + held, self.free, most))


@dataclass(frozen=True, slots=True)
class Options:
    """Compiler options; they are part of the key under which compiled kernels are cached.

    schedule: "source" keeps program order, "list" orders each block by critical path; a kernel that is launched has
    its machine's, and options that name no machine keep program order. max_registers: 32-bit registers per thread;
    values beyond them go to local memory. fused_mad: whether multiply-add becomes `fma.rn` (CC 2.x and later) rather
    than `mad` with a rounded product (CC 1.x).

    "list" alone reads these three. latencies: pairs, or a mapping, of a class of operations (a row of `classes.def`)
    and the clocks until its result is there. issue_interval: clocks from one instruction of a warp to its next.
    thrift: how registers are spent, None where they are free.

    join: whether adjacent accesses are merged into 64- and 128-bit ones. unroll_limit: operations to which a loop with
    a constant trip count may unroll. group: trips that a short loop which stays a loop takes at a time. float64:
    whether the machine has 64-bit floats. typing: "numpy" for the rules of NEP 50, "numba" for those of Numba's
    compiler. bounds: whether an index outside its axis ends the launch. axes: whether the indices of accesses stay told
    apart by axis where they need no care, for those who read the intermediate code. facts: what is known of launches of
    the program, for its indices.

    Raises ConfigError for a value without meaning.
    """

    schedule: str = "source"
    max_registers: int = 124
    fused_mad: bool = False
    latencies: tuple[tuple[str, int], ...] = ()
    issue_interval: int = 4
    thrift: Thrift | None = None
    join: bool = True
    unroll_limit: int = 4096
    group: int = 1
    float64: bool = True
    typing: str = "numpy"
    bounds: bool = False
    axes: bool = False
    facts: Facts = Facts()

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ConfigError(f"schedule must be one of {', '.join(SCHEDULES)}, not {self.schedule!r}")
        checked(self.typing, "typing")
        for name, low, high in (
            ("max_registers", FEWEST_REGISTERS, 255),
            ("issue_interval", 1, 8),
            ("unroll_limit", 0, 1 << 20),
            ("group", 1, 32),
        ):
            integer(name, getattr(self, name), low, high)
        for name in ("fused_mad", "join", "float64", "bounds", "axes"):
            boolean(name, getattr(self, name))
        object.__setattr__(self, "latencies", _latencies(self.latencies))


def _latencies(given: Any) -> tuple[tuple[str, int], ...]:
    """The clocks of classes of operations, as pairs. Raises ConfigError for what are no such pairs."""
    try:
        pairs = [(name, clocks) for name, clocks in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        raise ConfigError(f"latencies must be pairs of a class and its clocks, not {given!r}") from None
    for name, _ in pairs:
        if name not in _core.CLASSES:
            known = ", ".join(_core.CLASSES)
            raise ConfigError(
                f"latencies has no class {name!r}{did_you_mean(str(name), _core.CLASSES)}; it has {known}"
            )
    return tuple((name, integer(f"latencies[{name!r}]", clocks, 1, MOST_CLOCKS)) for name, clocks in pairs)
