"""Which sub-cores the warps of a block get, against what a card answered."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from experiments.hardware.hopper import probe_turns
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed

SUBCORES, PLACES = 4, 16


@cache
def bench(folder: Path) -> SimulatedBench:
    """An H200 of one multiprocessor."""
    needed("nvcc", "nvdisasm")
    return SimulatedBench(folder, gpus.get("H200").replace(sm_count=1, sms_per_tpc=1, gpc_tpcs=0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubins")


def places(row: dict[str, str]) -> np.ndarray:
    """Those of a block's warps."""
    return np.array(row["places"].split(), int)


def check(found: list[dict[str, str]]) -> None:
    """A block's warps lie in one sub-core after the other. The next block goes on there, one further behind a block
    that gives each sub-core as many. A place has one warp, and a sub-core no more than it has places."""
    first = [places(row)[0] % SUBCORES for row in found]
    warps = len(places(found[0]))
    for row in found:
        assert ((places(row) - places(row)[0]) % SUBCORES == np.arange(warps) % SUBCORES).all()
    assert ((np.diff(first) - warps - (warps % SUBCORES == 0)) % SUBCORES == 0).all()
    for row in found:
        beside = [r for r in found if int(r["begun"]) <= int(row["begun"]) < int(r["ended"])]
        held = np.concatenate([places(r) for r in beside])
        assert len(set(held)) == len(held)
        assert np.bincount(held % SUBCORES).max() <= PLACES


def measured(threads: int, worker: int, step: int) -> list[dict[str, str]]:
    """The blocks of one launch on the card."""
    key = {"threads": str(threads), "worker": str(worker), "step": str(step)}
    return [row for row in rows("h200", "warp_turns") if key.items() <= row.items()]


def test_the_rule_is_that_of_the_card() -> None:
    for threads in probe_turns.THREADS:
        for worker in (-1, 0):
            for step in (1, probe_turns.UNEVEN):
                check(measured(threads, worker, step))


@pytest.mark.parametrize(("threads", "step"), [(32, 1), (96, 3), (128, 1), (160, 3), (256, 1), (1024, 1)])
def test_blocks_of_the_machine_follow_it_and_take_as_long(folder: Path, threads: int, step: int) -> None:
    """One warp of each block works; all of them would wait for each other in one sub-core without the rule."""
    noted = probe_turns.launch(bench(folder), threads, 0, step)
    found = [{key: str(value) for key, value in row.items()} for row in probe_turns.described(noted)]
    check(found)
    card = measured(threads, 0, step)
    each = [max(int(row["ended"]) for row in some) / len(some) for some in (found, card)]
    assert each[0] == pytest.approx(each[1], rel=0.1)
