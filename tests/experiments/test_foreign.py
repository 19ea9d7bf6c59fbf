"""Foreign kernels and their forms: outputs are those of NumPy, and Numba's compiler types what a card is to run."""

from __future__ import annotations

import pytest

from experiments import foreign
from experiments.common.card_sources import FORMS, MULTIPLEXED, program
from smmux import gpus


@pytest.mark.long
@pytest.mark.parametrize("name", foreign.names())
def test_outputs_of_all_forms(name: str) -> None:
    row = foreign.workload(name)
    assert program(name) is row
    problem, kernel = row.problem("tiny"), row.kernels["written"]
    for form in (None, *MULTIPLEXED):
        launch = problem.grid, problem.block
        made = kernel if form is None else form.function(kernel).fitted(*launch)  # type: ignore[attr-defined]
        grid, block = launch if form is None else made.geometry(*launch)
        arguments = problem.arguments()
        made.simulate(grid, block, arguments, gpu=gpus.COMPILED)
        problem.check(arguments)


def test_sources_for_a_card_are_baseline_and_two_forms_in_two_spellings() -> None:
    found = [(source.variant, source.spelling) for source in FORMS["foreign"].of("SCAN", "tiny")]
    assert found == [("baseline", "ranged"), ("baseline", "written"), ("vtb", "written"), ("vtb_pipe", "written")]
