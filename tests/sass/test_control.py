"""Control flow of compiled code: jumps, calls, barriers, locks among lanes of a warp, and where they meet again."""

from __future__ import annotations

import numpy as np
import pytest

from smmux.modules.module import Module
from tests.sass.test_memory import builds, built

VOTES = [("sm_75", "-G"), ("sm_75", "-O3"), ("sm_80", "-O3"), ("sm_90", "-G"), ("sm_90", "-O3")]
votes = pytest.mark.parametrize(("arch", "option"), VOTES)


def module(arch: str, option: str) -> Module:
    return built("control.cu", arch, option)


@builds
def test_special_registers(arch: str, option: str) -> None:
    out, lane = np.zeros(256 * 16, "u4"), np.arange(256) & 31
    module(arch, option)["specials"].simulate(2, 128, [out], dynamic_shared=64)
    rows = out.reshape(-1, 16)
    equal, below = (np.uint64(1) << lane.astype("u8")), (np.uint64(1) << lane.astype("u8")) - np.uint64(1)
    every = np.uint64(0xFFFFFFFF)
    masks = [lane, below, equal, below | equal, every & ~(below | equal), every & ~below]
    assert all((rows[:, k] == mask).all() for k, mask in enumerate(masks))
    assert (rows[:, 7] == 64).all()
    assert (rows[:, 8:10] == 1).all()
    assert (rows[:, 11] < rows[:, 10]).all()
    assert (rows[:, 12] > rows[:, 6]).all()


