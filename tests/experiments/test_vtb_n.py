"""The sweep of N as data; that grids are large enough for it and for Figure 11."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import vtb_n
from experiments.common import approaches
from experiments.common.approaches import COMBINED, by_number
from experiments.common.cards import MEASURED
from experiments.common.schedules import ON_CARDS
from experiments.common.speedups import LIMITED, MEAN
from smmux import benchmarks, gpus, models
from smmux.benchmarks import mc
from tests.experiments.known import combined

WAVES = 8


def test_picture_and_table() -> None:
    made = combined({"MV": (1.2, 1.1, 1.0), "MC": (1.0, 1.2, 1.4)})
    ax = vtb_n.plot(made, Figure().add_subplot(), MEASURED[0])
    assert [len(bars) for bars in ax.containers] == [3, 3, 3]
    assert by_number(made, MEASURED[0])[MEAN][4] == pytest.approx(1.4**0.5)
    assert "1 2 3 4" in vtb_n.table(made)


@cache
def active_cells(n: int, iso: float = 0.2) -> int:
    """Of MC's grid of n^3."""
    return int(np.count_nonzero(mc.vertex_counts()[mc.cases(n, iso)]))


BLOCKS: dict[str, Callable[..., float]] = {
    "MV": lambda width, height: height / 32,
    "FFT": lambda batch: batch,
    "MC": lambda **size: active_cells(**size) / 32,
    "STO": lambda windows: windows / 128,
    "SP": lambda vectors, elements, blocks: blocks,
    "HG": lambda values: values / 8192,
    "CV": lambda width, height: (width / 16) * (height / 112),
}


@pytest.mark.quick
@pytest.mark.parametrize("gpu", MEASURED)
@pytest.mark.parametrize("name", LIMITED)
def test_grids_hold_eight_waves(name: str, gpu: str) -> None:
    """Virtual blocks of the largest residency; registers as the baseline needs them."""
    benchmark, card = benchmarks.get(name), gpus.get(gpu)
    problem = benchmark.problem("tiny")
    program = benchmark.kernel().compile(
        problem.arguments(), gpu=gpu, grid=problem.grid, block=problem.block, schedule=ON_CARDS.head
    )
    parameters = program.param_bytes(benchmark.pointer_bytes) if card.param_in_smem else 0

    def wave(n: int) -> int:
        fit = models.occupancy(n * problem.threads, program.nregs, program.shared_bytes, card, parameters)
        return n * fit.blocks * card.sm_count

    def holds(size: str, n: int) -> bool:
        return BLOCKS[name](**benchmark.sizes[size]) >= WAVES * max(wave(k) for k in range(1, n + 1))

    assert holds(approaches.size(name, False), benchmark.combined)
    assert holds(vtb_n.size(name, gpu), max(COMBINED))
    assert (vtb_n.size(name, gpu) == "large") != holds("default", max(COMBINED))
    assert math.ceil(BLOCKS[name](**benchmark.sizes["tiny"])) == problem.blocks
