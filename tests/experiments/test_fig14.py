"""Figure 14 as data: speedups, means and verdicts from records whose answer is known; then a small run of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from experiments import fig14
from experiments.claims import contrast, protocol
from experiments.common import beside, cards, runs, speedups, stalls
from experiments.common.schedules import IN_SIMULATION
from experiments.common.verdicts import Verdict, claims, judge
from smmux import benchmarks, cuda, int32, smm
from smmux.models import SharedMemoryTable


def verdicts_of(judges: Any, records: list[dict] = []) -> list[Verdict]:  # noqa: B006
    """The verdicts of one module of judges."""
    own = [claim.id for claim in claims().values() if claim.judge.startswith(judges.__name__.rpartition(".")[2] + ":")]
    return [v for v in (judge(claim, records) for claim in own) if v]


def record(benchmark: str, schedule: str, variant: str, extra: int, cycles: int) -> dict:
    idle = dict.fromkeys((f"idle_{reason}" for reason in stalls.REASONS[1:]), 0)
    return {
        "benchmark": benchmark, "variant": variant, "build": benchmarks.get(benchmark).builds[0],
        "schedule": schedule, "gpu": cards.GPU, "extra_blocks": extra, "cycles": cycles, "blocks": 10,
        "residency": 1 + extra, "registers": 20, "instructions": 1000 + bool(extra),
        "allocations": 40, "allocation_waits": 20,
        "region_cycles": cycles, "block_cycles": 30 * cycles * (1 + extra), "scheduler_cycles": 4 * cycles,
        "issue_cycles": cycles, **idle, "idle_global": 3 * cycles, "n": 2 if variant.startswith("vtb") else 1,
        "threads": 64, "barrier_wait_cycles": 0, "allocation_wait_cycles": 0,
    }  # fmt: skip


@pytest.fixture
def records() -> list[dict]:
    cycles = {"FFT": (400, 100, 200), "HG": (100, 100, 50)}
    made = [
        record(name, schedule, "hw" if extra else "baseline", extra, found)
        for name, row in cycles.items()
        for schedule in IN_SIMULATION
        for extra, found in zip((0, 2, 3), row, strict=True)
    ]
    made += [record("HG", schedule, "co_hw", 1, 125) for schedule in IN_SIMULATION]
    return speedups.with_speedups(made)


@pytest.fixture
def with_software(records: list[dict]) -> list[dict]:
    """With VTB, VTB_pipe and as many blocks of HW, for the schedule that heads; all benchmarks as HG but FFT."""
    made = list(records)
    for name in speedups.LIMITED:
        row = (200, 250, 240) if name == "FFT" else (95, 110, 90)
        made += [record(name, "source", "baseline", 0, 400 if name == "FFT" else 100)]
        own = (("hw", beside.doubling(name)), ("vtb", 0), ("vtb_pipe", 0))
        made += [record(name, "source", "hw", contrast.MOST, row[0])]
        for (variant, extra), found in zip(own, row, strict=True):
            made.append(record(name, "source", variant, extra, found))
            life = made[-1]["block_cycles"]
            made[-1] |= {"barrier_wait_cycles": life // 10 if variant == "hw" else life}  # of two warps
            made[-1] |= {"allocation_wait_cycles": life // 4 if variant == "hw" else 0}
    return speedups.with_speedups(made)


def test_bars_are_speedups_and_their_geometric_mean(records: list[dict]) -> None:
    bars = speedups.bars(records)
    found = {(b["benchmark"], b["schedule"], b["variant"], b["extra_blocks"]): b["speedup"] for b in bars}
    assert found["FFT", "source", "hw", 2] == 4
    assert found["HG", "list", "hw", 3] == 2
    assert found["GM", "source", "hw", 2] == pytest.approx(2)
    assert found["GM", "source", "hw", 3] == pytest.approx(2)
    assert found["GM", "list", "co_hw", 1] == found["HG", "list", "co_hw", 1] == pytest.approx(0.8)
    assert len(found) == 2 * (2 * 3 + 2)


def test_baselines_are_their_own_unit(records: list[dict]) -> None:
    assert {r["speedup"] for r in records if r["variant"] == "baseline"} == {1.0}


def test_instructions_are_added_to_every_benchmark_and_ipc_counts_them(records: list[dict]) -> None:
    """FFT takes a quarter of the cycles for 1001 instead of 1000 instructions."""
    found = judge("P59", records)
    assert (found.reproduced, found.ours["FFT"]) == (True, [1.001, 4.004, 4.0])
    for r in records:
        if r["benchmark"] == "HG":
            r["instructions"] = 1000
    assert judge("P59", records).reproduced is False


def test_picture_has_a_bar_per_point_perfect_fetch_and_the_papers_means(records: list[dict]) -> None:
    fetched = [r | {"gpu": cards.PERFECT_FETCH} for r in records if r["schedule"] == "source"]
    ax = fig14.plot(records + fetched, Figure().add_subplot())
    assert [len(bars) for bars in ax.containers] == [3, 3, 2]
    marks, *paper = (list(line.get_ydata()) for line in ax.lines)
    assert sorted(marks) == sorted(bar.get_height() for bars in ax.containers for bar in bars)
    assert paper[:2] == [[1.53] * 2, [1.42] * 2]
    assert "gains 2.00 with two and 2.00 with three blocks" in fig14.caption(records + fetched)


def test_fft_blocks_run_together_and_take_turns(records: list[dict]) -> None:
    found = judge("P40", records)
    assert (found.reproduced, found.ours) == (True, {"blocks in flight": 3, "granted at a time": 1})
    for alone in ({"block_cycles": 30 * 100}, {"allocation_waits": 0}):
        other = judge("P40", [r | alone for r in records])
        assert other.reproduced is False


def test_verdicts_from_means_and_sources(records: list[dict]) -> None:
    verdicts = {v.id: v for v in fig14.check(records)}
    assert verdicts["P3"].reproduced is False
    assert verdicts["P3"].ours == [2.0, 4.0]
    assert "+30.7%, +70.9%" in verdicts["P3"].note
    assert verdicts["P44"].reproduced is False
    assert "P47" not in verdicts
    assert verdicts["P45"].ours == {"HG": 0.4}
    assert verdicts["P54"].ours == {"FFT": [4, 4, 4], "HG": [1, 1, 1]}
    assert verdicts["P57"].reproduced is True


def test_hardware_stands_beside_software(with_software: list[dict]) -> None:
    verdicts = {v.id: v for v in verdicts_of(contrast, with_software)}
    assert verdicts["P41"].ours == dict.fromkeys(speedups.LIMITED, [0.05, 0.5, 0.5, 0.3])
    assert "FFT 4.0 2.0" in verdicts["P41"].note
    assert verdicts["P41"].reproduced is True
    assert verdicts["P47"].ours["FFT"] == [2, 1.6, 1.667]
    assert verdicts["P47"].ours["HG"] == [1.053, 0.909, 1.111]
    assert verdicts["P47"].reproduced is False
    assert "HW above both by 5% for FFT" in verdicts["P47"].note
    assert "FFT 2.000 1.600" in " ".join(beside.table(with_software).split())


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"block_cycles": 30 * 200}, "more blocks in flight than VTB for {}"),
        ({"barrier_wait_cycles": 10**9, "allocation_wait_cycles": 0}, "less time at barriers than both for {}"),
        ({"barrier_wait_cycles": 11760, "allocation_wait_cycles": 0}, "less time at barriers than both for {}"),  # 2 %
        ({"barrier_wait_cycles": 0, "allocation_wait_cycles": 11760}, "less waiting in all for {}"),  # the same
        ({"allocation_wait_cycles": 10**9}, "less waiting in all for {}"),
    ],
)
def test_one_benchmark_that_lacks_a_part_of_the_claim_is_a_deviation(
    with_software: list[dict], change: dict[str, int], part: str
) -> None:
    worse = [r | change if (r["benchmark"], r["variant"]) == ("FFT", "hw") else r for r in with_software]
    found = {v.id: v for v in verdicts_of(contrast, worse)}["P41"]
    assert found.reproduced is False
    assert part.format(", ".join(name for name in speedups.LIMITED if name != "FFT")) in found.note


@pytest.mark.parametrize(
    ("cycles", "unaffected"),
    [
        ({}, True),
        ({"hw": 104, "vtb": 97}, True),
        ({"vtb_pipe": 160}, False),
        ({"vtb": 90}, False),
        ({"hw": 110}, False),
    ],
)
def test_what_shared_memory_does_not_limit_neither_gains_nor_loses(cycles: dict[str, int], unaffected: bool) -> None:
    made = [record("RD", "source", v, extra, cycles.get(v, 100)) for v, extra in (("baseline", 0), ("hw", 2))]
    made += [record("RD", "source", v, 0, cycles.get(v, 100)) for v in ("vtb", "vtb_pipe")]
    [found] = verdicts_of(contrast, speedups.with_speedups(made))
    assert (found.id, found.reproduced) == ("P56", unaffected)


def test_claims_about_management_hold() -> None:
    verdicts = {v.id: v for v in verdicts_of(protocol)}
    assert {claim: v.reproduced for claim, v in verdicts.items()} == {f"P{n}": True for n in (*range(48, 54), 58)}
    assert verdicts["P48"].ours == {"static": 2, "split": 3, "starting at": [0, 4096, 8192, 12288, 14336]}


def granted(table: SharedMemoryTable, block: int, size: int) -> int:
    return 0


def released_at(table: SharedMemoryTable, address: int) -> bool:
    starts = [e.start for e in table.entries if e.start <= address < e.start + e.size]
    return any(SharedMemoryTable.release(table, start) for start in starts)


TABLES = {
    "a release frees nothing": ({"release": lambda table, start: False}, {"P50", "P51", "P52"}),
    "a release says that it freed": ({"release": lambda table, start: True}, {"P50", "P51", "P52"}),
    "any address of an entry releases it": ({"release": released_at}, {"P51"}),
    "every start and allocation is granted": (
        {"alloc_static": granted, "alloc_dynamic": granted},
        {"P48", "P50", "P51", "P52"},
    ),
    "no start is granted": ({"alloc_static": lambda table, block, size: None}, {"P48", "P50"}),
}
"""What the table does instead of its own methods, and the claims that do not hold then."""

RUNS = {
    "more blocks than private parts leave room for": ("co_hw", {"residency": 16}, {"P49"}),
    "other bytes": ("co_vtb", {"shared_bytes": 15364}, {"P58"}),
    "other outputs of CO-VTB": ("co_vtb", {"outputs": []}, {"P58"}),
    "other outputs of CO-HW": ("co_hw", {"outputs": []}, {"P58"}),
    "more blocks under static management": ("hw", {"residency": 16}, {"P53"}),
    "allocations under static management": ("hw", {"allocations": 1}, {"P53"}),
    "other outputs of HW": ("hw", {"outputs": []}, {"P53"}),
}
"""A variant, what its runs say instead, and the claims that do not hold then."""


@pytest.fixture(scope="module")
def runs_of_management() -> Callable[..., tuple[Any, list[bytes]]]:
    return cache(protocol.run)


@pytest.mark.parametrize("case", TABLES)
def test_claims_about_management_are_of_what_its_table_does(
    case: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods, contrary = TABLES[case]
    monkeypatch.setattr(protocol, "run", runs_of_management)
    monkeypatch.setattr(protocol, "SharedMemoryTable", type("Other", (SharedMemoryTable,), methods))
    assert {v.id for v in verdicts_of(protocol) if not v.reproduced} == contrary


@pytest.mark.parametrize("case", RUNS)
def test_claims_about_management_are_of_what_its_runs_say(
    case: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, values, contrary = RUNS[case]

    def run(name: str, variant: str, *rest: Any) -> tuple[Any, list[bytes]]:
        result, outputs = runs_of_management(name, variant, *rest)
        own = {
            "residency": result.residency, "shared_bytes": result.program.shared_bytes, "outputs": outputs,
            **{counter: result.counters[counter] for counter in ("allocations", "allocation_waits")},
        }  # fmt: skip
        own |= values if variant == changed else {}
        program = SimpleNamespace(shared_bytes=own["shared_bytes"], dynamic_bytes=result.program.dynamic_bytes)
        return SimpleNamespace(residency=own["residency"], program=program, counters=own), own["outputs"]

    monkeypatch.setattr(protocol, "run", run)
    assert {v.id for v in verdicts_of(protocol) if not v.reproduced} == contrary


@pytest.mark.parametrize(("kernel", "claim"), [("mirrored", "P51"), ("nested", "P52")])
def test_claims_about_management_are_of_what_its_kernels_do(
    kernel: str, claim: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "run", runs_of_management)
    monkeypatch.setattr(protocol, kernel, without_barrier)
    assert {v.id for v in verdicts_of(protocol) if not v.reproduced} == {claim}


@cuda.jit
def without_barrier(a):
    """Not what `mirrored` is, nor is an allocation nested."""
    tile = smm.array(protocol.THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    smm.alloc()
    tile[t] = a[i]
    a[i] = tile[protocol.THREADS - 1 - t]
    smm.release()


def test_points_of_a_problem_are_neighbours_and_unique() -> None:
    todo = fig14.points(cards.card(), IN_SIMULATION, "quick")
    found = speedups.by_problem(todo)
    names = [p["benchmark"] for p in found]
    assert names == sorted(names, key=speedups.LIMITED.index)
    assert len(found) == 2 * (7 * 3 + 3)
    assert len(todo) == len(found) + 2 * 3  # CO-HW asks for its baseline too


def test_other_builds_stay_out_of_the_mean(records: list[dict]) -> None:
    other = [r | {"benchmark": "MV", "build": "x_hoisted", "speedup": 100.0} for r in records]
    assert speedups.bars(records + other) == speedups.bars(records)
    assert "MV x_hoisted" in fig14.table(records + other)


def test_stalls_add_up(records: list[dict]) -> None:
    assert sum(stalls.shares(records[0]).values()) == pytest.approx(1)
    assert "75.0" in speedups.stall_table(records)
    waiting = [r | {"barrier_wait_cycles": r["block_cycles"], "allocation_wait_cycles": 0} for r in records]
    assert {stalls.at_barriers(r) for r in waiting} == {0.5}  # of two warps
    assert speedups.stall_table(waiting).splitlines()[3].split()[-2:] == ["50.0", "0.0"]


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


def test_register_budget_lets_the_blocks_reside() -> None:
    """16384 registers / (threads x blocks), rounded down to 4 by GPGPU-Sim's rule; at most 124."""
    budgets = {
        n: runs.register_budget(benchmarks.get(n), cards.card(), benchmarks.get(n).builds[0]) for n in fig14.LIMITED
    }
    assert budgets == {"MV": 84, "FFT": 64, "MC": 124, "STO": 32, "SP": 40, "HG": 64, "CV": 32}


@pytest.mark.slow
def test_quick_run_is_right_and_its_orderings_hold() -> None:
    records = fig14.run(quick=True, jobs=2)
    found = {
        (b["benchmark"], b["schedule"], b["variant"], b["extra_blocks"]): b["speedup"] for b in speedups.bars(records)
    }
    for schedule in IN_SIMULATION:
        assert found["FFT", schedule, "hw", 3] > 1.1  # the paper: FFT gains, HG and MV do not
        assert found["FFT", schedule, "hw", 3] > found["MV", schedule, "hw", 3]
