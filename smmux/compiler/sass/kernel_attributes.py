"""Attributes of a kernel in a cubin's `.nv.info` sections."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from smmux.compiler.sass.elf import damaged

__all__ = ["Attributes", "read_attributes"]

Attributes = dict[int, list[bytes]]
"""The values of each attribute by its number, in the file's order."""

CTAIDZ_USED, MAX_THREADS, PARAM_CBANK, EXTERNS, REQNTID, FRAME_SIZE, MIN_STACK_SIZE = 4, 5, 0x0A, 0x0F, 0x10, 0x11, 0x12
KPARAM_INFO, CBANK_PARAM_SIZE, MAXREG_COUNT, EXIT_OFFSETS, MAX_STACK_SIZE = 0x17, 0x19, 0x1B, 0x1C, 0x23
COOP_GROUP_OFFSETS, REGCOUNT, INDIRECT_BRANCH_TARGETS, CTA_PER_CLUSTER = 0x28, 0x2F, 0x34, 0x3D
KPARAM_INFO_V2, SYSCALL_OFFSETS, NUM_BARRIERS = 0x45, 0x46, 0x4C

NONE, BYTE, HALF, SIZED = 1, 2, 3, 4
"""Formats of an attribute's value."""


def read_attributes(data: memoryview) -> Attributes:
    """All attributes of a section."""
    found: Attributes = {}
    at = 0
    while at + 4 <= len(data):
        form, number, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            if at + value > len(data):
                damaged("an attribute of a kernel lies beyond its section")
            content = bytes(data[at : at + value])
            at += value
        elif form in (NONE, BYTE, HALF):
            content = bytes(data[at - 2 : at])
        else:
            damaged(f"a kernel has an attribute of format {form}")
        found.setdefault(number, []).append(content)
    return found


def numbers(content: bytes) -> tuple[int, ...]:
    """An attribute's value as numbers of 32 bits."""
    return struct.unpack(f"<{len(content) // 4}I", content[: len(content) // 4 * 4])


def number(attributes: Attributes, key: int, default: int = 0) -> int:
    """The value of an attribute of one byte or of 16 bits."""
    return int.from_bytes(attributes[key][0][:2], "little") if key in attributes else default


def triple(attributes: Attributes, key: int) -> tuple[int, int, int] | None:
    """The value of an attribute that is a size in three dimensions."""
    if key not in attributes:
        return None
    values = numbers(attributes[key][0])
    if len(values) < 3:
        damaged("the size of a kernel's block lacks a number")
    return values[0], values[1], values[2]


def by_symbol(attributes: Attributes, key: int) -> Iterator[tuple[int, int]]:
    """Pairs of a symbol's index and its value."""
    for content in attributes.get(key, ()):
        values = numbers(content)
        if len(values) >= 2:
            yield values[0], values[1]


def parameters(attributes: Attributes) -> list[tuple[int, int, int]]:
    """Ordinal, offset and size of each parameter, in order."""
    found = []
    for key in (KPARAM_INFO, KPARAM_INFO_V2):
        for content in attributes.get(key, ()):
            if len(content) < 12:
                damaged("the description of a parameter is too short")
            _, ordinal, offset, size = struct.unpack_from("<IHHI", content)
            found.append((ordinal, offset, size >> 18 if key == KPARAM_INFO else size & 0xFFFF))
    return sorted(found)


def indirect_targets(attributes: Attributes) -> dict[int, tuple[int, ...]]:
    """Where each indirect branch may go: records of its address, a number, the count of targets, and these."""
    found: dict[int, tuple[int, ...]] = {}
    for content in attributes.get(INDIRECT_BRANCH_TARGETS, ()):
        values, at = numbers(content), 0
        while at < len(values):
            if at + 3 > len(values) or at + 3 + values[at + 2] > len(values):
                damaged("the targets of an indirect branch lie beyond their section")
            found[values[at]] = values[at + 3 : at + 3 + values[at + 2]]
            at += 3 + values[at + 2]
    return found
