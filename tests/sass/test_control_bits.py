"""A machine that obeys control bits: stall counts, counters, register banks and the choice of a warp in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import gpus
from tests.sass.timed import OBEDIENT, bits, clock, clocks, run_timed

FFMA = "FFMA R{d}, R{a}, R{b}, R{c}"
SFU = OBEDIENT.lat_sfu


def ffma(a: int, b: int, c: int, d: int = 20, **control: int) -> object:
    return bits(FFMA.format(d=d, a=a, b=b, c=c), **control)


def spent(body: list, gpu: gpus.Gpu = OBEDIENT, **more: int) -> int:
    """Clocks of one warp from a reading of the clock with a stall count of 2 to another one."""
    begin, end = clocks([clock(100, 2), *body, clock(101)], 2, gpu, **more)[0]
    return int(end - begin) - 2


@pytest.mark.parametrize("stall", range(1, 12))
def test_a_stall_count_is_that_many_clocks(stall: int) -> None:
    assert spent([ffma(4, 4, 4, stall=stall)] * 10) == 10 * stall


@pytest.mark.parametrize(
    ("stall", "keep", "expected"),
    [(0, True, 2), (0, False, 33), (1, False, 2), (2, False, 2), (11, True, 11), (12, True, 1), (13, True, 1)]
    + [(14, True, 2), (15, True, 2), (12, False, 12), (15, False, 15)],
)
def test_stall_counts_with_the_yield_bit_are_those_of_a_card(stall: int, keep: bool, expected: int) -> None:
    body = [bits(FFMA.format(d=20, a=4, b=4, c=4), stall, keep=keep)] * 8
    assert spent(body) == 8 * expected


def test_nothing_else_holds_up_a_chain() -> None:
    """Too small a stall count is no crash; the same program waits where there is a scoreboard."""
    chain = [ffma(20, 20, 20, stall=1)] * 16
    assert spent(chain) == 16
    board = OBEDIENT.replace(name="board", dependence="scoreboard")
    assert spent(chain, board) == 15 * board.lat_fmad


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_write_counter_drops_with_the_result(count: int) -> None:
    """Links of a chain through a counter take the latency; without the wait mask they take the unit's interval."""
    link = "MUFU.RCP R20, R20"
    chained = [bits(link, 2, wr=0, wait=1)] * count
    begin, end = clocks([clock(100, 2), *chained, clock(101, wait=1)], 2)[0]
    assert end - begin == 2 + count * SFU
    free = spent([bits(link, 2, wr=0)] * count)
    assert free == (count - 1) * OBEDIENT.issue_sfu + 2


@pytest.mark.parametrize("left", range(4))
def test_depbar_waits_until_so_many_are_left(left: int) -> None:
    issue = [bits("MUFU.RCP R20, R21", 1, wr=3)] * 4
    wait = bits(f"DEPBAR.LE SB3, {left:#x}", 4)
    begin, end = clocks([clock(100, 2), *issue, wait, clock(101)], 2)[0]
    ends = [2 + i * OBEDIENT.issue_sfu + SFU for i in range(4)]
    issued = 2 + 3 * OBEDIENT.issue_sfu + 1
    assert end - begin == max(issued, ends[3 - left]) + 4


def test_depbar_waits_for_the_counters_of_its_mask() -> None:
    issue = [bits("MUFU.RCP R20, R21", 1, wr=3), bits("MUFU.RCP R22, R21", 1, wr=5)]
    wait = bits("DEPBAR.LE SB3, 0x1, {5,4}", 4)
    begin, end = clocks([clock(100, 2), *issue, wait, clock(101)], 2)[0]
    assert end - begin == 2 + OBEDIENT.issue_sfu + SFU + 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDS R20, [R161]", OBEDIENT.read_shared),
        ("STS [R161], R20", OBEDIENT.read_shared + OBEDIENT.read_data),
        ("STS.128 [RZ], R20", OBEDIENT.read_shared + OBEDIENT.read_data + 3 * OBEDIENT.read_more),
        ("LDG.E R20, [R158.64]", OBEDIENT.read_global),
        ("STG.E.64 [R158.64], R20", OBEDIENT.read_global + OBEDIENT.read_data + OBEDIENT.read_more),
        ("MUFU.RCP R20, R21", OBEDIENT.read_sfu),
    ],
)
def test_a_read_counter_drops_when_sources_have_been_read(text: str, expected: int) -> None:
    begin, end = clocks([clock(100, 2), bits(text, 1, rd=2), clock(101, wait=4)], 2)[0]
    assert end - begin == 2 + expected


