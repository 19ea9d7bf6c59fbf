"""The kernel language, spelled as in `numba.cuda`: a kernel file needs only its import changed to run on a real card.

>>> from smmux import cuda
>>> @cuda.jit
... def scale(a, factor):
...     i = cuda.grid(1)
...     if i < a.size:
...         a[i] *= factor

`scale[blocks, threads](a, 2.0)` runs it on the current machine. Names that have a meaning only inside kernels raise
`KernelOnlyError` outside. Arrays stay NumPy arrays: `to_device` copies, `copy_to_host` copies back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, overload

from smmux.cuda import cg, cudadrv
from smmux.cuda.cudadrv.error import CudaSupportError
from smmux.declaration import check_options, declare
from smmux.device import (
    close,
    current_context,
    default_stream,
    defer_cleanup,
    detect,
    event,
    event_elapsed_time,
    external_stream,
    get_current_device,
    gpus,
    is_available,
    is_float16_supported,
    is_supported_version,
    legacy_default_stream,
    list_devices,
    per_thread_default_stream,
    profile_start,
    profile_stop,
    profiling,
    select_device,
    stream,
    synchronize,
)
from smmux.errors import no_attribute
from smmux.host import (
    DeviceNDArray,
    In,
    InOut,
    Out,
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from smmux.kernel import Kernel
from smmux.language import Attribute, Dim3, absent, kernel_only
from smmux.signatures import Signatures, is_signature, signatures_of
from smmux.texts import watch
from smmux.tracebacks import brief
from smmux.vector_types import (
    char1,
    char2,
    char3,
    char4,
    double1,
    double2,
    double3,
    double4,
    float1,
    float2,
    float3,
    float4,
    float32x1,
    float32x2,
    float32x3,
    float32x4,
    float64x1,
    float64x2,
    float64x3,
    float64x4,
    int1,
    int2,
    int3,
    int4,
    int8x1,
    int8x2,
    int8x3,
    int8x4,
    int16x1,
    int16x2,
    int16x3,
    int16x4,
    int32x1,
    int32x2,
    int32x3,
    int32x4,
    int64x1,
    int64x2,
    int64x3,
    int64x4,
    long1,
    long2,
    long3,
    long4,
    short1,
    short2,
    short3,
    short4,
    uchar1,
    uchar2,
    uchar3,
    uchar4,
    uint1,
    uint2,
    uint3,
    uint4,
    uint8x1,
    uint8x2,
    uint8x3,
    uint8x4,
    uint16x1,
    uint16x2,
    uint16x3,
    uint16x4,
    uint32x1,
    uint32x2,
    uint32x3,
    uint32x4,
    uint64x1,
    uint64x2,
    uint64x3,
    uint64x4,
    ulong1,
    ulong2,
    ulong3,
    ulong4,
    ushort1,
    ushort2,
    ushort3,
    ushort4,
)

__all__ = [
    "CudaSupportError",
    "DeviceNDArray",
    "In",
    "InOut",
    "Out",
    "Reduce",
    "activemask",
    "all_sync",
    "any_sync",
    "as_cuda_array",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "char1",
    "char2",
    "char3",
    "char4",
    "close",
    "clz",
    "const",
    "cudadrv",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "double1",
    "double2",
    "double3",
    "double4",
    "eq_sync",
    "event",
    "event_elapsed_time",
    "external_stream",
    "ffs",
    "float1",
    "float2",
    "float3",
    "float4",
    "float32x1",
    "float32x2",
    "float32x3",
    "float32x4",
    "float64x1",
    "float64x2",
    "float64x3",
    "float64x4",
    "fma",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "int1",
    "int2",
    "int3",
    "int4",
    "int8x1",
    "int8x2",
    "int8x3",
    "int8x4",
    "int16x1",
    "int16x2",
    "int16x3",
    "int16x4",
    "int32x1",
    "int32x2",
    "int32x3",
    "int32x4",
    "int64x1",
    "int64x2",
    "int64x3",
    "int64x4",
    "is_available",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "laneid",
    "legacy_default_stream",
    "list_devices",
    "local",
    "long1",
    "long2",
    "long3",
    "long4",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "select_device",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "short1",
    "short2",
    "short3",
    "short4",
    "stream",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "to_device",
    "uchar1",
    "uchar2",
    "uchar3",
    "uchar4",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint8x1",
    "uint8x2",
    "uint8x3",
    "uint8x4",
    "uint16x1",
    "uint16x2",
    "uint16x3",
    "uint16x4",
    "uint32x1",
    "uint32x2",
    "uint32x3",
    "uint32x4",
    "uint64x1",
    "uint64x2",
    "uint64x3",
    "uint64x4",
    "ulong1",
    "ulong2",
    "ulong3",
    "ulong4",
    "ushort1",
    "ushort2",
    "ushort3",
    "ushort4",
    "warpsize",
]


watch()


if not TYPE_CHECKING:  # type checkers know the names that there are

    def __getattr__(name: str) -> Any:
        """Refuse a name that `numba.cuda` has and this module lacks, and say what to write instead."""
        raise no_attribute(absent(__name__, name, __all__))


# -- decorators


@overload
def jit(function: Callable[..., Any], /) -> Kernel: ...
@overload
def jit(
    signature: Signatures | None = None,
    device: bool = False,
    *,
    fastmath: bool = False,
    max_registers: int | None = None,
    **ignored: Any,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@brief
def jit(
    signature: Any = None,
    device: bool = False,
    *,
    fastmath: bool = False,
    max_registers: int | None = None,
    **ignored: Any,
) -> Any:
    """Make a kernel of a function, or with `device=True` a function that kernels can call.

    Used as `@cuda.jit` or `@cuda.jit(...)`. signature: the types of arguments, "void(float32[:], int32)" or a list of
    such; numbers are converted to them, and other arrays are refused. Without one a kernel is compiled for the types of
    the arguments it is called with. fastmath: approximate division, square root and transcendental functions.
    max_registers: the most 32-bit registers per thread. The options that steer only Numba's own compiler (inline,
    debug, opt, lineinfo, cache, ...) are accepted and change nothing.
    """
    check_options(ignored)
    options: dict[str, Any] = {"device": device, "fastmath": fastmath, "max_registers": max_registers}
    if signature is None or is_signature(signature):
        declared = () if signature is None else signatures_of(signature)
        return brief(lambda function: declare(function, declared=declared, **options))
    return declare(signature, **options)


# -- inside kernels: where a thread is

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


# -- inside kernels: barriers, fences, warps


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


# -- inside kernels: arithmetic that Python has no operator for


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
    """The 32 bits in reverse order."""
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


# -- inside kernels: storage


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
    """Atomic operations on 32-bit elements of global and shared arrays; each returns the old value."""

    @staticmethod
    def add(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] += value"""
        kernel_only("cuda.atomic.add")

    @staticmethod
    def sub(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] -= value"""
        kernel_only("cuda.atomic.sub")

    @staticmethod
    def and_(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] &= value"""
        kernel_only("cuda.atomic.and_")

    @staticmethod
    def or_(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] |= value"""
        kernel_only("cuda.atomic.or_")

    @staticmethod
    def xor(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] ^= value"""
        kernel_only("cuda.atomic.xor")

    @staticmethod
    def inc(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = 0 if array[index] >= value else array[index] + 1"""
        kernel_only("cuda.atomic.inc")

    @staticmethod
    def dec(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = value if array[index] == 0 or array[index] > value else array[index] - 1"""
        kernel_only("cuda.atomic.dec")

    @staticmethod
    def exch(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = value"""
        kernel_only("cuda.atomic.exch")

    @staticmethod
    def max(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = max(array[index], value)"""
        kernel_only("cuda.atomic.max")

    @staticmethod
    def min(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = min(array[index], value)"""
        kernel_only("cuda.atomic.min")

    @staticmethod
    def nanmax(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = max(array[index], value), where a NaN loses against any number"""
        kernel_only("cuda.atomic.nanmax")

    @staticmethod
    def nanmin(array: Any, index: Any, value: Any, /) -> Any:
        """array[index] = min(array[index], value), where a NaN loses against any number"""
        kernel_only("cuda.atomic.nanmin")

    @staticmethod
    def compare_and_swap(array: Any, old: Any, value: Any, /) -> Any:
        """array[0] = value if array[0] == old"""
        kernel_only("cuda.atomic.compare_and_swap")

    @staticmethod
    def cas(array: Any, index: Any, old: Any, value: Any, /) -> Any:
        """array[index] = value if array[index] == old"""
        kernel_only("cuda.atomic.cas")


# -- made of kernels

from smmux.cuda.reduction import Reduce  # noqa: E402

reduce = Reduce
