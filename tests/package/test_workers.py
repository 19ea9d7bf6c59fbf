"""Processes that run the tasks of a kind one after the other, and help one another in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from smmux.sweep import sweep
from smmux.sweep.workers import Workers


def whose(kind: str, i: int, seconds: float = 0.0) -> dict[str, Any]:
    time.sleep(seconds)
    return {"process": os.getpid()}


def failing(kind: str) -> dict[str, Any]:
    raise ValueError(kind)


def interrupted(kind: str) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
    return {}


def test_a_process_runs_its_own_kind_while_others_have_enough_to_do() -> None:
    points = [{"kind": kind, "i": i, "seconds": 0.05} for i in range(10) for kind in "ab"]
    with Workers(2) as workers:
        records = sweep(whose, points, executor=workers)
    assert [(r["kind"], r["i"]) for r in records] == [(p["kind"], p["i"]) for p in points]
    processes = {kind: {r["process"] for r in records if r["kind"] == kind} for kind in "ab"}
    assert os.getpid() not in processes["a"] | processes["b"]
    early = {kind: {r["process"] for r in records if r["kind"] == kind and r["i"] < 4} for kind in "ab"}
    assert sorted(map(len, early.values())) == [1, 1] or len(early["a"] | early["b"]) == 1


def test_a_process_without_a_kind_helps_with_the_last_tasks_of_another() -> None:
    with Workers(2) as workers:
        sweep(whose, [{"kind": kind, "i": 0, "seconds": 0.2} for kind in "ab"], executor=workers)
        records = sweep(whose, [{"kind": "a", "i": i, "seconds": 0.1} for i in range(10)], executor=workers)
    processes = [r["process"] for r in records]
    assert len({*processes}) == 2
    assert processes[0] != processes[-1]


def test_what_a_task_raises_ends_the_sweep() -> None:
    with Workers(1) as workers:
        with pytest.raises(ValueError, match="a") as caught:
            sweep(failing, [{"kind": "a"}], executor=workers)
        assert caught.value.__notes__ == ["at kind='a'"]
        assert workers.submit(divmod, 7, 2).result() == (3, 1)


def test_ctrl_c_ends_a_task_and_not_the_process() -> None:
    with Workers(1) as workers:
        [before] = sweep(whose, [{"kind": "a", "i": 0}], executor=workers)
        with pytest.raises(KeyboardInterrupt):
            workers.submit(interrupted, "a").result()
        [after] = sweep(whose, [{"kind": "a", "i": 1}], executor=workers)
    assert before["process"] == after["process"]


KILLED = """
import os, time
from smmux.sweep.workers import Workers
if __name__ == "__main__":
    workers = Workers(1)
    print(workers.submit(os.getpid).result(), flush=True)
    workers.submit(time.sleep, 60).result()
"""


def test_processes_end_with_the_one_that_they_work_for(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) != parent.pid
        parent.kill()
        started = time.monotonic()
        parent.stdout.read()  # ends when nobody holds the pipe any more, and the worker has it, too
    assert time.monotonic() - started < 30


FORGOTTEN = """
import os
from smmux.sweep.workers import Workers
if __name__ == "__main__":
    workers = Workers(2)
    print(workers.submit(os.getpid).result() != os.getpid())
    raise SystemExit(3)
"""


def test_a_program_that_shuts_nothing_down_ends(tmp_path: Path) -> None:
    script = tmp_path / "forgotten.py"
    script.write_text(FORGOTTEN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "True\n", "")


def test_shutdown_cancels_what_waits_and_refuses_more() -> None:
    workers = Workers(1)
    first, *others = [workers.submit(time.sleep, 0.3) for _ in range(4)]
    while not first.running():
        time.sleep(0.01)
    workers.shutdown(cancel_futures=True)
    assert first.result() is None
    for future in others:
        with pytest.raises(CancelledError):
            future.result()
    with pytest.raises(RuntimeError, match="shut down"):
        workers.submit(divmod, 7, 2)
