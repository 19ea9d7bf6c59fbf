"""Make the pictures of the README and the tutorials, at twice the resolution, for light and dark pages.

The heat map and the time line are those of the README's own kernel, photographed by chromium. Figure 14 is that of the
last full run in `results/`, and stays as it is where there was none.
"""

from __future__ import annotations

import argparse
import io
import linecache
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from smmux import models
from smmux.base.whole_files import write_bytes
from smmux.drawing.markup import page

ROOT = Path(__file__).parents[1]
HERE = ROOT / "docs" / "pictures"
SCHEMES = ("dark", "light")
"""In the order of the browser's numbers."""
WIDTHS = {"heat-map": 1000, "time-line": 860, "banks": 860, "occupancy": 860}
HEIGHT, SCALE, MARGIN = 1400, 2, 8
"""Of photographs: CSS pixels, how many of its own each of them is, and those left above and below."""
COLOURS = 64
DARKEST = 18
"""What black becomes in the dark, of 255: nearly the ground of a dark page."""


def example() -> dict[str, Any]:
    """What the README's first example defines."""
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.S | re.M)[0]
    linecache.cache["<README>"] = (len(code), None, code.splitlines(keepends=True), "<README>")
    names: dict[str, Any] = {}
    exec(compile(code, "<README>", "exec"), names)
    return names


def packed(image: Image.Image) -> bytes:
    """A picture as a small PNG."""
    file = io.BytesIO()
    image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def darkened(image: Image.Image) -> Image.Image:
    """The picture for a dark page: its lightness turned over, its colours kept."""
    rgb = np.asarray(image.convert("RGB")).astype(int)
    turned = rgb + 255 - rgb.max(axis=2, keepdims=True) - rgb.min(axis=2, keepdims=True)
    return Image.fromarray((DARKEST + turned * (255 - DARKEST) // 255).astype(np.uint8))


def photographed(part: str, scheme: str, width: int) -> Image.Image:
    """A piece of HTML as a browser shows it in light or dark, cut to what is there."""
    with tempfile.TemporaryDirectory() as folder:
        file, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        file.write_text(page("picture", part), encoding="utf-8")
        command = [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--blink-settings=preferredColorScheme={SCHEMES.index(scheme)}", f"--window-size={width},{HEIGHT}",
            f"--force-device-scale-factor={SCALE}", f"--screenshot={shot}", file.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return trimmed(Image.open(shot).convert("RGB"))


def trimmed(image: Image.Image) -> Image.Image:
    """The picture without what is empty below and above; the width stays."""
    rows = np.flatnonzero((np.asarray(image) != np.asarray(image)[:1, :1]).any(axis=(1, 2)))
    first, last = (max(0, rows[0] - MARGIN), rows[-1] + 1 + MARGIN) if len(rows) else (0, image.height)
    return image.crop((0, int(first), image.width, int(last)))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pictures; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.pictures", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--out", type=Path, default=ROOT / "results", metavar="DIR", help="of runs (%(default)s)")
    options = parser.parse_args(argv)
    result = example()["result"]
    heat = re.sub(r"<details>.*?</details>|<svg.*?</svg>|<p>.*?</p>", "", result._repr_html_(), flags=re.S)
    banks = models.bank_passes([4 * 8 * lane for lane in range(32)], gpu="GTX285")
    limits = models.occupancy(threads=128, registers=16, shared_bytes=8192, gpu="GTX285")
    parts = {"heat-map": heat, "time-line": result.timeline().svg}
    parts |= {"banks": banks._repr_html_(), "occupancy": limits._repr_html_()}
    for name, part in parts.items():
        for scheme in SCHEMES:
            write_bytes(HERE / f"{name}-{scheme}.png", packed(photographed(part, scheme, WIDTHS[name])))
    figure = options.out / "fig14.png"
    if figure.exists():
        with Image.open(figure) as image:
            write_bytes(HERE / "figure-14-light.png", packed(image))
            write_bytes(HERE / "figure-14-dark.png", packed(darkened(image)))
    print(*sorted(path.name for path in HERE.glob("*.png")), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
