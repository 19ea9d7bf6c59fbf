"""Interconnect, L2 and DRAM together: idle latencies, bandwidth, camping, conservation, windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray

from smmux import cuda, gpus
from smmux.gpus import Gpu
from smmux.machines.models_memory import PACKET, PACKET_KINDS, Dram, Memory

MACHINES = ("GTX285", "GTX285-1100", "GTX480-48K", "K20c")
LOAD, STORE, ATOMIC, FETCH, TEXTURE = range(len(PACKET_KINDS))


@cuda.jit
def grid_stride_copy(source, target):
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[i]


def packets(addresses: object, **fields: object) -> np.ndarray:
    address = np.asarray(addresses)
    out = np.zeros(len(address), PACKET)
    out["address"] = address
    out["bytes"] = 32
    for name, value in fields.items():
        out[name] = value
    return out


def copy(gpu: gpus.Gpu, megabytes: int, kinds: tuple[int, ...] = (LOAD, STORE)) -> np.ndarray:
    """What a grid-stride copy of float32 sends: blocks of eight warps, loads then stores, two arrays."""
    segment = 64 if gpu.coalesce_rule == 13 else 128
    per_block = 8 * 128 // segment
    at = np.arange((megabytes << 20) // (len(kinds) * segment)).reshape(-1, per_block)
    sm = np.arange(len(at)) % gpu.sm_count
    parts = [
        packets((at * segment + (kind << 28)).ravel(), bytes=segment, kind=kind, sm=np.repeat(sm, per_block))
        for kind in kinds
    ]
    return np.concatenate([part.reshape(-1, per_block) for part in parts], axis=1).ravel()


def idle(gpu: gpus.Gpu, *gaps: int, nbytes: int = 32) -> list[int]:
    """Latency, from issue to value, of loads of one address that many clocks apart."""
    alone = packets([4096] * (len(gaps) + 1), bytes=nbytes, cycle=np.cumsum([0, *gaps]))
    return [int(clocks) + gpu.lat_global for clocks in Memory(gpu).replay(alone).latency]


@pytest.mark.parametrize("name", ["GTX285", "GTX285-1100"])
def test_idle_latency_of_gt200(name: str) -> None:
    closed, opened = idle(gpus.get(name), 3000)
    assert opened < closed
    for clocks in (closed, opened):
        assert abs(clocks - 440) <= 0.05 * 440


@pytest.mark.parametrize(("name", "low", "high", "hit"), [("GTX480-48K", 600, 685, 310), ("K20c", 300, 340, 188)])
def test_idle_latency_with_l2(name: str, low: int, high: int, hit: int) -> None:
    gpu = gpus.get(name)
    miss, again = idle(gpu, 3000, nbytes=128 if gpu.coalesce_l1 else 32)
    assert low <= miss <= high
    assert abs(again - hit) <= 3


@pytest.mark.parametrize("name", MACHINES)
def test_latency_is_the_sum_of_its_stages(name: str) -> None:
    gpu = gpus.get(name).replace(t_refi=0)
    flits = max(1, -(-gpu.packet_header // gpu.port_bytes)), -(-(gpu.packet_header + 32) // gpu.port_bytes)
    to_dram = 2 * gpu.xbar_latency + sum(flits) + gpu.rop_latency + gpu.dram_latency + gpu.dram_return
    bursts = 1 if gpu.dram_burst_bytes >= 32 else 32 // gpu.dram_burst_bytes
    column = gpu.t_rcd + (bursts - 1) * gpu.t_ccd + gpu.t_cl + gpu.dram_burst_clk
    clocks = (to_dram / gpu.icnt_khz + column / gpu.dram_khz) * gpu.shader_khz + gpu.mem_pipeline
    found = idle(gpu)[0] - gpu.lat_global
    slack = 2 * gpu.shader_khz / gpu.icnt_khz + gpu.shader_khz / gpu.dram_khz  # rounding up at three clock crossings
    assert clocks <= found <= clocks + slack + 1


@pytest.mark.parametrize("name", MACHINES)
def test_a_streaming_copy_gets_70_to_95_percent_of_peak(name: str) -> None:
    gpu = gpus.get(name)
    replay = Memory(gpu).replay(copy(gpu, 16), credits=64, interval=4)
    assert 0.70 <= replay.share_of_peak <= 0.95


@pytest.mark.parametrize("waves", [1, 5])
@pytest.mark.parametrize("name", MACHINES)
def test_a_copy_kernel_gets_65_to_95_percent_of_peak(name: str, waves: int) -> None:
    gpu = gpus.get(name)
    source = np.arange(1 << 20, dtype=np.float32)
    target = np.zeros_like(source)
    grid = waves * gpu.sm_count * gpu.max_threads_sm // 256
    result = grid_stride_copy.simulate(grid, 256, (source, target), gpu=gpu)
    peak = gpu.partitions * gpu.dram_burst_bytes / gpu.dram_burst_clk * gpu.dram_khz
    assert (source == target).all()
    assert 0.65 <= 2 * source.nbytes / (result.time_us / 1000 * peak) <= 0.95


def test_reads_of_the_papers_card_are_limited_by_the_ports_of_its_partitions() -> None:
    gpu = gpus.get("GTX285-1100")
    reads = Memory(gpu).replay(copy(gpu, 8, (LOAD,)), credits=64)
    ports = gpu.partitions * gpu.port_bytes * gpu.icnt_khz * 64 / 96  # two of three flits are data
    peak = gpu.partitions * gpu.dram_burst_bytes / gpu.dram_burst_clk * gpu.dram_khz
    assert reads.share_of_peak == pytest.approx(ports / peak, rel=0.02)


@pytest.mark.parametrize("stride", [256 * 6, 256 * 36, 2048, 4096, 65536])
def test_no_stride_camps_on_hashed_partitions(stride: int) -> None:
    linear = Memory(gpus.get("GTX480-48K").replace(partition_hash=0))
    gpu = linear.gpu
    where = [gpus.get("GTX480-48K"), gpu]
    at = (np.arange(6_000, dtype=np.uint64) * stride % (1 << 28)).astype(np.uint32)
    camping = stride % (256 * 6) == 0
    hashed, plain = (
        Memory(g).replay(packets(at, bytes=128, sm=np.arange(len(at)) % g.sm_count), credits=64).cycles for g in where
    )
    assert hashed < plain / 3 if camping else hashed < 1.5 * plain


@pytest.mark.parametrize("partitions", [2, 3, 5, 6, 7, 11, 12, 13, 17, 24, 33, 64])
def test_powers_of_two_are_dealt_out_evenly_to_any_number_of_hashed_partitions(partitions: int) -> None:
    """Blocks of 256 bytes: each has a place of its own, and of those a power of two apart no partition has many more
    than others; where a block's number alone decides, one of an even number has twice as many or all."""
    card = gpus.get("GTX480-48K").replace(partitions=partitions, l2_bytes=0)
    channel = Dram(card)
    places = [channel.locate(256 * block) for block in range(2048)]
    assert len({(place.partition, place.address) for place in places}) == 2048
    for stride in (256 << bit for bit in range(1, 14)):
        blocks = np.array([channel.locate(stride * i % (1 << 32)).partition for i in range(768)])
        assert np.bincount(blocks, minlength=partitions).max() <= 2.2 * 768 / partitions, stride


