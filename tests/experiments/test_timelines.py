"""Pictures of recorded time lines: what they show is what the runs counted, and what the paper's drawings say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import fig04, fig09, fig10, timeline
from experiments.common import timelines
from smmux.sweep import Record


@pytest.fixture(scope="module")
def variants() -> dict[str, Record]:
    return {r["variant"]: r for r in fig04.run(jobs=2)}


@pytest.fixture(scope="module")
def collaborative() -> list[Record]:
    return fig10.run(jobs=2)


@pytest.mark.long
def test_the_paper_s_statements_on_figure_4(variants: dict[str, Record]) -> None:
    """Blocks of the baseline run back to back, those of HW together; what combines two blocks runs half as many."""
    lines = {name: json.loads(r["timeline"]) for name, r in variants.items()}
    spans = sorted((start, end) for _, _, start, end, *_ in lines["baseline"]["blocks"])
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))
    assert len(lines["baseline"]["blocks"]) == 2 * len(lines["vtb"]["blocks"]) == 2 * len(lines["vtb_pipe"]["blocks"])
    first, second = sorted((start, end) for _, _, start, end, *_ in lines["hw"]["blocks"])[:2]
    assert second[0] < first[1]
    assert all(r["time_us"] < variants["baseline"]["time_us"] for name, r in variants.items() if name != "baseline")


def test_allocations_of_two_blocks_are_served_one_after_the_other() -> None:
    """Figure 9: two parts do not fit, so that no two are held at a time."""
    [record] = fig09.run()
    line = json.loads(record["timeline"])
    held = sorted((grant, release) for _, _, grant, release, *_ in line["allocations"])
    assert len(held) == 8
    assert all(end <= start for (_, end), (start, _) in zip(held, held[1:], strict=False))
    figure = Figure()
    ax = fig09.plot_memory([record], figure.add_subplot())
    assert len(ax.patches) == len(held) + len(line["blocks"])


def test_entries_of_figure_10_are_the_paper_s(collaborative: list[Record]) -> None:
    assert fig10.entries(collaborative) == [(0, 4096), (4096, 4096), (8192, 4096), (12288, 2048), (14336, 2048)]
    assert [r["residency"] for r in collaborative] == [2, 3]


@pytest.mark.long
def test_curves_are_those_of_the_counters(variants: dict[str, Record]) -> None:
    """What a curve of instructions encloses is what one SM of 30 issued, within a block's share."""
    for record in variants.values():
        series = json.loads(record["timeline"])["series"]
        assert set(series) == set(timelines.SERIES)
        issued = np.mean(series["ipc"]) * record["cycles"]
        assert issued == pytest.approx(record["instructions"] / 30, rel=0.3)
        assert max(series["held"]) <= record["smem_bytes"] / 1024
        assert max(series["resident"]) <= record["residency"] + 1e-9


def drawn(script: Any, records: list[Record]) -> None:
    figure = Figure()
    for panel in script.EXPERIMENT.plots:
        panel(records, figure.add_subplot())
    assert "blocks at a time" in script.table(records)
    assert script.caption(records).endswith(".")
    assert script.summary(records)


@pytest.mark.long
def test_panels_of_figure_4_can_be_drawn(variants: dict[str, Record]) -> None:
    drawn(fig04, list(variants.values()))


def test_panels_of_figure_10_can_be_drawn(collaborative: list[Record]) -> None:
    drawn(fig10, collaborative)


def test_any_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "from smmux import cuda\n\n@cuda.jit\ndef k(a, n):\n    a[cuda.grid(1)] = n\n"
    (tmp_path / "k.py").write_text(source)
    words = [f"{tmp_path}/k.py:k", "--grid", "40", "--block", "64", "--out", str(tmp_path)]
    assert timeline.main([*words, "--arguments", "int32[2560]", "7"]) == 0
    content = json.loads((tmp_path / "timeline.json").read_text())
    assert content["rows"][0]["blocks"] == 40
    assert (tmp_path / "timeline.png").is_file()
    capsys.readouterr()
    assert timeline.main(["nothing", "--out", str(tmp_path)]) == 2
    assert "benchmarks are" in capsys.readouterr().err
    assert timeline.main([*words, "--arguments", "int32[7]", "7"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("timeline: global access outside the array")
    assert message.count("\n") == 1
