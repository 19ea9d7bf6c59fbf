"""The three tries as data: a small run, the game of rounds against numbers computed apart, and contrary verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import chunkmax
from experiments.common.rounds import WINNERS, all_outcomes, play, played, winners
from experiments.common.verdicts import judge
from smmux.sweep import Record


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return chunkmax.run(quick=True, jobs=2)


def test_what_the_check_reports_for_each_try(records: list[Record]) -> None:
    """S6 to S9, to the letter."""
    assert {v.id: v.reproduced for v in chunkmax.check(records)} == dict.fromkeys(("S6", "S7", "S8", "S9"), True)
    own = {(r["try"], r["inputs"]): r for r in records if r["kind"] == "try"}
    assert {r["unwritten"] for (name, _), r in own.items() if name == "try 1"} == {1.0}
    assert own["try 1, mended", "random"]["errors"] == "race"
    assert own["try 1, mended", "random"]["warnings"] == "conflict"
    assert own["try 2", "random"]["stopped"] == "barrier under a divergent mask"
    assert own["try 2", "same in a warp"]["errors"] == "divergence"
    third = [r for r in records if r["kind"] != "rounds" and r["try"] == "try 3"]
    assert {(r["errors"], r["warnings"], r["right"]) for r in third} == {("", "conflict", 1.0)}
    messages = {r["try"]: r["errors"] for r in records if r["kind"] == "message"}
    assert messages == {"with barrier": "", "without": "race"}


@pytest.mark.parametrize(
    ("name", "change", "lost"),
    [
        ("without", {"errors": ""}, "S6"),
        ("try 1", {"unwritten": 0.0}, "S7"),
        ("try 1, mended", {"right": 1.0}, "S7"),
        ("try 2", {"stopped": "no"}, "S8"),
        ("try 2", {"right": 1.0}, "S8"),
        ("try 3", {"right": 0.999}, "S9"),
        ("try 3", {"errors": "race"}, "S9"),
        ("try 3", {"outcomes": 1}, "S9"),
    ],
)
def test_what_is_found_otherwise_is_a_deviation(records: list[Record], name: str, change: Record, lost: str) -> None:
    other = [r | change if r["try"] == name and r["kind"] != "rounds" else r for r in records]
    assert judge(lost, other).reproduced is False


def test_games_of_many_chunks() -> None:
    """Shares and rounds of many chunks, computed beforehand with random numbers of their own."""
    made = {(r["try"], r["winner"]): r for r in played(chunkmax.chunks_of("random", 500))}
    wrong = {name: 1 - made["try 2", name]["right"] for name in WINNERS}
    assert wrong["lowest thread"] == pytest.approx(0.84, abs=0.06)
    assert wrong["highest thread"] == pytest.approx(0.61, abs=0.06)
    assert wrong["random thread"] == pytest.approx(0.695, abs=0.06)
    assert wrong["largest value"] == 0
    rounds = {name: made["try 3", name]["mean_rounds"] for name in WINNERS}
    assert rounds["random thread"] == pytest.approx(6.2, abs=0.3)
    assert rounds["smallest value"] == pytest.approx(132, abs=8)
    assert rounds["largest value"] == pytest.approx(2, abs=0.02)


def test_the_third_game_ends_with_the_maximum_whoever_wins() -> None:
    """All inputs of four threads with four numbers: every outcome is the maximum, and every rule is one of them."""
    for values in itertools.product(range(4), repeat=4):
        assert all_outcomes(values) == {max(values)}
        assert {play(values, wins, uniform=True)[0] for wins in winners().values()} == {max(values)}


def test_simulated_rounds_are_those_of_a_game(records: list[Record]) -> None:
    """Of a rule under which each of several threads may win."""
    own = next(r for r in records if (r["kind"], r["try"], r["inputs"]) == ("try", "try 3", "random"))
    assert own["rounds"] == pytest.approx(6.2, abs=1.2)


def test_small_blocks_are_all_inputs() -> None:
    blocks = chunkmax.small_blocks(quick=False)
    assert [len(rows) for rows in blocks.values()] == [720, 1024, 256, 256]
    assert all(len(np.unique(rows, axis=0)) == len(rows) for rows in blocks.values())


def test_pictures_and_tables(records: list[Record]) -> None:
    ax = chunkmax.plot(records, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [4, 4]
    ax = chunkmax.plot_rounds(records, Figure().add_subplot())
    assert len(ax.containers[0]) == len(WINNERS)
    assert "barrier under a divergent mask" in chunkmax.table(records)
    assert "Try 3 is always right" in chunkmax.caption(records)
