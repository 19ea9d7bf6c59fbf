"""The function that a text of `writer.write` stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from smmux import _core
from smmux.compiler.index import Axis, Index
from smmux.compiler.ir import (
    Block,
    ConstWord,
    Function,
    Imm,
    Instr,
    Loc,
    Mem,
    Operand,
    Param,
    Reg,
    Space,
    Special,
    SpecialName,
    Storage,
    Text,
    Trap,
    Type,
)
from smmux.errors import CompileError

__all__ = ["read"]

TERMINATORS = ("bra", "cbr", "exit")
OF_THE_COMPILER = ("assume", "index")
"""Operations that the passes turn into those of the machine."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<place>\d+:\d+:\d+)|(?P<number>-?(?:0x[0-9a-f]+|\d+)(?![\w.]))"""
    r"""|(?P<word>%?[A-Za-z_0-9][\w.]*|\.[a-z]+)|(?P<sign>->|//|[\[\]{}=,:@!+\-]))"""
)


def read(text: str, filename: str = "<ir>") -> Function:
    """A function from its text. Raises CompileError, with the line of the text, for what is no text of a function."""
    return _Reader(text, filename).function()


class _Line:
    """The tokens of a line, read from left to right."""

    def __init__(self, text: str, number: int, filename: str) -> None:
        self.text, self.number, self.filename = text, number, filename
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                self.fail(f"cannot be read from {text[at:].strip()[:20]!r} on")
            self.tokens.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        self.tokens.reverse()

    def fail(self, why: str) -> NoReturn:
        raise CompileError(why, self.filename, self.number, 1, self.text)

    def ahead(self, *words: str) -> bool:
        """Whether the next token is one of these."""
        return bool(self.tokens) and self.tokens[-1][1] in words

    def skip(self, word: str) -> bool:
        """Read a token if it is this one."""
        if self.ahead(word):
            self.tokens.pop()
            return True
        return False

    def need(self, word: str) -> None:
        """Read this token."""
        if not self.skip(word):
            self.fail(f"{word!r} is missing")

    def next(self, kind: str) -> str:
        """Read a token of a kind."""
        if not self.tokens or self.tokens[-1][0] != kind:
            self.fail(f"a {kind} is missing" + (f" before {self.tokens[-1][1]!r}" if self.tokens else ""))
        return self.tokens.pop()[1]

    def quoted(self) -> str:
        """Read text in quotes."""
        try:
            return str(json.loads(self.next("text")))
        except ValueError as error:
            self.fail(f"a text is not closed or has an unknown escape: {error}")

    def number_(self, low: int = -(1 << 63), high: int = 1 << 63) -> int:
        """Read a number between bounds."""
        word = self.next("number")
        value = int(word, 16 if "0x" in word else 10) if len(word) < 30 else high + 1
        if not low <= value <= high:
            self.fail(f"{word[:30]} is not between {low} and {high}")
        return value

    def one_of(self, what: str, known: Any) -> Any:
        """Read a word and return what stands for it in a table."""
        word = self.next("word")
        try:
            return known(word) if callable(known) else known[word]
        except (ValueError, KeyError):
            self.fail(f"there is no {what} {word!r}")

    def end(self) -> None:
        """Nothing may follow."""
        if self.tokens:
            self.fail(f"nothing is expected at {self.tokens[-1][1]!r}")


