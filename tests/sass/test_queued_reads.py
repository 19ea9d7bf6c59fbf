"""When accesses behind each other read their sources, and what goes to its unit in two parts, against a card."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_latency import fixed_chain
from experiments.hardware.hopper.probe_pipe import queued_reads
from experiments.hardware.hopper.simulated import SimulatedBench
from smmux import gpus
from tests.sass.conftest import needed


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> SimulatedBench:
    needed("nvcc", "nvdisasm")
    folder: Path = tmp_path_factory.mktemp("cubins")
    return SimulatedBench(folder, gpus.get("H200").replace(sm_count=1, sms_per_tpc=1, gpc_tpcs=0))


@pytest.mark.parametrize(
    ("form", "warps"),
    [("LDG.W", 2), ("STS", 2), *(pytest.param(form, 1, marks=pytest.mark.long) for form in ("LDG.W", "STS", "LDS"))],
)
def test_sources_are_read_when_an_access_leaves_its_queue(bench: SimulatedBench, form: str, warps: int) -> None:
    """The last of a sub-core's accesses, of one warp or of two, within a fifth and four clocks."""
    for row in rows("h200", "queued_release"):
        if (row["form"], row["partitions"], row["warps"]) == (form, "1", str(warps)):
            card = int(row["clocks"].split()[-1])
            found = queued_reads(bench, form, 1, warps, int(row["count"]))[-1]
            assert found == pytest.approx(card, rel=0.2, abs=4 if warps == 1 else 10), row


@pytest.mark.parametrize("card", ["h100", "h200"])
@pytest.mark.parametrize("name", ["IMAD.WIDE", "IMAD.HI", "IMAD", "FFMA"])
def test_a_warp_waits_two_clocks_longer_behind_a_wide_product(bench: SimulatedBench, name: str, card: str) -> None:
    """In chains whose stall count is larger than the unit's interval."""
    for row in rows(card, "fixed_chains"):
        if row["form"] == name and int(row["stall"]) >= 8:
            assert fixed_chain(bench, name, int(row["stall"])) == float(row["clocks"]), row
