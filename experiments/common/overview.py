"""The table at the head of the page on figures: the paper's main numbers beside ours, from the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.common.scoreboard import Row

__all__ = ["BEGIN", "END", "table"]

BEGIN, END = "<!-- overview: begin -->", "<!-- overview: end -->"
"""What the table lies between."""
TABLE_1 = ("P5", "P6", "P7", "P8")
"""Claims that hold a column of Table 1 each."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table. numbers: claims, each with the places of its numbers. form: how a number is written.

    said: what the paper says where it gives no numbers. row: whose numbers, where machines stand beside the figure.
    """

    text: str
    numbers: Sequence[tuple[str, Sequence[int]]]
    form: str = "{:.2f}"
    said: str = ""
    row: str = "figure"

    def cells(self, rows: Mapping[str, Row]) -> tuple[str, str, str]:
        """Its text, the paper's numbers and ours."""
        theirs, ours = [], []
        for claim, places in self.numbers:
            values = _numbers(rows[claim], self.row)
            theirs += [] if self.said else [self.form.format(rows[claim].claim.numbers[place]) for place in places]
            ours += [self.form.format(values[place]) for place in places]
        return self.text, self.said or ", ".join(theirs), ", ".join(ours)


LINES = (
    Line("Figure 1: share of a block's life in which shared memory is in use", [("P4", (0,))], "{:.1%}"),
    Line("Figure 11: best software approach, GTX285, GTX480 with 16 and 48 kB", [("P1", (0, 1, 2))]),
    Line("The same, kernels with the registers that K+3 blocks leave", [("P1", (0, 1, 2))], row="K+3 registers"),
    Line("Figure 11: VTB, VTB_pipe on GTX480 with 16 kB", [("P30", (0, 1))]),
    Line("Figure 12: MV, VTB_pipe over baseline with 48 kB", [("P35", (1,))]),
    Line("Figure 13: FFT with 48 kB, baseline and VTB_pipe, GFLOPS", [("P38", (0,)), ("P39", (1,))], "{:.0f}"),
    Line("Figure 14: HW and CO-HW, means, then largest", [("P3", (0,)), ("P44", (0,)), ("P3", (1,)), ("P44", (1,))]),
    Line("Figure 15: K+1, K+2, K+3", [("P42", (0, 1, 2))], said="first less, others alike"),
)


def table(rows: Iterable[Row]) -> str:
    """The table in Markdown, from all claims. Raises ValueError where one that it shows has no verdict."""
    by_id = {row.claim.id: row for row in rows}
    lines = [("Table 1: rows that are exact", "", _exact(by_id)), *(line.cells(by_id) for line in LINES)]
    return "\n".join(["| | paper | here |", "|---|---|---|", *("| " + " | ".join(cells) + " |" for cells in lines)])


def _exact(rows: Mapping[str, Row]) -> str:
    """How many rows of Table 1 are the paper's, of how many."""
    columns = [zip(rows[claim].claim.numbers, _numbers(rows[claim]), strict=True) for claim in TABLE_1]
    exact = [all(theirs == ours for theirs, ours in row) for row in zip(*columns, strict=True)]
    return f"{sum(exact)} of {len(exact)}"


def _numbers(row: Row, name: str = "figure") -> Sequence[Any]:
    """The numbers of a verdict: those of one row where machines stand beside the figure."""
    if row.ours is None:
        raise ValueError(f"there is no verdict on {row.claim.id}: python -m experiments.{row.claim.script} makes it")
    rows = row.ours if isinstance(row.ours, dict) else {"figure": row.ours}
    numbers = rows[name]
    return numbers if isinstance(numbers, list) else [numbers]
