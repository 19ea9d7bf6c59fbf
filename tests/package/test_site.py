"""Every public name has a page, every page is in a table of contents, and links survive the way into the site."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageColor

import smmux
from experiments import gallery, report
from experiments.common import timelines
from experiments.common.verdicts import claims
from smmux.drawing.svg import COLOURS
from tests.dead_links import dead
from tests.site_in_browser import BROWSER, wrong

pytest.importorskip("sphinx")

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import made  # noqa: E402  # type: ignore[import-not-found]

sys.path.remove(str(DOCS))


def test_every_public_module_has_a_page_with_all_its_names() -> None:
    modules = {f"smmux.{name}" for name in smmux.__all__ if isinstance(getattr(smmux, name), types.ModuleType)}
    pages = "".join(path.read_text() for path in (DOCS / "reference/api").glob("*.md"))
    assert (
        set(re.findall(r"^<!-- made: api (\S+) -->$", pages, re.M)) == set(made.public_names()) >= {"smmux", *modules}
    )
    for module, names in made.public_names().items():
        text = made.api(module)
        members = re.search(r":members: (.*)", text)
        shown = {*(members[1].split(", ") if members else ()), *re.findall(r"^\.\. py:data:: (\S+)$", text, re.M)}
        assert shown == set(names), module


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {"index"}
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.S | re.M):
            words = [line for line in tree.split("\n") if line and not line.startswith(":")]
            listed |= {(page.parent / word).relative_to(DOCS).as_posix() for word in words}
    assert {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} <= listed


def test_every_page_of_reference_is_linked_where_one_needs_it() -> None:
    """By a guide, a tutorial or the README: not from the table of contents alone."""
    pages = [made.ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if "reference" not in page.parts)]
    linked = {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+\.md)", made.local(page.read_text(), page.parent))
    }
    assert {page.resolve() for page in (DOCS / "reference").rglob("*.md")} <= linked


@pytest.mark.parametrize(
    "link, becomes",
    [
        ("[a](../experiments/DEVIATIONS.md#x)", "[a](../deviations.md#x)"),
        ("[a](../docs/figures.md)", "[a](../figures.md)"),
        ("[a](../notebooks/01_first_kernel.ipynb)", "[a](../notebooks/01_first_kernel.ipynb)"),
        ("[the table](../csrc/tables/policies.def)", "the table (`csrc/tables/policies.def`)"),
        ("[`policies.def`](../csrc/tables/policies.def)", "`policies.def`"),
        ("tile[i](a)", "tile[i](a)"),
        ('<img src="figures/fig14.png" width="9">', '<img src="../figures/fig14.png" width="9">'),
    ],
)
def test_links_lead_to_pages(link: str, becomes: str) -> None:
    assert made.linked(link, DOCS, Path("reference")) == becomes


def test_addresses_of_the_repository_are_pages_here() -> None:
    home = made.URLS["Repository"]
    assert made.local(f"[a]({home}/blob/main/docs/figures.md)", made.ROOT) == "[a](docs/figures.md)"
    raw = home.replace("github.com", "raw.githubusercontent.com")
    text = (
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="{raw}/main/docs/pictures/a-dark.png">\n'
        f'  <img src="{raw}/main/docs/pictures/a-light.png" alt="a map" width="720">\n</picture>'
    )
    here = made.linked(made.local(text, made.ROOT), made.ROOT, Path("."))
    assert "```{image} pictures/a-light.png\n:alt: a map\n:width: 720px\n:class: only-light\n```" in here
    assert "```{image} pictures/a-dark.png\n:alt: a map\n:width: 720px\n:class: only-dark\n```" in here


def test_every_parameter_and_policy_is_in_the_tables() -> None:
    machines, count = made.machines(), len((*smmux.gpus.names(), *smmux.gpus.compiled_names()))
    for name in (*smmux.gpus.names(), *smmux.gpus.compiled_names()):
        assert f"\n## {name}\n" in f"\n{machines}\n"
    assert all(machines.count(f"| `{name}` |") == count for name in smmux.gpus.PARAMETERS)
    assert all(f"| `{key}` |" in made.sources() for key in smmux.gpus.TITLES)


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">1</a><a href="b.html#y">2</a><img src="c.png"><a href="#z">')
    (tmp_path / "b.html").write_text('<p id="x"><a href="https://example.org/none">')
    assert list(dead(tmp_path)) == ["a.html: #z", "a.html: b.html#y", "a.html: c.png"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(BROWSER), reason="needs a browser")
def test_a_browser_finds_what_is_wrong_with_a_page(tmp_path: Path) -> None:
    long = "x" * 90
    (tmp_path / "good.html").write_text("<!DOCTYPE html><p>Words that <b>break</b>.")
    (tmp_path / "bad.html").write_text(
        f"<!DOCTYPE html><p>{long}<img src='none.png'><script>none()</script>"
        f"<div class=cell style='width: 90px; overflow: auto'><pre>{long}</pre></div>"
    )
    found = sorted(wrong(tmp_path))
    assert all(each.startswith("/bad.html at ") for each in found)
    told = [re.sub(r"http://[\d.:]+|\d{3,4} ", "", each.partition(": ")[2]).rstrip("x") for each in found]
    both = ["Uncaught ReferenceError: none is not defined", "no /none.png"]
    assert sorted(told) == sorted([*both, *both, "pixels wide", "of 90 pixels: "])


def test_the_gallery_is_made_from_the_files_of_runs(tmp_path: Path) -> None:
    tiles = np.random.default_rng(1).integers(0, 2, (40, 50, 3), np.uint8) * 255  # eight colours
    for name, caption in (("fig14", "Figure 14. Speedup."), ("vtb_n", "VTB of 2.")):
        Image.fromarray(tiles.repeat(10, 0).repeat(10, 1)).save(tmp_path / f"{name}.png")
        (tmp_path / f"{name}.json").write_text(json.dumps({"caption": caption}))
    (tmp_path / "docs").mkdir()
    assert gallery.main(["--out", str(tmp_path), "--docs", str(tmp_path / "docs")]) == 0
    text = (tmp_path / "docs/gallery.md").read_text()
    assert f"{len(claims())} sentences" in text
    titles = [gallery.title_of(name) for name in ("fig14", "vtb_n")]
    assert titles[0].startswith("Figure 14: speedup of dynamic")
    assert titles[1] == "How many thread blocks VTB should combine"
    places = [f"## {titles[0]}\n", "![Figure 14. Speedup.](figures/fig14.png)", f"## {titles[1]}\n"]
    assert sorted(places, key=text.index) == places
    shown = f'<img src="figures/vtb_n.png" alt="small picture: {titles[1]}" width="150">'
    assert f"[{shown}<br>{titles[1]}](#how-many-thread-blocks-vtb-should-combine)" in text
    with Image.open(tmp_path / "docs/figures/fig14.png") as shown, Image.open(tmp_path / "fig14.png") as full:
        assert shown.size == (500, 400)
        assert np.abs(np.asarray(shown.convert("RGB"), int) - np.asarray(full, int)).max() <= 4
    with pytest.raises(ValueError, match="larger than 10 bytes"):
        gallery.small(tmp_path / "fig14.png", limit=10)


def test_thin_lines_of_the_gallery_keep_their_colours(tmp_path: Path) -> None:
    colours = np.array([ImageColor.getrgb(colour) for colour in COLOURS])
    shades = np.linspace((230, 159, 0), (255, 255, 255), 400, axis=0)
    picture = np.tile(shades.astype(np.uint8)[:, None], (1, 500, 1))
    picture[20 * np.arange(8)[:, None] + np.arange(3)] = colours[:, None, None]
    Image.fromarray(picture).save(tmp_path / "lines.png")
    with Image.open(io.BytesIO(gallery.small(tmp_path / "lines.png"))) as shown:
        kept = np.asarray(shown.convert("RGB"), int)[20 * np.arange(8) + 1, 250]
    assert np.abs(kept - colours).max() <= 10


def test_pictures_of_the_gallery_are_small() -> None:
    pictures = set(re.findall(r"\]\(figures/(\S+)\)", (DOCS / "gallery.md").read_text()))
    assert pictures == {path.name for path in (DOCS / "figures").iterdir()}
    for name in pictures:
        size = (DOCS / "figures" / name).stat().st_size
        assert size <= (gallery.BYTES if name.endswith(".png") else 200_000), name


@pytest.mark.parametrize("name", gallery.TIME_LINES)
def test_time_lines_of_the_gallery_are_sharp_and_have_words(name: str) -> None:
    picture = ElementTree.parse(DOCS / "figures" / gallery.file_of(name)).getroot()
    words = " ".join(text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    caption = re.search(rf"!\[([^\]]*)\]\(figures/{name}\.svg\)", (DOCS / "gallery.md").read_text())
    assert caption is not None
    assert caption[1] in words.replace("\N{NO-BREAK SPACE}", " ")  # which stands below the picture
    assert not list(picture.iter("{http://www.w3.org/2000/svg}image"))


def test_a_time_line_is_drawn_again_from_the_file_of_its_run() -> None:
    line = {"warps": [[0, 0, 0, 90]], "waits": [], "allocations": [], "blocks": [[0, 7, 0, 90, 0, 64]]}
    series = dict.fromkeys(timelines.SERIES, [0.5] * timelines.BINS)
    row = {
        "variant": "hw",
        "time_us": 1.0,
        "cycles": 100,
        "smem_bytes": 256,
        "timeline": json.dumps(line | {"series": series}),
    }
    content = {"caption": "One block.", "rows": [row]}
    first, second = (gallery.sharp("fig09", content) for _ in range(2))
    assert first == second
    assert b">One block.</text>" in first
    assert b">7</text>" in first
    assert not re.search(rb"\d\.\d{3}|<metadata", first)


def test_the_gallery_is_in_order_with_titles_in_words() -> None:
    text = (DOCS / "gallery.md").read_text()
    names = re.findall(r"\]\(figures/(\S+)\.(?:png|svg)\)", text)
    assert names == gallery.in_order(names)
    assert re.findall(r"^## (.*)$", text, re.M) == [gallery.title_of(name) for name in names]
    assert [thumb for thumb in map(gallery.thumbnail, names) if thumb not in text] == []


def test_the_report_is_one_page_with_provenance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {"name": "GTX285", "sources": {"lat_alu": "x"}}
    host = {"platform": "Linux"}
    code = {"version": "0.1.0", "commit": "v0.1.0-dirty"}
    made = {**code, "seconds": 1.5, "machines": [machine], "sizes": {"n": 7}, "host": host, "quick": True}
    verdict = {"id": "P5", "ours": [1], "reproduced": True, "note": "counted"}
    content = {"caption": "Figure 14 & <more>.", "rows": [{}, {}], "claims": [verdict], "provenance": made}
    (tmp_path / "fig14.json").write_text(json.dumps(content))
    Image.new("RGB", (8, 8)).save(tmp_path / "fig14.png")
    assert report.main(["--out", str(tmp_path), "--claims", str(DOCS / "claims.json")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "Figure 14 &amp; &lt;more&gt;." in page
    assert "data:image/png;base64," in page
    assert "python -m experiments.fig14 --quick" in page
    assert "0.1.0, commit v0.1.0-dirty" in page
    assert not re.search(r"(?:src|href)=['\"](?!data:|#)", page)
    assert all(f"<td>{id}</td>" in page for id in claims())
    assert report.main(["--out", str(tmp_path / "none")]) == 2
    monkeypatch.setattr(report, "BROWSER", "")
    assert report.main(["--out", str(tmp_path), "--pdf"]) == 2
    assert "needs chromium" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not report.BROWSER, reason="needs a browser")
def test_a_browser_prints_the_report(tmp_path: Path) -> None:
    assert report.main(["--out", str(tmp_path), "--claims", str(DOCS / "claims.json"), "--pdf"]) == 0
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_pages_count_the_claims_alike() -> None:
    for page, words in (("gallery", "sentences with"), ("claims", "claims: ")):
        assert f"{len(claims())} {words}" in (DOCS / f"{page}.md").read_text()
