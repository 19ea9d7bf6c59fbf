"""Figure 11's last panel as simulated, and registers beside ptxas: laws of what is counted, few runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.common import card_sources, measured
from experiments.hardware import panel, register_counts
from experiments.hardware.register_counts import COLUMNS, NAME, TESTS, compared, of_file, read
from smmux import gpus
from tests.sass.conftest import needed

DATA = Path(register_counts.__file__).parent / NAME


@pytest.mark.parametrize(
    ("wanted", "held", "size"), [(16, 9 << 10, 16), (16, 17 << 10, 32), (48, 9 << 10, 64), (228, 1024, 228)]
)
def test_the_driver_takes_the_next_step_that_holds_a_block(wanted: int, held: int, size: int) -> None:
    assert panel.taken(gpus.get(gpus.COMPILED), wanted, held) == size


@pytest.mark.parametrize("forms", panel.SETS)
def test_no_prediction_is_taken_for_a_measurement(forms: str) -> None:
    assert all(row["median_us"] > 0 for row in measured.load(forms))


@pytest.mark.parametrize("forms", panel.SETS)
def test_every_measured_bar_is_asked_for_once_by_each_way(forms: str) -> None:
    rows = measured.load(forms)
    names = list(dict.fromkeys(row["benchmark"] for row in rows))
    todo = list(panel.points(names, panel.THROUGH, "default", gpus.COMPILED, forms))
    asked = [(p["through"], p["benchmark"], p["variant"], p["carveout_kb"]) for p in todo]
    assert len(set(asked)) == len(asked)
    assert {key[1:] for key in asked} == {(r["benchmark"], r["variant"], r["carveout_kb"] or None) for r in rows}


@pytest.mark.quick(2)
@pytest.mark.parametrize("variant", card_sources.FORMS["tiles"].variants)
def test_tiles_run_as_on_the_card_with_the_carve_out_that_the_driver_takes(variant: str) -> None:
    needed("ptxas", "nvdisasm")
    pytest.importorskip("numba.cuda")
    found = panel.simulate(
        benchmark="JAC", variant=variant, spelling="unsigned", through="ptxas", carveout_kb=None, size="tiny",
        gpu="H200", forms="tiles",
    )  # fmt: skip
    (row,) = (
        r
        for r in measured.load("tiles")
        if (r["benchmark"], r["variant"], r["spelling"]) == ("JAC", variant, "unsigned")
    )
    assert found["registers"] == pytest.approx(row["registers"], abs=4)  # releases differ
    held = found["residency"] * (row["shared_bytes"] + 1024)
    assert found["taken_kb"] == min(kb for kb, _ in gpus.get("H200").carveouts if held <= kb << 10)


def test_agreement_of_what_agrees_and_of_what_is_upside_down() -> None:
    gains = [1.5, 1.02, 0.9, 0.97, 1.2, 0.8]
    same = panel.agreement([{"speedup": gain, "measured": gain} for gain in gains])
    assert (same["clear"], same["signs right"], same["rank correlation"], same["largest distance"]) == (4, 4, 1, 0)
    opposite = panel.agreement([{"speedup": 1 / gain, "measured": gain} for gain in gains])
    assert (opposite["signs right"], opposite["rank correlation"]) == (0, -1)
    assert panel.agreement([{"speedup": 1.1, "measured": 1.2}] * 2)["rank correlation"] is None  # all of one rank
    assert opposite["largest distance"] == round(max(abs(1 / gain**2 - 1) for gain in gains), 3)


@pytest.mark.checkout
def test_committed_rows_keep_the_laws() -> None:
    """Registers that a full SM has room for cost no block; the errors are within those that the page gives."""
    rows = read(DATA)
    assert len({(row["suite"], row["kernel"]) for row in rows}) == len(rows) > 250
    free = gpus.get(gpus.COMPILED).list_registers
    for row in rows:
        if max(row["registers"], row["ptxas"]) <= free:
            assert row["blocks"] == row["ptxas_blocks"]
    logs = np.log([row["registers"] / row["ptxas"] for row in rows])
    assert np.abs(logs).mean() < 0.2
    assert np.mean([row["blocks"] == row["ptxas_blocks"] for row in rows]) >= 0.85


@pytest.mark.checkout
def test_a_file_s_kernels_have_the_registers_of_the_committed_rows() -> None:
    needed("ptxas", "nvdisasm")
    pytest.importorskip("numba.cuda")
    known = {row["kernel"]: row for row in read(DATA)}
    cases = list(of_file(TESTS / "examples" / "vector_add.py"))
    assert {case.name for case in cases} == {"vector_add.add", "vector_add.add_strided", "vector_add.saxpy"}
    (row,) = (compared(case) for case in cases if case.name == "vector_add.saxpy")
    assert tuple(row) == COLUMNS
    assert row["registers"] == known["vector_add.saxpy"]["registers"]
    assert row["ptxas"] == pytest.approx(known["vector_add.saxpy"]["ptxas"], abs=2)  # releases differ
