"""Python threads simulate at once, with the same bits as one after the other; the core keeps no state between runs."""

import ast
import gc
import os
import subprocess
import sys
import sysconfig
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import _core, cuda, float32, smm
from smmux.base import parsing

ROOT = Path(__file__).parents[2]


@cuda.jit
def work(x, total):
    tile = smm.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    smm.alloc()
    tile[t] = x[i]
    cuda.syncthreads()
    for k in range(20):
        x[i] += tile[(t + k) % 64]
    smm.release()
    cuda.atomic.add(total, 0, float32(1.0))


@cuda.jit
def fails(x, n):
    x[cuda.grid(1) + n] = 1.0


def once(gpu):
    x, total = np.arange(640, dtype=np.float32), np.zeros(1, np.float32)
    result = work.simulate(10, 64, (x, total), gpu=gpu, management="dynamic", extra_blocks=2, profile=True)
    with pytest.raises(smmux.OutOfBoundsError) as caught:
        fails.simulate(2, 32, (x[:8], 1000), gpu=gpu)
    return result.to_dict(), result.profile.tobytes(), x.tobytes(), total[0], str(caught.value)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_at_once_give_the_bits_of_one_after_the_other(threads):
    machines = ["GTX285", "GTX285-1100", "GTX480-16K", "GTX480-48K"] * 3
    expected = [once(gpu) for gpu in machines]
    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(once, machines)) == expected


def test_threads_share_a_table_without_breaking_it():
    """Every allocation that succeeded is an entry; entries never overlap."""
    table, starts = _core.Smm(16384), [[], []]

    def allocate(which):
        for turn in range(300):
            start = table.alloc_dynamic(which, 256)
            if start is not None:
                starts[which].append(start)
            if turn % 3 == 0 and starts[which]:
                assert table.release(starts[which].pop())

    threads = [threading.Thread(target=allocate, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = sorted(entry[2] for entry in table.entries())
    assert entries == sorted(starts[0] + starts[1])
    assert len(entries) > 1
    assert all(above - below >= 256 for below, above in pairwise(entries))


@pytest.mark.checkout
def test_free_threaded_interpreters_keep_the_gil_off():
    """Where such an interpreter runs the tests, importing the core must not have switched the GIL on."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        source = (ROOT / "csrc/python/module.c").read_text()
        assert "{Py_mod_gil, Py_MOD_GIL_NOT_USED}" in source
        pytest.skip("this interpreter has a GIL")
    command = [sys.executable, "-W", "error", "-c", "import sys, smmux._core; print(sys._is_gil_enabled())"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    assert subprocess.check_output(command, cwd=ROOT, text=True, env=environment).strip() == "False"


def test_threads_parse_at_once() -> None:
    """Python 3.11 fails if another thread parses while the garbage collector lets it go on in the midst of a tree."""

    def let_others_run(phase: str, details: dict[str, int]) -> None:
        time.sleep(0)

    text = "\n".join(f"x_{i} = (a + {i}) * (b - {i})" for i in range(50))
    gc.callbacks.append(let_others_run)
    threshold = gc.get_threshold()
    gc.set_threshold(10)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parsing.module, [text] * 40))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_run)
    assert {ast.dump(tree) for tree in trees} == {ast.dump(parsing.module(text))}
