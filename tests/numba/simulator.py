"""The client of Numba's CUDA simulator: one process for all tests of a session."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Simulator:
    """A running `worker.py`."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])  # kernels may import smmux
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def call(self, path: Path, function: str) -> Any:
        """The arrays that a function of a kernel file returns."""
        return self._ask("call", str(path), function)

    def launch(self, text: str, filename: str, grid: Any, block: Any, args: list[Any]) -> Any:
        """The arguments after the kernel called `kernel` of a text has run."""
        return self._ask("launch", text, filename, grid, block, args)

    def _ask(self, *request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(request, self._process.stdin)
        self._process.stdin.flush()
        status, value = pickle.load(self._process.stdout)
        if status != "ok":
            raise AssertionError(f"Numba's simulator failed:\n{value}")
        return value

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(100)
        self._process.stdout.close()


@cache
def shared() -> Simulator:
    """The simulator of this session, started when first needed."""
    import atexit

    simulator = Simulator()
    atexit.register(simulator.close)
    return simulator
