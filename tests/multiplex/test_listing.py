"""A kernel as a complete file: whatever it captures, the text runs here and in Numba's simulator by itself."""

from __future__ import annotations

import enum
import math
from math import sqrt as root

import numpy as np
import pytest

import smmux
import smmux.cuda as c
import smmux.types as scalars
from smmux import multiplex
from smmux.cuda import shared, syncthreads
from smmux.rewriting.listing import listing
from tests.multiplex import kernels as other
from tests.multiplex.kernels import device
from tests.numba import simulator, sources

pytest.importorskip("numba")

SCALE = 5
HALF = np.float32(0.5)
INFINITE = float("inf")
TABLE = np.array([1.5, 2.5], np.float32)
PLANE = np.array([[1 - 2j, complex(-0.0, INFINITE)]], np.complex64)
LIMITS = np.array([-INFINITE, 0.5], np.float16)
other_scale = device("def scale(x, more):\n    return x * SCALE + more + cuda.blockIdx.x", SCALE=3)
both = device("def both(x, y):\n    return scale(x, 2) + scale(y, 3)", scale=other_scale)


class Mode(enum.IntEnum):
    FAST = 3


class Sizes:
    TILE = 64

    class Steps:
        FIRST = 2


def made(width: int, offset: tuple[int, int] = (1, 2)):
    """A kernel with constants of all kinds."""

    @c.jit
    def captures(a, o):
        """A docstring
        of two lines."""
        # the tile
        s = shared.array(Sizes.TILE, smmux.float32)
        w = c.const.array_like(TABLE)
        t: int = c.threadIdx.x
        i = c.grid(1)

        x = a[i] * SCALE + HALF  # a comment behind
        # a comment
        # of two lines
        x += root(x) + math.floor(x) + offset[1] + width
        s[t] = both(x, t) + Sizes.Steps.FIRST + Mode.FAST
        syncthreads()
        if x < INFINITE:
            o[i] = s[Sizes.TILE - 1 - t] + w[t & 1] + scalars.float32(0x10) + other.CAPTURED_SHAPE[1]

    return captures


def test_text_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other, "CAPTURED_SHAPE", (1, 2, 3), raising=False)
    kernel = made(0xFF)
    a = (np.arange(256, dtype=np.float32) / 4) ** 2
    expected = np.zeros(256, np.float32)
    kernel.simulate(4, 64, (a, expected))
    for transformed in (multiplex.vtb(kernel), multiplex.vtb_pipe(kernel)):
        text = transformed.source
        assert "smmux" not in text
        assert all(line in text for line in ("# the tile\n", "# a comment\n", "# of two lines\n", "Sizes_TILE = 64\n"))
        name = transformed.__name__
        again = sources.load(f"{text}\nkernel = {name}\n", f"<{name} alone>", "smmux").kernel
        grid, block = transformed.geometry(4, 64)
        for one in (transformed, again):
            out = np.zeros(256, np.float32)
            one.simulate(grid, block, (a, out))
            assert (out == expected).all()
        found = simulator.shared().launch(f"{text}\nkernel = {name}\n", f"<{name}>", grid, block, [a, np.zeros_like(a)])
        assert np.allclose(found[1], expected, rtol=1e-6)


@c.jit
def of_tables(a, o):
    t = c.threadIdx.x
    o[t] = (PLANE[0, t & 1] if t < 2 else scalars.complex64(LIMITS[t & 1])) * scalars.float16(a[t])


def test_tables_of_all_types_are_written_down() -> None:
    """Complex, infinite and short numbers, zeros with their signs; float16 has no name in Numba's first module."""
    text = f"{listing(of_tables.definition)}\nkernel = of_tables\n"
    assert all(part in text for part in ("complex(-0.0, ", 'float("-inf")', "from numba.types import float16"))
    a, found = np.ones(4, np.float32), np.zeros(4, np.complex64)
    sources.load(text, "<tables>", "smmux").kernel.simulate(1, 4, (a, found))
    theirs = simulator.shared().launch(text, "<tables>", 1, 4, [a, np.zeros_like(found)])[1]
    assert found[0] == 1 - 2j
    assert np.array_equal(found, theirs, equal_nan=True)


@c.jit
def of_extents(a, o):
    s = shared.array((Sizes.TILE // 4, SCALE + 1), smmux.float32)
    w = c.local.array(shape=2 * Sizes.Steps.FIRST, dtype=smmux.float32)
    t = c.threadIdx.x
    w[t & 3], s[t, SCALE] = a[t], t
    o[t] = s[t, SCALE] + w[t & 3]


def test_shapes_are_computed() -> None:
    """Numba's compiler for cards takes no sum as a shape; its simulator would."""
    text = listing(of_extents.definition)
    assert "shared.array((16, 6), float32)" in text
    assert "local.array(shape=4, dtype=float32)" in text
    a, o = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    sources.load(f"{text}\nkernel = of_extents\n", "<extents>", "smmux").kernel.simulate(1, 16, (a, o))
    assert (o == 2 * a).all()


def test_two_meanings_of_a_name() -> None:
    text = listing(made(1).definition)
    assert "SCALE = 5\n" in text
    assert "SCALE_2 = 3\n" in text
    assert text.index("def scale") < text.index("def both") < text.index("def captures")
