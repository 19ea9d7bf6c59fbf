"""Caches of records: what makes two sweeps alike, and what a killed one leaves."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, cuda, gpus
from smmux.sweep import Cache, executing, product, sweep, sweeping
from smmux.sweep.fingerprint import fingerprint

pytestmark = pytest.mark.usefixtures("few_modules")

FACTOR = 2
TREE = Path(__file__).parents[2]


@cuda.jit
def scaled(a):
    a[cuda.grid(1)] *= FACTOR


@dataclass(frozen=True)
class Setting:
    n: int
    text: str = ""


def twice(n: int) -> dict[str, float]:
    return {"value": FACTOR * n, "root": math.sqrt(n), "nothing": None, "limit": math.inf}


def simulated(n: int, gpu: str) -> dict[str, Any]:
    a = np.arange(n, dtype=np.float32)
    result = scaled.simulate(n // 32, 32, (a,), gpu=gpu)
    assert (a == FACTOR * np.arange(n)).all()
    return {"time_us": result.time_us, **result.counters}


def environment(**more: str) -> dict[str, str]:
    """What a process needs to import this file."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TREE), *sys.path]), **more}


def in_a_process(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in another process, to its end."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, check=True)


@pytest.mark.long
def test_a_record_is_computed_once_and_read_afterwards_with_the_same_types(tmp_path: Path) -> None:
    with Cache(tmp_path / "new" / "c.sqlite") as cache:
        first = sweep(twice, product(n=range(5)), cache=cache)
        assert (cache.found, cache.made, len(cache)) == (0, 5, 5)
    with Cache(tmp_path / "new" / "c.sqlite") as cache, sweeping(cache=cache):
        second = sweep(twice, product(n=range(6)))
        assert (cache.found, cache.made) == (5, 1)
        cache.clear()
        assert len(cache) == 0
    assert second[:5] == first == sweep(twice, product(n=range(5)))
    assert [list(map(type, r.values())) for r in second[:5]] == [list(map(type, r.values())) for r in first]


def test_what_a_function_refers_to_is_part_of_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(twice), fingerprint(scaled), fingerprint(simulated)
    assert before == (fingerprint(twice), fingerprint(scaled), fingerprint(simulated))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    after = fingerprint(twice), fingerprint(scaled), fingerprint(simulated)
    assert all(old != new for old, new in zip(before, after, strict=True))


def variants() -> list[Any]:
    """Values of which no two are alike."""

    def adder(k: int) -> Any:
        return lambda n: n + k

    machine = gpus.get("GTX285")
    return [
        None, False, 0, 0.0, "", b"", (), {}, set(), 1, 1.0, True, "1", [1], {1}, {1: 1}, {"1": 1}, [[1]], [1, [1]],
        range(3), math.nan, math.inf, 2**70, np.float32(1), np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)),
        np.dtype("f4"),
        Setting(1), Setting(2), Setting(1, "x"), Setting, machine, machine.replace(sm_count=29), adder(1), adder(2),
        partial(twice, 1), partial(twice, 2), twice, simulated, math.sqrt, np.sqrt, np.sum, math, scaled,
    ]  # fmt: skip


def test_different_values_have_different_fingerprints_and_equal_ones_the_same() -> None:
    first, again = ([fingerprint(value) for value in variants()] for _ in range(2))
    assert len(set(first)) == len(first)
    assert first == again


def test_fingerprints_are_those_of_any_other_process() -> None:
    command = "from tests.package.test_cache import *; print(*map(fingerprint, variants()))"
    first, second = (in_a_process("-c", command, PYTHONHASHSEED=seed).stdout.split() for seed in ("1", "2"))
    assert first == second
    assert len(first) == len(variants())


@pytest.mark.parametrize("of", [np.longdouble, np.clongdouble, lambda x: np.full(3, x, np.longdouble)])
def test_bytes_that_hold_no_part_of_a_number_do_not_count(of: Any) -> None:
    assert len({fingerprint(of(0.1)) for _ in range(50)}) == 1
    assert fingerprint(of(0.1)) != fingerprint(of(0.2))


def test_order_of_sets_and_keywords_and_self_reference_do_not_matter() -> None:
    assert fingerprint({"a", "b", "c"}) == fingerprint({"c", "a", "b"})
    endless: list[Any] = [1]
    endless.append(endless)
    other: list[Any] = [1]
    other.append(other)
    assert fingerprint(endless) == fingerprint(other)


