"""The shared-memory table: the paper's figures, then random histories on the machine and on its definition."""

from __future__ import annotations

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from smmux import models
from tests.reference.smm import Entry, Table


def entries(table: models.SharedMemoryTable) -> list[Entry]:
    """The machine's valid entries, as the definition lists its own."""
    rows = (Entry(e.block, e.size, e.start, e.dynamic) for e in table.entries)
    return sorted(rows, key=lambda entry: entry.start)


def test_figure_7() -> None:
    table = models.SharedMemoryTable("GTX285")
    assert [table.alloc_static(block, 4096) for block in (6, 10)] == [0, 4096]
    assert repr(table).splitlines()[1:] == [
        "1          6    4 kB                 0",
        "1         10    4 kB              4096",
    ]


def test_figure_10() -> None:
    """6 kB = 4 kB private + 2 kB public; the last address is 14336 (the paper prints 14436)."""
    table = models.SharedMemoryTable("GTX285", dynamic_bytes=2048)
    assert [table.alloc_static(block, 4096) for block in (0, 1, 2)] == [0, 4096, 8192]
    assert table.alloc_static(3, 4096) is None
    assert {table.alloc_dynamic(0, 2048), table.alloc_dynamic(1, 2048)} == {12288, 14336}
    assert table.alloc_dynamic(2, 2048) is None
    assert table.static_bytes == 12288
    assert table.free_bytes == 0


def test_dynamic_entries_take_the_highest_free_place() -> None:
    table = models.SharedMemoryTable("GTX285", capacity=1024)
    assert [table.alloc_dynamic(block, 256) for block in range(4)] == [768, 512, 256, 0]
    assert table.release(256)
    assert table.release(768)
    assert table.alloc_dynamic(4, 128) == 896
    assert table.alloc_dynamic(5, 200) == 304
    assert table.alloc_static(6, 16) == 256


def test_static_entries_take_the_first_hole_that_fits() -> None:
    table = models.SharedMemoryTable("GTX285", capacity=1024)
    assert [table.alloc_static(block, size) for block, size in enumerate((128, 256, 128, 64))] == [0, 128, 384, 512]
    assert table.release(0)
    assert table.release(384)
    assert table.alloc_static(4, 129) == 576
    assert table.alloc_static(5, 100) == 0
    assert table.alloc_static(6, 100) == 384


def test_sizes_round_up_to_the_unit() -> None:
    table = models.SharedMemoryTable("GTX285", capacity=100, unit=16)
    assert table.alloc_static(0, 33) == 0
    assert table.alloc_static(1, 48) == 48
    assert table.alloc_static(2, 1) is None
    assert [entry.size for entry in table.entries] == [48, 48]


def test_release_by_start_address() -> None:
    table = models.SharedMemoryTable("GTX285")
    start = table.alloc_dynamic(7, 4096)
    assert start == 12288
    assert not table.release(start + 16)
    assert not table.release(0)
    assert table.release(start)
    assert not table.release(start)
    assert table.entries == ()


def test_empty_allocations() -> None:
    """0 static bytes need no entry; 0 dynamic bytes take a unit, so that the release has something to match."""
    table = models.SharedMemoryTable("GTX285")
    assert table.alloc_static(0, 0) == 0
    assert table.entries == ()
    assert not table.release(0)
    assert table.alloc_dynamic(0, 0) == 16368
    assert table.release(16368)


def test_what_can_never_fit() -> None:
    table = models.SharedMemoryTable("GTX285")
    assert table.alloc_static(0, 16385) is None
    assert table.alloc_dynamic(0, (1 << 31) - 1) is None
    assert table.alloc_static(0, 16384) == 0


def test_static_entries_leave_room_for_one_dynamic() -> None:
    table = models.SharedMemoryTable("GTX285", capacity=1024, dynamic_bytes=250)
    assert table.alloc_static(0, 769) is None
    assert table.alloc_static(0, 768) == 0
    assert table.alloc_dynamic(0, 250) == 768


def test_the_table_holds_a_static_and_a_dynamic_entry_and_a_tile_of_32_blocks() -> None:
    table = models.SharedMemoryTable("GTX285")
    assert all(table.alloc_static(block, 16) is not None for block in (*range(32), *range(32)))
    assert all(table.alloc_dynamic(block, 16) is not None for block in range(32))
    assert len(table.entries) == 96
    assert table.alloc_dynamic(32, 16) is None


def test_html_has_the_columns_of_the_figure() -> None:
    table = models.SharedMemoryTable("GTX285")
    table.alloc_static(6, 100)
    html = table._repr_html_()
    assert "Starting Address" in html
    assert "112 B" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"capacity": 0}, "capacity"),
        ({"unit": 0}, "unit"),
        ({"capacity": 16, "unit": 32}, "unit"),
        ({"dynamic_bytes": -1}, "dynamic_bytes"),
        ({"dynamic_bytes": 16385}, "dynamic_bytes"),
    ],
)
def test_bad_tables(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.SharedMemoryTable("GTX285", **arguments)


def test_bad_requests() -> None:
    table = models.SharedMemoryTable("GTX285")
    with pytest.raises(ValueError, match="size"):
        table.alloc_static(0, -1)
    with pytest.raises(ValueError, match="block"):
        table.alloc_dynamic(-1, 16)
    with pytest.raises(ValueError, match="size"):
        table.release(-1)


class History(RuleBasedStateMachine):
    """The machine's table and the definition see the same history."""

    @initialize(capacity=st.integers(1, 700), unit=st.integers(1, 20), reserved=st.integers(0, 300))
    def make(self, capacity: int, unit: int, reserved: int) -> None:
        unit, reserved = min(unit, capacity), min(reserved, capacity)
        self.machine = models.SharedMemoryTable("GTX285", capacity=capacity, unit=unit, dynamic_bytes=reserved)
        self.definition = Table(capacity, unit, reserved)
        self.capacity = capacity

    @rule(block=st.integers(0, 100), size=st.integers(0, 300))
    def alloc_static(self, block: int, size: int) -> None:
        assert self.machine.alloc_static(block, size) == self.definition.alloc_static(block, size)

    @precondition(lambda self: len(self.definition.held) < 64)
    @rule(block=st.integers(0, 100), size=st.integers(0, 300))
    def alloc_dynamic(self, block: int, size: int) -> None:
        assert self.machine.alloc_dynamic(block, size) == self.definition.alloc_dynamic(block, size)

    @precondition(lambda self: self.definition.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(sorted(self.definition.held)))
        assert self.machine.release(start)
        assert self.definition.release(start)

    @rule(start=st.integers(0, 700))
    def release_anything(self, start: int) -> None:
        assert self.machine.release(start) == self.definition.release(start)

    @invariant()
    def same_entries(self) -> None:
        if hasattr(self, "definition"):
            assert entries(self.machine) == self.definition.entries()
            assert self.machine.static_bytes == self.definition.static_bytes()

    @invariant()
    def disjoint_and_inside(self) -> None:
        if hasattr(self, "definition"):
            top = 0
            for entry in entries(self.machine):
                assert entry.start >= top
                top = entry.start + entry.size
            assert top <= self.capacity


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
