"""Names that change their type: random functions under Numba's rules against Numba's own compiler, and written ones."""

from __future__ import annotations

import textwrap
from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.kernel import from_source

numba = pytest.importorskip("numba")

THREADS = 32
KINDS = {"i": "int32", "u": "uint32", "q": "int64", "f": "float32", "d": "float64"}
OUTPUTS = 3


class Writer:
    """Writes functions of one element of each type, whose names `x`, `y` and `z` take one type after another."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.loops = 0

    def value(self) -> str:
        """An expression; it stays small, so that no rounding differs between a card and the host."""
        a, b = (self.rng.choice("xyziuqfd") for _ in range(2))
        return self.rng.choice(
            (
                f"{a}",
                f"{a} + {b}",
                f"{a} - {b}",
                f"{a} * 0.5",
                f"{a} // 3",
                f"{a} % 7",
                "3",
                "1.5",
                f"min({a}, {b})",
                f"-{a}",
            )
        )

    def body(self, depth: int, indent: str) -> None:
        """A few statements."""
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth, indent)

    def statement(self, depth: int, indent: str) -> None:
        name = self.rng.choice("xyz")
        form = self.rng.randrange((6, 8)[self.loops < 2]) if depth else self.rng.randrange(4)
        if form < 3:
            self.lines.append(f"{indent}{name} = {self.value()}")
        elif form == 3:
            self.lines.append(f"{indent}{name} {self.rng.choice(('+=', '-=', '*='))} {self.rng.choice('1iuf')}")
        elif form < 6:
            self.lines.append(f"{indent}if {self.rng.choice('xyziq')} > {self.rng.randrange(40)}:")
            self.body(depth - 1, indent + "    ")
            if self.rng.randrange(2):
                self.lines.append(f"{indent}else:")
                self.body(depth - 1, indent + "    ")
        else:
            self.loops += 1
            counter = self.rng.choice(("k", name))
            self.lines.append(f"{indent}for {counter} in range({self.rng.choice(('3', 'i & 3', '2, -1, -1'))}):")
            self.body(depth - 1, indent + "    ")
            if self.rng.randrange(2):
                self.lines.append(f"{indent}    if {self.rng.choice('xyz')} > {self.rng.randrange(30)}:")
                if self.rng.randrange(2):
                    self.lines.append(f"{indent}        {name} = {self.value()}")
                self.lines.append(f"{indent}        {self.rng.choice(('break', 'continue'))}")

    def function(self) -> str:
        """The statements of one function."""
        self.lines = ["x = i", "y = f", "z = u"]
        for _ in range(3):
            self.body(2, "")
        return "\n".join(self.lines)


def numbers(seed: int) -> dict[str, np.ndarray]:
    """An array of each type, by the name of its element."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(1, 99, THREADS).astype(dtype) / np.array(1, dtype) for name, dtype in KINDS.items()} | {
        name: rng.integers(1, 99, THREADS).astype(KINDS[name]) for name in "iuq"
    }


def outcome(body: str, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What a kernel of these statements finds, and what Numba does; the results have Numba's types."""
    arrays = numbers(seed)
    names = ", ".join(arrays)
    space: dict[str, Any] = {}
    exec(f"def function({names}):\n{textwrap.indent(body, '    ')}\n    return x, y, z\n", space)
    function = numba.njit(space["function"])
    rows = [function(*row) for row in zip(*arrays.values(), strict=True)]
    types = [str(getattr(t, "literal_type", t)) for t in function.nopython_signatures[0].return_type]
    wanted = [np.array(column, t) for column, t in zip(zip(*rows, strict=True), types, strict=True)]
    found = [np.zeros(THREADS, t) for t in types]
    lines = ["t = cuda.threadIdx.x", *(f"{name} = all_{name}[t]" for name in arrays), body]
    lines += [f"out{n}[t] = {name}" for n, name in enumerate("xyz")]
    outs = [f"out{n}" for n in range(OUTPUTS)]
    text = f"def kernel({', '.join([*outs, *(f'all_{name}' for name in arrays)])}):\n"
    text += textwrap.indent("\n".join(lines), "    ")
    kernel = from_source(text, {"cuda": cuda})
    kernel.simulate(1, THREADS, (*found, *arrays.values()), gpu="GTX480-48K", typing="numba")
    return found, wanted


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_functions(first: int) -> None:
    for seed in range(first, first + 10):
        body = Writer(Random(seed)).function()
        found, wanted = outcome(body, seed)
        for name, a, b in zip("xyz", found, wanted, strict=True):
            np.testing.assert_array_equal(a, b, f"seed {seed}: {name} ({b.dtype}) of\n{body}")
