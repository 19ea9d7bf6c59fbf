"""The multiplexed variants of a benchmark that experiments compare with its baseline, under the paper's names."""

from __future__ import annotations

from smmux.benchmarks.base import VARIANTS, VIRTUAL

__all__ = ["APPROACHES", "LABELS", "MANAGED"]

LABELS = {name: name.upper().replace("_", "-") for name in VARIANTS} | {"vtb_pipe": "VTB_pipe"}
"""The paper's name of each variant."""

APPROACHES = {name: LABELS[name] for name in VIRTUAL}
"""The software approaches, which combine thread blocks, with their labels."""

MANAGED = ("hw", "co_hw")
"""The variants for dynamic management in hardware."""
