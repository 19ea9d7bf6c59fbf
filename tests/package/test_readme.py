"""The examples in the README and the pages of docs run and print what they say, and their links lead somewhere."""

import contextlib
import io
import linecache
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from smmux.__main__ import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
GUIDES = [ROOT / "csrc" / "README.md", *sorted((ROOT / "experiments").rglob("*.md"))]
"""Pages beside the code."""
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


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_print_what_they_say(page, tmp_path, monkeypatch):
    """A text block is what some example of the page prints."""
    monkeypatch.chdir(tmp_path)
    printed = run_examples(page)[1]
    assert all(text in printed for text in blocks(page, "text"))


@pytest.mark.parametrize("page", [page for page in PAGES if "](" in page.read_text()], ids=name)
def test_links_lead_to_files(page):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "code", page.read_text(), flags=re.S | re.M)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *GUIDES], ids=name)
def test_files_and_modules_are_named_where_they_lie(page):
    """Those of the package, by their path or as `python -m`."""
    text = page.read_text()
    paths = re.findall(r"\b((?:smmux|experiments|csrc|tests|notebooks|docs)/[\w/.]*[\w/])", text)
    modules = [
        name.replace(".", "/") for name in re.findall(r"python -m ((?:smmux|experiments|tests)\.[\w.]*\w)", text)
    ]
    there = [(ROOT / path).exists() for path in paths]
    there += [(ROOT / path).is_dir() or (ROOT / f"{path}.py").exists() for path in modules]
    missing = {path for path, exists in zip((*paths, *modules), there, strict=True) if not exists}
    assert missing <= set(TO_BE_WRITTEN)


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
