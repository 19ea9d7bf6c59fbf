"""Address vectors of a warp: what kernels do (strides, broadcasts, gathers) and what nobody would do."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

# Byte addresses of 32 lanes, bit mask of the lanes that take part, bytes per lane.
Vector = tuple[list[int], int, int]

WIDTHS = (1, 2, 4, 8, 16)


def bits(mask: int) -> list[int]:
    """Lanes of a mask."""
    return [lane for lane in range(32) if mask >> lane & 1]


def random_vectors(seed: int, count: int, reach: int, widths: Sequence[int] = WIDTHS) -> Iterator[Vector]:
    """`count` vectors with addresses below `reach`, the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        width = rng.choice(widths)
        yield [width * unit % reach for unit in _units(rng, reach // width)], _mask(rng), width


def _units(rng: random.Random, top: int) -> list[int]:
    """Element indices of the lanes, below `top`."""
    base = rng.randrange(top)
    kind = rng.randrange(7)
    if kind == 0:
        stride = rng.choice((0, 1, 1, 2, 3, 4, 8, 16, 17, 32, 33, 64, rng.randrange(100)))
        return [(base + stride * lane) % top for lane in range(32)]
    if kind == 1:  # two-dimensional tile
        columns, pitch = rng.choice((2, 4, 8, 16)), rng.choice((16, 17, 32, 33, 64, 66))
        return [(base + lane % columns + pitch * (lane // columns)) % top for lane in range(32)]
    if kind == 2:  # linear, shuffled, a few lanes elsewhere
        lanes = rng.sample(range(32), 32)
        return [(base + lane) % top if rng.random() < 0.9 else rng.randrange(top) for lane in lanes]
    if kind == 3:  # half-warps whose lanes have banks of their own, laid over each other
        banks, rows = rng.choice((16, 17, 32)), rng.choice((1, 2, 3, 32))
        lanes = rng.sample(range(banks), 16) + rng.sample(range(banks), 16)
        return [(lane + 32 * rng.randrange(rows)) % top for lane in lanes]
    span = (top, 64, 256)[kind - 4]  # a gather from everywhere or from a small window
    return [(base + rng.randrange(span)) % top for _ in range(32)]


def _mask(rng: random.Random) -> int:
    kind = rng.randrange(4)
    if kind < 2:
        return (1 << 32) - 1
    return rng.getrandbits(32) if kind == 2 else rng.getrandbits(32) & rng.getrandbits(32) & rng.getrandbits(32)


@st.composite
def vectors(draw: st.DrawFn, reach: int, widths: Sequence[int] = WIDTHS) -> Vector:
    """The same as a hypothesis strategy: shrinks to few lanes and low addresses."""
    width = draw(st.sampled_from(widths))
    window = draw(st.sampled_from((2, 64, reach // width)))
    units = draw(st.lists(st.integers(0, min(window, reach // width) - 1), min_size=32, max_size=32))
    return [width * unit for unit in units], draw(st.integers(0, (1 << 32) - 1)), width
