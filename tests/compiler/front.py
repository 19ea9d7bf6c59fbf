"""Helpers of the front end's tests: run a kernel on the machine and on its definition, and demand the same memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from smmux import gpus
from tests.reference import machine as definition


def run(kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> Any:
    """Run; arrays are written in place. Returns the Result."""
    twin = copy.deepcopy(args)
    result = kernel.simulate(grid, block, args, gpu="GTX285", **options)
    program = kernel.compile(twin, gpus.get("GTX285"), dynshared=options.get("dynshared", 0))
    shapes = [v if isinstance(v, tuple) else (v,) for v in (grid, block)]
    definition.run(program, *shapes, list(_flat(twin)))
    for a, b in zip(_flat(args), _flat(twin), strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    return result


def _flat(args: Any) -> Any:
    for a in args:
        if isinstance(a, tuple):
            yield from _flat(a)
        elif a is not None:
            yield a


def outputs(kernel: Any, *inputs: Any, dtype: Any = None) -> np.ndarray:
    """kernel(out, *inputs) with a thread per element of the first input."""
    out = np.zeros(len(inputs[0]), dtype or np.asarray(inputs[0]).dtype)
    run(kernel, 1, len(inputs[0]), out, *inputs)
    return out
