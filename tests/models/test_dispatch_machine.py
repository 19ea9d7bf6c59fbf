"""The machine's own dispatcher at random times: blocks hold static memory, allocate, check it, release and end.

Every block writes its number over its static part at the start and over its dynamic part after each grant, waits, and
counts the words that still bear its number. A word lost would be an overlap; a deadlock is an error of the machine. Of
every tenth sequence the definition of its management in tests/reference/management.py must give the same cycles.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from smmux import policies
from smmux.gpus import Gpu
from smmux.machines.management import SharedMemory
from tests.machine.assembler import CTAID_X, Assembler, variant
from tests.reference.management import definition

INSN_DYNAMIC = 16
ALLOC, RELEASE = 1, 2  # options of a barrier

# Registers.
DELAYS, OUT, COUNT, LEFT, WORD, EQUAL = range(6)
LOOP, SAME = 0, 1  # predicates
ROW = 8  # delays per block


def wait(a: Assembler, number: int) -> None:
    """Run an empty loop as often as the block's delay of that number says."""
    a("ld.global", d=LEFT, a=DELAYS, imm=4 * number, width=4, aux=0)
    top = a("sub.s32", d=LEFT, a=LEFT, b=a.imm(1))
    a("setp.ge.s32", d=LOOP, a=LEFT, b=a.imm(0))
    a("bra", guard=LOOP, imm=top, aux=top + 3)


def fill(a: Assembler, words: range, flags: int) -> None:
    """Store the block's number to each of the words."""
    for word in words:
        a("st.shared", d=CTAID_X, imm=4 * word, width=4, flags=flags)


def count(a: Assembler, words: range, flags: int) -> None:
    """Add the words that still hold the block's number."""
    for word in words:
        a("ld.shared", d=WORD, imm=4 * word, width=4, flags=flags)
        a("setp.eq.s32", d=SAME, a=WORD, b=CTAID_X)
        a("selp.b32", d=EQUAL, a=a.imm(1), b=a.imm(0), q=SAME)
        a("add.s32", d=COUNT, a=COUNT, b=EQUAL)


def ends(size: int) -> range:
    """First and last word of an array of that many bytes."""
    return range(0, size // 4, max(1, size // 4 - 1)) if size else range(0)


def program(static: int, dynamic: int, regions: int) -> Assembler:
    a = Assembler()
    a("mad.lo.s32", d=DELAYS, a=CTAID_X, b=a.imm(4 * ROW), c=a.param(0))
    a("mad.lo.s32", d=OUT, a=CTAID_X, b=a.imm(4), c=a.param(1))
    a("mov.b32", d=COUNT, a=a.imm(0))
    fill(a, ends(static), 0)
    for region in range(regions):
        wait(a, 2 * region)
        a("bar.sync", sub=ALLOC, imm=dynamic)
        fill(a, ends(dynamic), INSN_DYNAMIC)
        wait(a, 2 * region + 1)
        count(a, ends(dynamic), INSN_DYNAMIC)
        a("bar.sync", sub=RELEASE, imm=dynamic)
    wait(a, ROW - 1)
    count(a, ends(static), 0)
    a("st.global", a=OUT, d=COUNT, width=4, aux=1)
    a("exit")
    return a


def machine(rng: random.Random) -> Gpu:
    """One SM with little shared memory."""
    return variant(
        "GTX285",
        sm_count=1,
        sms_per_tpc=1,
        smem_bytes=rng.choice((1024, 1040, 2048)),
        smm_unit=rng.choice((1, 16, 64)),
        smem_unit=1,
        block_start=rng.choice((1, 50, 400)),
        flat_latency=rng.choice((20, 100)),
        preload_policy=rng.choice(policies.names("preload")),
        preload_line=rng.choice((32, 64, 128)),
        preload_wait=rng.choice((0, 1)),
        preload_early=rng.choice((0, 1)),
    )


def tiles(rng: random.Random) -> list[list[int]]:
    """A preload table: some of the delays, those of the block itself among them."""
    table = []
    for _ in range(rng.randint(1, 4)):
        step, first = 4 * ROW * rng.randint(0, 1), rng.randint(-50, 200)
        table.append([0, step, 0, 0, first, step, 0, 0, first + rng.choice((0, 31, 200, 900))])
    return table


def check_tiles(counters: dict[str, int], gpu: Gpu) -> None:
    """Each line comes once; blocks have their tile or are told to have none."""
    assert counters["preload_blocks"] + counters["preload_unfit"] <= counters["blocks"]
    fetches = gpu.preload_policy in ("traffic", "hold", "lines")
    assert counters["preload_packets"] == fetches * counters["preload_lines"]
    assert counters["preload_released"] <= gpu.preload_early * counters["preload_blocks"]


def check_sequence(rng: random.Random, compare: bool) -> None:
    """One random sequence, half of them with tiles of preloaded lines beside the other parts; compare: without, also
    under the definition of its management, with the same cycles and counters."""
    gpu = machine(rng)
    blocks, regions = rng.randint(2, 14), rng.randint(1, 3)
    dynamic = 4 * rng.randint(1, 120)
    static = 4 * rng.randint(0, (gpu.smem_bytes - dynamic) // 16)
    delays = np.array(
        [[rng.choice((0, 3, 20)) * rng.randint(0, 3) for _ in range(ROW)] for _ in range(blocks)], np.int32
    )
    out = np.full(blocks, -1, np.int32)
    assembled = program(static, dynamic, regions)
    options: dict[str, Any] = {
        "management": rng.choice(("dynamic", "aged", "throttled")),
        "max_waiting": rng.randint(0, 2),
        "extra_blocks": rng.randint(0, 7),
        "per_pc": 0,
        "accesses": 0,
        "trace": 0,
        "window": rng.choice((0, 1, 32)),
    }
    launched: dict[str, Any] = {"grid": (blocks, 1, 1), "block": (1, 1, 1), "buffers": (delays, out)}
    launched |= {"shared": static, "dynamic_bytes": dynamic}
    table = None if compare or rng.random() < 0.5 else tiles(rng)
    found = assembled.run(gpu, **launched, **options, preload=table)
    assert out.tolist() == [len(ends(static)) + regions * len(ends(dynamic))] * blocks
    assert found["counters"]["blocks"] == blocks
    assert found["counters"]["allocations"] == blocks * regions
    check_tiles(found["counters"], gpu)
    if compare:
        defined = definition(options["management"], options["max_waiting"])
        manager = defined(SharedMemory(0, gpu.smem_bytes // gpu.smm_unit * gpu.smm_unit, gpu.smm_unit, 0))
        assert assembled.run(gpu, **launched, **options, managers=[manager]) == found


def test_random_sequences() -> None:
    rng = random.Random(1)
    for number in range(300):
        check_sequence(rng, number % 10 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_random_sequences(seed: int) -> None:
    rng = random.Random(100 + seed)
    for number in range(10_000):
        check_sequence(rng, number % 100 == 0)
