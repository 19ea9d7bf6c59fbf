"""What has a meaning only inside kernels: where a thread is, barriers, warps, arithmetic, storage and atomics.

`smmux.cuda` has all of these names. Outside a kernel they raise `KernelOnlyError`.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, cast

from smmux.language.kernel_only import Attribute, Dim3, kernel_only

__all__ = [
    "activemask",
    "all_sync",
    "any_sync",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "clz",
    "const",
    "eq_sync",
    "ffs",
    "fma",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "lanemask_lt",
    "local",
    "popc",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "warpsize",
]


# -- where a thread is

threadIdx = Dim3("threadIdx", "tid")
blockIdx = Dim3("blockIdx", "ctaid")
blockDim = Dim3("blockDim", "ntid")
gridDim = Dim3("gridDim", "nctaid")
laneid: int = cast(int, Attribute("laneid"))
warpsize = 32


def grid(ndim: int, /) -> Any:
    """The thread's position in the whole grid: an int for ndim 1, else a tuple of ndim."""
    kernel_only("cuda.grid")


def gridsize(ndim: int, /) -> Any:
    """The number of threads of the whole grid along each of ndim axes."""
    kernel_only("cuda.gridsize")


# -- barriers, fences, warps


def lanemask_lt() -> int:
    """A bit for each lane of the warp below this one."""
    kernel_only("cuda.lanemask_lt")


def syncthreads() -> None:
    """Wait for all threads of the block."""
    kernel_only("cuda.syncthreads")


def syncthreads_count(predicate: Any, /) -> int:
    """Wait for all threads of the block; return how many of them have a true predicate."""
    kernel_only("cuda.syncthreads_count")


def syncthreads_and(predicate: Any, /) -> int:
    """Wait for all threads of the block; return 1 if all of them have a true predicate, else 0."""
    kernel_only("cuda.syncthreads_and")


def syncthreads_or(predicate: Any, /) -> int:
    """Wait for all threads of the block; return 1 if any of them has a true predicate, else 0."""
    kernel_only("cuda.syncthreads_or")


def syncwarp(mask: int = 0xFFFFFFFF, /) -> None:
    """Wait for the threads of the warp; on the modelled machines, whose warps run in lockstep, no time passes."""
    kernel_only("cuda.syncwarp")


def threadfence() -> None:
    """Wait until the thread's stores are visible to the whole device."""
    kernel_only("cuda.threadfence")


def threadfence_block() -> None:
    """Wait until the thread's stores are visible to its block."""
    kernel_only("cuda.threadfence_block")


def threadfence_system() -> None:
    """Wait until the thread's stores are visible everywhere."""
    kernel_only("cuda.threadfence_system")


def shfl_sync(mask: int, value: Any, src_lane: int, /) -> Any:
    """The value of another lane of the warp."""
    kernel_only("cuda.shfl_sync")


def shfl_up_sync(mask: int, value: Any, delta: int, /) -> Any:
    """The value of the lane `delta` below; the lowest lanes keep theirs."""
    kernel_only("cuda.shfl_up_sync")


def shfl_down_sync(mask: int, value: Any, delta: int, /) -> Any:
    """The value of the lane `delta` above; the highest lanes keep theirs."""
    kernel_only("cuda.shfl_down_sync")


def shfl_xor_sync(mask: int, value: Any, lane_mask: int, /) -> Any:
    """The value of the lane whose number differs in the bits of `lane_mask`."""
    kernel_only("cuda.shfl_xor_sync")


def all_sync(mask: int, predicate: Any, /) -> bool:
    """True if the predicate is true in all active lanes of the warp."""
    kernel_only("cuda.all_sync")


def any_sync(mask: int, predicate: Any, /) -> bool:
    """True if the predicate is true in any active lane of the warp."""
    kernel_only("cuda.any_sync")


def eq_sync(mask: int, predicate: Any, /) -> bool:
    """True if the predicate is the same in all active lanes of the warp."""
    kernel_only("cuda.eq_sync")


def ballot_sync(mask: int, predicate: Any, /) -> int:
    """A bit for each active lane of the warp whose predicate is true."""
    kernel_only("cuda.ballot_sync")


def activemask() -> int:
    """A bit for each active lane of the warp."""
    kernel_only("cuda.activemask")


