"""Long sums, chains and many branches: as long as Python reads them, they compile."""

import numpy as np
import pytest

import smmux
from smmux import cuda, multiplex
from smmux.kernel import from_source

N = 1200
SHAPES = {
    "sum": ("out[0] = " + " + ".join(f"a[{i % 8}]" for i in range(N)), sum(i % 8 for i in range(N))),
    "constants": ("out[0] = " + " + ".join(["1"] * N), N),
    "minus": ("out[0] = " + "-" * 900 + "a[1]", 1),
    "not": ("out[0] = " + "not " * 901 + "a[1]", 0),
    "powers": ("out[0] = a[3]" + " ** 1" * N, 3),
    "comparisons": ("out[0] = " + " <= ".join(["a[1]"] * 300), 1),
    "and": ("out[0] = " + " and ".join(["a[3]"] * 300), 3),
    "conditional": ("out[0] = " + "".join(f"{i} if a[7] == {i} else " for i in range(300)) + "0", 7),
    "elif": ("if a[0] == 5:\n    pass\n" + "".join(f"elif a[7] == {i}:\n    out[0] = {i}\n" for i in range(500)), 7),
    "calls": ("out[0] = " + "abs(" * 90 + "a[2]" + ")" * 90, 2),
    "ifs": ("".join("    " * i + f"if a[{i % 8}] >= 0:\n" for i in range(90)) + "    " * 90 + "out[0] = 9", 9),
}


def text_of(body: str) -> str:
    return "def kernel(out, a):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("name", SHAPES)
def test_it_compiles(name: str) -> None:
    body, expected = SHAPES[name]
    kernel = from_source(text_of(body), {"cuda": cuda})
    out = np.zeros(1, np.int32)
    kernel.simulate(1, 1, (out, np.arange(8, dtype=np.int32)))
    assert out[0] == expected
    assert kernel.source
    assert isinstance(kernel.portability(out, np.arange(8, dtype=np.int32)), list)


@pytest.mark.long
def test_passes_take_it() -> None:
    total = " + ".join(f"s[{i % 8}]" for i in range(N))
    body = f"s = cuda.shared.array(8, np.int32)\ns[cuda.threadIdx.x] = a[0]\ncuda.syncthreads()\nout[0] = {total}"
    kernel = from_source(text_of(body), {"cuda": cuda, "np": np})
    assert len(multiplex.regions(kernel)) == 1
    assert multiplex.hw(kernel).source


def test_what_python_cannot_read_is_said() -> None:
    with pytest.raises(smmux.CompileError, match="nested too deeply"):
        from_source(text_of("out[0] = " + "-" * 20_000 + "a[1]"), {})