@builds
def test_switch(arch: str, option: str) -> None:
    g = np.random.default_rng(6).integers(0, 1000, 128).astype("i4")
    choice, t, k = (g + 3) & 15, np.arange(128), 3
    ones = np.array([bin(x).count("1") for x in t])
    cases = [t * 3, t // 7, t ^ 5, t - 9, t + k, ones, t * t, t % 5]
    module(arch, option)["cases"].simulate(1, 128, [g, k])
    assert (g == np.select([choice == c for c in range(8)], cases, -1)).all()


@builds
def test_barriers(arch: str, option: str) -> None:
    g, t = np.zeros(1024, "i4"), np.arange(128)
    module(arch, option)["barriers"].simulate(2, 128, [g])
    assert (g[:128] == 64 + 1000 * (t % 2 == 0)).all()
    assert (g[128:384] == 1).all()
    assert (g[416:512] == 7).all()


@builds
def test_calls_pointers_and_recursion(arch: str, option: str) -> None:
    g = np.random.default_rng(7).integers(0, 100, 256).astype("i4")
    t, odd = np.arange(64), g[:64] & 1 == 1
    module(arch, option)["calls"].simulate(1, 64, [g])
    first, numbers = np.where(odd, t - 100, t * 3 + 1), np.array([0, 1, 1, 2, 3, 5, 8, 13])[t & 7]
    assert (g[:64] == first).all()
    assert (g[64:128] == numbers).all()
    assert (g[128:192] == np.trunc(first / (numbers + 3))).all()


@builds
def test_a_shuffle_joins_lanes_at_different_copies_of_it(arch: str, option: str) -> None:
    n, g = 9, np.random.default_rng(8).integers(0, 9, 64).astype("i4")
    own, total = g[:32].copy(), np.zeros(32, int)
    for i in range(n):
        given = np.where(own > i, own, i)[np.arange(32) ^ 1]
        total += np.where(own > i, given, -given)
    module(arch, option)["exchanges"].simulate(1, 32, [g, n])
    assert (g[32:] == total).all()


@builds
@pytest.mark.parametrize("name", ["polite_lock", "plain_lock"])
def test_a_lock_among_the_lanes_of_a_warp_ends(arch: str, option: str, name: str) -> None:
    lock, count = np.zeros(1, "i4"), np.zeros(1, "i4")
    module(arch, option)[name].simulate(2, 64, [lock, count], max_cycles=10_000_000)
    assert (count[0], lock[0]) == (128, 0)


def reference(x: int, n: int) -> tuple[int, bool]:
    """What `nested` gives for an element, and whether it returns early."""
    s = 0
    for i in range((x & 7) + 2):
        if (x + i) % 3 == 0:
            continue
        for j in range(n):
            if (x ^ j) % 5 == 0:
                break
            if (x + j) % 7 == 6:
                return -s, True
            s += i * j + x
        if s > 1000:
            return s, False
    return s + 5, False


@builds
def test_nested_loops_meet_again(arch: str, option: str) -> None:
    rng = np.random.default_rng(9)
    for n in (1, 4, 17):
        a, out, together = rng.integers(0, 1000, 256).astype("i4"), np.zeros(256, "i4"), np.zeros(256, "u4")
        module(arch, option)["nested"].simulate(2, 128, [a, out, together, n])
        expected = [reference(int(x), n) for x in a]
        assert out.tolist() == [value for value, _ in expected]
        stays = np.array([not early for _, early in expected])
        for warp in range(8 if option != "-G" else 0):  # without optimisation nothing says where lanes meet
            lanes = stays[32 * warp : 32 * warp + 32]
            mask = sum(1 << lane for lane in np.flatnonzero(lanes).tolist())
            assert (together[32 * warp : 32 * warp + 32][lanes] == mask).all()


@votes
def test_votes_of_tiles(arch: str, option: str) -> None:
    a, out = np.random.default_rng(5).integers(-50, 50, 32, "i4"), np.zeros((32, 5), "u4")
    module(arch, option)["tile_votes"].simulate(1, 32, [a, out])
    odd = sum(int(x & 1) << t for t, x in enumerate(a))
    for t in range(32):
        first = t & 28
        tile = a[first : first + 4]
        ballot = sum(int(x > 0) << first + k for k, x in enumerate(tile))
        before = int(a[max(t - 1, first)]) & 0xFFFFFFFF
        assert out[t].tolist() == [ballot, (tile > 20).any(), (tile > -20).all(), before, odd]


@votes
def test_lanes_wait_at_a_warpsync_for_those_that_name_the_same_lanes(arch: str, option: str) -> None:
    a, out = np.random.default_rng(6).integers(-50, 50, 32, "i4"), np.zeros((32, 2), "i4")
    module(arch, option)["parted_calls"].simulate(1, 32, [a, out])
    assert (out[:, 0].view("u4") == sum(int(x & 1) << t for t, x in enumerate(a))).all()
    assert out[:, 1].tolist() == [sum(a[(t + i) % 20] for i in range(3)) if t < 20 else a[t ^ 2] for t in range(32)]


@votes
def test_lanes_that_come_back_from_a_function_do_not_wait_for_who_has_left(arch: str, option: str) -> None:
    a, out = np.random.default_rng(7).integers(0, 5000, 32, "i4"), np.zeros(32, "i4")
    module(arch, option)["kept_views"].simulate(1, 32, [a, out, 100])

    def digits(x: int) -> int:
        return (x & 15).bit_count() + digits(x // 10) if x else 0

    assert out.tolist() == [sum(digits(int(a[i % 32])) * i for i in range(t, 100, 32)) for t in range(32)]


@builds
def test_barriers_of_as_many_threads_as_a_register_says(arch: str, option: str) -> None:
    for threads in (64, 160):
        out = np.zeros(256, "i4")
        module(arch, option)["counted_barriers"].simulate(1, 256, [out, threads])
        assert out.tolist() == [(threads - 1 - t) ** 2 if t < threads else -1 for t in range(256)]


@builds
def test_lanes_at_different_depths_of_a_recursion(arch: str, option: str) -> None:
    out = np.zeros(32, "i4")
    module(arch, option)["deep_calls"].simulate(1, 32, [out])
    known = [lambda n: n + 1, lambda n: n + 2, lambda n: 2 * n + 3]
    assert out.tolist() == [known[t % 3](t % 4) for t in range(32)]


@votes
def test_lanes_meet_behind_calls_by_pointers(arch: str, option: str) -> None:
    """Also those whose functions have branches of their own, at which they meet before, with the same register."""
    rounds, random = 24, np.random.default_rng(9)
    which, x = random.integers(0, 4, (rounds, 32), "i4"), random.random(32, "f4") * 9
    together = np.zeros((rounds, 32), "u4")
    module(arch, option)["behind_calls"].simulate(1, 32, [which, x, together, rounds])
    assert (together == 0xFFFFFFFF).all()


@pytest.mark.parametrize("option", ["-O3", "-G"])
def test_a_launch_alone_waits_for_none(option: str) -> None:
    g = np.zeros(256, "i4")
    module("sm_90", option)["dependent"].simulate(2, 128, [g])
    assert (g == 1).all()


def test_lanes_meet_at_a_barrier_register_of_their_own_function() -> None:
    """Other lanes wait at the same one further in, in functions that have kept the views of who calls them."""
    x, out = np.random.default_rng(8).integers(1, 9, (5, 12), "i4"), np.zeros(12, "i4")
    built("completions.cu", "sm_90", "-G")["completions"].simulate(1, 12, [x, out, 5], max_cycles=10_000_000)
    total, there = 1, np.ones(12, bool)
    for r in range(5):
        total = total * 3 + int(x[r, there].sum())
        there &= np.arange(12) % 8 + 3 != r
    assert out.tolist() == [-total if left else total for left in there]


@builds
def test_lanes_end_by_a_predicate_beside_the_guard(arch: str, option: str) -> None:
    t, out = np.arange(128), np.full(128, -1, np.int32)
    module(arch, option)["leaves"].simulate(1, 128, [(t * 7).astype(np.int32), out])
    assert out.tolist() == np.where((t >= 100) | ((t >= 64) & (t % 2 == 1)), -1, 7 * t).tolist()
