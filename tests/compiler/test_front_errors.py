"""Every refusal names file, line and column, and says what is supported instead."""

import math
import random
import textwrap

import numpy as np
import pytest

from smmux import CompileError, cuda, float32, int32, smm, uint8, uint32
from smmux.kernel import from_source
from smmux.language.kernel_only import KernelOnlyError
from smmux.types import Scalar

TABLE = np.arange(4, dtype=np.int32)


@cuda.jit(device=True)
def returns_sometimes(x):
    if x > 0:
        return 1


@cuda.jit(device=True)
def recursive(x):
    return recursive(x - 1)


@cuda.jit(device=True)
def one_argument(x):
    return x + 1


def plain(x):
    return x


class Config:
    width = 4


GLOBALS = {
    "cuda": cuda,
    "math": math,
    "np": np,
    "smm": smm,
    "random": random,
    "float32": float32,
    "int32": int32,
    "uint8": uint8,
    "uint32": uint32,
    "TABLE": TABLE,
    "returns_sometimes": returns_sometimes,
    "recursive": recursive,
    "one_argument": one_argument,
    "plain": plain,
    "Config": Config,
    "float64": Scalar("float64"),
}

# (statements, what the message says, line within the statements, column)
REFUSALS = [
    ("out[i] = unknown", r"name 'unknown' is not defined", 1, 10),
    ("out[i] = x\nx = 1", r"variable 'x' is used before it is assigned", 1, 10),
    ("out[1.0] = 1", r"index has to be an integer, not a float", 1, 1),
    ("out[a[0] / 2] = 1", r"index has to be an integer, not a float; write int\(...\) or use //", 1, 1),
    ("out[i, 0] = 1", r"'out' has 1 dimension, but 2 indices are given", 1, 1),
    ("x = out[:, 0]", r"'out' has 1 dimension, but 2 indices are given", 1, 5),
    ("out[i] = out[[0, 1]]", r"a list is no index; index one element at a time", 1, 10),
    ("out[[0]] = 1", r"a list is no index; index one element at a time", 1, 1),
    ("m[i] = 1", r"2 indices are needed to store an element of 'm', 1 given", 1, 1),
    ("out[i] = m[i] + 1", r"'m' is a 1-d array|1 more index needed", 1, 10),
    ("out[i] = a[0:2]", r"1 more index needed", 1, 1),
    ("try:\n    out[i] = 1\nexcept ValueError:\n    pass", r"try/except is not supported", 1, 1),
    ("with smm:\n    pass", r"with is not supported", 1, 1),
    ("x = [k for k in range(3)]", r"comprehension is not supported", 1, 5),
    ("x = lambda: 1", r"lambda is not supported", 1, 5),
    ("x = {}", r"dict is not supported", 1, 5),
    ("x = f'{i}'", r"f-string is not supported", 1, 5),
    ("def inner():\n    pass", r"nested function is not supported", 1, 1),
    ("del i", r"del is not supported", 1, 1),
    ("raise 3", r"raise needs an exception here, such as ValueError", 1, 1),
    ("global TABLE", r"global is not supported", 1, 1),
    ("print(a)", r"print takes strings and numbers, not a 1-d array", 1, 1),
    ("x = (1, a, None)[i]", r"the index of a tuple has to be a compile-time constant", 1, 5),
    ("x = ((1, 2), (3,))[i]", r"the index of a tuple has to be a compile-time constant", 1, 5),
    ("s = cuda.local.array(10**9, float64)", r"no memory of a card holds arrays of 1000000000 elements", 1, 5),
    ("s = cuda.shared.array(10**20, uint8)", r"no memory of a card holds arrays of 10+ elements", 1, 5),
    ("out[i] = random.random()", r"random is not supported in a kernel", 1, 10),
    ("out[i] = np.sinc(a[i])", r"math module", 1, 10),
    ("out[i] = plain(i)", r"decorate it with @cuda.jit\(device=True\)", 1, 10),
    ("x = cuda.shared.array(i, int32)", r"shape of an array has to be a compile-time constant", 1, 5),
    ("x = cuda.shared.array((2, 1.5), int32)", r"shape of an array has to be a compile-time constant of ints", 1, 5),
    ("x = cuda.shared.array(-2, int32)", r"negative extent", 1, 5),
    ("x = cuda.shared.array(0, int32)", r"bytes given at launch", 1, 5),
    ("x = cuda.shared.array(4)", r"wrong arguments for smmux.cuda.shared.array", 1, 5),
    ("x = cuda.local.array(4, int32)\nout[i] = x[4]", r"index \[4\] outside 'x' of shape \(4,\)", 2, 10),
    ("out[i] = cuda.const.array_like(TABLE)[7]", r"index 7 outside the constant array", 1, 10),
    ("cuda.const.array_like(TABLE)[0] = 1", r"constant and cannot be stored to", 1, 1),
    ("r[0] = 1", r"'r' is read-only and cannot be stored to", 1, 1),
    ("r[0] += 1", r"'r' is read-only and cannot be stored to", 1, 1),
    ("out[i] = recursive(i)", r"recursion is not supported", None, None),
    ("out[i] = returns_sometimes(i)", r"can end here without a return", None, None),
    ("out[i] = one_argument(i, 2)", r"'one_argument' takes 1 arguments, 2 given", 1, 10),
    ("out[i] = one_argument()", r"needs an argument 'x'", 1, 10),
    ("out[i] = one_argument(y=1)", r"no parameter 'y'", 1, 10),
    ("return i", r"a kernel returns nothing", 1, 1),
    (
        "x = i\nif i > 2:\n    x = a\nb[0] = x",
        r"'x' is a 1-d array of float32 \(line \d+\) and int32 here, depending",
        1,
        1,
    ),
    (
        "x = 1\nwhile i > 2:\n    i = x[0]\n    x = a",
        r"'x' is int literal \(line \d+\) and a 1-d array of float32 here, depend",
        4,
        5,
    ),
    ("x, y = 1, 2, 3", r"2 targets for a tuple of 3", 1, 1),
    ("x, y = i", r"only a tuple can be unpacked", 1, 1),
    ("t = (1, i)\nout[i] = t[a[i]]", r"index of a tuple has to be a compile-time constant", 2, 10),
    ("t = (1, 2)\nout[i] = t[2]", r"index 2 outside a tuple of 2", 2, 10),
    ("t = (1, 2)\nt[0] = 3", r"only array elements can be stored to", 2, 1),
    ("out[i] = 1 // 0", r"constant expression", 1, 10),
    ("out[i] = i % 0", r"integer division by zero", 1, 10),
    ("out[i] = i << -1", r"negative shift count", 1, 10),
    ("out[i] = 2**31", r"integer 2147483648 does not fit int32, the type of 'out'", 1, 1),
    ("out[i] = i + 2**63", r"integer 9223372036854775808 does not fit int32", 1, 10),
    ("out[i] = w[0] + -1", r"integer -1 does not fit uint32", 1, 10),
    ("out[i] = a[0] & 1", r"operator & needs integers", 1, 10),
    ("out[i] = ~a[0]", r"operator ~ needs an integer", 1, 10),
    ("out[i] = a[0] @ a[0]", r"@ is not supported in a kernel; multiply and add", 1, 10),
    ("out[i] = 'text'", r"a number is needed here", 1, 1),
    ("out[i] = 1j", r"a real number is needed here", 1, 1),
    ("out[i] = i if i > 1 else a", r"two sides are|number is needed", 1, 10),
    ("for k in i:\n    pass", r"runs over range\(...\), an array or a tuple", 1, 10),
    ("for k in range(a[0]):\n    pass", r"range needs integers", 1, 10),
    ("for k in range(0, 5, 0):\n    pass", r"step of a range must not be 0", 1, 10),
    ("x = len(range(0, 4, i))", r"can only stand in a for statement", 1, 9),
    ("out[i] = a.sum()", r"arrays have no 'sum' in a kernel; add the elements in a for loop", 1, 10),
    ("out[i] = a.flat", r"arrays have no 'flat' in a kernel; there are shape", 1, 10),
    ("out[i] = a.shpe[0]", r"arrays have no 'shpe' .* did you mean 'shape'", 1, 10),
    ("cuda.syncthreads", r"cuda.syncthreads does nothing without parentheses; write cuda.syncthreads\(\)", 1, 1),
    ("out[i] = cuda.blockdim.x", r"no attribute 'blockdim'; did you mean 'blockDim'", 1, 10),
    ("cuda.atomic.ad(out, 0, 1)", r"smmux.cuda.atomic has no attribute 'ad'; did you mean 'add'", 1, 1),
    ("out[i] = math.sqr(a[0])", r"math has no attribute 'sqr'; did you mean 'sqrt'", 1, 10),
    ("out[i] = pow(i, 2, 3)", r"wrong arguments for pow: takes 2 positional arguments but 3 were given", 1, 10),
    ("out[i] = float('one')", r"could not convert string to float: 'one'", 1, 10),
    ("out[i] = np.random.rand()", r"use cuda.random, or pass an array of random numbers", 1, 10),
    ("out[i] = cuda.to_device(a)", r"call it on the host", 1, 10),
    ("for k in i:\n    pass", r"write range\(i\)", 1, 10),
    ("out = 3", r"write out\[...\] = to store an element", 1, 1),
    ("out[i] = i + 'text'", r"a number is needed here, not the text 'text'", 1, 10),
    ("out[i] = i.bit_length()", r"int32 has no attribute .bit_length", 1, 10),
    ("out[i] = math.nothing(1)", r"math has no attribute 'nothing'", 1, 10),
    ("out[i] = cuda.threadIdx.w", r"has x, y and z, not 'w'", 1, 10),
    ("out[i] = cuda.grid(4)", r"number of dimensions has to be 1, 2 or 3", 1, 10),
    ("out[i] = math.sqrt(1, 2)", r"math.sqrt takes 1 argument", 1, 10),
    ("out[i] = math.comb(a[0])", r"math.comb is not supported", 1, 10),
    (
        "cuda.syncthreads(1)",
        r"wrong arguments for smmux.cuda.syncthreads: takes 0 positional arguments but 1 was",
        1,
        1,
    ),
    ("cuda.atomic.add(a, 0, 1, 2)", r"takes 3 positional arguments but 4 were given", 1, 1),
    ("cuda.atomic.add(a, 0, worth=1)", r"got an unexpected keyword argument 'worth'", 1, 1),
    ("cuda.atomic.add(a, 0)", r"missing 1 required argument: '.*'", 1, 1),
    ("x = cuda.shared.array(4, int32, shape=3)", r"got multiple values for argument 'shape'", 1, 5),
    ("cuda.atomic.add(b, 0, 1)", r"atomics work on elements of int32", 1, 1),
    ("cuda.atomic.and_(a, 0, 1)", r"works on int32, uint32, int64, uint64, not on float32", 1, 1),
    ("cuda.atomic.add(a, 1)", r"wrong arguments", 1, 1),
    ("x = cuda.local.array(2, int32)\ncuda.atomic.add(x, 0, 1)", r"atomics work on global and shared arrays", 2, 1),
    ("smm.alloc(i)", r"positive compile-time constant", 1, 1),
    ("smm.alloc()", r"declares no smm.array", 1, 1),
    ("a[i > 1] = 1", r"to NumPy a bool is a mask", 1, 1),
    ("x = cuda.shared.array(5, uint8).view(uint32)", r"is not a multiple of uint32", 1, 5),
    ("out[i] = len(i)", r"len needs an array, a tuple or a range", 1, 10),
    ("i()", r"int32 cannot be called", 1, 1),
    ("out[i] = i is None or 'x' < 'y'", r"comparison < of compile-time objects|number", 1, 23),
    ("a.x = 1", r"only names, array elements, fields of records and tuples", 1, 1),
    ("x = y = *i, 1", r"\* needs a tuple", 1, 9),
    ("out[i] = one_argument(**i)", r"\*\* is not supported", 1, 10),
    ("out[i] = cuda.popc(a[0])", r"cuda.popc needs an integer", 1, 10),
]


