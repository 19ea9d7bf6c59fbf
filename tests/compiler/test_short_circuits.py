"""`and` and `or` cost what branches within branches do, skip what Python skips, and say as much about indices."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.kernel import Kernel, from_source
from tests.compiler.front import run

N = 32
PAIRS = {
    "a matrix's shape": (
        "x > 0 and y > 0 and x + 1 < m.shape[1] and y + 1 < m.shape[0]",
        "out[i] = m[y - 1, x - 1] + m[y + 1, x + 1]",
    ),
    "chained": ("0 < x < m.shape[1] - 1 and 0 < y < m.shape[0] - 1", "out[i] = m[y - 1, x - 1] + m[y + 1, x + 1]"),
    "loaded": ("i < n and order[i] > 0 and order[i] + 1 < n", "out[i] = a[order[i] - 1] + a[order[i] + 1]"),
    "divided": ("i > 0 and i // k + 1 < n", "out[i] = a[i - 1] + a[i // k + 1]"),
    "loaded, then computed": ("i > 1 and a[i - 2] > 0 and i + 3 < n", "out[i] = a[i - 1] + a[i + 3]"),
    "or": ("not (i < 1 or a[i - 1] < 3 or i + 1 >= n)", "out[i] = a[i - 1] + a[i + 1]"),
}


def nested(condition: str) -> list[str]:
    """The parts of a condition, each an `if` of its own."""
    if condition.startswith("not ("):
        return [f"not ({part})" for part in condition[5:-1].split(" or ")]
    return condition.split(" and ")


def written(conditions: list[str], statement: str) -> Kernel:
    lines = ["def kernel(m, a, order, out, n, k):", "    x, y = cuda.grid(2)", f"    i = y * {N} + x"]
    for depth, condition in enumerate(conditions, 1):
        lines.append(f"{'    ' * depth}if {condition}:")
    lines.append(f"{'    ' * (len(conditions) + 1)}{statement}")
    return from_source("\n".join(lines) + "\n", {"cuda": cuda})


@pytest.mark.parametrize("name", PAIRS)
def test_both_forms_cost_the_same(name: str) -> None:
    condition, statement = PAIRS[name]
    results = []
    for conditions in ([condition], nested(condition)):
        a = (np.arange(N * N) % 13).astype(np.float32)
        args = a.reshape(N, N), a, (np.arange(N * N) % 1000).astype(np.int32), np.zeros_like(a), N * N, 3
        result = run(written(conditions, statement), (2, 2), (16, 16), *args)
        results.append((result["instructions"], args[3].tolist()))
    assert results[0] == results[1]
    assert any(results[0][1])


@cuda.jit
def carried(a, order, out, n):
    inside = False
    for k in range(n):
        i = order[k]
        if inside:
            out[0] += a[i]
        inside = i >= 0


@cuda.jit
def carried_in_part(a, order, out, n):
    inside = False
    for k in range(n):
        i = order[k]
        if inside:
            out[0] += a[i]
        if k % 2 == 0:
            inside = i >= 0
        else:
            inside = False


@pytest.mark.parametrize("kernel", [carried, carried_in_part])
def test_what_a_condition_said_of_another_iteration_is_forgotten(kernel: Kernel) -> None:
    a, order, out = np.arange(8, dtype=np.float32), np.array([1, -2, 3, -4, 0], np.int32), np.zeros(1, np.float32)
    run(kernel, 1, 1, a, order, out, 5)
    assert out == a[-2] + a[-4]


@cuda.jit
def kept(a, out, n):
    i = cuda.grid(1)
    inside = i > 0 and a[i - 1] > 2 and i + 1 < n
    value = a[i]
    if inside:
        value += a[i - 1]
    cuda.syncthreads()
    if inside:
        value += a[i + 1]
    out[i] = value


def test_a_condition_that_is_kept_for_later() -> None:
    a = (np.arange(64) % 7).astype(np.float32)
    out = np.zeros_like(a)
    run(kept, 2, 32, a, out, 64)
    inside = [0 < i < 63 and a[i - 1] > 2 for i in range(64)]
    assert out.tolist() == [a[i] + (a[i - 1] + a[i + 1] if inside[i] else 0) for i in range(64)]


class Writer:
    """Writes a condition of parts that are cheap, loaded, or bind a name, and loops and branches around it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def part(self) -> str:
        random = self.random
        name, number = random.choice("xyz"), random.randint(0, 3)
        return random.choice(
            (f"{name} > {number}", f"a[{name}] > {number}", f"({name} := a[{name} % 4]) < {number}", f"x + {name} < 4")
        )

    def condition(self, depth: int = 0) -> str:
        random = self.random
        if depth > 2 or random.random() < 0.3:
            return self.part()
        parts = [self.condition(depth + 1) for _ in range(random.randint(2, 3))]
        text = f"({random.choice((' and ', ' or ')).join(parts)})"
        return random.choice((text, text, f"not {text}", f"({parts[0]} if {text} else {parts[-1]})"))

    def statements(self, depth: int) -> list[str]:
        random = self.random
        head = random.choice(("if", "if", "while", "flag"))
        if head == "while":
            lines = [f"while turns < 5 and {self.condition()}:", "    turns += 1"]
        elif head == "flag":
            lines = [f"flag = {self.condition()}", "if flag:"]
        else:
            lines = [f"if {self.condition()}:"]
        body = self.statements(depth + 1) if depth < 2 and random.random() < 0.6 else []
        lines += [f"    {line}" for line in (*body, f"total += {random.randint(1, 9)} * x + y", "x = (x + 1) % 4")]
        if head != "while" and random.random() < 0.5:
            lines += ["else:", f"    total -= {random.randint(1, 9)} + z"]
        return lines

    def text(self) -> str:
        body = [line for _ in range(2) for line in self.statements(0)]
        lines = ["turns, total, flag = 0, 0, False", "i = cuda.grid(1)", "x, y, z = i % 4, i // 4 % 4, i // 16", *body]
        lines.append("out[i] = 1000 * total + 100 * x + 10 * y + z")
        return "def kernel(a, out):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(15))
def test_random_conditions(seed: int) -> None:
    text = Writer(seed).text()
    a = np.array(Random(seed).sample(range(4), 4))
    out, wanted = np.zeros((2, 64), np.int64)
    from_source(text, {"cuda": cuda}).simulate(2, 32, (a, out), gpu="GTX285")
    for i in range(64):
        names: dict[str, Any] = {"cuda": SimpleNamespace(grid=lambda _, i=i: i)}
        exec(text, names)
        names["kernel"](a.tolist(), wanted)
    assert out.tolist() == wanted.tolist()
