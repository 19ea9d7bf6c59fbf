"""All figures by one command, and the scoreboard of their claims."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments import all as every
from experiments.claims.__main__ import main as print_board
from experiments.common import scoreboard
from experiments.common.verdicts import claims

HERE = Path(every.__file__).parent


def test_every_script_with_an_experiment_is_made_but_the_one_that_measures_time() -> None:
    scripts = {path.stem for path in HERE.glob("*.py") if re.search(r"^EXPERIMENT = ", path.read_text(), re.M)}
    assert set(every.names()) == scripts - {"speed"}


def test_a_second_run_reads_what_the_first_has_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for _ in range(2):
        assert every.main(["fig12", "--quick", "--out", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        rows.append(json.loads((tmp_path / "fig12.json").read_text())["rows"])
    assert rows[0] == rows[1]
    assert "fig12" in printed
    assert "P36 not judged" in printed
    assert (tmp_path / "fig12.txt").read_text().count("P36")


def test_unknown_names_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        every.main(["fig99", "--out", str(tmp_path)])
    assert "no experiment fig99; there are" in capsys.readouterr().err


def test_the_scoreboard_has_every_claim_and_the_verdicts_of_the_files(tmp_path: Path) -> None:
    verdict = {"id": "P5", "text": "", "paper": 1, "ours": {"a|b": 2}, "reproduced": True, "note": "why"}
    content = {"claims": [verdict, {**verdict, "id": "P6", "reproduced": False}]}
    (tmp_path / "table1.json").write_text(json.dumps(content))
    rows = {row.claim.id: row for row in scoreboard.board(tmp_path)}
    assert list(rows) == list(claims())
    assert (rows["P5"].word, rows["P5"].ours, rows["P5"].note) == ("reproduced", {"a|b": 2}, "why")
    assert (rows["P6"].word, rows["P7"].word) == ("deviates", "not run")
    text = scoreboard.text(list(rows.values()))
    assert text.endswith(f"{len(claims())} claims: 1 reproduced, {len(claims()) - 2} not run, 1 deviates")
    page = scoreboard.page(list(rows.values()))
    table = [line for line in page.splitlines() if line.startswith("| P")]
    assert len(table) == sum(id.startswith("P") for id in claims())
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {8}


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_board(["--out", str(tmp_path), "--page", str(tmp_path / "claims.md")]) == 0
    assert f"{len(claims())} not run" in capsys.readouterr().out
    assert (tmp_path / "claims.md").read_text().startswith("# Claims\n")
