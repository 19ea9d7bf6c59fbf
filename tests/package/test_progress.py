"""Long launches show how far they are; a kernel that spins is told after seconds."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

from smmux import cuda, float32, gpus, smm
from smmux.base import progress
from smmux.base.progress import SpinningWarning
from smmux.machines.management import Management


@cuda.jit
def waiting(a):
    if cuda.grid(1) == 0:
        while a[1] == 0:
            pass
    a[0] = 1


@cuda.jit
def locking(a):
    while cuda.atomic.cas(a, 0, 0, 1) != 0:  # the lane that has the lock waits for those that want it
        pass
    a[1] += 1


@cuda.jit
def computing(a, n):
    x = 0
    for k in range(n):
        x = x * 3 + k
    a[0] = x


@cuda.jit
def turning(a):
    """Four blocks take turns at shared memory that one of them fills."""
    tile = smm.array(3000, float32)
    for k in range(8):
        smm.alloc()
        tile[cuda.threadIdx.x] = k
        smm.release()
    a[cuda.grid(1)] = 0


@cuda.jit
def nothing(a):
    while True:
        pass


class Slow(Management):
    """Takes its time to grant shared memory."""

    def place(self, request, free):
        time.sleep(0.07 if request.allocation else 0)
        return super().place(request, free)


@pytest.mark.parametrize(
    ("kernel", "places"),
    [(waiting, r"1 warp at line \d+"), (locking, r"4 warps at line \d+"), (nothing, "4 warps at line")],
)
def test_a_kernel_that_spins_is_told(kernel, places):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SpinningWarning, match=f"{kernel.__name__!r} seems to spin.*{places}.*Nothing ends it"):
            kernel.simulate(2, 64, (np.zeros(4, np.int32),), max_cycles=None)


def test_a_launch_behind_another_one_is_told_as_one_alone():
    """It is a whole grid, though it names its blocks to the core."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SpinningWarning, match="seems to spin"):
            nothing.simulate(2, 64, (np.zeros(4, np.int32),), max_cycles=None, warm=True)


def test_a_kernel_that_computes_is_not():
    """No block of it ends for longer than it takes to tell one that spins."""
    a = np.zeros(4, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        computing.simulate(1, 32, (a, 700_000))


@pytest.mark.long
@cuda.jit
def in_turns(a, n):
    """Warps wait long at a barrier for one, and then that one for them."""
    x = 0
    for turn in range(2):
        if (cuda.threadIdx.x < 32) == (turn == 0):
            for k in range(n):
                x = x * 3 + k
        cuda.syncthreads()
    a[cuda.threadIdx.x] = x


@pytest.mark.long
def test_a_kernel_whose_warps_have_waited_for_one_another_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_turns.simulate(1, 128, (np.zeros(128, np.int32), 2_500_000), max_cycles=None)


def test_a_kernel_on_a_slow_host_is_not():
    """Its warps stand where they were for seconds, but for few cycles."""
    small = gpus.get("GTX285").replace(sm_count=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turning.simulate(4, 32, (np.zeros(128, np.float32),), gpu=small, management=Slow, extra_blocks=3, window=1)


def test_a_terminal_shows_blocks_and_cycles(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    computing.simulate(60, 256, (np.zeros(4, np.int32), 3000), "GTX285")
    shown = capsys.readouterr().err
    assert "computing" in shown
    assert "/60 " in shown
    assert "cycles" in shown


def test_nothing_is_shown_elsewhere(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    computing.simulate(60, 256, (np.zeros(4, np.int32), 3000), "GTX285")
    assert capsys.readouterr().err == ""
