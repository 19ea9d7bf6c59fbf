"""Control flow: the kernels' results against the same functions run as plain Python."""

import numpy as np
import pytest

from smmux import cuda, float32, int32, uint32
from tests.compiler.front import outputs, run

A = np.array([0, 1, 2, 3, 5, 8, 13, -4, -1, 31, 32, 100], np.int32)
N = len(A)


def against_python(function, *arrays, dtype=np.int32):
    """Kernel out[i] = function(arrays[0][i], ...), against the function itself."""
    device = cuda.jit(device=True)(function)

    @cuda.jit
    def one(out, a):
        i = cuda.threadIdx.x
        out[i] = device(a[i])

    @cuda.jit
    def two(out, a, b):
        i = cuda.threadIdx.x
        out[i] = device(a[i], b[i])

    expected = [function(*(int(v) for v in values)) for values in zip(*arrays, strict=True)]
    np.testing.assert_array_equal(outputs({1: one, 2: two}[len(arrays)], *arrays, dtype=dtype), expected)


def test_if_elif_else():
    def function(a):
        x = 1
        if a < 0:
            x = -1
        elif a == 0:
            x = 0
        elif a > 10:
            if a > 50:
                x += 100
        else:
            x = a * 2
        return x

    against_python(function, A)


def test_early_returns():
    def function(a):
        if a < 0:
            return -5
        for i in range(a):
            if i * i > a:
                return i
        return 99

    against_python(function, A)


def test_while_break_continue_else():
    def function(a):
        total = 0
        i = 0
        while i < a:
            i += 1
            if i % 3 == 0:
                continue
            if i > 20:
                break
            total += i
        else:
            total += 1000
        return total

    against_python(function, A)


def test_for_else_and_loop_variable_afterwards():
    def function(a):
        last = -1
        i = -7
        for i in range(2, a, 3):
            last = i
            if i == 11:
                break
        else:
            last += 1000
        return last * 10 + i

    against_python(function, A)


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_ranges_with_constant_steps(step):
    def function(a, b):
        total = 0
        for i in range(a, b, step):
            total = total * 3 + i & 0xFFFF
        return total

    against_python(function, A, A[::-1].copy())


def test_range_with_a_step_of_unknown_sign():
    def function(a, b):
        total = 0
        for i in range(a, 20 - a, b):
            total += i
        return total

    against_python(function, A, np.array([1, -1, 2, -2, 3, -3] * 2, np.int32))


@pytest.mark.parametrize("typing", ["numpy", "numba"])
@pytest.mark.parametrize(
    "bounds",
    [
        (2**63 - 10, 2**63 - 1, 4),
        (10 - 2**63, -(2**63), -4),
        (-(2**63), 2**63 - 1, 2**62),
        (2**63 - 1, -(2**63), -(2**62)),
    ],
)
@pytest.mark.parametrize("step_is_known", [True, False])
def test_ranges_of_64_bits_stop_at_the_ends_of_their_type(bounds, typing, step_is_known):
    step = bounds[2]

    @cuda.jit
    def kernel(out, a):
        count = 0
        for i in range(a[0], a[1], step if step_is_known else a[2]):
            out[1] = i
            count += 1
        out[0] = count

    out, numbers = np.zeros(2, np.int64), range(*bounds)
    kernel.simulate(1, 1, (out, np.array(bounds, np.int64)), typing=typing, max_cycles=1_000_000)
    assert out.tolist() == [len(numbers), numbers[-1]]


def test_body_may_assign_the_loop_variable():
    def function(a):
        total = 0
        for i in range(a):
            i = i * 2
            total += i
        return total

    against_python(function, A)


def test_nested_loops_with_carried_values():
    def function(a):
        x, y = 0, 1
        for i in range(a):
            for j in range(i % 4):
                x, y = y, (x + y + j) % 1000
            if x > 500:
                x -= 500
        return x * 1000 + y

    against_python(function, A)


def test_unrolled_loops_with_dynamic_break():
    def function(a):
        total = 0
        for i in range(10):
            if i == a:
                break
            if i == 3:
                continue
            total += i * a
        else:
            total = -total
        return total

    against_python(function, A)


def test_short_circuit_protects_accesses():
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        if i + 4 < a.size and a[i + 4] > 3:
            out[i] = 1
        out[i] += a[i - 4] if i >= 4 else 50

    expected = [(1 if i + 4 < N and A[i + 4] > 3 else 0) + (A[i - 4] if i >= 4 else 50) for i in range(N)]
    np.testing.assert_array_equal(outputs(kernel, A), expected)


