"""Which parameters of a test are quick: see tests/selection.py."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.selection import cover, spread


@given(st.integers(1, 60), st.integers(1, 60))
def test_places_are_spread_evenly(count: int, most: int) -> None:
    kept = sorted(spread(count, most))
    assert len(kept) == min(count, most)
    assert kept[0] == 0
    if len(kept) > 1:
        steps = {b - a for a, b in zip(kept, kept[1:], strict=False)}
        assert kept[-1] == count - 1
        assert max(steps) - min(steps) <= 1


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_each_value_is_there_and_about_as_often_as_others(lengths: list[int]) -> None:
    combinations = list(product(*map(range, lengths)))
    kept = [combinations[place] for place in cover(combinations)]
    assert len(kept) == max(lengths)
    for axis, length in enumerate(lengths):
        often = Counter(values[axis] for values in kept)
        assert len(often) == length
        assert max(often.values()) - min(often.values()) <= 1


@given(st.sets(st.tuples(*[st.integers(0, 4)] * 3)))
def test_each_value_is_there_where_combinations_are_missing(found: set[tuple[int, int, int]]) -> None:
    combinations = sorted(found)
    kept = [combinations[place] for place in cover(combinations)]
    for axis in range(3):
        assert {values[axis] for values in kept} == {values[axis] for values in combinations}


LISTS = """
import pytest

@pytest.mark.quick
@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize(("b", "c"), [(3, 4), (3, 5), (4, 4)])
def test_crossed(a, b, c):
    pass

@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(5))
def test_seeds(seed):
    pass
"""


@pytest.mark.parametrize(("options", "count"), [([], 5), (["-m", "long", "--cases", "2"], 4)])
def test_the_others_are_long(options: list[str], count: int, tmp_path: Path) -> None:
    (tmp_path / "test_lists.py").write_text(LISTS)
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    shutil.copy(Path(__file__).parents[2] / "pyproject.toml", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
    found = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True
    )
    assert f"{count} passed".encode() in found.stdout, found
