"""The versions of the filter of 21 taps, what was measured of them, and what their records say."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from experiments.common.schedules import ON_CARDS
from experiments.common.verdicts import paper
from smmux import gpus, models
from smmux.sweep import Record

__all__ = [
    "FERMI", "KEPLER", "MODES", "PAPER_US", "SIZES", "STRIDES", "VERSIONS", "WIDTHS", "largest", "passes_of_strides",
    "ratios", "runs_of",
]  # fmt: skip

KEPLER, FERMI = "K20c", "GTX480-48K"
VERSIONS = {"v1": ("one", 4), "v2": ("two", 4), "v3": ("two", 8)}
"""Build of the kernel and bytes of a bank, by version."""
SIZES = (1 << 18, 1 << 20, 1 << 22, 1 << 24)
"""Points of the signal; the last is the article's."""
PAPER_US = dict(zip(VERSIONS, paper("K12"), strict=True))
"""Measured microseconds of each version on a Tesla K20c."""

MODES = {"Fermi": (FERMI, None), "Kepler, 4-byte": (KEPLER, 4), "Kepler, 8-byte": (KEPLER, 8)}
"""Machine and bytes of a bank, by the name of the mode."""
WIDTHS = (1, 2, 4, 8, 16)
STRIDES = (*range(1, 17), 32, 33)


def passes_of_strides() -> list[Record]:
    """What the model of the banks says of 32 elements of some width, some elements apart, from address 0 on."""
    made = []
    for (mode, (gpu, bank_bytes)), width, stride in itertools.product(MODES.items(), WIDTHS, STRIDES):
        machine = gpus.get(gpu).with_banks(bank_bytes)
        access = models.bank_passes([width * stride * lane for lane in range(32)], width, machine)
        common = {"kind": "model", "mode": mode, "gpu": gpu, "width": width, "stride": stride}
        made.append(common | {"passes": access.passes, "conflicts": access.conflicts})
    return made


def runs_of(
    records: Sequence[Record], gpu: str = KEPLER, schedule: str = ON_CARDS.head, points: int | None = None
) -> dict[str, list[Record]]:
    """The runs on a machine by version, of all sizes or of one, the largest last."""
    own: dict[str, list[Record]] = {}
    for name in VERSIONS:
        of_version = [
            r
            for r in records
            if r["kind"] == "run"
            and (r["version"], r["gpu"], r["schedule"]) == (name, gpu, schedule)
            and points in (None, r["points"])
        ]
        if of_version:
            own[name] = sorted(of_version, key=lambda r: int(r["points"]))
    return own


def largest(records: Sequence[Record]) -> int:
    """The most points of all runs."""
    return max(int(r["points"]) for r in records if r["kind"] == "run")


def ratios(times: Mapping[str, float]) -> tuple[float, float, float]:
    """v1 / v2, v2 / v3 and v1 / v3 of the versions' times."""
    v1, v2, v3 = (times[name] for name in VERSIONS)
    return v1 / v2, v2 / v3, v1 / v3
