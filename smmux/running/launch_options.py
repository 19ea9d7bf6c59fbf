"""The options of a run: one list, which `launch`, `Kernel.simulate`, the command line and their help read.

A new option is a row of `LaunchOptions` here and the place in `csrc` that gives its number a meaning.

>>> OPTIONS["extra_blocks"].default
0
>>> for_core(complete({"management": "dynamic", "extra_blocks": 2}))["extra_blocks"]
2
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypedDict, TypeVar, get_type_hints, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.base.dimensions import MAX_BLOCKS
from smmux.errors import ConfigError, boolean, did_you_mean, integer
from smmux.machines.management import Maker, name_of
from smmux.running.arguments import Arguments

__all__ = [
    "CHECKS",
    "DEFAULT_MAX_CYCLES",
    "OPTIONS",
    "LaunchOptions",
    "Option",
    "Preloads",
    "beyond_static",
    "complete",
    "documented",
    "for_core",
]

Function = TypeVar("Function", bound=Callable[..., Any])

CHECKS: Final[Mapping[str | None, int]] = {None: 0, "races": 1, "races-strict": 2, "bounds": 0}
"""Values of the option `check`, and their number in the core (enum check_mode)."""

DEFAULT_MAX_CYCLES: Final = 1_000_000_000
"""Cycle limit of a run that sets none: 0.7 s of a GTX285, against kernels that spin."""

MAX_WINDOW: Final = 1 << 20
"""Largest window that may be asked for; the core takes at most the largest that is exact, some hundred clocks."""

MAX_HOST_THREADS: Final = 64
"""Largest number of host threads, as in the core (bind_launch.c): machines have fewer clusters of SMs to share out."""


MAX_ACCESSES: Final = 1 << 20
"""Most accesses that an SM records, as in the core (record.h): 152 bytes each."""


MAX_EVENTS: Final = 1 << 20
"""Most events of a time line that an SM keeps, as in the core (trace.h): 16 bytes each."""


@runtime_checkable
class Preloads(Protocol):
    """A preload table: smmux.preload.Table."""

    @property
    def dropped(self) -> int:
        """Entries that found no room in it."""

    def check(self, kernel: str, arguments: Arguments) -> None:
        """Raise LaunchError if the table is not that of this launch."""

    def records(self) -> NDArray[np.int64]:
        """The entries as the core takes them."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a run, beside its keyword and its type.

    default: the value of a run that does not give it. key: its name among the options of the core, None for one that
    changes the machine instead. number: the check, which turns keyword and value into the number that the core takes,
    or raises ConfigError. meaning: the explanation
    that help prints. text: the conversion of a word of the command line, None if the command line has no such option.
    """

    default: Any
    key: str | None
    number: Callable[[str, Any], int]
    meaning: str
    text: Callable[[str], Any] | None = None


def _one_of(values: Mapping[Any, int]) -> Callable[[str, Any], int]:
    """The check of an option that has a few values, each with a number."""

    def number(name: str, value: Any) -> int:
        if value not in tuple(values):
            names = f"one of {', '.join(map(str, filter(None, values)))}"
            raise ConfigError(f"{name} must be {'None or ' * (None in values)}{names}, not {value!r}")
        return values[value]

    return number


def _management(name: str, value: Any) -> int:
    """The number of a management of shared memory; one in Python counts as dynamic."""
    from smmux.gpus import policies  # with all machines, which only launches need

    if callable(value):
        return policies.number("management", "dynamic")
    return policies.number("management", policies.chosen("management", name, value))


def _events(name: str, value: Any) -> int:
    """How many events of a time line an SM keeps; the core takes 1 for what is in proportion to the instructions."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if not hasattr(value, "__index__"):
        raise ConfigError(f"{name} must be True, False or a number of events, not {value!r}")
    return integer(name, value, 2, MAX_EVENTS)


def _preloads(name: str, value: Any) -> int:
    """The check of a preload table, which the core takes beside the numbers: whether there is one."""
    if value is None or isinstance(value, Preloads):
        return int(value is not None)
    raise ConfigError(f"{name} must be None or a smmux.preload.Table, not {value!r}")


