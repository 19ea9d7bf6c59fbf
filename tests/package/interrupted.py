"""A process that never ends by itself: `python -m tests.package.interrupted PLACE` runs a kernel at that place, or
replays a model, and says so once it is under way."""

import itertools
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from smmux import Management, benchmarks, cuda, float32, gpus, models, sweep
from smmux.base import interrupt
from smmux.compiler.driver.compiling import clear_cache


def say_running():
    """Not by `print`: ending the interpreter while a thread has sys.stdout's lock for it aborts the process."""
    os.write(1, b"running\n")


@cuda.jit
def endless(a):
    i = cuda.grid(1)
    while a[i] < 1.0:
        a[i] += float32(0.0)


def run(host_threads=1, **_):
    endless.simulate(240, 256, (np.zeros(240 * 256, np.float32),), host_threads=host_threads, max_cycles=None)
    return {}


def in_a_sweep():
    sweep.sweep(run, sweep.product(n=range(50)), jobs=2, progress=False)


def in_a_pool():
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: run(), range(4)))


class Spins(Management):
    """Never comes back from the first question."""

    def may_start(self, block, waiting):
        say_running()
        while True:
            pass


def in_a_management():
    small = gpus.get("GTX285").replace(sm_count=1)
    endless.simulate(4, 32, (np.zeros(128, np.float32),), gpu=small, management=Spins)


def in_a_thread():
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def replays():
    requests = np.arange(1_000_000, dtype=np.uint32) * 8192
    while True:
        models.Dram("GTX285").replay(requests)


def compiler_in_a_pool():
    """What `advise` does for most of its time; no kernel runs."""
    fft = benchmarks.get("FFT")
    kernel, arguments = fft.kernel(), fft.problem("tiny").arguments()

    def compile_for_ever():
        while True:
            clear_cache()
            kernel.compile(arguments, schedule="list", max_registers=40)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(compile_for_ever).result()


def call_when_asked(function, times=5):
    """Call it once a run has asked so often whether it is to end: five times are 0.2 s inside of the core. The compiler
    asks too, so `endless` is compiled before."""
    for size in (32, 240 * 256):
        endless.compile((np.zeros(size, np.float32),))
    poll, calls = interrupt.poll, itertools.count(1)

    def asked():
        if next(calls) == times:
            function()
        poll()

    interrupt.poll = asked


PLACES = {
    "main": run,
    "two host threads": lambda: run(2),
    "sweep": in_a_sweep,
    "pool": in_a_pool,
    "thread": in_a_thread,
    "management": in_a_management,
    "replay": replays,
    "compiler": compiler_in_a_pool,
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    call_when_asked(say_running)
    PLACES[sys.argv[1]]()
