"""Programs of single machine instructions, put into the kernel of `machine.cu`.

The forms stand in `words.json`; an instruction is a word of 128 bits in which registers and control bits are replaced.
Bits: 12-15 guard, 16-23 destination, 24-31, 32-39 and 64-71 sources, 40-63 offset of an address, 105-108 stall count,
109 yield (0: another warp is preferred), 110-112 and 113-115 counters of write and read, 116-121 counters to wait
for, 122-125 reuse. A counter counts one clock after the issue: what waits for it comes two clocks behind at least.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_FORMS = json.loads(Path(__file__).with_name("words.json").read_text())
BASE = {name: int(form["word"], 16) for name, form in _FORMS.items()}
VALUES = 48  # registers of a thread that are loaded and stored: R8 and up
FIRST = 8
RZ = 255
DESCRIPTOR = 6  # the uniform register with the descriptor of global memory in machine.cubin
GLOBAL_LOADS = ("LDG", "LD")
GLOBAL_STORES = ("STG", "ATOMG", "REDG", "LDGSTS", "CCTL.PF2")


def field(word: int, low: int, bits: int, value: int) -> int:
    """The word with bits replaced."""
    mask = (1 << bits) - 1
    return word & ~(mask << low) | (value & mask) << low


@cache
def ins(
    name: str,
    d: int | None = None,
    a: int | None = None,
    b: int | None = None,
    c: int | None = None,
    *,
    stall: int = 1,
    wr: int = 7,
    rd: int = 7,
    wait: int = 0,
    reuse: int = 0,
    keep: bool | None = None,
    guard: int = 7,
    offset: int = 0,
    pd: int | None = None,
    ps: int | None = None,
) -> int:
    """A word: registers, control bits, guard (predicate, + 8 for its negation), predicates written and read.

    keep: the yield bit; without it, what ptxas writes: 1 for stalls below 12.
    """
    word = BASE[name]
    kind = name.split(".")[0]
    for low, value in ((16, d), (24, a), (32, b), (64, c)):
        if value is not None:
            word = field(word, low, 8, value)
    if kind in GLOBAL_LOADS:
        word = field(word, 32, 8, DESCRIPTOR)
    elif kind in GLOBAL_STORES and name != "ATOMG.CAS":
        word = field(word, 64, 6, DESCRIPTOR)
    if kind in (*GLOBAL_LOADS, *GLOBAL_STORES, "LDS", "STS", "ATOMS", "LDSM", "STSM"):
        word = field(word, 40, 24, offset)
    if pd is not None:
        word = field(word, 81, 3, pd)
    if ps is not None:
        word = field(word, 87, 3, ps)
    yields = (stall < 12) if keep is None else keep
    for low, bits, value in (
        (12, 4, guard), (105, 4, stall), (109, 1, int(yields)), (110, 3, wr), (113, 3, rd), (116, 6, wait), (122, 4,
            reuse)
    ):  # fmt: skip
        word = field(word, low, bits, value)
    return word


def immediate(name: str, d: int, value: int, a: int | None = None, **control: int) -> int:
    """`MOV.I` or `VIADD.I` with its constant."""
    return field(ins(name, d=d, a=a, **control), 32, 32, value)


def branch(distance: int, guard: int = 7, **control: int) -> int:
    """A branch over so many bytes from the instruction behind it."""
    word = ins("BRA", guard=guard, stall=5, **control)
    word = field(word, 16, 8, (distance >> 2) & 255)
    return field(word, 34, 48, distance >> 10)


def nops(cycles: int, wait: int = 0) -> list[int]:
    """Nothing, for at least so many clocks."""
    return [ins("NOP", stall=15, wait=wait if i == 0 else 0) for i in range(-(-cycles // 15))]


def clock(d: int, wait: int = 0, stall: int = 1) -> int:
    """Read the low half of the multiprocessor's clock."""
    return ins("CS2R.32", d=d, stall=stall, wait=wait)


