"""What was measured on a real card, as data and as a panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from experiments.common import measured
from experiments.common.approaches import BEST
from experiments.common.speedups import MEAN
from tests.experiments.known import AS_PAPER, on_cards


@pytest.fixture
def as_paper() -> list[dict[str, Any]]:
    return on_cards(AS_PAPER)


HARDWARE = """gpu,carveout_kb,benchmark,variant,n,repeats,median_us,min_us,speedup
Card,48,FFT,baseline,1,9,10.0,9.0,1.0
Card,48,FFT,vtb,2,9,10.0,9.0,1.0
Card,16,FFT,vtb,2,9,8.0,7.5,1.25
Card,16,FFT,vtb_pipe,2,9,5.0,4.5,2.0
Card,16,HG,vtb,2,9,10.0,9.0,0.8
"""


def test_panel_of_a_real_card(tmp_path: Path, as_paper: list[dict[str, Any]]) -> None:
    assert measured.load(folder=tmp_path) == []
    (tmp_path / "multiplex_card.csv").write_text(HARDWARE)
    rows = measured.load(folder=tmp_path)
    assert rows[3]["speedup"] == 2.0
    found = {(b["benchmark"], b["series"]): b["speedup"] for b in measured.bars(rows)}
    assert found[MEAN, "VTB"] == pytest.approx(1.0)
    assert found[MEAN, BEST] == pytest.approx(1.6**0.5)
    ax = measured.plot(rows, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [3, 2, 1]
    assert ax.containers[2][0].get_facecolor() == to_rgba("C3"), "that of the best, though no CO-VTB was measured"
    assert "VTB_pipe 16 kB" in measured.table(rows)
    assert measured.caption(rows) == " Last panel: Card, measured, with 16 kB of shared memory (marks: 48 kB)."
    assert measured.caption([]) == ""
