"""Numba's CUDA simulator as a server: pickled requests on standard input, pickled replies on standard output.

Run as a script, in a process of its own, since the simulator is chosen when Numba is imported. Requests are
("call", path, function) for the result of a function of a kernel file, and
("launch", text, filename, grid, block, args) for the arguments after running the kernel called `kernel` in a text.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sources import launch, load, results


def take_turns() -> None:
    """Let the threads of a block run one after the other from barrier to barrier, in the other order each time.

    The simulator lets them all run at once and polls: what they do is the same, but most of the time goes into that.
    """
    from numba.cuda.simulator import kernel

    class Thread(kernel.BlockThread):  # type: ignore[misc]
        """A thread of the block, which waits for its turn at barriers."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.turn, self.over = threading.Lock(), False
            self.turn.acquire()

        def run(self) -> None:
            super().run()
            self.over = True
            self._manager.next.release()

        def syncthreads(self) -> None:
            self._manager.next.release()
            self.turn.acquire()
            if self.abort:
                raise RuntimeError("another thread has failed")

        def resume(self) -> None:
            """Run to the next barrier or the end."""
            if self.ident is None:
                self.start()
            else:
                self.turn.release()
            self._manager.next.acquire()

    def run(self: Any, grid_point: Any, *args: Any) -> None:
        self.next = threading.Lock()
        self.next.acquire()
        points = np.ndindex(*self._block_dim)
        live = [Thread(lambda: self._f(*args), self, grid_point, point, self._debug) for point in points]
        failed = None
        while live:
            for thread in live:
                thread.abort = failed is not None
                if thread.ident or not failed:
                    thread.resume()
                failed = failed or thread.exception
            live = [thread for thread in reversed(live) if not thread.over and (thread.ident or not failed)]
        if failed is not None:
            raise failed[0].with_traceback(failed[1])

    kernel.BlockManager.run = run


def stay_on_one_core() -> None:
    """One thread runs at a time: to wake the next one is four times as fast on the same core as on another."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def find_shared_arrays() -> None:
    """Find a shared array by the caller's frame: the simulator extracts the whole stack, with the text of its lines."""
    from numba.core import types
    from numba.cuda.simulator import kernelapi
    from numba.np import numpy_support

    dynamic = kernelapi.FakeCUDAShared.array

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        dtype = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
        if shape == 0:
            return dynamic(self, shape, dtype)
        place = sys._getframe(1)
        key = (place.f_code.co_filename, place.f_lineno)
        if key not in self._allocations:
            self._allocations[key] = np.empty(shape, dtype)
        return self._allocations[key]

    kernelapi.FakeCUDAShared.array = array


def answer(request: tuple[Any, ...], modules: dict[str, Any]) -> Any:
    """The result of one request."""
    kind, first, *rest = request
    if kind == "call":
        if first not in modules:
            modules[first] = load(Path(first).read_text(), first, "numba")
        return results(getattr(modules[first], rest[0])())
    filename, grid, block, args = rest
    return launch(load(first, filename, "numba"), grid, block, args)


def main() -> None:
    """Serve until the input ends."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels print is no reply
    warnings.simplefilter("ignore")  # integers wrap around, floats overflow: as on a card
    take_turns()
    stay_on_one_core()
    find_shared_arrays()
    modules: dict[str, Any] = {}
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        try:
            reply = ("ok", answer(request, modules))
        except Exception:
            reply = ("error", traceback.format_exc())
        pickle.dump(reply, replies)
        replies.flush()


if __name__ == "__main__":
    main()
