"""Every kernel under Numba's CUDA simulator, from the same source with only its import changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

SCRIPT = Path(__file__).with_name("numba_sim.py")
FAST = ("fft", "hg", "mc", "rd", "tp")
SLOW = ("cv", "mm", "mv", "sp", "sto")


@pytest.mark.parametrize("family", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_kernels_of_family(family: str) -> None:
    root = str(SCRIPT.parents[2])
    environment = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT), family, "tiny"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count(": ok") >= 1
