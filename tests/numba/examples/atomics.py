"""Atomic operations, each on global or shared memory, old values where they are determined."""

import numpy as np
from numba import cuda, float32, int32, uint32

THREE_DIMENSIONAL = ("run_max_3d",)  # grids; cards of compute capability 1.x have two
VALUES = (np.arange(100, dtype=np.int32) * 37) % 101 - 20


@cuda.jit
def max_example(result, values):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    bdim = cuda.blockDim.x
    i = (bid * bdim) + tid
    if i < values.size:
        cuda.atomic.max(result, 0, values[i])


@cuda.jit
def max_example_3d(result, values):
    i, j, k = cuda.grid(3)
    cuda.atomic.max(result, (0, 1, 2), values[i, j, k])


@cuda.jit
def all_of_them(integers, unsigned, values):
    i = cuda.grid(1)
    if i < values.size:
        v = values[i]
        cuda.atomic.add(integers, 0, v)
        cuda.atomic.sub(integers, 1, v)
        cuda.atomic.min(integers, 2, v)
        cuda.atomic.max(integers, 3, v)
        cuda.atomic.and_(integers, 4, v)
        cuda.atomic.or_(integers, 5, v)
        cuda.atomic.xor(integers, 6, v)
        cuda.atomic.max(unsigned, 0, uint32(v + 20))
        cuda.atomic.min(unsigned, 1, uint32(v + 20))
        cuda.atomic.add(unsigned, 2, uint32(v + 20))
        cuda.atomic.xor(unsigned, 3, uint32(i))
        cuda.atomic.inc(unsigned, 4, uint32(6))
        cuda.atomic.dec(unsigned, 5, uint32(6))


@cuda.jit
def floats(sums, extremes, values):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(sums, i % 4, values[i])
        cuda.atomic.sub(sums, 4, values[i])
        cuda.atomic.max(extremes, 0, values[i])
        cuda.atomic.min(extremes, 1, values[i])
        cuda.atomic.nanmax(extremes, 2, values[i])
        cuda.atomic.nanmin(extremes, 3, values[i])


@cuda.jit
def tickets(order, counter):
    ticket = cuda.atomic.add(counter, 0, 1)
    order[ticket] = 1
    cuda.atomic.add(counter, 1, ticket)


@cuda.jit
def ring(counter, seen):
    place = cuda.atomic.inc(counter, 0, uint32(4))
    cuda.atomic.add(seen, place, 1)


@cuda.jit
def exchange_chain(cell, sums):
    """Every value that was ever in the cell comes out once, except the last."""
    value = int32(cuda.grid(1)) + 1
    old = cuda.atomic.exch(cell, 0, value)
    cuda.atomic.add(sums, 0, old)


@cuda.jit
def first_to_claim(owners, claims):
    i = cuda.grid(1)
    old = cuda.atomic.cas(owners, i % 8, -1, i % 8)
    if old == -1:
        cuda.atomic.add(claims, i % 8, 1)


@cuda.jit
def compare_and_swap_first(cell, winners):
    if cuda.atomic.compare_and_swap(cell, 0, 5) == 0:
        cuda.atomic.add(winners, 0, 1)


@cuda.jit
def shared_counters(out, values):
    count = cuda.shared.array(4, int32)
    weight = cuda.shared.array((2, 2), float32)
    t = cuda.threadIdx.x
    if t < 4:
        count[t] = 0
        weight[t // 2, t % 2] = 0
    cuda.syncthreads()
    cuda.atomic.add(count, t % 4, values[t])
    cuda.atomic.max(weight, (t % 2, (t // 2) % 2), float32(values[t]) / 8)
    cuda.syncthreads()
    if t < 4:
        out[t] = count[t]
        out[4 + t] = int32(weight[t // 2, t % 2] * 8)


def run_max():
    result = np.zeros(1, np.int32)
    max_example[4, 32](result, VALUES.copy())
    assert result[0] == VALUES.max()
    return result


def run_max_3d():
    values = (np.arange(64, dtype=np.float32).reshape(4, 4, 4) * 29 % 64) / 8
    result = np.zeros((3, 3, 3), np.float32)
    max_example_3d[(2, 2, 2), (2, 2, 2)](result, values)
    assert result[0, 1, 2] == values.max()
    return result


def run_all():
    integers = np.array([0, 0, 1000, -1000, -1, 0, 0], np.int32)
    unsigned = np.array([0, 1000, 0, 0, 0, 3], np.uint32)
    all_of_them[4, 32](integers, unsigned, VALUES.copy())
    np.testing.assert_array_equal(integers[:4], [VALUES.sum(), -VALUES.sum(), VALUES.min(), VALUES.max()])
    return integers, unsigned


def run_floats():
    values = VALUES.astype(np.float32) / 8
    sums, extremes = np.zeros(5, np.float32), np.zeros(4, np.float32)
    floats[4, 32](sums, extremes, values)
    return sums, extremes


def run_tickets():
    order, counter = np.zeros(96, np.int32), np.zeros(2, np.int32)
    tickets[3, 32](order, counter)
    assert order.all()
    return order, counter


def run_ring():
    counter, seen = np.zeros(1, np.uint32), np.zeros(5, np.int32)
    ring[2, 35](counter, seen)
    assert (seen == 14).all()
    return counter, seen


def run_exchange():
    cell, sums = np.zeros(1, np.int32), np.zeros(1, np.int32)
    exchange_chain[2, 40](cell, sums)
    assert cell[0] + sums[0] == sum(range(81))
    return cell + sums


def run_claim():
    owners, claims = np.full(8, -1, np.int32), np.zeros(8, np.int32)
    first_to_claim[2, 32](owners, claims)
    assert (claims == 1).all()
    return owners, claims


def run_compare_and_swap():
    cell, winners = np.zeros(1, np.int32), np.zeros(1, np.int32)
    compare_and_swap_first[2, 32](cell, winners)
    assert (cell[0], winners[0]) == (5, 1)
    return cell, winners


def run_shared():
    out = np.zeros(8, np.int32)
    shared_counters[1, 64](out, VALUES.copy())
    return out
