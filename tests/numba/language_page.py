"""The page docs/language.md: what the kernel language has, and what not, as the compiler answers today.

    python -m tests.numba.language_page

writes it. Lines that compile stand in the first part, and the others in the second with the message that they get;
both come from the table below, and from the tests of refusals.
"""

from __future__ import annotations

import re
import textwrap
from itertools import count
from pathlib import Path

import numpy as np

from smmux import CompileError, Error
from tests.numba import sources, test_refusals

PAGE = Path(__file__).parents[2] / "docs/language.md"

HEADER = """\
import cmath
import math
import operator

import numpy as np
import smmux
from numba import boolean, cuda, float32, float64, int8, int32, int64, uint8, uint32, uint64

TABLE = np.arange(4, dtype=np.float32)
COLORS = (1, 2, 3)
SIZE = 4


@cuda.jit(device=True)
def norm(x, y=0.0, *rest):
    return math.sqrt(x * x + y * y)


@cuda.jit
def plain(x):
    return x + 1


"""

SNIPPETS = {
    "Where a thread is": [
        "i = cuda.grid(1)",
        "x, y = cuda.grid(2)",
        "u, v, w = cuda.grid(3)",
        "i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
        "n = cuda.gridsize(1)",
        "w = cuda.laneid + cuda.warpsize + cuda.gridDim.y + cuda.lanemask_lt()",
    ],
    "Statements": [
        "for k in range(2, c[0], -3):\n    a[k] = k",
        "for x in (1, 2.5):\n    a[0] += x",
        "for x in a:\n    b[0] += x",
        "for k, x in enumerate(a):\n    b[k] = x",
        "for x, y in zip(a, b):\n    d[0] += x * y",
        "while a[0] > 1:\n    a[0] /= 2",
        "for k in range(4):\n    if a[k] < 0:\n        break\nelse:\n    a[0] = 1",
        "if a[0] > 0 and not b[0] < 1:\n    return",
        "u, (v, w) = 1, (2, 3)",
        "a[0], b[0] = b[0], a[0]",
        "x = a[0] if c[0] else b[0]",
        "if (n := c[0]) > 1:\n    a[n] = 1",
        "assert c[0] > 0",
        "print(c[0], a[1])",
        "v = c[0]\nv = v * 0.5\na[0] = v",
        "for k in range(4):\n    k = k * 0.5\n    a[0] += k",
        "if c[0] < 0:\n    raise ValueError('negative')",
        "match c[0]:\n    case 1:\n        a[0] = 1",
        "del x",
    ],
    "Arrays": [
        "a[-1] = m[1, 2]",
        "row = m[1]\nrow[2] = 3",
        "part = a[2:6]\npart[0] = 1",
        "column = m[:, 1]\ncolumn[0] = 1",
        "for k in range(c[0]):\n    b[k] = a[k]\n    a, b = b, a",
        "rest = a[1:] if c[0] else b\nrest[0] = 1",
        "while len(a) > 1:\n    a = a[1:]",
        "back = a[::-1]\nback[0] = 1",
        "a[1:3] = 0",
        "np.add(a, b, d)",
        "np.maximum(m, 0, m)",
        "x = m.T[0, 1]",
        "n = m.shape[0] + m.size + m.ndim + len(m)",
        "x = m.reshape(16)[3]",
        "x = a.view(int32)[1]",
        "x = r[1].x",
        "r[1]['y'] = 3",
        "x = z[0].real",
        "z.imag[1] = 2",
        "x = TABLE[c[0]]",
        "x = COLORS[2]",
        "x = cuda.const.array_like(TABLE)[c[0]]",
        "s = cuda.shared.array((8, 9), float32)\ns[1, 2] = 3",
        "s = cuda.shared.array(shape=0, dtype=int32)",
        "s = cuda.local.array(SIZE, float64)\ns[c[0]] = 1",
        "s = cuda.local.array(4, float32, alignment=16)",
        "s = np.zeros(4)",
        "a.fill(0)",
        "x = a + b",
    ],
    "Types and numbers": [
        "x = float32(1) + uint8(2) + int64(3) + float64(4)",
        "x = np.float32(1) + np.uint32(3)",
        "x = uint64(1) << uint64(40)",
        "x = d[0] / 3",
        "x = complex(1, 2) * z[0]",
        "x = 3j",
        "x = z[0] ** z[1] + z[2] ** 0.5",
        "x = c[0] ^ 0x9E3779B9",
        "x = float('inf')",
        "x = int(a[0]) + round(a[1]) + bool(a[2])",
        "x = round(d[0], 2) + round(a[0], c[0])",
        "x = c[0] // 3 + c[0] % -3 + c[0] ** 2",
        "x = divmod(c[0], 7)[0]",
        "x = min(a[0], 1, d[0]) + abs(c[0])",
        "x = [1, 2, 3][1] + (4, 5, 6)[c[0]]",
        "x = {'one': 1}",
        "x = [k for k in range(3)]",
    ],
    "Functions": [
        "x = norm(a[0], y=2.0)",
        "x = plain(a[0])",
        "t = (a[0], b[0])\nx = norm(*t)",
        "x = math.sin(a[0]) + math.exp(d[0])",
        "x = math.erf(d[0]) + math.gamma(d[1])",
        "x = math.frexp(a[0])[1] + math.ldexp(a[0], 3)",
        "x = math.fma(a[0], a[1], a[2])",
        "x = math.hypot(a[0], a[1]) + math.remainder(a[0], a[1])",
        "x = operator.add(c[0], 1) + operator.index(c[1])",
        "x = operator.contains((1, 2), c[0]) or operator.abs(a[0]) > 1",
        "x = cmath.phase(z[0]) + abs(cmath.sqrt(z[1]))",
        "x = math.lgamma(d[0]) + math.nextafter(d[0], 1.0)",
        "x = np.sqrt(a[0]) + np.maximum(a[0], a[1]) + np.floor(d[0])",
        "x = sum(a)",
        "f = lambda x: x + 1",
        "x = map(norm, a)",
        "child = plain[1, 32](a)",
    ],
    "CUDA": [
        "cuda.syncthreads()",
        "n = cuda.syncthreads_count(a[0] > 1) + cuda.syncthreads_and(1) + cuda.syncthreads_or(0)",
        "cuda.syncwarp()",
        "cuda.threadfence()",
        "old = cuda.atomic.add(a, 0, 1)",
        "cuda.atomic.max(d, 0, 2.0)",
        "cuda.atomic.cas(c, 0, 1, 2)",
        "x = cuda.shfl_down_sync(0xffffffff, a[0], 1)",
        "x = cuda.ballot_sync(0xffffffff, c[0] > 1)",
        "x = cuda.match_any_sync(0xffffffff, c[0])",
        "x = cuda.popc(c[0]) + cuda.clz(c[0]) + cuda.ffs(c[0]) + cuda.brev(c[0])",
        "x = cuda.selp(c[0] > 1, 1, 2) + cuda.fma(a[0], a[1], a[2]) + cuda.cbrt(a[0])",
        "x = cuda.fp16.hadd(a[0], a[1]) + cuda.libdevice.rsqrtf(a[2])",
        "x = cuda.float32x4(1, 2, 3, 4)",
        "cuda.cg.this_grid().sync()",
        "cuda.nanosleep(100)",
        "with smmux.overlap():\n    a[0] = 1",
    ],
}
"""Lines of kernels by subject. a, b, c, d, m, r and z are arrays: float32, float32, int32, float64, float32 with two
axes, records with the fields x and y, and complex64."""

