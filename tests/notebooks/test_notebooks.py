"""Every notebook runs from top to bottom, and is stored without outputs."""

from __future__ import annotations

import json
import linecache
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.sass.conftest import needed

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return cells


def code_of(path: Path) -> list[str]:
    """The text of a notebook's cells of code."""
    return ["".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code"]


def run_cell(text: str, filename: str, names: dict[str, Any]) -> None:
    """Run a cell in this process, where kernels find its text."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_stored_outputs(path: Path) -> None:
    cells = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_badge_starts_it_in_a_browser(path: Path) -> None:
    """Binder installs the checkout as its own files say; the extra that they name is one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    place = project["urls"]["Repository"].partition("github.com/")[2]
    badge = f"(https://mybinder.org/v2/gh/{place}/main?labpath=notebooks%2F{path.name})"
    assert badge in "".join(cells_of(path)[0]["source"])
    assert "\n.[notebook]\n" in (ROOT / ".binder" / "requirements.txt").read_text()
    assert "notebook" in project["optional-dependencies"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of the messaging libraries
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    if any("smmux.load(" in text for text in code_of(path)):
        needed("nvdisasm")
    nbformat = pytest.importorskip("nbformat")  # which takes seconds to load
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


def test_the_first_notebook_says_what_padding_gains() -> None:
    """What its text claims is what its runs show: a gain, a loss where partitions are camped on, and the way out."""
    path = ROOT / "notebooks" / "01_first_kernel.ipynb"
    names: dict[str, Any] = {}
    for number, text in enumerate(code_of(path)):
        run_cell(text, f"<cell {number}>", names)
    assert names["padded"].speedup(names["result"]) > 1.2
    camped, plain = names["padded_512"], names["plain_512"]
    assert 0.9 < camped.speedup(plain) < 1
    assert camped.stalls["credits"] > plain.stalls["credits"] > names["result"].stalls["credits"]
    assert names["diagonal"].speedup(camped) > 1.5
    assert names["diagonal"]["shared_conflicts"] == camped["shared_conflicts"] == 0


def test_heat_map_shows_the_lines() -> None:
    """The first notebook's first run shows its source with counters per line."""
    path = ROOT / "notebooks" / "01_first_kernel.ipynb"
    names: dict[str, Any] = {}
    for i, text in enumerate(code_of(path)[:2]):
        run_cell(text, f"<cell {i}>", names)
    shown = names["result"]._repr_html_()
    assert "tile[x, y + k]" in shown
    assert "conflicts" in shown