def arguments():
    readonly = np.zeros(4, np.float32)
    readonly.flags.writeable = False
    return (
        np.zeros(4, np.int32),
        np.zeros(4, np.float32),
        np.zeros((4, 4), np.float32),
        np.zeros(4, np.uint8),
        np.zeros(4, np.uint32),
        readonly,
    )


@pytest.mark.parametrize(
    ("statements", "message", "line", "column"), REFUSALS, ids=[r[0].replace("\n", "; ")[:60] for r in REFUSALS]
)
def test_refusals(statements, message, line, column):
    text = "def kernel(out, a, m, b, w, r):\n    i = cuda.threadIdx.x\n" + textwrap.indent(statements, "    ") + "\n"
    kernel = from_source(text, GLOBALS, filename="user.py")
    with pytest.raises(CompileError, match=message) as caught:
        kernel.compile(arguments())
    error = caught.value
    assert isinstance(error, SyntaxError)
    if line is not None:
        assert (error.filename, error.lineno) == ("user.py", line + 2)
        assert error.offset == column + 4  # the kernel's indentation
        assert error.text.strip() == text.splitlines()[line + 1].strip()
    assert str(error).count("\n") <= 2
    assert len(error.msg) < 300


ARGUMENTS = [
    (np.zeros(3, "M8[s]"), r"datetime64\[s\]; supported are records and float64"),
    (2**64, r"18446744073709551616 does not fit 64 bits"),
    (np.zeros(3, ">f4"), r"argument 'a' is an array of float32 in the byte order of other computers: use .astype"),
    ("text", r"argument 'a' is a str; supported are NumPy arrays"),
    ([1, 2], r"argument 'a' is a list; pass a NumPy array, np.array\(list\(...\), dtype=np.float32\)"),
    ({1: 2}, r"argument 'a' is a dict; pass one NumPy array for the keys"),
    (np.datetime64("2020-01-01"), r"argument 'a' is a datetime64; supported are"),
    ((1, "x"), r"argument 'a'\[1\] is a str"),
    (np.longdouble(2), r"argument 'a' is a (longdouble|float128); supported are float64, float32"),
    (np.clongdouble(2), r"argument 'a' is a (clongdouble|complex256); supported are float64, float32"),
]


