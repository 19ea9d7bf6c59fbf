"""Make the page with all figures from the files of the last runs, and small copies of the pictures for it.

Time lines are drawn once more as SVG, which stays sharp when it is enlarged, as the site lets its reader do.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

import experiments
from experiments.common.harness import drawn
from experiments.common.verdicts import claims
from smmux.base.whole_files import finish, write_bytes, write_text

__all__ = ["FIRST", "in_order", "main", "page", "small", "title_of"]

FIRST = ("fig14", "fig15", "fig11", "fig01", "fig12", "fig13", "table1", "fig04", "fig09", "fig10", "vtb_n")
"""What the paper is about comes first, then the others by name."""
TIME_LINES = ("fig04", "fig09", "fig10")
"""Figures that have more in them than a page is wide."""
BYTES = 75_000
"""Most bytes of a picture on the page that is no time line."""

HEAD = """# Gallery

Made by `python -m experiments.gallery` from the files of the last full runs; [figures](figures.md) says how each is
made, and [claims](claims.md) holds what the papers say against it, {claims} sentences with verdict and reason."""


def small(picture: Path, limit: int = BYTES) -> bytes:
    """A picture as PNG of at most `limit` bytes: as large as can be, with at most 128 colours.

    An octree keeps the colour of a thin line apart; a median cut gives most colours to the shades of what is frequent.
    """
    with Image.open(picture) as full:
        image = full.convert("RGB")
    for width in (min(image.width, 1000), 900, 800, 700, 600, 500):
        for colours in (128, 64, 32, 16):
            scaled = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
            file = io.BytesIO()
            few = scaled.quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            few.save(file, "PNG", optimize=True)
            if file.tell() <= limit:
                return file.getvalue()
    raise ValueError(f"{picture} is larger than {limit} bytes at every width")


def sharp(name: str, content: dict[str, Any]) -> bytes:
    """The figure of an experiment as SVG with words in it, drawn from the content of its file."""
    experiment = importlib.import_module(f"experiments.{name}").EXPERIMENT
    [svg] = drawn(experiment, content["rows"], content["caption"], "svg")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", svg.decode(), flags=re.S)
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text).encode()  # of 1/72 inch


def in_order(names: Iterable[str]) -> list[str]:
    """Names of experiments in the order of the gallery."""
    given = sorted(names)
    return [*(name for name in FIRST if name in given), *(name for name in given if name not in FIRST)]


def title_of(name: str) -> str:
    """What an experiment is called, in the words with which its script begins, as "Figure 14: speedup of ..."."""
    path = Path(experiments.__file__).with_name(f"{name}.py")
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) if path.exists() else None
    words = (text or name).partition("\n")[0].rstrip(".")
    return words if re.match(r"(Figure|Table) \d+:", words) else words.partition(":")[0]


def anchor(title: str) -> str:
    """The name of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def page(results: Path, docs: Path) -> str:
    """Write `docs/figures/NAME.png` for every picture of a folder; the page that shows them, in Markdown."""
    (docs / "figures").mkdir(exist_ok=True)
    finish(results)
    small_ones, parts = [], []
    for name in in_order(path.stem for path in results.glob("*.png")):
        picture = results / f"{name}.png"
        content = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))
        file = sharp(name, content) if name in TIME_LINES else small(picture)
        write_bytes(docs / "figures" / file_of(name), file)
        parts.append(section(name, content["caption"]))
        small_ones.append(thumbnail(name))
    return "\n\n".join([HEAD.format(claims=len(claims())), "\n".join(small_ones), *parts]) + "\n"


def file_of(name: str) -> str:
    """The file of a picture on the page."""
    return f"{name}.{'svg' if name in TIME_LINES else 'png'}"


def thumbnail(name: str) -> str:
    """A small picture that leads to the large one, above what that is called: "Figure 14", or all of it."""
    title = title_of(name)
    called = title.partition(":")[0]
    image = f'<img src="figures/{file_of(name)}" alt="small picture: {title}" width="150">'
    return f"[{image}<br>{called}](#{anchor(title)})"


def section(name: str, caption: str) -> str:
    """A picture with its title, its command and its caption."""
    return f"## {title_of(name)}\n\n`python -m experiments.{name}`\n\n![{caption}](figures/{file_of(name)})"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page and its pictures; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gallery", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder of files (%(default)s)")
    add("--docs", type=Path, default=Path("docs"), metavar="DIR", help="folder of the page (%(default)s)")
    options = parser.parse_args(argv)
    text = page(options.out, options.docs)
    write_text(options.docs / "gallery.md", text)
    print(f"{options.docs / 'gallery.md'}: {text.count('](figures/')} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
