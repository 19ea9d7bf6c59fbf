"""Measurements of real cards that were published: the rows of `experiments/common/published.csv`.

A row: the machine's name, the probe that simulates the measurement, the value (or its range, "5-7"), its unit, how far
off counts as right (0.15: up to 15 %; nothing where that was not laid down beforehand), the source (keys of
`smmux.gpus.TITLES` and `TITLES` here), the parameter of the machine that was set from this very value, and a note.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from smmux import gpus
from smmux.errors import ConfigError

__all__ = ["TABLE", "TITLES", "Published", "published", "sources"]

TABLE = Path(__file__).with_name("published.csv")

TITLES: Mapping[str, str] = {
    "BABEL": "BabelStream results 1.0 (UoB-HPC/BabelStream, results/v1.0/cuda)",
    "CAMP": "Aji, Daga and Feng: Bounding the effect of partition camping in GPU kernels (CF 2011), abstract",
    "JIA18": "Jia et al.: Dissecting the NVIDIA Volta GPU architecture via microbenchmarking (arXiv 1804.06826)",
}
"""Sources that no parameter of a machine has."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published measurement of a probe on a card; low and high are the same but for ranges.

    within: the relative difference up to which ours is right, None where there is no bar. given: the parameter that the
    machine has from this measurement, so that to find it again shows nothing but that the parameter is at work.
    """

    machine: str
    probe: str
    low: float
    high: float
    unit: str
    within: float | None
    source: str
    given: str
    note: str

    @property
    def shown(self) -> str:
        """The value as the table has it."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}-{self.high:g}"

    def ratio(self, ours: float) -> float:
        """Ours over the measured value: 1 inside a range, and outside over its nearer end; NaN if ours is no rate."""
        if not ours > 0:
            return math.nan
        return ours / min(max(ours, self.low), self.high)

    def right(self, ours: float) -> bool | None:
        """Whether ours lies within the bar, neither more than 1 + within times the value nor that much less."""
        if self.within is None:
            return None
        ratio = self.ratio(ours)
        return ratio > 0 and max(ratio, 1 / ratio) <= 1 + self.within + 1e-9


def published(path: Path = TABLE) -> list[Published]:
    """The rows of a table, in order. Raises ConfigError for a row that is none."""
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(row, f"{path.name}, row {number}") for number, row in enumerate(csv.DictReader(file), 2)]


def _row(row: Mapping[str, str], where: str) -> Published:
    try:
        low, _, high = row["measured"].partition("-")
        within = float(row["within"]) if row["within"] else None
        numbers = float(low), float(high or low)
        texts = {name: row[name] for name in ("machine", "probe", "unit", "source", "given", "note")}
    except (KeyError, ValueError, AttributeError) as error:
        raise ConfigError(f"{where}: {error}") from None
    return Published(low=numbers[0], high=numbers[1], within=within, **texts)


def sources(rows: list[Published]) -> dict[str, str]:
    """The titles of the sources that rows name, by key."""
    titles = {**gpus.TITLES, **TITLES}
    return {key: titles[key] for key in sorted({key for row in rows for key in gpus.keys(row.source)})}