_numbers = count()


def arguments() -> tuple[np.ndarray, ...]:
    """The arrays that the lines name."""
    records = np.zeros(8, [("x", np.float32), ("y", np.int32)])
    plane = np.zeros((4, 4), np.float32)
    dtypes = np.float32, np.float32, np.int32, np.float64
    return *(np.zeros(8, dtype) for dtype in dtypes), plane, records, np.zeros(8, np.complex64)


def refusal(code: str, header: str = HEADER, names: str = "abcdmrz") -> str:
    """What the compiler says of lines of a kernel; empty if it takes them."""
    given = {name: value for name, value in zip("abcdmrz", arguments(), strict=True) if name in names}
    given = {name: value for name, value in given.items() if re.search(rf"\b{name}\b", code)}
    text = f"{header}@cuda.jit\ndef kernel({', '.join(given)}):\n{textwrap.indent(code, '    ')}\n"
    try:
        kernel = sources.load(text, f"language_{next(_numbers)}.py", "smmux").kernel
        kernel.compile(tuple(given.values()), gpu="K20c", dynshared=64 * ("shape=0" in code))
    except Error as error:
        return re.sub(r"language_\d+", "file", str(error.msg if isinstance(error, CompileError) else error))
    return ""


def cell(text: str) -> str:
    """A message as a cell of a table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def code_cell(code: str) -> str:
    """Lines of code as a cell of a table."""
    lines = [(len(line) - len(line.lstrip()), line.strip().replace("|", "\\|")) for line in code.splitlines()]
    return "<br>".join("&nbsp;" * indent + f"`{line}`" for indent, line in lines)


def page() -> str:
    """The page."""
    answers = {group: [(code, refusal(code)) for code in codes] for group, codes in SNIPPETS.items()}
    parts = [INTRODUCTION]
    for group, rows in answers.items():
        lines = [code for code, message in rows if not message]
        parts.append("\n".join([f"### {group}", "", "```py", *lines, "```"]))
    refused = [row for rows in answers.values() for row in rows if row[1]]
    known = {code for code, _ in refused}
    tested = [code for code, _, _ in test_refusals.STATEMENTS if code not in known]
    refused += [(code, refusal(code, test_refusals.HEADER, "abc")) for code in tested]
    rows = [f"| {code_cell(code)} | {cell(message)} |" for code, message in refused if message]
    return "\n\n".join([*parts, "\n".join([REFUSED, "", "| in a kernel | message |", "|---|---|", *rows])]) + "\n"


INTRODUCTION = """\
# The language of kernels: what it has, and what not

