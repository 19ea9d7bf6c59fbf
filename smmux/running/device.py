"""The device of `smmux.cuda` as programs for Numba see it: the current machine, streams and events.

Launches are synchronous, so that streams have nothing to wait for. Events read the time of the simulated machine, which
launches let pass and nothing else does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from smmux.base.dimensions import largest
from smmux.errors import ConfigError, Error

if TYPE_CHECKING:
    import asyncio

    from smmux.gpus import Gpu

__all__ = [
    "Context",
    "Device",
    "DeviceTime",
    "Event",
    "MemoryInfo",
    "Stream",
    "close",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_time",
    "event",
    "event_elapsed_time",
    "external_stream",
    "get_current_device",
    "gpus",
    "is_available",
    "is_float16_supported",
    "is_supported_version",
    "legacy_default_stream",
    "list_devices",
    "per_thread_default_stream",
    "profile_start",
    "profile_stop",
    "profiling",
    "select_device",
    "stream",
    "synchronize",
]

GLOBAL_MEMORY = 0xC0000000 - 0x1000
"""Bytes of device memory, as arguments are placed in it."""


class DeviceTime:
    """The microseconds that all launches of the process have taken on their simulated machines."""

    def __init__(self) -> None:
        self.microseconds = 0.0
        self._lock = threading.Lock()

    def advance(self, microseconds: float) -> None:
        """Let a launch's time pass."""
        with self._lock:
            self.microseconds += microseconds


device_time = DeviceTime()
"""The clock that events read."""


class Event:
    """A moment in simulated time."""

    def __init__(self, timing: bool = True) -> None:
        self._time: float | None = None

    def record(self, stream: Any = 0) -> None:
        """Take the time."""
        self._time = device_time.microseconds

    def synchronize(self) -> None:
        """Return at once: launches are synchronous."""

    def wait(self, stream: Any = 0) -> None:
        """Return at once: launches are synchronous."""

    def query(self) -> bool:
        """True: launches are synchronous."""
        return True

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds that launches have taken on the simulated machine up to another event."""
        if self._time is None or evtend._time is None:
            raise Error("an event has a time once it is recorded: event.record()")
        return (evtend._time - self._time) / 1e3


class Stream:
    """A stream: launches are synchronous, so that there is nothing to wait for."""

    def synchronize(self) -> None:
        """Return at once: launches are synchronous."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Do nothing around the statements under `with`: launches are synchronous."""
        yield self

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        """Call a function at once: all that was launched is done."""
        callback(self, 0, arg)

    def async_done(self) -> asyncio.Future[Stream]:
        """A future that is done, with the stream as its result."""
        import asyncio  # which takes a third of the time to import all of this package

        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds of simulated time between two events."""
    return evtstart.elapsed_time(evtend)


def stream() -> Stream:
    """A new stream."""
    return Stream()


default_stream = legacy_default_stream = per_thread_default_stream = stream


def external_stream(ptr: int) -> Stream:
    """A new stream, whatever the address."""
    return Stream()


def synchronize() -> None:
    """Return at once: launches are synchronous."""


def _limit(what: int, axis: int, gpu: Gpu) -> int:
    return largest(gpu)[what][axis]


# Attributes of Numba's devices, in the words of the machine's parameters.
ATTRIBUTES: dict[str, Callable[[Gpu], int]] = {
    "WARP_SIZE": lambda gpu: 32,
    "MAX_THREADS_PER_BLOCK": lambda gpu: gpu.max_threads_block,
    **{f"MAX_BLOCK_DIM_{axis}": partial(_limit, 1, i) for i, axis in enumerate("XYZ")},
    **{f"MAX_GRID_DIM_{axis}": partial(_limit, 0, i) for i, axis in enumerate("XYZ")},
    "MAX_SHARED_MEMORY_PER_BLOCK": lambda gpu: gpu.smem_block,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": lambda gpu: gpu.smem_bytes,
    "MAX_REGISTERS_PER_BLOCK": lambda gpu: gpu.regs_sm,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": lambda gpu: gpu.regs_sm,
    "MAX_THREADS_PER_MULTI_PROCESSOR": lambda gpu: 32 * gpu.max_warps_sm,
    "MULTIPROCESSOR_COUNT": lambda gpu: gpu.sm_count,
    "TOTAL_CONSTANT_MEMORY": lambda gpu: 65536,
    "CLOCK_RATE": lambda gpu: gpu.shader_khz,
    "UNIFIED_ADDRESSING": lambda gpu: 1,
    "CAN_MAP_HOST_MEMORY": lambda gpu: 1,
    "CONCURRENT_KERNELS": lambda gpu: 0,
    "COOPERATIVE_LAUNCH": lambda gpu: 1,
    "INTEGRATED": lambda gpu: 0,
}


class Device:
    """The current machine, with the attributes of Numba's devices."""

    id = 0
    uuid = "GPU-00000000-0000-0000-0000-000000000000"

    @property
    def machine(self) -> Gpu:
        """The machine itself, `smmux.gpus.current()`."""
        from smmux import gpus

        return gpus.current()

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number."""
        return divmod(self.machine.compute_capability, 10)

    def __getattr__(self, name: str) -> int:
        """A number of the machine, under the name that it has in Numba."""
        if name in ATTRIBUTES:
            return ATTRIBUTES[name](self.machine)
        raise AttributeError(f"the device has no attribute {name!r}; its machine has all parameters: device.machine")

    def reset(self) -> None:
        """Do nothing: arrays belong to Python."""

    def get_primary_context(self) -> Context:
        """The one context."""
        return Context()

    def __repr__(self) -> str:
        return f"<simulated device {self.name}>"


class MemoryInfo(NamedTuple):
    """Bytes of device memory: free, and altogether."""

    free: int
    total: int


class Context:
    """What Numba calls a context: of the one device."""

    def __init__(self, device: Device | None = None) -> None:
        self.device = device or Device()

    id = 0

    def synchronize(self) -> None:
        """Return at once: launches are synchronous."""

    def reset(self) -> None:
        """Do nothing: arrays belong to Python."""

    def push(self) -> None:
        """Do nothing: there is one context."""

    def pop(self) -> None:
        """Do nothing: there is one context."""

    def create_stream(self) -> Stream:
        """A new stream."""
        return Stream()

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        return Event(timing)

    def get_memory_info(self) -> MemoryInfo:
        """All memory is free: arrays take none before a launch, or after it."""
        return MemoryInfo(GLOBAL_MEMORY, GLOBAL_MEMORY)

    @property
    def deallocations(self) -> list[Any]:
        """Memory that waits to be freed, which `deallocations.clear()` does: none."""
        return []

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Do nothing around the statements under `with`: arrays are freed by Python."""
        yield

    def __enter__(self) -> Context:
        """`with cuda.gpus[0]:`"""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number of the device."""
        return self.device.compute_capability

    @property
    def name(self) -> str:
        """The device's name."""
        return self.device.name


