"""How long stores wait for others that join them, and how many lines, against a card: requests that reach the L2."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.simulated import SimulatedBench
from experiments.hardware.hopper.store_stay import PASSES, launch
from smmux import gpus
from tests.sass.conftest import needed


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> SimulatedBench:
    """A machine whose stores wait as long as the card's: 28 lines, since who takes the last place lets others go."""
    needed("nvcc", "nvdisasm")
    folder: Path = tmp_path_factory.mktemp("cubins")
    one = gpus.get("H200").replace(sm_count=1, sms_per_tpc=1, gpc_tpcs=0)
    return SimulatedBench(folder, one.replace(store_linger=10, store_queue=29))


def requests(bench: SimulatedBench, stores: str, warps: int, lines: int, gap: int) -> float:
    launch(bench, stores, warps, lines, gap)
    count = bench.card.last["l2_accesses"]
    launch(bench, "", warps, 1, 0)
    return (count - bench.card.last["l2_accesses"]) / PASSES


@pytest.mark.parametrize(
    "lines", [1, 8, pytest.param(16, marks=pytest.mark.long), pytest.param(24, marks=pytest.mark.long)]
)
def test_stores_join_what_came_so_many_clocks_before(bench: SimulatedBench, lines: int) -> None:
    """All of them up to a gap, and none from half as much again as the one from which none does on a card."""
    card = [row for row in rows("h200", "store_stay") if row["stores"] == "AA" and int(row["lines"]) == lines]
    whole = [int(row["gap"]) for row in card if float(row["requests"]) == lines]
    apart = [int(row["gap"]) for row in card if float(row["requests"]) == 2 * lines]
    assert requests(bench, "AA", 1, lines, max(whole)) <= 1.2 * lines
    assert requests(bench, "AA", 1, lines, min(apart) * 3 // 2) == 2 * lines


@pytest.mark.parametrize("stores, warps, lines", [("AA", 1, 27), ("AA", 1, 31), ("AAAA", 2, 14), ("AAAA", 4, 7)])
def test_stores_join_while_28_lines_wait(bench: SimulatedBench, stores: str, warps: int, lines: int) -> None:
    """Those of one warp or of several; beyond that those of one warp push each other out."""
    asked = (stores, str(warps), str(lines), "2")
    [row] = [row for row in rows("h200", "store_stay") if tuple(row.values())[:4] == asked]
    assert requests(bench, stores, warps, lines, 2) == pytest.approx(float(row["requests"]), rel=0.02)
