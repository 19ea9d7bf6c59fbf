"""A cache by definition: each set a list of lines, the most recently used last."""

from __future__ import annotations

from collections.abc import Iterable


def set_index(line: int, sets: int, hashed: bool) -> int:
    """Set of a line. Hashed: its three lowest digits in base `sets`, added without carry (xor for powers of two; in an
    odd base the second counts twice and the third four times)."""
    if not hashed:
        return line % sets
    digits = line % sets, line // sets % sets, line // sets // sets % sets
    if sets & (sets - 1) == 0:
        return digits[0] ^ digits[1] ^ digits[2]
    weight = 2 if sets % 2 else 1
    return sum(digit * weight**place for place, digit in enumerate(digits)) % sets


def replay(
    addresses: Iterable[int], write: Iterable[bool], size: int, line: int, ways: int, sector: int, hashed: bool
) -> tuple[list[bool], int]:
    """Which accesses hit, and how many dirty lines were evicted."""
    sets: list[list[tuple[int, set[int], list[bool]]]] = [[] for _ in range(size // line // ways)]
    hits, evicted = [], 0
    for address, store in zip(addresses, write, strict=True):
        number, part = address // line, address % line // sector
        lines = sets[set_index(number, len(sets), hashed)]
        found = next((entry for entry in lines if entry[0] == number), None)
        if found is None:
            if len(lines) == ways:
                evicted += lines.pop(0)[2][0]
            found = (number, set(), [False])
        else:
            lines.remove(found)
        lines.append(found)
        hits.append(part in found[1])
        found[1].add(part)
        found[2][0] |= store
    return hits, evicted
