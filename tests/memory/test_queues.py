"""Finite queues: against their definition, in closed form, and what they do to kernels that camp on a partition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import cuda, float32, gpus
from smmux.machines.models_memory import PACKET, PACKET_KINDS, Memory
from tests.reference import queues

LOAD, STORE = PACKET_KINDS.index("load"), PACKET_KINDS.index("store")
LINES = 24
"""Lines of 128 bytes that are in the L2 before anything is measured."""


def machine(sms_per_tpc: int, header: int, write_bytes: int, room: int) -> gpus.Gpu:
    """A small machine whose L2 is never full, with an interconnect at the shader clock."""
    return gpus.get("GTX480-48K").replace(
        shader_khz=700_000, icnt_khz=700_000, sm_count=4, sms_per_tpc=sms_per_tpc, partitions=3, partition_hash=0,
        l2_bytes=6 * 16384, packet_header=header, write_bytes=write_bytes, port_room=room, rop_latency=20,
    )  # fmt: skip


@st.composite
def streams(draw: st.DrawFn) -> list[queues.Packet]:
    """Stores that fill the L2, and long after them loads and stores of these lines: of all, of some, or of one."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    first = [queues.Packet(0, i % 4, i * 128, 128, True) for i in range(LINES)]
    spread, gap = draw(st.sampled_from([1, 4, LINES])), draw(st.sampled_from([0, 1, 6]))
    at, packets = 1_500, []
    for _ in range(draw(st.integers(1, 120))):
        at += int(rng.integers(0, gap + 1))
        size = int(rng.choice([32, 64, 128]))
        address = int(rng.integers(0, spread)) * 128 + int(rng.integers(0, 128 // size)) * size
        packets.append(queues.Packet(at, int(rng.integers(0, 4)), address, size, bool(rng.random() < 0.4)))
    return first + packets


@settings(max_examples=30)
@given(
    streams(), st.sampled_from([1, 3]), st.sampled_from([0, 8]), st.sampled_from([8, 32]),
    st.sampled_from([0, 1, 2, 5, 16]), st.sampled_from([1, 3, 64]), st.integers(0, 60),
)  # fmt: skip
def test_queues_are_those_of_their_definition(
    packets: list[queues.Packet], sms_per_tpc: int, header: int, write_bytes: int, room: int, credits: int, window: int
) -> None:
    gpu = machine(sms_per_tpc, header, write_bytes, room)
    trace = np.zeros(len(packets), PACKET)
    trace["cycle"] = [p.cycle for p in packets]
    trace["sm"] = [p.sm for p in packets]
    trace["address"] = [p.address for p in packets]
    trace["bytes"] = [p.bytes for p in packets]
    trace["kind"] = [STORE if p.store else LOAD for p in packets]
    found = Memory(gpu).replay(trace, credits=credits, interval=1, window=window)
    blocked = queues.simulate(gpu, packets, credits)
    assert found.counters["dram_reads"] == 0
    assert found.sent.tolist() == [p.sent for p in packets]
    assert found.replied.tolist() == [p.replied for p in packets]
    assert found.counters["port_blocked"] == blocked


def to_one_partition(gpu: gpus.Gpu, count: int, sms: int) -> np.ndarray:
    """Loads of 64 bytes side by side in one partition, from so many SMs in turn."""
    at = np.arange(count)
    trace = np.zeros(count, PACKET)
    trace["address"] = at // 4 * 256 * gpu.partitions + at % 4 * 64
    trace["bytes"] = 64
    trace["sm"] = at % sms
    return trace


def test_a_camped_stream_gets_what_one_partition_gives() -> None:
    gpu = gpus.get("GTX285").replace(t_refi=0)
    trace = to_one_partition(gpu, 20_000, gpu.sm_count)
    found = Memory(gpu).replay(trace)
    data_clocks = len(trace) * 64 // gpu.dram_burst_bytes * gpu.dram_burst_clk
    assert 0.8 <= data_clocks * gpu.shader_khz / gpu.dram_khz / found.cycles <= 1
    assert found.counters["port_blocked"] > 0


@pytest.mark.parametrize("room", [1, 2, 8])
def test_one_tpc_gets_its_room_per_round_trip_from_a_slice(room: int) -> None:
    """Little's law: with one row open and few requests the round trip is the idle latency, give or take a queue."""
    gpu = gpus.get("GTX285").replace(t_refi=0, port_room=room)
    trace = to_one_partition(gpu, 2_000, 1)
    found = Memory(gpu).replay(trace, credits=64)
    alone = Memory(gpu).replay(trace[:1]).cycles
    assert found.cycles == pytest.approx(len(trace) / room * alone, rel=0.15)


def test_a_full_slice_holds_up_loads_of_idle_ones() -> None:
    """Behind 40 loads of one partition stands one of another: alone it would be back after the idle latency."""
    gpu = gpus.get("GTX285")
    trace = to_one_partition(gpu, 41, 1)
    trace["address"][-1] = 256
    waits = {room: int(Memory(gpu.replace(port_room=room)).replay(trace).latency[-1]) for room in (0, 4, 16, 64)}
    assert waits[0] == waits[64]
    assert waits[64] < waits[16] < waits[4]


def test_room_that_nobody_fills_changes_nothing() -> None:
    gpu = gpus.get("GTX285")
    rng = np.random.default_rng(3)
    trace = np.zeros(4_000, PACKET)
    trace["address"] = rng.integers(0, 1 << 20, 4_000) * 32
    trace["bytes"] = 32
    trace["sm"] = rng.integers(0, gpu.sm_count, 4_000)
    trace["kind"] = rng.choice([LOAD, STORE], 4_000)
    enough = gpu.sms_per_tpc * 64
    endless, ample = (Memory(gpu.replace(port_room=room)).replay(trace, credits=64) for room in (0, enough))
    assert (endless.replied == ample.replied).all()
    assert endless.counters == ample.counters


STRIP = 64
"""Floats of a partition's block of 256 bytes; a matrix has a strip per partition."""
BAND = 16
"""Rows of a matrix that a block of threads reads, a strip of them."""


@cuda.jit
def by_rows(matrix, sums):
    column = cuda.blockIdx.x % 8 * STRIP + cuda.threadIdx.x
    row = cuda.blockIdx.x // 8 * BAND
    total = float32(0)
    for i in range(BAND):
        total += matrix[row + i, column]
    sums[cuda.grid(1)] = total


@cuda.jit
def by_columns(matrix, sums):
    bands = matrix.shape[0] // BAND
    column = cuda.blockIdx.x // bands * STRIP + cuda.threadIdx.x
    row = cuda.blockIdx.x % bands * BAND
    total = float32(0)
    for i in range(BAND):
        total += matrix[row + i, column]
    sums[cuda.grid(1)] = total


@cuda.jit
def along_diagonals(matrix, sums):
    bands = matrix.shape[0] // BAND
    band = cuda.blockIdx.x % bands
    column = (cuda.blockIdx.x // bands + band) % 8 * STRIP + cuda.threadIdx.x
    row = band * BAND
    total = float32(0)
    for i in range(BAND):
        total += matrix[row + i, column]
    sums[cuda.grid(1)] = total


def test_columns_camp_on_one_partition_of_gt200_and_diagonals_recover() -> None:
    """Measured on cards of that class: up to 7 times slower [Aji et al., CF 2011]; diagonals are the cure [SDK-T]."""
    bands = 30 * 8  # as many as blocks are resident, so that all read one strip
    matrix = (np.arange(bands * BAND * 512) % 8).astype(np.float32).reshape(-1, 512)
    cycles, blocked = {}, {}
    for kernel in (by_rows, by_columns, along_diagonals):
        sums = np.zeros(bands * 8 * STRIP, np.float32)
        result = kernel.simulate(bands * 8, STRIP, (matrix, sums), gpu="GTX285", schedule="source")
        assert sums.sum() == matrix.sum()
        cycles[kernel], blocked[kernel] = result.cycles, result.counters["port_blocked"]
    assert 5 <= cycles[by_columns] / cycles[by_rows] <= 7
    assert cycles[along_diagonals] < 1.4 * cycles[by_rows]
    assert blocked[by_columns] > 20 * max(blocked[by_rows], blocked[along_diagonals])
