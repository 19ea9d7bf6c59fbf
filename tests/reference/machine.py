"""Definition of what a Program does: a slow, obvious interpreter.

Blocks run one after another; the warps of a block take turns, each running until it meets a barrier or ends. A warp is
32 lanes that walk through the code under a stack of (pc, lanes, pc at which they meet). Time does not exist here:
allocations and releases of shared memory are plain barriers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.compiler.program import (
    DATA_FIELDS,
    DYNAMIC,
    GUARD_NOT,
    NEGATE_Q,
    NEGATE_QB,
    OPERAND_NONE,
    OPERAND_SPECIAL,
    OPERAND_UNIFORM,
    SHFL_MODES,
    SIGNED,
    VOTE_MODES,
    Program,
)
from tests.reference.alu import ALU, SETP, Words, atomic, wide_atomic
from tests.reference.wide import SETP_WIDE, WIDE

LANES = 32
BASE = 0x1000  # device address of the first buffer
FULL = np.ones(LANES, np.bool_)

PREDICATE_OPS = ("and.pred", "or.pred", "xor.pred", "not.pred", "mov.pred", "vote.pred")
MEMORY_OPS = tuple(f"{kind}.{space}" for space in ("global", "shared") for kind in ("ld", "st", "atom"))
OTHER_OPS = (
    "ld.local",
    "st.local",
    "ld.const",
    "tex.1d",
    "selp.b32",
    "shfl",
    "vote.ballot.b32",
    "bra",
    "exit",
    "trap",
    "bar.sync",
    "membar",
    "nop",
    "print",
)
OPS = frozenset((*ALU, *SETP, *WIDE, *SETP_WIDE, *PREDICATE_OPS, *MEMORY_OPS, *OTHER_OPS))
"""Every operation defined here."""


class Fault(Exception):
    """An access outside its storage or misaligned, a division by zero, a trap, a barrier that not all lanes reach."""


@dataclass
class Frame:
    """An entry of the reconvergence stack."""

    pc: int
    lanes: NDArray[np.bool_]
    meet: int = -1


@dataclass
class Warp:
    """32 threads of a block."""

    tid: dict[str, Words]
    regs: Words
    preds: NDArray[np.bool_]
    local: NDArray[np.uint8]
    live: NDArray[np.bool_]
    stack: list[Frame] = field(default_factory=list)
    waiting: bool = False

    @property
    def done(self) -> bool:
        return not self.live.any()


class Machine:
    """One launch. `executed` counts warp instructions by pc."""

    def __init__(self, program: Program, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        self.program = program
        self.grid, self.block = (tuple([*v, 1, 1][:3]) for v in (grid, block))
        self.buffers: list[tuple[int, NDArray[np.uint8]]] = []
        self.params: list[int] = []
        self.executed: Counter[int] = Counter()
        address = BASE
        for word, value in zip(program.params, args, strict=True):
            if word.type == "ptr":
                data = value.reshape(-1).view(np.uint8)
                assert np.shares_memory(data, value)
                self.buffers.append((address, data))
                self.params.append(address)
                address += -(-max(data.nbytes, 1) // 256) * 256
            else:
                kind = {"s32": np.int32, "u32": np.uint32, "f32": np.float32}[word.type]
                self.params.append(int(np.array([value], kind).view(np.uint32)[0]))
        self.uniforms = [self._uniform(int(row["kind"]), int(row["value"])) for row in program.uniforms]

    def _uniform(self, kind: int, value: int) -> int:
        name = {code: name for name, code in _core.UNIFORMS.items()}[kind]
        if name == "const":
            return int.from_bytes(self.program.const[value : value + 4], "little")
        return {
            "imm": lambda: value,
            "param": lambda: self.params[value],
            "ntid": lambda: self.block[value],
            "nctaid": lambda: self.grid[value],
        }[name]()

    def run(self) -> Machine:
        """All blocks, x fastest."""
        x, y, z = self.grid
        for cz, cy, cx in itertools.product(range(z), range(y), range(x)):
            Block(self, (cx, cy, cz)).run()
        return self


class Block:
    """One thread block and its shared memory."""

    def __init__(self, machine: Machine, ctaid: tuple[int, int, int]) -> None:
        self.machine, self.program, self.ctaid = machine, machine.program, ctaid
        self.static = np.zeros(self.program.shared_bytes, np.uint8)
        self.dynamic = np.zeros(self.program.dynamic_bytes, np.uint8)
        self.warps = list(self._warps())

    def _warps(self) -> Iterator[Warp]:
        x, y, z = self.machine.block
        threads = x * y * z
        for first in range(0, threads, LANES):
            t = np.arange(first, first + LANES)
            tid = {"tid.x": t % x, "tid.y": t // x % y, "tid.z": t // (x * y), "laneid": t - first}
            tid |= {f"ctaid.{axis}": np.full(LANES, c) for axis, c in zip("xyz", self.ctaid, strict=True)}
            live = t < threads
            yield Warp(
                {name: value.astype(np.uint32) for name, value in tid.items()},
                np.zeros((self.program.nregs, LANES), np.uint32),
                np.zeros((self.program.npreds, LANES), np.bool_),
                np.zeros((LANES, self.program.local_bytes), np.uint8),
                live.copy(),
                [Frame(0, live.copy())],
            )

    def run(self) -> None:
        """Every warp up to the next barrier, again and again."""
        while any(not warp.done for warp in self.warps):
            for warp in self.warps:
                warp.waiting = False
                while not (warp.done or warp.waiting):
                    self.step(warp)

    # -- control

    def step(self, warp: Warp) -> None:
        """One instruction of one warp."""
        frame = warp.stack[-1]
        frame.lanes &= warp.live
        if not frame.lanes.any() or (frame.pc == frame.meet and len(warp.stack) > 1):
            warp.stack.pop()
            return
        pc = frame.pc
        insn, op = self.program.code[pc], self.program.ops[pc]
        self.machine.executed[pc] += 1
        guard = int(insn["guard"])
        active = frame.lanes.copy()
        if guard:
            value = warp.preds[(guard & ~GUARD_NOT) - 1]
            active &= ~value if guard & GUARD_NOT else value
        frame.pc += 1
        if op == "bra":
            self.branch(warp, frame, active, int(insn["imm"]), int(insn["aux"]))
        elif op == "exit":
            warp.live &= ~active
        elif op == "trap":
            if (active & (warp.preds[int(insn["a"])] ^ bool(int(insn["flags"]) & NEGATE_Q))).any():
                raise Fault("a trap")
        elif op == "bar.sync":
            if (frame.lanes != warp.live).any():
                raise Fault(f"barrier at {pc} under a divergent mask")
            warp.waiting = True
        elif op not in ("membar", "nop", "print"):
            with np.errstate(all="ignore"):
                self.execute(warp, insn, op, active)

    def branch(self, warp: Warp, frame: Frame, taken: NDArray[np.bool_], target: int, meet: int) -> None:
        rest = frame.lanes & ~taken
        if not taken.any():
            return
        if not rest.any():
            frame.pc = target
            return
        following = frame.pc
        if meet >= 0:
            frame.pc = meet
        else:
            frame.lanes = np.zeros(LANES, np.bool_)
        warp.stack.append(Frame(following, rest, meet))
        warp.stack.append(Frame(target, taken, meet))

    # -- values

    def value(self, warp: Warp, operand: int) -> Words:
        """The 32 words of an operand field."""
        operand = int(operand)
        if operand == OPERAND_NONE:
            return np.zeros(LANES, np.uint32)
        if operand & OPERAND_UNIFORM:
            return np.full(LANES, self.machine.uniforms[operand & ~OPERAND_UNIFORM], np.uint32)
        if operand & OPERAND_SPECIAL:
            name = {code: name for name, code in _core.SPECIALS.items()}[operand & ~OPERAND_SPECIAL]
            return warp.tid[name]
        return warp.regs[operand].copy()

    def execute(self, warp: Warp, insn: Any, op: str, active: NDArray[np.bool_]) -> None:
        if op in PREDICATE_OPS or op == "vote.ballot.b32":
            self.predicates(warp, insn, op, active)
            return
        a, b, c = (self.value(warp, insn[f]) for f in "abc")
        flags, sub, d = int(insn["flags"]), int(insn["sub"]), int(insn["d"])
        if op in ALU:
            if op.startswith(("div.s", "div.u", "rem")) and (b[active] == 0).any():
                raise Fault("division by zero")
            warp.regs[d][active] = ALU[op](a, b, c)[active]
        elif op in SETP:
            warp.preds[d][active] = SETP[op](a, b)[active]
        elif op in WIDE or op in SETP_WIDE:
            self.wide(warp, insn, op, active)
        elif op == "selp.b32":
            choose = warp.preds[int(insn["q"])] ^ bool(flags & NEGATE_Q)
            warp.regs[d][active] = np.where(choose, a, b)[active]
        elif op == "shfl":
            warp.regs[d][active] = shuffle(SHFL_MODES[sub], a, b, c)[active]
        else:
            self.memory(warp, insn, op, active)

    def wide(self, warp: Warp, insn: Any, op: str, active: NDArray[np.bool_]) -> None:
        fields = _core.OPS[op][3].split(",")
        sources = [self.value(warp, insn[f]) for f in fields if f[0] in "abc"]
        if op in SETP_WIDE:
            warp.preds[int(insn["d"])][active] = SETP_WIDE[op](*sources)[active]
            return
        if op.startswith(("div.s", "div.u", "rem")) and ((sources[2] | sources[3])[active] == 0).any():
            raise Fault("division by zero")
        for name, word in zip([f for f in fields if f[0] == "d"], WIDE[op](*sources), strict=True):
            warp.regs[int(insn[name])][active] = word[active]

    def predicates(self, warp: Warp, insn: Any, op: str, active: NDArray[np.bool_]) -> None:
        flags, d = int(insn["flags"]), int(insn["d"])
        a = warp.preds[int(insn["a"])] ^ bool(flags & NEGATE_Q)
        b = a if insn["b"] == OPERAND_NONE else warp.preds[int(insn["b"])] ^ bool(flags & NEGATE_QB)
        if op == "vote.ballot.b32":
            warp.regs[d][active] = sum(1 << int(lane) for lane in np.flatnonzero(a & active))
            return
        vote = {"all": (a | ~active).all(), "any": (a & active).any()}[VOTE_MODES[int(insn["sub"])]] & FULL
        results = {
            "and.pred": a & b,
            "or.pred": a | b,
            "xor.pred": a ^ b,
            "not.pred": ~a,
            "mov.pred": a,
            "vote.pred": vote,
        }
        warp.preds[d][active] = results[op][active]

    # -- memory

    def memory(self, warp: Warp, insn: Any, op: str, active: NDArray[np.bool_]) -> None:
        width, words = int(insn["width"]), max(1, int(insn["width"]) // 4)
        addresses = self.value(warp, insn["a"]) + np.uint32(int(insn["imm"]) & 0xFFFFFFFF)
        sources = [self.value(warp, insn[f]) for f in DATA_FIELDS[:words]]
        kind, space = op.split(".")[:2]
        for lane in np.flatnonzero(active):
            memory, at = self.place(warp, insn, space, int(lane), int(addresses[lane]))
            if not 0 <= at <= len(memory) - width or int(addresses[lane]) % width:
                raise Fault(f"{op} at byte {at} of {len(memory)}, line {insn['line']}")
            if kind == "atom":
                self.atomic(warp, insn, int(lane), memory[at : at + width])
                continue
            size = min(width, 4)
            for i in range(words):
                piece = memory[at + 4 * i : at + 4 * i + size]
                if kind == "st":
                    piece[:] = np.frombuffer(int(sources[i][lane]).to_bytes(4, "little")[:size], np.uint8)
                else:
                    value = int.from_bytes(piece.tobytes(), "little", signed=bool(insn["flags"] & SIGNED))
                    warp.regs[int(insn[DATA_FIELDS[i]])][lane] = value & 0xFFFFFFFF

    def atomic(self, warp: Warp, insn: Any, lane: int, there: NDArray[np.uint8]) -> None:
        """One lane's atomic on the bytes at its address."""
        name = {code: name for name, code in _core.ATOMS.items()}[int(insn["sub"])]
        wide = len(there) == 8
        old = int.from_bytes(there.tobytes(), "little")
        b, c = (
            int(self.value(warp, insn[f])[lane]) | (int(self.value(warp, insn[f + "h"])[lane]) << 32 if wide else 0)
            for f in "bc"
        )
        new = (wide_atomic if wide else atomic)(name, old, b, c)
        there[:] = np.frombuffer(new.to_bytes(len(there), "little"), np.uint8)
        if insn["d"] != OPERAND_NONE:
            warp.regs[int(insn["d"])][lane] = old & 0xFFFFFFFF
            if wide:
                warp.regs[int(insn["dh"])][lane] = old >> 32

    def place(self, warp: Warp, insn: Any, space: str, lane: int, address: int) -> tuple[NDArray[np.uint8], int]:
        """The storage of an access, and the byte within it."""
        if space in ("global", "1d"):
            base, data = self.machine.buffers[int(insn["aux"])]
            return data, address - base
        if space == "local":
            return warp.local[lane], address
        if space == "const":
            return np.frombuffer(self.program.const, np.uint8), address
        return (self.dynamic if insn["flags"] & DYNAMIC else self.static), address


def shuffle(mode: str, a: Words, b: Words, c: Words) -> Words:
    """PTX shfl within segments of c lanes: a lane whose source lies outside its segment keeps its own value.

    The butterfly alone may reach into an earlier segment.
    """
    result = a.copy()
    for lane in range(LANES):
        width = int(c[lane]) if 1 <= c[lane] <= LANES else LANES
        first, by = lane & ~(width - 1), int(b[lane])
        source = {"idx": first | (by & (width - 1)), "up": lane - by, "down": lane + by, "bfly": lane ^ by}[mode]
        lowest = 0 if mode == "bfly" else first
        if lowest <= source < first + width:
            result[lane] = a[source]
    return result


def run(program: Program, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> Machine:
    """Run a program on flattened arguments; arrays are written in place."""
    return Machine(program, grid, block, args).run()
