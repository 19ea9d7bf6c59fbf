"""Tiles on a real card, as data, as a panel and as a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments import teleport
from experiments.common import measured_tiles

ROWS = """benchmark,variant,spelling,carveout_kb,median_us,speedup,gpu
MMA,baseline,written,,10.0,0.8,NVIDIA Card 80GB
MMA,baseline,unsigned,,8.0,1.0,NVIDIA Card 80GB
MMA,hand-written,written,,4.0,2.0,NVIDIA Card 80GB
MMA,hand-written,unsigned,,5.0,1.6,NVIDIA Card 80GB
MMA,tiled by smmux,written,,16.0,0.5,NVIDIA Card 80GB
JAC,baseline,written,,8.0,1.0,NVIDIA Card 80GB
JAC,hand-written,written,,16.0,0.5,NVIDIA Card 80GB
JAC,ghost zone,written,,32.0,0.25,NVIDIA Card 80GB
JAC,tiled by smmux,written,,4.0,2.0,NVIDIA Card 80GB
HIS1,baseline,written,,9.0,1.0,NVIDIA Card 80GB
HIS1,hand-written,written,,0.1,90.0,NVIDIA Card 80GB
"""


def test_panel_and_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fastest spelling counts, and the means are of the programs that smmux tiles."""
    assert measured_tiles.load(tmp_path) == []
    assert measured_tiles.caption([]) == ""
    (tmp_path / "tiles_card.csv").write_text(ROWS)
    (tmp_path / "multiplex_card.csv").write_text("gpu\nanother\n")
    rows = measured_tiles.load(tmp_path)
    assert measured_tiles.speeds(rows) == {
        "hand-written": {"MMA": 2, "JAC": 0.5, "mean": pytest.approx(1)},
        "tiled by smmux": {"MMA": 0.5, "JAC": 2, "mean": pytest.approx(1)},
    }
    assert [len(bars) for bars in measured_tiles.plot(rows, Figure().add_subplot()).containers] == [3, 3]
    lines = [line.split() for line in measured_tiles.table(rows).splitlines()]
    assert ["HIS1", "9.000", "0.100", "-", "-", "90.000", "-"] in lines
    assert measured_tiles.caption(rows).startswith(" Last panel: Card, measured: over 2 programs")
    for found, panels in ((rows, 4), ([], 3)):
        monkeypatch.setattr(measured_tiles, "load", lambda found=found: found)
        assert [teleport.drawable([], panel) for panel in range(4)].count(True) == panels


def test_the_page_on_preloading_quotes_the_measurement() -> None:
    """Programs, both means, and the one that gains most."""
    page = (Path(__file__).parents[3] / "docs" / "preloading.md").read_text().split("a real H200", 1)[1]
    own = measured_tiles.speeds(measured_tiles.load())
    ours = own["tiled by smmux"]
    best = max(ours.values())
    quoted = re.findall(r"\d+(?:\.\d+)?", page.replace("L1", ""))
    assert quoted == [f"{len(ours) - 1}", f"{ours['mean']:.2f}", f"{own['hand-written']['mean']:.2f}", f"{best:.2f}"]
