"""Print the scoreboard: all claims of the papers with the verdicts of the last runs.

The verdicts are those in the files that the scripts have written; `python -m experiments.all` makes them all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.common import scoreboard
from smmux.base.whole_files import write_text


def main(argv: Sequence[str] | None = None) -> int:
    """Print the scoreboard, and write it as a page if wanted; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.claims", description=__doc__.partition("\n\n")[0])
    add = parser.add_argument
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder of files (%(default)s)")
    add("--page", type=Path, metavar="FILE", help="write the page of the documentation")
    options = parser.parse_args(argv)
    rows = scoreboard.board(options.out)
    print(scoreboard.text(rows))
    if options.page:
        write_text(options.page, scoreboard.page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
