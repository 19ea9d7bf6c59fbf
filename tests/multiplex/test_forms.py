"""The table of forms: all passes are in it, and what it says of a form is what the form's kernels are."""

from __future__ import annotations

import inspect

import pytest

from smmux import benchmarks, multiplex
from smmux.multiplex import FORMS


def test_all_passes_have_a_row() -> None:
    functions = [f for f in map(vars(multiplex).get, multiplex.__all__) if inspect.isfunction(f)]
    transforming = {f.__name__ for f in functions if f is not multiplex.regions}
    assert transforming == {form.function.__name__ for form in FORMS.values()} - {"baseline"}
    assert all(name == form.name for name, form in FORMS.items())


@pytest.mark.parametrize("name", FORMS)
def test_rows_say_what_kernels_are(name: str) -> None:
    form, benchmark = FORMS[name], benchmarks.get("MC")
    made = benchmark.kernel(name)
    assert isinstance(made, multiplex.VirtualKernel) == form.virtual
    assert ("smm.alloc()" in made.source) == form.hardware
    arguments = inspect.signature(form.function).parameters
    assert {*form.declaration, *form.options} <= arguments.keys()
    assert bool(form.declaration) == (arguments.keys() >= benchmark.divided.keys())
