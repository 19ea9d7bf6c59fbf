"""Atomics in shared memory by which words lanes want, barriers, chases whose lanes yield, and answers between
multiprocessors, beside a card."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest

from experiments.hardware.hopper import probe_contended
from experiments.hardware.hopper.bench import Bench, Row
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_polled import answers


def test_atomics_in_shared_memory_take_a_pass_for_each_lane_of_a_bank(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a chain to the clock, and of four sub-cores within 7 %, by all of the card's patterns."""
    kernels = ("add32", "exch64", "cas32", "cas64", "red_one")
    monkeypatch.setattr(probe_contended, "KERNELS", {name: probe_contended.KERNELS[name] for name in kernels})
    monkeypatch.setattr(probe_contended, "NARROW", {})
    card = {(row["kernel"], row["words"]): row for row in rows("h200", "shared_ways")}
    for row in probe_contended.shared_ways(bench):
        there = card[row["kernel"], row["words"]]
        if row["chained"]:
            assert row["chained"] == pytest.approx(float(there["chained"]), abs=0.5), row
        if float(there["32 warps"]) > 60:
            assert row["32 warps"] == pytest.approx(float(there["32 warps"]), rel=0.07), row


def test_barriers_take_a_cards_time(bench: Bench) -> None:
    """But for loops whose blocks of 16 and 32 warps are busy with arithmetic, or with predicates behind loads."""
    card = {(row["kernel"], int(row["warps"])): float(row["clocks"]) for row in rows("h200", "barrier_rounds")}
    for row in probe_contended.barrier_rounds(bench):
        there = card[row["kernel"], row["warps"]]
        busy = row["warps"] > 8 and row["kernel"] in ("computed", "bypassed", "words_held", "any", "halves")
        assert row["clocks"] == pytest.approx(there, rel=0.3 if busy else 0.1), row


def test_chases_take_a_cards_time(bench: Bench) -> None:
    """Within 10 %, but for blocks of 16 and 32 warps."""
    card = {(row["steps"], int(row["warps"])): float(row["clocks"]) for row in rows("h200", "chases")}
    for row in probe_contended.chases(bench):
        there = card[row["steps"], row["warps"]]
        assert row["clocks"] == pytest.approx(there, rel=0.1 if row["warps"] < 16 else 0.2), row


def groups_of(listed: Iterable[Row]) -> dict[tuple[str, int], set[str]]:
    """Which groups of lanes a run has had, each with its place and time."""
    found = defaultdict(set)
    for row in listed:
        found[row["kernel"], int(row["seed"])].update(row["groups"].split())
    return dict(found)


def test_lanes_that_yield_go_on_in_about_as_many_groups_as_on_a_card(bench: Bench) -> None:
    """Where lanes that have yielded do not go on before those that wait for them, half as many more."""
    card, here = groups_of(rows("h200", "chase_groups")), groups_of(probe_contended.chase_groups(bench))
    ratios = [len(here[run]) / len(card[run]) for run in card]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    assert min(ratios) > 0.7
    assert max(ratios) < 1.2


def test_multiprocessors_answer_each_other_in_a_cards_time(bench: Bench) -> None:
    """Means of five pairs, which lie in both halves of the L2; the machine's far half is further off."""
    card = {(row["kernel"], int(row["lookers"])): float(row["mean"]) for row in rows("h200", "answers")}
    for row in answers(bench):
        if row["kernel"] != "asked":
            there = card[row["kernel"], row["lookers"]]
            assert row["mean"] == pytest.approx(there, rel=0.1 if row["kernel"] == "ordered" else 0.3), row
