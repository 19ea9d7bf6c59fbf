"""The fuzzer itself: cases follow from seed and number, all kinds occur, and what kills a process is found."""

import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.fuzz.cases import as_text, run_case
from tests.fuzz.corpus import record

ROOT = Path(__file__).parents[2]


@cache
def corpus():
    return record(("MV", "RD"))


def test_cases_are_rejected_or_run_and_do_the_same_again():
    found = Counter()
    for number in range(150):
        outcome = run_case(11, number, corpus())
        assert run_case(11, number, corpus()) == outcome, number
        found[outcome.split()[-1]] += 1
    assert found["ok"] > 3
    assert found["CycleLimitError"] > 3
    assert found["program"] > 10
    assert {"OutOfBoundsError", "ConfigError", "TypeError", "ValueError"} <= set(found)


def test_a_case_can_be_told():
    texts = [as_text(11, number, corpus()) for number in range(20)]
    assert texts == [as_text(11, number, corpus()) for number in range(20)]
    assert any("'sm_count'" in text for text in texts)


@pytest.mark.slow
def test_a_case_that_kills_its_process_is_named():
    command = [sys.executable, "-m", "tests.fuzz", "--count", "60", "--jobs", "2", "--plant", "17"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert found.returncode == 1
    assert "python -m tests.fuzz --seed 0 --case 17" in found.stdout
    assert "60 cases" in found.stdout
    assert "trouble: [17]" in found.stdout


@pytest.mark.slow
def test_so_many_cases_run_even_if_time_is_over():
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", "0.001", "--least", "40", "--jobs", "2"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert found.returncode == 0, found.stdout
    assert "40 cases" in found.stdout
