"""Shared settings of the tests."""

import os

import hypothesis

# Runs in CI are the same every time; by hand, hypothesis looks for new examples.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")

os.environ.setdefault("MPLBACKEND", "Agg")
