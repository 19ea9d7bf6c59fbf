"""Where lines of an H100 and an H200 lie, and what atomics on them take, against what the cards showed."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import _core, cuda, gpus
from smmux.machines.models_memory import Memory
from tests.memory.test_memory import ATOMIC, packets

pytestmark = pytest.mark.checkout
FOLDER = Path(__file__).parents[2] / "experiments" / "hardware" / "hopper"
CARDS = ("H100", "H200")
LINE, PAGE = 128, 4096


def array(card: str, name: str, which: str) -> np.ndarray:
    with np.load(FOLDER / card.lower() / f"{name}.npz") as file:
        found: np.ndarray = file[which]
        return found


@cache
def machine(card: str) -> tuple[float, ...]:
    return gpus.as_tuple(gpus.get(card))


def place(card: str, address: int) -> tuple[int, int]:
    """Partition, and address in it."""
    found = _core.dram_map(machine(card), address)
    return found[0], found[4]


@pytest.mark.parametrize("card", CARDS)
def test_lines_of_four_kilobytes_share_slices_as_on_the_card(card: str) -> None:
    classes = array(card, "l2_slices", "classes")
    for first in range(0, 2048, PAGE // LINE):
        lines = [(line, place(card, LINE * line)[0]) for line in range(first, first + PAGE // LINE)]
        for (a, of_a), (b, of_b) in combinations(lines, 2):
            assert (of_a == of_b) == (classes[a] == classes[b]), (a, b)


@pytest.mark.parametrize("card", CARDS)
def test_no_two_addresses_share_a_place(card: str) -> None:
    places = {place(card, 256 * block) for block in range(20_000)}
    assert len(places) == 20_000


@pytest.mark.parametrize("card", CARDS)
def test_halves_are_those_of_the_card(card: str) -> None:
    """Atomics in the far half take longer; which half that is depends on the parity of some address bits."""
    mask = gpus.get(card).side_mask
    for clocks in array(card, "l2_lines", "atomics_0"):
        far = clocks > np.median(clocks)
        parity = np.array([(LINE * line & mask).bit_count() & 1 for line in range(len(clocks))], bool)
        assert ((far == parity) == (far[0] == parity[0])).all()


def test_atomics_of_a_slice_take_its_unit_in_turn() -> None:
    """Single lanes on one word, on two lines of one slice, and all lanes of a warp on one word: a time for each."""
    gpu = gpus.get("H100")
    each = gpu.atom_unit / 100 * gpu.shader_khz / gpu.icnt_khz

    def hundred(addresses: list[int], lanes: int) -> float:
        """Clocks of a hundred more, of a thousand, once the slices have had all lines from DRAM for a while."""
        of = [
            packets((addresses * n)[:n], kind=ATOMIC, lanes=lanes, sm=np.arange(n) % gpu.sm_count) for n in (7000, 8000)
        ]
        return (Memory(gpu).replay(of[1]).cycles - Memory(gpu).replay(of[0]).cycles) / 10

    alone = hundred([0], 1)
    assert alone == pytest.approx(100 * each, rel=0.05)
    assert hundred([0, LINE], 1) == pytest.approx(alone, rel=0.05)
    assert hundred([0, 2 * LINE], 1) == pytest.approx(alone / 2, rel=0.1)
    assert hundred([0], 32) == pytest.approx(32 * alone, rel=0.05)


@cuda.jit
def add_to_words(counts: Any, times: int, apart: int) -> None:
    for _ in range(times):
        cuda.atomic.add(counts, cuda.threadIdx.x % 32 * apart, 1)


@pytest.mark.parametrize(("apart", "sectors", "time"), [(1, 4, "atom_whole"), (2, 8, "atom_unit")])
def test_sectors_of_which_all_words_are_wanted_are_cheaper(apart: int, sectors: int, time: str) -> None:
    """Warps of all multiprocessors add to the same 32 words, of one line or of two, which one slice has."""
    gpu, blocks, clocks = gpus.get("H100"), 132, []
    for times in (8, 24):
        counts = np.zeros(64, np.int32)
        clocks.append(add_to_words.simulate(blocks, 128, (counts, times, apart), gpu=gpu).cycles)
        assert (counts[: 32 * apart : apart] == 4 * blocks * times).all()
    each = getattr(gpu, time) / 100 * gpu.shader_khz / gpu.icnt_khz
    assert clocks[1] - clocks[0] == pytest.approx(16 * 4 * blocks * sectors * each, rel=0.03)
