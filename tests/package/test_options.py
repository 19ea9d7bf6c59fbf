"""Options of another type, or with names that there are not, are refused, and the error says what there is."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, _core, advise, cuda, models, sweep
from smmux.kernel import from_source
from smmux.machines.models_memory import Cache, Dram
from smmux.modules.numba_code import from_numba

SOURCE = "def kernel(out):\n    out[cuda.grid(1)] *= 2\n"


def kernel() -> Any:
    return from_source(SOURCE, {"cuda": cuda})


def simulated(**options: Any) -> Any:
    return kernel().simulate(1, 32, (np.ones(32, np.float32),), **options)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        *((name, simulated) for name in ("profile", "warm", "outputs", "narrow", "join", "fused_mad", "bounds")),
        ("device", partial(cuda.jit, None)),
        ("fastmath", cuda.jit),
        ("device", partial(from_source, SOURCE, {})),
        ("fastmath", partial(from_source, SOURCE, {})),
        ("fastmath", partial(from_numba, lambda x: x, "void(float32)")),
        ("progress", partial(sweep.sweep, dict, [])),
        ("progress", lambda progress: advise(kernel(), 1, 32, (np.ones(32, np.float32),), progress=progress)),
        ("store", partial(models.coalesce, range(0, 128, 4))),
        ("log", partial(Dram("GTX285").replay, [0])),
        ("hashed", lambda hashed: Cache(1024, hashed=hashed).replay([0])),
        ("warnings", lambda warnings: simulated(check="races").raise_for_findings(warnings)),
    ],
)
@pytest.mark.parametrize("value", ["no", 1])
def test_what_is_on_or_off_is_true_or_false(name: str, call: Any, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be True or False, not {value!r}"):
        call(**{name: value})


def test_a_truth_of_numpy_is_one() -> None:
    assert simulated(profile=np.bool_(True)).profile is not None
    assert simulated(trace=np.bool_(False)).trace is None


@pytest.mark.parametrize("value", ["no", 1.5, None])
def test_a_time_line_has_a_number_of_events_or_none(value: object) -> None:
    with pytest.raises(ConfigError, match=f"trace must be True, False or a number of events, not {value!r}"):
        simulated(trace=value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (4, "latencies must be pairs of a class and its clocks, not 4"),
        ("alu", "latencies must be pairs of a class and its clocks, not 'alu'"),
        ([("alu", 4, 4)], "latencies must be pairs of a class and its clocks"),
        ({"globl": 4}, f"latencies has no class 'globl'; did you mean 'global'?; it has {', '.join(_core.CLASSES)}"),
        ([(3, 4)], "latencies has no class 3; it has alu"),
        ({"alu": 0}, "latencies['alu'] = 0 is outside 1..60000"),
        ([("alu", 1.5)], "latencies['alu'] must be an integer, not 1.5"),
    ],
)
def test_latencies_are_clocks_of_classes(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        simulated(latencies=given)


def test_latencies_may_be_a_mapping() -> None:
    given = {"alu": 9, "global": 300}
    listed = [simulated(latencies=each, schedule="list").cycles for each in (given, tuple(given.items()))]
    assert listed[0] == listed[1]