class _Reader:
    """The parts of a function read so far."""

    def __init__(self, text: str, filename: str) -> None:
        self.lines = [_Line(line, n, filename) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        self.result = Function("", "")
        self.files: list[str] = []
        self.storages: list[Storage] = []
        self.regs: dict[int, Reg] = {}
        self.blocks: dict[str, Block] = {}

    def function(self) -> Function:
        """The whole."""
        if not self.lines or not self.lines[0].ahead(".entry"):
            raise CompileError("the text of a function begins with .entry", "<ir>", 1, 1)
        for line in self.lines:
            if len(line.tokens) == 2 and line.tokens[0][1] == ":":
                self._label(line)
        block: Block | None = None
        for line in self.lines:
            if line.ahead(*_DIRECTIVES):
                _DIRECTIVES[line.next("word")](self, line)
            elif len(line.tokens) == 2 and line.tokens[0][1] == ":":
                block = self.blocks[line.next("word")]
                line.need(":")
            elif block is None:
                line.fail("an instruction stands before the first block")
            else:
                block.instrs.append(self._instruction(line))
            line.end()
        self._check_blocks()
        return self.result

    def _label(self, line: _Line) -> None:
        name = line.tokens[-1][1]
        if name in self.blocks:
            line.fail(f"block {name} is there twice")
        self.blocks[name] = Block(len(self.blocks))
        self.result.blocks.append(self.blocks[name])

    def _check_blocks(self) -> None:
        last = self.lines[-1]
        if not self.result.blocks:
            last.fail("there is no block")
        for name, block in self.blocks.items():
            ends = [instr.op in TERMINATORS for instr in block.instrs]
            if not ends or not ends[-1] or any(ends[:-1]):
                last.fail(f"block {name} must have one bra, cbr or exit, at its end")

    # -- directives

    def _entry(self, line: _Line) -> None:
        if self.result.name:
            line.fail("a text has one .entry")
        self.result.name, self.result.filename = line.next("word"), line.quoted()
        self.result.line = line.number_(0)

    def _bytes(self, line: _Line) -> None:
        f, most = self.result, 1 << 31
        f.shared_bytes, f.dynamic_bytes, f.local_bytes = (line.number_(0, most) for _ in range(3))

    def _file(self, line: _Line) -> None:
        self.files.append(line.quoted())

    def _param(self, line: _Line) -> None:
        type, name, wide = line.one_of("type", Type), line.quoted(), line.quoted()
        self.result.params.append(Param(len(self.result.params), type, name, wide))

    def _storage(self, line: _Line) -> None:
        space, index, name = line.one_of("space", Space), line.number_(-1, 1 << 30), line.quoted()
        element, elements, offset = line.number_(1, 1 << 30), line.number_(0), line.number_(0, 1 << 32)
        param, align = line.number_(-1, len(self.result.params) - 1), line.number_(1, 1 << 30)
        before = line.number_(0, 1 << 32)
        signed, dynamic = line.skip("signed"), line.skip("dynamic")
        loc = self._place(line) if line.tokens else None
        self.storages.append(
            Storage(space, index, name, element, elements, offset, param, signed, dynamic, align, before, loc)
        )

    def _array(self, line: _Line) -> None:
        self.result.arrays.append(self.storages[line.number_(0, len(self.storages) - 1)])

    def _const(self, line: _Line) -> None:
        try:
            self.result.const = bytes.fromhex(line.tokens.pop()[1])
        except (ValueError, IndexError):
            line.fail("the constant segment is written as pairs of hexadecimal digits")

    def _trap(self, line: _Line) -> None:
        self.result.traps.append(Trap(line.quoted(), line.quoted(), line.quoted()))

    def _text(self, line: _Line) -> None:
        self.result.texts.append(Text(line.quoted(), line.quoted(), line.quoted()))

    def _scalar(self, line: _Line) -> None:
        word = line.number_(0, len(self.result.params) - 1)
        self.result.scalars[word] = line.number_(0), line.number_(0)

    def _axis(self, line: _Line) -> None:
        axis = self._place(line), line.quoted()
        self.result.axes[axis] = bool(line.number_(0, 1))

    def _indices(self, line: _Line) -> None:
        self.result.indexed, self.result.guarded = bool(line.number_(0, 1)), line.number_(0)

    def _reg(self, line: _Line) -> None:
        number = self._reg_number(line)
        type = line.one_of("type", Type)
        name = line.quoted() if line.tokens and line.tokens[-1][0] == "text" else ""
        self.regs[number] = Reg(number, type, name, line.skip("variable"))

    def _next(self, line: _Line) -> None:
        self.result.next_reg = line.number_(max(self.regs, default=-1) + 1, 1 << 30)

    # -- instructions

    def _instruction(self, line: _Line) -> Instr:
        guard, negated = None, False
        if line.skip("@"):
            negated, guard = line.skip("!"), self._register(line)
        dsts = tuple(self._results(line))
        op = line.next("word")
        if op not in _core.OPS and op not in TERMINATORS + OF_THE_COMPILER:
            line.fail(f"there is no operation {op!r}")
        index = self._axes(line) if op == "index" else {}
        mem = self._mem(line) if line.skip("[") else None
        srcs = [] if line.ahead("->", "{", "//") or not line.tokens else list(self._list(line, self._operand))
        targets = [self._block(line) for _ in range(1)] if line.skip("->") else []
        while targets and line.skip(","):
            targets.append(self._block(line))
        attrs = dict(self._attributes(line)) if line.skip("{") else {}
        loc = self._place(line) if line.skip("//") else None
        wanted = {"bra": 1, "cbr": 2}.get(op, 0)
        if len(targets) != wanted:
            line.fail(f"{op} has {wanted} targets, {len(targets)} given")
        target, other = (*targets, None, None)[:2]
        if index:
            if not len(dsts) <= len(index["axes"]) * 2 <= len(srcs):
                line.fail("an index has a result, a source and an extent for each axis")
            return Index(op, dsts, tuple(srcs), loc, **index)
        return Instr(op, dsts, tuple(srcs), loc, guard, negated, mem, target, other, attrs)

    def _results(self, line: _Line) -> Iterator[Reg]:
        if line.tokens and re.fullmatch(r"%\d+", line.tokens[-1][1]):
            yield from self._list(line, self._register)
            line.need("=")

    def _list(self, line: _Line, item: Callable[[_Line], Any]) -> Iterator[Any]:
        yield item(line)
        while line.skip(","):
            yield item(line)

    def _attributes(self, line: _Line) -> Iterator[tuple[str, int]]:
        while True:
            name = line.next("word")
            line.need("=")
            yield name, line.number_()
            if not line.skip(","):
                break
        line.need("}")

    def _named(self, line: _Line) -> Storage:
        word = line.next("word")
        if not re.fullmatch(r"s\d{1,9}", word) or int(word[1:]) >= len(self.storages):
            line.fail(f"there is no storage {word!r}")
        return self.storages[int(word[1:])]

    def _axes(self, line: _Line) -> dict[str, Any]:
        line.need("[")
        array = self._named(line)
        line.need("+")
        offset = line.number_(-(1 << 32), 1 << 32)
        line.need(",")
        size, final, axes = line.number_(1, 1 << 30), line.skip("final"), []
        while line.skip(","):
            axes.append(Axis(line.number_(-(1 << 40), 1 << 40), line.skip("signed")))
        line.need("]")
        return {"array": array, "offset": offset, "size": size, "final": final, "axes": tuple(axes)}

    def _mem(self, line: _Line) -> Mem:
        array = self._named(line)
        line.need("+")
        offset = line.number_(-(1 << 32), 1 << 32)
        line.need(",")
        width = line.number_(1, 16)
        atom = line.next("word") if line.tokens and line.tokens[-1][1] in _core.ATOMS else ""
        lowered, signed = line.skip("lowered"), line.skip("signed")
        lines = []
        if line.skip("lines"):
            while not line.ahead("]"):
                lines.append(line.number_(0))
        line.need("]")
        return Mem(array, width, offset, atom, lowered, signed, tuple(lines))

    def _operand(self, line: _Line) -> Operand:
        if line.skip("param"):
            word, name, wide = line.number_(0, len(self.result.params) - 1), line.quoted(), line.quoted()
            return Param(word, self._type(line), name, wide)
        if line.skip("const"):
            offset = line.number_(0, len(self.result.const))
            return ConstWord(offset, self._type(line))
        if line.tokens and line.tokens[-1][0] == "number":
            bits = line.number_(0, 0xFFFFFFFF)
            return Imm(bits, self._type(line))
        if line.tokens and re.fullmatch(r"%[a-z].*", line.tokens[-1][1]):
            name = line.one_of("special register", lambda word: SpecialName(word[1:]))
            return Special(name, self._type(line))
        return self._register(line)

    def _type(self, line: _Line) -> Type:
        line.need(":")
        found: Type = line.one_of("type", Type)
        return found

    def _reg_number(self, line: _Line) -> int:
        word = line.next("word")
        if not re.fullmatch(r"%\d{1,9}", word):
            line.fail(f"{word!r} is no register")
        return int(word[1:])

    def _register(self, line: _Line) -> Reg:
        number = self._reg_number(line)
        if number not in self.regs:
            line.fail(f"register %{number} has no .reg")
        return self.regs[number]

    def _block(self, line: _Line) -> Block:
        found: Block = line.one_of("block", self.blocks)
        return found

    def _place(self, line: _Line) -> Loc:
        file, row, column = map(int, line.next("place").split(":"))
        if file >= len(self.files):
            line.fail(f"there is no file {file}")
        return Loc(self.files[file], row, column)


_DIRECTIVES: dict[str, Callable[[_Reader, _Line], None]] = {
    f".{name}": getattr(_Reader, f"_{name}")
    for name in "entry bytes file param storage array const trap text scalar axis indices reg next".split()
}