def test_a_load_drops_its_counter_when_it_is_back() -> None:
    begin, end, after = clocks(
        [
            clock(100, 2),
            bits("LDS R20, [R161]", 2, wr=0),
            clock(101, 2, wait=1),
            bits("LDG.E R20, [R158.64]", 2, wr=1),
            clock(102, wait=2),
        ],
        3,
    )[0]
    assert end - begin == 2 + OBEDIENT.lat_shared
    assert after - end >= OBEDIENT.flat_latency
    data = np.array([7, 0], np.uint32)
    values, _ = run_timed(
        [bits("LDG.E R20, [R158.64]", 2, wr=1), bits("IADD3 R21, R20, 0x1, RZ", 2, wait=2)], [21], data=data
    )
    assert (values == 8).all()


def test_an_atomic_whose_result_is_dropped_is_answered_all_the_same() -> None:
    """As long as one whose result is kept; a reduction is not waited for."""
    kept, dropped = (
        spent([bits(f"ATOMG.E.ADD.STRONG.GPU PT, {to}, [R158.64], R8", 2, wr=0), bits("NOP", 1, wait=1)])
        for to in ("R20", "RZ")
    )
    assert kept == dropped > 400
    assert spent([bits("RED.E.ADD.STRONG.GPU [R158.64], R8", 2, rd=0), bits("NOP", 1, wait=1)]) < 40


def test_a_counter_holds_up_to_63_loads() -> None:
    """Of more loads than a counter counts the warp waits, and goes on."""
    body = [bits(f"LDG.E R{20 + i + 2 * (i >= 80)}, [R158.64]", 1, wr=0) for i in range(120)]
    begin, end = clocks([clock(100, 2), *body, clock(101)], 2)[0]
    assert end - begin > OBEDIENT.flat_latency
    begin, end = clocks([clock(100, 2), *body[:63], clock(101)], 2)[0]
    assert end - begin < OBEDIENT.flat_latency


BANKS = {"eee": (4, 6, 8), "eeo": (4, 6, 9), "eoo": (4, 7, 9), "ooo": (5, 7, 9), "one": (4, 4, 4)}


def reading(sets: list[str], count: int) -> int:
    """Clocks of instructions in turn that read these banks, by a table of ports: at most three clocks of reads are
    outstanding when the next one issues."""
    busy, t = {"e": 0, "o": 0}, 0
    for i in range(count):
        reads = {} if sets[i % len(sets)] == "one" else {bank: sets[i % len(sets)].count(bank) for bank in "eo"}
        reads = reads or {"e": 1, "o": 0}
        while any(max(busy[bank], t) + n > t + 3 for bank, n in reads.items()):
            t += 1
        for bank, n in reads.items():
            busy[bank] = max(busy[bank], t) + n
        t += 1
    return t


@pytest.mark.parametrize("first", BANKS)
@pytest.mark.parametrize("second", BANKS)
def test_each_bank_of_registers_is_read_once_a_clock(first: str, second: str) -> None:
    body = [ffma(*BANKS[first if i % 2 == 0 else second], stall=1) for i in range(32)]
    assert abs(spent(body) - reading([first, second], 32)) <= 1
    free = OBEDIENT.replace(name="free", read_ports=0)
    assert spent(body, free) == 32


@pytest.mark.parametrize(("reuse", "clocks_each"), [(0, 3), (1, 2), (3, 1), (7, 1)])
def test_a_reuse_bit_saves_a_read_of_the_next_instruction(reuse: int, clocks_each: int) -> None:
    same = [ffma(4, 6, 8, stall=1, reuse=reuse)] * 32
    assert abs(spent(same) - 32 * clocks_each) <= 2
    between = [ffma(4, 6, 8, stall=1, reuse=reuse), ffma(20, 20, 20, stall=1)] * 16
    assert spent(between) >= 2 * 32 - 3  # 4 reads of one bank in 2 instructions, whatever the bits say


def test_warps_of_one_sub_core_share_its_slots_and_those_of_two_do_not() -> None:
    body = [clock(100, 2), *[ffma(4, 4, 4, stall=1)] * 60, clock(101)]
    alone = clocks(body, 2)[0]
    for warps, apart in ((2, True), (5, False)):
        found = clocks(body, 2, warps=warps)
        busy = found[[0, 4]] if not apart else found
        whole = busy.max() - busy.min()
        assert whole == (alone[1] - alone[0] if apart else pytest.approx(2 * (alone[1] - alone[0]), abs=4))


