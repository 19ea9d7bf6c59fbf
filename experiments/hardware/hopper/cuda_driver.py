"""As much of the CUDA driver's interface as the microbenchmarks need: modules, memory, launches, events, graphs."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import Any

import numpy as np

MAX_DYNAMIC_SHARED, CARVEOUT, NON_PORTABLE_CLUSTER = 8, 9, 14  # attributes of a function
ATTRIBUTES = {
    "multiprocessors": 16,
    "max_sm_clock_khz": 13,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "major": 75,
    "minor": 76,
    "shared_per_multiprocessor": 81,
    "registers_per_multiprocessor": 82,
    "reserved_shared_per_block": 111,
}


class Card:
    """The first card of the machine, with one context."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device = c_int()
        self.call("cuDeviceGet", byref(self.device), 0)
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.multiprocessors = self.attributes()["multiprocessors"]

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver; raises RuntimeError with the driver's name for the error."""
        status = getattr(self.library, name)(*arguments)
        if status:
            text = c_char_p()
            self.library.cuGetErrorName(status, byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def attributes(self) -> dict[str, int]:
        """What the driver says of the card."""
        values = {}
        for name, number in ATTRIBUTES.items():
            value = c_int()
            self.call("cuDeviceGetAttribute", byref(value), number, self.device)
            values[name] = value.value
        return values

    def name(self) -> str:
        """The card's name."""
        text = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", text, 100, self.device)
        return text.value.decode()

    def driver(self) -> int:
        """The CUDA version of the driver, such as 13000."""
        value = c_int()
        self.call("cuDriverGetVersion", byref(value))
        return value.value

    def load(self, cubin: bytes) -> Module:
        """A module from the bytes of a cubin."""
        return Module(self, cubin)

    def alloc(self, count: int) -> int:
        """The address of so many fresh bytes, which are zero."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(count))
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), c_size_t(count))
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def put(self, address: int, values: np.ndarray) -> None:
        """Copy an array to the card."""
        values = np.ascontiguousarray(values)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), values.ctypes.data_as(c_void_p), c_size_t(values.nbytes))

    def get(self, address: int, count: int, dtype: Any) -> np.ndarray:
        """Copy `count` elements from the card; waits for what runs."""
        values = np.empty(count, dtype)
        self.call("cuMemcpyDtoH_v2", values.ctypes.data_as(c_void_p), ctypes.c_uint64(address), c_size_t(values.nbytes))
        return values

    def sync(self) -> None:
        """Wait for what runs."""
        self.call("cuCtxSynchronize")

    def event(self) -> c_void_p:
        """A new event."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), 0)
        return event

    def time_us(self, run: Any, stream: c_void_p | None = None) -> float:
        """Microseconds between two events around what `run` launches."""
        begin, end = self.event(), self.event()
        self.call("cuEventRecord", begin, stream)
        run()
        self.call("cuEventRecord", end, stream)
        self.call("cuEventSynchronize", end)
        elapsed = c_float()
        self.call("cuEventElapsedTime", byref(elapsed), begin, end)
        for event in (begin, end):
            self.call("cuEventDestroy_v2", event)
        return 1000 * elapsed.value

    def stream(self) -> c_void_p:
        """A new stream."""
        stream = c_void_p()
        self.call("cuStreamCreate", byref(stream), 1)
        return stream

    def graph(self, stream: c_void_p, run: Any) -> c_void_p:
        """A graph that can be launched, of what `run` launches in the stream."""
        graph, ready = c_void_p(), c_void_p()
        self.call("cuStreamBeginCapture_v2", stream, 2)
        run()
        self.call("cuStreamEndCapture", stream, byref(graph))
        self.call("cuGraphInstantiateWithFlags", byref(ready), graph, ctypes.c_ulonglong(0))
        return ready


class Module:
    """A loaded module."""

    def __init__(self, card: Card, cubin: bytes) -> None:
        self.card, self.handle = card, c_void_p()
        card.call("cuModuleLoadData", byref(self.handle), c_char_p(cubin))

    def __getitem__(self, name: str) -> Function:
        handle = c_void_p()
        self.card.call("cuModuleGetFunction", byref(handle), self.handle, name.encode())
        return Function(self.card, handle)

    def address(self, name: str) -> int:
        """The address of a variable."""
        address, size = ctypes.c_uint64(), c_size_t()
        self.card.call("cuModuleGetGlobal_v2", byref(address), byref(size), self.handle, name.encode())
        return address.value

    def unload(self) -> None:
        """Unload the module."""
        self.card.call("cuModuleUnload", self.handle)


class Function:
    """A kernel. Arguments of launches: Python integers are 64 bits, NumPy scalars what they are."""

    def __init__(self, card: Card, handle: c_void_p) -> None:
        self.card, self.handle = card, handle

    def set(self, attribute: int, value: int) -> Function:
        """Set an attribute of the function."""
        self.card.call("cuFuncSetAttribute", self.handle, attribute, value)
        return self

    def __call__(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: Any,
        shared: int = 0,
        stream: c_void_p | None = None,
    ) -> None:
        """Launch so many blocks of so many threads, in up to three dimensions."""
        held = [np.array(value, np.uint64) if isinstance(value, int) else np.array(value) for value in arguments]
        pointers = (c_void_p * len(held))(*[value.ctypes.data for value in held])
        shapes = [(*(shape if isinstance(shape, tuple) else (shape,)), 1, 1)[:3] for shape in (grid, block)]
        sizes = [c_uint(size) for size in (*shapes[0], *shapes[1], shared)]
        self.card.call("cuLaunchKernel", self.handle, *sizes, stream, pointers, None)
