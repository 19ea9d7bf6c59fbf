"""Shared settings of the tests."""

import functools
import gc
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from smmux.sweep import modules
from tests.selection import beyond, mark_long

# Runs in CI are the same every time; by hand, hypothesis looks for new examples.
# A busy computer, or a sanitized core, makes no example too slow.
PATIENT = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("ci", derandomize=True, print_blob=True, **PATIENT)
hypothesis.settings.register_profile("dev", **PATIENT)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")

os.environ.setdefault("MPLBACKEND", "Agg")

CHECKOUT = (Path(__file__).parents[1] / "csrc").is_dir()
PRELOAD = [f"preload/test_{name}.py" for name in ("classes", "simulated", "tile")]  # programs of the experiments
PACKAGE = [f"package/test_{name}.py" for name in ("readme", "site", "source_rules")]
VECTORS = (
    "barriers",
    "contended",
    "float_vectors",
    "integer_modes",
    "integer_vectors",
    "l1_phases",
    "l1_sets",
    "l2_rounds",
    "lane_times",
    "local_words",
    "matrices",
    "operand_lines",
    "queued_reads",
    "refresh",
    "row_walks",
    "store_bursts",
    "store_stay",
    "supply",
    "uniform_twins",
    "warp_turns",
    "warp_vectors",
    "written_parts",
)
SASS = [f"sass/test_{name}.py" for name in VECTORS]  # against what a card made, which the experiments recorded
collect_ignore = [] if CHECKOUT else ["experiments", "notebooks", *PRELOAD, *PACKAGE, *SASS]


def pytest_addoption(parser: pytest.Parser) -> None:
    """What takes long under a sanitizer is asked for in part."""
    parser.addoption("--cases", type=int, metavar="N", help="of each test, so many of its parameters at most")


MEMORY = Path("/dev/shm")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what compilers make for as long as the tests run, for all processes that run them together; in memory where
    there is room, since each file waits for the disk. Nearly all that is collected now stays, so that looking for
    garbage would take a sixth of that time."""
    gc.set_threshold(100_000, 20, 20)
    if "SMMUX_CACHE" not in os.environ:
        roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 1 << 30
        os.environ["SMMUX_CACHE"] = folder = tempfile.mkdtemp(prefix="smmux-tests-", dir=MEMORY if roomy else None)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish() -> None:
    """Spare the collector of garbage all that stays: thousands of tests, which it would look at over and over."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_sessionfinish() -> None:
    """pytest looks for what nobody closed five times over: once is enough for all that the tests have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def few_modules(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let caches take the modules of other tests for installed ones. To look at what all of them have takes seconds,
    each time; tests/package/test_looks.py does."""
    is_own, here = modules._is_own, Path(__file__).parent

    @functools.cache
    def near(name: str, file: str | None) -> bool:
        path = Path(file or "")
        other = path.name.startswith("test_") and here in path.parents and file != request.module.__file__
        return not other and is_own(name, file)

    monkeypatch.setattr(modules, "_is_own", near)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Before `-m` looks at the marks, mark as `long` what `quick` does without. Of what `-m` leaves, leave out tests of
    the checkout's own files beside an installed package without its checkout, and what --cases leaves out."""
    mark_long(items)
    yield
    away = {item for item in items if not CHECKOUT and item.get_closest_marker("checkout")}
    if most := config.getoption("cases"):
        away.update(beyond(items, most))
    if away:
        config.hook.pytest_deselected(items=list(away))
        items[:] = [item for item in items if item not in away]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Helpers of the tests hold no doctests, and some only run as scripts."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper else None
