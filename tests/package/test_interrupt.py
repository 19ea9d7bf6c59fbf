"""Ctrl-C ends a run within a second: alone, on two host threads, in a sweep, in a thread that is not the main one."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from smmux import interrupt
from tests.package import interrupted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("place", interrupted.PLACES)
def test_ctrl_c_ends_the_process_within_a_second(place):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.package.interrupted", place],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout.readline() == "running\n"
        time.sleep(0.7)
        assert process.poll() is None
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert time.monotonic() - begin < 1.0
    assert "KeyboardInterrupt" in errors
    assert process.returncode in (-signal.SIGINT, 130)


def test_an_exception_set_for_a_thread_ends_its_run():
    """What a notebook or a test runner does to stop a thread."""
    found = []

    def run():
        try:
            interrupted.endless.simulate(1, 32, (np.zeros(32, np.float32),), max_cycles=None)
        except TimeoutError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(TimeoutError))
    thread.join(10)
    assert not thread.is_alive()
    assert len(found) == 1


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
