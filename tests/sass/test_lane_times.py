"""What takes as long as lanes and other warps say, beside a card: MATCH, YIELD, NANOSLEEP, calls, jumps, lanes that
meet, loops of several warps, and sums by compare and swap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import smmux
from experiments.hardware.hopper.assembler import clock, ins, program
from experiments.hardware.hopper.bench import Bench, Row, register
from experiments.hardware.hopper.findings import rows
from experiments.hardware.hopper.probe_calls import calls, meets
from experiments.hardware.hopper.probe_code import branch_rates
from experiments.hardware.hopper.probe_lanes import (
    fence_rounds,
    group_orders,
    matches,
    naps,
    shared_sums,
    swaps,
    yield_turns,
    yields,
)
from experiments.hardware.hopper.probe_turns import loop_turns
from smmux import gpus
from tests.sass.conftest import needed


def beside(bench: Bench, probe: Callable[[Bench], Iterator[Row]], keys: Sequence[str], column: str) -> dict:
    """What the card and the machine say, by the values of the keys."""
    card = {tuple(row[key] for key in keys): float(row[column]) for row in rows("h200", probe.__name__)}
    found = {tuple(str(row[key]) for key in keys): float(row[column]) for row in probe(bench)}
    assert set(card) == set(found)
    return {key: (card[key], found[key]) for key in card}


def test_match_takes_as_long_as_there_are_values(bench: Bench) -> None:
    for key, (card, found) in beside(bench, matches, ("bits", "threads", "chained", "distinct"), "clocks").items():
        assert found == pytest.approx(card, rel=0.15), key


def test_lanes_that_let_others_go_on_take_a_cards_time(bench: Bench) -> None:
    for key, (card, found) in beside(bench, yields, ("what", "threads", "lanes"), "clocks").items():
        assert found == pytest.approx(card, rel=0.11), key


def test_lanes_that_let_others_go_on_take_the_cards_turns(bench: Bench) -> None:
    """In closed form: who has left the loop and comes to it again has its first try before the others, and then every
    other one."""
    for key, (card, found) in beside(bench, yield_turns, ("rounds", "lane", "round"), "tries").items():
        rounds, lane, i = map(int, key)
        assert card == found == sum(rounds * (32 - k) for k in range(lane)) + i * (32 - lane)


def test_calls_and_jumps_take_a_cards_time(bench: Bench) -> None:
    """A loop of four instructions in 32 warps, and jumps to three targets, take up to a third longer on the card."""
    errors = []
    for key, (card, found) in beside(bench, calls, ("kernel", "warps", "targets"), "clocks").items():
        errors.append(abs(found / card - 1))
        assert errors[-1] < (0.09 if key[1] == "1" else 0.15 if key[1] != "32" else 0.26), key
    assert np.mean(errors) < 0.05


def test_lanes_that_part_and_meet_take_a_cards_time_and_unit(bench: Bench) -> None:
    """Programs of one to 32 warps. What several warps' taken branches wait for their instructions is not simulated."""
    keys = ("case", "partitions", "warps")
    card = {tuple(row[key] for key in keys): float(row["clocks"]) for row in rows("h200", "branch_rates")}
    for row in branch_rates(bench):
        case, partitions, warps = key = tuple(str(row[key]) for key in keys)
        if "taken" not in case.replace("not taken", "") and "apart" not in case:
            limit = 0.05 if warps == "1" else 0.21
            assert row["clocks"] == pytest.approx(card[key], rel=limit, abs=0.2), key
        elif warps == "1":
            assert row["clocks"] == pytest.approx(card[key], rel=0.2), key


@pytest.mark.parametrize("form", ["YIELD", "BSYNC", "WARPSYNC.ALL"])
def test_what_no_lane_takes_part_in_costs_no_more_than_a_branch(bench: Bench, form: str) -> None:
    """Behind a guard that is false in all lanes, four warps to a sub-core; a YIELD that is executed takes 51 clocks."""
    words = [ins(form, guard=15, stall=5)]
    body = [clock(40), *words * 16, clock(41)]
    after = bench.run(program(body, loads=(0, 1)), bench.floats(16))
    assert (after[:, register(41), 0] - after[:, register(40), 0]).max() < 16 * 11


def test_groups_that_meet_take_a_cards_time_and_unit(bench: Bench) -> None:
    """Masks that name groups of lanes, and groups of cooperative groups, in 1 to 32 warps."""
    errors = {
        key: found / card - 1
        for key, (card, found) in beside(bench, meets, ("kernel", "warps", "groups"), "clocks").items()
    }
    assert max(abs(error) for key, error in errors.items() if key[1] == "1") < 0.07
    assert max(abs(error) for error in errors.values()) < 0.26
    assert np.mean(np.abs(list(errors.values()))) < 0.07


