"""Warp functions of CUDA C++, of whole warps and of lanes that have parted, compiled for five architectures, against a
definition lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from smmux.modules.module import load
from tests.sass.conftest import needed

THREADS = 128
Values = list[int]
# Of the lanes that take part, their values x and y, by lane: what each of them gets.
Function = Callable[[dict[int, int], dict[int, int]], dict[int, int]]


def shuffle(source: Callable[[int, int], int], width: int = 32) -> Function:
    """What a shuffle gives, within segments of lanes; a lane without a source keeps its own. source: by lane and y."""

    def of(x: dict[int, int], y: dict[int, int]) -> dict[int, int]:
        found = {}
        for lane in x:
            wanted = source(lane, y[lane])
            inside = lane // width * width <= wanted < lane // width * width + width
            found[lane] = x.get(wanted, 0) if inside else x[lane]
        return found

    return of


def common(function: Callable[[Values], int]) -> Function:
    """A function of all values, which every lane gets."""
    return lambda x, y: dict.fromkeys(x, function([x[lane] for lane in sorted(x)]))


def ballot(x: dict[int, int], holds: Callable[[int], bool]) -> int:
    return sum(1 << lane for lane, value in x.items() if holds(value))


def signed(value: int) -> int:
    return value - (value >> 31 << 32)


WARP: dict[str, Function] = {
    "__shfl_sync(m, x, y & 31)": shuffle(lambda lane, y: y & 31),
    "__shfl_sync(m, x, 2, 8)": shuffle(lambda lane, y: lane // 8 * 8 + 2),
    "__shfl_up_sync(m, x, 3)": shuffle(lambda lane, y: lane - 3),
    "__shfl_down_sync(m, x, 5, 16)": shuffle(lambda lane, y: lane + 5, 16),
    "__shfl_xor_sync(m, x, 9)": shuffle(lambda lane, y: lane ^ 9),
    "__ballot_sync(m, x & 1)": lambda x, y: dict.fromkeys(x, ballot(x, lambda value: bool(value & 1))),
    "__any_sync(m, x > 0xffff0000)": common(lambda values: any(value > 0xFFFF0000 for value in values)),
    "__all_sync(m, x != 5)": common(lambda values: all(value != 5 for value in values)),
    "__activemask()": lambda x, y: dict.fromkeys(x, ballot(x, lambda value: True)),
    "__match_any_sync(m, y)": lambda x, y: {lane: ballot(y, lambda value, own=y[lane]: value == own) for lane in y},  # type: ignore[misc]
    "__match_any_sync(m, (unsigned long long)y << 32)": lambda x, y: {
        lane: ballot(y, lambda value, own=y[lane]: value == own)  # type: ignore[misc]
        for lane in y
    },
    "all(m, y)": lambda x, y: dict.fromkeys(
        y, int(len(set(y.values())) == 1) + 2 * ballot(y, lambda _: len(set(y.values())) == 1) & 0xFFFFFFFF
    ),
}
REDUCTIONS: dict[str, Function] = {
    "__reduce_add_sync(m, x)": common(sum),
    "__reduce_min_sync(m, x)": common(min),
    "__reduce_max_sync(m, x)": common(max),
    "__reduce_min_sync(m, (int)x)": common(lambda values: min(map(signed, values))),
    "__reduce_max_sync(m, (int)x)": common(lambda values: max(map(signed, values))),
    "__reduce_and_sync(m, x)": common(lambda values: int(np.bitwise_and.reduce(values))),
    "__reduce_or_sync(m, x)": common(lambda values: int(np.bitwise_or.reduce(values))),
    "__reduce_xor_sync(m, x)": common(lambda values: int(np.bitwise_xor.reduce(values))),
}
HEAD = """
__device__ unsigned all(unsigned m, unsigned y) {
    int p;
    unsigned same = __match_all_sync(m, y, &p);
    return p + 2 * same;
}
extern "C" __global__ void warp(unsigned *o, const unsigned *in, const unsigned *masks, int divergent) {
    int t = threadIdx.x; unsigned x = in[t], y = in[t + 128], m = masks[t];
    if (divergent && !(m >> (t & 31) & 1)) return;
"""


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("-O0", "-G")], ids=["optimised", "debugged"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_warp_functions_give_what_their_definition_says(tmp_path: Path, arch: str, options: tuple[str, ...]) -> None:
    needed("nvcc", "nvdisasm")
    functions = {**WARP, **(REDUCTIONS if arch != "sm_75" else {})}
    stores = [f"o[{i * THREADS} + t] = {text};" for i, text in enumerate(functions)]
    file = tmp_path / "warp.cu"
    file.write_text("\n".join((HEAD, *stores, "}")))
    kernel = load(file, arch, options)["warp"]
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2**32, THREADS, np.uint32), rng.integers(0, 3, THREADS, np.uint32)
    y[32:64], x[64:96] = 1, 6
    for divergent, chances in ((0, [1, 1, 1, 1]), (1, [0.9, 0.5, 0.3, 0.05])):
        lanes = rng.random(THREADS) < np.repeat(chances, 32)
        lanes[::32] = True
        masks = np.repeat((lanes.reshape(4, 32) << np.arange(32)).sum(1), 32).astype(np.uint32)
        found = np.zeros((len(functions), THREADS), np.uint32)
        kernel.simulate(1, THREADS, (found, np.stack([x, y]), masks, divergent))
        for row, (text, function) in zip(found, functions.items(), strict=True):
            for start in range(0, THREADS, 32):
                there = [lane for lane in range(32) if lanes[start + lane]]
                values = [{lane: int(v[start + lane]) for lane in there} for v in (x, y)]
                expected = function(*values)
                got = {lane: int(row[start + lane]) for lane in there}
                if "shfl" in text:  # what a lane gets from one that does not take part is undefined
                    expected = {k: v for k, v in expected.items() if v or got[k] == 0}
                    got = {k: got[k] for k in expected}
                assert got == {k: v & 0xFFFFFFFF for k, v in expected.items()}, (text, start)
