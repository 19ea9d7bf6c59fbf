"""Sections and symbols of a 64-bit ELF file, and nothing that a damaged one could do harm with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from smmux.errors import ConfigError

__all__ = ["MACHINE", "Elf", "Section", "Symbol", "damaged", "is_object"]

MACHINE = 190
"""e_machine of GPU code."""
OBJECT_FILE = 1
"""e_type of what can be linked."""
NOBITS, SYMTAB, RELA, REL = 8, 2, 4, 9
WITHOUT_BYTES = (0, NOBITS, 0x70000007, 0x70000009, 0x7000000A)
"""Kinds of sections that have a size and no bytes in the file; the last three are variables of device, local and shared
memory in files that are not linked yet."""
WHOLE = (2, 4)
"""Kinds of relocations of 64 bits."""
MOST_BYTES = 1 << 46
"""No memory segment is larger."""

_HEADER = np.dtype(
    [("ident", "u1", 16), ("type", "<u2"), ("machine", "<u2"), ("version", "<u4"), ("entry", "<u8"), ("phoff", "<u8")]
    + [("shoff", "<u8"), ("flags", "<u4"), ("ehsize", "<u2"), ("phentsize", "<u2"), ("phnum", "<u2")]
    + [("shentsize", "<u2"), ("shnum", "<u2"), ("shstrndx", "<u2")]
)
_SECTION = np.dtype(
    [("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("addr", "<u8"), ("offset", "<u8"), ("size", "<u8")]
    + [("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entsize", "<u8")]
)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_RELA = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_REL = np.dtype(_RELA.descr[:3])


def damaged(what: str) -> NoReturn:
    """Refuse a file."""
    raise ConfigError(f"the GPU code cannot be read, since {what}: compile it anew")


def is_object(data: bytes) -> bool:
    """Whether a file is one that a linker takes, and not yet a program."""
    return int.from_bytes(data[16:18], "little") == OBJECT_FILE


@dataclass(frozen=True, slots=True)
class Section:
    """A section; `size` is that in memory, `data` is empty where the file has no bytes of it."""

    index: int
    name: str
    kind: int
    flags: int
    size: int
    align: int
    info: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol; kind 1 is an object, 2 a function. section: the index of its section, 0 if it is not defined here."""

    index: int
    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int


class Elf:
    """A file of GPU code; ConfigError unless its tables lie within its bytes."""

    def __init__(self, data: bytes) -> None:
        if len(data) < _HEADER.itemsize or data[:4] != b"\x7fELF":
            damaged("it is no ELF file")
        self.header: Any = np.frombuffer(data, _HEADER, 1)[0]
        if data[4] != 2 or data[5] != 1:
            damaged("it is no ELF file of 64 bits, little endian")
        if self.header["machine"] != MACHINE:
            damaged(f"it is code of another processor (machine {self.header['machine']} instead of {MACHINE})")
        self.flags = int(self.header["flags"])
        self.abi = int(data[8])
        self.sections = self._sections(data)

    def _sections(self, data: bytes) -> tuple[Section, ...]:
        start, count = int(self.header["shoff"]), int(self.header["shnum"])
        if self.header["shentsize"] != _SECTION.itemsize or start + count * _SECTION.itemsize > len(data):
            damaged("its table of sections lies beyond its end")
        rows: list[Any] = [row.tolist() for row in np.frombuffer(data, _SECTION, count, start)] if count else []
        views, total = [], 0
        for _, kind, _, _, offset, size, _, _, align, _ in rows:
            here = 0 if kind in WITHOUT_BYTES else size
            if here and offset + here > len(data) or size > MOST_BYTES or align > MOST_BYTES:
                damaged("a section lies beyond its end")
            total += here
            views.append(memoryview(data)[offset : offset + here] if here else memoryview(b""))
        if total > len(data):
            damaged("its sections overlap")
        where = int(self.header["shstrndx"])
        if rows and where >= len(rows):
            damaged("its sections have no names")
        return tuple(
            Section(i, _text(views[where], row[0]), row[1], row[2], row[5], max(row[8], 1), row[7], views[i])
            for i, row in enumerate(rows)
        )

    @cached_property
    def named(self) -> Mapping[str, Section]:
        """Sections by name; of several with one name the first."""
        return {section.name: section for section in reversed(self.sections)}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table."""
        table = next((section for section in self.sections if section.kind == SYMTAB), None)
        if table is None:
            return ()
        names = self.named.get(".strtab")
        texts = names.data if names else memoryview(b"")
        rows: list[Any] = [row.tolist() for row in _rows(table, _SYMBOL)]
        return tuple(
            Symbol(i, _text(texts, name), info & 15, other, section, value, size)
            for i, (name, info, other, section, value, size) in enumerate(rows)
        )

    def relocations(self, name: str) -> list[tuple[int, int, Symbol, int]]:
        """Offset, kind, symbol and addend of what is relocated in a section.

        Up to sm_89 the addend stands in the place itself.
        """
        found: list[tuple[int, int, Symbol, int]] = []
        data = self.named[name].data if name in self.named else memoryview(b"")
        for table, kind, dtype in ((".rela", RELA, _RELA), (".rel", REL, _REL)):
            section = self.named.get(f"{table}{name}")
            if section is None or section.kind != kind:
                continue
            for offset, way, symbol, *addend in (row.tolist() for row in _rows(section, dtype)):
                if symbol >= len(self.symbols):
                    damaged(f"a relocation of {name} names a symbol that it lacks")
                there = int.from_bytes(data[offset : offset + 8], "little", signed=True) if way in WHOLE else 0
                found.append((offset, way, self.symbols[symbol], addend[0] if addend else there))
        return found


def _rows(section: Section, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The records of a section."""
    return np.frombuffer(section.data, dtype, len(section.data) // dtype.itemsize)


def _text(texts: memoryview, start: int) -> str:
    """The string of a table of strings that begins at a place."""
    if start >= len(texts):
        if start == 0:
            return ""
        damaged("a name lies beyond its table")
    part = bytes(texts[start : start + LONGEST_NAME])
    return part.partition(b"\0")[0].decode("utf-8", "backslashreplace")


LONGEST_NAME = 1 << 16
"""Bytes of a mangled name."""
