"""The interconnect and its finite queues, clock by clock: what the core computes from times alone (csrc/memory/xbar.c).

The L2 behind it answers everything at once, so that nothing but queues and ports takes time, and the interconnect runs
at the shader clock. Packets of an SM leave it in order, one per clock, as long as it has credits. The SMs of a TPC
share a request port: a queue from which one packet after the other leaves, the first one only while its slice has room
for one more request of this TPC. What stands behind it waits, wherever it goes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from smmux.gpus import Gpu


@dataclass
class Packet:
    """A transaction: when and by whom it may be sent, where it goes, and what became of it."""

    cycle: int
    sm: int
    address: int
    bytes: int
    store: bool
    sent: int = -1
    replied: int = -1

    def slice(self, gpu: Gpu) -> int:
        """Blocks of addresses are dealt out to partitions, and those of a partition to its slices."""
        block = self.address // gpu.partition_bytes
        return block % gpu.partitions * gpu.l2_slices + block // gpu.partitions % gpu.l2_slices


@dataclass
class Slice:
    """An L2 slice: until when its input, its pipeline and its output are busy, and what is on its way to it."""

    input: int = 0
    pipeline: int = 0
    output: int = 0
    arriving: list[tuple[int, int, Packet]] = field(default_factory=list)  # clock, TPC


@dataclass
class Tpc:
    """A TPC: its request port with what waits there, and its reply port with what is on its way to it."""

    waiting: deque[Packet] = field(default_factory=deque)
    request: int = 0
    reply: int = 0
    replies: list[tuple[int, int, Packet]] = field(default_factory=list)  # clock, slice
    blocked: int = 0


def flits(gpu: Gpu, data: int) -> int:
    """Clocks for which a packet with so much data holds a port."""
    return max(1, -(-(gpu.packet_header + data) // gpu.port_bytes))


def simulate(gpu: Gpu, packets: Sequence[Packet], credits: int) -> int:
    """Send the packets and fill in when they left their SM and were answered; returns the clocks of blocked ports."""
    tpcs = [Tpc() for _ in range(-(-gpu.sm_count // gpu.sms_per_tpc))]
    slices = [Slice() for _ in range(gpu.partitions * gpu.l2_slices)]
    unsent = [deque(p for p in packets if p.sm == sm) for sm in range(gpu.sm_count)]
    under_way: list[Packet] = []
    clock = 0
    while any(unsent) or any(tpc.waiting for tpc in tpcs) or any(p.replied < 0 for p in packets):
        under_way = [p for p in under_way if not 0 <= p.replied <= clock]
        for sm, queue in enumerate(unsent):
            free = sum(p.sm == sm for p in under_way) < credits
            if queue and queue[0].cycle <= clock and free:
                packet = queue.popleft()
                packet.sent = clock
                under_way.append(packet)
                tpcs[sm // gpu.sms_per_tpc].waiting.append(packet)
        for number, tpc in enumerate(tpcs):
            leave_port(gpu, number, tpc, slices, under_way, clock)
        for number, piece in enumerate(slices):
            serve(gpu, number, piece, tpcs, clock)
        for tpc in tpcs:
            for _, _, packet in sorted(r for r in tpc.replies if r[0] == clock):
                tpc.reply = max(clock, tpc.reply) + flits(gpu, 0 if packet.store else packet.bytes)
                packet.replied = tpc.reply + gpu.mem_pipeline
            tpc.replies = [r for r in tpc.replies if r[0] > clock]
        clock += 1
    return sum(tpc.blocked for tpc in tpcs)


def leave_port(gpu: Gpu, number: int, tpc: Tpc, slices: list[Slice], under_way: Sequence[Packet], clock: int) -> None:
    """Let the first packet at the request port go to its slice, if the port is free and the slice has room."""
    if not tpc.waiting or tpc.request > clock:
        return
    packet = tpc.waiting[0]
    queued = {id(p) for p in tpc.waiting}
    there = [
        p
        for p in under_way
        if p.sm // gpu.sms_per_tpc == number and p.slice(gpu) == packet.slice(gpu) and id(p) not in queued
    ]
    if gpu.port_room and len(there) == gpu.port_room:
        tpc.blocked += 1
        return
    tpc.waiting.popleft()
    tpc.request = clock + flits(gpu, packet.bytes if packet.store else 0)
    slices[packet.slice(gpu)].arriving.append((clock + gpu.xbar_latency, number, packet))


def serve(gpu: Gpu, number: int, piece: Slice, tpcs: list[Tpc], clock: int) -> None:
    """Take in what arrives in this clock, the lower TPC first, and send the answers."""
    for _, tpc, packet in sorted((a for a in piece.arriving if a[0] == clock), key=lambda a: a[1]):
        data = packet.bytes if packet.store else 0
        piece.input = max(clock, piece.input) + max(flits(gpu, data), data // gpu.write_bytes)
        done = max(piece.input + gpu.rop_latency, piece.pipeline)
        piece.pipeline = done + packet.bytes // gpu.port_bytes
        start = max(done, piece.output)
        piece.output = start + flits(gpu, 0 if packet.store else packet.bytes)
        tpcs[tpc].replies.append((start + gpu.xbar_latency, number, packet))
    piece.arriving = [a for a in piece.arriving if a[0] > clock]
