"""Kernels as people write them, under every pass: outputs, races, and their text under Numba's simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux import multiplex
from tests.multiplex.classic_kernels import CLASSIC
from tests.multiplex.written_kernels import WRITTEN, Written
from tests.numba import simulator

VIRTUAL: dict[str, Callable[..., multiplex.VirtualKernel]] = {
    "vtb": multiplex.vtb,
    "vtb 4": lambda kernel: multiplex.vtb(kernel, 4),
    "vtb_pipe": multiplex.vtb_pipe,
}
every = pytest.mark.parametrize("case", [*WRITTEN, *CLASSIC], ids=lambda case: case.kernel.__name__)


def check(case: Written, arguments: Any, tolerance: float) -> None:
    found = [a for a in arguments if isinstance(a, np.ndarray)][-1]
    np.testing.assert_allclose(found, case.expected, rtol=tolerance, atol=tolerance)


@every
def test_hw(case: Written) -> None:
    arguments = case.arguments()
    multiplex.hw(case.kernel).simulate(
        case.grid, case.block, arguments, management="dynamic", extra_blocks=3, check="races"
    ).raise_for_findings()
    check(case, arguments, case.tolerance)


@pytest.mark.long
@every
@pytest.mark.parametrize("scheme", VIRTUAL)
def test_virtual_blocks(case: Written, scheme: str) -> None:
    made = VIRTUAL[scheme](case.kernel).fitted(case.grid, case.block)
    arguments = case.arguments()
    made.simulate(*made.geometry(case.grid, case.block), arguments, check="races").raise_for_findings()
    check(case, arguments, case.tolerance)


@pytest.mark.long
@every
def test_text_under_the_simulator(case: Written) -> None:
    pytest.importorskip("numba")
    made = multiplex.vtb_pipe(case.kernel)
    grid, block = made.geometry(case.grid, case.block)
    text = f"{made.source}\n\nkernel = {made.__name__}\n"
    found = simulator.shared().launch(text, f"<{made.__name__}>", grid, block, list(case.arguments()))
    check(case, found, case.tolerance)
