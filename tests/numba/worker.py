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

# Threads of a block wait for the interpreter in turns of this length: the simulator polls.
TURN_SECONDS = 2e-4


def allocate_once() -> None:
    """Make the simulator's shared arrays safe under frequent switches of threads: it looks them up without a lock."""
    from numba.core import types
    from numba.cuda.simulator import kernelapi
    from numba.np import numpy_support

    lock = threading.Lock()
    dynamic = kernelapi.FakeCUDAShared.array

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        if shape == 0:
            return dynamic(self, shape, numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype)
        place = sys._getframe(1)
        key = (place.f_code.co_filename, place.f_lineno)
        with lock:
            if key not in self._allocations:
                self._allocations[key] = np.empty(shape, numpy_support.as_dtype(dtype))
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
    sys.setswitchinterval(TURN_SECONDS)
    allocate_once()
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
