"""The scoreboard: every claim of the papers, the paper's numbers beside ours, the verdict, and the reason.

It is read from the files that the scripts have written, so that nothing is simulated for it. What the documentation
says of them is made from verdicts that are kept: those of scripts that have not run again stay as they are.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.common.tables import listed, spelled
from experiments.common.verdicts import Claim, claims, word_of
from smmux.base.whole_files import finish, write_text

__all__ = ["Row", "board", "counts", "keep", "kept", "page", "text"]

NOT_RUN = "not run"
WIDTH = 120
HEAD = """Made by `python -m experiments.claims --docs docs` from the files of the last full runs. What the verdicts
mean stands with the [figures](figures.md)."""
PAPERS = {
    "P": "shared-memory multiplexing (PACT 2012)",
    "K": "Kepler's bank modes",
    "T": "TELEPORT",
    "A": "Aho-Corasick on a GPU",
    "S": "lectures on GPU memory",
}
"""What the letters of the claims stand for."""
REPRODUCED = {word_of(value): value for value in (True, False, None)}
"""What files say for the words of verdicts."""


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with the verdict of its script's last run, `ours` being None where there was none."""

    claim: Claim
    word: str
    ours: Any = None
    note: str = ""

    @property
    def verdict(self) -> dict[str, Any]:
        """What a file says of the claim."""
        return {"ours": self.ours, "reproduced": REPRODUCED[self.word], "note": self.note}

    @property
    def paper(self) -> str:
        """What the claim's letter stands for."""
        return PAPERS.get(self.claim.id[0], self.claim.id[0])


def board(folder: Path) -> list[Row]:
    """All claims in the order of their table, with the verdicts that the files of a folder hold."""
    finish(folder)
    verdicts = {
        verdict["id"]: verdict
        for script in dict.fromkeys(claim.script for claim in claims().values())
        for verdict in _content(folder / f"{script}.json").get("claims", [])
    }
    return [_row(claim, verdicts.get(id)) for id, claim in claims().items()]


def kept(path: Path) -> list[Row]:
    """All claims in the order of their table, with the verdicts that a file keeps."""
    verdicts = _content(path)
    return [_row(claim, verdicts.get(id)) for id, claim in claims().items()]


def keep(path: Path, rows: Iterable[Row]) -> list[Row]:
    """Keep the verdicts of those scripts that have run; all claims with what the file then holds."""
    judged = {row.claim.id: row.verdict for row in [*kept(path), *rows] if row.word != NOT_RUN}
    write_text(path, json.dumps({id: judged[id] for id in claims() if id in judged}, indent=1) + "\n")
    return kept(path)


def _content(path: Path) -> dict[str, Any]:
    """What a script has written, or nothing."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content


def _row(claim: Claim, verdict: Mapping[str, Any] | None) -> Row:
    if verdict is None:
        return Row(claim, NOT_RUN, note=f"python -m experiments.{claim.script} judges it")
    return Row(claim, word_of(verdict["reproduced"]), verdict["ours"], verdict["note"])


def counts(rows: Iterable[Row]) -> str:
    """How many claims have which verdict."""
    words = [row.word for row in rows]
    return listed(f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words, reverse=True)))


def _by_paper(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row.paper == name] for name in dict.fromkeys(row.paper for row in rows)}


def text(rows: Sequence[Row]) -> str:
    """The scoreboard for a terminal."""
    lines = []
    for name, own in _by_paper(rows).items():
        lines += [f"{name}: {counts(own)}", ""]
        for row in own:
            lines += textwrap.wrap(f"{row.claim.id} {row.word}: {row.claim.text}", WIDTH, subsequent_indent="  ")
            lines += textwrap.wrap("; ".join(_numbers(row)), WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines.append("")
    return "\n".join([*lines, f"{len(rows)} claims: {counts(rows)}"])


def _numbers(row: Row) -> list[str]:
    pairs = (("paper", row.claim.paper), ("ours", row.ours))
    return [f"{whose}: {spelled(value)}" for whose, value in pairs if value is not None] + [row.note] * bool(row.note)


def page(rows: Sequence[Row]) -> str:
    """The scoreboard as a page of the documentation, in Markdown."""
    parts = ["# Claims", HEAD, f"{len(rows)} claims: {counts(rows)}."]
    for name, own in _by_paper(rows).items():
        parts += [f"## {name[0].upper()}{name[1:]}", f"{counts(own)}."]
        head = ["| | claim | script | paper | here | verdict | reason or measure |", "|---|---|---|---|---|---|---|"]
        parts.append("\n".join([*head, *(_cells(row) for row in own)]))
    return "\n\n".join(parts) + "\n"


def _cells(row: Row) -> str:
    paper, ours = (spelled(value) if value is not None else "" for value in (row.claim.paper, row.ours))
    cells = row.claim.id, row.claim.text, row.claim.script, paper, ours, row.word, row.note
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