def test_constant_while_unrolls():
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        stride = 8
        total = a[i]
        while stride > 0:
            total += stride
            stride //= 2
        out[i] = total

    assert "bra" not in kernel.ir(A, A)
    np.testing.assert_array_equal(outputs(kernel, A), A + 15)


@pytest.mark.long
def test_long_constant_loops_stay_loops():
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        total = a[i]
        for k in range(3000):
            for j in range(4):
                total = total * 5 + (k ^ j)
        out[i] = total

    x = A.astype(np.int64)
    for k in range(3000):
        for j in range(4):
            x = (x * 5 + (k ^ j)) & 0xFFFFFFFF
    program = kernel.compile((A, A))
    assert len(program) < 60
    np.testing.assert_array_equal(outputs(kernel, A), x.astype(np.uint32).view(np.int32))


def test_unroll_limit_is_an_option():
    @cuda.jit
    def kernel(out):
        for k in range(100):
            out[k] = k

    out = np.zeros(100, np.int32)
    assert len(kernel.compile((out,))) >= 100
    assert len(kernel.compile((out,), unroll_limit=50)) < 20
    run(kernel, 1, 1, out)
    np.testing.assert_array_equal(out, np.arange(100))


def test_constant_conditions_leave_one_side():
    flag = 0

    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        if flag:
            out[i] = nothing_of_that_name  # noqa: F821
        elif a.ndim == 1 and a.shape[0] == N:
            out[i] = a[i]

    assert "bra" not in kernel.ir(A, A)
    np.testing.assert_array_equal(outputs(kernel, A), A)


def test_while_true():
    def function(a):
        x = a
        while True:
            x += 7
            if x % 5 == 0:
                break
        return x

    against_python(function, A)


def test_conditionally_assigned_variable():
    def function(a):
        if a > 3:
            x = a * 7
        y = 1
        if a > 3:
            y = x
        return y

    against_python(function, A)


def test_conditional_expressions():
    def function(a):
        x = 5 if a > 2 else (a if a > 0 else -a)
        return x + (1 if a & 1 else 0)

    against_python(function, A)


def test_tuples():
    def function(a):
        t = (a, a + 1, 3)
        (x, y), z = (t[0], t[-1]), len(t)
        t4 = t + (z,)
        total = 0
        for item in t4:
            total += item
        for k in range(len(t4)):
            total += t4[k] * k
        u = t4[1:3]
        return total + x * y + u[0]

    against_python(function, A)


def test_variables_join_weak_and_typed():
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        total = 0.0
        count = 0
        for k in range(i):
            total += a[k]
            count += 1
        out[i] = total + count

    x = np.arange(1, 9, dtype=np.float32)
    np.testing.assert_array_equal(outputs(kernel, x), np.concatenate([[0], np.cumsum(x)[:-1]]) + np.arange(8))


def test_bool_variables():
    def function(a):
        found = False
        for i in range(a):
            if i * i == a:
                found = True
        odd = a % 2 == 1
        both = found and not odd
        return (1 if found else 0) + 2 * odd + (4 if both else 0)

    against_python(function, A)


def test_exit_of_threads_and_barriers():
    @cuda.jit
    def kernel(out, n):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        if t >= n:
            return
        tile[t] = t
        cuda.syncthreads()
        out[t] = tile[n - 1 - t]

    out = np.full(64, -1, np.int32)
    run(kernel, 1, 64, out, 40)
    np.testing.assert_array_equal(out, np.concatenate([np.arange(40)[::-1], np.full(24, -1)]))


def test_grid_stride_loop():
    @cuda.jit
    def kernel(out, a):
        start = cuda.grid(1)
        stride = cuda.gridsize(1)
        for i in range(start, a.shape[0], stride):
            out[i] = a[i] + 1

    a = np.arange(1000, dtype=np.int32)
    out = np.zeros_like(a)
    run(kernel, 3, 64, out, a)
    np.testing.assert_array_equal(out, a + 1)


def test_uint32_counter():
    @cuda.jit
    def kernel(out, n):
        total = uint32(0)
        for i in range(uint32(2), n):
            total += i
        out[0] = total

    out = np.zeros(1, np.uint32)
    run(kernel, 1, 1, out, np.uint32(10))
    assert out[0] == sum(range(2, 10))


def test_swap_through_a_loop():
    @cuda.jit
    def kernel(out, n):
        a, b, c = float32(1), float32(2), float32(3)
        for _ in range(n):
            a, b, c = b, c, a
        out[0], out[1], out[2] = a, b, c

    for n in range(5):
        out = np.zeros(3, np.float32)
        run(kernel, 1, 1, out, n)
        np.testing.assert_array_equal(out, np.roll([1, 2, 3], -n))
