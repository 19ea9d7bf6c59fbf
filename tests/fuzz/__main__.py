"""Random programs, machines and launches: each is rejected or runs safely.

    python -m tests.fuzz --count 1000000 --jobs 16      so many cases, numbered from --first
    python -m tests.fuzz --seconds 60 --least 200       as many as fit into so much time, but so many however long
    python -m tests.fuzz --seed 7 --case 1234           one case, in this process, in words

A case follows from --seed and its number. A case that kills the process, hangs or breaks a rule is printed with its
number; the exit status is then 1. Meant for a core built with SMMUX_SANITIZE=1; .ci/run shows how to load it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from smmux import _core

from .cases import as_text, run_case
from .corpus import record

HANG = 60.0  # seconds that no case may take, under sanitizers on a busy machine
MOST_TROUBLES = 20


def main() -> int:
    """Divide the cases among processes and watch them."""
    options = _parser().parse_args()
    if options.child:
        return _child(options)
    if options.case is not None:
        corpus = record()
        print(as_text(options.seed, options.case, corpus), flush=True)
        print(run_case(options.seed, options.case, corpus))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _Hunt(options, Path(folder)).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="cases (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument(
        "--seconds", type=float, default=0, help="stop after so long, preparations included; overrides --count"
    )
    parser.add_argument("--least", type=int, default=0, help="cases that run even if --seconds are over")
    parser.add_argument("--case", type=int, help="run one case and say what it is")
    parser.add_argument("--plant", type=int, help="this case kills its process: a test of the hunt itself")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    return parser


class _Worker:
    """A process that runs every jobs-th case, and says in a file at which it is."""

    def __init__(self, options: argparse.Namespace, folder: Path, index: int) -> None:
        self.options, self.folder, self.index = options, folder, index
        self.status, self.log = folder / f"status{index}", folder / f"log{index}"
        self.tally: Counter[str] = Counter()
        self.cases = 0
        self.start(options.first + index)

    def start(self, first: int) -> None:
        """Run from that case on."""
        options = self.options
        left = max(options.begin + options.seconds - time.monotonic(), 1e-3)
        self.first = first
        self.status.write_bytes(struct.pack("<q", first))
        self.seen, self.since = first, time.monotonic()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.fuzz", "--child", str(self.folder), "--first", str(first)),
                *("--count", str(options.first + options.count - first), "--step", str(options.jobs)),
                *("--seed", str(options.seed), "--jobs", str(self.index), "--seconds", str(options.seconds and left)),
                *("--least", str(max(options.first + options.least - first, 0))),
                *("--plant", str(-1 if options.plant is None else options.plant)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("wb"),
        )

    def now(self) -> int:
        """The case at hand."""
        return int(struct.unpack("<q", self.status.read_bytes())[0])

    def hangs(self) -> bool:
        """Whether it is at the same case for too long."""
        now = self.now()
        if now != self.seen:
            self.seen, self.since = now, time.monotonic()
        return time.monotonic() - self.since > HANG

    def collect(self) -> None:
        """Add up its cases, and what came of them unless its process died."""
        self.cases += (self.now() - self.first) // self.options.jobs + 1
        path = self.folder / f"tally{self.index}"
        if path.exists():
            self.tally.update(json.loads(path.read_text()))
            path.unlink()


class _Hunt:
    """All workers, and what they met."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        options.jobs = min(options.jobs, options.count)
        if options.seconds:
            options.count = 1 << 40
        self.troubles: list[int] = []
        options.begin = time.monotonic()
        (folder / "corpus").write_bytes(pickle.dumps(record()))
        self.workers = [_Worker(options, folder, index) for index in range(options.jobs)]

    def run(self) -> int:
        """Watch until all are done; 1 if there was trouble."""
        running = list(self.workers)
        while running and len(self.troubles) < MOST_TROUBLES:
            time.sleep(0.05)
            running = [worker for worker in running if self._watch(worker)]
        for worker in running:
            worker.process.kill()
        return self._report()

    def _watch(self, worker: _Worker) -> bool:
        code = worker.process.poll()
        if code is None and worker.hangs():
            worker.process.kill()
            worker.process.wait()
            self._trouble(worker, f"hangs for {HANG:.0f} s")
        elif code is None:
            return True
        elif code == 0:
            worker.collect()
            return False
        else:
            self._trouble(worker, f"ended its process with status {code}")
        return True

    def _trouble(self, worker: _Worker, what: str) -> None:
        case, options = worker.now(), self.options
        worker.collect()
        self.troubles.append(case)
        print(f"case {case} {what}: python -m tests.fuzz --seed {options.seed} --case {case}", flush=True)
        print(worker.log.read_text(errors="replace")[-6000:], flush=True)
        worker.start(case + options.jobs)

    def _report(self) -> int:
        tally: Counter[str] = Counter()
        for worker in self.workers:
            tally.update(worker.tally)
        seconds, cases = time.monotonic() - self.options.begin, sum(worker.cases for worker in self.workers)
        for name, count in tally.most_common():
            print(f"{count:9} {name}")
        print(
            f"{cases} cases, seed {self.options.seed}, {seconds:.0f} s, "
            f"{1e3 * seconds * len(self.workers) / max(cases, 1):.2f} ms of a process per case; {_core.__file__}"
        )
        print(f"trouble: {sorted(self.troubles)}" if self.troubles else "no crash, no hang, no broken rule")
        return 1 if self.troubles else 0


def _child(options: argparse.Namespace) -> int:
    faulthandler.enable()
    folder = Path(options.child)
    corpus = pickle.loads((folder / "corpus").read_bytes())
    tally: Counter[str] = Counter()
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    with (folder / f"status{options.jobs}").open("r+b", buffering=0) as status:
        try:
            for number in range(options.first, options.first + options.count, options.step):
                status.seek(0)
                status.write(struct.pack("<q", number))
                if number == options.plant:
                    os.abort()
                tally[run_case(options.seed, number, corpus)] += 1
                if time.monotonic() > end and number + options.step >= options.first + options.least:
                    break
        finally:
            (folder / f"tally{options.jobs}").write_text(json.dumps(tally))
    return 0


if __name__ == "__main__":
    sys.exit(main())
