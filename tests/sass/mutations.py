"""Damaged programs, listings and cubins by the hundred thousand: none may crash the core or hang it.

    python -m tests.sass.mutations --count 1000000 [--seed 1] [--processes 2] [--seconds 900]

What each does is said in `test_mutations` and `test_damage`. With a core that has the sanitizers (SMMUX_SANITIZE)
a report of theirs ends the process, which is told with its seed; so is one that takes more than a minute for a batch.
The programs are built before, by tools into which no sanitizer is preloaded.
"""

from __future__ import annotations

import argparse
import multiprocessing as processes
import os
import random
import sys
import time
from collections import Counter
from functools import lru_cache
from multiprocessing.connection import Connection, wait

from smmux.modules.module import load
from tests.sass.conftest import KERNELS
from tests.sass.test_damage import damaged, read
from tests.sass.test_mutations import campaign, sound

BATCH = 250
PATIENCE = 60.0
CUBINS = (("constants", "sm_75"), ("printing", "sm_90"), ("function_pointers", "sm_90"), ("half_pairs", "sm_80"))


@lru_cache
def cubin(name: str, arch: str) -> bytes:
    return load(KERNELS / f"{name}.cu", arch).cubins[0].data


def batch(seed: int) -> Counter[str]:
    """What became of a batch: of four fifths rows and listings, of one fifth files."""
    found = Counter(campaign(BATCH * 4 // 5, seed))
    chance = random.Random(seed)
    data = cubin(*chance.choice(CUBINS))
    while found.total() < BATCH:
        read(damaged(data, chance))
        found["file read"] += 1
    return found


def work(pipe: Connection, first: int, step: int) -> None:
    """Batch after batch, until there is no one to tell."""
    for seed in range(first, sys.maxsize, step):
        pipe.send((seed, None))
        pipe.send((seed, batch(seed)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600)
    args = parser.parse_args()
    os.environ.pop("LD_PRELOAD", None)  # it would end the vendor's tools
    sound()
    for one in CUBINS:
        cubin(*one)
    found: Counter[str] = Counter()
    begin, broken = time.monotonic(), []
    running = {}
    context = processes.get_context("fork")  # of all that is built
    for number in range(args.processes):
        mine, theirs = context.Pipe()
        worker = context.Process(target=work, args=(theirs, args.seed + number, args.processes), daemon=True)
        worker.start()
        theirs.close()
        running[mine] = [worker, args.seed + number]
    while running and found.total() < args.count and time.monotonic() - begin < args.seconds:
        ready = wait(list(running), PATIENCE)
        if not ready:
            broken += [f"seed {seed} hangs" for _, seed in running.values()]
            break
        for pipe in ready:
            assert isinstance(pipe, Connection)
            try:
                running[pipe][1], counted = pipe.recv()
                found.update(counted or {})
            except EOFError:
                worker, seed = running.pop(pipe)
                worker.join()
                broken.append(f"seed {seed} ends with {worker.exitcode}")
    for worker, _ in running.values():
        worker.terminate()
    took = time.monotonic() - begin
    lines = [f"{found.total()} in {took:.0f} s, {found.total() / took:.0f} a second: {dict(found)}", *broken]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
