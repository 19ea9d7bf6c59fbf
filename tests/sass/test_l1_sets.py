"""Which lines the L1 of the H100 keeps, against what a card missed and against a definition in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

import smmux
from experiments.hardware.hopper.bench import FOLDER
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_sets import HIT, HOT, again, behind, beside, offsets, rounds_of
from smmux import gpus
from smmux.compiler.sass import tools
from smmux.modules.module import Module
from tests.sass.conftest import needed

BANKS, WAYS, ROWS = 4, 4, 128
MASKS = (0x1AB7AB5, 0xF2D5DA, 0x97C080, 0x1A04884, 0x1AA6785, 0x12ED900, 0x917B12, 0x1E8F08E, 0xB8CF1A)
"""Of a line's number those bits whose parity is a bit of its set's; the first two say the bank."""


@cache
def module() -> Module:
    needed("nvcc", "nvdisasm")
    return smmux.load(tools.compile_cuda(FOLDER / "sets.cu", "sm_90", ())[0])


FIRST = 1 << 18
"""The number of the line from which on the tests count lines."""
WHERE = 'extern "C" __global__ void where(char *at, unsigned *out) { *out = (unsigned)(unsigned long long)at; }'


@cache
def address(size: int) -> int:
    """Where the first array of a launch lies that has so many bytes."""
    needed("nvcc", "nvdisasm")
    out = np.zeros(1, np.uint32)
    smmux.load(WHERE, arch="sm_90")["where"].simulate(1, 1, [np.zeros(size, np.uint8), out], gpu="H100")
    return int(out[0])


class Steps:
    """Which lines of a sequence the machine misses, with so much shared memory."""

    def __init__(self, kilobytes: int) -> None:
        self.gpu = gpus.get("H100").with_carveout(kilobytes)

    def __call__(self, lines: Sequence[int] | np.ndarray) -> np.ndarray:
        data = np.zeros(1 << 26, np.uint8)
        steps = offsets(lines) + np.uint32(128 * FIRST - address(len(data)))
        out = np.zeros(len(lines), np.uint16)
        values = [data, steps, np.int32(len(steps)), out]
        module()["steps"].simulate(1, 1, values, gpu=self.gpu, dynamic_shared=4 * len(steps))
        return np.asarray(out > HIT)


def defined(lines: Sequence[int], kept: int) -> list[bool]:
    """What an L1 misses that keeps so many lines, in quarters: where one is full the next set lets a line go, and a set
    that is full does: of those not used since they came the one that was used least recently."""
    sets: dict[int, list[int]] = {}  # least recently used first
    hand, used = [0] * BANKS, dict.fromkeys(lines, False)
    found = []

    def remove_one(own: list[int]) -> None:
        if all(used[line] for line in own):
            used.update(dict.fromkeys(own, False))
        own.remove(next(line for line in own if not used[line]))

    for line in lines:
        number = sum((line & mask).bit_count() % 2 << i for i, mask in enumerate(MASKS))
        own, bank = sets.setdefault(number, []), number % BANKS
        found.append(line not in own)
        if line in own:
            own.remove(line)
            own.append(line)
            used[line] = True
            continue
        if sum(len(others) for s, others in sets.items() if s % BANKS == bank) >= kept // BANKS:
            while not sets.get(hand[bank] * BANKS + bank):
                hand[bank] = (hand[bank] + 1) % ROWS
            others = sets[hand[bank] * BANKS + bank]
            hand[bank] = (hand[bank] + 1) % ROWS
            remove_one(others)
        if len(own) == WAYS:
            remove_one(own)
        own.append(line)
        used[line] = False
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_misses_are_those_of_the_definition(seed: int) -> None:
    """Random sequences of lines near and far, some of them in use for long."""
    rng = np.random.default_rng(seed)
    kilobytes = (228, 196)[seed % 2]
    kept = (256 - kilobytes) * 8 - 56
    pool = rng.choice((1 << 15, 4 * kept)[seed // 2 % 2], 2 * kept, replace=False)
    lines = pool[np.minimum(rng.geometric(1.2 / kept, 3000), len(pool)) - 1]
    assert Steps(kilobytes)(lines).tolist() == defined((FIRST + lines).tolist(), kept)


def test_lines_that_drive_each_other_out_on_the_card_are_a_set_here() -> None:
    """All of a set, and those of each further bit, are in one; any other four leave a fifth alone."""
    found = {row["what"]: [int(line) for line in row["lines"].split()] for row in rows("h200", "l1_sets")}
    others = found["set"][:4]
    steps = Steps(132)
    for line in [*found["set"][4:20], *(found[f"bit {bit}"][0] for bit in range(15, 18))]:
        assert steps([*others, line] * 6)[-5:].any(), line
    for line in range(3000, 3016):
        assert line in found["set"] or not steps([*others, line] * 6)[-5:].any(), line


@pytest.mark.quick(1)
@pytest.mark.parametrize("kilobytes", [132, 228, 64])
def test_rounds_miss_what_they_do_on_the_card(kilobytes: int) -> None:
    """In the first rounds, too, but with 228 kB, where a card takes some rounds until all lines have found a place."""
    kept = (256 - kilobytes) * 8 - 56
    measured = [row for row in rows("h200", "l1_rounds") if int(row["shared_kb"]) == kilobytes]
    for row in measured[: 1 if kilobytes == 64 else None : 2]:
        found = rounds_of(Steps(kilobytes), kilobytes, int(row["lines"]), 12)
        if int(row["lines"]) <= kept:
            assert not found[1:].any()
        elif kilobytes == 228:
            assert found[6:].mean() == pytest.approx(float(row["later"]), abs=0.08), row
        else:
            card = [float(row[f"round_{i}"]) for i in (2, 3, 4)]
            assert found[1:4] == pytest.approx(card, abs=0.08), row


def test_lines_stay_as_long_as_on_the_card() -> None:
    steps, large = Steps(228), Steps(32)
    for row in rows("h200", "l1_stay")[2::3]:
        lines, missed = int(row["lines"]), float(row["missed"])
        if row["what"].endswith("before new ones"):
            asked = row["what"].removeprefix("asked for ").removesuffix(" before new ones")
            share = large(behind(asked, lines))[-len(HOT) :].mean()
        elif row["what"] == "in use beside new ones":
            found = steps(beside(lines, 9000 // (lines + 1)).ravel()).reshape(-1, lines + 1)
            share = found[len(found) // 3 :, :lines].mean()
        else:
            times = int(row["what"].split()[2])
            share = steps(again(lines, times, 3000).ravel()).reshape(-1, times)[1000:, -1].mean()
        assert share == pytest.approx(missed, abs=0.1), row


def test_what_is_asked_for_again_behind_many_others_is_asked_of_the_l2() -> None:
    """A line on its way keeps its place until it has come, and no longer, if there are many behind it."""
    for row in rows("h200", "asked_again"):
        lines = int(row["lines"])
        if row["asked_percent"] == "100" and lines in {32, 128, 256, 384, 768}:
            data, out = np.zeros(16 * 32 * lines, np.float32), np.zeros(32, np.float32)
            gpu = gpus.get("H100").with_carveout(228)
            result = module()["asked_again"].simulate(1, lines, [data, out, np.int32(16)], gpu=gpu, warm=True)
            sectors = result.counters["transaction_bytes"] / 32
            assert sectors == pytest.approx(float(row["xbar_sectors"]), rel=0.15), row


def test_no_more_lines_are_on_their_way_than_have_places() -> None:
    sizes = dict(gpus.get("H100").carveouts)
    for size in sizes:
        gpu = gpus.get("H100").with_carveout(size)
        assert gpu.l1_mshrs == min(768, (256 - size) * 8)
        assert gpu.l1_bytes == (256 - size - 7) * 1024
