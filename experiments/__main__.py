"""List the experiments: what each makes, and how long a full run takes on two idle cores."""

from __future__ import annotations

import argparse
import ast
import pkgutil
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import experiments

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "figures.md"
"""The page that says how long each takes."""

_SCRIPT = r"`(?:python -m experiments\.)?\w+`"
_TIME = re.compile(rf"((?:{_SCRIPT}(?:, | and )?)+)(?:\s+\([^)]*\))? takes? ([^.,;(]+?)(?: each)?[.,;(]")


def scripts() -> dict[str, str]:
    """The scripts with the first line of what each says of itself; nothing of them is loaded."""
    found = [module.name for module in pkgutil.iter_modules(experiments.__path__)]
    paths = [(name, HERE / f"{name}.py") for name in found if name != "__main__"]
    paths = [(name, path if path.exists() else HERE / name / "__main__.py") for name, path in paths]
    texts = {name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for name, path in paths if path.exists()}
    return {name: (text or "").partition("\n")[0] for name, text in texts.items()}


def times(page: str) -> dict[str, str]:
    """How long scripts take, by name, as a page says it.

    >>> times("`python -m experiments.a` takes about a minute. `python -m experiments.b` and `c` take seconds each.")
    {'a': 'about a minute', 'b': 'seconds', 'c': 'seconds'}
    """
    return {
        name: " ".join(match[2].split())
        for match in _TIME.finditer(page)
        for name in re.findall(r"`(?:python -m experiments\.)?(\w+)`", match[1])
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the list; the exit status."""
    argparse.ArgumentParser(prog="python -m experiments", description=__doc__).parse_args(argv)
    known = times(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    print("python -m experiments.NAME, where NAME is one of")
    for name, text in scripts().items():
        print(f"  {name:16} {text.rstrip('.')}{f' ({known[name]})' if name in known else ''}")
    print("Times are of two idle cores; --quick runs smaller grids, --help tells the other options.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
