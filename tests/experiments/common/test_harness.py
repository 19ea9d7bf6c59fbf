"""The command line and the files that all experiments share."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import smmux
from experiments.common import (
    harness,
    verdicts,
)
from smmux import gpus
from smmux.benchmarks import WrongOutputError

CLAIMS = verdicts.claims()


QUICK = "a quick run is not judged"


def experiment(**changed: Any) -> harness.Experiment:
    """An experiment of two records, whose run says what it was given."""

    def run(quick: bool = False, stalls: bool = False) -> list[dict[str, Any]]:
        return [{"x": 1, "y": 2.5, "quick": quick, "stalls": stalls}, {"x": 2, "z": "text"}]

    usual: dict[str, Any] = {
        "name": "demo",
        "description": "A figure.\n\nMore.",
        "run": run,
        "table": lambda records: "the table",
        "summary": lambda records: {"mean": 2.5},
        "caption": lambda records: "What is seen.",
        "check": lambda records: [CLAIMS["P6"].verdict([32], True, "why"), CLAIMS["P7"].verdict([1], False)],
        "plots": [lambda records, ax: ax.plot([r["x"] for r in records], [3, 4])],
        "machines": lambda: [gpus.get("GTX285")],
        "sizes": lambda quick: {"MV": {"width": 64 if quick else 1024}},
        "options": {"stalls": lambda records: "the stalls", "everything": None},
    }
    return harness.Experiment(**usual | changed)


def test_a_script_without_its_parts_is_told_which() -> None:
    script = {"__file__": "folder/fig99.py", "__doc__": "A figure.", **dict.fromkeys(harness.PARTS[2:])}
    with pytest.raises(TypeError, match="experiment fig99 defines no run, table; experiments/README.md"):
        harness.Experiment.of(script, plots=[])
    assert harness.Experiment.of(script, plots=[], run=list, table=str).name == "fig99"


def test_main_writes_four_files_with_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert experiment().main(["--out", str(tmp_path / "new"), "--quick"]) == 0
    content = json.loads((tmp_path / "new" / "demo.json").read_text())
    assert content["caption"] == "What is seen. Quick run: smaller grids."
    assert set(content) == {"caption", "rows", "summary", "claims", "provenance"}
    assert [claim["reproduced"] for claim in content["claims"]] == [None, None]
    assert [claim["note"] for claim in content["claims"]] == [f"{QUICK}; why", QUICK]
    assert content["provenance"]["machines"][0]["sm_count"] == 30
    assert content["provenance"]["quick"] is True
    assert content["provenance"]["version"] == smmux.__version__
    assert content["provenance"]["commit"] == harness.commit()
    assert content["provenance"]["sizes"] == {"MV": {"width": 64}}
    rows = list(csv.DictReader((tmp_path / "new" / "demo.csv").read_text().splitlines()))
    assert rows[1] == {"x": "2", "y": "", "z": "text", "quick": "", "stalls": ""}
    assert (tmp_path / "new" / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "new" / "demo.pdf").read_bytes()[:4] == b"%PDF"
    printed = capsys.readouterr().out
    assert "the table" in printed
    assert "the stalls" not in printed
    assert "claims: 2 not judged" in printed
    assert "reproduced" not in printed


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_commit_is_that_of_this_checkout_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)

    monkeypatch.setattr(harness, "ROOT", tmp_path)
    assert harness.commit() is None
    (tmp_path / "a").write_text("1")
    git("init", "--quiet")
    assert harness.commit() is None  # no commit yet
    git("add", "a")
    git("commit", "--quiet", "--message", "first")
    first = harness.commit()
    assert re.fullmatch("[0-9a-f]{7,}", first or "")
    (tmp_path / "a").write_text("2")
    assert harness.commit() == f"{first}-dirty"
    git("commit", "--quiet", "--all", "--message", "second")
    git("tag", "v0.1.0")
    assert harness.commit() == "v0.1.0"


def test_full_runs_are_judged_and_quick_ones_that_are_no_smaller(tmp_path: Path) -> None:
    for changed, argument in (({}, []), ({"sizes": lambda quick: {}}, ["--quick"])):
        experiment(**changed).main(["--out", str(tmp_path), *argument])
        content = json.loads((tmp_path / "demo.json").read_text())
        assert [claim["reproduced"] for claim in content["claims"]] == [True, False]
        assert content["caption"] == "What is seen."


def test_claims_are_spelled_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = CLAIMS["P58"].verdict({"MV": {"a": 1.5}, "FFT": [1, None], "RD": {}, "HG": []}, True, "why " * 40)
    experiment(check=lambda records: [found]).main(["--out", str(tmp_path)])
    text, numbers, *note, count = capsys.readouterr().out.rstrip().splitlines()[-5:]
    assert text == "P58 reproduced: CO-VTB of MC: an edge below 16 is private, else public"
    assert numbers == "  ours: MV (a 1.500); FFT 1, -; RD (none); HG none"
    assert [line[:5] for line in note] == ["  why", "  why"]
    assert count == "claims: 1 reproduced"


def test_options_reach_the_run_and_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment().main(["--out", str(tmp_path), "--stalls", "--everything"])
    row = json.loads((tmp_path / "demo.json").read_text())["rows"][0]
    assert (row["quick"], row["stalls"]) == (False, True)
    assert "the stalls" in capsys.readouterr().out


def test_an_option_that_an_experiment_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        experiment(options={}).main(["--out", str(tmp_path), "--stalls"])


@pytest.mark.parametrize("jobs", ["0", "-2", "x"])
def test_jobs_is_a_number_of_simulations(tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    with pytest.raises(SystemExit):
        experiment().main(["--out", str(tmp_path), "--jobs", jobs])
    assert f"argument --jobs: '{jobs}' is not a number from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["run", "check"])
def test_an_interrupted_run_says_so_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    def interrupted(*_: Any) -> list[Any]:
        raise KeyboardInterrupt

    assert experiment(**{part: interrupted}).main(["--out", str(tmp_path / "new")]) == harness.INTERRUPTED
    assert not (tmp_path / "new").exists()
    assert capsys.readouterr().err == "interrupted, nothing written\n"


def test_nothing_is_written_when_the_run_fails(tmp_path: Path) -> None:
    def wrong() -> list[dict[str, Any]]:
        raise WrongOutputError("MV: y")

    with pytest.raises(WrongOutputError):
        experiment(run=wrong).main(["--out", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()