def mixed(seed: int, count: int, gpu: gpus.Gpu, span: int, spacing: int) -> np.ndarray:
    """Every kind of packet, racing for few or many addresses."""
    rng = np.random.default_rng(seed)
    size = rng.choice([32, 64, 128], count)
    return packets(
        rng.integers(0, span // 128, count) * 128 + rng.integers(0, 128 // size) * size,
        bytes=size,
        sm=rng.integers(0, gpu.sm_count, count),
        kind=rng.choice([LOAD, LOAD, LOAD, STORE, STORE, ATOMIC, FETCH, TEXTURE], count),
        lanes=rng.integers(1, 33, count),
        cycle=np.sort(rng.integers(0, 1 + count * spacing, count)),
    )


@settings(max_examples=40)
@given(
    st.sampled_from(MACHINES),
    st.integers(0, 1 << 30),
    st.sampled_from([1 << 13, 1 << 18, 1 << 24]),
    st.sampled_from([0, 3, 100]),
    st.integers(1, 128),
    st.sampled_from([5, 64, 512]),
)
@example("K20c", 22, 1 << 13, 0, 1, 5)  # the reply that came first was known last
def test_windows_change_nothing(name: str, seed: int, span: int, spacing: int, window: int, credits: int) -> None:
    gpu = gpus.get(name).replace(credits=512, port_room=(0, 1, 3, 32)[seed % 4])
    if seed % 2 and not gpu.l2_texture_only:  # evictions and full miss queues
        gpu = gpu.replace(l2_bytes=gpu.partitions * gpu.l2_slices * 4096, l2_mshrs=4, l2_writebacks=2, l2_merge=2)
    if seed % 3 == 0:  # refresh often due while requests are on their way
        gpu = gpu.replace(t_refi=200, t_rfc=40)
    trace = mixed(seed, 1_500, gpu, span, spacing)
    whole, parts = (Memory(gpu).replay(trace, credits=credits, interval=1, window=w) for w in (0, window))
    assert (whole.sent == parts.sent).all()
    assert (whole.replied == parts.replied).all()
    assert whole.counters == parts.counters


@pytest.mark.parametrize("name", MACHINES)
def test_counters_conserve(name: str) -> None:
    gpu = gpus.get(name)
    trace = mixed(7, 10_000, gpu, 1 << 20, 2)
    found = Memory(gpu).replay(trace)
    c = found.counters
    data = (trace["kind"] == STORE) | (trace["kind"] == ATOMIC)
    answered = trace["kind"] != STORE

    def flits(payload: np.ndarray) -> int:
        return int(np.maximum(1, -(-(payload.astype(int) + gpu.packet_header) // gpu.port_bytes)).sum())

    assert c["request_flits"] == flits(trace["bytes"] * data)
    assert c["reply_flits"] == flits(trace["bytes"] * answered)
    assert c["atomic_packets"] == np.count_nonzero(trace["kind"] == ATOMIC)
    assert c["l2_hits"] + c["l2_merges"] + c["l2_misses"] == c["l2_accesses"]
    assert c["l2_accesses"] == (np.count_nonzero(trace["kind"] == TEXTURE) if gpu.l2_texture_only else len(trace))
    assert c["dram_busy"] == (c["dram_reads"] + c["dram_writes"]) * gpu.dram_burst_clk
    assert c["dram_precharges"] <= c["dram_activates"] <= c["dram_precharges"] + gpu.partitions * gpu.dram_banks
    if gpu.l2_texture_only:
        bursts = trace["bytes"] // gpu.dram_burst_bytes
        assert c["dram_writes"] == bursts[data].sum()
        assert c["dram_reads"] >= bursts[answered & (trace["kind"] != TEXTURE)].sum()
    assert (found.replied > found.sent).all()


def test_l2_keeps_what_fits_and_writes_back_what_does_not() -> None:
    memory = Memory("GTX480-48K")
    gpu = memory.gpu
    fits = np.arange(gpu.l2_bytes // 256) * 128
    twice = packets(np.tile(fits, 2), bytes=128, cycle=np.repeat([0, 200_000], len(fits)))
    assert memory.replay(twice).counters["l2_hits"] >= 0.8 * len(fits)  # hashing leaves no set much fuller than others
    stores = packets(np.arange(4 * gpu.l2_bytes // 128) * 128, bytes=128, kind=STORE)
    c = memory.replay(stores).counters
    assert c["dram_reads"] == 0  # covering stores fetch nothing
    assert c["l2_writebacks"] == len(stores) - gpu.l2_bytes // 128
    assert c["dram_writes"] == 2 * c["l2_writebacks"]


def page_addresses(gpu: Gpu, rows: Sequence[int], lines: int) -> NDArray[np.int64]:
    """Addresses of the first lines of rows of bank 0, where there is one partition with one slice and no hash."""
    columns = [1 << bit for bit in range(7, 32) if not (gpu.dram_bank_mask | gpu.dram_row_mask) >> bit & 1]
    first_row = gpu.dram_row_mask & -gpu.dram_row_mask
    inside = [sum(bit for i, bit in enumerate(columns) if line >> i & 1) for line in range(lines)]
    return np.array([row * first_row + offset for row in rows for offset in inside])


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_an_l2_writes_the_lines_of_a_row_back_together(pages: int) -> None:
    """What stores leave dirty is noted by DRAM row, a few rows per bank; the oldest one is written when another one
    comes. In turns over as many rows as are noted lines stay dirty, over one row more each store writes one."""
    gpu = gpus.get("GTX480-48K").replace(
        partitions=1, l2_slices=1, partition_hash=0, dram_bank_hash=0, l2_bytes=1 << 20, l2_clean_pages=pages, t_refi=0
    )
    for rows in (pages, pages + 1):
        turns = np.tile(page_addresses(gpu, range(rows), 1), 10)
        c = Memory(gpu).replay(packets(turns, bytes=128, kind=STORE, cycle=np.arange(len(turns)) * 400)).counters
        assert c["l2_writebacks"] == (len(turns) - pages if rows > pages else 0)
    # Each row is filled in turns with `pages` others: activates are those of the rows, not of the lines.
    rows = 4 * pages
    filled = page_addresses(gpu, range(rows), 32).reshape(4, pages, 32).transpose(0, 2, 1).ravel()
    small = gpu.replace(l2_clean_pages=0, l2_bytes=1 << 13)
    by_row, by_age = (Memory(of).replay(packets(filled, bytes=128, kind=STORE)).counters for of in (gpu, small))
    assert by_row["dram_writes"] == 2 * 32 * (rows - pages)  # two bursts a line
    assert by_row["dram_activates"] == rows - pages
    assert pages < 5 or by_age["dram_activates"] > 2 * by_row["dram_activates"]


def test_contended_atomics_serialise() -> None:
    gpu = gpus.get("GTX480-48K")
    last = [Memory(gpu).replay(packets([0], kind=ATOMIC, lanes=lanes, bytes=32)).cycles for lanes in (1, 9, 17)]
    step = 8 * gpu.atom_interval * gpu.shader_khz / gpu.icnt_khz
    hits = [
        int(Memory(gpu).replay(packets([0, 0], kind=[LOAD, ATOMIC], lanes=lanes, cycle=[0, 5000])).latency[1])
        for lanes in (1, 9, 17)
    ]
    assert hits[2] - hits[1] == pytest.approx(step, abs=2)
    assert hits[1] - hits[0] == pytest.approx(step, abs=2)
    assert last[0] <= last[1] <= last[2]
    many = packets([0] * 100, kind=ATOMIC, lanes=1, sm=np.arange(100) % gpu.sm_count)
    assert Memory(gpu).replay(many).cycles >= 99 * gpu.atom_interval * 2


@cuda.jit
def count_atomically(counts):
    for i in range(cuda.grid(1), counts.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, i, 1)


@cuda.jit
def count(counts):
    for i in range(cuda.grid(1), counts.size, cuda.gridsize(1)):
        counts[i] += 1


@pytest.mark.parametrize("name", MACHINES)
def test_coalesced_atomics_cost_about_a_read_and_a_write(name: str) -> None:
    gpu = gpus.get(name)
    counts = np.zeros(1 << 16, np.int32)
    cycles = [k.simulate(4 * gpu.sm_count, 256, (counts,), gpu=gpu).cycles for k in (count_atomically, count)]
    assert (counts == 2).all()
    assert 0.5 <= cycles[0] / cycles[1] <= 1.3


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("icnt_khz", 600_000), ("xbar_latency", 9), ("port_bytes", 16),
        ("port_room", 2), ("write_bytes", 16), ("packet_header", 40), ("mem_pipeline", 90),
        ("partitions", 3), ("partition_bytes", 512), ("partition_hash", 0), ("rop_latency", 130), ("atom_interval", 30),
        ("l2_slices", 1), ("l2_bytes", 6 * 2 * 8192), ("l2_texture_only", 1), ("l2_line", 256), ("l2_ways", 4),
        ("l2_hashed", 0), ("l2_sector", 64), ("l2_fetch", 128), ("l2_mshrs", 2), ("l2_merge", 1), ("l2_writebacks", 1),
        ("l2_clean_pages", 0),
        ("dram_latency", 90), ("dram_return", 60), ("dram_khz", 1_000_000), ("dram_burst_bytes", 32),
        ("dram_row_mask", 0xFFFE_0000), ("dram_bank_hash", 0), ("sms_per_tpc", 3), ("t_refi", 0), ("t_rfc", 200),
    ],
)  # fmt: skip
def test_every_parameter_matters(parameter: str, value: int) -> None:
    gpu = gpus.get("GTX480-48K").replace(l2_bytes=6 * 2 * 4096)
    traces = [mixed(3, 6_000, gpu, span, spacing) for span, spacing in ((1 << 12, 1), (1 << 18, 0), (1 << 26, 3))]
    variant = gpu.replace(**{parameter: value})
    assert any((Memory(gpu).replay(t).replied != Memory(variant).replay(t).replied).any() for t in traces)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"bytes": 48}, "packet 1 must have 4 to 256 bytes"),
        ({"bytes": 2}, "packet 1 must have 4 to 256 bytes"),
        ({"address": 16}, "packet 1 is not at a multiple of its bytes: 32 bytes at 16, time 0"),
        ({"sm": 30}, "packet 1 is of no SM"),
        ({"kind": 5}, "packet 1 is of no kind"),
        ({"lanes": 33}, "packet 1 has more than 32 lanes"),
        ({"cycle": 1 << 40}, "packet 1 is sent later"),
    ],
)
def test_malformed_packets_are_refused(bad: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Memory("GTX285").replay(np.concatenate([packets([0]), packets([0], **bad)]))


def test_malformed_replays_and_machines_are_refused() -> None:
    with pytest.raises(ValueError, match="credits"):
        Memory("GTX285").replay(packets([0]), credits=0)
