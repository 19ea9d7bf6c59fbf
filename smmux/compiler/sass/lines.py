"""Places in the source of a kernel's instructions, from the line table that the compiler writes with `-lineinfo`.

The table is DWARF's, versions 2 to 4, with one operation of the vendor's: `inlined_call`, which says at which earlier
row of the table the function was called that the rows after it come from. PTX that no compiler has made says nothing of
lines: for its code the assembler has a table of the lines of the PTX itself.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from smmux.compiler.instruction import Place
from smmux.compiler.sass.elf import Elf, Symbol, damaged

__all__ = ["Row", "read_lines"]

MOST_ROWS = 1 << 22
DEEPEST_INLINING = 64

EXTENDED, COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 0, 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE, INLINED_CALL, FUNCTION_NAME = 1, 2, 3, 0x90, 0x91


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: from this address on, up to the next row's, the code comes from a place. callers: where the
    function around it was inlined, innermost first."""

    address: int
    place: Place
    callers: tuple[Place, ...]


def read_lines(elf: Elf, ptx: str = "<ptx>") -> Mapping[int, list[Row]]:
    """The rows of each section of code, by its index, in order of their addresses; none without a line table. ptx: the
    file of lines of PTX, where no compiler says anything of a source."""
    return _rows(elf, ".debug_line") or _rows(elf, ".nv_debug_line_sass", ptx)


def _rows(elf: Elf, table: str, unnamed: str = "") -> Mapping[int, list[Row]]:
    """The rows of one table. unnamed: the file that has no number."""
    section = elf.named.get(table)
    if section is None:
        return {}
    names = elf.named.get(".debug_str")
    program = _Program(
        bytes(section.data),
        bytes(names.data) if names else b"",
        {offset: symbol for offset, _, symbol, _ in elf.relocations(table)},
        unnamed,
    )
    while program.at < len(program.data):
        program.run_unit()
    return {index: sorted(rows, key=lambda row: row.address) for index, rows in program.rows.items()}


@dataclass
class _State:
    """Registers of the machine that a line table is a program for."""

    section: int = 0
    address: int = 0
    file: int = 1
    line: int = 1
    context: int = 0
    function: str = ""


@dataclass
class _Program:
    """A line table that is being run."""

    data: bytes
    names: bytes
    symbols: Mapping[int, Symbol]
    unnamed: str = ""
    at: int = 0
    rows: dict[int, list[Row]] = field(default_factory=dict)
    count: int = 0

    def run_unit(self) -> None:
        """Run the table of one compilation."""
        length = self.number(4)
        end = self.at + length
        if length >= 0xFFFFFFF0 or end > len(self.data):
            damaged("a line table lies beyond its end")
        version = self.number(2)
        if not 2 <= version <= 4:
            self.at = end
            return
        header = self.number(4)
        start = self.at + header
        self.step = self.number(1)
        if version == 4:
            self.number(1)
        self.number(1)
        self.line_base = int.from_bytes(bytes([self.number(1)]), "little", signed=True)
        self.line_range, self.opcode_base = self.number(1), self.number(1)
        if not self.line_range:
            damaged("a line table counts lines by zero")
        self.lengths = [self.number(1) for _ in range(max(self.opcode_base - 1, 0))]
        self.read_files()
        if not self.at <= start <= end:
            damaged("a line table begins beyond its end")
        self.at = start
        self.run(end)
        self.at = end

    def read_files(self) -> None:
        """Read folders and files."""
        folders = [""]
        while folder := self.text():
            folders.append(folder)
        self.files = [self.unnamed]
        while name := self.text():
            place, _, _ = self.leb(), self.leb(), self.leb()
            whole = place < len(folders) and not name.startswith("<")  # `<text>` lies in no folder
            self.files.append(posixpath.normpath(posixpath.join(folders[place], name)) if whole else name)

    def run(self, end: int) -> None:
        """Run the operations up to an offset."""
        state, table = _State(), list[Row]()
        while self.at < end:
            operation = self.number(1)
            if operation >= self.opcode_base:
                advance, lines = divmod(operation - self.opcode_base, self.line_range)
                state.address += self.step * advance
                state.line += self.line_base + lines
                self.emit(state, table)
            elif operation == EXTENDED:
                if self.extended(state):
                    state, table = _State(), []
            elif operation == COPY:
                self.emit(state, table)
            elif operation == ADVANCE_PC:
                state.address += self.step * self.leb()
            elif operation == ADVANCE_LINE:
                state.line += self.leb(signed=True)
            elif operation == SET_FILE:
                state.file = self.leb()
            elif operation == CONST_ADD_PC:
                state.address += self.step * ((255 - self.opcode_base) // self.line_range)
            elif operation == FIXED_ADVANCE_PC:
                state.address += self.number(2)
            else:
                for _ in range(self.lengths[operation - 1]):
                    self.leb()

    def extended(self, state: _State) -> bool:
        """Run one of the long operations; true at the end of a sequence."""
        length = self.leb()
        end = self.at + length
        if not length or end > len(self.data):
            damaged("an operation of a line table lies beyond its end")
        operation = self.number(1)
        if operation == SET_ADDRESS:
            symbol = self.symbols.get(self.at)
            state.section, state.address = (symbol.section, symbol.value) if symbol else (0, 0)
        elif operation == INLINED_CALL:
            state.context, state.function = self.leb(), self.name(self.leb())
            if not state.context:
                state.function = ""
        elif operation == FUNCTION_NAME:
            state.function = self.name(self.leb())
        self.at = end
        return operation == END_SEQUENCE

    def emit(self, state: _State, table: list[Row]) -> None:
        """Write a row."""
        self.count += 1
        if self.count > MOST_ROWS:
            damaged("its line table is too long")
        callers: tuple[Place, ...] = ()
        if 0 < state.context <= len(table):
            outer = table[state.context - 1]
            callers = (outer.place, *outer.callers)[:DEEPEST_INLINING]
        file = self.files[state.file] if 0 <= state.file < len(self.files) else ""
        table.append(Row(state.address, Place(file, max(state.line, 0), state.function), callers))
        self.rows.setdefault(state.section, []).append(table[-1])

    def number(self, size: int) -> int:
        """An unsigned number of so many bytes."""
        self.at += size
        if self.at > len(self.data):
            damaged("a line table breaks off")
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self, signed: bool = False) -> int:
        """A number of as many bytes as it needs."""
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift > 63:
                damaged("a line table has a number without an end")
        return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        """A string up to its zero."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            damaged("a line table breaks off")
        found = self.data[self.at : end]
        self.at = end + 1
        return found.decode("utf-8", "backslashreplace")

    def name(self, offset: int) -> str:
        """A function's name."""
        end = self.names.find(b"\0", offset)
        return self.names[offset : end if end >= 0 else None].decode("utf-8", "backslashreplace")
