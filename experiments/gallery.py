"""Make the page with all figures from the files of the last runs, and small copies of the pictures for it."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from experiments.common.verdicts import claims
from smmux.base.whole_files import finish, write_bytes, write_text

__all__ = ["main", "page", "small"]

BYTES = 75_000
"""Most bytes of a picture on the page."""

HEAD = """# Gallery

Made by `python -m experiments.gallery` from the files of the last full runs; [figures](figures.md) says how each is
made, and [claims](claims.md) holds what the papers say against it, {claims} sentences with verdict and reason."""


def small(picture: Path, limit: int = BYTES) -> bytes:
    """A picture as PNG of at most `limit` bytes: as large as can be, with at most 32 colours."""
    with Image.open(picture) as full:
        image = full.convert("RGB")
    for width in (min(image.width, 1000), 900, 800, 700, 600, 500):
        for colours in (32, 16):
            scaled = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
            file = io.BytesIO()
            scaled.quantize(colours, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
            if file.tell() <= limit:
                return file.getvalue()
    raise ValueError(f"{picture} is larger than {limit} bytes at every width")


def page(results: Path, docs: Path) -> str:
    """Write `docs/figures/NAME.png` for every picture of a folder; the page that shows them, in Markdown."""
    (docs / "figures").mkdir(exist_ok=True)
    finish(results)
    parts = []
    for picture in sorted(results.glob("*.png")):
        caption = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))["caption"]
        write_bytes(docs / "figures" / picture.name, small(picture))
        numbered = re.match(r"(Figure|Table) \d+", caption)
        parts += [
            f"## {numbered[0] if numbered else picture.stem}",
            f"`python -m experiments.{picture.stem}`",
            f"![{caption}](figures/{picture.name})",
        ]
    return "\n\n".join([HEAD.format(claims=len(claims())), *parts]) + "\n"


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
