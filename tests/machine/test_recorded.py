"""The recorded accesses are those that happened: the models, asked for each of them, give the counters of the run."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import cuda, float32, models
from smmux.results.recorded import ACCESS

CARDS = ("GTX285", "GTX480-48K", "K20c")
WORDS = (3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0)


@cuda.jit
def kernel(a, b):
    table = cuda.const.array_like(WORDS)
    tile = cuda.shared.array((8, 16), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t % 8, t // 8] = a[3 * i]
    cuda.syncthreads()
    if t < 50:
        b[i] = tile[t // 16, t % 16] + table[t % 8]


def run(gpu="GTX285", blocks=1, **options):
    args = np.arange(3 * 128 * blocks, dtype=np.float32), np.zeros(128 * blocks, np.float32)
    return kernel.simulate(blocks, 128, args, gpu=gpu, **{"accesses": 1000, "profile": True, **options})


@pytest.mark.parametrize("gpu", CARDS)
def test_models_give_the_counters_of_the_run(gpu: str) -> None:
    result = run(gpu)
    passes = transactions = moved = barriers = constants = 0
    for row in result.accesses:
        op, address, mask = result.program.ops[row["pc"]], row["address"].astype(np.int64), int(row["active"])
        if op.endswith("shared"):
            passes += models.bank_passes(address, gpu=gpu, mask=mask).passes
        elif op.endswith("global"):
            segments = models.coalesce(address, gpu=gpu, mask=mask, store=op.startswith("st"))
            transactions, moved = transactions + len(segments), moved + segments.bytes
        barriers += op == "bar.sync"
        if op == "ld.const":
            constants += 1
            lanes = np.arange(int(row["warp"]) * 32, min(int(row["warp"]) * 32 + 32, 50))
            assert (address[: len(lanes)] == lanes % 8 * 4).all()
    assert passes == result["shared_passes"]
    lines = result.lines().values()
    assert transactions == sum(line["transactions"] for line in lines)
    assert moved == sum(line["moved"] for line in lines)
    assert barriers == result["warps"]
    assert constants == result["const_accesses"] == 2


@pytest.mark.parametrize("gpu", [*CARDS, "H100", "H200"])
def test_constants_are_recorded_by_their_place_in_constant_memory(gpu: str) -> None:
    """Whether the line is there or has to be asked for."""
    result = run(gpu)
    found = [row["address"] for row in result.accesses if result.program.ops[row["pc"]] == "ld.const"]
    assert len(found) == 2
    assert all((addresses < 4 * len(WORDS)).all() for addresses in found)


def test_one_block_of_each_multiprocessor_up_to_the_wanted_number() -> None:
    result = run(blocks=70)
    assert len(np.unique(result.accesses["block"])) == 30
    assert all(np.sum(result.accesses["block"] == block) == 18 for block in np.unique(result.accesses["block"]))
    few = run(blocks=70, accesses=5)
    assert len(few.accesses) == 150
    assert (few.accesses[:5] == result.accesses[:5]).all()
    assert few.counters == result.counters == run(blocks=70, accesses=0).counters


@pytest.mark.parametrize("options", [{"window": 1}, {"window": 7}, {"host_threads": 3}, {"check": "races"}])
def test_how_the_host_runs_changes_no_record(options: dict[str, object]) -> None:
    assert run(blocks=40, **options).accesses.tobytes() == run(blocks=40).accesses.tobytes()


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert run(accesses=0).accesses.dtype == ACCESS
    assert len(run(accesses=0).accesses) == 0
