"""Hardware that no card has: the preload table and its controller, of the same size on every machine.

They stand idle in a launch without a preload table (the option `preload` of a run).
"""

from __future__ import annotations

from smmux.gpus.machine import Value

__all__ = ["TELEPORT"]

TELEPORT: dict[str, Value] = {
    "preload_policy": ("hold", "S002"),
    "preload_entries": (128, "CTAT"),
    "preload_line": (128, "CTAT"),
    "preload_range": (16384, "CTAT"),
    "preload_interval": (0, "CTAT"),  # a block's requests enter their queue in one cycle
    "preload_lookup": (0, "CTAT"),
    "preload_early": (1, "MODEL"),
    "preload_wait": (0, "EST"),  # nothing is said of tiles that do not fit; so no block starts later for one
}
