"""Instruction supply: loops over straight code of growing size, and jumps from line to line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .assembler import RZ, Machine, branch, clock, field, immediate, ins, nops, program
from .bench import Bench, Row, register

KILOBYTES = (
    1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 34, 36, 40, 48, 56, 64, 72, 80, 96, 112, 120, 128, 136, 144,
        160, 192, 224, 256, 320,
    384, 448, 512, 640, 768, 1024, 1536, 2000,
)  # fmt: skip
LINE = 128
ROUNDS = 6
# blocks, warps in each block, in how many partitions
PLACES = ((1, 1, 1), (1, 4, 1), (1, 1, 4), (1, 4, 4), (2, 1, 4), (132, 1, 1), (132, 1, 4))


def straight(kilobytes: int) -> list[int]:
    """Independent FADDs, one a clock where they come in time."""
    return [ins("FADD", d=24 + i % 8, a=8, b=9) for i in range(64 * kilobytes)]


def jumps(kilobytes: int) -> list[int]:
    """A jump in each line, to another one: all lines in an order without pattern, then out."""
    count = kilobytes * 1024 // LINE
    order = np.random.default_rng(kilobytes).permutation(np.arange(1, count))
    follower = dict(zip([0, *order.tolist()], [*order.tolist(), count], strict=True))
    words = []
    for line in range(count):
        words += [branch(LINE * (follower[line] - line) - 16), *[ins("NOP")] * (LINE // 16 - 1)]
    return words


def loop(body: list[int]) -> list[int]:
    """ROUNDS rounds of a body that begins on a line; R44 and R45: clocks of the first, R46 and R47: of the last."""
    middle = [clock(42), *body, clock(43, stall=15), field(ins("ISETP", a=40, b=41, pd=2, stall=15), 76, 3, 2)]
    middle += [ins("MOV", d=44, b=42, guard=2, stall=15), ins("MOV", d=45, b=43, guard=2, stall=15)]
    middle += [
        immediate("VIADD.I", 40, 0xFFFFFFFF, a=40, stall=15),
        field(ins("ISETP", a=40, b=RZ, pd=3, stall=15), 76, 3, 5),
    ]
    start = [immediate("MOV.I", 40, ROUNDS, stall=15), immediate("MOV.I", 41, ROUNDS, stall=15)]
    end = [ins("MOV", d=46, b=42, stall=15), ins("MOV", d=47, b=43, stall=15)]
    return [*start, *middle, branch(-16 * (len(middle) + 1), guard=3), *end]


def aligned(machine: Machine, body: list[int]) -> list[int]:
    """The whole program, with NOPs so that the body of its loop begins on a line."""
    for pad in range(LINE // 16):
        whole = program([*nops(15 * pad), *loop(body)], loads=(0, 1), repeats=1, switch=True)
        at = machine.first + whole.index(clock(42)) + 1
        if at % (LINE // 16) == 0:
            return whole
    raise AssertionError


def ladder(
    bench: Bench, kilobytes_of: Sequence[int] = KILOBYTES, places: Sequence[tuple[int, int, int]] = PLACES
) -> Iterator[Row]:
    """Clocks per instruction of straight code, and per jump."""
    machine = Machine(bench.cubin("long"))
    for kind, make in (("straight", straight), ("jumps", jumps)):
        for kilobytes in kilobytes_of:
            loaded = bench.load(aligned(machine, make(kilobytes)), machine=machine)
            for blocks, warps, partitions in places:
                values = bench.floats(4 * warps * blocks)
                values[:, register(55)] = (np.arange(len(values)) % 4 < partitions)[:, None]
                after = loaded(values, blocks)[values[:, register(55), 0] > 0]
                count = kilobytes * (64 if kind == "straight" else 8)
                first = (after[:, register(45), 0] - after[:, register(44), 0]) / count
                last = (after[:, register(47), 0] - after[:, register(46), 0]) / count
                yield {
                    "kind": kind, "kilobytes": kilobytes, "blocks": blocks, "warps": warps, "partitions": partitions,
                    "first": round(float(np.median(first)), 4), "first_max": round(float(first.max()), 4),
                    "last": round(float(np.median(last)), 4), "last_max": round(float(last.max()), 4),
                }  # fmt: skip
            loaded.module.unload()


def cold_lines(bench: Bench) -> Iterator[Row]:
    """Clocks at every eighth instruction of straight code that runs for the first time after other code was loaded:
    how far ahead lines are fetched."""
    machine = Machine(bench.cubin("long"))
    for stall in (1, 4, 15):
        for attempt in range(4):
            body = []
            for i in range(40):
                body += [clock(14 + i), *[ins("FADD", d=12, a=8, b=9, stall=stall)] * 7]
            jump = [branch(16 * 4096), *[ins("NOP")] * 4096]  # far from what was fetched with the start
            loaded = bench.load(program([*jump, *body], loads=(0, 1), repeats=1, switch=True), machine=machine)
            values = bench.floats(4)
            values[:, register(55)] = (np.arange(4) < 1)[:, None]
            for run in (1, 2):
                after = loaded(values)[0, register(14) : register(54), 0]
                yield {
                    "stall": stall,
                    "attempt": attempt,
                    "run": run,
                    "clocks": " ".join(map(str, (after - after[0]).tolist())),
                }
            loaded.module.unload()


def branches(bench: Bench) -> Iterator[Row]:
    """Clocks of a taken branch to the next instruction, the next line, over some lines; not taken; BSSY and BSYNC."""
    cases = {
        "taken, next": [branch(0)], "taken, next line": [branch(112), *[ins("NOP")] * 7], "not taken": [branch(0,
        guard=15)],
        "taken over 32": [branch(32 * 16), *[ins("NOP")] * 32], "nop, stall 5": [ins("NOP", stall=5)],
        "bssy and bsync": [ins("BSSY", stall=5), ins("BSYNC", stall=5)], "yield": [ins("YIELD", stall=1)],
    }  # fmt: skip
    for stall in (1, 5):
        for name, words in cases.items():
            words = [field(word, 105, 4, stall) if word & 0xFFF == 0x947 else word for word in words]
            body = [clock(40), *words * 8, clock(41), *words * 24, clock(42)]
            after = bench.run(program(body, loads=(0, 1)), bench.floats())[0, :, 0]
            t = [int(after[register(r)]) for r in (40, 41, 42)]
            yield {"case": name, "stall": stall, "clocks": ((t[2] - t[1]) - (t[1] - t[0])) / 16}


def branch_rates(bench: Bench) -> Iterator[Row]:
    """Clocks per round and partition where several warps take jumps: to the next instruction or line, with lanes that
    part and meet, not taken; of one partition or of all four."""
    apart = field(ins("ISETP", a=10, b=RZ, pd=2, stall=15), 76, 3, 2)  # P2 = R10 == 0
    cases = {
        "taken, next": [branch(0)],
        "taken, next line": [branch(112), *[ins("NOP")] * 7],
        "not taken": [branch(0, guard=15)],
        "bssy and bsync": [ins("BSSY", stall=5), ins("BSYNC", stall=5)],
        "parted": [
            ins("BSSY", stall=5), branch(32, guard=2), ins("FADD", d=24, a=8, b=8, stall=2), branch(16),
            ins("FADD", d=25, a=8, b=8, stall=2), ins("BSYNC", stall=5),
        ],
        "parted, 8 apart": [
            ins("BSSY", stall=5), branch(144, guard=2), *[ins("FADD", d=24, a=8, b=8, stall=2)] * 8, branch(128),
            *[ins("FADD", d=25, a=8, b=8, stall=2)] * 8, ins("BSYNC", stall=5),
        ],
        "all lanes, with BSSY": [
            ins("BSSY", stall=5), branch(32, guard=15), ins("FADD", d=24, a=8, b=8, stall=2), branch(16),
            ins("FADD", d=25, a=8, b=8, stall=2), ins("BSYNC", stall=5),
        ],
        "bssy": [ins("BSSY", stall=5)],
        "bssy, 15 clocks, bsync": [ins("BSSY", stall=15), ins("BSYNC", stall=5)],
        "bssy, 30 clocks, bsync": [ins("BSSY", stall=15), ins("NOP", stall=15), ins("BSYNC", stall=5)],
        "warpsync": [ins("WARPSYNC.ALL", stall=5)],
        "yield": [ins("YIELD", stall=5)],
        "eight adds, taken": [
            *[ins("FADD", d=24, a=8, b=8, stall=2)] * 7, ins("FADD", d=24, a=8, b=8, stall=5), branch(0),
        ],
    }  # fmt: skip
    for name, words in cases.items():
        for partitions, warps in ((1, 1), (1, 2), (1, 4), (1, 8), (4, 1), (4, 2), (4, 4), (4, 8)):
            body = [apart, clock(44), *words * 16, clock(45), *words * 32, clock(46)]
            values = bench.floats(4 * warps)
            values[:, register(10)] = np.arange(32) % 2
            values[:, register(55)] = (np.arange(4 * warps) % 4 < partitions)[:, None]
            after = bench.run(program(body, switch=True), values)[np.arange(4 * warps) % 4 < partitions]
            begin, half, end = (after[:, register(number), 0].astype(np.int64) for number in (44, 45, 46))
            yield {
                "case": name, "partitions": partitions, "warps": warps,
                "clocks": (end.max() - begin.min()) / (48 * warps), "of_a_warp": float(np.median(end - half)) / 32,
            }  # fmt: skip


PROBES = {"code_ladder": ladder, "cold_code": cold_lines, "branches": branches, "branch_rates": branch_rates}
