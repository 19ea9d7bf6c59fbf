"""The examples in the README and the pages of docs run and print what they say, and their links lead somewhere."""

import contextlib
import io
import linecache
import os
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from smmux import ConfigError
from smmux.__main__ import main
from smmux.compiler.sass.tools import find_tool

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CHANGELOG.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GUIDES = [ROOT / "csrc" / "README.md", *sorted((ROOT / "experiments").rglob("*.md"))]
"""Pages beside the code."""
SLOW = ("docs/multiplexing.md", "docs/sweeps.md")
"""Whose examples run advice and sweeps."""
TO_BE_WRITTEN = ("csrc/sm/scheduler/highest.c",)
"""Files that a page tells its reader to write."""


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


def run_examples(page):
    """Names that the examples define, and the lines that each example prints."""
    names, printed = {}, []
    for number, code in enumerate(blocks(page, "python")):
        filename = f"<{page.name} example {number}>"
        linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code, filename, "exec"), names)
        printed.append(output.getvalue())
    return names, printed


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=name(p), marks=[pytest.mark.long] if name(p) in SLOW else []) for p in PAGES]
)
def test_examples_print_what_they_say(page, tmp_path, monkeypatch):
    """A text block is what some example of the page prints."""
    monkeypatch.chdir(tmp_path)
    printed = run_examples(page)[1]
    assert all(text in printed for text in blocks(page, "text"))


@pytest.mark.parametrize("page", [page for page in PAGES if "](" in page.read_text()], ids=name)
def test_links_lead_to_files(page):
    text = as_paths(page.read_text(), page.parent)
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "code", text, flags=re.S | re.M)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


def as_paths(text, folder):
    """A page's text, addresses in the repository being paths from its folder."""
    up = f"{os.path.relpath(ROOT, folder)}/"
    return re.sub(r"https://(?:github\.com/smmux/smmux/blob|raw\.githubusercontent\.com/smmux/smmux)/main/", up, text)


@pytest.mark.parametrize(
    "page", [page for page in (*PAGES, *GUIDES) if re.search(r"!\[|<img", page.read_text())], ids=name
)
def test_pictures_are_there_and_say_what_they_show(page):
    """In words as long as a sentence; the README's in light and dark, by addresses that hold wherever it is read."""
    text = page.read_text()
    shown = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    shown += [
        (re.search(r'alt="([^"]*)"', tag)[1], re.search(r'src="([^"]*)"', tag)[1])
        for tag in re.findall(r"<img [^>]*>", text)
    ]
    shown += [("a picture for the dark", path) for path in re.findall(r'srcset="([^"]*)"', text)]
    for words, path in shown:
        assert len(words.split()) >= 3, path
        assert page != README or path.startswith("https://raw.githubusercontent.com/")
        assert (page.parent / as_paths(path, page.parent)).is_file(), path


def test_the_readme_has_whole_addresses_and_numbers_that_hold():
    text = README.read_text()
    assert not re.search(r"\]\((?!https://)", text)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", text)) == {urls["Repository"]}
    off = dict(re.findall(r"^\| ([\w-]+) \| \d+ \(\d+\) \| ([\d.]+)", (DOCS / "validation.md").read_text(), re.M))
    said = dict(re.findall(r"([\d.]+) \((\w+)\)", text.partition("How right")[2].partition("How fast")[0]))
    machines = {name.partition("-")[0]: float(factor) for name, factor in off.items()}
    assert {name: float(number) for number, name in said.items()} == pytest.approx(machines, abs=0.0051)


def test_pictures_of_the_readme_are_small_and_of_twice_the_resolution():
    pictures = sorted((DOCS / "pictures").glob("*.png"))
    texts = "".join(page.read_text() for page in PAGES)
    assert {path.name for path in pictures} == set(re.findall(r"pictures/([\w-]+\.png)", texts))
    assert sum(path.stat().st_size for path in pictures) < 1_000_000
    widths = dict(re.findall(r'pictures/([\w-]+)-light\.png" alt="[^"]*" width="(\d+)"', texts))
    for path in pictures:
        with Image.open(path) as image:
            assert image.width >= 2 * int(widths[path.stem.rpartition("-")[0]])


def test_the_readmes_first_example_gives_its_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, _ = run_examples(README)
    assert (names["out"] == names["a"].T).all()
    page = (tmp_path / "transpose.html").read_text()
    assert "out[column + y, row + x] = tile[x, y]" in page
    assert "open in Perfetto" in page
    assert names["result"]["shared_conflicts"] > 0


def test_the_readmes_cuda_kernel_runs(monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # a sanitizer would end the compiler
    try:
        for tool in ("nvcc", "ptxas", "nvdisasm"):
            find_tool(tool)
    except ConfigError as error:
        pytest.skip(str(error))
    names = {"np": np}
    for code in blocks(README, "py"):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, names)
        assert "FFMA" in output.getvalue()
    assert (names["y"] == 3).all()


@pytest.mark.parametrize("page", [*PAGES, *GUIDES], ids=name)
def test_files_and_modules_are_named_where_they_lie(page):
    """Those of the package, by their path or as `python -m`."""
    text = re.sub(
        r"https://(?:github\.com/smmux/smmux|mybinder\.org)/\S*|\S*docs/pictures/\S*",
        "",
        as_paths(page.read_text(), page.parent),
    )
    paths = re.findall(r"\b((?:smmux|experiments|csrc|tests|notebooks|docs)/[\w/.]*[\w/])", text)
    modules = [
        name.replace(".", "/") for name in re.findall(r"python -m ((?:smmux|experiments|tests)\.[\w.]*\w)", text)
    ]
    there = [(ROOT / path).exists() for path in paths]
    there += [(ROOT / path).is_dir() or (ROOT / f"{path}.py").exists() for path in modules]
    missing = {path for path, exists in zip((*paths, *modules), there, strict=True) if not exists}
    assert missing <= set(TO_BE_WRITTEN)


@pytest.mark.long
def test_dynamic_example_computes_the_same():
    names, _ = run_examples(DOCS / "multiplexing.md")
    outputs = []
    for kernel, options in (("reverse", {}), ("reverse_dynamic", {"management": "dynamic", "extra_blocks": 2})):
        a = np.arange(1024, dtype=np.float32)
        names[kernel].simulate(8, 128, (a,), gpu="GTX285", **options)
        outputs.append(a)
    assert (outputs[0] == outputs[1]).all()


def test_commands_make_their_own_environment():
    commands = "".join(blocks(README, "sh")).splitlines()
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install -e ") for command in commands)


def test_shell_commands_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in "".join(blocks(DOCS / "shell.md", "bash")).splitlines():
        words = shlex.split(command, comments=True)
        assert words[:3] == ["python", "-m", "smmux"]
        assert main(words[3:]) == 0, command
    assert "def blur" in (tmp_path / "faster.py").read_text()
    assert "faster.py" not in capsys.readouterr().err
