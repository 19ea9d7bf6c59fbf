"""Random structured control flow: CUDA kernels of nested branches and loops whose lanes part and meet again, compiled
with and without optimisation, against a lane-by-lane reference."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from smmux.modules.module import load
from tests.sass.conftest import needed

M32 = 0xFFFFFFFF


class Leave(Exception):
    """A lane leaves a loop (break), its pass (continue) or the kernel (return)."""

    def __init__(self, how: str) -> None:
        self.how = how


@dataclass
class Node:
    """A statement: kind, numbers, and statements inside of it."""

    kind: str
    numbers: tuple[int, ...] = ()
    inner: list[list[Node]] = field(default_factory=list)


def condition(numbers: tuple[int, ...]) -> str:
    a, b, c = numbers
    return f"((x >> {a}) + i) % {b} < {c}"


def holds(numbers: tuple[int, ...], x: int, i: int) -> bool:
    a, b, c = numbers
    return ((x >> a) + i & M32) % b < c


def block(rng: random.Random, depth: int, loops: int, returns: bool) -> list[Node]:
    return [statement(rng, depth, loops, returns) for _ in range(rng.randint(1, 3))]


def numbers(rng: random.Random) -> tuple[int, int, int]:
    return rng.randint(0, 7), rng.randint(2, 7), rng.randint(1, 4)


def statement(rng: random.Random, depth: int, loops: int, returns: bool) -> Node:
    choices = ["set", "set"] + ["if", "else", "loop"] * (depth > 0) + ["break", "continue"] * (loops > 0)
    kind = rng.choice(choices + ["return"] * (returns and rng.random() < 0.3))
    if kind == "set":
        return Node("set", (rng.randint(1, 1 << 30) | 1, rng.randint(0, 1 << 30)))
    if kind in ("break", "continue", "return"):
        return Node(kind, numbers(rng))
    if kind == "loop":
        return Node("loop", (rng.randint(1, 9), rng.randint(0, 5)), [block(rng, depth - 1, loops + 1, returns)])
    parts = [block(rng, depth - 1, loops, returns) for _ in range(1 + (kind == "else"))]
    return Node("if", numbers(rng), parts)


def text(nodes: list[Node], indent: str = "    ") -> str:
    lines = []
    for node in nodes:
        if node.kind == "set":
            lines.append(f"x = x * {node.numbers[0]}u + {node.numbers[1]}u + i;")
        elif node.kind == "if":
            inside = [text(part, indent + "    ") for part in node.inner]
            lines.append(f"if ({condition(node.numbers)}) {{\n" + f"{indent}}} else {{\n".join(inside) + f"{indent}}}")
        elif node.kind == "loop":
            most, shift = node.numbers
            lines.append(
                f"for (unsigned j = 0, n = (x >> {shift}) % {most} + 1; j < n; j++, i += 3) {{\n"
                f"{text(node.inner[0], indent + '    ')}{indent}}}"
            )
        else:
            leave = "{ out[t] = x; return; }" if node.kind == "return" else f"{node.kind};"
            lines.append(f"if ({condition(node.numbers)}) {leave}")
    return "".join(f"{indent}{line}\n" for line in lines)


def run(nodes: list[Node], state: list[int]) -> None:
    """The same on one lane; state: x and i."""
    for node in nodes:
        x, i = state
        if node.kind == "set":
            state[0] = x * node.numbers[0] + node.numbers[1] + i & M32
        elif node.kind == "if":
            if holds(node.numbers, x, i):
                run(node.inner[0], state)
            elif len(node.inner) > 1:
                run(node.inner[1], state)
        elif node.kind == "loop":
            loop(node, state)
        elif holds(node.numbers, x, i):
            raise Leave(node.kind)


def loop(node: Node, state: list[int]) -> None:
    most, shift = node.numbers
    for _ in range((state[0] >> shift) % most + 1):
        try:
            run(node.inner[0], state)
        except Leave as leave:
            if leave.how == "break":
                return
            if leave.how == "return":
                raise
        state[1] = state[1] + 3 & M32


def program(seed: int) -> tuple[str, list[list[Node]]]:
    """A kernel of several parts; without returns all lanes meet behind each of them."""
    rng = random.Random(seed)
    returns = seed % 2 == 1
    parts = [block(rng, 3, 0, returns) for _ in range(3)]
    meet = (
        "" if returns else "    x += __popc(__ballot_sync(0xffffffffu, x & 1)) + __shfl_xor_sync(0xffffffffu, x, 1);\n"
    )
    body = meet.join(text(part) for part in parts) + meet
    head = "    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, x = in[t], i = 0;\n"
    return f"__global__ void k{seed}(const unsigned *in, unsigned *out) {{\n{head}{body}    out[t] = x;\n}}\n", parts


def expected(seed: int, parts: list[list[Node]], given: list[int]) -> list[int]:
    """What each lane of the warps gives."""
    found: list[int] = []
    for first in range(0, len(given), 32):
        lanes = [[x, 0] for x in given[first : first + 32]]
        done = [False] * 32
        for part in parts:
            for lane, state in enumerate(lanes):
                try:
                    if not done[lane]:
                        run(part, state)
                except Leave:
                    done[lane] = True
            if seed % 2 == 0:
                odd = sum(state[0] & 1 for state in lanes)
                others = [lanes[lane ^ 1][0] for lane in range(32)]
                for state, other in zip(lanes, others, strict=True):
                    state[0] = state[0] + odd + other & M32
        found += [state[0] for state in lanes]
    return found


def check(seeds: range, arch: str, option: str, place: Path) -> None:
    needed("nvcc", "nvdisasm")
    programs = {seed: program(seed) for seed in seeds}
    source = place / "random.cu"
    source.write_text("".join(code for code, _ in programs.values()))
    module = load(source, arch, [option])
    for seed, (_, parts) in programs.items():
        given = np.random.default_rng(seed).integers(0, 1 << 32, 64, dtype="u4")
        out = np.zeros(64, "u4")
        module[f"k{seed}"].simulate(1, 64, [given, out], max_cycles=50_000_000)
        assert out.tolist() == expected(seed, parts, given.tolist()), seed


@pytest.mark.long
@pytest.mark.parametrize(("arch", "option"), [("sm_75", "-O3"), ("sm_90", "-O3"), ("sm_90", "-G")])
def test_lanes_do_what_each_would_do_alone(arch: str, option: str, tmp_path: Path) -> None:
    check(range(12), arch, option, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-O3", "-O1", "-G"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_many_programs(arch: str, option: str, tmp_path: Path) -> None:
    check(range(100, 160), arch, option if option != "-O1" else "-Xptxas=-O1", tmp_path)
