"""What serves the misses of constants and of code: how fast, and to whom, beside what an H200 was measured to do."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_supply import PIECE, Walks, sets_of
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Walks:
    needed("nvcc", "nvdisasm")
    return Walks(SimulatedBench(tmp_path_factory.mktemp("cubins"), gpus.get("H200")))


def test_constants_come_as_fast_as_on_the_card(walks: Walks) -> None:
    """One place a warp, or up to 32, by warps of one multiprocessor, of a GPC and of the chip: a line each, of which
    none is in the first level, within a fifth."""
    sets = sets_of(walks)
    for row in rows("h200", "constant_supply"):
        warps, lanes, ahead, name = int(row["warps"]), int(row["lanes"]), int(row["ahead"]), row["multiprocessors"]
        if row["same"] == "1" or row["span"] != "65536" or row["stride"] != "64" or name not in ("one", "gpc", "all"):
            continue
        if warps * lanes > (128 if name == "one" else 32) or (name != "one" and (ahead > 1 or warps > 4)):
            continue  # the ends of many warps come apart on the card, and means with them
        warm = 1024 // ahead // (1 if warps < 4 else 4)
        apart = 17 * 64 if lanes > 1 else 0
        clocks = walks.constants(sets[name], warps, lanes=lanes, apart=apart, ahead=ahead, warm=warm)[:, :, 1]
        assert clocks.mean() / (128 * lanes * ahead) == pytest.approx(float(row["clocks"]), rel=0.2), row


def test_lines_of_constants_have_sets_of_four_ways(walks: Walks) -> None:
    """2 kB, 512 bytes a way: how much longer a load takes than one whose line is there, within 6 clocks of 75."""
    hit = {"card": 0.0, "here": 0.0}
    for row in rows("h200", "constant_sets"):
        stride, lines, card = int(row["stride"]), int(row["lines"]), float(row["clocks"])
        if lines > 40:
            continue
        clocks = walks.constants([2], 1, span=lines * stride, stride=stride, warm=2 * lines + 64, rounds=256)
        here = float(clocks[0, 0, 1]) / 256
        if not hit["card"]:
            hit = {"card": card, "here": here}
        assert here - hit["here"] == pytest.approx(card - hit["card"], abs=6), row


def test_code_comes_as_fast_as_on_the_card(walks: Walks) -> None:
    """Up to eight warps at one place or at several, in code that a multiprocessor has, or its GPC: a tenth off in the
    mean. Worst are eight warps of all of a GPC in 48 kB, which come together sooner here."""
    sets, errors = sets_of(walks), []
    for row in rows("h200", "code_supply"):
        kilobytes, warps, name = int(row["kilobytes"]), int(row["warps"]), row["multiprocessors"]
        if kilobytes > 96 or warps > 8 or name == "four" or (kilobytes < 96 and name == "all"):
            continue
        count, same, shift = kilobytes // 4, row["same"] == "1", int(row["shift"])
        roles = dict.fromkeys(sets[name], 2)
        rounds = max(12, count)
        clocks = walks.code(roles, warps, count, same=same, shift=shift, warm=count, rounds=rounds)[:, :, 1]
        errors.append(clocks.mean() / rounds / PIECE / float(row["clocks"]) - 1)
    assert np.abs(errors).mean() < 0.1
    assert np.abs(errors).max() < 0.5


def test_it_does_not_depend_on_windows_and_threads(walks: Walks) -> None:
    """Nor whether multiprocessors of a TPC get each other's lines."""

    def run(**launch: int) -> np.ndarray:
        kernel = walks.module["code"].kernel
        roles, places = np.zeros(walks.count, np.uint8), np.zeros((walks.count, 32), np.uint32)
        roles[:40], roles[5:9] = 2, 1
        places[:] = (np.arange(32) * 3 + np.arange(walks.count)[:, None] * 5) % 12
        out, sums = np.zeros(64 * walks.count, np.uint32), np.zeros(32 * walks.count, np.float32)
        numbers = map(np.uint32, (12, 1, 3, 3))
        kernel.simulate(
            walks.count, 128, [out, roles, places, sums, *numbers], gpu="H200", dynamic_shared=200 << 10, **launch
        )
        return out

    whole = run()
    for launch in ({"window": 50}, {"host_threads": 2}, {"window": 100, "host_threads": 3}):
        assert (run(**launch) == whole).all()
