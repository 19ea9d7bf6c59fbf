"""Barriers of the whole grid: values cross from SM to SM, in time that no window and no host thread changes."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import cuda, errors, gpus

from .assembler import variant

MACHINES = ("GTX285", "GTX285-1100", "GTX480-48K", "K20c")


@cuda.jit
def chain(a, b):
    group = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(4):
        b[i] = a[(i + 1) % a.size] + a[i]
        group.sync()
        a[i] = b[(i + 7) % a.size]
        cuda.cg.this_grid().sync()


@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("blocks", [1, 2, 47])
def test_stores_of_all_blocks_are_seen(gpu: str, blocks: int) -> None:
    """Fermi's L1, which holds older values, too."""
    wanted = start = np.arange(48 * blocks, dtype=np.int32)
    for _ in range(4):
        wanted = np.roll(np.roll(wanted, -1) + wanted, -7)
    runs = set()
    for window, host_threads in ((0, 1), (1, 1), (13, 2), (0, 3)):
        a = start.copy()
        result = chain.simulate(blocks, 48, (a, a.copy()), gpu, window=window, host_threads=host_threads)
        assert a.tolist() == wanted.tolist()
        runs.add(tuple(result.items()))
    assert len(runs) == 1
    assert result["barriers"] == 8 * blocks


@cuda.jit
def once(a):
    cuda.cg.this_grid().sync()
    a[cuda.grid(1)] = 1


def test_the_time_is_the_parameter() -> None:
    def cycles(gpu: gpus.Gpu) -> int:
        return once.simulate(4, 32, (np.zeros(128, np.int32),), gpu).cycles

    plain = variant("GTX285", mem_model=0, icache_bytes=0)
    assert cycles(plain.replace(grid_sync=5000)) - cycles(plain.replace(grid_sync=700)) == 4300


def test_all_blocks_must_be_resident() -> None:
    with pytest.raises(errors.LaunchError, match="241 are launched, and 240 can be, 8 on each of 30 SMs"):
        once.simulate(241, 64, (np.zeros(241 * 64, np.int32),), "GTX285")
    once.simulate(240, 64, (np.zeros(240 * 64, np.int32),), "GTX285")


@cuda.jit
def some(a):
    if cuda.blockIdx.x != 1:
        cuda.cg.this_grid().sync()
    a[cuda.grid(1)] = 1


def test_a_block_that_does_not_come_is_told() -> None:
    with pytest.raises(errors.DeadlockError, match="block 0 waits for all blocks of the grid, but not all come"):
        some.simulate(3, 32, (np.zeros(96, np.int32),), "GTX285")


@cuda.jit
def leaving(a):
    i = cuda.grid(1)
    if i % 64 >= 40:
        return
    a[i] = i
    cuda.cg.this_grid().sync()
    a[i] += a[(i + 64) % a.size]


def test_threads_that_have_returned_count_as_arrived() -> None:
    a = np.zeros(128, np.int32)
    leaving.simulate(2, 64, (a,), "GTX285")
    assert a[:40].tolist() == [2 * i + 64 for i in range(40)]


@cuda.jit
def diverging(a):
    if cuda.threadIdx.x < 7:
        cuda.cg.this_grid().sync()
    a[cuda.grid(1)] = 1


def test_not_in_divergent_code() -> None:
    with pytest.raises(errors.BarrierError):
        diverging.simulate(2, 32, (np.zeros(64, np.int32),), "GTX285")
