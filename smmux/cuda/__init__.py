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
from typing import TYPE_CHECKING, Any, overload

from smmux.base.texts import watch
from smmux.base.tracebacks import brief
from smmux.cuda import cudadrv
from smmux.cuda.cudadrv.error import CudaSupportError
from smmux.errors import boolean, no_attribute
from smmux.kernels.declaration import check_options, declare
from smmux.kernels.kernel import Kernel
from smmux.language import cg, fp16, kernel_names, libdevice, vector_types
from smmux.language.kernel_names import *  # noqa: F403
from smmux.language.kernel_only import absent
from smmux.language.signatures import Signatures, is_signature, signatures_of
from smmux.language.typings import checked
from smmux.language.vector_types import *  # noqa: F403
from smmux.running.device import (
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
from smmux.running.host import (
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

__all__ = [
    "CudaSupportError",
    "DeviceNDArray",
    "In",
    "InOut",
    "Out",
    "Reduce",
    "as_cuda_array",
    "cg",
    "close",
    "cudadrv",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "fp16",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "is_available",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "legacy_default_stream",
    "libdevice",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]
__all__ += kernel_names.__all__
__all__ += vector_types.__all__


watch()


if not TYPE_CHECKING:  # type checkers know the names that there are

    def __getattr__(name: str) -> Any:
        """Refuse a name that `numba.cuda` has and this module lacks, and say what to write instead."""
        raise no_attribute(lambda: absent(__name__, name, __all__))


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
    typing: str = "",
    **ignored: Any,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@brief
def jit(
    signature: Any = None,
    device: bool = False,
    *,
    fastmath: bool = False,
    max_registers: int | None = None,
    typing: str = "",
    **ignored: Any,
) -> Any:
    """Make a kernel of a function, or with `device=True` a function that kernels can call.

    Used as `@cuda.jit` or `@cuda.jit(...)`. signature: the types of arguments, "void(float32[:], int32)" or a list of
    such; numbers are converted to them, and other arrays are refused. Without one a kernel is compiled for the types of
    the arguments it is called with. fastmath: approximate division, square root and transcendental functions.
    max_registers: the most 32-bit registers per thread. typing: the rules by which numbers of two types meet, "numpy"
    or "numba" (see `smmux.typing`); the kernel's hold in the functions that it calls. The options that steer only
    Numba's own compiler (inline, debug, opt, lineinfo, cache, ...) are accepted and change nothing.
    """
    check_options(ignored)
    for name, given in (("device", device), ("fastmath", fastmath)):
        boolean(name, given)
    options: dict[str, Any] = {"device": device, "fastmath": fastmath, "max_registers": max_registers}
    options["typing"] = typing and checked(typing, "typing")
    if signature is None or is_signature(signature):
        declared = () if signature is None else signatures_of(signature)
        return brief(lambda function: declare(function, declared=declared, **options))
    return declare(signature, **options)


# -- made of kernels

from smmux.cuda.reduction import Reduce  # noqa: E402

reduce = Reduce
