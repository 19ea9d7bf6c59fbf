"""The simulated machine: tables and functions of the C core."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

# Anything with the buffer protocol; NumPy declares it for type checkers only from Python 3.12 on.
_Buffer = Any
# Called now and then by long runs, which end by the exception that it raises.
_Poll = Callable[[], object]
_Watch = Callable[[int, int, int, str | None], object]

BUILD: Final[str]
"""Compiler and variant of the core."""

# Tables, generated from csrc/tables/*.def.

OPS: Final[dict[str, tuple[int, tuple[str, ...], str, str]]]
"""PTX name -> (code, traits, latency class, operands)."""
SASS: Final[dict[str, tuple[int, tuple[str, ...], str, str, dict[str, int]]]]
"""Operation of compiled code -> (code, traits, latency class, operands, its modifiers and their bits)."""
SASS_FIELDS: Final[dict[str, int]]
"""Bits that stand at operands of compiled code, and shifts of its predicates."""
SASS_CONTROL: Final[dict[str, int]]
"""Shifts of what the control bits of compiled code say, in an instruction's `control`."""
SASS_ROUTINES: Final[dict[str, int]]
"""Routines that compiled code calls and the core does: name -> number."""
SASS_REGISTERS: Final[dict[str, int]]
"""Special registers of compiled code: name -> number."""
TRAITS: Final[dict[str, str]]
"""What is known of an operation: trait -> what it says."""
UNITS: Final[list[tuple[str, str]]]
"""Kinds of execution units in the order of their numbers: (name, what they are)."""
CLASSES: Final[dict[str, tuple[int, str]]]
"""Latency class -> (code, what it holds)."""
CONFIG: Final[list[tuple[str, str, int, int, str]]]
"""Machine parameters: (name, unit, min, max, meaning)."""
COUNTERS: Final[list[tuple[str, str, str]]]
"""Counters of a run: (name, unit, definition)."""
PC_COUNTERS: Final[list[tuple[str, str, str]]]
"""Counters per instruction: (name, unit, definition)."""
LIMITS: Final[list[tuple[str, str, str]]]
"""What limits how many blocks reside on an SM, the first of several: (key of `occupancy`, name, definition)."""
WAITS: Final[list[tuple[str, str, str]]]
"""Reasons to wait: (name, counter of the idle time, what the warp waits for)."""
TRACE: Final[list[tuple[str, str]]]
"""Kinds of events of a time line in the order of their numbers: (name, what happens and what its value is)."""
SAMPLES: Final[list[tuple[str, str, str]]]
"""What a sample of a time line has: (name, unit, definition)."""
ERRORS: Final[list[tuple[str, str, str]]]
"""Errors: (name, exception, message)."""
FINDINGS: Final[list[tuple[str, str, str, str]]]
"""Kinds of findings of the checks: (name, severity, what it is, what to do about it)."""
POLICIES: Final[list[tuple[str, str, str]]]
"""Policies in the order of their numbers: (kind, name, what it does)."""
POLICY_KINDS: Final[list[tuple[str, str, str]]]
"""Kinds of policies: (kind, machine parameter or launch option, what it decides)."""
MANAGEMENTS: Final[dict[str, bool]]
"""Managements of shared memory by name: whether they give blocks memory for a part of their life."""
INSN: Final[list[tuple[str, str]]]
"""Fields of an instruction: (name, NumPy type)."""
UNIFORM: Final[list[tuple[str, str]]]
"""Fields of an operand that is the same for every thread: (name, NumPy type)."""
CONSTANTS: Final[dict[str, int]]
"""Bits of operand and guard fields, and limits of a program."""
FLAGS: Final[dict[str, int]]
"""Bits of the flags of an instruction."""
ATOMS: Final[dict[str, int]]
"""Atomic operations by name."""
SPECIALS: Final[dict[str, int]]
"""Special registers by PTX name."""
UNIFORMS: Final[dict[str, int]]
"""Kinds of uniform operands."""
BARRIERS: Final[dict[str, int]]
"""Kinds of barriers by the suffix of bar.sync."""
SHUFFLES: Final[dict[str, int]]
"""Modes of shfl."""
VOTES: Final[dict[str, int]]
"""Modes of vote."""

def config_fault(config: Sequence[int]) -> str | None: ...
def launch(
    code: _Buffer,
    uniforms: _Buffer,
    meta: dict[str, int],
    config: Sequence[int],
    grid: Sequence[int],
    block: Sequence[int],
    params: Sequence[int],
    buffers: Sequence[tuple[_Buffer, int, int, bool]],
    const: _Buffer,
    options: Mapping[str, int],
    poll: _Watch | None = None,
    managers: Sequence[Any] | None = None,
    preload: _Buffer | None = None,
    blocks: _Buffer | None = None,
) -> dict[str, Any]: ...
def occupancy(
    config: Sequence[int],
    threads: int,
    regs: int,
    static_bytes: int,
    dynamic_bytes: int = 0,
    extra_blocks: int = 0,
) -> dict[str, Any]: ...
def bank_passes(
    config: Sequence[int], addresses: Sequence[int], width: int = 4, mask: int = 0xFFFFFFFF
) -> tuple[int, int]: ...
def coalesce(
    config: Sequence[int], addresses: Sequence[int], width: int = 4, mask: int = 0xFFFFFFFF, store: bool = False
) -> list[tuple[int, int, int]]: ...
def dram_replay(
    config: Sequence[int],
    requests: _Buffer,
    done: _Buffer,
    log: _Buffer = ...,
    poll: _Poll | None = None,
) -> dict[str, int]: ...
def dram_map(config: Sequence[int], address: int) -> tuple[int, int, int, int, int]: ...
def cache_replay(
    bytes: int,
    line: int,
    ways: int,
    sector: int,
    hashed: bool,
    addresses: _Buffer,
    hit: _Buffer,
    write: _Buffer = ...,
    poll: _Poll | None = None,
) -> int: ...
def memory_replay(
    config: Sequence[int],
    packets: _Buffer,
    sent: _Buffer,
    replied: _Buffer,
    credits: int,
    interval: int,
    window: int = 0,
    poll: _Poll | None = None,
) -> dict[str, int]: ...

@final
class Smm:
    """The shared-memory management table of one SM (paper, section 5)."""

    def __new__(cls, capacity: int, unit: int = 16, reserve: int = 0) -> Smm: ...
    def alloc_static(self, block: int, size: int, /) -> int | None: ...
    def alloc_dynamic(self, block: int, size: int, /) -> int | None: ...
    def release(self, start: int, /) -> bool: ...
    def entries(self, /) -> list[tuple[int, int, int, bool]]: ...
