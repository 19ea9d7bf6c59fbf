"""Pointers of CUDA C++: in structures and tables, to parameters, to any memory, to what a thread has just stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smmux
from smmux.errors import LaunchError, OutOfBoundsError
from smmux.modules.module import Module
from tests.sass.conftest import SOURCES, needed

SOURCE = "pointers.cu"


def test_a_tuple_is_a_structure(module: Module) -> None:
    x, y = np.zeros(40, np.float32), np.arange(40, dtype=np.float32)
    module["scaled"].simulate(1, 64, ((x, np.int8(3), y, 32), 2.0))
    assert (x == np.where(np.arange(40) < 32, 2 * y + 3, 0)).all()


def test_a_list_of_arrays_is_a_table(module: Module) -> None:
    rows = [np.full(8, 10 * i, np.float32) for i in range(5)]
    module["rows"].simulate(5, 32, (rows, 8))
    assert [row.tolist() for row in rows] == [[11 * i + 1] * 8 for i in range(5)]


def test_a_table_has_an_end(module: Module) -> None:
    with pytest.raises(OutOfBoundsError):
        module["rows"].simulate(6, 32, ([np.zeros(8, np.float32)] * 5, 8))


@pytest.mark.parametrize("bad", [(1.5,), [1, 2], [], np.array([None], object), ({},)])
def test_what_is_no_pointer_is_refused(module: Module, bad: Any) -> None:
    with pytest.raises(LaunchError):
        module["rows"].simulate(1, 32, (bad, 1))


@pytest.mark.parametrize("which", range(3))
def test_constant_parameters_have_addresses(module: Module, which: int) -> None:
    tables = np.random.default_rng(1).integers(0, 1 << 30, (3, 64), np.int32)
    first, second = (tuple(np.int32(word) for word in table) for table in tables[:2])
    out = np.zeros(64, np.int32)
    module["chosen"].simulate(1, 64, (first, second, tables[2], out, which))
    assert (out == tables[which]).all()


@pytest.mark.parametrize("which", range(3))
def test_atomics_wherever_a_pointer_points(module: Module, which: int) -> None:
    """To global and shared memory all threads together; local memory is each thread's own."""
    place, old = np.zeros(1, np.uint64), np.zeros(66, np.uint64)
    module["atomics"].simulate(1, 64, (place, old, which))
    if which == 2:
        assert old.tolist() == [1] * 65 + [1000]
        return
    assert old[64] == 64
    assert sorted([*old[:64].tolist(), int(old[65])]) == [64, *range(1000, 1064)]


def test_static_beside_dynamic_shared_memory(module: Module) -> None:
    out = np.zeros(64, np.int32)
    module["both_shared"].simulate(1, 64, (out,), dynamic_shared=64)
    assert (out == 3 * (63 - np.arange(64))).all()


def test_the_stack_of_a_recursion(module: Module) -> None:
    n, out = np.full(1, 100, np.int32), np.zeros(32, np.int32)
    with pytest.raises(OutOfBoundsError, match="local"):
        module["recursion"].simulate(1, 32, (n, out))
    module["recursion"].simulate(1, 32, (n, out), stack=16384)
    assert (out == 5050).all()
    with pytest.raises(LaunchError, match="16384 bytes of local memory"):
        module["recursion"].simulate(4000, 32, (n, out), stack=16384)


def test_arrays_on_the_stack(module: Module) -> None:
    length = np.arange(1, 33, dtype=np.int32)
    out, sums = np.zeros(32, np.int32), [sum(7 * i % n for i in range(n)) for n in length]
    module["arrays_on_stack"].simulate(1, 32, (length, out))
    assert out.tolist() == sums


@pytest.mark.long
def test_a_thread_sees_what_it_has_stored() -> None:
    """Where many threads of a chip of two halves load bytes that they have just stored."""
    needed("nvcc", "nvdisasm")
    count, bytes_ = 132 * 256, 48
    random = np.random.default_rng(2)
    rows, period = random.integers(1, 256, (count, bytes_), np.uint8), random.integers(1, 9, count, np.int32)
    wanted = rows[np.arange(count)[:, None], np.arange(bytes_) % period[:, None]]
    smmux.load(SOURCES / SOURCE, "sm_90")["repeated"].simulate(132, 256, (rows, period, bytes_))
    assert (rows == wanted).all()


@pytest.mark.parametrize("option", ["-G", "-O3"])
def test_a_pointer_to_the_stack_or_the_heap_may_be_checked(option: str) -> None:
    """Both threads' own memory: no race. One place of the array for all of them is one."""
    needed("nvcc", "nvdisasm")
    source = """
__device__ __noinline__ void set(unsigned *p) { *p = 3; }
extern "C" __global__ void own(unsigned *out) {
    unsigned on_stack, *on_heap = new unsigned;
    set(&on_stack);
    set(on_heap);
    set(out + threadIdx.x);
    out[threadIdx.x] += on_stack + *on_heap;
    delete on_heap;
}
extern "C" __global__ void one(unsigned *out) {
    unsigned on_stack;
    set(&on_stack);
    set(out);
    out[0] += threadIdx.x + on_stack;
}
"""
    module, out = smmux.load(source, options=[option]), np.zeros(64, np.uint32)
    cycles = module["own"].simulate(1, 64, [out]).cycles
    checked = module["own"].simulate(1, 64, [out], check="races")
    assert not checked.findings
    assert checked.cycles == cycles
    assert (out == 9).all()
    assert module["one"].simulate(1, 64, [out], check="races").findings


def test_a_launch_behind_itself_finds_arrays_and_heap_as_they_were() -> None:
    """Fresh memory of the heap is zero each time, and the array is counted up once."""
    needed("nvcc", "nvdisasm")
    source = """extern "C" __global__ void count(int *out) {
    int *own = (int *)malloc(4 * 1024);
    out[threadIdx.x] += 1 + own[100];
    own[100] = 7;
}"""
    out = np.arange(32, dtype=np.int32)
    smmux.load(source)["count"].simulate(1, 32, [out], warm=True)
    assert (out == np.arange(32) + 1).all()
