"""What cannot be multiplexed is refused, and the message says why and where."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from smmux import CompileError, multiplex, smm
from smmux.multiplex.analysis.unmet import Cause, UnmetBarrierError
from tests.multiplex.kernels import device, kernel

HEAD = """
def f(a, n):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
"""
EXCHANGE = """\
tile[t] = a[t]
cuda.syncthreads()
a[t] = tile[63 - t]
"""


def made(text: str, **captured: object):
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return kernel(HEAD + lines, **captured)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


DIFFER = "can differ between threads of a block"
LEAVES = "this return leaves a region"
RETURN = "tile[t] = a[t]\nif {}:\n    return\ncuda.syncthreads()\na[t] = tile[t ^ 1]"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (f"if t < 32:\n{indented(EXCHANGE)}", 7, f"a condition that {DIFFER} (line 5: `if t < 32:`)"),
        (f"for i in range(a[t]):\n{indented(EXCHANGE)}", 7, f"a loop whose trip count {DIFFER}"),
        (f"while a[t] > 0:\n{indented(EXCHANGE)}", 7, f"a loop whose condition {DIFFER}"),
        (f"for i in range(n):\n    if t == i:\n        break\n{indented(EXCHANGE)}", 9, "leave before others"),
        (RETURN.format("t > 40"), 7, LEAVES),
        (RETURN.format("n > 40"), 7, LEAVES),
        (f"smm.alloc()\n{EXCHANGE}smm.release()", 5, "the kernel manages shared memory itself: smm.alloc"),
    ],
)
def test_refused(text: str, line: int, why: str) -> None:
    with pytest.raises(multiplex.MultiplexError) as caught:
        multiplex.hw(made(text, smm=smm))
    error = caught.value
    assert isinstance(error, CompileError)
    assert why in str(error)
    assert (error.filename, error.lineno) == ("user.py", line)
    with pytest.raises(multiplex.MultiplexError):
        multiplex.regions(made(text, smm=smm))


def test_barrier_in_a_device_function_that_some_threads_do_not_reach() -> None:
    helper = device("""
    def exchange(tile, t):
        if t > 40:
            return tile[t]
        cuda.syncthreads()
        return tile[63 - t]
    """)
    with pytest.raises(multiplex.MultiplexError, match="some threads have returned") as caught:
        multiplex.hw(made("tile[t] = a[t]\na[t] = exchange(tile, t)", exchange=helper))
    assert caught.value.lineno == 5  # of the device function


def test_kernels_without_shared_arrays() -> None:
    with pytest.raises(multiplex.MultiplexError, match="no access to a shared array"):
        multiplex.hw(kernel("def f(a):\n    a[cuda.threadIdx.x] = 0"))


def test_device_functions_are_no_kernels() -> None:
    with pytest.raises(multiplex.MultiplexError, match="is a device function"):
        multiplex.hw(device("def f(a):\n    a[0] = 0"))


@pytest.mark.parametrize("scheme", [multiplex.hw, multiplex.vtb, multiplex.vtb_pipe, multiplex.regions])
def test_other_things_are_no_kernels(scheme: Any) -> None:
    with pytest.raises(TypeError, match="a kernel made by smmux.cuda.jit is needed, not a function"):
        scheme(lambda a: a)


def test_arrays_of_the_launch_have_no_size() -> None:
    text = HEAD.replace("64", "0") + indented(EXCHANGE)
    with pytest.raises(multiplex.MultiplexError, match="give it a constant shape"):
        multiplex.hw(kernel(text))


def test_unknown_array_name() -> None:
    with pytest.raises(multiplex.MultiplexError, match="no shared array 'tyle' in 'f'; it has 'tile'"):
        multiplex.hw(made(EXCHANGE), {"tyle": 32})
    with pytest.raises(
        multiplex.MultiplexError, match="it has 'tile'; one is divided, given by its name, and the others are public"
    ):
        multiplex.co_hw(made(EXCHANGE), ("tile", "tyle"), 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["hw", "vtb", "vtb_pipe", "co_hw", "co_vtb"])
def test_blocks_that_all_wait_for_each_other(form: str) -> None:
    plain = kernel("""
    def f(a, out):
        tile = cuda.shared.array(32, float32)
        tile[cuda.threadIdx.x] = a[cuda.grid(1)]
        cuda.cg.this_grid().sync()
        out[cuda.grid(1)] = tile[31 - cuda.threadIdx.x]
    """)
    division = ("tile", 4) if form.startswith("co_") else ()
    with pytest.raises(multiplex.MultiplexError, match="all blocks of the grid wait for each other here") as caught:
        getattr(multiplex, form)(plain, *division)
    assert caught.value.lineno == 5
    assert len(multiplex.regions(plain)) == 1


@pytest.mark.long
def test_long_sums_are_written_out() -> None:
    total = " + ".join(f"tile[{i % 8}]" for i in range(1500))
    plain = kernel(f"""
    def f(a, out):
        tile = cuda.shared.array(32, float32)
        tile[cuda.threadIdx.x] = a[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = {total}
    """)
    assert multiplex.vtb_pipe(plain).source.count(" + ") > 1499


def test_an_unmet_barrier_has_a_cause() -> None:
    made = kernel("def k(a):\n    if cuda.threadIdx.x < 3:\n        cuda.syncthreads()\n    a[0] = 1\n")
    with pytest.raises(UnmetBarrierError) as caught:
        multiplex.vtb(made)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.cause is Cause.CONDITION
    assert error.decided == "line 2: `if cuda.threadIdx.x < 3:`"
    assert "differ between threads of a block" in error.msg
    assert "differ between virtual blocks" in error.of_virtual_blocks()
    assert error.in_a_line == f"user.py:3:9: {error.msg}: `cuda.syncthreads()`"
