"""Coalescing: the guide's examples, then the machine against its definition."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus, models
from tests.models.vectors import WIDTHS, Vector, bits, random_vectors, vectors
from tests.reference import coalesce as definition

REACH = 1 << 20
MACHINES = {
    "1.0": gpus.get("GTX285").replace(coalesce_rule=10),
    "1.3": gpus.get("GTX285"),
    "2.x lines": gpus.get("GTX480-48K").replace(coalesce_l1=1),
    "2.x sectors": gpus.get("GTX480-48K").replace(coalesce_l1=0),
    "3.5": gpus.get("K20c"),
    "9.0": gpus.get("H100"),
}


def sizes(addresses: list[int], width: int, gpu: gpus.Gpu, store: bool = False) -> list[tuple[int, int]]:
    return [(s.address, s.bytes) for s in models.coalesce(addresses, width, gpu, store=store).segments]


def linear(base: int, width: int = 4, stride: int = 1) -> list[int]:
    return [base + width * stride * lane for lane in range(32)]


def agree(gpu: gpus.Gpu, vector: Vector, store: bool) -> None:
    addresses, mask, width = vector
    found = _core.coalesce(gpus.as_tuple(gpu), addresses, width, mask, store)
    line = bool(gpu.coalesce_l1) and not store
    wanted = definition.coalesce(addresses, bits(mask), width, gpu.coalesce_rule, line)
    assert [(address, size, tuple(bits(lanes))) for address, size, lanes in found] == wanted, (vector, gpu, store)


def agree_on_random(gpu: gpus.Gpu, seed: int, count: int) -> None:
    for number, vector in enumerate(random_vectors(seed, count, REACH)):
        agree(gpu, vector, store=number % 4 == 0)


def test_figure_16_of_the_guide_on_cc13() -> None:
    gpu = MACHINES["1.3"]
    assert sizes(linear(128), 4, gpu) == [(128, 64), (192, 64)]
    assert sizes(linear(132), 4, gpu) == [(128, 128), (192, 64), (256, 32)]


def test_figure_16_of_the_guide_on_cc10() -> None:
    """Words in sequence from a segment's start on are one transaction of a half-warp, others one for each thread."""
    gpu = MACHINES["1.0"]
    assert sizes(linear(128), 4, gpu) == [(128, 64), (192, 64)]
    assert sizes(linear(132), 4, gpu) == [((132 + 4 * lane) // 32 * 32, 32) for lane in range(32)]
    assert [(s.address, s.bytes) for s in models.coalesce(linear(128), 4, gpu, mask=0x80010000).segments] == [(192, 64)]
    assert sizes(linear(256, 8), 8, gpu) == [(256, 128), (384, 128)]
    assert sizes(linear(256, 16), 16, gpu) == [(256 + 128 * n, 128) for n in range(4)]
    swapped = linear(128)
    swapped[0], swapped[1] = swapped[1], swapped[0]
    assert sizes(swapped, 4, gpu) == [(128 + 4 * lane // 32 * 32, 32) for lane in range(16)] + [(192, 64)]
    assert len(sizes(linear(0, 2), 2, gpu)) == 32


def test_figure_16_of_the_guide_on_cc2() -> None:
    assert sizes(linear(128), 4, MACHINES["2.x lines"]) == [(128, 128)]
    assert sizes(linear(132), 4, MACHINES["2.x lines"]) == [(128, 128), (256, 128)]
    assert sizes(linear(128), 4, MACHINES["2.x sectors"]) == [(base, 32) for base in range(128, 256, 32)]
    assert sizes(linear(132), 4, MACHINES["2.x sectors"]) == [(base, 32) for base in range(128, 288, 32)]


def test_sectors_of_a_line_move_together_on_cc9() -> None:
    gpu = MACHINES["9.0"]
    assert sizes(linear(128), 4, gpu) == [(128, 128)]
    assert sizes(linear(132), 4, gpu) == [(128, 128), (256, 32)]
    assert sizes(linear(0, stride=16), 4, gpu) == [(base, 32) for base in range(0, 2048, 64)]
    assert sizes(linear(0, width=16), 16, gpu) == [(base, 128) for base in range(0, 512, 128)]


@pytest.mark.parametrize(("width", "size", "count"), [(1, 32, 2), (2, 32, 2), (4, 64, 2), (8, 128, 2), (16, 128, 4)])
def test_linear_access_on_cc13(width: int, size: int, count: int) -> None:
    """Per half-warp; chars of a half-warp fill half of a 32-byte segment, quads two 128-byte segments."""
    assert [bytes_ for _, bytes_ in sizes(linear(0, width), width, MACHINES["1.3"])] == [size] * count


@pytest.mark.parametrize(("width", "count"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)])
def test_linear_access_on_cc2(width: int, count: int) -> None:
    assert sizes(linear(0, width), width, MACHINES["2.x lines"]) == [(128 * n, 128) for n in range(count)]


@pytest.mark.parametrize("width", WIDTHS)
def test_one_lane_moves_the_least(width: int) -> None:
    for name, gpu in MACHINES.items():
        one = models.coalesce([4096 + 112], width, gpu)
        assert one.bytes == (128 if name == "2.x lines" else 32)


def test_stores_bypass_l1() -> None:
    assert sizes(linear(0), 4, MACHINES["2.x lines"], store=True) == [(base, 32) for base in range(0, 128, 32)]


@pytest.mark.parametrize("stride", [2, 4, 8, 16, 32, 100])
def test_large_strides_cost_one_sector_per_lane(stride: int) -> None:
    expected = {32 * (4 * stride * lane // 32) for lane in range(32)}
    assert sizes(linear(0, 4, stride), 4, MACHINES["3.5"]) == [(base, 32) for base in sorted(expected)]


def test_a_word_shared_by_all_lanes() -> None:
    assert sizes([400] * 32, 4, MACHINES["1.3"]) == [(384, 32), (384, 32)]
    assert sizes([400] * 32, 4, MACHINES["3.5"]) == [(384, 32)]


def test_the_end_of_the_address_space() -> None:
    top = (1 << 32) - 128
    assert sizes(linear(top), 4, MACHINES["1.3"]) == [(top, 64), (top + 64, 64)]
    assert sizes(linear(top), 4, MACHINES["2.x lines"]) == [(top, 128)]


def test_nobody() -> None:
    for gpu in MACHINES.values():
        assert len(models.coalesce(linear(0), 4, gpu, mask=0)) == 0


@pytest.mark.parametrize("name", MACHINES)
def test_machine_equals_definition_on_random_vectors(name: str) -> None:
    agree_on_random(MACHINES[name], seed=1, count=3_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_machine_equals_definition_on_a_hundred_thousand_vectors(name: str) -> None:
    agree_on_random(MACHINES[name], seed=2, count=100_000)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(list(MACHINES)), vectors(REACH), st.booleans())
def test_machine_equals_definition(name: str, vector: Vector, store: bool) -> None:
    agree(MACHINES[name], vector, store)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(list(MACHINES)), vectors(REACH), st.booleans())
def test_every_lane_is_served_once_and_completely(name: str, vector: Vector, store: bool) -> None:
    addresses, mask, width = vector
    rows = _core.coalesce(gpus.as_tuple(MACHINES[name]), addresses, width, mask, store)
    served = 0
    for address, size, lanes in rows:
        assert size in (32, 64, 96, 128) if name == "9.0" else size in (32, 64, 128)
        assert address % (32 if name == "9.0" else size) == 0
        assert address // 128 == (address + size - 1) // 128
        assert lanes & served == 0
        assert all(address <= addresses[lane] <= address + size - width for lane in bits(lanes))
        served |= lanes
    assert served == mask
    lowest = [bits(lanes)[0] for _, _, lanes in rows]
    assert name == "9.0" or lowest == sorted(lowest)
