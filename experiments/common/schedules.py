"""Which of the compiler's schedules gives an experiment its numbers; the other one is shown beside it.

Every run states its own, so that what a figure says does not depend on the machine's default. Where the paper simulates
kernels have the registers that leave room for K+3 blocks of the baseline (`runs.register_budget`), where it measures on
cards those that they need.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["IN_SIMULATION", "ON_CARDS", "Schedules"]


class Schedules(NamedTuple):
    """The two schedules of one kind of experiment: claims are judged by the head's numbers."""

    head: str
    other: str


IN_SIMULATION = Schedules(head="source", other="list")
"""Where the paper simulates (Figures 1, 14 and 15): its simulator runs PTX in program order."""

ON_CARDS = Schedules(head="list", other="source")
"""Where the paper measures on cards (Figures 11 to 13): an assembler orders instructions by their critical path."""
