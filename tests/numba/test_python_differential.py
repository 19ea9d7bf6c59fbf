"""Random kernels of the whole language leave the bits here that their text leaves as plain Python, or raise alike."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.numba.python_differential import RUNS, verdict
from tests.numba.python_kernels import Case, Features
from tests.numba.python_oracle import Array, OutsideAxis
from tests.numba.python_shrink import smaller
from tests.numba.python_statements import generate

FEATURES = Features()


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 30, 10))
def test_same_bits_or_the_same_error(first: int) -> None:
    for seed in range(first, first + 10):
        case = generate(Random(seed), Features(wide=seed % 3 == 0))
        kind, words = verdict(case, RUNS[seed % len(RUNS)])
        assert not kind, f"seed {seed}: {kind}: {words}\n{case.text}"


def test_the_generator_uses_the_language() -> None:
    texts = [generate(Random(seed), FEATURES).text for seed in range(100)]
    words = (
        ":=",
        "while ",
        "range(",
        "else:",
        "elif",
        "break",
        "continue",
        "syncthreads",
        "function0(",
        "mixed_up(",
        "shifted(",
        "put(",
        "pair[",
        ".T",
    )
    words += ("enumerate(", "zip(", "reversed(", "for r", "return\n", "2147483647, ", " in (", "divmod(", "object = ")
    for word in words:
        assert sum(word in text.split("def chosen")[1] for text in texts) >= 5, word


def test_some_kernels_raise() -> None:
    def raises(seed: int) -> bool:
        from tests.numba import python_oracle

        case = generate(Random(seed), Features(hostile=100))
        return bool(python_oracle.run(python_oracle.compiled(case.text), case.grid, case.block, case.arguments()))

    assert sum(map(raises, range(60))) >= 5


def test_only_what_leaves_the_memory_is_sure_to_be_found_without_a_check() -> None:
    memory: list[np.ndarray] = []
    first, second = (Array(np.zeros(shape, np.int32), memory) for shape in (4, (2, 4)))
    row = second[1]
    for array, inside, outside in (
        (second, [(1, -9), (0, 4), (0, 11), (2, 3)], [(1, 8), (-3, -12), (1, 2**40)]),
        (row, [-9, -12, 4, 7], [-13, 8]),
        (second.T, [(-8, 0), (0, 2)], [(8, 1), (-13, 0)]),
        (first, [4, 11, -5, -12], [12, -13]),
    ):
        for index in inside:
            with pytest.raises(OutsideAxis):
                array[index]
        for index in outside:
            with pytest.raises(IndexError) as caught:
                array[index]
            assert caught.type is IndexError, index


def test_a_wrong_value_is_found_and_made_small() -> None:
    case = generate(Random(3), FEATURES)
    wrong = case.text.replace("    for j in range(4):\n", "    la[cuda.gridDim.x - 1] = 7\n    for j in range(4):\n")
    assert wrong != case.text

    def fails(candidate: Case) -> bool:
        return "la[cuda.gridDim.x - 1] = 7" in candidate.text

    small = smaller(Case(wrong, case.grid, case.block, case.seed), fails)
    assert small.text.count("\n") < 12
