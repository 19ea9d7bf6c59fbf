"""The analyzer on the kernels of the paper: their classes as read in the source, and the addresses of real runs."""

import itertools

import pytest

from smmux import preload
from tests.preload import recorded
from tests.preload.paper_kernels import CASES

LETTERS = {"S": "static", "Q": "quasi-static", "X": "non-precalculable"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_classes_are_those_that_a_reader_gives(case):
    found = preload.analyze(case.kernel, case.grid, case.block, case.make())
    assert [(read.text, read.kind) for read in found.reads] == [
        (read.text, LETTERS[letter]) for read, letter in zip(found.reads, case.classes, strict=True)
    ]
    reasons = [read.reason for read in found.reads if read.kind == "non-precalculable"]
    for reason, part in zip(reasons, case.reasons, strict=True):
        assert part in reason
    assert len(found.table.entries) == case.entries
    assert found.table.dropped == 0


@pytest.mark.quick(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_address_of_a_run_lies_in_its_range(case):
    args = case.make()
    found = preload.analyze(case.kernel, case.grid, case.block, args)
    loads = recorded.loads(case.kernel, case.grid, case.block, args)
    unknown = {read.array for read in found.reads if read.kind == "non-precalculable"} | set(found.left)
    compared = 0
    for number, array in enumerate(found.table.arrays):
        if array.name in unknown:
            continue
        for place in itertools.product(*map(range, found.grid)):
            touched = {byte // 32 for byte in recorded.touched(loads, number, place)}
            assert touched <= recorded.lines(found, number, place)
            compared += len(touched)
    assert compared or not found.table.entries
