"""Shared settings of the tests."""

import os
from pathlib import Path

import hypothesis

# Runs in CI are the same every time; by hand, hypothesis looks for new examples.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")

os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Helpers of the tests hold no doctests, and some only run as scripts."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper else None