# -- arithmetic that Python has no operator for


def selp(condition: Any, a: Any, b: Any, /) -> Any:
    """a if condition else b, without a branch."""
    kernel_only("cuda.selp")


def popc(x: int, /) -> int:
    """Number of bits that are one."""
    kernel_only("cuda.popc")


def clz(x: int, /) -> int:
    """Number of zero bits above the highest one."""
    kernel_only("cuda.clz")


def brev(x: int, /) -> int:
    """The bits in reverse order, 32 or 64 as x has."""
    kernel_only("cuda.brev")


def ffs(x: int, /) -> int:
    """Position of the lowest one, counted from 1; 0 if there is none."""
    kernel_only("cuda.ffs")


def cbrt(x: float, /) -> float:
    """The cube root."""
    kernel_only("cuda.cbrt")


def fma(a: float, b: float, c: float, /) -> float:
    """a * b + c, rounded once."""
    kernel_only("cuda.fma")


# -- storage


class shared:
    """Shared memory of a block."""

    @staticmethod
    def array(shape: Any, dtype: Any, alignment: Any = None) -> Any:
        """An array of the block; shape is a constant, or 0 for the bytes given at launch. alignment: bytes, a power of
        two, at a multiple of which the array begins among those of the block."""
        kernel_only("cuda.shared.array")


class local:
    """Memory of one thread."""

    @staticmethod
    def array(shape: Any, dtype: Any, alignment: Any = None) -> Any:
        """An array of the thread: registers if all its indices are constant once loops are unrolled. alignment: bytes,
        a power of two, at a multiple of which an array in memory begins."""
        kernel_only("cuda.local.array")


class const:
    """Constant memory."""

    @staticmethod
    def array_like(array: Any) -> Any:
        """A captured NumPy array, with its values at compile time."""
        kernel_only("cuda.const.array_like")


class atomic:
    """Atomic operations on elements of 32 and 64 bits of global and shared arrays; each returns the old value."""

    @staticmethod
    def add(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] += value`"""
        kernel_only("cuda.atomic.add")

    @staticmethod
    def sub(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] -= value`"""
        kernel_only("cuda.atomic.sub")

    @staticmethod
    def and_(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] &= value`"""
        kernel_only("cuda.atomic.and_")

    @staticmethod
    def or_(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] |= value`"""
        kernel_only("cuda.atomic.or_")

    @staticmethod
    def xor(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] ^= value`"""
        kernel_only("cuda.atomic.xor")

    @staticmethod
    def inc(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = 0 if array[index] >= value else array[index] + 1`"""
        kernel_only("cuda.atomic.inc")

    @staticmethod
    def dec(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = value if array[index] == 0 or array[index] > value else array[index] - 1`"""
        kernel_only("cuda.atomic.dec")

    @staticmethod
    def exch(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = value`"""
        kernel_only("cuda.atomic.exch")

    @staticmethod
    def max(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = max(array[index], value)`"""
        kernel_only("cuda.atomic.max")

    @staticmethod
    def min(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = min(array[index], value)`"""
        kernel_only("cuda.atomic.min")

    @staticmethod
    def nanmax(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = max(array[index], value)`, where a NaN loses against any number"""
        kernel_only("cuda.atomic.nanmax")

    @staticmethod
    def nanmin(array: Any, index: Any, value: Any, /) -> Any:
        """`array[index] = min(array[index], value)`, where a NaN loses against any number"""
        kernel_only("cuda.atomic.nanmin")

    @staticmethod
    def compare_and_swap(array: Any, old: Any, value: Any, /) -> Any:
        """array[0] = value if array[0] == old"""
        kernel_only("cuda.atomic.compare_and_swap")

    @staticmethod
    def cas(array: Any, index: Any, old: Any, value: Any, /) -> Any:
        """`array[index] = value if array[index] == old`"""
        kernel_only("cuda.atomic.cas")


def _publish(thing: Any) -> None:
    """Have messages, help() and pickle name a function or class, and what is in it, where users find it."""
    if isinstance(thing, type):
        for part in vars(thing).values():
            _publish(getattr(part, "__func__", None))
    if isinstance(thing, type | FunctionType):
        thing.__module__ = "smmux.cuda"


for _name in __all__:
    _publish(globals()[_name])
