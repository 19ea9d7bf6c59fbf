"""Figures as data: what the bars are, not how they look."""

from __future__ import annotations

from typing import Literal

import pytest
from matplotlib.figure import Figure

from smmux.plot import geometric_mean, grouped_bars, reference_line, style

RECORDS = [
    {"kernel": "A", "policy": "p", "time": 1.0},
    {"kernel": "A", "policy": "q", "time": 2.0},
    {"kernel": "B", "policy": "q", "time": 3.0},
]


def test_grouped_bars_have_the_records_heights_in_their_groups() -> None:
    with style():
        ax = grouped_bars(Figure().add_subplot(), RECORDS, x="kernel", hue="policy", y="time")
    p, q = ax.containers
    assert [bar.get_height() for bar in p] == [1.0]
    assert [bar.get_height() for bar in q] == [2.0, 3.0]
    centres = [round(bar.get_x() + bar.get_width() / 2, 6) for bar in (*p, *q)]
    assert [round(centre) for centre in centres] == [0, 0, 1]
    assert centres[0] < centres[1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["A", "B"]
    assert p[0].get_hatch() != q[0].get_hatch()
    assert p[0].get_facecolor() != q[0].get_facecolor()


@pytest.mark.parametrize("labels", [True, "inside", "above"])
def test_labels_show_values(labels: bool | Literal["inside", "above"]) -> None:
    ax = grouped_bars(Figure().add_subplot(), RECORDS, x="kernel", hue="policy", y="time", labels=labels)
    assert sorted(text.get_text() for text in ax.texts) == ["1.00", "2.00", "3.00"]


def test_labels_above_are_level_and_over_the_marks() -> None:
    records = [{**RECORDS[0], "mark": 9.0}, *RECORDS[1:]]
    ax = grouped_bars(
        Figure().add_subplot(),
        records,
        x="kernel",
        hue="policy",
        y="time",
        labels="above",
        marks={"mark": {"marker": "D"}},
    )
    assert {text.get_rotation() for text in ax.texts} == {0.0}
    assert [text.xy[1] for text in ax.texts] == [9.0, *(record["time"] for record in RECORDS[1:])]


def test_marks_lie_over_the_bars_that_have_them() -> None:
    records = [{**RECORDS[0], "paper": 1.5}, RECORDS[1], {**RECORDS[2], "paper": None}]
    ax = grouped_bars(
        Figure().add_subplot(), records, x="kernel", hue="policy", y="time", marks={"paper": {"marker": "_"}}
    )
    bar = ax.containers[0][0]
    assert [list(values) for values in ax.lines[0].get_data()] == [[bar.get_x() + bar.get_width() / 2], [1.5]]


@pytest.mark.parametrize(("first", "mark", "foot"), [(0.2, None, 0.2), (1.5, 0.2, 1.5), (0.2, 0.8, 0.8), (1.5, 2.0, 0)])
def test_a_label_inside_hides_neither_a_short_bar_nor_a_mark(first: float, mark: float | None, foot: float) -> None:
    """Of axes that end at 3.2 and are about 1.5 inches high, a label takes up to 0.4 at the foot."""
    records = [{"x": 0, "hue": "a", "y": first, "mark": mark}, {"x": 1, "hue": "a", "y": 3.0}]
    with style():
        figure = Figure(figsize=(3, 2))
        ax = figure.add_subplot()
        grouped_bars(ax, records, x="x", hue="hue", y="y", labels="inside", marks={"mark": {"marker": "D"}})
        figure.draw_without_rendering()
    begins = [ax.transData.inverted().transform((0, text.get_window_extent().y0))[1] for text in ax.texts]
    assert begins == pytest.approx([foot, 0], abs=0.1)


def test_reference_line_is_at_its_value_and_in_the_legend() -> None:
    ax = reference_line(Figure().add_subplot(), 1.5, "paper", between=(2.5, 3.5))
    assert list(ax.lines[0].get_xdata()) == [2.5, 3.5]
    assert list(ax.lines[0].get_ydata()) == [1.5, 1.5]
    assert ax.get_legend_handles_labels()[1] == ["paper"]
    assert list(reference_line(Figure().add_subplot(), 2.0, "all").lines[0].get_ydata()) == [2.0, 2.0]


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) != geometric_mean([])
