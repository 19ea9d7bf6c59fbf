"""Definition of what a function in IR does, for threads that do not share data: barriers are nothing here.

All threads run together; of those that are not done, the ones in the block that comes first in the function go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux.compiler.index import Index
from smmux.compiler.ir import Block, ConstWord, Function, Imm, Instr, Operand, Param, Reg, Space, Special
from tests.reference.alu import ALU, SETP, Words
from tests.reference.wide import SETP_WIDE, WIDE


class Interpreter:
    """One block of `threads` threads along x. arrays: by parameter word for global ones."""

    def __init__(self, function: Function, threads: int, args: Sequence[Any]) -> None:
        self.function, self.threads, self.args = function, threads, args
        self.values: dict[Reg, NDArray[Any]] = {}
        self.shared = np.zeros(function.shared_bytes, np.uint8)
        self.local = np.zeros((threads, max(function.local_bytes, 4)), np.uint8)

    def run(self) -> None:
        place = {block: i for i, block in enumerate(self.function.blocks)}
        at = np.zeros(self.threads, np.int64)
        done = len(place)
        while (at < done).any():
            here = int(at.min())
            lanes = at == here
            block = self.function.blocks[here]
            for instr in block.instrs[:-1]:
                self.execute(instr, self.guarded(instr, lanes))
            at[lanes] = self.leave(block, lanes, place, done)[lanes]

    def leave(self, block: Block, lanes: NDArray[Any], place: dict[Block, int], done: int) -> NDArray[Any]:
        last = block.instrs[-1]
        if last.op == "exit":
            return np.full(self.threads, done)
        assert last.target is not None
        if last.op == "bra":
            return np.full(self.threads, place[last.target])
        assert last.other is not None
        return np.where(self.value(last.srcs[0]).astype(bool), place[last.target], place[last.other])

    def guarded(self, instr: Instr, lanes: NDArray[Any]) -> NDArray[Any]:
        if instr.guard is None:
            return lanes
        guard = self.value(instr.guard).astype(bool)
        return lanes & (~guard if instr.guard_not else guard)

    def value(self, operand: Operand) -> NDArray[Any]:
        if isinstance(operand, Reg):
            return self.values.setdefault(operand, np.zeros(self.threads, np.uint32))
        if isinstance(operand, Imm):
            return np.full(self.threads, operand.bits, np.uint32)
        if isinstance(operand, Param):
            return np.full(self.threads, int(self.args[operand.word]) & 0xFFFFFFFF, np.uint32)
        if isinstance(operand, Special):
            special = {
                "tid.x": np.arange(self.threads),
                "ntid.x": np.full(self.threads, self.threads),
                "laneid": np.arange(self.threads) % 32,
            }
            return special.get(operand.name.value, np.zeros(self.threads, np.int64)).astype(np.uint32)
        assert isinstance(operand, ConstWord)
        word = int.from_bytes(self.function.const[operand.offset : operand.offset + 4], "little")
        return np.full(self.threads, word, np.uint32)

    def execute(self, instr: Instr, lanes: NDArray[Any]) -> None:
        if instr.op in ("bar.sync", "membar", "nop", "print", "assume"):
            return
        if instr.mem is not None:
            self.memory(instr, lanes)
            return
        if isinstance(instr, Index):
            self.indices(instr, lanes)
            return
        srcs: list[Words] = [self.value(src) for src in instr.srcs]
        if instr.op in WIDE:
            for dst, word in zip(instr.dsts, WIDE[instr.op](*srcs), strict=True):
                self.write(dst, word, lanes)
            return
        if instr.op in SETP_WIDE:
            self.write(instr.dsts[0], SETP_WIDE[instr.op](*srcs).astype(np.uint32), lanes)
            return
        a, b, c = (*srcs, *([np.zeros(self.threads, np.uint32)] * 3))[:3]
        with np.errstate(all="ignore"):
            result = self.result(instr.op, a, b, c)
        self.write(instr.dsts[0], result, lanes)

    @staticmethod
    def result(op: str, a: Words, b: Words, c: Words) -> NDArray[Any]:
        if op in ALU:
            return ALU[op](a, b, c)
        if op in SETP:
            return SETP[op](a, b).astype(np.uint32)
        one = np.uint32(1)
        return {
            "selp.b32": lambda: np.where(c != 0, a, b),
            "and.pred": lambda: a & b,
            "or.pred": lambda: a | b,
            "xor.pred": lambda: a ^ b,
            "not.pred": lambda: a ^ one,
            "mov.pred": lambda: a,
        }[op]()

    def write(self, dst: Reg, value: NDArray[Any], lanes: NDArray[Any]) -> None:
        self.values[dst] = np.where(lanes, value, self.value(dst))

    def indices(self, instr: Index, lanes: NDArray[Any]) -> None:
        """Signed indices count from the end where they are negative; none here is far outside."""
        for k, axis in enumerate(instr.axes):
            index, extent = self.value(instr.srcs[k]), self.value(instr.extent(k))
            self.write(instr.dsts[k], np.where((index.view(np.int32) < 0) & axis.signed, index + extent, index), lanes)
        for dst, base in zip(instr.dsts[len(instr.axes) :], instr.bases, strict=True):
            self.write(dst, self.value(base), lanes)

    def memory(self, instr: Instr, lanes: NDArray[Any]) -> None:
        mem = instr.mem
        assert mem is not None
        assert not mem.lowered
        index = self.value(instr.srcs[0]).view(np.int32).astype(np.int64) + mem.offset
        array = mem.array
        words, size = max(1, mem.width // 4), min(mem.width, 4)
        loaded = [np.zeros(self.threads, np.uint32) for _ in range(words)]
        for t in np.flatnonzero(lanes):
            if array.space is Space.GLOBAL:
                data, start = self.args[array.param].reshape(-1).view(np.uint8), 0
            else:
                data, start = {Space.SHARED: self.shared, Space.LOCAL: self.local[t]}[array.space], array.offset
            first = start + int(index[t]) * array.element
            assert 0 <= first <= len(data) - mem.width
            for i in range(words):
                piece = data[first + 4 * i : first + 4 * i + size]
                if instr.op.startswith("ld"):
                    loaded[i][t] = int.from_bytes(piece.tobytes(), "little", signed=mem.signed) & 0xFFFFFFFF
                else:
                    value = int(self.value(instr.srcs[1 + i])[t])
                    piece[:] = np.frombuffer(value.to_bytes(4, "little")[:size], np.uint8)
        for dst, word in zip(instr.dsts, loaded, strict=bool(instr.dsts)):
            self.write(dst, word, lanes)


def run(function: Function, threads: int, args: Sequence[Any]) -> None:
    """Execute a function before any pass has run; arrays among `args` are written in place."""
    Interpreter(function, threads, args).run()
