"""What takes as long as lanes say, beside a card: MATCH, YIELD, NANOSLEEP, and sums by compare and swap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from experiments.hardware.hopper.bench import Bench, Row
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_lanes import fence_rounds, matches, naps, shared_sums, yields
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubins")


@cache
def bench(folder: Path) -> SimulatedBench:
    needed("nvcc", "nvdisasm")
    return SimulatedBench(folder, gpus.get("H200"))


def beside(folder: Path, probe: Callable[[Bench], Iterator[Row]], keys: Sequence[str], column: str) -> dict:
    """What the card and the machine say, by the values of the keys."""
    card = {tuple(row[key] for key in keys): float(row[column]) for row in rows("h200", probe.__name__)}
    found = {tuple(str(row[key]) for key in keys): float(row[column]) for row in probe(bench(folder))}
    assert set(card) == set(found)
    return {key: (card[key], found[key]) for key in card}


def test_match_takes_as_long_as_there_are_values(folder: Path) -> None:
    for key, (card, found) in beside(folder, matches, ("bits", "threads", "chained", "distinct"), "clocks").items():
        assert found == pytest.approx(card, rel=0.15), key


def test_lanes_that_let_others_go_on_take_a_cards_time(folder: Path) -> None:
    for key, (card, found) in beside(folder, yields, ("what", "threads", "lanes"), "clocks").items():
        assert found == pytest.approx(card, rel=0.1), key


def test_warps_sleep_until_the_clock_ticks(folder: Path) -> None:
    """Of 32 warps the shortest sleeps are longer on the card, where something else is busy."""
    for key, (card, found) in beside(folder, naps, ("warps", "nanoseconds"), "median").items():
        if int(key[1]) >= 50 and (int(key[0]) == 1 or int(key[1]) >= 64):
            assert found == pytest.approx(card, rel=0.06), key


def test_sums_by_compare_and_swap_let_one_lane_in_at_a_time(folder: Path) -> None:
    """Sums that the compiler makes, and loops of the source, whose lanes also let others go on."""
    sides = beside(folder, shared_sums, ("what", "threads", "lanes"), "clocks")
    errors = {key: found / card - 1 for key, (card, found) in sides.items()}
    assert max(abs(error) for key, error in errors.items() if key[0] != "loop") < 0.3
    assert max(abs(error) for error in errors.values()) < 0.45
    assert np.mean(np.abs(list(errors.values()))) < 0.15


def test_fences_take_turns_in_a_multiprocessor(folder: Path) -> None:
    """Medians of all warps, of which half store to the far half of the L2 where only one or few of each block do."""
    keys = ("stores", "blocks", "threads")
    for key, (card, found) in beside(folder, fence_rounds, keys, "median").items():
        if key != ("1", "132", "32"):
            assert found == pytest.approx(card, rel=0.35), key


def test_a_sleep_ends_when_a_clock_of_its_length_ticks(folder: Path) -> None:
    """In closed form: the end of each is the next multiple of the least power of two that is more than it asks for."""
    gpu = gpus.get("H200")
    for wanted, tick in ((64, 128), (1_000, 1_024), (1_024, 2_048), (3_000_000, 1 << 20)):
        kernel = bench(folder).module("lanes").module["naps"]
        out = np.zeros(3, np.uint32)
        result = kernel.simulate(1, 1, [out, np.uint32(wanted), np.int32(3)], gpu=gpu)
        clocks = tick * gpu.shader_khz / 1e6
        assert result.cycles > 2 * clocks
        assert out[1] == pytest.approx(clocks, abs=60)
        assert out[2] == pytest.approx(clocks, abs=60)
