"""TELEPORT as data: a small run with all programs in all forms, its pictures, lines of code, and changed counters."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments import programs, teleport
from experiments.common.effort import LAUNCH, bits, effort, lines_of_code
from experiments.common.preloading import (
    BASELINE,
    BYPASS,
    DEFAULT,
    FORMS,
    HAND,
    OURS,
    TELEPORT,
    found,
    points,
    preloaded,
)
from experiments.common.verdicts import judge
from smmux import gpus
from smmux.sweep import Record


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return teleport.run(quick=True, jobs=2)


@pytest.mark.long
def test_at_least_twelve_programs_run_in_all_forms(records: list[Record]) -> None:
    own = found(records)
    assert len([name for name in own if set(FORMS) <= own[name].keys()]) >= 12
    assert {r["workload"] for r in records if r["refused"]} == {"RDC6", "FWL", "HIS1", "HIS2"}
    assert {r["form"] for r in records if r["refused"]} == {OURS}


@pytest.mark.long
def test_what_the_hardware_never_does(records: list[Record]) -> None:
    for name in ("T13", "T16", "T17"):
        assert judge(name, records).reproduced is True
    for name, forms in found(records).items():
        assert forms[TELEPORT]["instructions"] == forms[BASELINE]["instructions"], name
        assert forms[TELEPORT]["entries"] or forms[TELEPORT]["cycles"] == forms[BASELINE]["cycles"]


@pytest.mark.long
def test_elements_loaded_by_a_block_of_jacobi(records: list[Record]) -> None:
    """126 x 126 outputs of 9 loads each; tiles of 18 x 18, cut where the matrix ends."""
    forms = found(records)["JAC"]
    assert forms[BASELINE]["elements loaded"] == 9 * 126**2 / 64
    assert forms[HAND]["elements loaded"] == (7 * 18 + 16) ** 2 / 64


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "setting", "change", "claim", "expected"),
    [
        (TELEPORT, DEFAULT, {"preload_misses": 1}, "T16", False),
        (TELEPORT, DEFAULT, {"residency": 0}, "T17", False),
        (TELEPORT, DEFAULT, {"preload_waits": 1}, "T13", False),
        (TELEPORT, DEFAULT, {"dram_reads": 1}, "T12", True),
        (TELEPORT, DEFAULT, {"row locality": 1e-3}, "T11", False),
        (BASELINE, DEFAULT, {"quasi-static": 0}, "T4", False),
    ],
)
def test_other_counters_give_other_verdicts(
    records: list[Record], form: str, setting: str, change: Record, claim: str, expected: bool
) -> None:
    other = [r | change if not r["refused"] and (r["form"], r["setting"]) == (form, setting) else r for r in records]
    assert judge(claim, other).reproduced is expected


@pytest.mark.long
def test_means_are_those_of_the_programs_with_a_table(records: list[Record]) -> None:
    even = [r | {"cycles": 100 if r["form"] == TELEPORT else 132} for r in records if not r["refused"]]
    assert judge("T1", even).ours == pytest.approx(1.32)
    assert judge("T1", even).reproduced is True
    assert judge("T2", even).reproduced is False
    assert not {"RDC6", "FWL", "HIS1"} & set(preloaded(even))


@pytest.mark.long
def test_pictures_and_tables(records: list[Record]) -> None:
    assert len(teleport.plot(records, Figure().add_subplot()).containers) == len(FORMS)
    assert len(teleport.plot_all(records, Figure().add_subplot()).containers) == 3
    assert len(teleport.plot_memory(records, Figure().add_subplot()).containers) == 3
    assert "a mask" in teleport.table(records)
    assert teleport.summary(records)["speeds"][TELEPORT].keys() == set(preloaded(records))
    assert BYPASS in teleport.table(records)


def test_sensitivities_name_every_machine_once() -> None:
    todo = points(True, True)
    assert len({(p["workload"], p["form"], p["setting"]) for p in todo}) == len(todo)
    names = [gpu.name for gpu in teleport.machines(True)]
    assert len(set(names)) == len(names)


SOURCE = '''
# a comment
@cuda.jit
def f(a):
    """What it does,

    in several lines.
    """

    b = """text
    of two lines"""  # behind code
    # why
    a[0] = (
        1
        # inside
        + 2
    )
'''


def test_lines_of_code() -> None:
    assert lines_of_code(SOURCE) == 2 + 2 + 4
    assert lines_of_code("") == lines_of_code("\n\n# nothing\n") == 0
    assert lines_of_code(LAUNCH) == 1
    kernel = programs.workload("MMA").kernels["baseline"]
    assert effort(kernel) == 6  # decorator, header, grid, guard, sum, launch


def test_bits_of_the_hardware() -> None:
    """128 entries of 41 bytes; 384 tags of 2 + 3 + 25 bits on each of 15 SMs."""
    own = bits(gpus.get("GTX480-48K"))
    assert own["table"] == 128 * 41 * 8
    assert own["tags"] == 15 * 384 * 30
    assert own["on chip"] == 8 * (15 * (128 + 64) + 768) * 1024
