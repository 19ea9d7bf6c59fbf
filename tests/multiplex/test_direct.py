"""Virtual blocks see the baseline's launch, by whatever name a kernel asks for it; all threads meet its barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux import cuda, multiplex
from smmux.kernel import Kernel
from smmux.rewriting.direct import direct
from smmux.rewriting.vocabulary import functions
from tests.multiplex.kernels import device, kernel

THREADS, BLOCKS = 32, 8


@cuda.jit(device=True)
def blocks() -> Any:
    return cuda.gridDim.x


@cuda.jit(device=True)
def threads() -> Any:
    return cuda.gridsize(1)


@cuda.jit(device=True)
def nested() -> Any:
    return blocks() + 100 * cuda.blockDim.x


@cuda.jit(device=True)
def place() -> Any:
    return cuda.grid(1) + cuda.blockIdx.x


@cuda.jit(device=True)
def applied(f: Any, factor: Any = 3) -> Any:
    return f() * factor


@cuda.jit(device=True)
def by_default(x: Any, f: Any = blocks) -> Any:
    return f() + x


@cuda.jit(device=True)
def renamed_within() -> Any:
    f = place
    c = cuda
    return f() + c.gridDim.x + applied(nested)


class Namespace:
    f = blocks


TABLE = (blocks, place)
NAMES: dict[str, Any] = {name: value for name, value in globals().items() if isinstance(value, Kernel)}
NAMES |= {"Namespace": Namespace, "TABLE": TABLE, "size_of_grid": cuda.gridsize}

SEEN = {
    "blocks()": "",
    "threads()": "",
    "nested()": "",
    "place()": "",
    "renamed_within()": "",
    "by_default(2)": "",
    "by_default(2, nested)": "",
    "by_default(f=threads, x=1)": "",
    "applied(blocks)": "",
    "applied(place, factor=5)": "",
    "Namespace.f()": "",
    "max(blocks(), 1)": "",
    "f()": "f = blocks",
    "g()": "f = nested; g = f",
    "applied(h)": "h = place",
    "c.gridDim.x + c.grid(1)": "c = cuda",
    "d.x": "d = cuda.gridDim",
    "s_of(1)": "s_of = size_of_grid",
    "x + y": "x, y = blocks(), place()",
}
REFUSED = {
    "TABLE[0]()": "",
    "both[1]()": "both = (blocks, place)",
    "(blocks if t < 64 else place)()": "",
    "named[0](1)": "named = (cuda.grid,)",
}
FORMS: dict[str, Callable[[Kernel], multiplex.VirtualKernel]] = {
    "vtb": multiplex.vtb,
    "vtb 3": lambda kernel: multiplex.vtb(kernel, 3).fitted(BLOCKS, THREADS),
    "vtb_pipe": lambda kernel: multiplex.vtb_pipe(kernel).fitted(BLOCKS, THREADS),
    "co_vtb": lambda kernel: multiplex.co_vtb(kernel, "s", 16),
}


def asking(what: str, first: str) -> Kernel:
    return kernel(
        f"""
def asking(a, o):
    s = cuda.shared.array({THREADS}, int32)
    t = cuda.threadIdx.x
    {first or "pass"}
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    s[t] = a[i]
    cuda.syncthreads()
    o[i] = s[cuda.blockDim.x - 1 - t] + 1000 * ({what})
""",
        **NAMES,
    )


@pytest.mark.quick
@pytest.mark.parametrize("what", SEEN)
@pytest.mark.parametrize("form", FORMS)
def test_sizes_and_places_are_the_baselines(what: str, form: str) -> None:
    made = asking(what, SEEN[what])
    a = np.arange(THREADS * BLOCKS, dtype=np.int32)
    expected, found = np.zeros_like(a), np.zeros_like(a)
    made.simulate(BLOCKS, THREADS, [a, expected], gpu="GTX480-48K")
    virtual = FORMS[form](made)
    virtual.simulate(*virtual.geometry(BLOCKS, THREADS), [a, found], gpu="GTX480-48K")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_followed_is_refused(what: str) -> None:
    with pytest.raises(multiplex.MultiplexError, match="by its own name"):
        multiplex.vtb(asking(what, REFUSED[what]))


def test_a_table_of_functions_that_ask_for_nothing() -> None:
    one = device("def one():\n    return 1\n")
    made = kernel("def k(s, o):\n    o[cuda.grid(1)] = table[0]()\n", table=(one,))
    assert one.definition in set(functions(made.definition))


def test_direct_functions_stay_as_they_are() -> None:
    made = kernel("def k(o):\n    n = blocks()\n    o[cuda.grid(1)] = n\n", **NAMES)
    assert direct(made.definition) is made.definition


def test_barriers_behind_other_names_are_found() -> None:
    text = """
def k(a, o):
    s = cuda.shared.array(32, int32)
    wait = cuda.syncthreads
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    wait()
    o[cuda.grid(1)] = s[31 - t]
"""
    direct_text = text.replace("wait()", "cuda.syncthreads()").replace("    wait = cuda.syncthreads\n", "")
    assert multiplex.vtb(kernel(text)).source == multiplex.vtb(kernel(direct_text)).source


@pytest.mark.parametrize("n", [2, 3, 4])
def test_blocks_too_many_meet_all_barriers(n: int) -> None:
    made = asking("blocks()", "")
    a = np.arange(THREADS * 7, dtype=np.int32)
    expected, found = np.zeros_like(a), np.zeros_like(a)
    made.simulate(7, THREADS, [a, expected], gpu="GTX480-48K")
    fitted = multiplex.vtb(made, n).fitted(7, THREADS)
    result = fitted.simulate(*fitted.geometry(7, THREADS), [a, found], gpu="GTX480-48K", check="races")
    np.testing.assert_array_equal(found, expected)
    assert not result.findings
