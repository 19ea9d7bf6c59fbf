"""What Numba has and smmux has not: every refusal names the file and line, and says what to write instead."""

from __future__ import annotations

import re
import textwrap
from itertools import count
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import CompileError, KernelError, LaunchError
from tests.numba import sources

HEADER = """\
import math
import operator

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32

NUMBERS = [1, 2, 3]


def helper(x):
    return x + 1


@cuda.jit(device=True)
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@cuda.jit
def child(a):
    a[0] = 1


"""
_numbers = count()


def kernel_of(text: str) -> tuple[Any, str]:
    """The kernel of a file, and the file's name."""
    filename = f"<refused {next(_numbers)}>"
    return sources.load(HEADER + text, filename, "smmux").kernel, filename


# Statements of a kernel with arrays a (float32), b (float32), c (int32); line of the refusal in them; the message.
STATEMENTS = [
    # dynamic parallelism
    ("a[0] = 1\nchild[1, 1](a)", 2, r"kernel cannot launch kernels; launch them one after the other on the host"),
    # Python's containers, text and exceptions
    ("a[0] = 'text'", 1, r"a number is needed here"),
    ("text = f'{a[0]}'", 1, r"f-string is not supported in a kernel; give print the strings and numbers"),
    ("a[0] = len(str(a[0]))", 1, r"str is not supported in a kernel; store numbers"),
    ("print(a)", 1, r"print takes strings and numbers, not a .*array"),
    ("d = {1: 2}", 1, r"a dict is not supported in a kernel; use arrays"),
    ("d = {1, 2}", 1, r"a set is not supported in a kernel; use an array"),
    ("d = [a[0]]\nd.append(a[1])", 2, r"list has no attribute 'append' in a kernel; use cuda.local.array"),
    ("a[0] = [x for x in range(3)][0]", 1, r"comprehension is not supported in a kernel; use a for loop"),
    ("a[0] = sum(x for x in range(3))", 1, r"generator is not supported in a kernel; use a for loop"),
    ("yield a[0]", 1, r"yield is not supported in a kernel; store results in an array"),
    ("try:\n    a[0] = 1\nexcept ValueError:\n    a[0] = 2", 1, r"try/except is not supported in a kernel; .* with if"),
    ("raise a[0]", 1, r"raise needs an exception here, such as ValueError\('text'\)"),
    ("import math", 1, r"import is not supported in a kernel; import at the top"),
    ("f = lambda x: x", 1, r"lambda is not supported in a kernel; .*@cuda.jit\(device=True\)"),
    ("def f(x):\n    return x", 1, r"nested function is not supported in a kernel; .*@cuda.jit\(device=True\)"),
    ("global NUMBERS", 1, r"global is not supported in a kernel; store results in an array"),
    ("match c[0]:\n    case 1:\n        a[0] = 1", 1, r"match is not supported in a kernel; use if and elif"),
    ("a[0] = NUMBERS[0]", 1, r"captured list or dict is not supported; use a tuple, or an array and cuda.const"),
    # calls
    ("a[0] = factorial(5)", None, r"recursion is not supported, since calls are inlined; use a loop"),
    ("a[0] = helper(a[0])", 1, r"helper is not supported in a kernel; decorate it with @cuda.jit\(device=True\)"),
    ("a[0] = np.sinc(a[0])", 1, r"numpy.sinc is not supported in a kernel; use the function of the math module"),
    ("x = np.zeros(3)", 1, r"numpy.zeros is not supported in a kernel; declare a cuda.local.array"),
    ("a[0] = sum(a)", 1, r"sum takes a tuple in a kernel, not an array; use a for loop"),
    ("for x in map(math.sqrt, a):\n    b[0] = x", 1, r"map is not supported in a kernel; use a for loop"),
    ("x = type(a[0])", 1, r"type is not supported in a kernel; kernels are compiled for the types of their arguments"),
    ("x = a[slice(1, 3)]", 1, r"slice is not supported in a kernel; write a\[1:3\]"),
    ("a[0] = (a @ b)[0]", 1, r"@ is not supported in a kernel; multiply and add the elements in for loops"),
    ("a[0] = operator.matmul(a, b)[0]", 1, r"operator.matmul is not supported in a kernel; multiply and add"),
    (
        "a[0] = operator.itemgetter(1)((1, 2))",
        1,
        r"itemgetter is not supported in a kernel; write the index in brackets",
    ),
    (
        "operator.delitem(a, 0)",
        1,
        r"operator.delitem is not supported in a kernel; arrays and tuples have a fixed size",
    ),
    ("a[0] = operator.index(a[0])", 1, r"operator.index takes an integer, not float32; write int"),
    ("del a", 1, r"del is not supported in a kernel; leave it out"),
    ("x = a[:: c[0]]", 1, r"write a for loop over range\(start, stop, step\)"),
    ("a[0] = range(3)", 1, r"a number is needed here, not the object that range, zip, enumerate or reversed makes"),
    ("x, y = range(c[0])", 1, r"the number of items has to be known to unpack them"),
    ("for x in 5:\n    b[0] += x", 1, r"a for loop runs over range\(...\), an array or a tuple"),
    ("return a[0]", 1, r"a kernel returns nothing; store results in an array"),
    # arrays
    ("a[0] = a.sum()", 1, r"arrays have no 'sum' in a kernel; add the elements"),
    ("s = cuda.shared.array(c[0], float32)", 1, r"shape of an array has to be a compile-time constant"),
    (
        "if a[0] > 0:\n    x = a\nelse:\n    x = a[::2]\nx[0] = 1",
        4,
        r"'x' stands for one array \(line \d+\) and for one of another kind here; give both one element type, number",
    ),
    ("cuda.atomic.inc(c, 0, 7)", 1, r"works on uint32, uint64, not on int32"),
    (
        "x = c[0]\nif x > 2:\n    x = a\nb[0] = x",
        1,
        r"variable 'x' is a 1-d array of float32 \(line \d+\) and int32 here, depending on the path; use two names",
    ),
]


