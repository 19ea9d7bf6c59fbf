"""Command line, verdicts, tables and files that all experiments share."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from experiments import harness
from smmux import gpus


def test_every_claim_has_words() -> None:
    claims = harness.claims()
    assert list(claims) == [f"P{i}" for i in range(1, 62)]
    assert all(claim["text"] for claim in claims.values())


def test_verdicts_take_their_words_from_the_claims() -> None:
    found = harness.verdict("P16", 8736, True)
    assert (found.paper, found.word) == (8736, "reproduced")
    assert harness.verdict("P3", None, None).word == "not judged"
    with pytest.raises(KeyError):
        harness.verdict("P99", 0, True)


def test_table_aligns_numbers_to_the_right() -> None:
    text = harness.table(("name", "value"), [("a", 1.5), ("bcdef", None), ("c", 22)])
    assert text.splitlines() == ["name   value", "-----  -----", "a      1.500", "bcdef      -", "c         22"]


def test_report_writes_four_files_with_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = harness.parser("A figure.\n\nMore.").parse_args(["--out", str(tmp_path / "new"), "--quick"])
    harness.Report("demo", options).finish(
        [{"x": 1, "y": 2.5}, {"x": 2, "z": "text"}],
        shown="the table",
        summary={"mean": 2.5},
        verdicts=[harness.verdict("P6", [32], None, "why")],
        draw=lambda ax: ax.plot([1, 2], [3, 4]),
        machines=[gpus.get("GTX285")],
        sizes={"MV": {"width": 1024}},
    )
    content = json.loads((tmp_path / "new" / "demo.json").read_text())
    assert set(content) == {"rows", "summary", "claims", "provenance"}
    assert content["claims"][0]["reproduced"] is None
    assert content["provenance"]["machines"][0]["sm_count"] == 30
    assert content["provenance"]["quick"] is True
    rows = list(csv.DictReader((tmp_path / "new" / "demo.csv").read_text().splitlines()))
    assert rows[1] == {"x": "2", "y": "", "z": "text"}
    assert (tmp_path / "new" / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "new" / "demo.pdf").read_bytes()[:4] == b"%PDF"
    printed = capsys.readouterr().out
    assert "the table" in printed
    assert "not judged" in printed
