"""Print the scoreboard: all claims of the papers with the verdicts of the last runs.

The verdicts are those in the files that the scripts have written; `python -m experiments.all` makes them all. The pages
of the documentation keep those of scripts that have not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import marked, overview, scoreboard
from smmux.base.whole_files import write_text


def main(argv: Sequence[str] | None = None) -> int:
    """Print the scoreboard, and write what the documentation says of it if wanted; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.claims", description=__doc__.partition("\n\n")[0])
    add = parser.add_argument
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder of files (%(default)s)")
    pages = "write the pages of the documentation: claims.md, its verdicts claims.json, the table of figures.md"
    add("--docs", type=Path, metavar="DIR", help=pages)
    options = parser.parse_args(argv)
    rows = scoreboard.board(options.out)
    print(scoreboard.text(rows))
    if options.docs:
        write_pages(options.docs, rows)
    return 0


def write_pages(docs: Path, rows: Sequence[scoreboard.Row]) -> None:
    """Keep the verdicts of the scripts that have run, and write what is made of them into a folder."""
    rows = scoreboard.keep(docs / "claims.json", rows)
    write_text(docs / "claims.md", scoreboard.page(rows))
    marked.put(docs / "figures.md", overview.BEGIN, overview.END, overview.table(rows))


if __name__ == "__main__":
    sys.exit(main())
