"""Instruction supply: rates as measured, the levels by their definition, the same bits in any window."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from smmux import gpus
from tests.reference import fetch

from .assembler import CTAID_X, TID_X, Assembler, variant

REAL = ("GTX285", "GTX480-48K", "K20c")
REST = 30
"""Instructions after which a result is there."""


def loop(body: int, rounds: int, op: str = "fma.rn.f32") -> Assembler:
    """Independent operations, in a loop of so many instructions."""
    a = Assembler()
    a("mov.b32", d=0, a=a.imm(rounds))
    top = len(a.rows)
    for i in range(body - 3):
        a(op, d=1 + i % 12, a=13, b=14, c=15)
    a("add.s32", d=0, a=0, b=a.imm(-1))
    a("setp.gt.s32", d=0, a=0, b=a.imm(0))
    a("bra", guard=0, imm=top, aux=len(a.rows) + 1)
    a("exit")
    return a


def per_instruction(gpu: str | gpus.Gpu, body: int, op: str = "fma.rn.f32", **launch: Any) -> float:
    """Clocks per instruction of a warp that goes round such a loop when it has been round twice."""
    few, many = (loop(body, rounds, op).run(gpu, **launch)["counters"]["cycles"] for rounds in (2, 4))
    return (many - few) / (2 * body)


# ---- rates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("kilobytes", "measured"), [(4, 2.0), (20, 4.35), (200, 7.5)])
def test_a_k20c_fetches_as_fast_as_a_k80_was_measured(kilobytes: int, measured: float) -> None:
    """Loops that fit in the L1, the L1.5 and the L2: Jia et al., Figure 3.3."""
    body = kilobytes * 1024 // 64 * 7
    assert per_instruction("K20c", body) == pytest.approx(measured, rel=0.1)


def test_a_k20c_fetches_from_memory_as_fast_as_a_k80_was_measured() -> None:
    few, many = (loop(body, 1).run("K20c")["counters"]["cycles"] for body in (3000, 15000))
    assert (many - few) / 12000 == pytest.approx(12.6, rel=0.1)


def test_two_lines_are_on_their_way_from_the_second_level() -> None:
    """The one that the buffer is to take and the next one: a line takes half the latency."""
    gpu = gpus.get("K20c")
    rate = per_instruction(gpu, 20 * 1024 // 64 * 7)
    assert rate == pytest.approx(gpu.lat_icache2 / 2 / 7, rel=0.02)


def test_one_block_alone_does_not_see_the_edge_of_a_gt200s_first_level() -> None:
    """A line lasts 128 clk and comes in 73: prefetching hides it. From the third level a line takes 212."""
    gpu = gpus.get("GTX285")
    inside, beyond, third = (per_instruction(gpu, kilobytes * 128) for kilobytes in (3, 7, 24))
    assert beyond == pytest.approx(inside, rel=0.02)
    assert third == pytest.approx(gpu.lat_icache3 / 32, rel=0.02)
    assert per_instruction(gpu.replace(icache_prefetch=0, fetch_bytes=0), 7 * 128) > 1.4 * inside


def test_a_gtx480_runs_a_loop_of_5_kb_at_its_peak() -> None:
    """shmembench: 640 accesses to shared memory in a loop, 48 warps, 99.6 % of the peak."""
    a = Assembler()
    a("mov.b32", d=0, a=a.imm(4))
    a("shl.b32", d=1, a=TID_X, b=a.imm(2))
    top = len(a.rows)
    for i in range(640):
        a("ld.shared", d=2 + i % 12, a=1, width=4)
    a("add.s32", d=0, a=0, b=a.imm(-1))
    a("setp.gt.s32", d=0, a=0, b=a.imm(0))
    a("bra", guard=0, imm=top, aux=len(a.rows) + 1)
    a("exit")
    launch: dict[str, Any] = {"grid": (2, 1, 1), "block": (768, 1, 1), "shared": 4096, "nregs": 16}
    gpu = variant("GTX480-48K", sm_count=1)
    a.rows[0]["a"] = a.imm(2)
    few = a.run(gpu, **launch)["counters"]
    a.rows[0]["a"] = a.imm(6)
    many = a.run(gpu, **launch)["counters"]
    accesses = many["shared_accesses"] - few["shared_accesses"]
    assert accesses == 4 * 640 * 48
    assert 2 * accesses / (many["cycles"] - few["cycles"]) > 0.99  # 16 lanes: one access every two clocks


# ---- the levels by their definition ------------------------------------------------------


class Walk:
    """A program that blocks walk through each in their own way, and the way that each takes."""

    def __init__(self, rng: Random, gpu: gpus.Gpu, parts: int, longest: int) -> None:
        self.asm = a = Assembler()
        rounds, bits = rng.randint(1, 3), min(parts, 5)
        a("mov.b32", d=0, a=a.imm(rounds))
        for bit in range(bits):
            a("and.b32", d=1 + bit, a=CTAID_X, b=a.imm(1 << bit))
        self.rest(REST)
        for bit in range(bits):
            a("setp.gt.s32", d=1 + bit, a=1 + bit, b=a.imm(0))
        self.rest(REST)
        self.top = len(a.rows)
        a("add.s32", d=0, a=0, b=a.imm(-1))
        self.rest(REST)
        a("setp.gt.s32", d=0, a=0, b=a.imm(0))
        self.rest(REST)
        self.skips: dict[int, tuple[int, int]] = {}
        for part in range(parts):
            here = a("bra", guard=1 + part % bits, imm=0, aux=0)
            self.rest(rng.randint(1, longest))
            a.rows[here]["imm"] = a.rows[here]["aux"] = len(a.rows)
            self.skips[here] = (part % bits, len(a.rows))
            self.rest(rng.randint(0, longest // 2))
        self.back = a("bra", guard=0, imm=self.top, aux=len(a.rows) + 1)
        a("exit")
        self.rounds, self.length = rounds, len(a.rows)
        self.branches = frozenset([*self.skips, self.back])

    def rest(self, count: int) -> None:
        for _ in range(count):
            self.asm("nop")

    def trace(self, block: int) -> list[int]:
        """The instructions that a block issues."""
        out, pc, left = [], 0, self.rounds
        while pc < self.length:
            out.append(pc)
            if pc in self.skips and block >> self.skips[pc][0] & 1:
                pc = self.skips[pc][1]
            elif pc == self.back and left > 1:
                left -= 1
                pc = self.top
            else:
                pc += 1
        return out


def levels(rng: Random, name: str, wider: int) -> gpus.Gpu:
    """A machine of few SMs, small caches and a memory of fixed latency.

    wider: lines of the second level in one of the third, which has at most 256 bytes.
    """
    line = rng.choice((64, 128, 256))
    line2 = rng.choice([size for size in (64, 128, 256) if size >= line])
    line3 = min(line2 * wider, 256)
    ways, ways2, ways3 = (rng.choice((1, 2, 4)) for _ in range(3))
    third = rng.random() < 0.5
    latency = rng.choice((1, 20, 73, 212))
    return variant(
        name,
        sm_count=rng.randint(1, 5),
        sms_per_tpc=1,
        mem_model=0,
        flat_latency=rng.choice((100, 300)),
        issue_width=1,
        icache_line=line,
        icache_ways=ways,
        icache_bytes=line * ways * rng.choice((2, 4, 8)),
        icache_prefetch=rng.randint(0, 1),
        icache2_line=line2,
        icache2_ways=ways2,
        icache2_bytes=line2 * ways2 * rng.choice((2, 4, 16)),
        icache2_sms=rng.choice((1, 2, 3, 4)),
        icache2_fills=rng.choice((1, 2, 4)),
        icache2_prefetch=rng.randint(0, 1),
        icache2_launch=rng.choice((0, 0, 200, 1000)),
        lat_icache2=rng.choice((1, 30, 73)),
        icache3_ways=ways3,
        icache3_line=line3,
        icache3_bytes=line3 * ways3 * 8 if third else 0,
        lat_icache3=latency,
        icache3_miss=latency + rng.choice((0, 100, 300)),
    )


@settings(max_examples=25)
@example(524289, "K20c", 1).via("lines of one set that come in the same clock")
@example(522, "GTX285", 1).via("a group that waited for an answer looks at its requests before later ones are served")
@given(st.integers(0, 1 << 32), st.sampled_from(REAL), st.sampled_from((1, 2, 4)))
def test_lines_come_as_the_definition_says(seed: int, name: str, wider: int) -> None:
    rng = Random(seed)
    gpu = levels(rng, name, wider)
    walk = Walk(rng, gpu, rng.randint(1, 8), rng.choice((10, 30, 80)))
    blocks = gpu.sm_count
    end, expected = fetch.run(
        gpu, [walk.trace(block) for block in range(blocks)], walk.branches, [0] * blocks, walk.length
    )
    window, threads = rng.choice(((0, 1), (1, 1), (17, 2)))
    counters = walk.asm.run(gpu, grid=(blocks, 1, 1), npreds=8, window=window, threads=threads)["counters"]
    assert {name: counters[name] for name in counters if name.startswith("icache")} == {
        name: expected[name] for name in counters if name.startswith("icache")
    }
    assert counters["cycles"] == end


# ---- any window ----------------------------------------------------------------------------


def wandering(seed: int, size: int) -> Assembler:
    """Blocks that skip parts of the code, each in its own way, and read constants and global memory."""
    rng, a = Random(seed), Assembler()
    a("mov.b32", d=0, a=a.imm(2))
    a("mad.lo.s32", d=1, a=CTAID_X, b=a.imm(rng.randrange(1 << 31)), c=a.imm(rng.randrange(1 << 31)))
    top = len(a.rows)
    a("mad.lo.s32", d=1, a=1, b=a.imm(1664525), c=a.imm(1013904223))
    for part in range(8):
        a("shr.u32", d=2, a=1, b=a.imm(8 + part))
        a("and.b32", d=2, a=2, b=a.imm(1))
        a("setp.gt.s32", d=1, a=2, b=a.imm(0))
        here = a("bra", guard=1, imm=0, aux=0)
        for i in range(size // 8):
            if i % 40 == 7:
                a("and.b32", d=3, a=1, b=a.imm(4092))
                a("ld.const", d=4, a=3, width=4)
            elif i % 50 == 3:
                a("and.b32", d=3, a=1, b=a.imm(4092))
                a("add.s32", d=3, a=3, b=a.param(0))
                a("ld.global", d=5, a=3, width=4, aux=0)
            else:
                a("add.s32", d=6 + i % 8, a=14, b=15)
        a.rows[here]["imm"] = a.rows[here]["aux"] = len(a.rows)
    a("add.s32", d=0, a=0, b=a.imm(-1))
    a("setp.gt.s32", d=0, a=0, b=a.imm(0))
    a("bra", guard=0, imm=top, aux=len(a.rows) + 1)
    a("exit")
    return a


@pytest.mark.quick
@pytest.mark.parametrize("model", [0, 1])
@pytest.mark.parametrize("name", REAL)
def test_windows_and_host_threads_give_the_same_bits(name: str, model: int) -> None:
    """Code of all sizes, with levels that two or three SMs share, and blocks that start in between."""
    for seed, size in enumerate((300, 1500, 5000)):
        gpu = variant(name, mem_model=model, sm_count=5, icache2_fills=1 + seed)
        if seed == 1 and name != "GTX285":
            gpu = gpu.replace(icache2_sms=3)
        launch: dict[str, Any] = {
            "grid": (12, 1, 1),
            "block": (64, 1, 1),
            "buffers": (np.arange(1024, dtype=np.uint32),),
            "const": bytes(range(256)) * 16,
        }
        expected = wandering(seed, size).run(gpu, **launch)
        for window, threads in ((1, 1), (37, 2), (0, 2)):
            assert wandering(seed, size).run(gpu, window=window, threads=threads, **launch) == expected
        n = expected["counters"]
        asked = n["icache_misses"] + n["icache_prefetches"] + n["const_misses"]
        assert asked == n["icache2_hits"] + n["icache2_merges"] + n["icache2_misses"]
        lines = n["icache2_misses"] + n["icache2_prefetches"]
        if gpu.icache3_bytes:
            assert lines == n["icache3_hits"] + n["icache3_merges"] + n["icache3_misses"]


def test_perfect_fetch_never_waits() -> None:
    for name in REAL:
        counters = wandering(0, 3000).run(
            variant(name, icache_bytes=0), buffers=(np.arange(1024, dtype=np.uint32),), const=bytes(4096)
        )["counters"]
        assert counters["idle_fetch"] == counters["icache_misses"] == counters["icache_prefetches"] == 0
        assert counters["const_misses"] > 0
