"""What DRAM reads and writes for sectors that stores have written in part, against what a card's counters say."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.simulated import SimulatedBench
from experiments.hardware.hopper.written_parts import STEP, Launch, launch, sectors
from smmux import gpus
from tests.sass.conftest import needed


def counted(tmp_path: Path, case: Launch) -> tuple[dict[str, float], dict[str, float]]:
    """Reads and writes of DRAM for each element, and cycles: of the card, of the machine."""
    needed("nvcc", "nvdisasm")
    wanted = {name: str(getattr(case, name)) for name in "form n bytes begin step per pitch at".split()}
    card = next(row for row in rows("h200", "written_parts") if wanted.items() <= row.items())
    bench = SimulatedBench(tmp_path, gpus.get("H200"))
    launch(bench, case, bench.card.alloc(case.n // case.per * case.pitch), bench.card.alloc(128))
    result = bench.card.last
    burst = min(case.per, 2) if case.step == 1 else 1  # elements of 64 bytes that DRAM is asked for together
    return (
        {
            "reads": int(card["dram__sectors_read.sum"]) / case.n,
            "writes": int(card["dram__sectors_write.sum"]) / case.n,
            "cycles": int(card["sm__cycles_elapsed.max"]),
        },
        {
            "reads": result.counters["dram_reads"] * burst / case.n,
            "writes": result.counters["dram_writes"] * burst / case.n,
            "cycles": result.cycles,
        },
    )


@pytest.mark.parametrize(("lines", "per"), [(48, 1), (96, 1), (320, 1), (320, 2)])
@pytest.mark.long
def test_sectors_that_are_stored_to_in_part_are_read_once_a_set_has_too_many(
    tmp_path: Path, lines: int, per: int
) -> None:
    """An eighth of the L2's lines have such sectors in the mean: all others have been read from DRAM."""
    card, machine = counted(tmp_path, Launch(0, "store", per * lines * 1024, per=per))
    assert machine["reads"] == pytest.approx(card["reads"], abs=0.05)
    assert machine["cycles"] == pytest.approx(card["cycles"], rel=0.25)


@pytest.mark.long
def test_a_sector_that_is_stored_to_whole_is_not_read(tmp_path: Path) -> None:
    """By one store, as by two of a half each."""
    card, machine = counted(tmp_path, Launch(0, "store", sectors(20), bytes=32))
    assert machine["reads"] == pytest.approx(card["reads"], abs=0.005)


@pytest.mark.long
def test_words_all_over_40_mb_are_read_and_written_nearly_each_by_itself(tmp_path: Path) -> None:
    """In an order in which sectors of a line come long after each other."""
    card, machine = counted(tmp_path, Launch(0, "store", sectors(40), step=STEP))
    assert machine["reads"] == pytest.approx(card["reads"], abs=0.05)
    assert machine["cycles"] == pytest.approx(card["cycles"], rel=0.3)
