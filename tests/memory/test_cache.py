"""Caches against the list of lines that defines them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from smmux import gpus
from smmux.machines.models_memory import PACKET, PACKET_KINDS, Cache, Dram, Memory
from tests.reference import cache

SHAPES = (
    Cache(16384, line=128, ways=4),
    Cache(49152, line=128, ways=6),
    Cache(49152, line=128, ways=6, hashed=True),
    Cache(5120, line=128, ways=5),
    Cache(12288, line=128, ways=24),
    Cache(6 * 640, line=64, ways=2, hashed=True),  # 30 sets
    Cache(33 * 512, line=128, ways=4, hashed=True),
    Cache(65536, line=128, ways=8, sector=32),
    Cache(32768, line=256, ways=8, sector=32),
    Cache(4096, line=4096, ways=1),
)


def agree(shape: Cache, addresses: np.ndarray, write: np.ndarray) -> None:
    sector = shape.sector or shape.line
    found = shape.replay(addresses, write)
    hits, evicted = cache.replay(
        addresses.tolist(), write.tolist(), shape.size, shape.line, shape.ways, sector, shape.hashed
    )
    assert found.hit.tolist() == hits
    assert found.evicted == evicted


def vectors(seed: int, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Warps' worth of addresses: strided, scattered, and revisited."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 4 * size, count)
    stride = rng.choice([0, 4, 128, 256, 1024, 4096], count)
    lanes = np.arange(8)
    addresses = (base[:, None] + stride[:, None] * lanes).ravel()
    addresses[rng.random(addresses.size) < 0.1] += 1 << 20
    return addresses, rng.random(addresses.size) < 0.3


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equal_to_brute_force(shape: Cache) -> None:
    agree(shape, *vectors(1, 1_200, shape.size))


@given(
    st.sampled_from([1, 2, 3, 5, 8]),
    st.sampled_from([1, 2, 3, 4, 7, 16]),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 1 << 13), st.booleans()), max_size=200),
)
def test_any_shape(ways: int, sets: int, hashed: bool, accesses: list[tuple[int, bool]]) -> None:
    shape = Cache(ways * sets * 64, line=64, ways=ways, sector=32, hashed=hashed)
    agree(shape, np.array([a for a, _ in accesses], np.int64), np.array([w for _, w in accesses], bool))


def test_a_working_set_that_fits_hits_and_one_that_does_not_never_does() -> None:
    lines = np.arange(128) * 128
    assert Cache(16384).replay(np.tile(lines, 3)).hits == 2 * 128
    assert Cache(16384, ways=128).replay(np.tile(np.arange(129) * 128, 3)).hits == 0  # LRU meets a loop
    power = np.arange(8) * 4096  # one set of a linear index, several of a hashed one
    assert Cache(16384).replay(np.tile(power, 3)).hits == 0
    assert Cache(16384, hashed=True).replay(np.tile(power, 3)).hits == 16
    odd = np.arange(64) * 32 * 128  # powers of two apart, in a hashed cache with 33 sets of four ways
    assert Cache(33 * 512, hashed=True).replay(np.tile(odd, 3)).hits > 100


def test_caches_of_the_machines() -> None:
    assert Cache.of("l2", "GTX480-48K") == Cache(65536, line=128, ways=8, sector=64, hashed=True)
    assert Cache.of("l2", "GTX285").line == 256
    with pytest.raises(ValueError, match="has no l1"):
        Cache.of("l1", "GTX285")
    with pytest.raises(ValueError, match="none of"):
        Cache.of("l3", "GTX285")
    with pytest.raises(ValueError, match="l1_shared"):
        Cache.of("l1", "H100")


@pytest.mark.parametrize("name, partitions, slices", [("GTX480-48K", 3, 2), ("K20c", 5, 2), ("GTX285", 8, 1)])
def test_the_l2_alone_hits_where_that_of_the_memory_does(name: str, partitions: int, slices: int) -> None:
    """Loads far apart in time, in lines that meet in a set and in others."""
    card = gpus.get(name)
    size = card.l2_bytes // (card.partitions * card.l2_slices)
    card = card.replace(partitions=partitions, l2_slices=slices, l2_bytes=size * partitions * slices)
    random = np.random.default_rng(0).integers(0, 1 << 15, 600) * 32
    addresses = np.concatenate([np.tile(np.arange(12) * 8192, 3), random])
    packets = np.zeros(len(addresses), PACKET)
    packets["cycle"] = 4000 * np.arange(len(addresses))
    packets["address"], packets["bytes"] = addresses, 32
    packets["kind"] = PACKET_KINDS.index("texture" if card.l2_texture_only else "load")
    places = [Dram(card).locate(int(address)) for address in addresses]
    alone = Cache.of("l2", card)
    hits = 0
    for which in {(place.partition, place.slice) for place in places}:
        hits += alone.replay([at.address for at in places if (at.partition, at.slice) == which]).hits
    assert hits == Memory(card).replay(packets).counters["l2_hits"] > 0


@pytest.mark.parametrize(
    "shape",
    [
        Cache(1000), Cache(1024, line=96, ways=1), Cache(4096, line=512, sector=32, ways=1), Cache(512, ways=8),
        Cache(0), Cache(-4096), Cache(1 << 40), Cache(4096, sector=0), Cache(4096, ways=0),
    ],
)  # fmt: skip
def test_impossible_shapes_are_refused(shape: Cache) -> None:
    with pytest.raises(ValueError, match="no cache has that shape"):
        shape.replay([0])


@pytest.mark.parametrize("addresses", [[-1], [1 << 32], [[0, 4]], 0, [0.5]])
def test_only_vectors_of_32_bit_addresses_are_looked_up(addresses: object) -> None:
    with pytest.raises(ValueError, match="addresses must"):
        Cache(1024).replay(addresses)


@pytest.mark.slow
def test_a_hundred_thousand_vectors() -> None:
    for seed, shape in enumerate(SHAPES):
        agree(shape, *vectors(seed, 100_000 // len(SHAPES) + 1, shape.size))