class Devices:
    """The list of devices: the current machine alone."""

    @property
    def lst(self) -> list[Context]:
        """All of them."""
        return [Context()]

    @property
    def current(self) -> Context:
        """The one in use."""
        return Context()

    def __getitem__(self, number: int) -> Context:
        if number not in (0, -1):
            raise IndexError(f"there is one device, number 0, and no {number}")
        return Context()

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Context]:
        return iter(self.lst)

    def __repr__(self) -> str:
        return "<Managed Device 0>"


gpus = Devices()
"""`cuda.gpus`: the list of devices."""


def list_devices() -> Devices:
    """The list of devices."""
    return gpus


def get_current_device() -> Device:
    """The device that stands for the current machine."""
    return Device()


def select_device(device_id: int = 0) -> Device:
    """The one device; `smmux.gpus.set_current` chooses the machine that it stands for."""
    if device_id != 0:
        raise ConfigError(
            f"there is one device, number 0, and no {device_id}; smmux.gpus.set_current chooses its machine"
        )
    return Device()


def current_context(devnum: int | None = None) -> Context:
    """The context of the one device."""
    if devnum:
        select_device(devnum)
    return Context()


def close() -> None:
    """Do nothing: there is no CUDA context to close."""


def profile_start() -> None:
    """Do nothing: `simulate(..., profile=True)` gives counters."""


def profile_stop() -> None:
    """Do nothing: `simulate(..., profile=True)` gives counters."""


@contextmanager
def profiling() -> Iterator[None]:
    """Do nothing around the statements under `with`: `simulate(..., profile=True)` gives counters."""
    yield


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing around the statements under `with`: arrays are freed by Python."""
    yield


def is_available() -> bool:
    """True: the simulator needs no card."""
    return True


def is_supported_version() -> bool:
    """True: the simulator needs no CUDA runtime."""
    return True


def is_float16_supported() -> bool:
    """True: 16-bit floats are converted and computed in float32, rounded after each operation."""
    return True


def detect() -> bool:
    """Print the device, and return True."""
    device = Device()
    major, minor = device.compute_capability
    sys.stdout.write(
        "Found 1 CUDA devices\n"
        f"id {device.id}    {device.name:>20} {'[SUPPORTED]':>40}\n"
        f"{'compute capability':>40}: {major}.{minor}\n"
        f"{'simulated by':>40}: smmux\n"
    )
    return True
