"""What DRAM gives warps that walk along the rows of a matrix, against what the cards gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_panel import walk_ns
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed

PITCH, LINES = 4096, 8


@pytest.mark.long
@pytest.mark.parametrize(("gpu", "warps"), [("H100", 8), ("H200", 8), ("H200", 15)])
def test_rows_are_walked_as_fast_as_on_the_card(tmp_path: Path, gpu: str, warps: int) -> None:
    """All multiprocessors walk, each warp with 32 lines on their way: nearly all accesses open a row."""
    needed("nvcc", "nvdisasm")
    wanted = {"deep": "32", "warps": str(warps), "pitch": str(PITCH), "lines": str(LINES)}
    (row,) = (r for r in rows(gpu.lower(), "row_walks") if wanted.items() <= r.items())
    bench = SimulatedBench(tmp_path, gpus.get(gpu))
    blocks = warps * bench.card.multiprocessors
    base, out = bench.card.alloc(blocks * 32 * PITCH), bench.card.alloc(16 * blocks)
    assert walk_ns(bench, base, out, 32, warps, PITCH, LINES) == pytest.approx(float(row["ns"]), rel=0.15)
