"""Type inference ends as soon as nothing changes: kernels that join literals and typed values cost no more passes."""

from __future__ import annotations

import importlib
from random import Random
from typing import Any

import pytest

from tests.numba import sources
from tests.numba.random_kernels import generate

infer = importlib.import_module("smmux.compiler.python.infer")


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(1, 7))
def test_few_passes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = 0
    visit = infer.infer_statements

    def counted(frame: Any, body: Any) -> None:
        nonlocal passes
        passes += frame.source.name == "kernel"
        visit(frame, body)

    monkeypatch.setattr(infer, "infer_statements", counted)
    monkeypatch.setattr(infer, "MAX_PASSES", 10)
    case = generate(Random(seed), every=False)
    sources.load(case.text, f"<inferred {seed}>", "smmux").kernel.compile(case.arguments(), unroll_limit=64 + seed)
    assert 1 <= passes <= 8  # at most two attempts, the second with per-thread arrays in memory
