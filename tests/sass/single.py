"""Single instructions of compiled code, run in the core on many lanes at once."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import gpus
from smmux.compiler.instruction import Control, Instruction
from smmux.compiler.program import INSN, UNIFORM, Program
from smmux.compiler.sass.listing import parse_instruction
from smmux.compiler.sass.lowering.kernel import _lower
from smmux.compiler.sass.lowering.rows import Layout, Rows
from smmux.language.placement import place
from smmux.results.result import Result
from smmux.running.arguments import Arguments, as_bytes
from smmux.running.compiled import PREDICATES
from smmux.running.launch import run
from smmux.running.prepared import Prepared

Words = NDArray[np.uint32]
THREADS = 256
UNIFORMS = 32
ADDRESSES = 0x210  # of constant bank 0


def instruction(text: str, word: int = 0) -> Instruction:
    """An instruction from its text. word: its encoding, which immediates are taken from."""
    guard, first, modifiers, operands = parse_instruction(text)
    control = Control(1, True, None, None, 0, 0)
    encoding = (word & (1 << 64) - 1, word >> 64)
    return Instruction(0, guard, first, modifiers, operands, control, text, encoding=encoding)


def run_lanes(
    code: Sequence[str | Instruction],
    registers: Mapping[int, Words],
    results: Sequence[int],
    predicates: Mapping[int, NDArray[Any]] | None = None,
    memory: Words | None = None,
    shared: int = 0,
    local: int = 0,
) -> tuple[Words, Words]:
    """What instructions make, each lane of its own values: the result registers (results, lanes), and P0 to P6 after
    them as bits (lanes).

    registers and predicates: values at the start, by number. The lanes are a multiple of 32. memory: an array that they
    access and change, whose address is in R214; R216 is the lane's number, R217 that in its block. shared: bytes of
    shared memory of a block. local: bytes of local memory of a lane.
    """
    flags = {200 + number: np.asarray(bits, np.uint32) for number, bits in (predicates or {}).items()}
    given = {**{k: np.ascontiguousarray(v, np.uint32) for k, v in registers.items()}, **flags}
    lanes = len(next(iter(given.values())))
    outputs = [np.zeros(lanes, np.uint32) for _ in range(len(results) + 1)]
    arrays = [*given.values(), *outputs, *([] if memory is None else [memory])]
    where = {k: f"c[0x0][{ADDRESSES + 8 * i:#x}]" for i, k in enumerate(given)}
    places = [f"c[0x0][{ADDRESSES + 8 * i:#x}]" for i in range(len(given), len(arrays))]
    lines: list[str | Instruction] = ["S2R R210, SR_TID.X", "S2R R211, SR_CTAID.X"]
    lines += ["MOV R217, R210", f"IMAD R210, R211, {THREADS:#x}, R210", "MOV R216, R210"]
    for number, source in where.items():
        lines += [f"IMAD.WIDE R212, R210, 0x4, {source}", f"LDG.E R{number}, [R212.64]"]
    for number in predicates or ():
        lines += [f"ISETP.NE.AND P{number}, PT, R{200 + number}, RZ, PT"]
    if memory is not None:
        lines += [f"IMAD.WIDE R214, RZ, RZ, {places[-1]}"]
    lines += [*code, "MOV R209, RZ"]
    lines += [f"@P{number} IADD3 R209, R209, {1 << number:#x}, RZ" for number in range(7)]
    for number, target in zip([*results, 209], places, strict=memory is None):
        lines += [f"IMAD.WIDE R212, R210, 0x4, {target}", f"STG.E [R212.64], R{number}"]
    rows = Rows(Layout(220, UNIFORMS, {0: 0}))
    for line in [*lines, "EXIT"]:
        _lower(rows, instruction(line) if isinstance(line, str) else line)
    threads = min(THREADS, lanes)
    launch(rows, 220, arrays, Prepared.of(gpus.get("K20c"), -(-lanes // threads), threads, ()), shared, local)
    return np.array(outputs[:-1]).reshape(len(results), lanes), outputs[-1]


def launch(
    rows: Rows,
    registers: int,
    arrays: Sequence[NDArray[Any]],
    prepared: Prepared,
    shared: int = 0,
    local: int = 0,
    **options: Any,
) -> Result:
    """Run a program whose constant bank has the addresses of arrays, from `ADDRESSES` on."""

    def pack(*_: Any) -> Arguments:
        bound = place(arrays)
        const = bytes(ADDRESSES) + b"".join(struct.pack("<Q", start) for start in bound)
        buffers = [
            (as_bytes(a, a.ctypes.data, a.nbytes), s, a.nbytes, True) for a, s in zip(arrays, bound, strict=True)
        ]
        return Arguments((), tuple(arrays), tuple(buffers), tuple(bound), const)

    program = Program(
        name="instructions",
        filename="",
        code=np.array(rows.code, INSN),
        uniforms=np.array(rows.uniforms, UNIFORM),
        nregs=registers,
        uniform_regs=UNIFORMS,
        npreds=PREDICATES,
        shared_bytes=shared,
        local_bytes=local,
        const=bytes(ADDRESSES + 8 * len(arrays)),
        pack=pack,
    )
    return run(program, prepared, options)
