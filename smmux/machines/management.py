"""Managements of shared memory written in Python, which decide who gets the memory of an SM, when and where.

>>> import numpy as np
>>> import smmux
>>> from smmux import cuda, float32; from smmux.language import smm
>>> class LastComeFirst(smmux.Management):
...     def next_request(self, waiting, free):
...         return waiting[-1]
>>> @cuda.jit
... def turn(a):
...     tile = smm.array(1024, float32)
...     t, i = cuda.threadIdx.x, cuda.grid(1)
...     smm.alloc()
...     tile[t] = a[i]
...     cuda.syncthreads()
...     a[i] = tile[63 - t]
...     smm.release()
>>> a = np.arange(64 * 960, dtype=np.float32)
>>> result = turn.simulate(960, 64, (a,), management=LastComeFirst, extra_blocks=3)
>>> result.management, a[:2].tolist(), result["allocation_waits"] > 0
('LastComeFirst', [63.0, 62.0], True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from smmux.errors import ConfigError

if TYPE_CHECKING:
    from smmux.compiler.program import Program
    from smmux.gpus import Gpu

__all__ = ["Hole", "Maker", "Management", "Request", "SharedMemory", "managers", "name_of"]


class Request(NamedTuple):
    """A block that waits for shared memory.

    block: its number in the grid; blocks are handed out to SMs in this order. bytes: the bytes that it asks for,
    rounded up to the unit of the memory. allocation: True at `smm.alloc`, False before its start, where it asks for the
    bytes that it holds to its end. arrival: the cycle since which it waits. started: the cycle in which it started, or
    was to start. now: the present cycle.
    """

    block: int
    bytes: int
    allocation: bool
    arrival: int
    started: int
    now: int


class Hole(NamedTuple):
    """A free range of an SM's shared memory: its address and its length in bytes."""

    start: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The shared memory of an SM that a management hands out.

    sm: the number of the SM. bytes: its size. unit: addresses and sizes are multiples of so many bytes. reserved:
    bytes at the top that blocks may not hold to their end, so that an allocation always becomes possible.
    """

    sm: int
    bytes: int
    unit: int
    reserved: int


class Management:
    """A management of shared memory; a subclass overrides the decisions that it takes in another way.

    `kernel.simulate(..., management=MyManagement)` makes an object for each SM, `MyManagement(memory)`, and calls it
    where a block starts, arrives at `smm.alloc` or gives memory back, and never from two threads at a time. As
    SMs are simulated in no particular order, results are the same from run to run only if the objects share nothing
    that they change. As written here it does what `management="dynamic"` does.

    A method that raises an exception, or gives an impossible answer, ends the run with a `ManagementError`. A
    management that serves nobody any more ends it with a `DeadlockError`.
    """

    def __init__(self, memory: SharedMemory) -> None:
        self.memory = memory

    def may_start(self, block: Request, waiting: Sequence[Request]) -> bool:
        """Whether a block may start now if there is a place for the bytes that it holds to its end.

        It is asked again when memory has changed hands. waiting: all blocks of the SM that wait, this one too, in order
        of arrival.
        """
        return True

    def place(self, request: Request, free: Sequence[Hole]) -> int | None:
        """The address of the bytes that a block asks for, or None: then it waits on, with others of its kind behind it.

        free: the ranges where they may lie, in order of address.
        """
        fitting = [hole for hole in free if hole.bytes >= request.bytes]
        if not fitting:
            return None
        return fitting[-1].start + fitting[-1].bytes - request.bytes if request.allocation else fitting[0].start

    def next_request(self, waiting: Sequence[Request], free: Sequence[Hole]) -> Request:
        """The block that is served next: `may_start` is asked of it if it has not started, then `place`.

        waiting: the blocks to choose from, in order of arrival; a block that would wait behind one of its kind is not
        among them. free: all the memory that nobody has.
        """
        return waiting[0]


Maker: TypeAlias = Callable[[SharedMemory], Management]
"""A class of managements, or anything else that makes one for the shared memory of an SM."""


def name_of(management: str | Maker) -> str:
    """The name of a management, or of the class or function that makes it."""
    return management if isinstance(management, str) else getattr(management, "__name__", type(management).__name__)


def managers(management: str | Maker, gpu: Gpu, program: Program) -> tuple[Management, ...] | None:
    """The objects that manage the SMs of a machine; None if the core does. Raises ConfigError for other objects."""
    if isinstance(management, str):
        return None
    unit = gpu.smm_unit
    size = gpu.smem_bytes - gpu.smem_bytes % unit
    reserved = min(size, -(-program.dynamic_bytes // unit) * unit)
    objects: list[Any] = [management(SharedMemory(sm, size, unit, reserved)) for sm in range(gpu.sm_count)]
    for manager in objects:
        if not isinstance(manager, Management):
            raise ConfigError(f"management must make objects of smmux.Management, not of {type(manager).__name__}")
    return tuple(objects)
