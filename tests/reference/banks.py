"""Definition of the shared-memory bank rules: how many passes one access of a warp takes.

Slow and obvious; the machine in csrc/sm/smem.c must agree with it. Rules: CUDA C Programming Guide 5.5, G.3.3 (compute
capability 1.x), G.4.3 (2.x) and G.5.3 (3.x); docs/hopper.md (9.0). `addresses` are 32 byte addresses, `lanes` the lanes
that take part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def passes(
    addresses: Sequence[int], lanes: Iterable[int], width: int, rule: int, banks: int, bank_bytes: int = 4
) -> tuple[int, int]:
    """(passes, passes of a conflict-free access of the same width and lanes)."""
    taking_part = sorted(lanes)
    if rule == 1:
        return passes_cc1(addresses, taking_part, width, banks)
    if rule == 2:
        return passes_cc2(addresses, taking_part, width, banks)
    if rule == 9:
        return passes_cc9(addresses, taking_part, width, banks)
    return passes_cc3(addresses, taking_part, width, banks, bank_bytes)


def split(lanes: Sequence[int], size: int) -> list[list[int]]:
    """The requests of `size` neighbouring lanes in which a lane takes part."""
    groups = [[lane for lane in lanes if lane // size == group] for group in range(32 // size)]
    return [group for group in groups if group]


def passes_cc1(addresses: Sequence[int], lanes: Sequence[int], width: int, banks: int) -> tuple[int, int]:
    """Half-warps; wider accesses are split into 32-bit ones."""
    total = ideal = 0
    for part in range(max(1, width // 4)):
        for half in split(lanes, 16):
            total += len(broadcast_steps({lane: (addresses[lane] + 4 * part) // 4 for lane in half}, banks))
            ideal += 1
    return total, ideal


def broadcast_steps(word: dict[int, int], banks: int) -> list[list[int]]:
    """The lanes served in each pass: those within the broadcast word, and one lane of each other bank.

    The guide leaves open which word and which lane; the definition takes the lowest lane still waiting.
    """
    steps = []
    waiting = sorted(word)
    while waiting:
        broadcast = word[waiting[0]]
        served = [lane for lane in waiting if word[lane] == broadcast]
        busy = {broadcast % banks}
        for lane in waiting:
            if word[lane] % banks not in busy:
                busy.add(word[lane] % banks)
                served.append(lane)
        steps.append(served)
        waiting = [lane for lane in waiting if lane not in served]
    return steps


def passes_cc2(addresses: Sequence[int], lanes: Sequence[int], width: int, banks: int) -> tuple[int, int]:
    """The bank with the most distinct words decides; 64 bits per half-warp, 128 per quarter-warp and one more per half.

    The guide says "one must add 1" for 128 bits; per half-warp this gives the 12 clk that were measured on a GTX480.
    """
    total = ideal = 0
    for request in split(lanes, {8: 16, 16: 8}.get(width, 32)):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in request:
            for word in range(addresses[lane] // 4, (addresses[lane] + max(width, 4)) // 4):
                words[word % banks].add(word)
        total += max(len(bank) for bank in words.values())
        ideal += 1
    extra = len(split(lanes, 16)) if width == 16 else 0
    return total + extra, ideal + extra


def passes_cc3(
    addresses: Sequence[int], lanes: Sequence[int], width: int, banks: int, bank_bytes: int
) -> tuple[int, int]:
    """Banks deliver 8 bytes of one row; in 4-byte mode those are words i and i + 32 of a 64-word segment."""
    total = ideal = 0
    for request in split(lanes, 16 if width == 16 else 32):
        rows: dict[int, set[int]] = defaultdict(set)
        for lane in request:
            for address in range(addresses[lane], addresses[lane] + width):
                rows[address // bank_bytes % banks].add(address // (8 * banks))
        total += max(len(bank) for bank in rows.values())
        ideal += 1
    return total, ideal


def passes_cc9(addresses: Sequence[int], lanes: Sequence[int], width: int, banks: int) -> tuple[int, int]:
    """The bank with the most distinct words decides; 64 bits in two halves, 128 in four quarters, half as many where
    each lane agrees with its neighbour, and at least so many passes."""
    size = {8: 16, 16: 8}.get(width, 32)
    agrees = [all(addresses[n ^ step] == addresses[n] for n in lanes if n ^ step in lanes) for step in (1, 2)]
    if width > 4 and any(agrees):
        size *= 2
    total = 0
    for request in split(lanes, size):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in request:
            for word in range(addresses[lane] // 4, (addresses[lane] + max(width, 4)) // 4):
                words[word % banks].add(word)
        total += max(len(bank) for bank in words.values())
    least = 32 // size if width > 4 else len(split(lanes, 32))
    return max(total, least), least
