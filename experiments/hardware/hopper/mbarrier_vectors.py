"""What asynchronous barriers in shared memory hold after each step of programs, and what lanes are told, on a card:

    python -m experiments.hardware.hopper.mbarrier_vectors --cubin mbarrier.cubin --out vectors_mbarrier.npz

`steps` are (operation of mbarrier.cu, its count, lanes, which barrier a lane takes), `words` the four barriers after
each of them, as ordinary loads see them, and `told` what each lane got; `starts` is where each program begins, and
`refused` says which of them the card stops. Loads see a barrier only when it has been invalidated: until then the
hardware keeps it elsewhere. `times` are clocks of the kernel of that name.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL = 0xFFFFFFFF
WORDS = 4
(INIT, ARRIVE, ARRIVE_MANY, ARRIVE_PART, DROP, DROP_MANY, DROP_PART, EXPECT, COMPLETE, ARRIVE_EXPECT, DROP_EXPECT,
 TEST, TRY, COPY, COPY_ALONE, INVALIDATE) = range(16)  # fmt: skip
Step = tuple[int, int, int, int]


def lanes(count: int, rng: random.Random) -> int:
    """A mask of so many lanes."""
    return sum(1 << lane for lane in rng.sample(range(32), count))


def planned() -> list[list[Step]]:
    """Programs whose steps are chosen."""
    found = []
    for count in (1, 2, 5, 31, 32, 33, 1000, 0x80000, 0xFFFFF):
        left, program = count, [(INIT, count, 1, 0)]
        for mask in (1, 2, 0x8000, 6, ALL, ALL, 0xFFFF, ALL, 3, ALL):
            while mask.bit_count() > left:  # more at once than are awaited are a fault
                mask &= mask - 1
            left = left - mask.bit_count() or count
            program.append((ARRIVE, 1, mask, 0))
        found.append([*program, (TEST, 2, ALL, 0), (TEST, 1, ALL, 0)])
    for count in (64, 65, 200):
        found.append([(INIT, count, 1, 0), (DROP, 1, 1, 0), (DROP, 1, 0xFF, 0), (ARRIVE, 1, 0x3FFFFFFF, 0),
                      (ARRIVE, 1, 0x1FFFFFF, 0), (ARRIVE, 1, 0x3FFFFFFF, 0), (DROP_PART, 2, 0xF, 0),
                      (ARRIVE_PART, 2, 0x10, 0), (ARRIVE_PART, 1, 0xFF, 0), (INVALIDATE, 0, 1, 0)])  # fmt: skip
    found.append([(INIT, 40, 0xF, 3), (ARRIVE, 1, ALL, 3), (ARRIVE_PART, 1, ALL, 3), (ARRIVE_MANY, 2, 0xFFF0, 3),
                  (ARRIVE_PART, -1, 0x333, 3), (ARRIVE_MANY, -1, 0x77, 1), (DROP_MANY, 2, 0xF, 3), (TEST, 2, ALL, 3),
                  (ARRIVE, 1, ALL, 1), (DROP, 1, 0xFF, 3), (TEST, 1, ALL, 3)])  # fmt: skip
    for tx in (1, 16, 0x7FFFF, 0x80000, 0xFFFFF):
        found.append([(INIT, 3, 1, 0), (EXPECT, tx, 1, 0), (ARRIVE, 1, 3, 0), (ARRIVE, 1, 1, 0), (TEST, 2, 1, 0),
                      (COMPLETE, tx, 1, 0), (TEST, 2, 1, 0), (COMPLETE, tx, 1, 0), (EXPECT, tx, 1, 0),
                      (ARRIVE_EXPECT, tx, 1, 0), (COMPLETE, tx, 1, 0), (DROP_EXPECT, tx, 1, 0), (ARRIVE, 1, 1, 0),
                      (COMPLETE, tx, 1, 0), (TEST, 1, 1, 0), (ARRIVE, 1, 1, 0), (ARRIVE, 1, 1, 0)])  # fmt: skip
    found.append([(INIT, 10, 1, 0), (EXPECT, 4, 0xFF, 0), (EXPECT, -3, 0xF, 0), (COMPLETE, 32, 1, 0),
                  (COMPLETE, 18, 1, 0), (ARRIVE_EXPECT, 5, 0xFF, 0), (COMPLETE, 5, 0x7F, 0), (ARRIVE, 1, 3, 0),
                  (COMPLETE, 5, 1, 0), (ARRIVE, 1, 1, 0)])  # fmt: skip
    for op in (COPY, COPY_ALONE):
        found.append([(INIT, 40, 1, 0), (op, 1, 1, 0), (op, 1, 0xFF, 0), (ARRIVE, 1, 0xFF, 0), (op, 1, ALL, 0),
                      (ARRIVE, 1, ALL, 0), (op, 1, 0xF0F0, 0), (TEST, 2, 1, 0)])  # fmt: skip
        found.append([(INIT, 8, 0xF, 3), (op, 1, 0xF, 3), (op, 1, ALL, 3), (ARRIVE, 1, 0xF, 3), (TRY, 1, 1, 0)])
    return found


def drawn(seed: int) -> list[Step]:
    """A program of chosen operations at random, of which each is one that the documentation allows."""
    rng = random.Random(seed)
    expected = rng.choice((1, 2, 3, 17, 32, 50, 100))
    left, tx = expected, 0
    steps = [(INIT, expected, 1, 0)]

    def arrive(many: int, dropped: bool) -> None:
        nonlocal left, expected
        left -= many
        expected -= many * dropped
        if not left and not tx:
            left = expected

    for _ in range(40):
        op = rng.choice(
            (ARRIVE, ARRIVE, ARRIVE_MANY, ARRIVE_PART, DROP, DROP_PART, EXPECT, COMPLETE, ARRIVE_EXPECT, TEST, TRY)
        )
        take, many = rng.randint(1, 32), 1
        if op in (TEST, TRY):
            steps.append((op, rng.randint(1, 2), ALL, 0))
            continue
        if op in (EXPECT, COMPLETE):
            many = rng.randint(1, 50) if op == EXPECT else min(tx, rng.randint(1, 60))
            if not many or (op == EXPECT and not left):
                continue
            tx += many if op == EXPECT else -many
            arrive(0, False)
            steps.append((op, many, 1 << rng.randint(0, 31), 0))
            continue
        if op in (ARRIVE_MANY, ARRIVE_PART, DROP_PART):
            many = rng.randint(1, 4)
        if op == ARRIVE_EXPECT:
            take, many = 1, rng.randint(1, 30)
        used = take if op == ARRIVE_EXPECT else take * many
        if used > left - (op in (ARRIVE_PART, DROP_PART)) or (op in (DROP, DROP_PART) and used >= expected):
            continue
        tx += many if op == ARRIVE_EXPECT else 0
        arrive(used, op in (DROP, DROP_PART))
        steps.append((op, many, lanes(take, rng), 0))
    return steps


WRONG: list[list[Step]] = [
    [(ARRIVE, 1, 1, 0), (ARRIVE, 1, ALL, 0)],
    [(INIT, 3, 1, 0), (ARRIVE_MANY, 5, 1, 0), (ARRIVE, 1, 1, 0), (ARRIVE, 1, 1, 0)],
    [(INIT, 2, 1, 0), (ARRIVE_PART, 2, 1, 0), (ARRIVE, 1, 1, 0), (ARRIVE, 1, 1, 0)],
    [(INIT, 2, 1, 0), (EXPECT, 8, 1, 0), (ARRIVE, 1, 3, 0), (ARRIVE, 1, 1, 0), (ARRIVE, 1, 1, 0), (COMPLETE, 8, 1, 0)],
    [(INIT, 2, 1, 0), (COMPLETE, 8, 1, 0), (ARRIVE, 1, 3, 0), (EXPECT, 8, 1, 0), (ARRIVE, 1, 1, 0)],
    [(INIT, 2, 1, 0), (DROP, 1, 3, 0), (ARRIVE, 1, 1, 0), (TEST, 2, 1, 0)],
    [(INIT, 2, 1, 0), (EXPECT, 0xFFFFF, 1, 0), (EXPECT, 0xFFFFF, 1, 0), (EXPECT, 0xFFFFF, 1, 0)],
    [(INIT, 0, 1, 0), (ARRIVE, 1, 1, 0)],
]
"""Uses that the documentation leaves undefined."""


def run_program(module: Any, card: Any, program: list[Step]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The words after each step, and what lanes are told."""
    todo, count = card.alloc(16 * len(program)), len(program)
    source, words, told = card.alloc(128), card.alloc(8 * WORDS * count), card.alloc(8 * 32 * count)
    card.put(todo, np.array(program, np.int64).astype(np.uint32))
    card.put(source, np.arange(100, 132, dtype=np.int32))
    module["steps"](1, 32, todo, np.int32(count), source, words, told)
    card.sync()
    return card.get(words, WORDS * count, np.uint64), card.get(told, 32 * count, np.uint64)