def _between(low: int, high: int) -> Callable[[str, Any], int]:
    """The check of an option that is an integer from low to high."""
    return lambda name, value: integer(name, value, low, high)


def _size(name: str, value: Any) -> int:
    """The check of a size in kB that only a machine can judge; 0 for none."""
    return 0 if value is None else integer(name, value, 0, 1 << 20)


def _relative_error(name: str, value: Any) -> int:
    """The check of a relative error, or of none: whether there is one."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, float | int | np.number) or not 0 < value < 1:
        raise ConfigError(f"{name} must be None or a relative error between 0 and 1, not {value!r}")
    return 1


def _limit(name: str, value: Any) -> int:
    """The check of a limit of cycles; the core takes 0 for no limit."""
    return 0 if value is None else integer(name, value, 1, (1 << 63) - 1)


class LaunchOptions(TypedDict, total=False):
    """The keywords of `launch`, which `Kernel.simulate` takes too; each row holds all that is known of one."""

    management: Annotated[
        str | Maker,
        Option(
            "static",
            "management",
            _management,
            "the management of shared memory: "
            + "; ".join(f"{name}: {doc}" for kind, name, doc in _core.POLICIES if kind == "management")
            + "; in Python also a subclass of smmux.Management",
            str,
        ),
    ]
    extra_blocks: Annotated[
        int,
        Option(
            0,
            "extra_blocks",
            _between(0, MAX_BLOCKS),
            "blocks that may reside on an SM beyond the static residency K with dynamic management: the n of K+n",
            int,
        ),
    ]
    max_waiting: Annotated[
        int,
        Option(
            0,
            "max_waiting",
            _between(0, MAX_BLOCKS),
            "blocks that may wait at smm.alloc() on an SM while another one starts, with throttled management",
            int,
        ),
    ]
    bank_bytes: Annotated[
        int | None,
        Option(
            None,
            None,
            _one_of({None: 0, 4: 4, 8: 8}),
            "width of the banks of shared memory, 4 or 8 bytes, on machines that can be set to either (compute "
            "capability 3.x), as cudaDeviceSetSharedMemConfig does for all launches; None in Python for the machine's",
            int,
        ),
    ]
    carveout: Annotated[
        int | None,
        Option(
            None,
            None,
            _size,
            "kB of shared memory on machines whose L1 and shared memory are parts of one memory: 16 or 48 on compute "
            "capability 2.x, 32 too on 3.x, as cudaFuncSetCacheConfig does for a kernel; the L1 has the rest. None in "
            "Python for the machine's; on 9.0 for the smallest with which as many blocks reside as with the largest",
            int,
        ),
    ]
    preload: Annotated[
        Preloads | None,
        Option(
            None,
            "preload",
            _preloads,
            "the preload table: a smmux.preload.Table of what each block reads, which the machine fetches into unused "
            "shared memory ahead of the block (machine parameters preload_*); values stay the same. None for no table",
        ),
    ]
    max_cycles: Annotated[
        int | None,
        Option(
            DEFAULT_MAX_CYCLES,
            "max_cycles",
            _limit,
            "shader clocks after which the run is given up; None in Python for no limit",
            int,
        ),
    ]
    window: Annotated[
        int,
        Option(
            0,
            "window",
            _between(0, MAX_WINDOW),
            "clocks that each SM runs alone, 0 for the largest number that is exact; results do not depend on it",
            int,
        ),
    ]
    host_threads: Annotated[
        int,
        Option(
            1,
            "threads",
            _between(1, MAX_HOST_THREADS),
            "threads of this computer that simulate; results do not depend on it",
            int,
        ),
    ]
    sample: Annotated[
        float | None,
        Option(
            None,
            None,
            _relative_error,
            "simulate so many blocks of a large grid that its cycles are known to within this relative error at 95 % "
            "confidence, such as 0.01, and not all; `result.sampled` says how many, and how sure. Counters are in "
            "proportion to blocks. None for the whole grid",
            float,
        ),
    ]
    outputs: Annotated[
        bool,
        Option(
            True,
            None,
            boolean,
            "with sample, whether blocks that are not simulated run for their values alone, which takes longer than "
            "the sample; with False all arrays stay as they were",
        ),
    ]
    warm: Annotated[
        bool,
        Option(
            False,
            None,
            boolean,
            "whether the launch comes behind the same one, as in a loop of launches timed on a card: the L2 and "
            "the caches of instructions are as that left them, and so is what it reads of its arrays: one that sorts "
            "in place finds them sorted. Afterwards arrays hold what one launch makes of them",
        ),
    ]
    profile: Annotated[
        bool,
        Option(
            False,
            "per_pc",
            boolean,
            "whether counters are also kept per instruction and source line",
        ),
    ]
    accesses: Annotated[
        int,
        Option(
            0,
            "accesses",
            _between(0, MAX_ACCESSES),
            "how many accesses to memory are kept of one block of each SM, with the addresses of their lanes",
        ),
    ]
    trace: Annotated[
        bool | int,
        Option(
            False,
            "trace",
            _events,
            "whether the run keeps a time line, `result.trace`: what happens to blocks and warps, and samples of what "
            "multiprocessors and memory do. True keeps as much as fits a byte per warp instruction beyond 11 kB an SM; "
            "a number keeps so many events of each SM. It changes no cycle",
        ),
    ]
    check: Annotated[
        str | None,
        Option(
            None,
            "check",
            _one_of(CHECKS),
            "look for misuse of memory: data races in shared and global memory, loads of shared memory that nobody "
            "wrote, accesses to what the block has released, barriers that not all threads reach. Threads of a warp "
            "run in lockstep on these machines: races only warns of what cuda.syncwarp does "
            "not order among them, races-strict counts it as a race. bounds checks every index against its axis and "
            "every assert, which the compiler otherwise takes for true, in a run of its own before the other. None "
            "changes values or cycles",
            str,
        ),
    ]


OPTIONS: Final[Mapping[str, Option]] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(LaunchOptions, include_extras=True).items()
}
"""The rows of `LaunchOptions`, by keyword."""


def complete(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option with its value, given or default. Raises ConfigError for a keyword that is no option."""
    for name in given:
        if name not in OPTIONS:
            known = (*OPTIONS, "dynamic_shared")  # which a launch of compiled code has
            raise ConfigError(f"there is no option {name!r}{did_you_mean(name, known)}")
    return {name: given.get(name, option.default) for name, option in OPTIONS.items()}


