"""Words that threads have for themselves, beside a card: what the L1 has of them behind stores by some lanes; and calls
with frames, which keep convergence barriers there."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.hardware.hopper import probe_frames, probe_stored
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_frames import deep_calls, fresh_words
from experiments.hardware.hopper.probe_stored import kept_barriers

MISS = 300
"""Clocks: no hit takes so long."""


def test_what_some_lanes_have_stored_to_local_memory_is_in_the_l1(bench: Any) -> None:
    """At once and later; the words of other lanes are not, but come with the sector that one of them asks for."""
    card = {
        (row["lanes"], row["wait"]): row["clocks"] for row in rows("h200", "fresh_words") if row["space"] == "local"
    }
    for row in fresh_words(bench):
        if row["space"] != "local":
            continue
        of = list(map(int, card[row["lanes"], str(row["wait"])].split()))[1:]
        found = list(map(int, row["clocks"].split()))[1:]
        assert [clocks > MISS for clocks in found] == [clocks > MISS for clocks in of], row
        for clocks, known in zip(found, of, strict=True):
            assert clocks > MISS or clocks == pytest.approx(known, abs=13), row


def test_a_barrier_that_has_been_restored_takes_a_cards_time(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one warp: a BSYNC behind BMOV, whatever lies between; without BMOV to the clock."""
    monkeypatch.setattr(probe_stored, "WARPS", (1,))
    card = {(row["case"], row["warps"], row["gap"]): row for row in rows("h200", "kept_barriers")}
    for row in kept_barriers(bench):
        of = card[row["case"], str(row["warps"]), str(row["gap"])]
        if row["case"] in ("nothing", "both"):
            for name in ("to_23", "to_24", "to_25"):
                assert row[name] == pytest.approx(int(of[name]), abs=0 if row["case"] == "nothing" else 8), row


def test_calls_with_frames_take_a_cards_time(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one warp at any depth."""
    monkeypatch.setattr(probe_frames, "WARPS", (1,))
    monkeypatch.setattr(bench.card, "multiprocessors", 1)
    keys = ("kept", "who", "depth", "parts", "warps")
    card = {tuple(row[key] for key in keys): float(row["clocks"]) for row in rows("h200", "deep_calls")}
    for row in deep_calls(bench):
        of = card[tuple(str(row[key]) for key in keys)]
        assert row["clocks"] == pytest.approx(of, rel=0.08), row
