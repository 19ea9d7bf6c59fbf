"""Long launches: how far they are, on a terminal, and whether a kernel spins, as a warning."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from types import TracebackType
from typing import Any

from smmux.base import interrupt
from smmux.base.tracebacks import frames_to_caller
from smmux.errors import KernelError

__all__ = ["Progress", "SpinningWarning"]

PATIENCE = 2.0
"""Seconds of a launch before its progress is shown [EST]: shorter ones would only flicker."""


class SpinningWarning(UserWarning):
    """A kernel that seems to wait for something that never happens."""


class Progress:
    """What watches one launch: the core calls it now and then, with the cycle, how many blocks have ended and how many
    there are, and where the warps are if they come back to where they were."""

    def __init__(self, kernel: str, max_cycles: int | None) -> None:
        self.kernel, self.max_cycles = kernel, max_cycles
        self.start = time.monotonic()
        self.bar: Any = None
        self.told = False
        self.shown = threading.current_thread() is threading.main_thread() and _on_terminal()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, cycle: int, finished: int, total: int, places: str | None) -> None:
        """Look at the launch. Raises KeyboardInterrupt where Ctrl-C is stopping another thread."""
        interrupt.poll()
        if places is not None and not self.told:
            self.told = True
            self._warn(cycle, places)
        if self.shown and time.monotonic() - self.start > PATIENCE:
            self._show(cycle, finished, total)

    def of_part(self, cycle: int, finished: int, total: int, places: str | None) -> None:
        """Look at the launch of a part of a grid, which waits for ever if it waits for the rest.

        Raises KernelError where it spins, KeyboardInterrupt as for a whole grid.
        """
        if places is not None:
            raise KernelError(f"kernel {self.kernel!r} spins without the rest of its grid ({places})")
        self(cycle, finished, total, None)

    def _show(self, cycle: int, finished: int, total: int) -> None:
        if self.bar is None:
            from tqdm import tqdm

            self.bar = tqdm(total=total, desc=self.kernel, unit="block", leave=False, file=sys.stderr)
        self.bar.set_postfix_str(f"{cycle:,} cycles", refresh=False)
        self.bar.update(finished - self.bar.n)

    def _warn(self, cycle: int, places: str) -> None:
        end = "Nothing ends it" if self.max_cycles is None else f"It is given up at cycle {self.max_cycles:,}"
        message = (
            f"kernel {self.kernel!r} seems to spin: no block ends, and every warp comes back to where it was with the "
            f"same values in all registers ({places}). {end}, it is at {cycle:,}; Ctrl-C stops it"
        )
        warnings.warn(message, SpinningWarning, stacklevel=frames_to_caller())


def _on_terminal() -> bool:
    return bool(sys.stderr) and sys.stderr.isatty()
