"""Shared memory used behind `smm.release` is found under every management."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import AllocationError, Management, _core, smm
from tests.multiplex.kernels import kernel

USES = {
    "load": "out[i] = d[t]",
    "store": "d[t] = 7",
    "atomic": "cuda.atomic.add(d, t, 1)",
    "a load by one thread": "if t == 40:\n        out[i] = d[t]",
    "load behind a barrier": "cuda.syncthreads()\n    out[i] = d[63 - t]",
}


def made(before: str, after: str) -> Any:
    return kernel(
        f"def f(out):\n"
        f"    d = smm.array(64, int32)\n"
        f"    t, i = cuda.threadIdx.x, cuda.grid(1)\n"
        f"    {before}\n"
        f"    smm.alloc()\n"
        f"    d[t] = t\n"
        f"    cuda.syncthreads()\n"
        f"    out[i] = d[63 - t]\n"
        f"    smm.release()\n"
        f"    {after}\n",
        smm=smm,
    )


class Own(Management):
    """A management in Python that does what the dynamic one does."""


def found(made: Any, management: Any, extra_blocks: int) -> Any:
    out = np.zeros(20 * 64, np.int32)
    options = {"management": management, "extra_blocks": extra_blocks}
    try:
        return made.simulate(20, 64, (out,), gpu="GTX480-16K", check="races", **options).findings
    except AllocationError as error:
        return error.findings


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("management", [*_core.MANAGEMENTS, Own])
def test_use_after_release(use: str, management: Any) -> None:
    for extra_blocks in (0,) if management == "static" else (0, 2):
        for where, lines in (("pass", use), (use, "pass")):
            findings = found(made(where, lines), management, extra_blocks)
            released = findings.of("released")
            assert [(finding.array, finding.severity) for finding in released] == [("d", "error")], findings
            wanted = lines if lines != "pass" else where
            assert released[0].second.line == (10 if lines != "pass" else 4) + wanted.count("\n")
        assert not found(made("pass", "pass"), management, extra_blocks)