def beyond_static(given: Mapping[str, Any]) -> tuple[bool, int]:
    """Whether blocks of a run hold `smm.array` memory inside regions alone, and how many reside beyond K then."""
    options = complete(given)
    for_core(options)
    return _core.MANAGEMENTS.get(name_of(options["management"]), True), options["extra_blocks"]


def for_core(options: Mapping[str, Any]) -> dict[str, int]:
    """All options as the core takes them. Raises ConfigError for a value, or two together, without meaning."""
    checked = {option.key: option.number(name, options[name]) for name, option in OPTIONS.items()}
    numbers = {key: number for key, number in checked.items() if key}
    management = name_of(options["management"])
    if options["extra_blocks"] and not _core.MANAGEMENTS.get(management, True):
        raise ConfigError(f"extra_blocks needs management='dynamic': {management} management stays at K blocks")
    if options["max_waiting"] != OPTIONS["max_waiting"].default and management != "throttled":
        raise ConfigError(f"max_waiting needs management='throttled': {management} management does not ask who waits")
    return numbers


def documented(function: Function) -> Function:
    """The function, with a paragraph on each option at the end of its docstring."""
    if function.__doc__ is not None:
        body = [line for line in function.__doc__.splitlines()[1:] if line.strip()]
        indent = " " * min(len(line) - len(line.lstrip()) for line in body)
        rows = (f"{name} (default {option.default!r}): {option.meaning}." for name, option in OPTIONS.items())
        layout = textwrap.TextWrapper(
            120, initial_indent=f"{indent}* ", subsequent_indent=f"{indent}  ", break_on_hyphens=False
        )
        head = [function.__doc__.rstrip(), "", f"{indent}Options of a run:", ""]
        function.__doc__ = "\n".join([*head, *map(layout.fill, rows)])
    return function
