"""Verdicts on throughput, from rates whose answer is known."""

from __future__ import annotations

from experiments import fig12, fig13
from experiments.common import throughput
from tests.experiments.known import FFT, MV, rates


def test_verdicts_on_figure_12() -> None:
    verdicts = {v.id: v for v in fig12.check(rates(MV, throughput.HEIGHTS))}
    assert {claim: v.reproduced for claim, v in verdicts.items()} == {"P35": True, "P36": True}
    assert verdicts["P35"].ours == [1.6, 1.6]
    assert fig12.check(rates(MV, fig12.QUICK_HEIGHTS))[0].reproduced is None
    assert fig12.check(rates(MV | {"48K_VTB_pipe": 50.0}, throughput.HEIGHTS))[0].reproduced is False


def test_verdicts_on_figure_13() -> None:
    verdicts = {v.id: v.reproduced for v in fig13.check(rates(FFT, throughput.BATCHES))}
    assert verdicts == {"P37": None, "P38": True, "P39": True}
    slower = {v.id: v.reproduced for v in fig13.check(rates(FFT | {"48K_BL": 70.0}, throughput.BATCHES))}
    assert slower == {"P37": None, "P38": False, "P39": False}
