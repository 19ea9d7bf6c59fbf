"""Random kernels of the whole language leave the bits here that their text leaves as plain Python, or raise alike."""

from __future__ import annotations

from random import Random

import pytest

from tests.numba.python_differential import RUNS, verdict
from tests.numba.python_kernels import Case, Features
from tests.numba.python_shrink import smaller
from tests.numba.python_statements import generate

FEATURES = Features()


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


def test_a_wrong_value_is_found_and_made_small() -> None:
    case = generate(Random(3), FEATURES)
    wrong = case.text.replace("    for j in range(4):\n", "    la[cuda.gridDim.x - 1] = 7\n    for j in range(4):\n")
    assert wrong != case.text

    def fails(candidate: Case) -> bool:
        return "la[cuda.gridDim.x - 1] = 7" in candidate.text

    small = smaller(Case(wrong, case.grid, case.block, case.seed), fails)
    assert small.text.count("\n") < 12
