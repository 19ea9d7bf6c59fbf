"""What a result says of itself where only a sample of the grid's blocks was simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Sampled"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """How a grid was sampled, and how sure the estimate is.

    blocks: how many were simulated clock by clock. grid: how many there are. clusters: in how many places, beside both
    ends of the grid. low, high: the ends of the interval of cycles, at 95 % confidence.
    """

    blocks: int
    grid: int
    clusters: int
    low: int
    high: int

    @property
    def error(self) -> float:
        """Half of the interval, over its middle."""
        return (self.high - self.low) / (self.high + self.low)

    @property
    def text(self) -> str:
        """The estimate's sureness in a few words."""
        return f"sampled: {self.blocks:,} of {self.grid:,} blocks, ± {self.error:.1%} at 95 % confidence"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "blocks": self.blocks,
            "grid": self.grid,
            "clusters": self.clusters,
            "low": self.low,
            "high": self.high,
            "error": self.error,
        }
