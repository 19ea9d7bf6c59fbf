"""Everything that can go wrong in a kernel: its exception, source line, block and thread; and nothing else breaks."""

import inspect
import pickle
import re

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, gpus, int32, smm

CONST = np.arange(8, dtype=np.float32)


@cuda.jit
def load_outside(a, n):
    i = cuda.grid(1)
    if i == n:
        a[0] = a[i + a.size]  # here


@cuda.jit
def store_outside(a, n):
    i = cuda.grid(1)
    j = i
    if i == n:
        j = -100 - i
    a[j] = 1.0  # here


@cuda.jit
def atomic_outside(a, n):
    i = cuda.grid(1)
    if i == n:
        cuda.atomic.add(a, a.size, float32(1.0))  # here


@cuda.jit
def shared_outside(a, n):
    tile = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    if i == n:
        tile[i] = 1.0  # here
    a[0] = tile[0]


@cuda.jit
def local_outside(a, n):
    own = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(4):
        own[k] = 1.0
    if i == n:
        a[0] = own[i]  # here


@cuda.jit
def const_outside(a, n):
    table = cuda.const.array_like(CONST)
    i = cuda.grid(1)
    if i == n:
        a[0] = table[i]  # here


@cuda.jit
def division(a, n):
    i = cuda.grid(1)
    a[0] = float32(7 // (i - n))  # here


@cuda.jit
def remainder(a, n):
    i = cuda.grid(1)
    a[0] = float32(7 % (n - i))  # here


@cuda.jit
def unassigned(a, n):
    i = cuda.grid(1)
    if i != n:
        x = i
    a[i] = x  # here


@cuda.jit
def false_promise(a, n):
    i = cuda.grid(1)
    assert i < 41  # here
    a[i] += float32(n)


@cuda.jit
def raising(a, n):
    i = cuda.grid(1)
    if i == 41:
        raise ValueError("41 is too large")  # here
    a[i] = n


@cuda.jit
def divergent_barrier(a, n):
    i = cuda.grid(1)
    if i == n:
        cuda.syncthreads()  # here
    a[0] = 1.0


@cuda.jit
def nested(a, n):
    tile = smm.array(32, float32)
    smm.alloc()
    tile[0] = a[0]
    if a[0] < 1.0:
        smm.alloc()  # here
    smm.release()


@cuda.jit
def unmatched(a, n):
    tile = smm.array(32, float32)
    smm.alloc()
    tile[0] = a[0]
    smm.release()
    smm.release()  # here


@cuda.jit
def not_held(a, n):
    tile = smm.array(32, float32)
    smm.alloc()
    tile[0] = a[0]
    smm.release()
    a[0] = tile[1]  # here


@cuda.jit
def unreleased(a, n):
    tile = smm.array(32, float32)
    smm.alloc()
    tile[0] = a[0]


@cuda.jit
def runaway(a, n):
    while n > 0:  # here
        n += 0 * n


@cuda.jit
def waits_for_each_other(a, n):
    """Block 0 holds shared memory until block 1 has allocated: never."""
    tile = smm.array(4000, float32)
    smm.alloc()
    tile[0] = 1.0
    if cuda.blockIdx.x == 0:
        while cuda.atomic.add(a, 1, float32(0.0)) == 0.0:  # here
            cuda.threadfence()
    cuda.atomic.add(a, 1, float32(1.0))
    smm.release()


@cuda.jit
def too_much_shared(a, n):
    tile = cuda.shared.array(32, float32)
    large = cuda.shared.array(5000, float32)  # here
    tile[0] = 1.0
    large[0] = 1.0
    a[0] = tile[0] + large[0]


@cuda.jit
def too_much_dynamic(a, n):
    large = smm.array((50, 100), float32)  # here
    smm.alloc()
    large[0, 0] = a[0]
    smm.release()


@cuda.jit
def too_many_registers(a, n):  # here
    own = cuda.local.array(64, float32)
    for k in range(64):
        own[k] = a[k]
    for k in range(64):
        a[63 - k] = own[k]


@cuda.jit
def good(a, n):
    tile = smm.array(32, float32)
    i = cuda.grid(1)
    smm.alloc()
    tile[cuda.threadIdx.x] = a[i]
    smm.release()
    a[i] += float32(n)


PLACE = ((1, 0, 0), (9, 0, 0))
DYNAMIC = {"management": "dynamic", "extra_blocks": 2}
ANYWHERE = (None, None)

# kernel, exception, what the message says, block and thread where they are known, options
TABLE = [
    (load_outside, smmux.OutOfBoundsError, "global access outside the array, array 'a', flat index 137", PLACE, {}),
    (store_outside, smmux.OutOfBoundsError, "flat index -45", PLACE, {}),
    (atomic_outside, smmux.OutOfBoundsError, "flat index 96", PLACE, {}),
    (shared_outside, smmux.OutOfBoundsError, "shared access outside the block's shared memory", PLACE, {}),
    (local_outside, smmux.OutOfBoundsError, "local access outside the local array", PLACE, {}),
    (const_outside, smmux.OutOfBoundsError, "constant access outside the array", PLACE, {}),
    (division, smmux.KernelZeroDivisionError, "integer division by zero", PLACE, {}),
    (remainder, smmux.KernelZeroDivisionError, "integer division by zero", PLACE, {}),
    (unassigned, smmux.KernelUnboundLocalError, "variable 'x' is used before it is assigned", PLACE, {}),
    (false_promise, smmux.KernelAssertionError, "assert i < 41 does not hold", PLACE, {"check": "bounds"}),
    (raising, smmux.KernelRaisedError, "ValueError: 41 is too large", PLACE, {}),
    (divergent_barrier, smmux.BarrierError, "barrier under a divergent mask", PLACE, {}),
    (nested, smmux.AllocationError, "allocation while the block already holds", ANYWHERE, DYNAMIC),
    (unmatched, smmux.AllocationError, "release without an allocation", ANYWHERE, DYNAMIC),
    (not_held, smmux.AllocationError, "access to dynamic shared memory that the block does not", ANYWHERE, DYNAMIC),
    (unreleased, smmux.AllocationError, "block ended holding shared memory", ANYWHERE, DYNAMIC),
    (runaway, smmux.CycleLimitError, "cycle limit reached: ", ANYWHERE, {"max_cycles": 3000}),
    (waits_for_each_other, smmux.DeadlockError, "for what block 0 holds", ANYWHERE, {"max_cycles": 20_000, **DYNAMIC}),
]
BLOCK = 32


def arguments():
    return np.zeros(96, np.float32), 41


def marked_line(kernel):
    lines, first = inspect.getsourcelines(kernel.function)
    marked = [first + i for i, line in enumerate(lines) if "# here" in line]
    return marked[0] if marked else None


@pytest.mark.parametrize(
    ("kernel", "error", "message", "place", "options"), TABLE, ids=[row[0].__name__ for row in TABLE]
)
def test_it_is_named_and_nothing_else_breaks(kernel, error, message, place, options):
    machine = gpus.get("GTX285-1100").replace(sm_count=1)
    expected = good.simulate(3, BLOCK, (np.zeros(96, np.float32), 5), gpu=machine, **DYNAMIC)
    with pytest.raises(error) as caught:
        kernel.simulate(3, BLOCK, arguments(), gpu=machine, **options)
    found = caught.value
    assert type(found).__name__ == error.__name__
    assert isinstance(found, error)
    assert message in str(found)
    if line := marked_line(kernel):
        assert found.line == line
        assert f"{__file__}:{line}" in str(found)
        assert found.block is not None
        assert found.thread is not None
    if place != ANYWHERE:
        assert (found.block, found.thread) == place
    assert found.kernel == kernel.__name__
    assert str(pickle.loads(pickle.dumps(found))) == str(found)

    out = np.zeros(96, np.float32)
    again = good.simulate(3, BLOCK, (out, 5), gpu=machine, **DYNAMIC)
    assert again.to_dict() == expected.to_dict()
    assert (out == 5).all()


TOO_LARGE = [
    (too_much_shared, 32, "20156 bytes of shared memory .'large' 20000, 'tile' 128, parameters and built-ins 28"),
    (too_much_dynamic, 32, "20028 bytes of shared memory .'large' 20000, parameters"),
    (
        too_many_registers,
        512,
        "512 threads with 64 registers each has no room .* has 16384 registers; .*max_registers=32",
    ),
    (too_many_registers, 513, "x is 513, GTX285 allows 512"),
    (too_many_registers, (8, 8, 65), "z is 65, GTX285 allows 64"),
    (too_many_registers, (32, 32), "has 1024 threads, GTX285 allows 512"),
    (too_many_registers, 0, "block 0 has a dimension below 1"),
]


@pytest.mark.parametrize(("kernel", "block", "message"), TOO_LARGE)
def test_a_kernel_too_large_for_the_card_is_refused_at_its_line(kernel, block, message):
    out, n = arguments()
    with pytest.raises(smmux.LaunchError, match=message) as caught:
        kernel.simulate(1, block, (out, n), gpu="GTX285")
    line = marked_line(kernel)
    assert (caught.value.line, caught.value.kernel) == (line, kernel.__name__)
    assert f"{__file__}:{line}" in str(caught.value)
    assert not out.any()


@pytest.mark.parametrize(
    ("kernel", "array", "element"),
    [(shared_outside, "tile", "41 of 32"), (local_outside, "own", "41 of 4"), (const_outside, "table", "41 of 8")],
)
def test_the_element_outside_is_named_in_every_space(kernel, array, element):
    with pytest.raises(smmux.OutOfBoundsError, match=f"'{array}', flat index {element}") as caught:
        kernel.simulate(3, BLOCK, arguments(), gpu="GTX480-16K")
    assert caught.value.array == array


@pytest.mark.parametrize("index", [1 << 29, 1 << 30, (1 << 31) - 1])
def test_an_index_far_outside_is_not_told_as_another_one(index):
    """Its byte offset does not fit into an address: what the access used in its place says nothing to a user."""

    @cuda.jit
    def far_in_memory(out, n):
        out[n] = 1

    @cuda.jit
    def far_in_shared(out, n):
        tile = cuda.shared.array(32, int32)
        tile[n] = 1
        out[0] = tile[0]

    for kernel, what in (
        (far_in_memory, "an index far outside of shape (4,)"),
        (far_in_shared, "an index far outside of 32"),
    ):
        with pytest.raises(smmux.OutOfBoundsError, match=re.escape(what)):
            kernel.simulate(1, 1, (np.zeros(4, np.int32), index))


def test_shared_memory_given_at_launch_is_held_though_no_array_uses_it():
    """CUDA reserves it for the block: eight blocks of 3,000 bytes do not fit into 16 kB."""
    plain, holding = (good.simulate(3, BLOCK, arguments(), gpu="GTX480-16K", dynshared=n) for n in (0, 3000))
    assert (plain.residency, holding.residency, holding.limiter) == (8, 5, "shared memory")
    for wrong in (-1, 1.5, "8", 1 << 40):
        with pytest.raises(smmux.ConfigError, match="dynshared"):
            good.simulate(3, BLOCK, arguments(), dynshared=wrong)


def test_the_lines_at_which_warps_are_come_with_their_number():
    @cuda.jit
    def two_loops(n):
        if cuda.blockIdx.x == 0:
            while n > 0:
                n += 0 * n
        else:
            while n > 0:
                n += int32(0)

    with pytest.raises(smmux.CycleLimitError) as caught:
        two_loops.simulate(3, 64, (1,), gpu="GTX285", max_cycles=2000)
    assert "4 warps at line" in str(caught.value)
    assert "2 warps at line" in str(caught.value)
    assert caught.value.block in ((1, 0, 0), (2, 0, 0))
    assert caught.value.cycle == 2000


def test_a_store_to_a_read_only_array_is_found_before_it_runs():
    @cuda.jit
    def store(source):
        source[0] = 1.0  # here

    source = np.zeros(4, np.float32)
    source.flags.writeable = False
    with pytest.raises(smmux.CompileError, match="'source' is read-only") as caught:
        store.simulate(1, 32, (source,))
    assert caught.value.lineno == marked_line(store)
