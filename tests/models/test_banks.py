"""Shared-memory banks: closed forms of the programming guide, then the machine against its definition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings, strategies as st

from smmux import _core, gpus, models
from tests.models.vectors import WIDTHS, Vector, bits, random_vectors, vectors
from tests.reference import banks

MACHINES = {
    "1.x": gpus.get("GTX285"),
    "2.x": gpus.get("GTX480-48K"),
    "3.x, 4-byte": gpus.get("K20c").replace(smem_bank_bytes=4),
    "3.x, 8-byte": gpus.get("K20c").replace(smem_bank_bytes=8),
    "9.0": gpus.get("H100"),
}
FULL = (1 << 32) - 1


def defined(vector: Vector, gpu: gpus.Gpu) -> tuple[int, int]:
    addresses, mask, width = vector
    return banks.passes(addresses, bits(mask), width, gpu.smem_rule, gpu.smem_banks, gpu.smem_bank_bytes)


def strided(stride: int, width: int, gpu: str, base: int = 0, mode: int | None = None) -> models.BankAccess:
    """Element `stride * lane` of an array that starts at byte `base`."""
    return models.bank_passes([base + width * stride * lane for lane in range(32)], width, gpu, mode)


def agree(gpu: gpus.Gpu, seed: int, count: int) -> None:
    config = gpus.as_tuple(gpu)
    for vector in random_vectors(seed, count, gpu.smem_bytes):
        addresses, mask, width = vector
        assert _core.bank_passes(config, addresses, width, mask) == defined(vector, gpu), (vector, gpu)


@pytest.mark.parametrize("stride", range(65))
def test_stride_of_words_on_16_banks(stride: int) -> None:
    ways = math.gcd(stride, 16) if stride else 1
    assert strided(stride, 4, "GTX285").passes == 2 * ways


@pytest.mark.parametrize("stride", range(65))
def test_stride_of_words_on_32_banks(stride: int) -> None:
    assert strided(stride, 4, "GTX480-48K").passes == (math.gcd(stride, 32) if stride else 1)


@pytest.mark.parametrize(("width", "clk"), [(1, 16), (2, 8), (4, 4), (8, 16), (16, 64)])
def test_linear_access_on_gtx285(width: int, clk: int) -> None:
    """Neighbouring chars and shorts conflict; 64 and 128 bits are 2 and 4 requests of stride 2 and 4."""
    assert strided(1, width, "GTX285").clk == clk


@pytest.mark.parametrize(("width", "clk"), [(1, 2), (2, 2), (4, 2), (8, 4), (16, 12)])
def test_linear_access_on_gtx480(width: int, clk: int) -> None:
    """As measured by gpumembench: 15.94, 7.98 and 2.64 accesses of 32, 64 and 128 bits per clock and SM."""
    access = strided(1, width, "GTX480-48K")
    assert (access.clk, access.conflicts) == (clk, 0)


@pytest.mark.parametrize("mode", [4, 8])
@pytest.mark.parametrize(("width", "passes"), [(1, 1), (2, 1), (4, 1), (8, 1), (16, 2)])
def test_linear_access_on_k20c(width: int, passes: int, mode: int) -> None:
    assert strided(1, width, "K20c", mode=mode).passes == passes


@pytest.mark.parametrize(("mode", "passes"), [(4, 2), (8, 1)])
def test_unaligned_float2_conflicts_in_4_byte_mode_only(mode: int, passes: int) -> None:
    assert strided(1, 8, "K20c", base=8, mode=mode).passes == passes


def test_words_32_apart_share_a_bank_row_in_4_byte_mode() -> None:
    pair = [0, 32 * 4]
    assert models.bank_passes(pair, gpu="K20c", mode=4).passes == 1
    assert models.bank_passes([4 * 16, 4 * 48, 4 * 80], gpu="K20c", mode=4).passes == 2
    assert models.bank_passes(pair, gpu="GTX480-48K").passes == 2


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-48K", "K20c"])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_broadcast_never_conflicts(gpu: str, width: int) -> None:
    assert strided(0, width, gpu).conflicts == 0


def test_cc1_broadcasts_one_word_per_pass_and_cc2_several() -> None:
    """Two words of different banks, each read by half of the lanes of a half-warp."""
    addresses = [4 * (lane % 2) for lane in range(16)]
    # First pass: the eight readers of word 0 and one of word 1; second pass: the other readers of word 1.
    assert models.bank_passes(addresses, gpu="GTX285").passes == 2
    assert models.bank_passes(addresses, gpu="GTX480-48K").passes == 1


def test_cc1_broadcast_steps_of_the_guide() -> None:
    """The word of the lowest waiting lane is broadcast: two words of one bank need one pass each."""
    word = dict(enumerate([5, 21, 5, 21, 5, 6]))
    assert banks.broadcast_steps(word, 16) == [[0, 2, 4, 5], [1, 3]]


def test_half_warps_do_not_conflict_with_each_other() -> None:
    addresses = [64 * 16 * (lane // 16) + 4 * (lane % 16) for lane in range(32)]
    assert models.bank_passes(addresses, gpu="GTX285").conflicts == 0


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-48K", "K20c"])
@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_that_take_no_part_cost_nothing(gpu: str, width: int) -> None:
    nobody = models.bank_passes(range(0, 32 * width, width), width, gpu, mask=0)
    assert (nobody.passes, nobody.ideal, nobody.clk) == (0, 0, 0)
    one = models.bank_passes([0] * 31 + [width], width, gpu, mask=1 << 31)
    assert one.conflicts == 0


@pytest.mark.parametrize("name", MACHINES)
def test_machine_equals_definition_on_random_vectors(name: str) -> None:
    agree(MACHINES[name], seed=1, count=2_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_machine_equals_definition_on_a_hundred_thousand_vectors(name: str) -> None:
    agree(MACHINES[name], seed=2, count=100_000)


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("name", MACHINES)
def test_machine_equals_definition_with_any_number_of_banks(name: str, count: int) -> None:
    agree(MACHINES[name].replace(smem_banks=count), seed=count, count=300)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(list(MACHINES)), vectors(16384))
def test_machine_equals_definition(name: str, vector: Vector) -> None:
    gpu = MACHINES[name]
    addresses, mask, width = vector
    assert _core.bank_passes(gpus.as_tuple(gpu), addresses, width, mask) == defined(vector, gpu)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(list(MACHINES)), vectors(16384))
def test_bounds(name: str, vector: Vector) -> None:
    """Never below a conflict-free access, never above one lane and one word at a time."""
    addresses, mask, width = vector
    gpu = MACHINES[name]
    passes, ideal = _core.bank_passes(gpus.as_tuple(gpu), addresses, width, mask)
    words = max(1, width // 4)
    empty = {8: 2, 16: 4}.get(width, 0) if name == "9.0" else 0  # parts of a warp that take a pass without lanes
    assert ideal <= passes <= len(bits(mask)) * words + max(2 if width == 16 else 0, empty)
    assert (ideal == 0) == (mask == 0 and not empty)


@pytest.mark.long
@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["2.x", "3.x, 4-byte", "3.x, 8-byte"]), vectors(16384))
def test_more_banks_never_more_passes(name: str, vector: Vector) -> None:
    addresses, mask, width = vector
    passes = [
        _core.bank_passes(gpus.as_tuple(MACHINES[name].replace(smem_banks=count)), addresses, width, mask)[0]
        for count in (8, 16, 32, 64)
    ]
    assert passes == sorted(passes, reverse=True)


@settings(max_examples=100, deadline=None)
@given(vectors(16384, widths=(4,)), st.randoms(use_true_random=False))
def test_order_of_lanes_does_not_matter_from_cc2_on(vector: Vector, rng: object) -> None:
    addresses, _, width = vector
    shuffled = list(addresses)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    for gpu in list(MACHINES.values())[1:]:
        config = gpus.as_tuple(gpu)
        assert _core.bank_passes(config, shuffled, width, FULL) == _core.bank_passes(config, addresses, width, FULL)


@pytest.mark.checkout
@pytest.mark.parametrize("form", ["LDS", "LDS.64", "LDS.128"])
def test_passes_on_hopper_are_those_of_a_card(form: str) -> None:
    """Clocks per access with all four sub-cores loading, of every pattern that was measured."""
    from experiments.hardware.hopper import findings, probe_pipe

    for row in findings.rows("h100", "shared_phases"):
        if row["form"] == form:
            words = probe_pipe.patterns(probe_pipe.words_of(form))[row["pattern"]]
            mask = sum(1 << lane for lane in range(32) if words[lane] >= 0)
            addresses = [4 * max(int(word), 0) for word in words]
            found = _core.bank_passes(gpus.as_tuple(MACHINES["9.0"]), addresses, 4 * probe_pipe.words_of(form), mask)
            assert found[0] == round(float(row["per_multiprocessor"])), row
