"""Programs from nowhere, and programs that were right once."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.compiler.program import INSN, OPERAND_NONE, OPERAND_SPECIAL, OPERAND_UNIFORM, UNIFORM

from .values import hostile

Code = NDArray[Any]

NAMES = tuple(_core.OPS)
OPCODE = {name: row[0] for name, row in _core.OPS.items()}
CONTROL = ("bra", "bra", "exit", "bar.sync", "membar", "trap")
MEMORY = ("ld.global", "st.global", "atom.global", "ld.shared", "st.shared", "atom.shared", "ld.local", "st.local")
REST = ("ld.const", "tex.1d", "shfl", "vote.pred", "vote.ballot.b32", "selp.b32")
FIELDS = tuple(INSN.names or ())
OPERANDS = ("d", "a", "b", "c", "dh", "ah", "bh", "ch")
WIDTHS = (1, 2, 4, 4, 4, 8, 16)


class Writer:
    """Random instructions over so many registers, predicates, uniforms and arrays."""

    def __init__(self, rng: Random, length: int, nregs: int, npreds: int, params: int, arrays: int) -> None:
        self.rng, self.length = rng, length
        self.nregs, self.npreds, self.params, self.arrays = nregs, npreds, params, arrays
        self.rows: list[dict[str, int]] = []
        self.uniforms: list[tuple[int, int]] = [
            (_core.UNIFORMS["imm"], hostile(rng, rng.choice((4, 8, 32)))) for _ in range(6)
        ]
        self.uniforms += [(_core.UNIFORMS["param"], i) for i in range(params)]
        self.uniforms += [(_core.UNIFORMS[kind], rng.randrange(3)) for kind in ("ntid", "nctaid")]

    def register(self) -> int:
        """A register that exists."""
        return self.rng.randrange(self.nregs)

    def source(self) -> int:
        """A register, a special register or a uniform."""
        kind = self.rng.random()
        if kind < 0.6:
            return self.register()
        if kind < 0.8:
            return OPERAND_SPECIAL | self.rng.randrange(len(_core.SPECIALS))
        return OPERAND_UNIFORM | self.rng.randrange(len(self.uniforms))

    def emit(self, name: str, **fields: int) -> None:
        """One instruction; operands that the operation wants and that are not given are random."""
        rng = self.rng
        row = {"op": OPCODE[name], "line": len(self.rows) + 1, "q": OPERAND_NONE, "aux": -1}
        row |= dict.fromkeys(OPERANDS, OPERAND_NONE)
        operands = _core.OPS[name][3].replace(",", " ").split()
        for operand in operands:
            if operand == "v":
                row |= {field: self.register() for field in "dbcq"}
            elif operand == "p":
                row["d"] = rng.randrange(self.npreds)
            elif operand[0] == "q":
                row[operand[-1]] = rng.randrange(self.npreds)
            elif operand in OPERANDS:
                row[operand] = self.register() if operand[0] == "d" else self.source()
        if row["dh"] == row["d"] != OPERAND_NONE and rng.random() < 0.99:
            row["dh"] = (row["d"] + 1) % self.nregs
        if rng.random() < 0.3 and name != "bar.sync":
            row["guard"] = rng.randint(1, self.npreds) | rng.choice((0, 0x80))
        row["flags"] = rng.choice((0, 0, 0, 1, 2, 4, 8, 16))
        self.rows.append(row | fields)

    def control(self) -> None:
        """A branch to anywhere, a barrier, an exit."""
        rng, name = self.rng, self.rng.choice(CONTROL)
        if name == "bra":
            here = len(self.rows)
            target = (
                rng.randrange(self.length) if rng.random() < 0.2 else min(self.length - 1, here + rng.randint(1, 9))
            )
            meet = rng.choice(
                (-1, target, min(self.length - 1, target + rng.randint(0, 6)), rng.randrange(self.length))
            )
            self.emit("bra", imm=target, aux=meet)
        elif name == "bar.sync":
            self.emit(name, sub=rng.choice((0, 0, 0, 1, 2, 3)), imm=rng.choice((1, 64, 128, 1 << 20)))
        else:
            self.emit(name)

    def memory(self) -> None:
        """An access, its address masked so that it often lies inside."""
        rng, name = self.rng, self.rng.choice(MEMORY if self.rng.random() < 0.9 else REST)
        if not name.startswith(("ld", "st", "atom", "tex")):
            self.emit(name, sub=rng.randrange(4))
            return
        sub = rng.randrange(len(_core.ATOMS))
        width, at = rng.choice(WIDTHS), self.register()
        if name.startswith("atom") and rng.random() < 0.98:
            width = 8 if tuple(_core.ATOMS)[sub].endswith("64") else 4
        array = rng.randrange(self.arrays) if self.arrays else 0
        if name.endswith(("local", "const")):
            width = min(width, 4)
        if rng.random() < 0.9:
            self.uniforms.append((_core.UNIFORMS["imm"], rng.choice((0x3C, 0xF0, 0xFFC, 0)) & ~(width - 1)))
            self.emit("and.b32", d=at, a=self.source(), b=OPERAND_UNIFORM | len(self.uniforms) - 1, guard=0)
            if name.endswith(("global", "1d")) and array < self.params:
                self.emit("add.s32", d=at, a=at, b=OPERAND_UNIFORM | (6 + array), guard=0)
        named = not name.endswith("global") or rng.random() < 0.8  # else the address says which array it is
        self.emit(name, a=at, width=width, aux=array if named else -1, sub=sub)

    def code(self) -> tuple[Code, NDArray[Any]]:
        """The program and its uniforms."""
        rng = self.rng
        while len(self.rows) < self.length - 1:
            kind = rng.random()
            if kind < 0.5:
                self.emit(rng.choice(NAMES[: NAMES.index("selp.b32")]))
            elif kind < 0.75:
                self.memory()
            else:
                self.control()
        del self.rows[self.length - 1 :]
        self.emit("exit", guard=0)
        code = np.zeros(len(self.rows), INSN)
        for i, row in enumerate(self.rows):
            code[i] = tuple(row.get(name, 0) for name in FIELDS)
        return code, np.array(self.uniforms, UNIFORM)


def mutated(rng: Random, code: Code, other: Code) -> Code:
    """The program after some accidents: flipped bits, wild fields, instructions lost, doubled, swapped or foreign."""
    code = code.copy()
    for _ in range(rng.choice((1, 1, 2, 3, 8, 30))):
        if not len(code):
            break
        kind, i = rng.random(), rng.randrange(len(code))
        if kind < 0.35:
            octets = code.view(np.uint8)
            octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
        elif kind < 0.65:
            _wild_field(rng, code, i)
        elif kind < 0.72:
            code = np.delete(code, i)
        elif kind < 0.79:
            code = np.insert(code, i, code[rng.randrange(len(code))])
        elif kind < 0.86:
            j = rng.randrange(len(code))
            code[i], code[j] = code[j].copy(), code[i].copy()
        else:
            first = rng.randrange(len(other))
            piece = other[first : first + rng.randint(1, 12)]
            code[i : i + len(piece)] = piece[: len(code) - i]
    return code


def _wild_field(rng: Random, code: Code, i: int) -> None:
    name = rng.choice(FIELDS)
    if rng.random() < 0.5:
        code[name][i] = code[name][rng.randrange(len(code))]  # what another instruction has there
        return
    kind = code.dtype[name]
    value = hostile(rng, 8 * kind.itemsize)
    code[name][i] = np.array(value, f"u{kind.itemsize}").view(kind)


def noise(rng: Random) -> Code:
    """Records of random bytes."""
    octets = rng.randbytes(INSN.itemsize * rng.choice((0, 1, 2, 5, 40)))
    return np.frombuffer(octets, INSN)
