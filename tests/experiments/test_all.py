"""All figures by one command, and the scoreboard of their claims."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from experiments import all as every, pictures, table1
from experiments.__main__ import main as list_scripts
from experiments.claims.__main__ import main as print_board
from experiments.common import marked, overview, scoreboard, standing, tables
from experiments.common.harness import CACHE
from experiments.common.verdicts import claims
from smmux.sweep import Cache, sweep

pytestmark = pytest.mark.usefixtures("few_modules")

HERE = Path(every.__file__).parent
DOCS = HERE.parent / "docs"


def test_every_script_with_an_experiment_is_made_but_the_one_that_measures_time() -> None:
    scripts = {path.stem for path in HERE.glob("*.py") if re.search(r"^EXPERIMENT = ", path.read_text(), re.M)}
    assert set(every.names()) == scripts - {"speed"}


def test_the_list_of_experiments_has_a_line_and_a_time_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_scripts([]) == 0
    printed = capsys.readouterr().out
    for name in {path.stem for path in HERE.glob("[!_]*.py")}:
        line = re.search(rf"^  {name} +\S.*$", printed, re.M)
        assert line, name
        assert line[0].endswith(")") or name == "pictures", f"docs/figures.md does not say how long {name} takes"


def test_a_dark_picture_keeps_colours_and_turns_lightness_over() -> None:
    light = Image.new("RGB", (3, 1))
    light.putdata([(255, 255, 255), (0, 0, 0), (255, 128, 0)])
    dark = pictures.darkened(light)
    white, black, orange = (dark.getpixel((x, 0)) for x in range(3))
    assert white == (pictures.DARKEST,) * 3
    assert black == (255, 255, 255)
    assert orange[0] > orange[1] > orange[2]


@pytest.mark.long
def test_a_second_run_leaves_what_stands_and_draws_what_does_not_from_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> str:
        assert every.main(["fig12", "--quick", "--out", str(tmp_path)]) == 0
        return capsys.readouterr().out

    def files() -> dict[str, bytes]:
        return {suffix: (tmp_path / f"fig12{suffix}").read_bytes() for suffix in standing.SUFFIXES}

    assert "up to date" not in run()
    first = files()
    assert b"P36" in first[".txt"]
    printed = run()
    assert "fig12            up to date" in printed
    assert "P36 not judged" in printed
    assert files() == first
    (tmp_path / "fig12.png").unlink()
    with Cache(tmp_path / CACHE) as cache:
        records = len(cache)
    assert "up to date" not in run()
    again = files()
    assert all(again[suffix] == first[suffix] for suffix in (".csv", ".png", ".pdf", ".txt"))
    with Cache(tmp_path / CACHE) as cache:
        assert len(cache) == records + 1  # nothing simulated; the files are known, which differ in their seconds
    assert "up to date" in run()


def test_files_stand_as_long_as_nothing_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"a{suffix}" for suffix in standing.SUFFIXES]
    for path in paths:
        path.write_text("made")
    with Cache(tmp_path / CACHE) as kept:

        def stands(*options: object, folder: Path = tmp_path, name: str = "a") -> bool:
            return standing.stands(kept, folder, name, *options)

        assert not stands(True)
        standing.keep(kept, tmp_path, "a", True)
        assert stands(True)
        assert not stands(False)
        shutil.copytree(tmp_path, tmp_path / "copy")
        assert stands(True, folder=tmp_path / "copy")
        for path in (tmp_path / "copy").glob("a.*"):
            path.rename(path.with_stem("b"))
        assert not stands(True, folder=tmp_path / "copy", name="b")
        for path in paths:
            path.write_text("edited")
            assert not stands(True)
            path.unlink()
            assert not stands(True)
            path.write_text("made")
            assert stands(True)
        monkeypatch.setattr(standing, "code", lambda: "other")
        assert not stands(True)


def test_all_files_of_a_folder_count_but_those_that_python_makes_and_the_version(tmp_path: Path) -> None:
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    (tmp_path / "inner" / "data.csv").write_text("1")
    seen = [standing.contents(tmp_path)]
    (tmp_path / "inner" / "__pycache__" / "a.pyc").write_text("1")
    assert standing.contents(tmp_path) == seen[0]
    (tmp_path / "version.txt").write_text("0.1.dev1+g1234567")
    assert standing.contents(tmp_path) == seen[0]
    (tmp_path / "inner" / "data.csv").write_text("2")
    seen.append(standing.contents(tmp_path))
    (tmp_path / "inner" / "data.csv").rename(tmp_path / "inner" / "other.csv")
    seen.append(standing.contents(tmp_path))
    (tmp_path / "new.mplstyle").touch()
    seen.append(standing.contents(tmp_path))
    assert all(one != other for one, other in itertools.combinations(seen, 2))


def test_code_is_that_of_smmux_and_of_the_experiments() -> None:
    """What scripts read lies in one of the two folders."""
    names = {name for folder in standing.folders() for name, _ in standing.contents(folder)}
    assert {"plot.py", "drawing/smmux.mplstyle", "fig12.py", "claims/claims.toml", "common/published.csv"} <= names
    assert any(name.startswith("_core") for name in names)
    assert "version.txt" not in names


def test_a_failed_script_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files do not stand, even where they are complete."""

    class Failing:
        def options_of(self, arguments: Sequence[str]) -> dict[str, Any]:
            return {}

        def simulated(self, given: dict[str, Any]) -> None:
            for suffix in standing.SUFFIXES[:-1]:
                (tmp_path / f"table1{suffix}").touch()

        def publish(self, made: None) -> None:
            raise ZeroDivisionError

    monkeypatch.setattr(every, "_experiment", lambda name: Failing())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            next(every.made(["table1"], tmp_path, tmp_path / CACHE))


