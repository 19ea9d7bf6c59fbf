"""Make one page of all figures, claims and the validation with their provenance, from the files of the last runs.

Nothing is simulated. The page needs no other file; with --pdf chromium prints it too.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.common import scoreboard
from experiments.common.tables import spelled
from experiments.gallery import in_order, title_of
from smmux.base.whole_files import finish, write_text
from smmux.drawing.markup import page, table_of_text

__all__ = ["main", "report"]

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or ""

STYLE = (
    "<style>body{max-width:60em;margin:1em auto;line-height:1.4}img{max-width:100%;background:#fff}"
    "table{border-collapse:collapse;font-size:80%}td,th{border:1px solid #8888;padding:.2em .4em;text-align:left;"
    "vertical-align:top}div{overflow-x:auto}#claims+div td:last-child{min-width:20em}"
    "@media print{details::details-content{content-visibility:visible}h2,summary{break-after:avoid}"
    "figure,tr{break-inside:avoid}figure img{max-height:15cm}"
    "#claims+div table{table-layout:fixed;width:100%}#claims+div td:last-child{min-width:0}"
    "#claims+div th:nth-child(2){width:19%}#claims+div th:last-child{width:27%}"
    "#claims+div th:nth-child(3){width:5em}#claims+div th:nth-child(6){width:6em}"
    "#claims+div :is(td,th):first-child{width:2em}#claims+div td{overflow-wrap:anywhere}}</style>"
)


def report(results: Path, kept: Path) -> str:
    """The page. results: the folder of files; kept: the verdicts of scripts that have no file there."""
    finish(results)
    contents = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(results.glob("*.json"))}
    runs = {name: content for name, content in contents.items() if "provenance" in content}
    rows = {row.claim.id: row for row in scoreboard.kept(kept)}
    rows |= {row.claim.id: row for row in scoreboard.board(results) if row.word != scoreboard.NOT_RUN}
    ordered = list(rows.values())
    parts = [
        STYLE,
        "<h1>smmux: figures, claims, validation</h1>",
        f"<p>{len(runs)} experiments of a folder of results; ",
    ]
    parts.append(f"{len(ordered)} claims: {html.escape(scoreboard.counts(ordered))}.</p>")
    for name in in_order(runs):
        parts += _experiment(name, runs[name], results / f"{name}.png")
    parts += ["<h2 id='claims'>Claims</h2>", f"<div>{_claims(ordered)}</div>"]
    return page("smmux: report", "".join(parts))


def _experiment(name: str, content: dict[str, Any], picture: Path) -> Iterator[str]:
    """A section: picture with its caption, verdicts, and what it was made with."""
    caption = html.escape(content["caption"], quote=True)
    yield f"<h2 id='{name}'>{html.escape(title_of(name))}</h2>"
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        image = f"<img alt='{caption}' src='data:image/png;base64,{data}'>"
        yield f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    made = content["provenance"]
    machines = [
        f"{machine['name']} ({len(machine['sources'])} parameters with sources)" for machine in made["machines"]
    ]
    host = ", ".join(f"{key} {value}" for key, value in made["host"].items())
    facts = [
        ("command", f"python -m experiments.{name}{' --quick' if made.get('quick') else ''}"),
        ("version", made["version"] + (f", commit {made['commit']}" if made.get("commit") else "")),
        ("simulated points", str(len(content["rows"]))),
        ("seconds", str(made["seconds"])),
        ("machines", ", ".join(machines)),
        ("sizes", json.dumps(made["sizes"], default=str)),
        ("host", host),
    ]
    yield f"<details><summary>provenance</summary><div>{table_of_text(('', ''), facts)}</div></details>"


def _claims(rows: Sequence[scoreboard.Row]) -> str:
    cells = [
        (
            row.claim.id,
            row.claim.text,
            row.claim.script,
            *("" if value is None else spelled(value) for value in (row.claim.paper, row.ours)),
            row.word,
            row.note,
        )
        for row in rows
    ]
    return table_of_text(("", "claim", "script", "paper", "here", "verdict", "reason or measure"), cells)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report", description=(__doc__ or "").partition("\n\n")[0]
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder of files (%(default)s)")
    add("--claims", type=Path, default=Path("docs/claims.json"), metavar="FILE", help="kept verdicts (%(default)s)")
    add("--pdf", action="store_true", help="print report.pdf too, by chromium")
    options = parser.parse_args(argv)
    if not options.out.is_dir():
        print(f"report: there is no folder {options.out}; python -m experiments.all makes it", file=sys.stderr)
        return 2
    if options.pdf and not BROWSER:
        print("report: --pdf needs chromium, which is not here", file=sys.stderr)
        return 2
    place = options.out / "report.html"
    write_text(place, report(options.out, options.claims))
    print(place)
    if options.pdf:
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        document = place.with_suffix(".pdf").resolve()
        subprocess.run(
            [*command, f"--print-to-pdf={document}", place.resolve().as_uri()], check=True, capture_output=True
        )
        print(document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
