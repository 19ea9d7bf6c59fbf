"""PTX through ptxas, with and without optimisation, leaves what the definition says; see `random_ptx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.reference import ptx_floats as floats
from tests.reference.ptx import evaluate
from tests.sass.conftest import needed
from tests.sass.random_ptx import ARCHITECTURES, OPTIONS, alone, check, program

FLOATS: dict[str, tuple[Any, Any]] = {
    "f16": (np.float16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
}
NEAREST: dict[str, tuple[Callable[..., Any], int]] = {
    "add.rn": (np.add, 2),
    "sub.rn": (np.subtract, 2),
    "mul.rn": (np.multiply, 2),
    "div.rn": (np.divide, 2),
    "sqrt.rn": (np.sqrt, 1),
}


MOST_REFUSED = 0.1
"""Of runs: each version of ptxas has opcodes of its own, some of which are refused by name."""


def wrong(count: int, told: list[str]) -> list[str]:
    """What differs, of so many programs; all if many are refused."""
    others = [line for line in told if "are not simulated" not in line]
    return others if len(told) - len(others) <= MOST_REFUSED * count * len(OPTIONS) else told


@pytest.mark.long
@pytest.mark.parametrize("arch", [75, 90])
def test_random_programs(arch: int) -> None:
    needed("ptxas", "nvdisasm")
    assert wrong(12, check([program(seed, arch) for seed in range(12)])) == []


LOADED_APART = (100495, 102051, 106641, 108493, 108519, 110056, 110839)
"""Seeds of programs in which lanes that have parted load into one register, or compute it beside a load. Where a
register had one time for all lanes, a counter fell before the value was there, or the warp was never woken."""
LOADED_BY_WORDS = (100801, 103497, 104490, 106796, 108731, 109989)
"""In these local memory is read by several words, of which the first may be there before the others are asked for."""
LEFT_LOOPS = (105079, 105187, 106653, 109534, 109668)
"""In these lanes leave a loop past a convergence barrier at which others wait for them."""

BOUND_OF_THREE = (200108, 200345, 200472)
"""Two bounds of halves behind one another, which the assembler makes one of three (VHMNMX)."""

REFUSED_BEFORE = ((211008, 90), (307023, 75), (306187, 80), (306285, 86), (307379, 89))
"""With 64-bit immediates of I2F, a float compared as a half, and a parameter as the length of szext."""


@pytest.mark.quick(2)
@pytest.mark.parametrize(("seed", "arch"), REFUSED_BEFORE)
def test_programs_that_were_refused_run(seed: int, arch: int) -> None:
    needed("ptxas", "nvdisasm")
    assert check([program(seed, arch)], ["-O3"]) == []


def test_a_register_waits_for_the_loads_of_all_lanes() -> None:
    needed("ptxas", "nvdisasm")
    assert check([program(seed, 90) for seed in LOADED_APART], ["-O3"]) == []


def test_a_load_is_there_when_all_its_words_are() -> None:
    needed("ptxas", "nvdisasm")
    assert check([program(seed, 90) for seed in LOADED_BY_WORDS], ["-O0"]) == []


def test_nobody_waits_for_lanes_that_have_left_a_loop() -> None:
    needed("ptxas", "nvdisasm")
    assert check([program(seed, 90) for seed in LEFT_LOOPS], ["-O3"]) == []


def test_bounds_of_three_halves() -> None:
    needed("ptxas", "nvdisasm")
    assert check([program(seed, 90) for seed in BOUND_OF_THREE], ["-O3"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_many_random_programs(arch: int) -> None:
    needed("ptxas", "nvdisasm")
    assert wrong(100, check([program(seed, arch) for seed in range(1000, 1100)])) == []


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_each_instruction_alone(arch: int, option: str) -> None:
    needed("ptxas", "nvdisasm")
    programs = alone(arch)
    told = [line for at in range(0, len(programs), 200) for line in check(programs[at : at + 200], [option])]
    assert told == []


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", NEAREST)
def test_the_definition_rounds_to_nearest_as_numpy(name: str, kind: str) -> None:
    (real, word), (function, count), form = FLOATS[kind], NEAREST[name], floats.FORMATS[kind]
    rng = np.random.default_rng(12)
    given = rng.integers(0, 1 << form.bits, (count, 500), dtype=word)
    if count == 2:  # some that lie close together
        given[1, :200] = given[0, :200] ^ rng.integers(0, 1 << 12, 200, dtype=word)
    with np.errstate(all="ignore"):
        wanted = function(*given.view(real))
    for values, one in zip(given.T, wanted, strict=True):
        expected = form.nan if np.isnan(one) else int(one.view(word))
        assert evaluate(f"{name}.{kind}", *map(int, values)) == expected


@pytest.mark.parametrize("mode", "zmp")
def test_the_definition_rounds_directed_to_the_neighbour(mode: str) -> None:
    """Beside the number nearest to an exact sum lies the one that another direction takes."""
    form, rng = floats.FORMATS["f32"], np.random.default_rng(13)
    for a, b in rng.standard_normal((300, 2)).astype(np.float32):
        exact = np.float64(a) * np.float64(b)
        near = np.float32(exact)
        towards = {"z": 0.0, "m": -np.inf, "p": np.inf}[mode]
        wrong_side = {"z": abs(near) > abs(exact), "m": near > exact, "p": near < exact}[mode]
        expected = np.nextafter(near, np.float32(towards)) if wrong_side else near
        bits = [int(x.view(np.uint32)) for x in (a, b)]
        assert floats.fused(form, *bits, None, mode) == int(expected.view(np.uint32))
