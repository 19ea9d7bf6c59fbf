"""The benchmarks issue as many warp instructions as were pinned."""

from __future__ import annotations

import pytest

from smmux import benchmarks
from tests.speed import instruction_counts

AGAIN = "more or fewer instructions on purpose? python -m tests.speed.instruction_counts"


@pytest.mark.parametrize("benchmark", benchmarks.names())
def test_tiny_benchmarks_issue_the_pinned_instructions(benchmark: str) -> None:
    assert instruction_counts.count(benchmark, "tiny") == instruction_counts.pinned("tiny")[benchmark], AGAIN


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", benchmarks.names())
def test_quick_benchmarks_issue_the_pinned_instructions(benchmark: str) -> None:
    assert instruction_counts.count(benchmark, "quick") == instruction_counts.pinned("quick")[benchmark], AGAIN
