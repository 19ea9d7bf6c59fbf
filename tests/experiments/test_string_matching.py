"""String matching as pictures, tables and a law; then a run of a few texts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import string_matching
from experiments.common import scans
from experiments.common.scans import BEYOND, COUNTS, LAYOUTS, LONGEST, MAIN, SIZES
from experiments.programs import corpora
from tests.experiments.known import scan_time, scanned


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return scanned()


def test_points_differ_and_cover_what_the_seed_ran() -> None:
    for quick in (False, True):
        points = [*scans.main_points(quick), *scans.other_points(quick)]
        keys = [tuple(getattr(p[name], "name", p[name]) for name in scans.KEYS) for p in points]
        assert len(set(keys)) == len(keys)
    assert {p["patterns"] for p in scans.main_points(False)} == set(COUNTS)
    assert (COUNTS[0], COUNTS[-1], SIZES[0]) == (100, 20_000, 50_000)


def test_the_law_is_a_line_through_two_sizes_and_tested_on_the_third(records: list[dict[str, Any]]) -> None:
    found = scans.times(records)
    assert scans.predicted(found, "GM", 100, BEYOND[1]) == pytest.approx(scan_time("GM", 100, BEYOND[1]))
    errors = scans.law_errors(found)
    assert set(errors) == {(name, count) for name in MAIN for count in LONGEST}
    assert max(map(abs, errors.values())) < 1e-9
    longest = LONGEST[100][-1]
    late = {key: time * (1.25 if key[2] == longest else 1) for key, time in found.items()}
    assert scans.law_errors(late)["SM-2", 100] == pytest.approx(1 / 1.25 - 1)
    assert scans.law_errors(late)["SM-2", 20_000] == pytest.approx(0)


def test_measured_times_are_filled_and_those_by_the_law_hollow_and_dashed(records: list[dict[str, Any]]) -> None:
    ax = string_matching.plot(records, Figure().add_subplot())
    lines = {line.get_label(): line for line in ax.lines}
    assert len(lines["GM, 100 patterns"].get_xdata()) == len(SIZES) + len(LONGEST[100])
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[BEYOND[-1]], list(BEYOND)] * len(MAIN)
    assert len([line for line in ax.lines if line.is_dashed() and line.get_xdata()[-1] == BEYOND[-1]]) == 2 * len(MAIN)


def test_other_pictures_and_tables(records: list[dict[str, Any]]) -> None:
    figure = Figure()
    bars = string_matching.plot_speedups(records, figure.add_subplot())
    assert [len(container) for container in bars.containers] == [len(COUNTS)] * 3
    heights = [bar.get_height() for bar in bars.containers[2]]
    assert heights == pytest.approx([1.6] * len(COUNTS))
    passes = string_matching.plot_passes(records, figure.add_subplot())
    assert [text.get_text() for text in passes.texts] == ["16 + 1024", "256 + 64", "16 + 64", "16 + 64"]
    assert len(passes.patches) == 2 * len(LAYOUTS)
    text = string_matching.table(records)
    assert "rows of the table 256 words apart" in text
    assert "+0.0% at 16,000,000" in text or "-0.0% at 16,000,000" in text
    assert "1.60 to 1.60 times as fast as SM-1" in string_matching.caption(records)
    assert len(string_matching.summary(records)["by_the_law_us"]) == 2 * len(MAIN) * len(BEYOND)


@pytest.mark.parametrize("approach", ["GM", "SM-2"])
def test_a_run_counts_what_occurs(approach: str) -> None:
    """Occurrences that overlap are counted too, so each position is tried."""
    text = corpora.text("english", 30_000).tobytes()
    occurrences = [re.findall(b"(?=%b)" % pattern, text) for pattern in corpora.patterns("english", 100)]
    record = scans.simulate(text="english", patterns=100, size=30_000, approach=approach)
    assert record["blocks"] == 8
    assert record["matches"] == sum(map(len, occurrences)) > 0
    assert record["global_loads"] > 0


def test_the_example_is_the_seeds() -> None:
    found = {name: scans.example(text=scans.EXAMPLE, approach=name) for name in ("SM-1", "own copy")}
    assert (found["SM-1"]["copies"], found["SM-1"]["copy_transactions"]) == (16, 16)
    assert (found["own copy"]["copies"], found["own copy"]["copy_transactions"]) == (64, 1024)


@pytest.mark.slow
def test_quick_run() -> None:
    records = string_matching.run(quick=True, jobs=2)
    verdicts = {v.id: v.reproduced for v in string_matching.check(records)}
    assert all(verdicts[claim] for claim in ("A1", "A2", "A5", "A8"))
