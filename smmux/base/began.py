"""When this process began to load smmux: files of it that changed later are not those that run."""

import time

__all__ = ["BEGUN"]

BEGUN = time.time_ns()
