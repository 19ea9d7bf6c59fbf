"""The preload table against a set of the bytes that its entries name."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from smmux.errors import LaunchError
from smmux.preload import MAX_ENTRIES, Entry, Extent, Table
from smmux.running.arguments import Arguments

FORM = st.tuples(*[st.integers(-40, 40)] * 3, st.integers(-200, 200))
ENTRY = st.builds(Entry, st.integers(0, 1), st.sampled_from((1, 2, 4, 8)), FORM, FORM)
ARRAYS = (Extent("a", 0, 512), Extent("b", -256, 64))
BASES = (0x1000, 0x1300)


@given(st.lists(ENTRY, max_size=8), st.tuples(*[st.integers(0, 5)] * 3), st.sampled_from((32, 64, 128)))
def test_lines_hold_the_bytes_of_the_entries(entries, block, line_bytes):
    table = Table("k", ARRAYS, BASES, tuple(entries))
    touched = set()
    for entry in entries:
        low, high = (sum(c * x for c, x in zip(form, (*block, 1), strict=True)) for form in (entry.low, entry.high))
        for element in range(low, high + 1):
            for byte in range(element * entry.element_bytes, (element + 1) * entry.element_bytes):
                if ARRAYS[entry.array].first <= byte < ARRAYS[entry.array].end:
                    touched.add(BASES[entry.array] + byte)
    assert table.lines(block, line_bytes) == sorted({byte // line_bytes * line_bytes for byte in touched})
    assert {byte for low, high in table.spans(block) for byte in range(low, high)} == touched


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bases": (0x1000,)}, "2 arrays need as many bases"),
        ({"entries": (Entry(0, 4, (0, 0, 0, 0), (0, 0, 0, 0)),) * (MAX_ENTRIES + 1)}, "128 entries, not 129"),
        ({"entries": (Entry(2, 4, (0, 0, 0, 0), (0, 0, 0, 0)),)}, "array 2 of 2"),
        ({"entries": (Entry(0, 0, (0, 0, 0, 0), (0, 0, 0, 0)),)}, "elements of 0 bytes"),
    ],
)
def test_malformed_tables_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Table(**{"kernel": "k", "arrays": ARRAYS, "bases": BASES, "entries": (), **change})


def test_lines_of_no_power_of_two_are_refused():
    with pytest.raises(ValueError, match="power of two"):
        Table("k", ARRAYS, BASES, ()).lines((0, 0, 0), 48)


def test_a_table_of_another_launch_is_refused():
    a, b = np.zeros(128, np.float32), np.zeros(80, np.float32)[::-1]
    table = Table("k", (Extent("a", 0, 512), Extent("b", -316, 4)), (0x1000, 0x1300), ())
    table.check("k", Arguments((), (a, b), (), (0x1000, 0x1300)))
    with pytest.raises(LaunchError, match="that of kernel 'k', not of 'other'"):
        table.check("other", Arguments((), (a, b), (), (0x1000, 0x1300)))
    for arrays, addresses in (((a, b[:-1]), (0x1000, 0x1300)), ((a, b), (0x1000, 0x1400)), ((a,), (0x1000,))):
        with pytest.raises(LaunchError, match="made for other arrays"):
            table.check("k", Arguments((), arrays, (), addresses))
