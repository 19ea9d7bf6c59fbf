"""Ctrl-C ends a run within a second: alone, on two host threads, in a sweep, in a thread that is not the main one, in
replays of the models."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from smmux import models
from smmux.base import interrupt
from smmux.compiler.driver.compiling import clear_cache
from smmux.machines import models_memory
from tests.package import interrupted

ROOT = Path(__file__).parents[2]


def seconds_to_end(place):
    """From Ctrl-C to the end of a process that runs at that place."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.package.interrupted", place],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline() == "running\n"
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    assert process.returncode in (-signal.SIGINT, 130)
    return time.monotonic() - begin


@pytest.mark.parametrize("place", interrupted.PLACES)
def test_ctrl_c_ends_the_process_within_a_second(place):
    """In one of five tries, since the computer may be busy; it never takes ten."""
    tries = []
    while len(tries) < 5 and min(tries, default=10) >= 1:
        tries.append(seconds_to_end(place))
        assert tries[-1] < 10
    assert min(tries) < 1


def stop_this_thread():
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TimeoutError))


@pytest.mark.filterwarnings("ignore:kernel 'endless' seems to spin")  # as it does, if the computer is busy
@pytest.mark.parametrize("asked", [*range(1, 8), None])
def test_an_exception_set_for_a_thread_ends_its_run(asked, tmp_path, monkeypatch):
    """What a notebook or a test runner does to stop a thread. The error is an OSError, as that of a full disk, without
    which the compiler goes on. asked: at which question it comes, of the compiler at first; None: of the run. The
    thread sets it itself: at another moment Python's own `os.path.exists` may take it for a missing file."""
    found = []
    monkeypatch.setattr(interrupt, "poll", interrupt.poll)  # put back afterwards
    monkeypatch.setenv("SMMUX_CACHE", str(tmp_path))
    interrupted.call_when_asked(stop_this_thread, *([asked] if asked else []))
    if asked:
        clear_cache()

    def run():
        try:
            interrupted.endless.simulate(1, 32, (np.zeros(32, np.float32),), max_cycles=None)
        except TimeoutError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(found) == 1


ADDRESSES = np.random.default_rng(0).integers(0, 1 << 24, 4_000_000, dtype=np.uint32) & np.uint32(0xFFFFFF80)


def packets(count):
    found = np.zeros(count, models_memory.PACKET)
    found["address"], found["bytes"] = ADDRESSES[:count], 64
    return found


REPLAYS = {  # each of several times the tenth of a second after which it asks first
    "dram": lambda: models.Dram("GTX285").replay(ADDRESSES),
    "dram, far between": lambda: models.Dram("GTX285").replay(ADDRESSES, arrival=np.arange(len(ADDRESSES)) * 99),
    "cache": lambda: models.Cache(16384, ways=128).replay(ADDRESSES),
    "memory": lambda: models.Memory("GTX285").replay(packets(len(ADDRESSES))),
}


@pytest.mark.parametrize("replay", REPLAYS)
def test_long_replays_ask_whether_they_are_to_end(replay, monkeypatch):
    def stop():
        raise KeyboardInterrupt("asked")

    monkeypatch.setattr(interrupt, "poll", stop)
    with pytest.raises(KeyboardInterrupt, match="asked"):
        REPLAYS[replay]()


def test_threads_run_on_while_the_main_thread_handles_other_errors():
    stopped = []

    def ask():
        try:
            interrupt.poll()
        except KeyboardInterrupt:
            stopped.append(True)

    def asked_while(error):
        try:
            try:
                raise error
            except BaseException:
                raise ValueError("then this") from None
        except ValueError:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()

    asked_while(RuntimeError())
    assert stopped == []
    asked_while(KeyboardInterrupt())
    assert stopped == [True]
    interrupt.poll()  # in the main thread Python itself raises
