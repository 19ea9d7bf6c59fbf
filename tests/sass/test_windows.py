"""Results of compiled code do not depend on the windows in which SMs run on alone (csrc/chip/gpu.c)."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

import smmux
from smmux import _core
from smmux.modules.module import CompiledKernel
from tests.sass.conftest import needed

SOURCE = """
/* Stores far apart: more of them than may be under way wait, while others stay for what may join them. */
extern "C" __global__ void turned(float *out, const float *in, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

/* Long code, lines of which are asked for while stores stay. */
extern "C" __global__ void special(double *out, const double *x, const double *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double *to = out + 34 * i;
    to[0] = erf(x[i]), to[1] = erfc(x[i]), to[2] = tgamma(x[i]), to[3] = lgamma(x[i]), to[4] = j0(x[i]);
    to[5] = j1(x[i]), to[6] = y0(y[i]), to[7] = y1(y[i]), to[8] = expm1(x[i]);
}

/* Several lines of constants, for which all sub-cores ask at once. */
extern "C" __global__ void scaled(double *out, const double *x, const double *y, int n, double a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a * x[i] + y[i];
}

/* Stores that join others, whose answers take no flit. */
struct Body { float place[3], speed[3], mass, kind, fuel; };
extern "C" __global__ void moved(Body *body, float time, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Body b = body[i];
    for (int k = 0; k < 3; k++) body[i].place[k] = b.place[k] + time * b.speed[k];
}
"""


def counters(kernel: CompiledKernel, window: int, *launch: Any) -> dict[str, int]:
    """All that a launch counts; launch: grid, block, arguments and machine."""
    core, found = _core.launch, []

    def windowed(**given: Any) -> dict[str, Any]:
        found.append(core(**{**given, "options": {**given["options"], "window": window}}))
        return found[0]

    with mock.patch.object(_core, "launch", windowed):
        kernel.simulate(*launch)
    return dict(found[0]["counters"])


@pytest.mark.parametrize("gpu", ["H100", "H200"])
def test_any_window_gives_the_same_counters(gpu: str) -> None:
    needed("nvcc", "nvdisasm")
    module = smmux.load(SOURCE, arch="sm_90")
    square, row = np.arange(512 * 512, dtype=np.float32), np.arange(9000, dtype=np.float64)
    far, near = np.linspace(-9, 9, 48), np.linspace(0.1, 20, 48)
    bodies = np.zeros(9 * 20_000, np.float32)
    for window in (1, 7, 50, 100, 200):
        for kernel, *launch in (
            (module["turned"], (16, 16), (32, 8), [np.zeros_like(square), square, 512], gpu),
            (module["special"], 2, 32, [np.zeros(34 * 48), far, near, 48], gpu),
            (module["scaled"], 132, 256, [np.zeros_like(row), row, row, len(row), 3.0], gpu),
            (module["moved"], 79, 256, [bodies, 0.5, 20_000], gpu),
        ):
            assert counters(kernel, window, *launch) == counters(kernel, 0, *launch), (kernel.name, window)