Made by `python -m tests.numba.language_page` from what the compiler answers; a test holds the page to it.

Kernels are those of [Numba CUDA](https://numba.readthedocs.io/en/stable/cuda/index.html): a file written for it needs
`from numba import cuda` changed to `from smmux import cuda`, and nothing else. What the compiler takes gives the value
that Python and NumPy give ([NEP 50](https://numpy.org/neps/nep-0050-scalar-promotion.html)), or with
`typing="numba"` the value that compiled Numba gives. What it does not take is refused with a sentence that names the
line and what to write instead. What numba.cuda does not have, `smmux.smm` and `smmux.overlap`, is explained in
[multiplexing](multiplexing.md).

## Types

A result has the type that NumPy gives it: int32 with uint32 is int64, int64 with float32 is float64, uint64 with int64
is float64 (and compares exactly). Python's numbers take the type of what they meet: literals, indices, `range`, `len`,
arguments that are Python numbers, `int(x)` and `float(x)`.

* A kernel without 64-bit or float16 data (no such array, argument, constant or cast) stays within 32 bits: there the
  quotient of integers, an integer beside a float32 and `math` of an integer are float32, and Python's numbers are int32
  and float32 where they are not known before the launch. `kernel.portability(...)` lists where Numba's wider results
  can differ.
* A kernel with such data follows NumPy to the letter, and Python's numbers are as exact as Python's up to 64 bits.
* Elements of 8 and 16 bits are int32 once loaded, but take the other side's type beside uint32, uint64 and float32.
  So are casts and NumPy scalars: `uint8(200) * uint8(2)` is 400, Numba's value, where NumPy has 144.
  Sums of bools are numbers. A float out of range becomes the nearest integer, and NaN 0, as on the card.
* `min` and `max` of floats skip NaN on either side, as a card's instructions and Numba on a card do; `np.minimum` and
  `np.maximum` give NaN, as in NumPy.
* float64 is never fused; float32 products and sums are on machines that do so (`fused_mad`), as nvcc does it.
* A name may change its type: `v = c[0]; v = v * 0.5`, the index of a loop used as a float, a parameter used for a local
  array. Each definition has its own type. Where two meet, behind an `if` or from one iteration of a loop to the next,
  the name has the type of a result of both, and Numba's under its rules; an array and a number do not meet.
  Multiplexing keeps such names apart when the types of the arguments are known: `source` is the text without them.
* A literal that an int32 beside it does not hold, such as 0xFFFFFFFF, is an int64, as in Numba.
* The sum, difference or product of uint64 and int64, a float64 by NumPy's rules, may be an index.
* `typing="numba"`, an option of `simulate`, `compile` and `cuda.jit`, takes the types of Numba's compiler instead; so
  do all launches under `with smmux.typing("numba"):`, and all of a process with SMMUX_TYPING=numba in its environment.

## What is promised

A captured global, number or array, has in a launch the value that it then has, as in Python, so that a changed cell of
a notebook or a sweep over a global does what one reads. Numba keeps the value of the first launch with the same types
(its documentation has globals be compile-time constants); a kernel that is never launched again after a change of its
globals is the same in both. What changes costs a compilation; arrays that change are better passed.

`raise` ends the launch with a `KernelRaisedError`, which has the exception's name and constant arguments, block, thread
and line. In Numba it does so under `debug=True` only, and else ends the thread.

`assert` costs nothing, as in Numba unless debugging: the compiler takes it for true, and needs fewer operations where
it bounds an index. One that does not hold never lets an access leave its array unnoticed: device arrays are checked at
every access. But a negative index then may not count from the end, nor is one found whose byte offset passes 2**32.
`check="bounds"`, an option of `simulate`, looks at every `assert` without a call, and at every index, in a run of its
own, which ends with an error that names the line and the condition or the axis. An index that is outside its axis with
every value that it can have is told without it, by an `AxisWarning` when the kernel is compiled.

An access through a name that stands for one array or another, chosen while the kernel runs (`p, q = q, p` in a loop),
branches over the arrays that it may be, where a card exchanges a pointer: with two arrays a comparison and a branch
more for each access.

Text is data: nothing of a kernel's text is run as Python, by the compiler or by a pass. Constants are computed with
integers of up to 1000 bits. Attributes of captured objects are read where they are there; one that Python would have to
compute, such as a property, is refused. Compiling takes time in proportion to a kernel's length. A kernel may have 4096
calls of device functions, once those within others are written out, and 65536 instructions.

## What there is

In these lines `a` and `b` are arrays of float32, `c` of int32, `d` of float64, `z` of complex64, `m` has two axes, `r`
holds records with the fields `x` and `y`. `TABLE`, `COLORS` and `SIZE` are globals: an array, a tuple, a number."""

REFUSED = """\
## What there is not"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