@pytest.mark.parametrize(("value", "message"), ARGUMENTS)
def test_arguments(value, message):
    kernel = from_source("def kernel(a):\n    pass\n", GLOBALS)
    with pytest.raises(CompileError, match=message):
        kernel.simulate(1, 32, (value,), gpu="GTX285")


def test_number_of_arguments():
    kernel = from_source("def kernel(a, b):\n    pass\n", GLOBALS)
    with pytest.raises(CompileError, match="takes 2 arguments, 1 given: 'b' missing"):
        kernel.simulate(1, 32, (1,), gpu="GTX285")
    with pytest.raises(CompileError, match="put @staticmethod above @cuda.jit, and leave out self"):
        from_source("def kernel(self, b):\n    pass\n", GLOBALS)[1, 32](1)


def test_numbers_written_as_text():
    kernel = from_source("def kernel(a):\n    a[0], a[1], a[2] = float('inf'), -float('nan'), int('12')\n", GLOBALS)
    a = np.zeros(3, np.float32)
    kernel[1, 1](a)
    np.testing.assert_array_equal(a, [np.inf, np.nan, 12])


def test_places_in_real_files():
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        if t > 3:
            out[t] = (t +
                      missing_name)  # fmt: skip  # noqa: F821

    with pytest.raises(CompileError) as caught:
        kernel.compile((np.zeros(4, np.int32),))
    assert caught.value.filename == __file__
    assert caught.value.text.strip().startswith("missing_name")
    assert caught.value.text[caught.value.offset - 1 :].startswith("missing_name")


def test_device_function_errors_are_placed_in_it():
    @cuda.jit
    def kernel(out):
        out[0] = returns_sometimes(out[1])

    with pytest.raises(CompileError) as caught:
        kernel.compile((np.zeros(4, np.int32),))
    assert caught.value.text.strip() == "if x > 0:"


def test_names_of_the_language_outside_kernels():
    for use in (
        cuda.syncthreads,
        lambda: cuda.grid(1),
        lambda: cuda.threadIdx.x,
        lambda: cuda.shared.array(4, float32),
        lambda: cuda.laneid + 1,
        lambda: cuda.atomic.add(TABLE, 0, 1),
        smm.alloc,
        lambda: smm.array(4, float32),
        lambda: one_argument(1),
    ):
        with pytest.raises(KernelOnlyError, match="kernel"):
            use()


def test_kernels_need_a_launch_configuration():
    @cuda.jit
    def kernel(out):
        out[0] = 1

    with pytest.raises(KernelOnlyError, match=r"kernel\[grid, block\]"):
        kernel(np.zeros(1, np.int32))
    with pytest.raises(Exception, match="launch configuration"):
        kernel[1]
