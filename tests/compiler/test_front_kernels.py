"""Kernels as objects: compilation cache, listings, host-side conveniences, speed of the front end."""

import sys
import time

import numpy as np
import pytest

from smmux import cuda, float32, int32
from smmux.compiler import python as frontend
from smmux.compiler.driver.compiling import clear_cache
from smmux.compiler.options import Options
from smmux.kernel import Kernel, from_source
from tests.compiler.front import run

SCALE = 3


@cuda.jit
def scaled(out, a):
    """Multiply by a global."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * SCALE


def test_decorators():
    def function(a):
        a[0] = 1

    for decorated in (
        cuda.jit(function), cuda.jit()(function), cuda.jit("void(int32[:])")(function), cuda.jit((int32[:],))(function),
        cuda.jit(fastmath=True, inline=True, max_registers=32)(function),
    ):  # fmt: skip
        assert isinstance(decorated, Kernel)
        assert not decorated.device
        a = np.zeros(1, np.int32)
        decorated[1, 1](a)
        assert a[0] == 1
    assert cuda.jit(device=True)(function).device
    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Multiply by a global."


def test_launch_forms():
    a = np.arange(10, dtype=np.int32)
    for launch in (
        scaled[1, 32],
        scaled[(1,), (32, 1, 1)],
        scaled.configure(1, 32),
        scaled.forall(10),
        scaled[1, 32, cuda.stream(), 0],
    ):
        out = np.zeros_like(a)
        launch(out, a)
        np.testing.assert_array_equal(out, 3 * a)


def test_programs_are_cached_by_what_they_depend_on():
    a, b = np.arange(8, dtype=np.int32), np.arange(9, dtype=np.int32)
    first = scaled.compile((a, a))
    assert scaled.compile((a.copy(), a)) is first
    assert scaled.compile((b, b)) is not first
    assert scaled.compile((a, a), schedule="source") is not first
    assert scaled.compile((a, a), schedule="list") is first  # the default machine's
    module = sys.modules[__name__]
    module.SCALE = 5
    try:
        out = np.zeros_like(a)
        run(scaled, 1, 32, out, a)
        np.testing.assert_array_equal(out, 5 * a)
    finally:
        module.SCALE = 3
    assert scaled.compile((a, a)) is first
    clear_cache()
    assert scaled.compile((a, a)) is not first


def test_listing_shows_source_and_operations():
    a = np.arange(8, dtype=np.int32)
    listing = scaled.ir(a, a)
    assert "out[i] = a[i] * SCALE" in listing
    assert "ld.global" in listing
    assert ".param .ptr out" in listing
    assert scaled.ir(scaled.signature((a, a))) == listing


def test_representations():
    assert "scaled" in repr(scaled)
    assert "test_front_kernels.py" in repr(scaled)
    assert scaled.source.startswith("@cuda.jit\ndef scaled(out, a):")
    assert "out[i] = a[i] * SCALE" in scaled._repr_html_()


def test_host_conveniences():
    a = np.arange(6, dtype=np.float32)
    device = cuda.to_device(a)
    assert not np.shares_memory(device, a)
    out = cuda.device_array_like(device)
    more = cuda.device_array((2, 3), dtype=np.float32)

    @cuda.jit
    def copy(x, y, z):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = 2 * x[i]
            z[i // 3, i % 3] = x[i]

    start, end = cuda.event(), cuda.event()
    start.record()
    copy[1, 32](device, out, more)
    end.record()
    cuda.synchronize()
    assert 0 < cuda.event_elapsed_time(start, end) < 60_000
    host = out.copy_to_host()
    assert type(host) is np.ndarray
    np.testing.assert_array_equal(host, 2 * a)
    buffer = np.zeros((2, 3), np.float32)
    more.copy_to_host(buffer)
    np.testing.assert_array_equal(buffer, a.reshape(2, 3))
    device.copy_to_device(a + 1)
    np.testing.assert_array_equal(device, a + 1)


def test_defaults_and_keywords():
    @cuda.jit(device=True)
    def add(x, y=5, **others):
        return x + y

    @cuda.jit(device=True)
    def plus(x, y=5):
        return x + y

    @cuda.jit
    def kernel(out, offset=100):
        out[0], out[1], out[2] = plus(1), plus(y=1, x=1), offset

    out = np.zeros(3, np.int32)
    run(kernel, 1, 1, out)
    np.testing.assert_array_equal(out, [6, 2, 100])
    with pytest.raises(Exception, match=r"no \*\*kwargs"):
        _ = add.definition.parameters


def test_closures():
    def make(factor):
        @cuda.jit
        def kernel(out):
            out[0] = factor * 2

        return kernel

    for factor in (3, 4.5):
        out = np.zeros(1, np.float32)
        run(make(factor), 1, 1, out)
        assert out[0] == 2 * factor


def test_changed_trees_keep_their_lines():
    text = "def kernel(out):\n    out[0] = 1\n    out[1] = 2\n"
    kernel = from_source(text, {}, filename="somewhere.py")
    out = np.zeros(2, np.int32)
    run(kernel, 1, 1, out)
    assert out.tolist() == [1, 2]
    lowered = frontend.lower(kernel.definition, kernel.signature((out,)), Options())
    assert {i.loc.line for i in lowered.instrs() if i.op == "st.global"} == {2, 3}


def big_kernel(statements):
    """Straight code, nested loops and calls, about `statements` operations long."""
    body = "".join(f"    x{i % 17} = x{(i * 7) % 17} * float32({i}.5) + x{(i * 3) % 17}\n" for i in range(statements))
    first = "".join(f"    x{i} = a[i + {i}]\n" for i in range(17))
    total = " + ".join(f"x{i}" for i in range(17))
    return from_source(
        f"def kernel(out, a):\n    i = cuda.threadIdx.x\n{first}{body}    out[i] = {total}\n",
        {"cuda": cuda, "float32": float32},
    )


def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def fast_enough(measured):
    """One good time is enough: other work on the computer only ever adds to it."""
    return any(measured() for _ in range(6))


def test_three_thousand_operations_in_under_a_second():
    out, a = np.zeros(64, np.float32), np.zeros(128, np.float32)
    kernel = big_kernel(3000)
    signature = kernel.signature((out, a))
    assert fast_enough(lambda: seconds(lambda: frontend.lower(kernel.definition, signature, Options())) < 1)


@pytest.mark.long
def test_time_grows_with_length():
    out, a = np.zeros(64, np.float32), np.zeros(128, np.float32)

    def near_linear():
        short, long = (
            seconds(lambda k=k: frontend.lower(k.definition, k.signature((out, a)), Options())) for k in kernels
        )
        return long < 16 * short + 0.1

    kernels = list(map(big_kernel, (1000, 8000)))
    assert fast_enough(near_linear)


def test_deep_loop_nests_compile_quickly():
    depth = 8
    loops = "".join("    " * (d + 1) + f"for v{d} in range(n, 50 + {d}):\n" for d in range(depth))
    tests = "".join(
        "    " * (depth + 1) + f"if v{d} > {d}:\n" + "    " * (depth + 2) + f"s += v{d}\n" for d in range(depth)
    )
    constant = loops.replace("range(n, 50", "range(0, 50")
    for nest in (loops, constant):
        kernel = from_source(f"def kernel(out, n):\n    s = 0\n{nest}{tests}    out[0] = s\n", {"cuda": cuda})
        signature = kernel.signature((np.zeros(1, np.int32), 1))
        assert fast_enough(
            lambda k=kernel, s=signature: seconds(lambda: frontend.lower(k.definition, s, Options())) < 3
        )
