"""An L1 of 128-byte lines and smaller sectors: closed forms, and the definition in tests/reference."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, cuda, gpus, int32
from tests.machine.assembler import LANEID, Assembler, variant
from tests.reference.sectors import L1, Machine

WORDS = 1024
BASE = 0x1000


def machine(**changes: int) -> gpus.Gpu:
    """One SM with an L1 of 32-byte sectors, on a memory that answers after a fixed time."""
    memory = {"mem_model": 0, "flat_bytes_per_kclk": 100_000_000, "flat_latency": 300, "credits": 4096}
    rest = {
        "sm_count": 1,
        "sms_per_tpc": 1,
        "icache_bytes": 0,
        "const_bytes": 0,
        "l1_sector": 32,
        "l1_hashed": 0,
        "max_regs_thread": 255,
    }
    return variant("GTX480-16K", **memory | rest | changes)


class Warp:
    """Loads and stores whose addresses are in registers before the first one; device addresses choose sets."""

    def __init__(self, gpu: gpus.Gpu, accesses: list[tuple[str, list[int]]]) -> None:
        self.gpu, self.accesses = gpu, [(kind, [BASE + place for place in places]) for kind, places in accesses]

    def run(self, count: int, keep: bool = False) -> tuple[dict[str, int], Any, Any]:
        """Counters, memory and what the first `count` accesses loaded, which is stored behind them if asked for."""
        a = Assembler()
        most = len(self.accesses)
        a("shl.b32", d=0, a=LANEID, b=a.imm(2))
        for i in range(most):
            a("ld.const", d=2 + i, a=0, imm=128 * i, width=4)
        for i in range(most):
            a("add.s32", d=1, a=1, b=2 + i)
        loads = [i for i, (kind, _) in enumerate(self.accesses[:count]) if kind == "ld"]
        for i, (kind, _) in enumerate(self.accesses[:count]):
            a(f"{kind}.global", d=2 + i + most * (i in loads), a=2 + i, width=4, aux=0)
        for i in loads if keep else ():
            a("st.global", d=2 + i + most, a=0, imm=BASE + 4 * WORDS + 128 * i, width=4, aux=1)
        a("exit")
        words, found = np.arange(WORDS, dtype=np.uint32), np.zeros((most, 32), np.uint32)
        table = np.array([places for _, places in self.accesses], np.uint32)
        ran = a.run(self.gpu, nregs=2 + 2 * most, buffers=(words, found), const=table.tobytes())
        return ran["counters"], words, found

    def definition(self) -> tuple[L1, list[Any]]:
        """The same by definition."""
        gpu = self.gpu
        l1 = L1(
            Machine(
                gpu.l1_bytes,
                gpu.l1_line,
                gpu.l1_sector or gpu.l1_line,
                gpu.l1_ways,
                bool(gpu.l1_hashed),
                gpu.l1_mshrs,
                gpu.issue_interval,
                gpu.issue_global,
                gpu.lat_global,
                gpu.flat_latency,
            ),
            [0] * (BASE // 4) + list(range(WORDS)),
        )
        loads = []
        for kind, places in self.accesses:
            loads.append(l1.load(places) if kind == "ld" else l1.store(places, places))
        return l1, loads


def random_accesses(rng: Random, count: int) -> list[tuple[str, list[int]]]:
    """Rows, strides, few lines and scattered words, near each other so that lines are met again."""
    out = []
    for _ in range(count):
        start = 4 * rng.randrange(WORDS)
        stride = rng.choice((0, 4, 4, 4, 8, 16, 32, 36, 128))
        kind = rng.random()
        if kind < 0.7:
            places = [(start + stride * lane) % (4 * WORDS) for lane in range(32)]
        else:
            near = rng.choice((64, 256, 4 * WORDS))
            places = [(start + 4 * rng.randrange(near // 4)) % (4 * WORDS) for _ in range(32)]
        out.append(("st" if rng.random() < 0.2 else "ld", places))
    return out


def random_machine(rng: Random) -> gpus.Gpu:
    """Few sets and ways, so that lines are replaced."""
    ways, interval = rng.choice((1, 2, 4)), rng.choice((1, 2, 5))
    return machine(
        l1_sector=rng.choice((0, 32, 32, 64, 128)),
        l1_ways=ways,
        l1_bytes=128 * ways * rng.choice((1, 2, 3, 4, 8)),
        l1_hashed=rng.choice((0, 1)),
        l1_mshrs=rng.choice((1, 2, 5, 64)),
        issue_global=interval,
        replay_global=interval,
        flat_latency=rng.choice((30, 100, 300)),
    )


@pytest.mark.quick(25)
@pytest.mark.parametrize("seed", range(80))
def test_the_machine_does_what_the_definition_says(seed: int) -> None:
    rng = Random(seed)
    warp = Warp(random_machine(rng), random_accesses(rng, rng.choice((3, 12, 40))))
    l1, loads = warp.definition()
    end = l1.finish()
    counters, words, _ = warp.run(len(warp.accesses))
    for name in ("l1_hits", "l1_merges", "l1_misses", "transactions", "transaction_bytes"):
        assert counters[name] == l1.counters[name], name
    assert counters["cycles"] - warp.run(0)[0]["cycles"] == end
    assert words.tolist() == l1.words[BASE // 4 :]
    _, _, found = warp.run(len(warp.accesses), keep=True)
    for row, load in zip(found.tolist(), loads, strict=True):
        assert load is None or row == load.values


def one(gpu: gpus.Gpu, *addresses: list[int]) -> dict[str, int]:
    """Counters of loads one after the other, each when the one before is there."""
    a = Assembler()
    table = np.array([[BASE + x for x in row] for row in addresses], np.uint32)
    a("shl.b32", d=0, a=LANEID, b=a.imm(2))
    for i in range(len(addresses)):
        a("ld.const", d=2 + i, a=0, imm=128 * i, width=4)
    a("mov.b32", d=1, a=a.imm(0))
    for i in range(len(addresses)):
        a("and.b32", d=1, a=1, b=a.imm(0))
        a("add.s32", d=2 + i, a=2 + i, b=1)
        a("ld.global", d=1, a=2 + i, width=4, aux=0)
    a("exit")
    counters: dict[str, int] = a.run(gpu, buffers=(np.zeros(WORDS, np.uint32),), const=table.tobytes())["counters"]
    return counters


ROW = [4 * lane for lane in range(32)]


@pytest.mark.parametrize(("sector", "runs", "size"), [(0, 1, 128), (128, 1, 128), (64, 1, 128), (32, 1, 128)])
def test_a_row_is_one_transaction_of_the_line(sector: int, runs: int, size: int) -> None:
    counters = one(machine(l1_sector=sector), ROW)
    assert (counters["transactions"], counters["transaction_bytes"]) == (runs, size)
    assert counters["l1_misses"] == 1


@pytest.mark.parametrize(("sector", "moved"), [(0, 128), (64, 64), (32, 32)])
def test_a_word_moves_its_sector(sector: int, moved: int) -> None:
    counters = one(machine(l1_sector=sector), [8] * 32)
    assert (counters["transactions"], counters["transaction_bytes"]) == (1, moved)


def test_sectors_apart_are_transactions_of_their_own() -> None:
    counters = one(machine(), [64 * (lane % 2) for lane in range(32)])
    assert (counters["l1_misses"], counters["transactions"], counters["transaction_bytes"]) == (1, 2, 64)


def test_the_other_sectors_of_a_line_are_missed_in_their_turn() -> None:
    """Where a line comes whole, one miss brings all of it."""
    quarters = [[32 * quarter] * 32 for quarter in range(4)]
    apart, whole = one(machine(), *quarters, *quarters), one(machine(l1_sector=0), *quarters, *quarters)
    assert (apart["l1_misses"], apart["l1_hits"], apart["transaction_bytes"]) == (4, 4, 128)
    assert (whole["l1_misses"], whole["l1_hits"], whole["transaction_bytes"]) == (1, 7, 128)
    assert apart["cycles"] - whole["cycles"] == 3 * (machine().flat_latency + machine().lat_global - machine().lat_l1)


def test_a_strided_sweep_moves_a_quarter_of_what_whole_lines_move() -> None:
    """Random words from a large array: the reason for sectors."""
    places = [[128 * ((7 * i + lane) % 32) for lane in range(32)] for i in range(1)]
    sectors, lines = one(machine(), *places), one(machine(l1_sector=0), *places)
    assert 4 * sectors["transaction_bytes"] == lines["transaction_bytes"] == 32 * 128


@cuda.jit
def shifted(x: Any, y: Any, n: Any) -> None:
    i = cuda.grid(1)
    total = int32(0)
    for k in range(8):
        total += x[(i * 9 + k * 37) % n]
    y[i] = total
    x[(i * 5) % n] = x[(i * 5) % n]


@pytest.mark.parametrize("sector", [32, 64])
def test_kernels_compute_the_same_with_sectors_on_detailed_memory(sector: int) -> None:
    n = 5000
    x = np.arange(n, dtype=np.int32) * 3
    i = np.arange(2048)
    expected = sum(x[(i * 9 + k * 37) % n] for k in range(8))
    gpu = gpus.get("GTX480-48K").replace(l1_sector=sector)
    y = np.zeros(2048, np.int32)
    found = shifted.simulate(16, 128, (x, y, n), gpu=gpu)
    whole = shifted.simulate(16, 128, (x.copy(), y.copy(), n), gpu="GTX480-48K")
    np.testing.assert_array_equal(y, expected)
    assert found["transaction_bytes"] < whole["transaction_bytes"]
    windows = {
        shifted.simulate(16, 128, (x, y, n), gpu=gpu, window=w, host_threads=t).cycles
        for w, t in ((1, 1), (8, 1), (0, 2))
    }
    assert windows == {found.cycles}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"l1_sector": 48}, "l1_sector must be a power of two, not 48"),
        ({"l1_sector": 16}, "l1_sector = 16 must be at least 32, and from an eighth of l1_line = 128 to all of it"),
        ({"l1_sector": 256}, "l1_sector = 256 must be at least 32, and from an eighth of l1_line = 128"),
        ({"tex_line": 32, "tex_sector": 64}, "tex_sector = 64 must be"),
    ],
)
def test_sectors_that_do_not_fit_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        variant("GTX480-16K", **changes)