def test_a_failure_ends_what_other_scripts_simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    class Script:
        def __init__(self, name: str) -> None:
            self.name = name

        def options_of(self, arguments: Sequence[str]) -> dict[str, Any]:
            return {}

        def simulated(self, given: dict[str, Any]) -> None:
            if self.name == "failing":
                raise ZeroDivisionError

            def run(i: int) -> dict[str, int]:
                ran.append(i)
                time.sleep(0.01)
                return {}

            sweep(run, [{"i": i} for i in range(1000)])

    monkeypatch.setattr(every, "_experiment", Script)
    with pytest.raises(ZeroDivisionError):
        list(every.made(["failing", "long"], tmp_path, tmp_path / CACHE, jobs=2))
    assert len(ran) < 900


def test_a_file_that_is_no_cache_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / CACHE).write_text("no database, but long enough to look at " * 20)
    assert every.main(["table1", "--out", str(tmp_path)]) == 2
    assert "is no cache of records" in capsys.readouterr().err


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


NUMBERS = {
    "P4": 0.3, "P1": {"figure": [1.5, 1.75, 1.25], "K+3 registers": [0.5, 0.75, 1.0]}, "P30": [1.4, 1.6, 1.6, 1.7],
    "P35": [2.0, 1.5], "P38": [300.4, 70], "P39": [1, 9], "P3": [1.5, 2.5], "P44": [1.25, 2.0],
    "P42": {"figure": [1.0, 1.25, 1.5], "MV hashed": [9, 9, 9]},
}  # fmt: skip
"""What verdicts say that the table of the main numbers shows."""


def judged(folder: Path, ours: Mapping[str, Any]) -> None:
    """Files of scripts, as if they had run."""
    for script in {claims()[id].script for id in ours}:
        own = {id: value for id, value in ours.items() if claims()[id].script == script}
        verdicts = [{"id": id, "ours": value, "reproduced": True, "note": ""} for id, value in own.items()]
        (folder / f"{script}.json").write_text(json.dumps({"claims": verdicts}))


def test_the_command_writes_the_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages keep the verdicts of scripts that have not run since."""
    exact = {id: claims()[id].paper for id in ("P5", "P6", "P7")} | {"P8": [0, *claims()["P8"].paper[1:]]}
    (tmp_path / "figures.md").write_text(f"head\n{overview.BEGIN}\nold\n{overview.END}\ntail\n")
    judged(tmp_path, NUMBERS | exact)
    assert print_board(["--out", str(tmp_path), "--docs", str(tmp_path)]) == 0
    assert f"{len(claims()) - 13} not run" in capsys.readouterr().out
    for path in tmp_path.glob("[ft]*.json"):
        path.unlink()
    judged(tmp_path, {"P4": 0.25})
    assert print_board(["--out", str(tmp_path), "--docs", str(tmp_path)]) == 0
    assert f"{len(claims()) - 1} not run" in capsys.readouterr().out
    page = (tmp_path / "claims.md").read_text()
    assert page.startswith(f"# Claims\n\n{scoreboard.HEAD}\n\n{len(claims())} claims: 13 reproduced, ")
    head, *rows, tail = (tmp_path / "figures.md").read_text().splitlines()
    assert (head, tail) == ("head", "tail")
    assert [row.rpartition(" | ")[2] for row in rows[3:-1]] == [
        "9 of 10 |", "25.0% |", "1.50, 1.75, 1.25 |", "0.50, 0.75, 1.00 |", "1.40, 1.60 |", "1.50 |", "300, 9 |",
        "1.50, 1.25, 2.50, 2.00 |", "1.00, 1.25, 1.50 |",
    ]  # fmt: skip


def test_a_table_without_its_verdicts_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no verdict on P5: python -m experiments.table1 makes it"):
        overview.table(scoreboard.kept(tmp_path / "claims.json"))


@pytest.mark.checkout
def test_the_pages_have_the_verdicts_that_are_kept() -> None:
    rows = scoreboard.kept(DOCS / "claims.json")
    assert scoreboard.counts(rows).count("not run") == 0
    assert (DOCS / "claims.md").read_text() == scoreboard.page(rows)
    table = marked.between((DOCS / "figures.md").read_text(), overview.BEGIN, overview.END)
    assert table == overview.table(rows)


@pytest.mark.checkout
def test_the_verdicts_that_are_kept_are_those_of_the_scripts() -> None:
    """Of those that need no long runs."""
    kept = {row.claim.id: row for row in scoreboard.kept(DOCS / "claims.json")}
    for verdict in table1.check(table1.run()):
        row = kept[verdict.id]
        assert (row.word, tables.spelled(row.ours), row.note) == (
            verdict.word,
            tables.spelled(verdict.ours),
            verdict.note,
        )
