"""The tables that the core exports: complete, without duplicates, and in step with what Python builds on them."""

import builtins
from collections import Counter

import numpy as np
import pytest

from smmux import _core, errors
from smmux.results.result import counter_info, line_counters


def duplicates(values):
    return [value for value, count in Counter(values).items() if count > 1]


@pytest.mark.parametrize("table", ["CONFIG", "COUNTERS", "PC_COUNTERS", "ERRORS"])
def test_names_and_descriptions_are_unique(table):
    rows = getattr(_core, table)
    assert rows
    assert duplicates(row[0] for row in rows) == []
    assert duplicates(row[-1] for row in rows) == []


def test_every_reason_to_wait_has_a_counter_of_idle_time():
    counters = [row[0] for row in _core.COUNTERS if row[0].startswith("idle_")]
    assert [counter for _, counter, _ in _core.WAITS] == counters
    assert duplicates(words for _, _, words in _core.WAITS) == []


def test_latency_and_issue_rows_exist_for_every_class():
    names = [row[0] for row in _core.CONFIG]
    count = len(_core.CLASSES)
    assert names[-2 * count :] == [f"{kind}_{name}" for kind in ("lat", "issue") for name in _core.CLASSES]
    assert names[-3 * count : -2 * count] == [f"unit_{name}" for name in _core.CLASSES]
    assert {f"{name}_units" for name, _ in _core.UNITS} <= set(names)


def test_class_descriptions_are_unique():
    assert duplicates(doc for _, doc in _core.CLASSES.values()) == []


def test_codes_count_up_from_zero():
    for table in (_core.OPS, _core.CLASSES):
        assert [row[0] for row in table.values()] == list(range(len(table)))
    for names in (_core.ATOMS, _core.SPECIALS, _core.UNIFORMS, _core.BARRIERS, _core.SHUFFLES, _core.VOTES):
        assert list(names.values()) == list(range(len(names)))


def test_records_of_a_program_have_no_padding_and_flags_are_bits_of_their_own():
    assert np.dtype(_core.INSN).itemsize == 40
    assert np.dtype(_core.UNIFORM).itemsize == 8
    assert list(_core.FLAGS.values()) == [1 << bit for bit in range(len(_core.FLAGS))]


def test_operations_name_known_traits_and_classes():
    classes = {name.upper() for name in _core.CLASSES}
    for name, (_, traits, latency, operands) in _core.OPS.items():
        assert set(traits) <= set(_core.TRAITS), name
        assert latency in classes, name
        low, high = {"", "d", "p", "a", "b", "c", "q", "qa", "qb", "v", "t"}, {"dh", "ah", "bh", "ch"}
        groups = {f"{letter}{count}" for letter in "dabc" for count in range(2, _core.CONSTANTS["MAX_GROUP"] + 1)}
        assert set(operands.split(",")) <= low | high | groups, name


def test_every_operation_class_is_used():
    used = {row[2].lower() for table in (_core.OPS, _core.SASS) for row in table.values()}
    assert used == set(_core.CLASSES)


def test_parameter_ranges_are_sensible():
    for name, unit, low, high, doc in _core.CONFIG:
        assert 0 <= low <= high < 2**32, name
        assert unit, name
        assert doc, name


def test_every_error_becomes_its_exception():
    for name, exception, text in _core.ERRORS:
        cls = getattr(errors, exception, None) or getattr(builtins, exception)
        error = errors.from_fault(name, {"text": "details", "line": 3, "block": (1, 2, 3)})
        assert type(error) is cls
        assert f"{text}: details" in str(error)


def test_counter_tables_of_results_are_those_of_the_core():
    assert list(counter_info()) == [row[0] for row in _core.COUNTERS]
    assert list(line_counters()) == [row[0] for row in _core.PC_COUNTERS]
    assert {"cycles", "scheduler_cycles", "issue_cycles"} <= set(counter_info())
