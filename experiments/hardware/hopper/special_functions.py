"""The special function unit on chosen bit patterns (`mufu.cu`), and digests over all of them."""

from __future__ import annotations

from functools import partial

import numpy as np

from .bench import Bench
from .cuda_driver import Module

FUNCTIONS = ("rcp", "rsq", "sqrt", "sin", "cos", "lg2", "ex2", "tanh")
SWEPT = {
    "rcp": (127,),
    "rsq": (127, 128),
    "sqrt": (127, 128),
    "lg2": (126, 127),
    "ex2": (127, 126),
    "sin": (126, 125),
    "cos": (126, 125),
    "tanh": (126, 127),
}


def raw(bench: Bench) -> Module:
    """mufu.cu with the factor 1 / (2 pi), by which ptxas multiplies before MUFU.SIN and MUFU.COS, replaced by 1."""
    return bench.card.load(bench.cubin("mufu").replace(bytes.fromhex("83f9223e"), bytes.fromhex("0000803f")))


def _values(bench: Bench, function: int, first: int, step: int, count: int) -> np.ndarray:
    out = bench.card.alloc(4 * count)
    module = raw(bench)
    module["values"](
        -(-count // 256), 256, np.int32(function), np.uint32(first), np.uint32(step), np.uint32(count), out
    )
    result = bench.card.get(out, count, np.uint32)
    bench.card.free(out)
    module.unload()
    return result


def special_functions(bench: Bench) -> dict[str, np.ndarray]:
    """`NAME`: results at every 2^18-th of all patterns; `NAME_EXPONENT`: at every 2^10-th of a binade; `NAME_digests`:
    over 2^20 patterns each, the sum of (2 i + 1) * result modulo 2^64."""
    arrays = {}
    out = bench.card.alloc(8 * 4096)
    for number, name in enumerate(FUNCTIONS):
        arrays[name] = _values(bench, number, 1, 1 << 18, 1 << 14)
        for exponent in SWEPT[name]:
            arrays[f"{name}_{exponent}"] = _values(bench, number, exponent << 23, 1 << 10, 1 << 13)
        bench.card.put(out, np.zeros(4096, np.uint64))
        raw(bench)["digests"](4096, 256, np.int32(number), out)
        arrays[f"{name}_digests"] = bench.card.get(out, 4096, np.uint64)
    return arrays


def whole(bench: Bench, number: int) -> dict[str, np.ndarray]:
    """Results at every pattern of the swept binades, as second differences (too large to keep in the repository)."""
    arrays = {}
    for exponent in SWEPT[FUNCTIONS[number]]:
        values = _values(bench, number, exponent << 23, 1, 1 << 23).astype(np.int64)
        second = np.diff(values, 2)
        arrays[f"{exponent}"] = second.astype(np.int8 if np.abs(second).max() < 128 else np.int32)
        arrays[f"{exponent}_first"] = values[:2]
    return arrays


ARRAYS = {
    "vectors_mufu": special_functions,
    **{f"whole_{name}": partial(whole, number=i) for i, name in enumerate(FUNCTIONS)},
}
