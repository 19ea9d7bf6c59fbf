"""Constants that instructions name as operands: lines that have to come once, to each sub-core, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import smmux
from experiments.hardware.hopper.bench import Bench
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_caches import constant_lanes, operand_lines
from smmux import gpus
from tests.sass.conftest import needed

CARD = gpus.get("H200")
FIRST = (0, 1, 3, 5, 7)
"""Accesses that are the first ones of a line of 64 bytes."""
WORDS = np.zeros(1, np.dtype([("word", np.float32, 256)]))[0]


def clocks(bench: Bench, threads: int, blocks: int, launch: dict | None = None, **changes: int) -> np.ndarray:
    """Of each warp's ten accesses: shape (warps, 10)."""
    kernel = bench.module("operands").module["operands"]
    out = np.zeros((threads // 32 * blocks, 10), np.uint32)
    kernel.simulate(blocks, threads, [out, WORDS], gpu=CARD.replace(**changes), **(launch or {}))
    return out


def test_lines_come_as_they_do_on_the_card(bench: Bench) -> None:
    """Within a tenth for a warp alone, and within a fifth where all of the chip ask at once; but there the first line
    takes up to 1.6 times as long on the card, where a launch asks for more at its start."""
    found = {(int(r["threads"]), int(r["blocks"]), int(r["access"])): r for r in rows("h200", "operand_lines")}
    for row in operand_lines(bench):
        key = row["threads"], row["blocks"], row["access"]
        card = {name: int(found[key][name]) for name in ("least", "median", "most")}
        if key[2] not in FIRST or key[0] == 1024:
            continue
        if key[1] == 1:
            assert row["median"] == pytest.approx(card["median"], rel=0.1)
        else:
            assert key[1] > 132 or key[2] == 0 or row["median"] == pytest.approx(card["median"], rel=0.2)
            assert card["median"] / 1.65 < row["median"] < 1.3 * card["median"]


def test_lanes_at_several_places_take_as_long_as_on_the_card(bench: Bench) -> None:
    """Of a warp alone, and of four in each sub-core, where the lines of all are there."""
    found = {(r["threads"], r["apart"], r["distinct"]): float(r["clocks"]) for r in rows("h200", "constant_lanes")}
    for row in constant_lanes(bench):
        card = found[str(row["threads"]), str(row["apart"]), str(row["distinct"])]
        if row["apart"] < 31:
            assert row["clocks"] == pytest.approx(card, rel=0.21)


def test_a_line_comes_once(bench: Bench) -> None:
    """The first access of each waits for it, others do not; nor do any where lines are there."""
    near, far, never = (clocks(bench, 32, 1, operand_miss=n)[0] for n in (60, 1060, 0))
    apart = np.zeros(10, int)
    apart[list(FIRST)] = 1000
    assert (far.astype(int) - near == apart).all()
    assert (never < 10).all()


def test_lines_are_served_one_after_the_other(bench: Bench) -> None:
    """Four warps, each of a sub-core of its own, ask within few clocks: the last one waits for three others."""
    fetch = {"icache_bytes": 0, "icache2_clk": 200}
    waits = np.sort(clocks(bench, 128, 1, **fetch)[:, 0].astype(int))
    assert np.diff(waits) == pytest.approx(200, abs=10)
    alone = clocks(bench, 32, 132, icache2_sms=2, **fetch)[:, 0]
    assert np.diff(sorted(set(alone))) == pytest.approx(200, abs=10)  # the other SM of the TPC


def test_it_does_not_depend_on_windows_and_threads(bench: Bench) -> None:
    whole = clocks(bench, 128, 528)
    for launch in ({"window": 50}, {"host_threads": 2}, {"window": 100, "host_threads": 3}):
        assert (clocks(bench, 128, 528, launch) == whole).all()


def test_a_line_that_has_come_lets_nobody_go_on_before_now() -> None:
    """Warps that waited for it and for their instructions went on in the past, where the pipe looked for free clocks
    without end; sums of no products by blocks of 8 warps."""
    needed("nvcc", "nvdisasm")
    module = smmux.load(
        """extern "C" __global__ void rows(const int *first, const int *column, const double *value, const double *x,
                                             double *y, int n) {
               int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
               if (row >= n) return;
               double sum = 0;
               for (int i = first[row] + lane; i < first[row + 1]; i += 32) sum += value[i] * __ldg(x + column[i]);
               for (int o = 16; o; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
               if (!lane) y[row] = sum;
           }""",
        arch="sm_86",
    )
    y = np.ones(16)
    arrays = [np.zeros(17, np.int32), np.zeros(1, np.int32), np.ones(1), np.ones(1), y]
    assert module["rows"].simulate(2, 256, [*arrays, 16], gpu="H100").cycles < 10_000
    assert not y.any()
