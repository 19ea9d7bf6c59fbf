"""Verdicts on the management itself: they hold, and each fails where the machine does something else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from experiments.claims import protocol
from experiments.common.verdicts import Verdict, judge
from smmux import cuda, int32, smm
from smmux.models import SharedMemoryTable
from smmux.sweep import Record

CLAIMS = (*(f"P{n}" for n in range(48, 54)), "P58")


def verdicts() -> dict[str, Verdict]:
    """The verdicts on the management, which need no records."""
    return {claim: judge(claim, []) for claim in CLAIMS}


@pytest.mark.long
def test_claims_about_management_hold() -> None:
    found = verdicts()
    assert {claim: v.reproduced for claim, v in found.items()} == dict.fromkeys(CLAIMS, True)
    assert found["P48"].ours == {"static": 2, "split": 3, "starting at": [0, 4096, 8192, 12288, 14336]}


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
    "other bytes": ("co_vtb", {"bytes_held": 15364}, {"P58"}),
    "other outputs of CO-VTB": ("co_vtb", {"outputs": []}, {"P58"}),
    "other outputs of CO-HW": ("co_hw", {"outputs": []}, {"P58"}),
    "more blocks under static management": ("hw", {"residency": 16}, {"P53"}),
    "allocations under static management": ("hw", {"allocations": 1}, {"P53"}),
    "other outputs of HW": ("hw", {"outputs": []}, {"P53"}),
}
"""A variant, what its runs say instead, and the claims that do not hold then."""


@pytest.fixture(scope="module")
def runs_of_management() -> Callable[..., Record]:
    return cache(protocol.run)


@pytest.mark.long
@pytest.mark.parametrize("case", TABLES)
def test_claims_about_management_are_of_what_its_table_does(
    case: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods, contrary = TABLES[case]
    monkeypatch.setattr(protocol, "run", runs_of_management)
    monkeypatch.setattr(protocol, "SharedMemoryTable", type("Other", (SharedMemoryTable,), methods))
    assert {claim for claim, v in verdicts().items() if not v.reproduced} == contrary


@pytest.mark.long
@pytest.mark.parametrize("case", RUNS)
def test_claims_about_management_are_of_what_its_runs_say(
    case: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, values, contrary = RUNS[case]

    def run(name: str, variant: str, *rest: Any) -> Record:
        return runs_of_management(name, variant, *rest) | (values if variant == changed else {})

    monkeypatch.setattr(protocol, "run", run)
    assert {claim for claim, v in verdicts().items() if not v.reproduced} == contrary


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "claim"), [("mirrored", "P51"), ("nested", "P52")])
def test_claims_about_management_are_of_what_its_kernels_do(
    kernel: str, claim: str, runs_of_management: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "run", runs_of_management)
    monkeypatch.setattr(protocol, kernel, without_barrier)
    assert {claim for claim, v in verdicts().items() if not v.reproduced} == {claim}


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
