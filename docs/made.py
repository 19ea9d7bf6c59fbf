"""What pages of the site do not say themselves: tables of the machine, files outside `docs`, notebooks.

In a page, `<!-- made: machines -->` stands for what `machines()` below returns, and `<!-- made: file PATH -->` for a
file of the checkout. Links that leave `docs` lead to the page that has the file; what is no page is only named. The
README, which is read in other places too, has whole addresses in the repository: these become relative here. A
`<picture>` becomes two, of which the theme shows the one for light or dark.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import os
import re
import shutil
import tomllib
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

import smmux
from smmux import gpus, policies
from smmux.running.launch_options import OPTIONS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = {
    "CHANGELOG.md": "changes.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "csrc/README.md": "core.md",
    "experiments/README.md": "experiments.md",
    "experiments/DEVIATIONS.md": "deviations.md",
    "smmux/COUNTERS.md": "reference/counters.md",
}
"""Pages of the site whose text lies elsewhere, by the place of the text."""

URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
_HOME = re.compile(
    rf"{re.escape(URLS['Repository'])}/(?:blob|tree)/main/|"
    rf"{re.escape(URLS['Repository'].replace('github.com', 'raw.githubusercontent.com'))}/main/"
)
"""The address of the repository's files, as pages and as they are."""
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img src="([^"]+)" alt="([^"]+)" width="(\d+)">\s*</picture>'
)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")
_IMAGE = re.compile(r'(<img [^>]*?src="|^```\{image\} )([^":\n]+)("|$)', re.M)
_MADE = re.compile(r"^<!-- made: (\w+) ?(\S*) -->$", re.M)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", lambda *_: copy_notebooks())
    app.connect("source-read", _complete)
    app.connect("env-check-consistency", _tell_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy_notebooks() -> None:
    """Put the notebooks where Sphinx finds pages; those that have not changed stay as they are."""
    (DOCS / "notebooks").mkdir(exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        copy = DOCS / "notebooks" / path.name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copy(path, copy)


def digest(package: Path) -> str:
    """A name for what a package is: outputs of notebooks are kept for as long as nothing in it changes."""
    files = sorted(path for path in package.rglob("*") if path.suffix in (".py", ".js", ".so", ".cuh"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _complete(app: Sphinx, page: str, source: list[str]) -> None:
    """The text of a page with what is made, and with links that lead to pages."""
    place = Path(app.env.doc2path(page, base=False))
    text = linked(local(source[0], DOCS / place.parent), DOCS / place.parent, place.parent)

    def made(match: re.Match[str]) -> str:
        name, path = match.groups()
        if name != "file":
            return MAKERS[name](*path.split())
        folder = (ROOT / path).parent
        return linked(local((ROOT / path).read_text(encoding="utf-8"), folder), folder, place.parent)

    source[0] = _MADE.sub(made, text)


def local(text: str, folder: Path) -> str:
    """Text whose addresses in the repository are paths from a folder of it, its pictures those for light and dark."""

    def picture(match: re.Match[str]) -> str:
        dark, light, alt, width = match.groups()
        return "\n\n".join(
            f"```{{image}} {path}\n:alt: {alt}\n:width: {width}px\n:class: only-{scheme}\n```"
            for path, scheme in ((light, "light"), (dark, "dark"))
        )

    up = os.path.relpath(ROOT, folder)
    return _PICTURE.sub(picture, _HOME.sub("" if up == "." else f"{Path(up).as_posix()}/", text))


def linked(text: str, folder: Path, of_page: Path) -> str:
    """Text whose links are relative to `folder`, for a page in the folder `of_page` of the site."""

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match.groups()
        path = (folder / target).resolve()
        if not path.exists():  # no link: code, or Sphinx will tell
            return match[0]
        place = path.relative_to(ROOT).as_posix()
        if place in PAGES:
            there = DOCS / PAGES[place]
        elif path.is_relative_to(DOCS):
            there = path
        elif path.suffix == ".ipynb":
            there = DOCS / "notebooks" / path.name
        else:
            return words if "`" in words else f"{words} (`{place}`)"
        return f"[{words}]({Path(os.path.relpath(there, DOCS / of_page)).as_posix()}{anchor or ''})"

    def image(match: re.Match[str]) -> str:
        return f"{match[1]}{Path(os.path.relpath((folder / match[2]).resolve(), DOCS / of_page)).as_posix()}{match[3]}"

    return _LINK.sub(link, _IMAGE.sub(image, text))


def public_names() -> dict[str, list[str]]:
    """Names of `smmux.__all__`, of the public modules and of what they lead to, by module."""
    submodules = [name for name in smmux.__all__ if isinstance(getattr(smmux, name), types.ModuleType)]
    modules = ["smmux", *(f"smmux.{name}" for name in [*submodules, "kernel", "policies", "trace"])]
    return {
        name: [each for each in importlib.import_module(name).__all__ if each not in submodules] for name in modules
    }


def _tell_missing(_app: Sphinx, env: Any) -> None:
    """Warn of public names that are on no page."""
    known = env.get_domain("py").objects
    for module, names in public_names().items():
        for name in names:
            if f"{module}.{name}" not in known:
                logging.getLogger(__name__).warning("%s.%s is on no page", module, name)


def api(module: str) -> str:
    """All public names of a module: functions and classes by their docstrings, then values."""
    own = importlib.import_module(module)
    described = ModuleAnalyzer.for_module(module).find_attr_docs()
    members, values = [], []
    for name in public_names()[module]:
        value = getattr(own, name)
        if home := _home(module, name, value):
            values.append(f".. py:data:: {name}\n\n   Another name of :py:obj:`{home}`.\n")
        elif _described(value) or ("", name) in described:
            members.append(name)
        else:
            values.append(f".. py:data:: {name}\n\n   {_words(value)}\n")
    parts = [f".. automodule:: {module}", f"   :members: {', '.join(members)}", "", *values]
    return "\n".join(["```{eval-rst}", *parts, "```"])


def _described(value: Any) -> bool:
    """Whether a docstring of its own says what it is: that of a function or class."""
    return inspect.isroutine(value) or isinstance(value, type | functools._lru_cache_wrapper)


def _home(module: str, name: str, value: Any) -> str | None:
    """The full name under which the page of a submodule has a function or class of smmux."""
    homes = [other for other, names in public_names().items() if other != "smmux" and name in names]
    return f"{homes[0]}.{name}" if module == "smmux" and homes and _described(value) else None


def _words(value: Any) -> str:
    """What a page says of a value: the value if it is short, and what its class says of itself."""
    kind = type(value)
    text = repr(value)
    shown = f"``{text}``" if len(text) < 80 and " at 0x" not in text else f"A ``{kind.__name__}``"
    own = "" if kind.__module__ in ("builtins", "types") else (kind.__doc__ or "").partition("\n")[0]
    return f"{shown}: {own}" if own else f"{shown}."


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    cells = [list(head), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def machines() -> str:
    """Every parameter of every machine with its source."""
    parts = []
    for name in (*gpus.names(), *gpus.compiled_names()):
        gpu = gpus.get(name)
        sources = gpu.sources
        rows = (
            (f"`{p.name}`", getattr(gpu, p.name), p.unit, sources[p.name], p.doc.replace("*", "\\*"))
            for p in gpus.PARAMETERS.values()
        )
        parts += [f"## {name}", f"{gpu.description}."]
        parts.append(_table(("parameter", "value", "unit", "source", "meaning"), rows))
    return "\n\n".join(parts)


def sources() -> str:
    """What the keys of the sources stand for."""
    return _table(("key", "source"), ((f"`{key}`", title) for key, title in gpus.TITLES.items()))


def all_policies() -> str:
    """Every policy, by kind."""
    parts = []
    for kind in policies.KINDS.values():
        parts += [f"## {kind.name}", f"{kind.doc[0].upper()}{kind.doc[1:]} ({kind.chosen})."]
        parts.append(_table(("name", "rule"), ((f"`{each.name}`", each.doc) for each in policies.of(kind.name))))
    return "\n\n".join(parts)


def options() -> str:
    """Every option of a run."""
    rows = ((f"`{name}`", f"`{option.default!r}`", option.meaning) for name, option in OPTIONS.items())
    return _table(("option", "default", "meaning"), rows)


MAKERS: dict[str, Callable[..., str]] = {
    "machines": machines,
    "sources": sources,
    "policies": all_policies,
    "options": options,
    "api": api,
}
