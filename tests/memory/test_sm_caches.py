"""The caches inside the SM: latencies in closed form, values that stay coherent, textures as they were at launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smmux
from smmux import cuda, gpus
from tests.machine.assembler import Assembler, variant

LINE = 128


def chase(gpu: gpus.Gpu, steps: int, stride: int, op: str, words: int = 1 << 14) -> dict[str, int]:
    """One thread follows pointers `stride` bytes apart around a ring of `words` words."""
    ring = ((np.arange(words) * 4 + stride) % (4 * words)).astype(np.uint32)
    ring.flags.writeable = op != "tex.1d"
    a = Assembler()
    a("mov.b32", d=0, a=a.imm(0))
    for _ in range(steps):
        a("add.s32", d=1, a=0, b=a.param(0))
        a(op, d=0, a=1, width=4, aux=0)
    a("exit")
    return a.run(gpu, block=(1, 1, 1), buffers=(ring,))["counters"]


def per_step(gpu: gpus.Gpu, stride: int, op: str, warm: int, more: int) -> float:
    """Cycles of a load after `warm` loads."""
    few, many = chase(gpu, warm, stride, op), chase(gpu, warm + more, stride, op)
    return (many["cycles"] - few["cycles"]) / more - gpu.lat_alu


@pytest.mark.parametrize(
    ("name", "op", "latency"), [("GTX480-16K", "ld.global", "lat_l1"), ("GTX480-48K", "ld.global", "lat_l1"),
                          ("GTX285", "tex.1d", "lat_tex"), ("GTX480-16K", "tex.1d", "lat_tex")],
)  # fmt: skip
def test_hit_takes_the_latency(name: str, op: str, latency: str) -> None:
    gpu = variant(name, icache_bytes=0)
    assert per_step(gpu, 0, op, 4, 20) == getattr(gpu, latency)


@pytest.mark.parametrize("name", ["GTX285", "GTX285-1100"])
def test_gt200_has_no_l1(name: str) -> None:
    counters = chase(variant(name, icache_bytes=0), 20, 0, "ld.global")
    assert counters["transactions"] == 20
    assert counters["l1_hits"] == counters["l1_misses"] == 0


def test_l1_holds_its_capacity_and_no_more() -> None:
    """A ring that fits is missed once, one that does not is missed at every step (LRU)."""
    gpu = variant("GTX480-48K", icache_bytes=0, l1_hashed=0)
    lines = gpu.l1_bytes // LINE
    fits = chase(gpu, 3 * lines, LINE, "ld.global", words=lines * LINE // 4)
    beyond = chase(gpu, 2 * (lines + 4), LINE, "ld.global", words=(lines + gpu.l1_bytes // LINE) * LINE // 4)
    assert (fits["l1_misses"], fits["l1_hits"]) == (lines, 2 * lines)
    assert beyond["l1_hits"] == 0


@cuda.jit
def write_then_read(x: Any, y: Any) -> None:
    """Every thread reads a word, writes it, reads it again: the second read must see the write."""
    i = cuda.grid(1)
    before = x[i]
    x[i] = before + 1
    y[i] = x[i] + x[i ^ 1] - before


def test_a_store_invalidates_the_line_and_closes_its_miss() -> None:
    x = np.arange(4096, dtype=np.int32)
    y = np.zeros_like(x)
    found = write_then_read.simulate(64, 64, (x, y), gpu="GTX480-16K")
    assert (x == np.arange(4096) + 1).all()
    # the neighbour is in the same warp, whose store came before its loads
    assert (y == (np.arange(4096) ^ 1) + 2).all()
    assert found.counters["l1_misses"] > 0


@cuda.jit
def read_twice(x: Any, y: Any) -> None:
    """Each block sums what every block has: lines are shared, words of one line come together."""
    total = np.int32(0)
    for k in range(x.size):
        total += x[k]
    y[cuda.grid(1)] = total


def test_merged_misses_deliver_every_lane() -> None:
    x = np.arange(500, dtype=np.int32)
    y = np.zeros(256, np.int32)
    found = read_twice.simulate(4, 64, (x, y), gpu="GTX480-16K", schedule="source")
    assert (y == x.sum()).all()
    assert found.counters["l1_hits"] > 10 * found.counters["l1_misses"]


@cuda.jit
def overlapping(x: Any, tail: Any, y: Any) -> None:
    i = cuda.grid(1)
    y[i] = x[i] + tail[i]


def test_views_of_one_array_share_lines() -> None:
    memory = np.arange(1003, dtype=np.int32)
    y = np.zeros(1000, np.int32)
    overlapping.simulate(8, 125, (memory[:1000], memory[3:], y), gpu="GTX480-16K")
    assert (y == 2 * np.arange(1000) + 3).all()


@cuda.jit
def shift_right(x: Any, t: Any) -> None:
    """Overwrites the memory that the texture shows."""
    i = cuda.grid(1)
    x[i + 1] = t[i] + 1


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_a_texture_keeps_its_values_of_the_launch(gpu: str) -> None:
    x = np.arange(1025, dtype=np.float32)
    found = shift_right.simulate(8, 128, (x, smmux.texture(x)), gpu=gpu)
    assert (x[1:] == np.arange(1024) + 1).all()
    assert found.counters["texture_accesses"] == 32
    assert found.counters["texture_misses"] > 0


def test_a_texture_takes_no_parameter_bytes_and_no_store() -> None:
    x = np.zeros(64, np.float32)
    assert "param .tex" in shift_right.ir(x, smmux.texture(x))
    with pytest.raises(smmux.CompileError, match="read-only"):
        shift_right.simulate(1, 32, (smmux.texture(x), x))


def test_constant_accesses_pay_for_each_address_and_for_the_first_touch() -> None:
    """Seed 004: constant memory is best if all threads of a warp read the same item."""

    def run(scale: int, cache: int) -> dict[str, int]:
        a = Assembler()
        a("mul.lo.s32", d=0, a=0x4000 | 6, b=a.imm(4 * scale))  # %laneid
        a("ld.const", d=1, a=0, width=4)
        a("add.s32", d=1, a=1, b=a.imm(1))
        a("exit")
        gpu = variant("GTX285-1100", icache_bytes=0, const_bytes=cache)
        return a.run(gpu, const=bytes(4096))["counters"]

    gpu = gpus.get("GTX285-1100")
    uniform, apart = run(0, 0), run(1, 0)
    assert apart["cycles"] - uniform["cycles"] == 31 * gpu.const_clk_per_way
    assert run(0, 8192)["cycles"] - uniform["cycles"] == gpu.const_miss
    assert run(1, 8192)["const_misses"] == 2  # 128 bytes in lines of 64


@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K", "K20c"])
def test_constants_come_from_the_levels_behind_the_first(name: str) -> None:
    """A ring of constants that fits in the first level, in the second alone, and on GT200 in the third alone."""
    gpu = variant(name, icache_bytes=0)

    def latency(size: int, stride: int) -> float:
        ring = ((np.arange(size // 4) * 4 + stride) % size).astype(np.uint32).tobytes()
        steps = size // stride
        cycles = []
        for rounds in (2, 3):
            a = Assembler()
            a("mov.b32", d=0, a=a.imm(0))
            for _ in range(rounds * steps):
                a("ld.const", d=0, a=0, width=4)
            a("exit")
            cycles.append(a.run(gpu, block=(1, 1, 1), const=ring)["counters"]["cycles"])
        return (cycles[1] - cycles[0]) / steps

    assert latency(2048, 64) == gpu.lat_const
    assert latency(8192, 64) == gpu.lat_const + gpu.lat_icache2
    if gpu.icache3_bytes:
        assert latency(32768, 256) == gpu.lat_const + gpu.lat_icache3


@pytest.mark.parametrize("name", ["GTX285-1100"])
def test_straight_code_is_fetched_line_by_line(name: str) -> None:
    """Code that fits is fetched once by each SM; a loop larger than the cache is fetched again and again."""
    gpu = gpus.get(name)
    per_line = gpu.icache_line // gpu.insn_bytes

    def run(lines: int, rounds: int) -> dict[str, int]:
        a = Assembler()
        a("mov.b32", d=0, a=a.imm(rounds))
        top = len(a.rows)
        for _ in range(lines * per_line - 5):
            a("add.s32", d=1, a=2, b=3)
        a("add.s32", d=0, a=0, b=a.imm(-1))
        a("setp.gt.s32", d=0, a=0, b=a.imm(0))
        a("bra", guard=0, imm=top, aux=len(a.rows) + 1)
        a("exit")
        return a.run(name)["counters"]

    capacity = gpu.icache_bytes // gpu.icache_line
    assert run(capacity, 10)["icache_misses"] == capacity
    assert run(2 * capacity, 10)["icache_misses"] == 2 * capacity * 10
    assert run(2 * capacity, 10)["idle_fetch"] > 0