def test_the_scheduler_stays_with_a_warp_and_then_takes_the_youngest() -> None:
    """Warps 0, 4 and 8 of one sub-core run one after the other, the highest first."""
    body = [clock(100, 1), *[ffma(4, 4, 4, stall=1)] * 40, clock(101)]
    found = clocks(body, 2, warps=9)[[0, 4, 8]]
    order = np.argsort(found[:, 0])
    assert order.tolist()[1:] == sorted(order.tolist()[1:], reverse=True)
    for before, after in zip(order[:-1], order[1:], strict=True):
        assert found[before, 1] < found[after, 1]


def test_code_without_overlap_waits_for_each_result() -> None:
    """Stall 0 with the yield bit clear, as nvcc -G writes everything: no counter says that a load is back."""
    load = bits("LDG.E R20, [R158.64]", 0, keep=False)
    values, _ = run_timed(
        [load, bits("IADD3 R21, R20, 0x1, RZ", 0, keep=False)], [21], data=np.array([7, 0], np.uint32)
    )
    assert (values == 8).all()


@pytest.mark.parametrize("warps", [1, 4, 5, 9])
def test_warps_leave_a_barrier_one_after_the_other(warps: int) -> None:
    """One in so many clocks; what waits behind a barrier is a load here, which is not arithmetic."""
    load = bits("LDC R102, c[0x0][0x28]", 1, wr=0)
    body = [*[bits("NOP", 15)] * 8, clock(100, 1), bits("BAR.SYNC.DEFER_BLOCKING 0x0", 1), load, clock(101)]
    machine = OBEDIENT.replace(bar_interval=5)
    found = clocks(body, 2, machine, warps=warps)
    last, leaves = found[:, 0].max() + 1, np.sort(found[:, 1])
    expected = [OBEDIENT.lat_bar + 1 + 5 * n for n in range(warps)]
    assert (leaves - last).tolist() == pytest.approx(expected, abs=1)


def test_a_branch_that_nobody_takes_costs_its_stall_count() -> None:
    assert spent([bits("@!PT BRA 0x0", 5)]) == 5


def test_control_bits_are_nothing_to_a_scoreboard() -> None:
    card = gpus.get("K20c")
    plain = [bits("MUFU.RCP R20, R20"), ffma(20, 21, 22), bits("LDG.E R24, [R158.64]"), ffma(24, 20, 21)] * 5
    marked = [
        bits("MUFU.RCP R20, R20", 13, wr=0, wait=6),
        ffma(20, 21, 22, stall=0, reuse=3),
        bits("LDG.E R24, [R158.64]", 3, wr=2, rd=1),
        ffma(24, 20, 21, wait=63),
    ] * 5
    cycles = {run_timed(body, [20], card)[1].cycles for body in (plain, marked)}
    assert len(cycles) == 1


def some_program(rng: np.random.Generator) -> list:
    texts = ["FFMA R20, R21, R22, R20", "MUFU.RCP R23, R20", "LDS R21, [R161]", "STS [R161], R20"]
    texts += [
        "LDG.E R22, [R158.64]",
        "STG.E [R158.64+0x40], R23",
        "IADD3 R24, R24, 0x1, RZ",
        "LDG.E.128 R28, [R158.64]",
    ]
    texts += [
        "ATOMG.E.ADD.STRONG.GPU PT, R32, [R158.64+0x80], R24",
        "DEPBAR.LE SB0, 0x2",
        "SHFL.IDX PT, R33, R24, RZ, 0x1f",
    ]

    def counter() -> int | None:
        return None if rng.random() < 0.4 else int(rng.integers(6))

    return [
        bits(
            str(rng.choice(texts)),
            int(rng.integers(16)),
            keep=bool(rng.integers(2)),
            wr=counter(),
            rd=counter(),
            wait=int(rng.integers(64)) if rng.random() < 0.3 else 0,
            reuse=int(rng.integers(16)),
        )
        for _ in range(60)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_any_control_bits_end_and_give_the_same_bits_whatever_the_window(seed: int) -> None:
    body = some_program(np.random.default_rng(seed))
    found = [
        run_timed(body, [24], OBEDIENT, warps=6, blocks=5, window=w, host_threads=n)
        for w, n in ((0, 1), (1, 1), (7, 2))
    ]
    counters = [result.counters for _, result in found]
    assert counters[0] == counters[1] == counters[2]
    additions = sum(one.opcode == "IADD3" for one in body)
    assert (found[0][0] == additions).all()
    waits = [value for name, value in counters[0].items() if name.startswith("idle_")]
    assert sum(waits) + counters[0]["issue_cycles"] == counters[0]["scheduler_cycles"]
