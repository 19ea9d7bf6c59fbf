"""`print` in kernels: as Numba prints on a card, in the order of blocks and threads."""

# ruff: noqa: T201

from __future__ import annotations

import pickle
from json import loads
from pathlib import Path

import numpy as np
import pytest

from smmux import cuda, errors, float64, int64
from smmux.__main__ import main
from smmux.results.printed import text_of

LIMIT = 32768  # values that an SM keeps: PRINTED_MOST of csrc/sm/print.h


@cuda.jit
def numbers(a):
    i = cuda.grid(1)
    print(i, 23, 34.75, 321)
    print("a", a[i], a[i] > 0, -i, sep="; ")


def test_as_numba_prints_on_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own tests expect `0 23 34.750000 321`."""
    a = np.array([0.5, -2.25, 1e10], np.float32)
    numbers[3, 1](a)
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == [f"{i} 23 34.750000 321" for i in range(3)]
    assert lines[1::2] == ["a; 0.500000; True; 0", "a; -2.250000; False; -1", "a; 10000000000.000000; True; -2"]


@cuda.jit
def wide(a, b, c):
    i = cuda.grid(1)
    print(a[i], b[i], c[i], int64(i) - 5, float64(i) / 3)


def test_numbers_of_64_bits() -> None:
    a, b = np.array([-(1 << 63), 7]), np.array([(1 << 64) - 1, 0], np.uint64)
    c = np.array([np.inf, np.nan])
    printed = wide.simulate(1, 2, (a, b, c)).printed
    assert printed == f"{-(1 << 63)} {(1 << 64) - 1} inf -5 0.000000\n7 0 nan -4 0.333333\n"


@cuda.jit
def ordered(n):
    x = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    for k in range(n + t % 3):
        if (t + x) % 2:
            print(x, t, k)


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-48K"])
def test_order_is_that_of_blocks_and_threads(gpu: str) -> None:
    wanted = [f"{x} {t} {k}" for x in range(70) for t in range(48) if (t + x) % 2 for k in range(2 + t % 3)]
    for window, host_threads in ((0, 1), (1, 1), (0, 3)):
        result = ordered.simulate((35, 2), (12, 4), (2,), gpu, window=window, host_threads=host_threads)
        assert result.printed.splitlines() == wanted


@cuda.jit
def plain(a):
    print()
    print("one", "two", end="")
    print("", "three", sep="-")
    print(True, 2**40, -1.0)
    if a[0] > 0:
        print("never")


def test_strings_and_constants() -> None:
    assert plain.simulate(1, 1, (np.zeros(1, np.float32),)).printed == (
        "\none two-three\nTrue 1099511627776 -1.000000\n"
    )


@cuda.jit
def many(n):
    for k in range(n):
        print(k)


def test_what_does_not_fit_is_counted() -> None:
    lines = many.simulate(1, 1, (LIMIT + 10,), "GTX285").printed.splitlines()
    assert lines[:2] == ["0", "1"]
    assert lines[-2:] == [str(LIMIT - 1), "... and 10 more values, for which the SMs had no room"]


@cuda.jit
def failing(a, n):
    i = cuda.grid(1)
    print("at", i)
    a[n] = i


def test_what_was_printed_before_an_error_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    a = np.zeros(3, np.int32)
    with pytest.raises(errors.OutOfBoundsError) as caught:
        failing[1, 2](a, 5)
    assert capsys.readouterr().out == caught.value.printed == "at 0\nat 1\n"


PRINTED = """
from smmux import cuda

@cuda.jit
def k(a, n):
    print("<at>", n)
    a[n] = 1
"""


@pytest.mark.parametrize("json", [False, True])
def test_a_shell_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], json: bool) -> None:
    (tmp_path / "k.py").write_text(PRINTED)
    words = ["run", f"{tmp_path}/k.py:k", "--grid", "1", "--block", "1", "float32[4]", *["--json"] * json]
    assert main([*words, "3", "--html", f"{tmp_path}/k.html"]) == 0
    assert "<pre>&lt;at&gt; 3\n</pre>" in (tmp_path / "k.html").read_text()
    out, err = capsys.readouterr()
    assert (err if json else out.partition("<Result")[0]) == "<at> 3\n"
    assert not json or loads(out)["printed"] == "<at> 3\n"
    assert main([*words, "5"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.partition("error: global access")[0]) == (("", "<at> 5\n") if json else ("<at> 5\n", ""))


def test_values_and_cycles_of_others_do_not_change() -> None:
    """A kernel that prints takes an issue slot per value, and no more."""
    result = plain.simulate(1, 1, (np.zeros(1, np.float32),))
    assert pickle.loads(pickle.dumps(result.printed)) == result.printed
    assert text_of(b"", 0, result.program) == ""


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("print(a)", "print takes strings and numbers, not a 1-d array"),
        ("print((1, 2))", "print takes strings and numbers, not a tuple"),
        ("print(1, sep=3)", "sep of print has to be a string"),
        ("print(f'{a[0]}')", "an f-string is not supported in a kernel; give print the strings and numbers one by one"),
        ("print(1, file=2)", "wrong arguments for print"),
    ],
)
def test_refusals(statement: str, message: str) -> None:
    from smmux.kernel import from_source

    kernel = from_source(f"def kernel(a):\n    {statement}\n", {"cuda": cuda, "print": print})
    with pytest.raises(errors.CompileError, match=message):
        kernel.compile((np.zeros(3, np.float32),))
