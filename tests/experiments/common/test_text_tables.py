"""Tables of text on the terminal."""

from __future__ import annotations

from experiments.common import tables


def test_table_aligns_numbers_to_the_right() -> None:
    text = tables.table(("name", "value"), [("a", 1.5), ("bcdef", None), ("c", 22)])
    assert text.splitlines() == ["name   value", "-----  -----", "a      1.500", "bcdef      -", "c         22"]


def test_table_leaves_empty_columns_out() -> None:
    rows = [("a", None, "", 1), ("b", float("nan"), "", None)]
    assert tables.table(("name", "x", "y", "z"), rows).splitlines() == ["name  z", "----  -", "a     1", "b     -"]
    assert tables.table(("name", "x"), []).splitlines() == ["name  x", "----  -"]