@pytest.mark.parametrize("unknown", [object(), np.array([object()]), iter(())])
def test_what_nobody_knows_is_refused(unknown: Any, tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache, pytest.raises(ConfigError, match="nobody knows"):
        sweep(lambda n: {}, [{"n": unknown}], cache=cache)


def test_locks_change_no_result() -> None:
    assert fingerprint(threading.Lock()) == fingerprint(threading.Lock())


def test_a_vectorised_function_is_known_by_what_it_calls_also_when_it_has_been_called() -> None:
    root = np.vectorize(math.sqrt, otypes=[float])
    before = fingerprint(root)
    root(4)
    assert fingerprint(root) == before != fingerprint(np.vectorize(math.sin, otypes=[float]))


def test_an_object_may_say_what_it_is_known_by() -> None:
    class Known:
        def __init__(self, n: int) -> None:
            self.n, self.lock = n, object()

        def fingerprint(self) -> int:
            return self.n

    assert fingerprint(Known(1)) == fingerprint(Known(1)) != fingerprint(Known(2))


def test_files_of_others_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look at " * 20)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE things (a)")
    for name in ("text", "other"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(ConfigError, match="is no cache of records"):
            Cache(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.long
def test_threads_share_a_cache(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache, ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: sweep(twice, product(n=range(20)), jobs=2, cache=cache), range(4)))
    assert all(records == made[0] for records in made)


@pytest.mark.long
def test_processes_give_the_records_of_threads(tmp_path: Path) -> None:
    points = product(n=(32, 64), gpu=("GTX285", "GTX480-16K"))
    expected = sweep(simulated, points)
    with Cache(tmp_path / "c.sqlite") as cache, executing("processes", 2) as pool, sweeping(cache=cache, executor=pool):
        assert sweep(simulated, points) == expected
    with Cache(tmp_path / "c.sqlite") as cache:
        assert sweep(simulated, points, cache=cache) == expected
        assert cache.found == len(points)


def test_an_error_in_a_process_names_its_point() -> None:
    with executing("processes", 1) as pool, pytest.raises(TypeError) as caught:
        sweep(twice, [{"n": "x"}], executor=pool)
    assert "at n='x'" in caught.value.__notes__


CLUSTER = """
from distributed import LocalCluster
from smmux.sweep import executing, product, sweep
from tests.package.test_cache import simulated
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with executing(f"dask:{cluster.scheduler_address}") as pool:
            points = product(n=(32, 64), gpu=("GTX285", "GTX480-16K"))
            print(sweep(simulated, points, executor=pool) == sweep(simulated, points))
"""


@pytest.mark.long
def test_a_dask_cluster_gives_the_records_of_threads(tmp_path: Path) -> None:
    (tmp_path / "cluster.py").write_text(CLUSTER)
    assert in_a_process(str(tmp_path / "cluster.py")).stdout.strip() == "True"


def test_executors_without_an_answer_are_told() -> None:
    with pytest.raises(ConfigError, match="did you mean 'threads'"), executing("thread"):
        pass
    with pytest.raises(ConfigError, match="no Dask scheduler answers at 'nowhere'"), executing("dask:nowhere"):
        pass


LONG = """
import json, sys
from smmux.sweep import Cache, product, sweep
from tests.package.test_cache import simulated
with Cache(sys.argv[1]) as cache:
    print("started", flush=True)
    records = sweep(simulated, product(n=range(32, 1312, 32), gpu=("GTX285",)), jobs=2, cache=cache)
    print(json.dumps(records), cache.found)
"""


def killed(path: Path, kills: int, seed: int) -> tuple[str, list[int]]:
    """A sweep that is killed at random, and started again: what it prints at last, and the records kept each time."""
    command = ["-c", LONG, str(path)]
    chance, kept = random.Random(seed), []
    for _ in range(kills):
        with subprocess.Popen([sys.executable, *command], env=environment(), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
        with Cache(path) as cache:
            kept.append(len(cache))
    return in_a_process(*command).stdout.splitlines()[-1], kept


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_sweep_goes_on_where_it_was(kills: int, tmp_path: Path) -> None:
    undisturbed = json.dumps(sweep(simulated, product(n=range(32, 1312, 32), gpu=("GTX285",)), jobs=2))
    last, kept = killed(tmp_path / "c.sqlite", kills, seed=kills)
    records, _, found = last.rpartition(" ")
    assert records == undisturbed
    assert kept == sorted(kept)
    assert int(found) == kept[-1]
