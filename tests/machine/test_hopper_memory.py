"""Atomics and copies on the Hopper machine: what a card was measured to take, and what ports of known width allow."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import cuda, gpus, int32
from smmux.results.result import Result

H100 = gpus.get("H100")
FEW, MANY = 8, 40


@cuda.jit
def add(out, group, stride, rounds):
    lane = cuda.threadIdx.x % 32
    at = cuda.threadIdx.x // 32 * 1024 + lane // group * stride
    for _ in range(rounds):
        cuda.atomic.add(out, at, 1)


def clocks_of_a_round(group: int, stride: int) -> float:
    """Of 32 warps of one multiprocessor, each in 4 kB of its own, which lanes that share a word add to without a
    result. stride: words between these."""
    cycles = {}
    for rounds in (FEW, MANY):
        out = np.zeros(32 * 1024, np.int32)
        args = (out, np.int32(group), np.int32(stride), np.int32(rounds))
        cycles[rounds] = add.simulate(1, 1024, args, gpu=H100).cycles
        assert out.sum() == 1024 * rounds
    return (cycles[MANY] - cycles[FEW]) / (MANY - FEW)


@pytest.mark.parametrize(
    ("group", "stride", "measured"),
    [(32, 0, 1023.9), (1, 32, 1024.1), (1, 8, 1280.1), (8, 8, 1280.2), (4, 1, 255.9), (1, 1, 160.0)],
    ids=["one word", "lines", "sectors", "sectors shared by eight", "eight words shared by four", "a line"],
)
def test_an_sm_sends_sums_as_a_card_does(group: int, stride: int, measured: float) -> None:
    """atomic_lanes.csv, lanes_red, one multiprocessor, 32 warps: a packet holds each word once."""
    assert clocks_of_a_round(group, stride) == pytest.approx(measured, rel=0.05)


@cuda.jit
def read(source, out):
    i = cuda.grid(1)
    value = source[i]
    if value == 1:
        out[0] = value


@cuda.jit
def copy(source, out):
    i = cuda.grid(1)
    out[i] = source[i]


def test_what_comes_from_dram_is_written_through_the_port_of_stores() -> None:
    """A copy takes as long as all that is read and written takes through that port, 32 bytes a clock of each slice;
    without the rule it is faster, and reading alone takes as long as before."""
    free = H100.replace(name="free", l2_write_queue=0)
    blocks = 1056
    source = np.zeros(1024 * blocks)
    cycles = {}
    for kernel in (read, copy):
        for machine in (H100, free):
            out = np.ones_like(source)
            cycles[kernel, machine.name] = kernel.simulate(blocks, 1024, (source, out), gpu=machine).cycles
            assert kernel is read or not out.any()
    assert cycles[read, "H100"] == cycles[read, "free"]
    assert cycles[copy, "H100"] > 1.05 * cycles[copy, "free"]
    port = H100.write_bytes * H100.partitions * H100.l2_slices
    least = 2 * source.nbytes / port * H100.shader_khz / H100.icnt_khz
    assert cycles[copy, "H100"] > least


@cuda.jit
def store_words(out, words, rounds):
    """Each lane writes the words of a quarter of its own of a line, one after the other."""
    warp, lane = cuda.grid(1) // 32, cuda.grid(1) % 32
    for i in range(rounds):
        for word in range(words):
            turned = (word + lane) % 4
            out[(warp * rounds + i) * 128 + 4 * lane + turned] = turned + 1


def clocks_of_a_store(warps: int, machine: gpus.Gpu) -> float:
    cycles = {}
    for rounds in (FEW, MANY):
        out = np.zeros(warps * rounds * 128, np.int32)
        args = (out, np.int32(4), np.int32(rounds))
        cycles[rounds] = store_words.simulate(1, 32 * warps, args, gpu=machine).cycles
        assert (out.reshape(-1, 4) == [1, 2, 3, 4]).all()
    return (cycles[MANY] - cycles[FEW]) / (MANY - FEW) / (4 * warps)


def test_stores_join_while_others_to_their_line_wait() -> None:
    """Sixteen sectors in part take the port 20 clocks (scattered.csv). Stores right behind each other wait for it and
    go together, four times as fast at best (joined_stores.csv)."""
    apart = H100.replace(name="apart", store_queue=0)
    assert clocks_of_a_store(6, apart) == pytest.approx(20, rel=0.05)
    assert 5 <= clocks_of_a_store(6, H100) <= 10


@cuda.jit
def write_and_read(out, seen, words):
    """Each lane writes the words of a quarter of its own of a line, one after the other, and reads one of another."""
    start, lane = cuda.grid(1) // 32 * 128, cuda.grid(1) % 32
    for word in range(words):
        turned = (word + lane) % 4
        out[start + 4 * lane + turned] = turned + 1
    cuda.threadfence()
    cuda.syncthreads()
    seen[cuda.grid(1)] = out[start + 4 * (31 - lane) + lane % 4]


@pytest.mark.parametrize("words, fetched", [(4, 0), (3, 1)])
def test_a_sector_that_stores_write_in_parts_is_whole_once_all_words_are_written(words: int, fetched: int) -> None:
    """Whoever reads it then has it from the L2; DRAM has to be asked for the words that nobody has written."""
    out, seen = np.zeros(256 * 128, np.int32), np.zeros(256 * 32, np.int32)
    for known in (1, 0):
        machine = H100.replace(name="parts", l2_words=known, l2_parts=0, l2_dirty=0, store_queue=0)
        result = write_and_read.simulate(64, 128, (out, seen, np.int32(words)), gpu=machine)
        assert (result["dram_reads"] > 0) == bool(fetched or not known)
    assert (out.reshape(-1, 4)[:, :words].sum(axis=1) > 0).all()


def test_a_store_joins_none_that_lies_too_far_back() -> None:
    """With one place each store waits alone."""
    one = H100.replace(name="one", store_queue=1)
    assert clocks_of_a_store(6, one) == pytest.approx(20, rel=0.05)


@cuda.jit
def again(out, seen, more):
    """Loads and atomics behind stores to the same words, and stores behind these."""
    i = cuda.grid(1)
    out[4 * i] = i
    out[4 * i + 1] = i + 1
    first = out[4 * i]
    out[4 * i] = i + 2
    more[i] = 3
    cuda.atomic.add(out, 4 * i, 5)
    cuda.atomic.add(more, i, 1)
    seen[i] = first + out[4 * i + 1] + out[4 * i]


@pytest.mark.parametrize("flights", [1, 4, 128])
def test_a_thread_sees_what_it_has_stored_although_stores_wait_and_join(flights: int) -> None:
    machine = H100.replace(name="few", store_flights=flights)
    n = 132 * 256
    out, seen, more = np.zeros(4 * n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    again.simulate(132, 256, (out, seen, more), gpu=machine)
    i = np.arange(n)
    assert (out.reshape(-1, 4)[:, :2] == np.stack([i + 7, i + 1], 1)).all()
    assert (seen == i + (i + 1) + (i + 7)).all()
    assert (more == 4).all()


@cuda.jit
def store_apart(out, rounds):
    """Each lane stores a word of a line of its own."""
    for i in range(rounds):
        out[(cuda.grid(1) * rounds + i) * 32] = i + 1


def test_stores_to_lines_of_their_own_take_two_clocks_each() -> None:
    """What is under way to memory counts by sectors: with one for each line nobody waits for an answer (scattered.csv:
    64 clocks for 32 lines)."""
    cycles = {}
    for rounds in (FEW, MANY):
        out = np.zeros(8 * 32 * rounds * 32, np.int32)
        cycles[rounds] = store_apart.simulate(1, 8 * 32, (out, np.int32(rounds)), gpu=H100).cycles
        assert (out.reshape(-1, rounds, 32)[:, :, 0] == np.arange(rounds) + 1).all()
    assert (cycles[MANY] - cycles[FEW]) / (MANY - FEW) / 8 == pytest.approx(64, rel=0.05)


WORDS = 16


@cuda.jit
def fill_and_read(which, out, above):
    """Threads above a lane write words of their own memory; all read them again."""
    mine = cuda.local.array(WORDS, int32)
    i = cuda.grid(1)
    for k in range(WORDS):
        mine[(k + which[0]) % WORDS] = k
    if cuda.laneid >= above:
        for k in range(WORDS):
            mine[(k + which[0]) % WORDS] = i + k
    total = 0
    for k in range(WORDS):
        total += mine[(k + which[0]) % WORDS] * (k + 1)
    out[i] = total


def local_launch(machine: gpus.Gpu, above: int, threads: int = 128) -> Result:
    out = np.zeros(threads, np.int32)
    result = fill_and_read.simulate(1, threads, (np.array([3], np.int32), out, np.int32(above)), gpu=machine)
    k, i = np.arange(WORDS), np.arange(threads)
    words = np.where((i % 32 >= above)[:, None], i[:, None] + k, k)
    assert (out == words @ (k + 1)).all()
    return result


@pytest.mark.parametrize("above", [0, 5, 8, 31, 32])
def test_what_is_stored_to_local_memory_is_in_the_l1(above: int) -> None:
    """Of what threads have written themselves nothing is asked of the L2 (ncu on an H100: local_sectors.csv)."""
    forgets = H100.replace(name="forgets", l1_keeps_local=0)
    kept, asked = local_launch(H100, above), local_launch(forgets, above)
    only = 1  # the index, which all threads read from global memory
    assert kept.counters["l1_misses"] == only
    assert asked.counters["l1_misses"] > only + WORDS
    assert kept.cycles < asked.cycles


def test_local_memory_that_the_l1_has_not_kept_is_read_from_the_l2() -> None:
    """An L1 of a few lines forgets what was stored first, and values are right all the same."""
    small = H100.replace(name="small", l1_bytes=2048, carveouts=())
    assert local_launch(small, 5, 1024).counters["l1_misses"] > 100
