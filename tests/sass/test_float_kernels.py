"""Floating-point functions of CUDA C++, compiled for five architectures with and without optimisation, against NumPy.

Basic operations, divisions and roots are exact in all of IEEE's roundings; functions of the library, whose errors in
ulps CUDA documents, are compared with double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smmux.modules.module import load
from tests.sass.conftest import ARCHITECTURES, needed

THREADS = 128
Table = Mapping[str, tuple[Callable[..., Any], float]]


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats, in double precision."""
    return lambda *values: function(*(value.astype(np.float64) for value in values)).astype(np.float32)


def erf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([math.erf(value) for value in x])


def bfloat(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest number of 8 bits, even of two."""
    bits = x.view(np.uint32)
    near = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, near.view(np.float32))


# Of x and y: the value, and how many ulps it may be off.
FLOATS: Table = {
    "x + y": (np.add, 0),
    "x * y": (np.multiply, 0),
    "x / y": (np.divide, 0),
    "1.f / x": (lambda x, y: np.float32(1) / x, 0),
    "sqrtf(fabsf(x))": (lambda x, y: np.sqrt(abs(x)), 0),
    "fmodf(x, y)": (np.fmod, 0),
    "fminf(x, y)": (np.fmin, 0),
    "fmaxf(-x, y)": (lambda x, y: np.fmax(-x, y), 0),
    "x > y ? x : y": (lambda x, y: np.where(x > y, x, y), 0),
    "floorf(x) + ceilf(y) - truncf(y) + rintf(x)": (
        lambda x, y: np.floor(x) + np.ceil(y) - np.trunc(y) + np.rint(x), 0,
    ),
    "(float)(int)(x * 100.f)": (lambda x, y: np.trunc(np.clip(np.nan_to_num(x * np.float32(100)), -(2**31), 2**31)), 0),
    "__half2float(__float2half(x))": (lambda x, y: x.astype(np.float16).astype(np.float32), 0),
    "__bfloat162float(__float2bfloat16(x))": (lambda x, y: bfloat(x), 0),
    "(float)(double)x": (lambda x, y: x, 0),
    "expf(x)": (wide(lambda x, y: np.exp(x)), 2),
    "logf(fabsf(x))": (wide(lambda x, y: np.log(abs(x))), 1),
    "sinf(x)": (wide(lambda x, y: np.sin(x)), 2),
    "cosf(1e5f * x)": (lambda x, y: np.cos((np.float32(1e5) * x).astype(np.float64)).astype(np.float32), 2),
    "powf(fabsf(x), y)": (wide(lambda x, y: np.power(abs(x), y)), 4),
    "tanhf(x)": (wide(lambda x, y: np.tanh(x)), 2),
    "erff(x)": (wide(lambda x, y: erf(x)), 2),
    "atan2f(x, y)": (wide(np.arctan2), 3),
    "rsqrtf(fabsf(x))": (wide(lambda x, y: 1 / np.sqrt(abs(x))), 2),
}  # fmt: skip
DOUBLES: Table = {
    "x - y": (np.subtract, 0),
    "x * y": (np.multiply, 0),
    "x / y": (np.divide, 0),
    "sqrt(fabs(x))": (lambda x, y: np.sqrt(abs(x)), 0),
    "fmin(x, y)": (np.fmin, 0),
    "fmax(x, y)": (np.fmax, 0),
    "fmod(x, y)": (np.fmod, 0),
    "floor(x) + ceil(y) - trunc(y) + rint(x)": (lambda x, y: np.floor(x) + np.ceil(y) - np.trunc(y) + np.rint(x), 0),
    "(double)(float)x": (lambda x, y: x.astype(np.float32).astype(np.float64), 0),
    "x > y ? x : -y": (lambda x, y: np.where(x > y, x, -y), 0),
    "exp(x)": (lambda x, y: np.exp(x), 2),
    "log(fabs(x))": (lambda x, y: np.log(abs(x)), 2),
    "sin(x)": (lambda x, y: np.sin(x), 3),
    "pow(fabs(x), y)": (lambda x, y: np.power(abs(x), y), 3),
    "tanh(x)": (lambda x, y: np.tanh(x), 3),
}
HALVES: Table = {
    "__hadd2(x, y)": (np.add, 0),
    "__hsub2(x, y)": (np.subtract, 0),
    "__hmul2(x, y)": (np.multiply, 0),
    "__hfma2(x, y, x)": (lambda x, y: (x.astype(float) * y.astype(float) + x.astype(float)).astype(np.float16), 0),
    "__hmin2(x, y)": (np.fmin, 0),
    "__hmax2(x, y)": (np.fmax, 0),
    "__hgt2(x, y)": (lambda x, y: (x > y).astype(np.float16), 0),
    "__h2div(x, y)": (np.divide, 1),
    "h2sqrt(__habs2(x))": (lambda x, y: np.sqrt(abs(x)), 1),
    "h2floor(x)": (lambda x, y: np.floor(x), 0),
    "__hadd2_sat(x, y)": (lambda x, y: np.clip(x + y, 0, 1), 0),
    "__lowhigh2highlow(x)": (lambda x, y: x.reshape(-1, 2)[:, ::-1].ravel(), 0),
    "__low2half2(__hneg2(x))": (lambda x, y: np.repeat(-x[::2], 2), 0),
    "__hbgt2(x, y) ? x : y": (
        lambda x, y: np.where(np.repeat((x > y).reshape(-1, 2).all(1), 2), x, y), 0,
    ),
}  # fmt: skip
KINDS: dict[str, tuple[Table, Any, str]] = {
    "floats": (FLOATS, np.float32, "float"),
    "doubles": (DOUBLES, np.float64, "double"),
    "halves": (HALVES, np.float16, "__half2"),
}


def source() -> str:
    """Kernels that store the value of each expression."""
    lines = ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>"]
    for kind, (table, _, name) in KINDS.items():
        body = [f"o[{i} * {THREADS} + t] = {text};" for i, text in enumerate(table)]
        lines += [f'extern "C" __global__ void {kind}(const {name} *a, const {name} *b, {name} *o) {{']
        lines += [f"int t = threadIdx.x; {name} x = a[t], y = b[t];", *body, "}"]
    return "\n".join(lines)


@pytest.mark.quick(1)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("options", [("-O3",), ("-O0", "-G")], ids=("O3", "G"))
def test_functions_of_floats_have_their_values(arch: str, options: tuple[str, ...], tmp_path: Path) -> None:
    needed("nvcc", "nvdisasm")
    (tmp_path / "floats.cu").write_text(source())
    module = load(tmp_path / "floats.cu", arch, options)
    rng = np.random.default_rng(7)
    for kind, (table, dtype, _) in KINDS.items():
        count = THREADS * (2 if kind == "halves" else 1)
        x, y = (rng.normal(size=count) * 4).astype(dtype), (rng.normal(size=count) * 3).astype(dtype)
        if kind != "halves":
            tiny, large = np.finfo(dtype).smallest_subnormal * 3, np.finfo(dtype).max
            x[:8], y[:8] = (0, -1, 1, tiny, large, np.inf, np.nan, -0.0), (1, 2, 0.5, 1, 2, 1, 1, 3)
        found = np.zeros((len(table), count), dtype)
        module[kind].simulate(1, THREADS, [x, y, found])
        for values, (text, (function, ulps)) in zip(found, table.items(), strict=True):
            with np.errstate(all="ignore"):
                expected = function(x, y).astype(dtype)
                near = abs(values.astype(float) - expected) <= ulps * np.spacing(abs(expected)).astype(float)
            wrong = ~((values == expected) | np.isnan(values) & np.isnan(expected) | near)
            assert not wrong.any(), (text, x[wrong], y[wrong], values[wrong], expected[wrong])
