"""Threads of a warp run in lockstep: no pass, and neither schedule, moves what one of them stores past what another
reads."""

from __future__ import annotations

import math
import time
from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.compiler.analysis.affine import AddressAnalysis
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.compiler.ir import Instr, Mem, Operand, Reg, Special, SpecialName, Storage, Type
from smmux.kernel import from_source
from tests.compiler.back import Builder, compiled, imm, ops
from tests.compiler.lockstep import SIZE, perform, random_kernel

BLOCKS = ((32,), (16, 2), (8, 4), (4, 4, 2), (24,))
"""Blocks of one warp."""

ELEMENTS = (np.int32, np.int32, np.int64, np.uint8, np.int16)
"""Types of the elements in shared memory; those in global memory are of 64 bits where these are, else of 32."""

THREAD = (
    "cuda.threadIdx.x",
    "cuda.threadIdx.y * {0} + cuda.threadIdx.x",
    "(cuda.threadIdx.z * {1} + cuda.threadIdx.y) * {0} + cuda.threadIdx.x",
)
"""The number of a thread in blocks of one, two and three dimensions."""

KERNEL = """
@cuda.jit
def f(g, out, n):
    s = cuda.shared.array({size}, {type})
    t = {thread}
    x, y = g[t], g[t + 32]
    for k in range(t, {size}, {threads}):
        s[k] = k
    cuda.syncthreads()
    {body}
    out[0, t], out[1, t] = x, y
    cuda.syncthreads()
    for k in range(t, {size}, {threads}):
        out[2, k] = s[k]
"""


def check(body: str, block: tuple[int, ...] = (32,), n: int = 3, element: Any = np.int32) -> None:
    """Run statements under every option that moves accesses, and as the text says."""
    threads = math.prod(block)
    before = np.random.default_rng(n).integers(0, 128, SIZE).astype(np.int64 if element is np.int64 else np.int32)
    names = {"g": before.copy(), "s": np.arange(SIZE).astype(element), "t": np.arange(threads, dtype=np.int32), "n": n}
    names |= {"x": before[:threads].copy(), "y": before[32 : 32 + threads].copy()}
    perform(body, names, threads)
    want = np.zeros((3, SIZE), np.int64)
    want[0, :threads], want[1, :threads], want[2] = names["x"], names["y"], names["s"]
    thread = THREAD[len(block) - 1].format(*block)
    text = KERNEL.format(
        size=SIZE, type=element.__name__, thread=thread, threads=threads, body="\n    ".join(body.splitlines())
    )
    kernel = from_source(text, {"cuda": cuda, element.__name__: element})
    for schedule in ("source", "list"):
        for join in (True, False):
            g, out = before.copy(), np.zeros_like(want)
            kernel.simulate(1, block, (g, out, n), schedule=schedule, join=join)
            np.testing.assert_array_equal(out, want, f"{schedule}, join={join}\n{text}")
            np.testing.assert_array_equal(g, names["g"], f"{schedule}, join={join}\n{text}")


