"""The speed of the simulator as data: means, gains and equal bits from records whose answer is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import speed


def record(
    benchmark: str, threads: int, seconds: float, instructions: int = 10**6, bits: str = "a", gpu: str = speed.GPU
) -> dict[str, Any]:
    """What `measure` finds, of a run that long."""
    return {
        "gpu": gpu, "benchmark": benchmark, "host_threads": threads, "instructions": instructions, "seconds": seconds,
        "mwips": instructions / seconds / 1e6, "ns_per_instruction": seconds / instructions * 1e9,
        "cycles_per_second": 1e6, "transactions_per_second": 2e6, "peak_memory_mb": 100.0 * threads, "bits": bits,
    }  # fmt: skip


RECORDS = [
    record("MV", 1, 4.0, 4 * 10**6), record("MV", 2, 2.0, 4 * 10**6), record("TP", 1, 0.0625), record("TP", 2, 0.125)
]  # fmt: skip


def test_summary_is_geometric_means_and_the_gain_is_that_of_larger_runs() -> None:
    found = speed.summary(RECORDS)
    assert (found["mwips_geomean"], found["mwips_min"]) == (4.0, 1.0)
    assert (found["speedup_2_threads"], found["speedup_2_threads_all"]) == (2.0, 1.0)
    assert (found["speedup_2_threads_of"], found["same_bits"], found["peak_memory_mb"]) == ("MV", True, 200.0)


OTHER = [record("MV", 1, 8.0, 4 * 10**6, gpu="GTX480-16K"), record("TP", 1, 0.5, gpu="GTX480-16K")]


def test_machines_have_tables_summaries_and_panels_of_their_own() -> None:
    found = speed.summary(RECORDS + OTHER)
    assert found | {"machines": None} == speed.summary(RECORDS) | {"machines": None}
    assert {name: row["mwips_geomean"] for name, row in found["machines"].items()} == {
        speed.GPU: 4.0,
        "GTX480-16K": 1.0,
    }
    text = speed.table(RECORDS + OTHER)
    assert text.count("mwips_geomean") == 2
    titles = [speed.plot(RECORDS + OTHER, Figure().add_subplot(), panel).get_title(loc="left") for panel in (0, 1)]
    assert titles == [speed.GPU, "GTX480-16K"]
    assert [speed.EXPERIMENT.drawable(RECORDS + OTHER, panel) for panel in range(3)] == [True, True, False]
    assert "GTX480-16K 1.0 in the geometric mean, 0.5 at least" in speed.caption(RECORDS + OTHER)


def test_machines_are_named_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(run: Any, points: list[dict[str, Any]], **_: Any) -> list[dict[str, Any]]:
        return [record(p["benchmark"], p["host_threads"], 1.0, gpu=p["gpu"]) for p in points]

    monkeypatch.setattr(speed, "sweep", measured)
    assert speed.main(["--gpu", "gtx480-16k", "GTX480-48K", "GTX480-16K", "--out", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "speed.json").read_text())
    assert list(content["summary"]["machines"]) == ["GTX480-16K", "GTX480-48K"]
    assert [machine["name"] for machine in content["provenance"]["machines"]] == ["GTX480-16K", "GTX480-48K"]
    with pytest.raises(SystemExit):
        speed.main(["--gpu", "GTX999"])
    assert "unknown gpu 'GTX999'" in capsys.readouterr().err


def test_one_processor_has_no_gain() -> None:
    found = speed.summary(RECORDS[::2])
    assert found["speedup_2_threads"] is None
    assert found["same_bits"] is None


def test_table_has_a_row_per_record_and_the_summary() -> None:
    text = speed.table(RECORDS)
    assert len([line for line in text.splitlines() if line.startswith(("MV", "TP"))]) == 4
    assert "mwips_geomean: 4.000" in text
    assert "same_bits: True" in text


def test_other_bits_on_two_threads_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "sweep", lambda *_, **__: [record("MV", 1, 1.0), record("MV", 2, 1.0, bits="b")])
    with pytest.raises(AssertionError, match="MV"):
        speed.run()


@pytest.mark.long
def test_measures_in_a_process_of_its_own() -> None:
    found = [speed.measure("CV", threads, "tiny") for threads in (1, 2)]
    found.append(speed.measure("CV", 1, "tiny", "GTX480-16K"))
    assert found[0]["bits"] == found[1]["bits"]
    assert found[0]["cycles"] != found[2]["cycles"]
    assert found[0]["seconds"] > 0
    assert found[0]["peak_memory_mb"] > 10


def test_another_simulators_rates_stand_beside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(run: Any, points: list[dict[str, Any]], **_: Any) -> list[dict[str, Any]]:
        return [record(p["benchmark"], p["host_threads"], 1.0, gpu=p["gpu"]) for p in points]

    monkeypatch.setattr(speed, "sweep", measured)
    rates = tmp_path / "rates.csv"
    rates.write_text("simulator,benchmark,mwips\nOther 1.0,MV,0.01\nOther 1.0,FFT,0.0025\n")
    assert speed.main(["--out", str(tmp_path), "--beside", str(rates)]) == 0
    assert "times as fast as Other 1.0: MV 100, FFT 400; geometric mean 200\n" in capsys.readouterr().out
    for wrong in ("benchmark,mwips\nMV,1\n", "simulator,benchmark,mwips\nOther,MV,none\n", "",
                  "simulator,benchmark,mwips\nOther,MV,0\n", "simulator,benchmark,mwips\nOther,XY,1\n"):  # fmt: skip
        rates.write_text(wrong)
        with pytest.raises(SystemExit):
            speed.main(["--out", str(tmp_path), "--beside", str(rates)])
        assert "rates.csv: " in capsys.readouterr().err