def test_warps_get_on_alike_in_loops(bench: Bench) -> None:
    """The last warp ends at a card's time; where rounds are short the first one ends with it, as on a card, whose
    scheduler stays with a warp for longer where rounds are long."""
    card: dict[tuple[str, str], list[int]] = {}
    for row in rows("h200", "loop_turns"):
        card.setdefault((row["kernel"], row["warps"]), []).append(int(row["5"]))
    found: dict[tuple[str, str], list[int]] = {}
    for row in loop_turns(bench):
        found.setdefault((row["kernel"], str(row["warps"])), []).append(row["5"])
    for key, ends in found.items():
        assert max(ends) == pytest.approx(max(card[key]), rel=0.13), key
        if key[0] in ("chain8", "wide8", "loads", "roots"):
            assert min(card[key]) > 0.85 * max(card[key]), key
            assert min(ends) > 0.85 * max(ends), key


def test_groups_whose_lanes_have_parted_go_on_in_the_cards_order(bench: Bench) -> None:
    """Every group of 60 runs, in turn: place in the kernel and lanes."""
    card = [tuple(row.values()) for row in rows("h200", "group_orders")]
    assert [tuple(map(str, row.values())) for row in group_orders(bench)] == card
    assert sum(len(groups.split()) for _, _, groups in card) > 13_000


def test_lanes_that_swap_and_warps_that_lock_take_a_cards_time(bench: Bench) -> None:
    """Of one warp tries and groups are known; those of several depend on who comes first."""
    keys = ("kernel", "blocks", "threads")
    card = {tuple(row[key] for key in keys): row for row in rows("h200", "swaps")}
    for row in swaps(bench):
        there = card[tuple(str(row[key]) for key in keys)]
        assert row["clocks"] == pytest.approx(float(there["clocks"]), rel=0.17)
        slack = 0 if row["blocks"] == 1 and row["threads"] <= 32 else 0.55
        for column in ("tries", "groups"):
            assert row[column] == pytest.approx(float(there[column]), rel=slack), row


def test_warps_sleep_until_the_clock_ticks(bench: Bench) -> None:
    """Of 32 warps the shortest sleeps are longer on the card, where something else is busy."""
    for key, (card, found) in beside(bench, naps, ("warps", "nanoseconds"), "median").items():
        if int(key[1]) >= 50 and (int(key[0]) == 1 or int(key[1]) >= 64):
            assert found == pytest.approx(card, rel=0.06), key


def test_sums_by_compare_and_swap_let_one_lane_in_at_a_time(bench: Bench) -> None:
    """Sums that the compiler makes, and loops of the source, whose lanes also let others go on."""
    sides = beside(bench, shared_sums, ("what", "threads", "lanes"), "clocks")
    errors = {key: found / card - 1 for key, (card, found) in sides.items()}
    assert max(abs(error) for key, error in errors.items() if key[0] != "loop") < 0.33
    assert max(abs(error) for error in errors.values()) < 0.45
    assert np.mean(np.abs(list(errors.values()))) < 0.15


def test_fences_take_turns_in_a_multiprocessor(bench: Bench) -> None:
    """Medians of all warps, of which half store to the far half of the L2 where only one or few of each block do."""
    keys = ("stores", "blocks", "threads")
    for key, (card, found) in beside(bench, fence_rounds, keys, "median").items():
        if key != ("1", "132", "32"):
            assert found == pytest.approx(card, rel=0.35), key


@pytest.mark.parametrize("clk", [None, 147])
def test_a_fence_behind_a_store_takes_as_long_wherever_that_goes(clk: int | None) -> None:
    """24 places in both halves of the L2, for each multiprocessor, which lie in both, too; with what a fence takes that
    has nothing to wait for, a store to the near half would let it go on early."""
    needed("nvcc", "nvdisasm")
    kernel = smmux.load(
        """extern "C" __global__ void fences(unsigned *out, unsigned *words) {
               for (int k = 0; k < 24; k++) {
                   unsigned begin = clock();
                   *(volatile unsigned *)(words + 2048 * k + 8 * blockIdx.x) = k;
                   __threadfence();
                   out[24 * blockIdx.x + k] = clock() - begin;
               }
           }"""
    )["fences"]
    asked = ("__threadfence", "store")
    (card,) = (row["clocks"] for row in rows("h200", "fences") if (row["fence"], row["behind"]) == asked)
    machine = gpus.get("H200")
    out = np.zeros((machine.sm_count, 24), np.uint32)
    arrays = [out, np.zeros(24 * 2048, np.uint32)]
    kernel.simulate(machine.sm_count, 1, arrays, machine if clk is None else machine.replace(fence_stores=clk))
    least = np.percentile(out[:, 1:], 10)
    usual = np.median([int(clocks) for clocks in card.split()])
    assert (least == pytest.approx(usual, rel=0.1)) == (clk is None)


def test_a_sleep_ends_when_a_clock_of_its_length_ticks(bench: Bench) -> None:
    """In closed form: the end of each is the next multiple of the least power of two that is more than it asks for."""
    gpu = gpus.get("H200")
    for wanted, tick in ((64, 128), (1_000, 1_024), (1_024, 2_048), (3_000_000, 1 << 20)):
        kernel = bench.module("lanes").module["naps"]
        out = np.zeros(3, np.uint32)
        result = kernel.simulate(1, 1, [out, np.uint32(wanted), np.int32(3)], gpu=gpu)
        clocks = tick * gpu.shader_khz / 1e6
        assert result.cycles > 2 * clocks
        assert out[1] == pytest.approx(clocks, abs=60)
        assert out[2] == pytest.approx(clocks, abs=60)
