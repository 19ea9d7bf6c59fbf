"""The host's side of `smmux.cuda`: device arrays are NumPy arrays, launches are synchronous, time is the host's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "DeviceNDArray",
    "as_cuda_array",
    "close",
    "current_context",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "is_available",
    "mapped_array",
    "pinned_array",
    "profile_start",
    "profile_stop",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]


class DeviceNDArray(np.ndarray[Any, Any]):
    """A NumPy array with the methods of Numba's device arrays."""

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = 0) -> NDArray[Any]:
        """A copy as a plain array, or a copy into `ary`."""
        if ary is None:
            return np.array(self, subok=False)
        np.copyto(ary, self)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrite with the elements of `ary`."""
        np.copyto(self, ary)


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """A copy of an array (or into `to`)."""
    if to is not None:
        np.copyto(to, obj)
        return to
    return np.array(obj).view(DeviceNDArray)


def device_array(
    shape: Any, dtype: DTypeLike = np.float32, strides: Any = None, order: Any = "C", stream: Any = 0
) -> Any:
    """A new array with undefined elements (zeros)."""
    return np.zeros(shape, np.dtype(dtype), order).view(DeviceNDArray)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """A new array of the shape and type of another."""
    return device_array(np.shape(ary), np.asarray(ary).dtype)


def pinned_array(shape: Any, dtype: DTypeLike = np.float32, strides: Any = None, order: Any = "C") -> Any:
    """A new array."""
    return device_array(shape, dtype, strides, order)


def mapped_array(shape: Any, dtype: DTypeLike = np.float32, strides: Any = None, order: Any = "C", **_: Any) -> Any:
    """A new array."""
    return device_array(shape, dtype, strides, order)


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """The array itself, with the methods of a device array."""
    return np.asarray(obj).view(DeviceNDArray)


class _Event:
    """A moment in the host's time."""

    def __init__(self) -> None:
        self._time = time.perf_counter()

    def record(self, stream: Any = 0) -> None:
        """Take the time."""
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Return at once: launches are synchronous."""

    def query(self) -> bool:
        """True: launches are synchronous."""
        return True

    def elapsed_time(self, evtend: _Event) -> float:
        """Milliseconds of host time up to another event; simulated time is in the results of `simulate`."""
        return (evtend._time - self._time) * 1e3


class _Stream:
    """A stream: launches are synchronous, so that there is nothing to wait for."""

    def synchronize(self) -> None:
        """Return at once: launches are synchronous."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[_Stream]:
        """Do nothing around the statements under `with`: launches are synchronous."""
        yield self


def event(timing: bool = True) -> _Event:
    """A new event."""
    return _Event()


def event_elapsed_time(evtstart: _Event, evtend: _Event) -> float:
    """Milliseconds of host time between two events."""
    return evtstart.elapsed_time(evtend)


def stream() -> _Stream:
    """A new stream."""
    return _Stream()


def synchronize() -> None:
    """Return at once: launches are synchronous."""


def select_device(device_id: int = 0) -> None:
    """Do nothing: `smmux.gpus.set_current` chooses the machine."""


def current_context(devnum: int | None = None) -> None:
    """Return None: there is no CUDA context."""


def close() -> None:
    """Do nothing: there is no CUDA context to close."""


def profile_start() -> None:
    """Do nothing: `simulate(..., profile=True)` gives counters."""


def profile_stop() -> None:
    """Do nothing: `simulate(..., profile=True)` gives counters."""


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing around the statements under `with`: arrays are freed by Python."""
    yield


def is_available() -> bool:
    """True: the simulator needs no card."""
    return True


def detect() -> bool:
    """True: the simulator needs no card."""
    return True
