"""Make every figure and table, and the scoreboard of all claims.

What a script prints goes into NAME.txt beside its picture. Records are kept in the folder, so that a killed run goes on
where it was. A second one leaves files that the scripts would write again as they are; after a change of a script all
are drawn anew, after a change of the simulator all is simulated anew. `speed`, which measures time, is not part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import pkgutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

import experiments
from experiments.common import scoreboard, standing
from experiments.common.harness import CACHE, Experiment
from smmux.errors import ConfigError
from smmux.sweep import Cache

TIMED = ("speed",)
"""Scripts whose numbers are seconds of this host, which nothing else may disturb."""


def names() -> list[str]:
    """Scripts that make a figure or table, in the order of their names."""
    found = (module.name for module in pkgutil.iter_modules(experiments.__path__) if not module.ispkg)
    return [name for name in found if name not in TIMED and _experiment(name)]


def _experiment(name: str) -> Experiment | None:
    return getattr(importlib.import_module(f"experiments.{name}"), "EXPERIMENT", None) if name != "all" else None


def made(
    wanted: Sequence[str], out: Path, cache: Path, quick: bool, how: Sequence[str]
) -> Iterator[tuple[str, int, str]]:
    """Run scripts one after the other, but those whose files stand: the name, the exit status, and what took how long.

    how: options that change no result.
    """
    out.mkdir(parents=True, exist_ok=True)
    arguments = ["--out", str(out), "--cache", str(cache), *["--quick"] * quick, *how]
    with Cache(cache) as kept:
        for name in tqdm(wanted, desc="experiments", disable=None, leave=False):
            if standing.stands(kept, out, name, quick):
                yield name, 0, "up to date"
                continue
            experiment = _experiment(name)
            assert experiment is not None
            started = time.perf_counter()
            with (out / f"{name}.txt").open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
                status = experiment.main(arguments)
            if not status:
                standing.keep(kept, out, name, quick)
            yield name, status, f"{time.perf_counter() - started:7.1f} s"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is that of the first script that failed."""
    parser = argparse.ArgumentParser(prog="python -m experiments.all", description=(__doc__ or "").partition("\n\n")[0])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(names())}")
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder for the files (%(default)s)")
    add("--cache", type=Path, metavar="FILE", help=f"where records are kept (DIR/{CACHE})")
    add("--quick", action="store_true", help="run smaller grids, which do not judge claims")
    add("--executor", default="threads", metavar="WHERE", help="threads, processes or dask:ADDRESS (%(default)s)")
    add("--jobs", metavar="N", help="simulations that run at a time (default: one per processor)")
    given = parser.parse_args(argv)
    if unknown := sorted(set(given.names) - set(names())):
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(names())}")
    cache = given.cache or given.out / CACHE
    how = ["--executor", given.executor, *(["--jobs", given.jobs] if given.jobs else [])]
    try:
        for name, status, took in made(given.names or names(), given.out, cache, given.quick, how):
            print(f"{name:16s} {took}" + (f"  exit status {status}" if status else ""), flush=True)
            if status:
                return status
    except ConfigError as error:
        print(f"all: {error}", file=sys.stderr)
        return 2
    rows = scoreboard.board(given.out)
    print(f"\n{scoreboard.text(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
