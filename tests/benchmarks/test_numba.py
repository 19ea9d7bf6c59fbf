"""Every kernel under Numba, from the same source with only its import changed: simulated, and typed for a card."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smmux import benchmarks

pytest.importorskip("numba")

HERE = Path(__file__).parent
FAST = ("fft", "hg", "mc", "rd", "tp")
SLOW = ("cv", "mm", "mv", "sp", "sto")


def output(script: str, *arguments: str, **environment: str) -> str:
    """What a script beside this file prints, in a process of its own."""
    path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("family", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_outputs_under_the_simulator(family: str) -> None:
    kernels = benchmarks.get(family).kernels
    assert output("numba_sim.py", family, "tiny", NUMBA_ENABLE_CUDASIM="1").count(": ok") == len(kernels)


def test_types_for_a_card() -> None:
    kernels = sum(len(benchmarks.get(name).kernels) for name in benchmarks.names())
    assert output("numba_types.py", NUMBA_ENABLE_CUDASIM="0").count(": ok") == kernels
