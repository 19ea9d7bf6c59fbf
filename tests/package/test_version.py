"""The version: the tag of the commit, wherever the files come from that are built."""

import datetime
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

import smmux

ROOT = Path(__file__).parents[2]
IDENTITY = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")


def run(place: Path, *command: str) -> str:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM"))}
    return subprocess.run(command, cwd=place, env=others, capture_output=True, text=True, check=True).stdout.strip()


def test_an_installed_package_has_the_version_that_it_says():
    assert str(Version(smmux.__version__)) == smmux.__version__
    for found in importlib.metadata.distributions(name="smmux"):
        if found.read_text("RECORD") and found.locate_file("smmux/__init__.py") == Path(smmux.__file__):  # no checkout
            assert found.version == smmux.__version__


def test_the_version_is_read_when_it_is_asked_for():
    program = "import sys, smmux; print(*vars(smmux), *sys.modules); print(smmux.__version__)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    there, version = done.stdout.splitlines()
    assert version == smmux.__version__
    assert not {"__version__", "importlib.metadata"} & set(there.split())


@pytest.mark.checkout
def test_citation_changes_and_tag_agree():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## \[([^\]]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited[1] == newest[1]
    dated = re.search(r"^date-released: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert datetime.date.fromisoformat(dated[1]) == datetime.date.fromisoformat(newest[2])
    if (ROOT / ".git").exists() and shutil.which("git"):
        assert set(run(ROOT, "git", "tag", "--points-at", "HEAD", "--list", "v*").split()) <= {f"v{newest[1]}"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of one commit with the files of this one that say what its version is."""
    if not (shutil.which("git") and importlib.util.find_spec("setuptools_scm")):
        pytest.skip("no git, or no setuptools-scm")
    place = tmp_path / "checkout"
    (place / "smmux").mkdir(parents=True)
    for name in ("pyproject.toml", ".gitattributes", ".git_archival.txt", ".gitignore"):
        shutil.copy(ROOT / name, place)
    run(place, "git", "init", "--quiet")
    run(place, "git", "add", ".")
    run(place, "git", *IDENTITY, "commit", "--quiet", "--message", "first")
    return place


def version_in(place: Path) -> str:
    """What a build there would write."""
    return run(place, sys.executable, "-W", "ignore", "-m", "setuptools_scm")


@pytest.mark.checkout
def test_the_version_is_the_tag_or_comes_after_it(checkout: Path):
    commit = run(checkout, "git", "rev-parse", "HEAD")
    untagged = version_in(checkout)
    assert re.fullmatch(r"0\.1\.dev1\+g([0-9a-f]{7,})", untagged)
    assert commit.startswith(untagged.partition("+g")[2])
    run(checkout, "git", "tag", "v0.1.0")
    assert version_in(checkout) == "0.1.0"
    (checkout / "smmux" / "version.txt").write_text("0.1.0")  # what builds leave there
    assert version_in(checkout) == "0.1.0"
    run(checkout, "git", *IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "second")
    after = version_in(checkout)
    assert re.fullmatch(r"0\.1\.1\.dev1\+g[0-9a-f]{7,}", after)
    assert Version(untagged) < Version("0.1.0") < Version(after) < Version("0.1.1")


@pytest.mark.checkout
def test_files_without_git_have_a_version_too(checkout: Path, tmp_path: Path):
    run(tmp_path, "git", "clone", "--quiet", "--depth", "1", checkout.as_uri(), "shallow")
    assert version_in(tmp_path / "shallow").startswith("0.1.dev1+g")
    run(checkout, "git", "tag", "v0.2.0")
    within = checkout / "build" / "site"  # as `.ci/site` has it
    within.mkdir(parents=True)
    run(checkout, "git", "archive", "--output", str(tmp_path / "archive.tar"), "v0.2.0")
    run(within, "tar", "-xf", str(tmp_path / "archive.tar"))
    assert version_in(within) == "0.2.0"
    shutil.rmtree(checkout / ".git")
    assert version_in(checkout) == "0.0"
    (checkout / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: smmux\nVersion: 0.3.0\n")  # a source distribution
    assert version_in(checkout) == "0.3.0"


@pytest.mark.checkout
def test_version_stands_in_no_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    written = project["tool"]["setuptools_scm"]["version_file"]
    assert f"/{written}" in (ROOT / ".gitignore").read_text().splitlines()
    assert Path(written).name in project["tool"]["setuptools"]["package-data"]["smmux"]
