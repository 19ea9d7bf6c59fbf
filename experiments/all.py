"""Make every figure and table, and the scoreboard of all claims.

What a script prints goes into NAME.txt beside its picture. Records are kept in the folder, so that a killed run goes on
where it was. A second one leaves files that the scripts would write again as they are; after a change of a script all
are drawn anew, after a change of the simulator all is simulated anew. `speed`, which measures time, is not part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import pkgutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

import experiments
from experiments.common import scoreboard, standing
from experiments.common.harness import CACHE, INTERRUPTED, Experiment, Made
from smmux.base import interrupt, whole_files
from smmux.base.jobs import at_a_time, count_of_jobs
from smmux.errors import ConfigError
from smmux.sweep import Cache, executing, sweeping

PROCESSES = "processes"
"""The executor: threads would wait for one another's Python, most of which is compiling."""
AHEAD = 2
"""Scripts that simulate at a time, on as many processes as one alone: the second fills those that the first leaves."""
TIMED = ("speed",)
"""Scripts whose numbers are seconds of this host, which nothing else may disturb."""


def names() -> list[str]:
    """Scripts that make a figure or table, in the order of their names."""
    found = (module.name for module in pkgutil.iter_modules(experiments.__path__) if not module.ispkg)
    scripts = (name for name in found if name not in (*TIMED, "all"))
    return [name for name in scripts if hasattr(importlib.import_module(f"experiments.{name}"), "EXPERIMENT")]


def _experiment(name: str) -> Experiment:
    experiment: Experiment = importlib.import_module(f"experiments.{name}").EXPERIMENT
    return experiment


def made(
    wanted: Sequence[str],
    out: Path,
    cache: Path,
    quick: bool = False,
    executor: str = PROCESSES,
    jobs: int | None = None,
) -> Iterator[tuple[str, str]]:
    """Make those of the scripts whose files do not stand: the name, and how long it took after the one before.

    While a script draws, and while its last runs leave processors idle, the next one simulates.
    """
    out.mkdir(parents=True, exist_ok=True)
    whole_files.finish(out)
    arguments = ["--out", str(out), "--cache", str(cache), "--jobs", str(at_a_time(jobs)), *["--quick"] * quick]
    with Cache(cache) as kept, _executing(executor, jobs) as shared, ThreadPoolExecutor(AHEAD) as ahead:
        stand = {name for name in wanted if standing.stands(kept, out, name, quick)}
        found = {name: ahead.submit(_simulated, name, arguments, shared) for name in wanted if name not in stand}
        try:
            for name in tqdm(wanted, desc="experiments", disable=None, leave=False):
                started = time.perf_counter()
                if name not in stand:
                    simulated = found.pop(name).result()
                    with contextlib.redirect_stdout(io.StringIO()) as printed:
                        _experiment(name).publish(simulated)
                    whole_files.write_text(out / f"{name}.txt", printed.getvalue())
                    standing.keep(kept, out, name, quick)
                yield name, "up to date" if name in stand else f"{time.perf_counter() - started:7.1f} s"
        finally:
            for pool in (ahead, shared):
                pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _executing(name: str, jobs: int | None) -> Iterator[Executor]:
    """The executor of a name, which all scripts share."""
    with executing(name, jobs) as pool:
        if pool is not None:
            yield pool
        else:
            with ThreadPoolExecutor(at_a_time(jobs)) as threads:
                yield threads


def _simulated(name: str, arguments: Sequence[str], shared: Executor) -> Made:
    """The records of a script, whose runs are executed by a pool that all scripts share."""
    experiment = _experiment(name)
    with sweeping(executor=shared):
        return experiment.simulated(experiment.options_of(arguments))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.all", description=(__doc__ or "").partition("\n\n")[0])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(names())}")
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="folder for the files (%(default)s)")
    add("--cache", type=Path, metavar="FILE", help=f"where records are kept (DIR/{CACHE})")
    add("--quick", action="store_true", help="run smaller grids, which do not judge claims")
    add("--executor", default=PROCESSES, metavar="WHERE", help="threads, processes or dask:ADDRESS (%(default)s)")
    jobs = "simulations that run at a time (default: one per processor)"
    add("--jobs", type=count_of_jobs, metavar="N", help=jobs)
    given = parser.parse_args(argv)
    if unknown := sorted(set(given.names) - set(names())):
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(names())}")
    cache = given.cache or given.out / CACHE
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of each process: there is one process for each processor
    try:
        interrupt.end_of_start()
        for name, took in made(given.names or names(), given.out, cache, given.quick, given.executor, given.jobs):
            print(f"{name:16s} {took}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted; the same command goes on with what {cache} holds", file=sys.stderr)
        return INTERRUPTED
    except (ConfigError, OSError) as error:
        print(f"all: {error}", file=sys.stderr)
        return 2
    rows = scoreboard.board(given.out)
    print(f"\n{scoreboard.text(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