def program(
    body: Sequence[int],
    *,
    loads: Sequence[int] = tuple(range(VALUES)),
    stores: Sequence[int] = tuple(range(VALUES)),
    repeats: int = 3,
    barrier: bool = True,
    switch: bool = False,
) -> list[int]:
    """A whole program: load, wait for all warps, run the body, all that `repeats` times; store.

    switch: warps whose value 47 is 0 leave the body out.
    """
    head = [ins("LDG.W", d=FIRST + i, a=2, offset=128 * i, wr=0, stall=2) for i in loads]
    if switch:
        head += [ins("LDG.W", d=5, a=2, offset=128 * 47, wr=0, stall=2)]
    head += nops(60, wait=63)
    if switch:
        head += [field(ins("ISETP", a=5, b=RZ, pd=1, stall=15), 76, 3, 2)]  # P1 = R5 == 0
    if barrier:
        head += [ins("BAR.SYNC", stall=15), *nops(60)]
    if switch:
        head += [branch(16 * len(body), guard=1)]
    tail = nops(60, wait=63)
    if repeats > 1:
        tail += [immediate("VIADD.I", 4, 0xFFFFFFFF, a=4, stall=15)]
        tail += [field(ins("ISETP", a=4, b=RZ, pd=0, stall=15), 76, 3, 5)]  # P0 = R4 != 0
        length = len(head) + len(body) + len(tail) + 1
        tail += [branch(-16 * length, guard=0)]
    end = [ins("STG", a=2, b=FIRST + i, offset=128 * i, rd=0, stall=4) for i in stores]
    return [
        *nops(15),
        *nops(15, wait=63),
        immediate("MOV.I", 4, repeats, stall=15),
        *head,
        *body,
        *tail,
        *end,
        *nops(15, wait=63),
    ]


class Machine:
    """machine.cubin, into whose body programs are put."""

    def __init__(self, cubin: bytes) -> None:
        self.cubin = cubin
        self.start, size = _section(cubin, ".text.machine")
        words = [int.from_bytes(cubin[self.start + 16 * i :][:16], "little") for i in range(size // 16)]
        self.first = next(i for i, word in enumerate(words) if word & 0xFFF == 0x981) + 1  # behind the first LDG
        self.last = next(i for i, word in enumerate(words) if word & 0xFFF == 0x986)  # the first STG
        for i, operation in ((self.first - 1, "LDG.W"), (self.last, "STG")):
            if words[i] >> 24 & 255 != 2:
                raise ValueError(f"{operation} of machine.cubin does not use R2")
        self.kept = field(ins("ISETP", a=RZ, b=RZ, pd=0, stall=15), 76, 3, 5)  # P0 = false: the branch is not taken
        self.store = field(field(words[self.last], 32, 8, FIRST), 116, 6, 63)

    @property
    def room(self) -> int:
        """How many instructions a program may have."""
        return self.last - self.first - 1

    def cubin_of(self, words: Sequence[int]) -> bytes:
        """A cubin with that program; what is left of the body is jumped over."""
        if len(words) + 1 > self.room:
            raise ValueError(f"{len(words)} instructions, where {self.room} fit")
        left = self.room - len(words) - 1
        body = [*words, branch(16 * left)]
        data = b"".join(word.to_bytes(16, "little") for word in body) + ins("NOP").to_bytes(16, "little") * left
        data += self.kept.to_bytes(16, "little") + self.store.to_bytes(16, "little")
        at = self.start + 16 * self.first
        return self.cubin[:at] + data + self.cubin[at + len(data) :]


def _section(elf: bytes, wanted: str) -> tuple[int, int]:
    """Where a section of an ELF file begins, and its size."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + size * i) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        if elf[at : elf.index(b"\0", at)].decode() == wanted:
            return offset, length
    raise ValueError(f"no section {wanted}")
