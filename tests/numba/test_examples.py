"""Numba's documented CUDA examples and others: the same file under Numba's simulator and, its import changed, here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partialmethod
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from smmux import LaunchError, gpus
from smmux.kernel import Kernel
from tests.numba import simulator, sources

EXAMPLES = Path(__file__).parent / "examples"
RUN = re.compile(r"^def (run\w*)\(", re.MULTILINE)
MACHINES = (("GTX285", "source"), ("GTX480-16K", "list"))


def _cases() -> Iterator[tuple[str, str]]:
    """(file, function) of every example."""
    for path in sorted(EXAMPLES.glob("*.py")):
        yield from ((path.stem, name) for name in RUN.findall(path.read_text()))


CASES = list(_cases())


@cache
def ours(stem: str) -> ModuleType:
    path = EXAMPLES / f"{stem}.py"
    return sources.load(path.read_text(), str(path), "smmux")


@cache
def theirs(stem: str, function: str) -> list[np.ndarray]:
    return simulator.shared().call(EXAMPLES / f"{stem}.py", function)


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.quick
@pytest.mark.parametrize(("gpu", "schedule"), MACHINES)
@pytest.mark.parametrize(("stem", "function"), CASES)
def test_same_results(stem: str, function: str, gpu: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "simulate", partialmethod(Kernel.simulate, schedule=schedule))
    module = ours(stem)
    if gpu == "GTX285" and function in getattr(module, "THREE_DIMENSIONAL", ()):
        with gpus.set_current(gpu), pytest.raises(LaunchError, match="GTX285 .* have two dimensions"):
            getattr(module, function)()
        return
    with gpus.set_current(gpu):
        found = sources.results(getattr(module, function)())
    expected = theirs(stem, function)
    tolerance = getattr(module, "TOLERANCE", {}).get(function, 0)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        if tolerance:
            np.testing.assert_allclose(a, b, rtol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)
