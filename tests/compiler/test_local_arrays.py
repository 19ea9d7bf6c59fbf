"""Local arrays under several names, in loops whose trip count is known only at run time."""

import numpy as np
import pytest

from smmux import CompileError, cuda, int32
from smmux.kernel import from_source
from tests.compiler.front import run


@cuda.jit(device=True)
def first_of(pair):
    return pair[0]


@cuda.jit(device=True)
def bump(array):
    array[0] += 1


ALIASES = {
    "row": ("(2, 3)", "row = la[1]\n        row[0] += 1", "la[1, 0]"),
    "for": ("3", "for arr in (la, lb):\n            arr[0] += 1", "la[0]"),
    "item": ("3", "arr = pair[0]\n        arr[0] += 1", "la[0]"),
    "annotated": ("3", "arr: int = la\n        arr[0] += 1", "la[0]"),
    "transposed": ("(2, 3)", "t = la.T\n        t[2, 1] += 1", "la[1, 2]"),
    "walrus": ("3", "(arr := la)[0] += 1", "la[0]"),
    "walrus-inside": ("3", "x = (arr := la)[0] + 1\n        arr[0] = x", "la[0]"),
    "chosen": ("3", "arr = la if True else lb\n        arr[0] += 1", "la[0]"),
    "returned": ("3", "arr = first_of(pair)\n        arr[0] += 1", "la[0]"),
    "passed": ("3", "bump(pair[0])", "la[0]"),
    "passed-row": ("(2, 3)", "bump(la.T[1])", "la[0, 1]"),
    "unpacked": ("3", "arr, other = pair\n        arr[0] += 1", "la[0]"),
    "starred": ("3", "bump(*(la,))", "la[0]"),
    "nested": ("3", "for _ in range(i, i + 1):\n            arr = pair[0]\n            arr[0] += 1", "la[0]"),
    "before-break": (
        "3",
        "arr = pair[0]\n        if i == n - 1:\n            arr[0] = n\n            break",
        "la[0]",
    ),
    "before-continue": (
        "3",
        "arr = pair[0]\n        if i >= 0:\n            arr[0] += 1\n            continue\n        lb[1] = 1",
        "la[0]",
    ),
}
HEADS = {
    "for": "for i in range(n):\n        ",
    "while": "i = -1\n    while i < n - 1:\n        i += 1\n        ",
}


@pytest.mark.quick
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize(("shape", "body", "element"), ALIASES.values(), ids=ALIASES)
def test_a_loop_keeps_what_it_stores_under_another_name(shape, body, element, head):
    text = f"""
def kernel(out, n):
    la = cuda.local.array({shape}, int32)
    lb = cuda.local.array({shape}, int32)
    pair = (la, lb)
    {element.split("[")[0]}[{element.split("[")[1]} = 0
    {head}{body}
    out[0] = {element}
"""
    kernel = from_source(text, {"cuda": cuda, "int32": int32, "first_of": first_of, "bump": bump})
    for n in (5, 0):
        out = np.full(1, -1, np.int32)
        run(kernel, 1, 1, out, n)
        assert out[0] == n


def test_elements_stored_in_an_inner_loop_of_a_device_function():
    @cuda.jit(device=True)
    def fill(arrays, n):
        for i in range(n):
            for array in arrays:
                array[int(i % 2 == 0)] += i

    @cuda.jit
    def kernel(out, n):
        la = cuda.local.array(2, int32)
        lb = cuda.local.array(2, int32)
        la[0] = la[1] = lb[0] = lb[1] = 0
        for _ in range(n):
            fill((la, lb), n)
        out[0], out[1], out[2], out[3] = la[0], la[1], lb[0], lb[1]

    out = np.zeros(4, np.int32)
    run(kernel, 1, 1, out, 4)
    np.testing.assert_array_equal(out, [16, 8, 16, 8])


@pytest.mark.parametrize("unroll_limit", [4096, 8])
@pytest.mark.parametrize("index", [4, -5])
def test_a_constant_index_outside_is_refused_wherever_the_array_lies(index, unroll_limit):
    @cuda.jit
    def outside(out):
        first = cuda.local.array(4, int32)
        second = cuda.local.array(4, int32)
        for i in range(4):
            first[i] = second[i] = i
        first[index] = 7
        out[0] = first[out[0] & 3] + second[1]

    with pytest.raises(CompileError, match=r"outside 'first'"):
        outside.simulate(1, 1, (np.zeros(1, np.int32),), unroll_limit=unroll_limit)