@pytest.mark.parametrize(
    ("statements", "line", "message"), STATEMENTS, ids=[s[0].replace("\n", "; ")[:50] for s in STATEMENTS]
)
def test_statements(statements: str, line: int | None, message: str) -> None:
    text = "@cuda.jit\ndef kernel(a, b, c):\n" + textwrap.indent(statements, "    ")
    kernel, filename = kernel_of(text)
    with pytest.raises(CompileError, match=message) as caught:
        kernel[1, 8](np.zeros(8, np.float32), np.zeros(8, np.float32), np.zeros(8, np.int32))
    assert caught.value.filename == filename
    if line is not None:
        assert caught.value.lineno == HEADER.count("\n") + 2 + line
        assert f"{filename}:{caught.value.lineno}:{caught.value.offset}: " in str(caught.value)


# Arguments of a kernel of one parameter, and the message.
ARGUMENTS = [
    (np.zeros(4, "U3"), r"argument 'a' is an array of str96; supported are records and float64"),
    ("text", r"argument 'a' is a str; supported are NumPy arrays, numbers"),
    ({1: 2}, r"argument 'a' is a dict; pass one NumPy array for the keys"),
]


@pytest.mark.parametrize(("argument", "message"), ARGUMENTS, ids=[m[:60] for _, m in ARGUMENTS])
def test_arguments(argument: Any, message: str) -> None:
    kernel, filename = kernel_of("@cuda.jit\ndef kernel(a):\n    pass\n")
    with pytest.raises(CompileError, match=message) as caught:
        kernel[1, 8](argument)
    assert (caught.value.filename, caught.value.lineno) == (filename, HEADER.count("\n") + 2)


@pytest.mark.parametrize(("arguments", "given"), [((), 0), ((1, 2), 2)])
def test_number_of_arguments(arguments: tuple[int, ...], given: int) -> None:
    kernel, filename = kernel_of("@cuda.jit\ndef kernel(a):\n    pass\n")
    with pytest.raises(CompileError, match=f"{re.escape(filename)}.*takes 1 arguments, {given} given"):
        kernel[1, 8](*arguments)


def test_arguments_are_a_tuple() -> None:
    kernel, _ = kernel_of("@cuda.jit\ndef kernel(a):\n    pass\n")
    with pytest.raises(TypeError, match=r"args is the tuple of kernel's arguments, \(a,\) for one, not a ndarray"):
        kernel.simulate(1, 8, np.zeros(8, np.float32))


# What only a run can tell: the kernel's line is still named.
FAULTS = [
    ("a[cuda.grid(1) + 3] = 1", KernelError, r"array 'a', .*index 8 of shape \(8,\).*thread \(5, 0, 0\)"),
    ("c[0] = 1 // c[1]", ZeroDivisionError, r"integer division by zero"),
]


@pytest.mark.parametrize(("statement", "kind", "message"), FAULTS)
def test_faults(statement: str, kind: type[Exception], message: str) -> None:
    kernel, filename = kernel_of(f"@cuda.jit\ndef kernel(a, c):\n    {statement}\n")
    place = re.escape(f"{filename}:{HEADER.count(chr(10)) + 3}")
    with pytest.raises(kind, match=f"{message}.*{place}"):
        kernel[1, 8](np.zeros(8, np.float32), np.zeros(8, np.int32))


def test_what_does_not_fit_the_machine() -> None:
    kernel, _ = kernel_of("@cuda.jit\ndef kernel(a):\n    s = cuda.shared.array(8000, float32)\n    a[0] = s[1]\n")
    with pytest.raises(LaunchError, match="bytes of shared memory .*GTX285 has 16384"):
        kernel[1, 8](np.zeros(8, np.float32))
    with pytest.raises(LaunchError, match="GTX285"):
        kernel[1, 1024](np.zeros(8, np.float32))


def test_names_that_are_not_here() -> None:
    with pytest.raises(AttributeError, match="this_grid"):
        smmux.cuda.grid_group  # noqa: B018
    with pytest.raises(AttributeError, match="nothing is gained"):
        smmux.cuda.nanosleep(1)
    with pytest.raises(ImportError, match="vectorize"):
        sources.load("from numba import vectorize\n", "<no vectorize>", "smmux")
