"""The validation: what the table of published values says, how errors are computed, and that the page is current."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import validation
from experiments.common import on_card
from experiments.common.kernels import PROBES
from experiments.common.kernels.global_rates import pins
from experiments.common.kernels.probe import agrees
from experiments.common.published import TITLES, Published, published
from smmux import gpus
from smmux.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
HEAD = "machine,probe,measured,unit,within,source,given,note\n"
MARGIN = 1.1
"""Factor by which a simulated value may differ from the page's before the page is out of date."""


def row(low: float, high: float, within: float | None = 0.1) -> Published:
    return Published("GTX285", "mad", low, high, "clk", within, "SHOC", "", "")


@pytest.mark.parametrize("of", published(), ids=lambda of: f"{of.machine}, {of.probe}")
def test_a_published_row_names_what_there_is(of: Published) -> None:
    gpu, probe = gpus.get(of.machine), PROBES[of.probe]
    assert gpu.name == of.machine
    assert (probe.unit, probe.applies(gpu)) == (of.unit, True)
    assert set(gpus.keys(of.source)) <= set(gpus.TITLES) | set(TITLES)
    assert not of.given or of.given in gpus.PARAMETERS
    assert 0 < of.low <= of.high


def test_no_measurement_stands_twice_in_the_table() -> None:
    names = [(of.machine, of.probe) for of in published()]
    assert len(set(names)) == len(names)


def test_the_ratio_to_a_range_is_that_to_its_nearer_end() -> None:
    assert [row(5, 7).ratio(ours) for ours in (2.5, 5, 6, 7, 14)] == [0.5, 1, 1, 1, 2]
    assert math.isnan(row(5, 7).ratio(0))


def test_a_bar_allows_as_much_below_as_above() -> None:
    assert [row(100, 100).right(ours) for ours in (90, 91, 110, 111)] == [False, True, True, False]
    assert [row(100, 100, within=1).right(ours) for ours in (49, 50, 200, 201)] == [False, True, True, False]
    assert row(100, 100, within=None).right(100) is None


def record(ours: float, measured: float, given: str = "", probe: str = "mad", name: str = "GTX285") -> dict[str, Any]:
    of = Published(name, probe, measured, measured, "clk", 0.1, "SHOC", given, "")
    return {"machine": name, "probe": probe, "ours": ours} | validation.beside({"probe": probe, "ours": ours}, of)


def test_errors_are_means_of_logarithms_with_and_without_what_was_given() -> None:
    found = validation.summary([record(2, 1), record(4, 8), record(16, 8), record(5, 5, given="lat_alu")])["GTX285"]
    assert found["not given"]["factor"] == pytest.approx(2)
    assert found["all"]["factor"] == pytest.approx(2**0.75)
    assert (found["not given"]["rows"], found["all"]["rows"]) == (3, 4)
    exact = validation.errors([record(v, v) for v in (1, 10, 100)])
    assert (exact["factor"], exact["correlation"]) == (1, pytest.approx(1))
    assert validation.errors([record(v, 1 / v) for v in (1, 10, 100)])["correlation"] == pytest.approx(-1)


def test_verdicts_are_on_rows_with_bars_and_on_the_diagonal() -> None:
    records = [record(1, 2), record(6, 6, probe="camping"), record(2, 2, probe="camping, diagonal")]
    verdicts = validation.check(records)
    assert [verdict.reproduced for verdict in verdicts] == [False, True, True, True]
    assert verdicts[-1].ours == pytest.approx(0.8)


def test_text_and_picture_have_every_row() -> None:
    records = [record(1, 2), record(3, 3, given="lat_alu", name="K20c")]
    text = validation.table(records)
    assert (text.count("off"), text.count("given")) == (1, 1 + 2)  # beside the row, in the errors of both machines
    ax = validation.plot(records, Figure().add_subplot())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["GTX285  mad", "K20c  mad"]
    assert "GTX285 2.00 (1 rows)" in validation.caption(records)


