"""Definition of coalescing: the addresses of a warp -> memory transactions.

Slow and obvious; csrc/memory/coalesce.c must agree with it. Rules: CUDA C Programming Guide 5.5, G.3.2 (capability
1.0 to 1.3), G.4.2 (2.x) and G.5.2 (3.5); what was measured of 9.0. `addresses` are 32 byte addresses, `lanes` the lanes
that take part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.reference.banks import split

# First byte, bytes, lanes served.
Segment = tuple[int, int, tuple[int, ...]]


def coalesce(
    addresses: Sequence[int], lanes: Iterable[int], width: int, rule: int, l1_line: bool = False
) -> list[Segment]:
    """Transactions in order; `l1_line` (rule 20): a load that moves whole 128-byte lines of the L1 cache."""
    taking_part = sorted(lanes)
    if rule == 13:
        size = {1: 32, 2: 64}.get(width, 128)
        requests = split(taking_part, 16)
        return [narrow(s, addresses) for request in requests for s in segments(addresses, request, size)]
    if rule == 10:
        return [s for request in split(taking_part, 16) for s in strict(addresses, request, width)]
    requests = split(taking_part, {8: 16, 16: 8}.get(width, 32))
    if rule == 90:
        return [run for request in requests for s in segments(addresses, request, 128) for run in runs(s, addresses)]
    size = 128 if rule == 20 and l1_line else 32
    return [s for request in requests for s in segments(addresses, request, size)]


def segments(addresses: Sequence[int], request: Sequence[int], size: int) -> list[Segment]:
    """The aligned segments that the lanes of a request touch, by their lowest lane."""
    found = []
    waiting = list(request)
    while waiting:
        base = addresses[waiting[0]] // size * size
        inside = [lane for lane in waiting if base <= addresses[lane] < base + size]
        found.append((base, size, tuple(inside)))
        waiting = [lane for lane in waiting if lane not in inside]
    return found


def strict(addresses: Sequence[int], request: Sequence[int], width: int) -> list[Segment]:
    """CC 1.0/1.1: whole segments if the k-th thread of the half-warp accesses the k-th word, else 32 bytes for each."""
    size = {4: 64, 8: 128, 16: 128}.get(width)
    starts = {addresses[lane] - width * (lane % 16) for lane in request}
    if size and len(starts) == 1 and min(starts) % size == 0:
        return segments(addresses, request, size)
    return [(addresses[lane] // 32 * 32, 32, (lane,)) for lane in request]


def runs(line: Segment, addresses: Sequence[int]) -> list[Segment]:
    """CC 9.0: the sectors of 32 bytes of a line that its lanes touch, those side by side as one."""
    found: list[Segment] = []
    for base, _, lanes in sorted(segments(addresses, line[2], 32)):
        if found and found[-1][0] + found[-1][1] == base:
            before = found.pop()
            found.append((before[0], before[1] + 32, tuple(sorted(before[2] + lanes))))
        else:
            found.append((base, 32, lanes))
    return found


def narrow(segment: Segment, addresses: Sequence[int]) -> Segment:
    """CC 1.2/1.3: if only one half of 128 or 64 bytes is used, transfer that half."""
    base, size, lanes = segment
    for half in (64, 32):
        if size != 2 * half:
            continue
        if all(addresses[lane] < base + half for lane in lanes):
            size = half
        elif all(addresses[lane] >= base + half for lane in lanes):
            base, size = base + half, half
    return base, size, lanes
