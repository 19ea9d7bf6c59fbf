"""The speed of the simulator as data: means, gains and equal bits from records whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import speed


def record(benchmark: str, threads: int, seconds: float, instructions: int = 10**6, bits: str = "a") -> dict[str, Any]:
    """What `measure` finds, of a run that long."""
    return {
        "benchmark": benchmark, "host_threads": threads, "instructions": instructions, "seconds": seconds,
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


def test_measures_in_a_process_of_its_own() -> None:
    found = [speed.measure("CV", threads, "tiny") for threads in (1, 2)]
    assert found[0]["bits"] == found[1]["bits"]
    assert found[0]["seconds"] > 0
    assert found[0]["peak_memory_mb"] > 10