def test_a_machine_of_ones_own_runs_what_applies_beside_values_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = {name: PROBES[name] for name in ("mad", "imul", "L1 load")}
    monkeypatch.setattr(validation, "PROBES", chosen)
    monkeypatch.setattr(validation, "published", lambda path=None: published(path) if path else [])
    values = tmp_path / "mine.csv"
    values.write_text(HEAD + "Mine,mad,25,clk,0.1,SHOC,,\n")
    mine = gpus.get("GTX285").replace(name="Mine", lat_fmad=26)
    found = validation.run(gpu=[mine], values=values)
    assert [(r["probe"], round(r["ours"]), r["measured"]) for r in found] == [("mad", 26, "25"), ("imul", 96, None)]
    assert found[0]["right"]
    values.write_text(HEAD + "Mine,nothing,25,clk,0.1,SHOC,,\n")
    with pytest.raises(ConfigError, match="no kernel measures nothing"):
        validation.run(gpu=[mine], values=values)
    values.write_text(HEAD + "Mine,mad,many,clk,0.1,SHOC,,\n")
    with pytest.raises(ConfigError, match="row 2"):
        validation.run(gpu=[mine], values=values)


@pytest.mark.parametrize("name", ["GTX285", "C1060", "GTX480-48K", "K20c"])
def test_microbenchmarks_find_what_the_machine_is_made_of(name: str) -> None:
    gpu = gpus.get(name)
    made_of = {
        "mad": gpu.lat_fmad, "imul": gpu.lat_imul, "shared load": gpu.lat_shared, "constant 1 kB": gpu.lat_const,
        "barrier, 1 warp": gpu.lat_bar,
    }  # fmt: skip
    assert {probe: PROBES[probe].run(gpu, True) for probe in made_of} == pytest.approx(made_of, rel=0.02)


@pytest.mark.parametrize("name", ["C1060", "GTX480-48K", "K20c"])
def test_no_stream_is_faster_than_the_pins(name: str) -> None:
    gpu = gpus.get(name)
    for probe in ("stream copy", "stream triad", "reduction"):
        assert 0.3 * pins(gpu) < PROBES[probe].run(gpu, True) < 1.05 * pins(gpu)


def test_wrong_outputs_are_not_measured() -> None:
    agrees("sums", [1.0, 2.0], [1.0, 2.001], 1e-2)
    with pytest.raises(AssertionError, match=r"1 wrong outputs, \[1\]"):
        agrees("sums", [1.0, 2.0], [1.0, 2.001])
    with pytest.raises(AssertionError):
        agrees("sums", [math.nan], [1.0], 0.5)


def on_page() -> dict[tuple[str, str], float]:
    """Simulated values of the page, by machine and what is measured."""
    found, name = {}, ""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("## "):
            name = line[3:]
        elif len(cells) == 8 and re.fullmatch(r"[\d.]+", cells[3]):
            found[name, cells[0]] = float(cells[3])
    return found


def test_the_page_has_the_rows_of_the_table() -> None:
    assert set(on_page()) == {(of.machine, PROBES[of.probe].text) for of in published()}
    assert (PAGE.parent / "figures" / "validation.png").exists()


@pytest.mark.slow
def test_the_page_has_what_is_simulated() -> None:
    """Run: python -m experiments.validation --page docs/validation.md"""
    page = on_page()
    off = {
        (r["machine"], r["probe"]): (r["ours"], page[r["machine"], r["text"]])
        for r in validation.run()
        if abs(math.log(r["ours"] / page[r["machine"], r["text"]])) > math.log(MARGIN)
    }
    assert off == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K", "K20c"])
def test_longer_runs_have_the_same_rate(name: str) -> None:
    """The quick size, a quarter or less of the full one, gives nearly the same: both are in the steady state."""
    gpu = gpus.get(name)
    for probe in ("stream copy", "stream triad", "fft 512", "matrix product", "low occupancy copy"):
        assert PROBES[probe].run(gpu, True) == pytest.approx(PROBES[probe].run(gpu, False), rel=0.1)


def test_kernels_that_a_card_measured_are_drawn_and_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        on_card, "simulated", lambda machine, kernel, size, mhz: {"cycles": 2 * on_card.measured()[kernel, size].cycles}
    )
    monkeypatch.setattr(on_card, "kernels", dict)
    assert validation.main(["--card", "h100", "--half", "both", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^{name} +\d+ +100\.0 %", text, re.MULTILINE) for name in ("streaming", "all", "sealed"))
    assert all(other in text for other in ("Accel-Sim 1", "Accel-Sim 2", "Huerta et al.", "FlashGPU-Sim"))
    assert {path.name for path in tmp_path.iterdir()} >= {"validation.png", "validation.json", "validation.csv"}
