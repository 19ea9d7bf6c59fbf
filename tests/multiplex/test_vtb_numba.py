"""The text of transformed kernels under Numba, as it is: simulated, and typed for a card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smmux import benchmarks, multiplex
from smmux.multiplex import VirtualKernel
from tests.numba import card, simulator

pytest.importorskip("numba")

SIMULATED = [name for name in benchmarks.names() if name != "RD"]  # the simulator has no warps


def made(name: str, scheme: str) -> VirtualKernel:
    """The default build under a scheme, for the tiny problem."""
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    passes = {"vtb": multiplex.vtb, "vtb_pipe": multiplex.vtb_pipe}
    return passes[scheme](benchmark.kernel()).fitted(problem.grid, problem.block)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["vtb", "vtb_pipe"])
@pytest.mark.parametrize("name", SIMULATED)
def test_outputs_under_the_simulator(name: str, scheme: str) -> None:
    problem = benchmarks.get(name).problem("tiny")
    kernel = made(name, scheme)
    text = f"{kernel.source}\n\nkernel = {kernel.__name__}\n"
    grid, block = kernel.geometry(problem.grid, problem.block)
    arguments = [np.array(a) if isinstance(a, np.ndarray) else a for a in problem.arguments()]
    problem.check(tuple(simulator.shared().launch(text, f"<{name} {scheme}>", grid, block, arguments)))


@pytest.mark.long
def test_types_for_a_card(tmp_path: Path) -> None:
    kernels = []
    for name in benchmarks.names():
        for scheme in ("vtb", "vtb_pipe"):
            kernel = made(name, scheme)
            path = tmp_path / f"{name}_{scheme}.py"
            path.write_text(kernel.source)
            kernels.append((path, kernel.__name__, name, benchmarks.get(name).builds[0]))
    card.check_types(kernels)