IDIOMS = {
    "the last warp of a reduction": "\n".join(f"s[t] += s[t + {d}]" for d in (16, 8, 4, 2, 1)),
    "the same with a test": "if t < 16:\n" + "\n".join(f"    s[t] += s[t + {d}]" for d in (16, 8, 4, 2, 1)),
    "the same of 64 elements": "\n".join(f"s[t] += s[t + {d}]" for d in (32, 16, 8, 4, 2, 1)),
    "the same in a loop": "for d in range(5):\n    s[t] += s[t + (16 >> d)]",
    "in a loop of unknown length": "d = 16\nwhile d > 0:\n    s[t] += s[t + d]\n    d = d >> 1",
    "a maximum": "\n".join(f"s[t] = max(s[t], s[t + {d}])" for d in (16, 8, 4, 2, 1)),
    "in global memory": "\n".join(f"g[t] += g[t + {d}]" for d in (16, 8, 4, 2, 1)),
    "a scan": "\n".join(f"if t >= {d}:\n    s[t] += s[t - {d}]" for d in (1, 2, 4, 8, 16)),
    "a scan with zeros in front": "\n".join(f"s[t + 32] = s[t + 32] + s[t + {32 - d}]" for d in (1, 2, 4, 8, 16)),
    "a scan by turns": "\n".join(
        f"s[{b} + t] = s[{a} + t] + s[{a} + max(t - {d}, 0)]"
        for a, b, d in ((0, 64, 1), (64, 0, 2), (0, 64, 4), (64, 0, 8), (0, 64, 16))
    ),
    "a bitonic sort": """
for k in range(1, 6):
    for j in range(k):
        d = 1 << (k - 1 - j)
        x = s[t]
        y = s[t ^ d]
        if (t & d == 0) == (t & (1 << k) == 0):
            s[t] = min(x, y)
        else:
            s[t] = max(x, y)
""",
    "the neighbour's value after a store": "s[t] = 7 * t\nx = s[t + 1]\ns[t] = 9 * t\ny = s[t + 1]",
    "a load before a store of its element": "x = s[t + 1]\ns[t] = 5\ny = x + s[t + 1]",
    "an exchange": "s[t], s[t + 32] = s[t + 1], s[t + 33]\nx = s[31 - t]",
    "stores over each other": "s[2 * t] = x\ns[2 * t + 2] = y\ns[2 * t + 1] = x\ns[2 * t + 3] = y",
    "loads beside each other": "x = s[2 * t]\ns[2 * t + 3] = x\ny = s[2 * t + 1]",
    "in steps of four": "s[4 * t] = x\ny = s[4 * t + 4]\ns[4 * t + 1] = y\ns[4 * t + 2] = y\ns[4 * t + 3] = x",
    "rounds of a ring": "for i in range(n):\n    x += s[t + 1]\n    s[t] = x\n    s[t + 64] = s[t + 65] + y",
    "waiting for a word of one's own": "s[t + 64] = 3\nwhile s[t + 64] > 0:\n    s[t + 64] -= 1\n    x += s[t + 65]",
    "one thread for all": "if t == 3:\n    s[100] = x\ny = s[100]\nif t == 4:\n    s[100] = y + 1\nx = s[100]",
    "a tree with strides": "\n".join(f"if t % {2 * d} == 0:\n    s[t] += s[t + {d}]" for d in (1, 2, 4, 8, 16)),
    "a thread's number in a virtual block": "v = t - n * (n >> 4)\n"
    + "\n".join(f"s[v] += s[v + {d}]" for d in (16, 8, 4, 2, 1)),
    "an index that was loaded": "x = x & 31\ns[x] = t\ny = s[t]\ns[t] = y + 1\nx = s[x]",
}


