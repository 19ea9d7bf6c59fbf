"""Accesses that the compiler joins keep their own lines: in findings and in errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda, int32


def line_of(text: str) -> int:
    """The first line of this file with this text."""
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


@cuda.jit
def joined_stores(out: Any) -> None:
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[2 * t] = t
    s[2 * t + 1] = 0
    out[t] = s[(2 * t + 64) % 128]


@cuda.jit
def joined_loads(out: Any) -> None:
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[2 * t] = 1
    cuda.syncthreads()
    x = s[2 * t]
    second = s[2 * t + 1]
    out[t] = x + second


@cuda.jit
def load_both(a: Any, out: Any) -> None:
    t = cuda.threadIdx.x
    x = a[2 * t]
    y = a[2 * t + 1]
    out[t] = x + y


@cuda.jit
def store_both(out: Any) -> None:
    s = cuda.shared.array(127, int32)
    t = cuda.threadIdx.x
    s[2 * t] = 1
    s[2 * t + 1] = 2
    cuda.syncthreads()
    out[t] = s[t]


def wide(kernel: Any, *args: Any) -> bool:
    return ".v2." in kernel.compile(args).listing()


def test_a_finding_names_the_line_of_the_element() -> None:
    out = np.zeros(64, np.int32)
    assert wide(joined_stores, out)
    (race,) = joined_stores.simulate(1, 64, (out,), gpu="GTX480-16K", check="races").findings
    assert race.element == "s[64]"
    assert race.first.line == line_of("s[2 * t] = t")
    assert wide(joined_loads, out)
    (load,) = joined_loads.simulate(1, 64, (out,), gpu="GTX480-16K", check="races").findings
    assert (load.kind, load.element, load.first.line) == ("uninitialised", "s[1]", line_of("second = "))


@pytest.mark.parametrize(
    ("kernel", "args", "text", "element"),
    [
        (load_both, (np.zeros(127, np.float32), np.zeros(64, np.float32)), "y = a", "flat index 127 of shape (127,)"),
        (load_both, (np.zeros(126, np.float32), np.zeros(64, np.float32)), "x = a", "flat index 126 of shape (126,)"),
        (store_both, (np.zeros(64, np.int32),), "s[2 * t + 1] = 2", "flat index 127 of 127"),
    ],
)
def test_an_access_outside_names_the_element_that_is(kernel: Any, args: Any, text: str, element: str) -> None:
    assert wide(kernel, *args)
    with pytest.raises(smmux.OutOfBoundsError) as caught:
        kernel.simulate(1, 64, args)
    assert (caught.value.line, caught.value.element) == (line_of(text), element)