def all_programs() -> list[list[Step]]:
    """All of them, in the order of the file."""
    return [*planned(), *(drawn(seed) for seed in range(40)), *WRONG]


def measure(cubin: Path, out: Path, first: int) -> int:
    """Run programs from one on, up to one that the card refuses; returns which comes next."""
    from .cuda_driver import Card

    card = Card()
    module = card.load(cubin.read_bytes())
    programs = all_programs()
    clocks = card.alloc(256)
    for _ in range(2):
        module["times"](1, 32, clocks)
    times = card.get(clocks, 32, np.int64)
    for number in range(first, len(programs)):
        program = programs[number]
        words, told = np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        try:
            words, told = run_program(module, card, program)
        except RuntimeError as error:
            print(number, program, error, flush=True)
        np.savez(out / f"{number}.npz", words=words, told=told, times=times)
        if not len(words):
            return number + 1
    return len(programs)


def main() -> None:
    """Measure part by part, since a kernel that the card stops leaves its process without a card."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cubin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, help="one part of the measurement")
    options = parser.parse_args()
    if options.first is not None:
        measure(options.cubin, options.out, options.first)
        return
    programs, at = all_programs(), 0
    parts: dict[int, dict[str, NDArray[Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        while at < len(programs):
            command = [sys.executable, "-m", "experiments.hardware.hopper.mbarrier_vectors", "--first", str(at)]
            subprocess.run([*command, "--cubin", str(options.cubin), "--out", folder], check=False)  # a fault ends it
            for number in range(at, len(programs)):
                if (path := Path(folder) / f"{number}.npz").exists():
                    parts[number] = dict(np.load(path))
            at = max([at, *parts]) + 1
    steps = [np.array(program, np.int64).astype(np.uint32) for program in programs]
    arrays: dict[str, Any] = {
        "steps": np.concatenate(steps),
        "starts": np.cumsum([0] + [len(program) for program in programs], dtype=np.int32),
        "refused": np.array([not len(parts.get(number, {}).get("words", ())) for number in range(len(programs))]),
        "words": np.zeros((sum(map(len, programs)), WORDS), np.uint64),
        "told": np.zeros((sum(map(len, programs)), 32), np.uint64),
        "times": parts[0]["times"],
    }
    for number, part in parts.items():
        if len(part["words"]):
            rows = slice(arrays["starts"][number], arrays["starts"][number + 1])
            arrays["words"][rows] = part["words"].reshape(-1, WORDS)
            arrays["told"][rows] = part["told"].reshape(-1, 32)
    np.savez_compressed(options.out, **arrays)


if __name__ == "__main__":
    main()
