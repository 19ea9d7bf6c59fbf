"""Every kernel under Numba, from the same source with only its import changed: simulated, and typed for a card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smmux import benchmarks
from tests.numba import card, simulator

pytest.importorskip("numba")

BUILDS = [(name, build) for name in benchmarks.names() for build in benchmarks.get(name).builds]


def for_numba(name: str, build: str) -> str:
    """The file of a benchmark with its import changed, and the kernel of a build called `kernel`."""
    path = Path(benchmarks.get(name).kernels[build].function.__code__.co_filename)
    text = path.read_text().replace("\nfrom smmux import ", "\nfrom numba import ")
    return f"{text}\n\nkernel = BENCHMARK.kernels[{build!r}]\n"


@pytest.mark.quick(9)
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_outputs_under_the_simulator(name: str, build: str) -> None:
    problem = benchmarks.get(name).problem("tiny", build)
    # The simulator has no syncwarp; where kernels use it, all other warps have left.
    text = for_numba(name, build).replace("cuda.syncwarp()", "cuda.syncthreads()")
    arguments = [np.array(a) if isinstance(a, np.ndarray) else a for a in problem.arguments()]
    place = f"<{name} {build}>"
    problem.check(tuple(simulator.shared().launch(text, place, problem.grid, problem.block, arguments)))


@pytest.mark.long
def test_types_for_a_card(tmp_path: Path) -> None:
    for name, build in BUILDS:
        (tmp_path / f"{name}_{build}.py").write_text(for_numba(name, build))
    card.check_types((tmp_path / f"{name}_{build}.py", "kernel", name, build) for name, build in BUILDS)
