"""Table 1 is computed from the kernels' declarations, and comes out to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import table1
from smmux import benchmarks

PAPER = {
    "MV": (4268, 32, 3),
    "FFT": (8736, 64, 1),
    "MC": (9324, 32, 1),
    "STO": (16304, 128, 1),
    "SP": (4144, 64, 3),
    "HG": (8224, 64, 1),
    "CV": (8300, 128, 1),
    "MM": (2084, 256, 4),
    "TP": (4260, 128, 3),
    "RD": (540, 128, 8),
}


@pytest.fixture
def records() -> list[dict]:
    return table1.run()


def test_ten_rows_are_exact(records: list[dict]) -> None:
    assert {r["benchmark"]: (r["bytes"], r["threads"], r["blocks"]) for r in records} == PAPER


def test_only_mm_and_rd_need_short_pointers() -> None:
    assert {n for n in benchmarks.names() if benchmarks.get(n).pointer_bytes == 4} == {"MM", "RD"}


def test_command(tmp_path: Path) -> None:
    assert table1.main(["--out", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "table1.json").read_text())
    assert content["summary"] == {"exact": True}
    assert (tmp_path / "table1.png").exists()