@pytest.mark.quick
@pytest.mark.parametrize("block", BLOCKS[:3])
@pytest.mark.parametrize("idiom", IDIOMS)
def test_idioms(idiom: str, block: tuple[int, ...]) -> None:
    check(IDIOMS[idiom].strip(), block)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_random_kernels(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        rng = Random(seed)
        check(random_kernel(rng), rng.choice(BLOCKS), rng.randrange(4), rng.choice(ELEMENTS))


def access(op: str, array: Storage, index: Operand, offset: int = 0, width: int = 4) -> Instr:
    """An access to element index + offset, not of any function."""
    data = (imm(0),) if op.startswith("st") else ()
    return Instr(op, (), (index, *data), mem=Mem(array, width, offset))


X, Y, LANE = (Special(name) for name in (SpecialName.TID_X, SpecialName.TID_Y, SpecialName.LANEID))
UNIFORM = Special(SpecialName.CTAID_X)


def split(b: Builder, of: Operand) -> tuple[Reg, Reg]:
    """A thread's number as a warp's and a lane's."""
    return b.emit("shr.u32", of, imm(5)), b.emit("and.b32", of, imm(31))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("one element each", False),
        ("a neighbour's element", True),
        ("beyond any other thread", False),
        ("rows as long as a warp", True),
        ("32 words of a warp each", False),
        ("17 such words", True),
        ("odd and even words", False),
        ("a fixed word", True),
        ("two fixed words", False),
        ("a place that was loaded", True),
        ("parts of what was loaded", False),
        ("16 words on, in a row that was loaded", True),
        ("lanes", False),
        ("lanes of the next row", True),
        ("blocks", False),
        ("words of bytes", True),
    ],
)
def test_threads_that_keep_apart_do_not_order(case: str, expected: bool) -> None:
    b = Builder()
    s, g = b.shared("s", 8192), b.array("g")
    warp, lane = split(b, X)
    own = b.emit("add.s32", b.emit("shl.b32", warp, imm(9)), lane)  # 512 words of a warp, 16 of a lane
    loaded = b.emit("shl.b32", b.load(g, X, type=Type.S32), imm(2))
    somewhere = b.emit("sub.s32", X, b.load(g, X, type=Type.S32))
    triple = b.emit("mul.lo.s32", X, imm(3))
    row = b.emit("add.s32", X, b.emit("mul.lo.s32", Y, imm(32)))
    double = b.emit("mul.lo.s32", X, imm(2))
    block = b.emit("mul.lo.s32", UNIFORM, imm(64))
    octets = Storage(s.space, s.index, "octets", 1, 4 * s.elements, s.offset)
    pairs: dict[str, tuple[Instr, Instr]] = {
        "16 words on, in a row that was loaded": (
            access("st.shared", s, somewhere),
            access("ld.shared", s, somewhere, 16),
        ),
        "one element each": (access("st.shared", s, triple), access("ld.shared", s, triple, 1)),
        "a neighbour's element": (access("st.shared", s, X), access("ld.shared", s, X, 1)),
        "beyond any other thread": (access("st.shared", s, X), access("ld.shared", s, X, 1024)),
        "rows as long as a warp": (access("st.shared", s, row), access("ld.shared", s, row, 32)),
        "32 words of a warp each": (access("st.shared", s, own), access("ld.shared", s, own, 32 * 15)),
        "17 such words": (access("st.shared", s, own), access("ld.shared", s, own, 32 * 16)),
        "odd and even words": (access("st.shared", s, double), access("ld.shared", s, double, 7)),
        "a fixed word": (access("st.shared", s, X), access("ld.shared", s, imm(5))),
        "two fixed words": (access("st.shared", s, imm(4)), access("ld.shared", s, imm(5))),
        "a place that was loaded": (access("st.shared", s, loaded), access("ld.shared", s, loaded, 4)),
        "parts of what was loaded": (access("st.shared", s, loaded), access("ld.shared", s, loaded, 3)),
        "lanes": (access("st.shared", s, LANE), access("ld.shared", s, LANE, 32)),
        "lanes of the next row": (access("st.shared", s, LANE), access("ld.shared", s, LANE, -31)),
        "blocks": (access("st.global", g, block), access("ld.global", g, block, 1)),
        "words of bytes": (access("st.shared", s, X), access("ld.shared", octets, b.emit("shl.b32", X, imm(2)), 9, 1)),
    }
    order = WarpOrder(AddressAnalysis({dst: i for i in b.block.instrs for dst in i.dsts}))
    first, second = pairs[case]
    assert order.matters(first, second) == order.matters(second, first) == expected


def test_many_stores_side_by_side_are_joined_in_time() -> None:
    """A thousand of them are a quarter as many; each is compared with the few that it would pass, not with all."""
    b = Builder()
    s = b.shared("s", 1024)
    for k in range(1000):
        b.store(s, imm(0), imm(k), k)
    start = time.process_time()
    found = ops(compiled(b.exit()))
    assert found.count("st.shared.v4") == 250
    assert time.process_time() - start < 5
