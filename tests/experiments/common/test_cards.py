"""Machines that differ from the paper's cards in one assumption."""

from __future__ import annotations

import math
from typing import Any

import pytest

from experiments.common import cards, runs
from smmux import gpus


def test_half_lanes_leave_the_memory_alone() -> None:
    own, slow = gpus.get("GTX480-16K").to_dict(), cards.half_lanes().to_dict()
    changed = {name: (own[name], slow[name]) for name in own if own[name] != slow[name]}
    del changed["name"]
    assert all(after == 2 * before for before, after in changed.values())
    assert set(changed) == {"issue_interval", *(f"issue_{name}" for name in cards.ARITHMETIC)}


def test_a_card_without_bounds_of_queues_differs_in_room_and_credits_alone() -> None:
    own, unbounded = gpus.get("GTX285").to_dict(), cards.unbounded("GTX285").to_dict()
    changed = {name: value for name, value in unbounded.items() if value != own[name] and name != "name"}
    assert changed == {"port_room": 0, "credits": 512}


def test_sensitivities_change_one_assumption_each() -> None:
    own = cards.card().to_dict()
    changed = {
        machine.name.removeprefix(f"{cards.GPU}, "): {
            name: value for name, value in machine.to_dict().items() if value != own[name] and name != "name"
        }
        for machine in cards.sensitivities()
    }
    in_cycles = {"t_ccd", "t_rtp"}
    timing = {name: value for name, value in own.items() if name.startswith("t_") and value and name not in in_cycles}
    assert changed == {
        "ns-scaled DRAM": {name: math.ceil(cycles * 1100 / 800) for name, cycles in timing.items()},
        "flat memory": {"mem_model": 0},
        "single issue": {"issue_width": 1},
        "OCC21 occupancy": {"reg_unit": 512, "reg_alloc_warp": 0, "warp_gran": 2, "smem_unit": 512},
        "block start 128 clk": {"block_start": 128},
        "block start 1000 clk": {"block_start": 1000},
        "memory 60 clk farther": {"mem_pipeline": own["mem_pipeline"] + 60},
    }


@pytest.mark.parametrize("name", ["FFT", "SP"])
def test_room_alone_changes_nothing(name: str) -> None:
    """Up to K+3, where the card has room enough, the roomy one gives the same bits."""
    found = []
    for gpu in (cards.card(), cards.roomy()):
        common: dict[str, Any] = {
            "benchmark": name,
            "build": "staged",
            "schedule": "source",
            "gpu": gpu,
            "size": "tiny",
            "budgeted": True,
        }
        run = runs.simulate(variant="hw", management="dynamic", extra_blocks=3, registers_of=cards.card(), **common)
        found.append(run)
    assert found[0] == found[1] | {"limiter": found[0]["limiter"]}
